//! Standard output: what the server writes, and between its lines what this process has to say.

use super::io::{self, Stop, Then};
use super::lines::Ends;
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// Lines of this process that wait for the end of a line of the server. One more is dropped: a
/// server that does not end its line keeps the client from everything else as well.
const WAITING_MAX: usize = 16;

/// The client's side.
#[derive(Debug)]
pub(super) struct Output<'a> {
    to: BorrowedFd<'a>,
    stop: &'a Stop,
    within: Ends,
    waiting: Vec<Vec<u8>>,
}

impl<'a> Output<'a> {
    pub(super) const fn new(to: BorrowedFd<'a>, stop: &'a Stop) -> Self {
        Self {
            to,
            stop,
            within: Ends::Here,
            waiting: Vec::new(),
        }
    }

    /// A line of the server, or a part of one.
    pub(super) fn pass(&mut self, bytes: &[u8], ends: Ends) -> Result<(), Errno> {
        self.write(bytes)?;
        // The last line of all may lack its end; nothing may come behind it.
        self.within = match (ends, bytes.last()) {
            (Ends::Here, Some(b'\n')) => Ends::Here,
            (Ends::Here | Ends::Later, _) => Ends::Later,
        };
        self.flush()
    }

    /// A line of this process.
    pub(super) fn say(&mut self, line: Vec<u8>) -> Result<(), Errno> {
        if self.waiting.len() < WAITING_MAX {
            self.waiting.push(line);
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Errno> {
        match self.within {
            Ends::Later => Ok(()),
            Ends::Here => {
                let waiting = std::mem::take(&mut self.waiting);
                waiting.iter().try_for_each(|line| self.write(line))
            }
        }
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Errno> {
        io::write_all(self.to, bytes, self.stop, Then::Finish)
    }
}
