//! An open file as the engine reads it.

use super::watch::Watch;
use crate::sys::file;
use rustix::io::Errno;
use std::io;
use std::os::fd::BorrowedFd;

/// Bytes of one read at most: the search can be stopped between two.
pub(super) const READ_BYTES: usize = 64 * 1024;

/// Why a file could not be read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// An error of the file system.
    Errno(Errno),
    /// It is larger than files may be.
    TooLarge,
}

/// What is read of a file.
pub(super) enum Rest<'a> {
    /// What was read before is all of it.
    None,
    /// It goes on.
    File(BorrowedFd<'a>),
}

/// A file from its start. Every read fills its room or meets the end, so that the engine's buffers
/// are those that `rg` has for the same file, and it gives up at the same place.
pub(super) struct Source<'a> {
    /// What was read before.
    prefix: &'a [u8],
    rest: Rest<'a>,
    at: u64,
    /// Not to be passed.
    bytes_max: u64,
    watch: &'a Watch<'a>,
    unread: Option<Unread>,
    room_max: usize,
}

impl<'a> Source<'a> {
    pub(super) fn new(
        prefix: &'a [u8],
        rest: Rest<'a>,
        bytes_max: u64,
        watch: &'a Watch<'a>,
    ) -> Self {
        Self {
            prefix,
            rest,
            at: 0,
            bytes_max,
            watch,
            unread: None,
            room_max: 0,
        }
    }

    /// Bytes read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.at
    }

    /// Why it could not be read to its end, if it could not.
    pub(super) fn unread(&self) -> Option<Unread> {
        self.unread
    }

    /// The largest room that was ever to be filled.
    pub(super) fn room_max(&self) -> usize {
        self.room_max
    }

    fn fail(&mut self, unread: Unread) -> io::Error {
        self.unread = Some(unread);
        io::ErrorKind::Other.into()
    }

    fn from_prefix(&mut self, room: &mut [u8]) -> usize {
        let at = usize::try_from(self.at).unwrap_or(usize::MAX);
        let left = self.prefix.get(at..).unwrap_or_default();
        let n = left.len().min(room.len());
        if let (Some(room), Some(left)) = (room.get_mut(..n), left.get(..n)) {
            room.copy_from_slice(left);
        }
        self.at += count(n);
        n
    }
}

impl io::Read for Source<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.room_max = self.room_max.max(room.len());
        let mut done = self.from_prefix(room);
        let Rest::File(file) = self.rest else {
            return Ok(done);
        };
        while done < room.len() {
            if self.watch.look().is_err() {
                return Err(io::ErrorKind::Other.into());
            }
            let end = room.len().min(done.saturating_add(READ_BYTES));
            let step = room.get_mut(done..end).unwrap_or_default();
            match file::read_once(file, step, self.at) {
                Err(errno) => return Err(self.fail(Unread::Errno(errno))),
                Ok(0) => {
                    self.rest = Rest::None;
                    break;
                }
                Ok(n) => {
                    done += n;
                    self.at += count(n);
                }
            }
            if self.at > self.bytes_max {
                return Err(self.fail(Unread::TooLarge));
            }
        }
        Ok(done)
    }
}

pub(super) fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
