//! Reading and writing beside a stop: a thread that waits for the client or the server also sees
//! that the server has ended, and never waits for good.

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::os::fd::{BorrowedFd, OwnedFd};

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

/// What a wait for room came to.
enum Room {
    /// There is some.
    There,
    /// The server has ended meanwhile.
    Stopped,
    /// Nobody has read for a while.
    Late,
}

/// Waits until something can be written: for good beside a stop, else for a while.
fn room(to: BorrowedFd<'_>, stop: Option<&Stop>) -> Result<Room, Errno> {
    let to = PollFd::from_borrowed_fd(to, PollFlags::OUT);
    let Some(stop) = stop else {
        return Ok(match rustix::event::poll(&mut [to], Some(&LAST_READ))? {
            0 => Room::Late,
            _ => Room::There,
        });
    };
    let mut both = [to, PollFd::new(&stop.0, PollFlags::IN)];
    rustix::event::poll(&mut both, None)?;
    let [_, stopped] = &both;
    Ok(match stopped.revents().is_empty() {
        true => Room::There,
        false => Room::Stopped,
    })
}

/// Writes all of it.
pub(super) fn write_all(
    to: BorrowedFd<'_>,
    mut bytes: &[u8],
    stop: &Stop,
    then: Then,
) -> Result<(), Errno> {
    let mut watched = Some(stop);
    while !bytes.is_empty() {
        let room = match room(to, watched) {
            Err(Errno::INTR) => continue,
            other => other?,
        };
        match (room, then) {
            (Room::Stopped, Then::Leave) => return Err(Errno::PIPE),
            (Room::Stopped, Then::Finish) => {
                watched = None;
                continue;
            }
            (Room::Late, Then::Leave | Then::Finish) => return Err(Errno::TIMEDOUT),
            (Room::There, Then::Leave | Then::Finish) => {}
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
