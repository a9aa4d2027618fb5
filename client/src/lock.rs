//! Turns of processes that inherited one session socket.
//!
//! A record lock (`F_SETLK`) belongs to a process, not to an open file, so it tells apart
//! processes that share one socket, which `flock` does not. The kernel drops it when its process
//! ends, however it ends.

use crate::error::{Error, ErrorCode, NoSession};
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long another process is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is tried again.
const PAUSE: Duration = Duration::from_millis(5);

/// Holding one means: no other process that asked for it uses the socket now.
#[derive(Debug)]
pub(crate) struct ProcessLock {
    /// Its own descriptor of the socket. Closing any descriptor of it gives the lock up, so this
    /// one and the session's are dropped together.
    _socket: OwnedFd,
}

impl ProcessLock {
    /// Waits for the socket's turn.
    pub(crate) fn take(socket: &OwnedFd) -> Result<Self, Error> {
        Self::take_within(socket, PATIENCE)
    }

    /// The same, with another patience.
    pub(crate) fn take_within(socket: &OwnedFd, patience: Duration) -> Result<Self, Error> {
        let io = |errno: Errno| Error::new(ErrorCode::Io(errno.raw_os_error()));
        let own = rustix::io::fcntl_dupfd_cloexec(socket, 3).map_err(io)?;
        let deadline = Instant::now() + patience;
        loop {
            match rustix::fs::fcntl_lock(own.as_fd(), FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _socket: own }),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::ACCESS) => {
                    if Instant::now() >= deadline {
                        return Err(NoSession::Busy(patience.as_secs()).into());
                    }
                    std::thread::sleep(PAUSE);
                }
                Err(errno) => return Err(io(errno)),
            }
        }
    }
}
