//! Workers: a command that can reach files only through its session.
//!
//! The launcher re-executes its own program as `portcullis __worker`. That process is single
//! threaded, receives its plan and descriptors over a channel, confines itself (`cage`), tells
//! what it observed, and turns into the command. Nothing is confined from a hook between fork and
//! exec of this process, which has threads.

mod cage;
mod channel;
mod command;
mod inside;
mod launch;
mod plan;
mod private;
mod stdio;

pub use launch::launch;
pub use plan::{Bounding, Probe, ProbeOutcome, Report};

pub(crate) use inside::main as inside_main;
pub(crate) use private::PrivateDirectory;

use rustix::io::Errno;
use rustix::process::Signal;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Child;

/// Exit code: the worker could not be confined, so nothing ran.
pub const NOT_CONFINED: u8 = 125;
/// Exit code: the command is there and cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// Exit code: there is no such command.
pub const NOT_FOUND: u8 = 127;

/// First argument of the process that becomes the worker. Not for people.
pub const INSIDE_ARGUMENT: &str = "__worker";

/// A worker to be started.
#[derive(Debug)]
pub struct Worker {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// Variables of this process that pass to it.
    pub environment: Vec<OsString>,
    /// Further directories or files it may read and execute.
    pub runtime: Vec<PathBuf>,
    /// `portcullis-tool`, which it may execute wherever it lies.
    pub tool: Option<PathBuf>,
    /// Its session.
    pub session: OwnedFd,
    /// The program that confines: this one, unless a test has another.
    pub launcher: PathBuf,
    /// Its standard input and output.
    pub streams: Streams,
}

/// What a worker has as standard input and output. Standard error is the caller's.
#[derive(Debug)]
pub enum Streams {
    /// The caller's own, passed or relayed.
    Own,
    /// These ends of pipes.
    Pipes {
        /// It reads from this one.
        input: OwnedFd,
        /// It writes to this one.
        output: OwnedFd,
    },
}

/// This process's own executable, also when its file was replaced.
pub const OWN_EXECUTABLE: &str = "/proc/self/exe";

/// Why no command runs.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// No such command.
    #[error(
        "nothing ran: there is no command `{0}` in the worker's PATH; give it with its directory, and that directory with --runtime if it needs files beside it"
    )]
    NotFound(String),
    /// There is no such server.
    #[error(
        "nothing ran: there is no server: no file {0}; keep it beside this executable, or name it with --server"
    )]
    NoServer(String),
    /// It cannot be executed.
    #[error(
        "nothing ran: `{name}` cannot be executed{why}; the worker may execute what lies below /usr, the command itself, and what --runtime names"
    )]
    NotExecutable {
        /// The command.
        name: String,
        /// The kernel's reason, when it gave one.
        why: String,
    },
    /// A runtime path cannot be one.
    #[error("nothing ran: --runtime {path}: {why}")]
    Runtime {
        /// The path.
        path: String,
        /// Why.
        why: &'static str,
    },
    /// The worker could not be confined.
    #[error("nothing ran: the worker could not be confined: {0}")]
    NotConfined(String),
    /// The launcher itself failed.
    #[error("nothing ran: {what}: {error}")]
    Launcher {
        /// What failed.
        what: &'static str,
        /// How.
        error: std::io::Error,
    },
}

impl LaunchError {
    /// The exit code that says the same.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound(_) | Self::NoServer(_) => NOT_FOUND,
            Self::NotExecutable { .. } => NOT_EXECUTABLE,
            Self::Runtime { .. } | Self::NotConfined(_) | Self::Launcher { .. } => NOT_CONFINED,
        }
    }
}

/// A confined command that runs.
#[derive(Debug)]
pub struct Running {
    child: Child,
    handle: OwnedFd,
    report: Report,
    private: PrivateDirectory,
    relays: stdio::Relays,
    keys: Keys,
}

/// Whether keys of a terminal reach the worker by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// It is in the terminal's foreground group.
    Reach,
    /// It has a session of its own; signals have to be forwarded.
    DoNot,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code, or 128 and the number of the signal that killed it. 1 when it ended with 0
    /// and its output could not all be passed on: what is lost is no success.
    pub code: u8,
    /// What went wrong in passing on its output, or in cleaning up after it; for people.
    pub troubles: Vec<String>,
}

impl Running {
    /// Its confinement.
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// Its private directory, which is gone when it has ended.
    pub fn private(&self) -> &Path {
        self.private.inside()
    }

    /// Whether keys of a terminal reach it.
    pub const fn keys(&self) -> Keys {
        self.keys
    }

    /// A handle to send it signals with, from any thread, also when it has ended.
    pub fn handle(&self) -> Result<Handle, Errno> {
        rustix::io::fcntl_dupfd_cloexec(&self.handle, 3).map(Handle)
    }

    /// Waits for the command, passes on the rest of its output, and cleans up. Processes it left
    /// behind are not waited for.
    pub fn wait(mut self) -> std::io::Result<Ended> {
        let status = self.child.wait()?;
        let mut troubles = Vec::new();
        let passed = self.relays.finish();
        if let Err(error) = passed {
            troubles.push(format!("not all output was passed on: {error}"));
        }
        let place = self.private.inside().display().to_string();
        if let Err(error) = self.private.remove() {
            troubles.push(format!("the private directory {place} is left: {error}"));
        }
        let code = match (status.code(), status.signal()) {
            (Some(0), _) if passed.is_err() => 1,
            (Some(code), _) => code,
            (None, Some(signal)) => 128 + signal,
            (None, None) => i32::from(NOT_CONFINED),
        };
        Ok(Ended {
            code: u8::try_from(code).unwrap_or(u8::MAX),
            troubles,
        })
    }
}

/// Refers to one worker for good; never to a later process of the same number.
#[derive(Debug)]
pub struct Handle(OwnedFd);

impl Handle {
    /// Sends a signal.
    pub fn signal(&self, signal: Signal) -> Result<(), Errno> {
        rustix::process::pidfd_send_signal(&self.0, signal)
    }
}
