//! Reading an open regular file.

use super::fault::point;
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// Reads into `room` from `offset` until it is full or the file ends; gives how many bytes. Fewer
/// than `room` holds means the end of the file at that moment.
pub fn read_at(file: BorrowedFd<'_>, room: &mut [u8], offset: u64) -> Result<usize, Errno> {
    let mut done = 0;
    while let Some(rest) = room.get_mut(done..).filter(|rest| !rest.is_empty()) {
        let at = offset.saturating_add(u64::try_from(done).unwrap_or(u64::MAX));
        match point(|| rustix::io::pread(file, &mut *rest, at)) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Reads from the beginning until `room` is full or the file ends, as [`read_at`] does. A file that has
/// as many bytes as it is known to have, and not one more where `room` is longer, is read with one call.
pub fn read_whole(file: BorrowedFd<'_>, room: &mut [u8], known: usize) -> Result<usize, Errno> {
    let first = read_once(file, room, 0)?;
    if first == 0 || first == room.len() || first == known {
        return Ok(first);
    }
    let rest = room.get_mut(first..).unwrap_or_default();
    let offset = u64::try_from(first).unwrap_or(u64::MAX);
    Ok(first + read_at(file, rest, offset)?)
}

/// Reads into `room` from `offset` with one call; gives how many bytes. None means the end of the
/// file; fewer than `room` holds may mean anything.
pub fn read_once(file: BorrowedFd<'_>, room: &mut [u8], offset: u64) -> Result<usize, Errno> {
    loop {
        match point(|| rustix::io::pread(file, &mut *room, offset)) {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}
