//! The thread that starts gates. A gate asks to be killed when the thread that started it ends,
//! so this one lives as long as the warden.

use crate::config::GateExecutable;
use crate::sys::watch;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawMode};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open, pidfd_send_signal,
    waitid,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The file name of the gate's executable.
const GATE_NAME: &str = "portcullis-gate";
/// How often gates that were let go are looked at again until they are gone.
const SWEEP: Duration = Duration::from_millis(20);
/// How long the thread waits for such gates when the warden ends. One that hangs in the kernel
/// longer stays a killed child of the process.
const LAST_SWEEP: Duration = Duration::from_secs(5);

/// Why the gate's executable cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ExecutableError {
    /// The directory of the running executable is not known.
    #[error("where this executable is: {0}")]
    OwnPlace(#[source] io::Error),
    /// It cannot be opened for reading.
    #[error("the gate's executable {path}: {source}")]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is not a plain executable file.
    #[error("the gate's executable {path}: {what}")]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Why.
        what: &'static str,
    },
    /// `/proc` is not there, and through it the opened file is run.
    #[error("/proc/self/fd does not show this process: {0}")]
    NoProc(#[source] io::Error),
}

/// Holding one means: a regular file, opened, executable, without set-id bits, and `/proc` leads
/// to it. Whoever can write to the file itself can still change what runs.
#[derive(Debug)]
pub(crate) struct Executable {
    file: OwnedFd,
}

impl Executable {
    pub(crate) fn open(place: GateExecutable) -> Result<Self, ExecutableError> {
        // Not blocking, so that a FIFO of this name does not hold the start up.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let named = |path: PathBuf| match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(file) => Ok((path, file)),
            Err(errno) => Err(ExecutableError::Open {
                path,
                source: errno.into(),
            }),
        };
        let (path, file) = match place {
            GateExecutable::At(path) => named(path)?,
            GateExecutable::Beside => {
                let own = std::env::current_exe().map_err(ExecutableError::OwnPlace)?;
                named(own.with_file_name(GATE_NAME))?
            }
            GateExecutable::Open(file) => (PathBuf::from("of the descriptor"), file),
        };
        let open = |errno: Errno| ExecutableError::Open {
            path: path.clone(),
            source: errno.into(),
        };
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::CLOEXEC).map_err(open)?;
        let stat = rustix::fs::fstat(&file).map_err(open)?;
        if let Some(what) = unfit(stat.st_mode) {
            return Err(ExecutableError::Unfit { path, what });
        }
        let executable = Self { file };
        let seen = rustix::fs::statat(CWD, executable.path(), AtFlags::empty())
            .map_err(|errno| ExecutableError::NoProc(errno.into()))?;
        if (seen.st_dev, seen.st_ino) != (stat.st_dev, stat.st_ino) {
            return Err(ExecutableError::NoProc(io::ErrorKind::NotFound.into()));
        }
        Ok(executable)
    }

    /// A path to the opened file, whatever its name leads to by now.
    fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.file.as_raw_fd())
    }
}

fn unfit(mode: RawMode) -> Option<&'static str> {
    let bits = Mode::from_raw_mode(mode);
    if FileType::from_raw_mode(mode) != FileType::RegularFile {
        Some("not a regular file")
    } else if !bits.intersects(Mode::XUSR | Mode::XGRP | Mode::XOTH) {
        Some("not executable")
    } else if bits.intersects(Mode::SUID | Mode::SGID) {
        Some("it has set-id bits, which a gate must not gain anything from")
    } else {
        None
    }
}

/// What the thread is asked to do.
enum Job {
    /// Start a gate with this ledger socket.
    Spawn {
        ledger: OwnedFd,
        /// Where the gate goes when nobody waits for it any more: it may be let go before anybody
        /// had it in hand.
        orphanage: Sender<Job>,
        started: oneshot::Sender<io::Result<Gate>>,
    },
    /// Reap a gate that was killed and let go.
    Reap(OwnedFd),
}

/// Asks the thread for gates.
#[derive(Debug, Clone)]
pub(crate) struct Spawner {
    jobs: Sender<Job>,
}

impl Spawner {
    /// Starts the thread. It ends after the last `Spawner` and the last [`Gate`].
    pub(crate) fn start(executable: Executable) -> io::Result<(Self, JoinHandle<()>)> {
        let (jobs, asked) = channel();
        let spawner = Self { jobs };
        let thread = std::thread::Builder::new()
            .name("portcullis-spawner".to_owned())
            .spawn(move || work(&executable, &asked))?;
        Ok((spawner, thread))
    }

