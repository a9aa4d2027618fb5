//! Standard output: what the server writes, and between its lines what this process has to say.

use super::io::{self, Stop, Then};
use super::lines::Ends;
use crate::words::counted;
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// Lines of this process that wait for the end of a line of the server. One more is dropped and
/// counted: a server that does not end its line keeps the client from everything else as well.
const WAITING_MAX: usize = 16;

/// The client's side.
#[derive(Debug)]
pub(super) struct Output<'a> {
    to: BorrowedFd<'a>,
    stop: &'a Stop,
    within: Ends,
    waiting: Vec<Vec<u8>>,
    dropped: u64,
}

impl<'a> Output<'a> {
    pub(super) const fn new(to: BorrowedFd<'a>, stop: &'a Stop) -> Self {
        Self {
            to,
            stop,
            within: Ends::Here,
            waiting: Vec::new(),
            dropped: 0,
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
        } else {
            self.dropped += 1;
        }
        self.flush()
    }

    /// What did not work, for people.
    pub(super) fn trouble(&self) -> Option<String> {
        (self.dropped > 0).then(|| {
            format!(
                "{} for the client could not be written: the server did not end its line",
                counted(self.dropped, "message")
            )
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn what_has_no_room_behind_a_line_is_counted() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let (stop, _stops) = Stop::pair().unwrap();
        let mut output = Output::new(write.as_fd(), &stop);
        output.pass(b"a line ", Ends::Later).unwrap();
        for _ in 0..WAITING_MAX {
            output.say(b"own\n".to_vec()).unwrap();
        }
        assert_eq!(output.trouble(), None);
        output.say(b"more\n".to_vec()).unwrap();
        let said = output.trouble().unwrap();
        assert!(said.starts_with("1 message for the client"), "{said}");
        output.pass(b"of the server\n", Ends::Here).unwrap();
        let mut came = [0; 1024];
        let length = rustix::io::read(&read, &mut came).unwrap();
        let wanted = format!("a line of the server\n{}", "own\n".repeat(WAITING_MAX));
        assert_eq!(&came[..length], wanted.as_bytes());
    }
}
