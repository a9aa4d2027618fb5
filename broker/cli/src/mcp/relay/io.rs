//! Reading and writing beside a stop: a thread that waits for the client or the server also sees
//! that the server has ended, and never waits for good.

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes written at once: as many as a pipe that can be written to takes without waiting.
const PIECE: usize = 4096;
/// How long a client may take to read more of what is left once the server has ended.
const LAST_READ: Timespec = Timespec {
    tv_sec: 5,
    tv_nsec: 0,
};

/// A pipe whose writing end is dropped when the server has ended.
#[derive(Debug)]
pub(super) struct Stop(OwnedFd);

/// What is still done once the server has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Nothing.
    Leave,
    /// What is there already, with patience for a while.
    Finish,
}

impl Stop {
    /// It, and what stops it when it is dropped.
    pub(super) fn pair() -> Result<(Self, OwnedFd), Errno> {
        let (stopped, stop) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        Ok((Self(stopped), stop))
    }
}

/// Reads some; 0 at the end, which the stop is too.
pub(super) fn read(
    from: BorrowedFd<'_>,
    into: &mut [u8],
    stop: &Stop,
    then: Then,
) -> Result<usize, Errno> {
    loop {
        let mut ready = [
            PollFd::new(&from, PollFlags::IN),
            PollFd::new(&stop.0, PollFlags::IN),
        ];
        match rustix::event::poll(&mut ready, None) {
            Err(Errno::INTR) => continue,
            other => drop(other?),
        }
        let [data, stopped] = &ready;
        match (
            then,
            data.revents().is_empty(),
            stopped.revents().is_empty(),
        ) {
            (Then::Leave, _, false) | (Then::Finish, true, _) => return Ok(0),
            (Then::Leave, true, true) => continue,
            (Then::Leave, false, true) | (Then::Finish, false, _) => {}
        }
        match rustix::io::read(from, &mut *into) {
            Err(Errno::INTR | Errno::AGAIN) => {}
            other => return other,
        }
    }
}

/// Writes all of it.
pub(super) fn write_all(
    to: BorrowedFd<'_>,
    mut bytes: &[u8],
    stop: &Stop,
    then: Then,
) -> Result<(), Errno> {
    let mut patience = None;
    while !bytes.is_empty() {
        let watched = match patience {
            None => PollFlags::IN,
            // It is known, and would end every wait.
            Some(_) => PollFlags::empty(),
        };
        let mut ready = [
            PollFd::new(&to, PollFlags::OUT),
            PollFd::from_borrowed_fd(stop.0.as_fd(), watched),
        ];
        let ready = match patience {
            None => rustix::event::poll(&mut ready, None).map(|_| &ready[..]),
            Some(time) => match rustix::event::poll(&mut ready[..1], Some(&time)) {
                Ok(0) => return Err(Errno::TIMEDOUT),
                other => other.map(|_| &ready[..1]),
            },
        };
        let ready = match ready {
            Err(Errno::INTR) => continue,
            other => other?,
        };
        let stopped = ready.get(1).is_some_and(|stop| !stop.revents().is_empty());
        match (stopped, then) {
            (true, Then::Leave) => return Err(Errno::PIPE),
            (true, Then::Finish) => patience = Some(LAST_READ),
            (false, Then::Leave | Then::Finish) => {}
        }
        if ready.first().is_some_and(|to| to.revents().is_empty()) {
            continue;
        }
        let piece = bytes.get(..PIECE).unwrap_or(bytes);
        match rustix::io::write(to, piece) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