    /// Starts a gate. If the wait for it is given up, it is killed.
    pub(crate) async fn spawn(&self, ledger: OwnedFd) -> io::Result<Gate> {
        let (started, start) = oneshot::channel();
        let gone = || io::Error::other("the thread that starts gates is gone");
        let orphanage = self.jobs.clone();
        let job = Job::Spawn {
            ledger,
            orphanage,
            started,
        };
        self.jobs.send(job).map_err(|_| gone())?;
        start.await.map_err(|_| gone())?
    }
}

fn work(executable: &Executable, asked: &Receiver<Job>) {
    let mut dying: Vec<OwnedFd> = Vec::new();
    loop {
        let job = if dying.is_empty() {
            asked.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            asked.recv_timeout(SWEEP)
        };
        match job {
            Ok(Job::Spawn {
                ledger,
                orphanage,
                started,
            }) => {
                // Nobody waits for it any more: it comes back here, and is killed.
                if let Err(Ok(mut gate)) = started.send(spawn(executable, ledger, orphanage)) {
                    dying.extend(gate.let_go());
                }
            }
            Ok(Job::Reap(pidfd)) => dying.push(pidfd),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        dying.retain(|pidfd| matches!(reap_now(pidfd.as_fd()), Ok(None)));
    }
    let end = Instant::now() + LAST_SWEEP;
    while !dying.is_empty() && Instant::now() < end {
        dying.retain(|pidfd| matches!(reap_now(pidfd.as_fd()), Ok(None)));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The ledger as descriptor 0, nothing for 1 and 2, an empty environment. What std opens and what
/// the warden holds is close-on-exec.
fn spawn(executable: &Executable, ledger: OwnedFd, orphanage: Sender<Job>) -> io::Result<Gate> {
    let mut child = Command::new(executable.path())
        .arg0(GATE_NAME)
        .env_clear()
        .current_dir("/")
        // Its own process group: a signal from a terminal is for the command, not for its gates.
        .process_group(0)
        .stdin(Stdio::from(ledger))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let pid = child.id();
    // The child is not reaped yet, so that the number is still its own.
    let opened = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or(Errno::SRCH)
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()));
    match opened {
        Ok(pidfd) => Ok(Gate {
            pidfd: Some(pidfd),
            pid,
            orphanage,
        }),
        Err(errno) => {
            // Without a pidfd nothing is served.
            child.kill()?;
            child.wait()?;
            Err(errno.into())
        }
    }
}

/// A started gate. Dropping it kills it; it is reaped in any case.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Present until the gate is reaped or let go.
    pidfd: Option<OwnedFd>,
    pid: u32,
    orphanage: Sender<Job>,
}

impl Gate {
    /// Its process id, as the warden sees it.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until it ended by itself, at most so long, then kills it; gives what it ended with
    /// when it is reaped. None when someone else reaped it.
    pub(crate) async fn end(mut self, grace: Duration) -> Option<WaitIdStatus> {
        let status = ended(self.pidfd.as_ref()?.as_fd(), grace).await.ok()?;
        self.pidfd = None;
        Some(status)
    }

    /// Kills it, and gives what is needed to reap it.
    fn let_go(&mut self) -> Option<OwnedFd> {
        let pidfd = self.pidfd.take()?;
        kill(pidfd.as_fd());
        Some(pidfd)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let Some(pidfd) = self.let_go() else {
            return;
        };
        // Refused only after the thread ended, which it does not while this sender lives.
        drop(self.orphanage.send(Job::Reap(pidfd)));
    }
}

async fn ended(pidfd: BorrowedFd<'_>, grace: Duration) -> io::Result<WaitIdStatus> {
    let watched = watch(pidfd, Interest::READABLE)?;
    if grace.is_zero() || timeout(grace, watched.readable()).await.is_err() {
        kill(pidfd);
    }
    loop {
        let mut guard = watched.readable().await?;
        match reap_now(pidfd)? {
            Some(status) => return Ok(status),
            None => guard.clear_ready(),
        }
    }
}

fn kill(pidfd: BorrowedFd<'_>) {
    // Fails only for a process that has ended already.
    pidfd_send_signal(pidfd, Signal::KILL).ok();
}

fn reap_now(pidfd: BorrowedFd<'_>) -> Result<Option<WaitIdStatus>, Errno> {
    waitid(
        WaitId::PidFd(pidfd),
        WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
    )
}
