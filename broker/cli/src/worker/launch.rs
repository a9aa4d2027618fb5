//! The launcher's side: from a command to a confined process that runs it.

use super::channel::{self, ChannelError};
use super::command::{self, Unfit};
use super::plan::{self, Plan, Report, Status};
use super::private::PrivateDirectory;
use super::stdio::{self, Stdio};
use super::{INSIDE_ARGUMENT, Keys, LaunchError, Running, Streams, Worker};
use portcullis_protocol::path::escape;
use rustix::process::{Pid, PidfdFlags};
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// Runtime paths that every worker may read and execute, where they exist.
const RUNTIME: [&str; 7] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
];
/// Files of the system that loaders and clocks read.
const READABLE: [&str; 2] = ["/etc/ld.so.cache", "/etc/localtime"];

/// Starts the worker. The calling thread must live until the worker has ended: its end kills it.
pub fn launch(mut worker: Worker) -> Result<Running, LaunchError> {
    let private = PrivateDirectory::new().map_err(failed("private directory"))?;
    let streams = std::mem::replace(&mut worker.streams, Streams::Own);
    let stdio = stdio::prepare(streams).map_err(failed("standard descriptors"))?;
    let name = worker.command.first().cloned().unwrap_or_default();
    let name = escape(name.as_bytes());
    let plan = plan_of(&worker, &private, &stdio, &name)?;
    let (mut child, channel) = spawn(&worker.launcher)?;
    let outcome = start(&channel, &plan, &stdio, &worker.session)
        .and_then(|()| started(&channel, &name))
        .and_then(|report| {
            let handle = rustix::process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
            Ok((report, handle.map_err(failed("process handle"))?))
        });
    // This process keeps no copy of the session: what the worker closes is closed.
    drop(worker);
    match outcome {
        Ok((report, handle)) => Ok(Running {
            child,
            handle,
            report,
            private,
            relays: stdio.relays,
            keys: match plan.terminal {
                plan::Terminal::Passed => Keys::Reach,
                plan::Terminal::None => Keys::DoNot,
            },
        }),
        Err(error) => {
            // It may have ended by itself; either way nothing of it is left.
            drop((child.kill(), child.wait()));
            Err(error)
        }
    }
}

fn plan_of(
    worker: &Worker,
    private: &PrivateDirectory,
    stdio: &Stdio,
    shown: &str,
) -> Result<Plan, LaunchError> {
    let tool = worker.tool.as_deref();
    let environment = command::environment(&worker.environment, private.inside(), tool);
    let name = worker.command.first().cloned().unwrap_or_default();
    let program = command::resolve(&name, &environment).map_err(|unfit| match unfit {
        Unfit::NotFound => LaunchError::NotFound(shown.to_owned()),
        Unfit::NotExecutable => LaunchError::NotExecutable {
            name: shown.to_owned(),
            why: String::new(),
        },
    })?;
    let mut runtime: Vec<PathBuf> = RUNTIME.iter().map(PathBuf::from).collect();
    for path in &worker.runtime {
        runtime.push(runtime_path(path, private)?);
    }
    runtime.push(program.clone());
    runtime.extend(worker.tool.clone());
    let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
    let arguments = worker.command.iter().cloned();
    Ok(Plan {
        program: bytes(&program),
        arguments: arguments.map(OsString::into_vec).collect(),
        environment: environment
            .into_iter()
            .map(|(name, value)| (name.into_vec(), value.into_vec()))
            .collect(),
        private: bytes(private.inside()),
        canary: bytes(private.canary()),
        runtime: runtime.iter().map(|path| bytes(path)).collect(),
        readable: READABLE.map(|path| path.as_bytes().to_vec()).to_vec(),
        launcher: rustix::process::getpid().as_raw_pid(),
        terminal: stdio.terminal,
    })
}

fn start(
    channel: &OwnedFd,
    plan: &Plan,
    stdio: &Stdio,
    session: &OwnedFd,
) -> Result<(), LaunchError> {
    let descriptors = [&stdio.input, &stdio.output, &stdio.error, session].map(AsFd::as_fd);
    channel::send_plan(channel, plan, descriptors)
        .map_err(|error| LaunchError::NotConfined(error.to_string()))
}

/// A further runtime path, made absolute. One that holds everything is no confinement.
fn runtime_path(path: &Path, private: &PrivateDirectory) -> Result<PathBuf, LaunchError> {
    let refuse = |why| LaunchError::Runtime {
        path: escape(path.as_os_str().as_bytes()),
        why,
    };
    let real = path
        .canonicalize()
        .map_err(|_| refuse("there is nothing of that name, or it cannot be reached"))?;
    if real == Path::new("/") {
        return Err(refuse("the whole file system is no runtime"));
    }
    match private.canary().canonicalize() {
        Ok(canary) if canary.starts_with(&real) => Err(refuse(
            "it holds the temporary directory, where the worker's private directory lies",
        )),
        Ok(_) | Err(_) => Ok(real),
    }
}

/// Starts the process that becomes the worker, with its channel as standard input.
fn spawn(launcher: &Path) -> Result<(Child, OwnedFd), LaunchError> {
    let (mine, its) = channel::pair().map_err(failed("channel"))?;
    let child = Command::new(launcher)
        .arg(INSIDE_ARGUMENT)
        .env_clear()
        .stdin(its)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .map_err(failed("start the confining process"))?;
    Ok((child, mine))
}

/// Waits until the command was executed.
fn started(channel: &OwnedFd, name: &str) -> Result<Report, LaunchError> {
    let next = || {
        channel::receive_status(channel)
            .map_err(|error: ChannelError| LaunchError::NotConfined(error.to_string()))
    };
    let report = match next()? {
        Some(Status::Confined(report)) => report,
        Some(Status::NotConfined(why)) => return Err(LaunchError::NotConfined(why)),
        Some(Status::NotExecuted(_)) | None => {
            return Err(LaunchError::NotConfined(
                "the confining process ended without a word".to_owned(),
            ));
        }
    };
    match next()? {
        None => Ok(report),
        Some(Status::NotExecuted(libc::ENOENT)) => Err(LaunchError::NotFound(name.to_owned())),
        Some(Status::NotExecuted(error)) => Err(LaunchError::NotExecutable {
            name: name.to_owned(),
            why: format!(": {}", std::io::Error::from_raw_os_error(error)),
        }),
        Some(Status::NotConfined(why)) => Err(LaunchError::NotConfined(why)),
        Some(Status::Confined(_)) => Err(LaunchError::NotConfined(
            "the confining process spoke out of turn".to_owned(),
        )),
    }
}

fn failed<E: Into<std::io::Error>>(what: &'static str) -> impl Fn(E) -> LaunchError {
    move |error| LaunchError::Launcher {
        what,
        error: error.into(),
    }
}
