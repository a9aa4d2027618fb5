//! Lines of one side, in bounded memory: a line that is too long to be looked at comes in parts.

use super::io::{self, Stop, Then};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// Longest line that is looked at. What this process has to recognise is far shorter: an answer to
/// a question, a result that only waits, a call whose arguments are compared.
pub(super) const LINE_BYTES_MAX: usize = 1024 * 1024;
/// Bytes read at once.
const CHUNK: usize = 64 * 1024;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A whole line with its end, or the last one without.
    Line(&'a [u8]),
    /// A part of a longer one.
    Part(&'a [u8], Ends),
}

/// Whether a line ends with its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    Here,
    Later,
}

/// One side.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    from: BorrowedFd<'a>,
    stop: &'a Stop,
    then: Then,
    max: usize,
    held: Vec<u8>,
    /// Where what was not given yet begins.
    start: usize,
    /// Bytes of it that hold no end of a line.
    looked: usize,
    within: Ends,
    over: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(from: BorrowedFd<'a>, stop: &'a Stop, then: Then) -> Self {
        Self {
            from,
            stop,
            then,
            max: LINE_BYTES_MAX,
            held: Vec::new(),
            start: 0,
            looked: 0,
            within: Ends::Here,
            over: false,
        }
    }

    /// The next; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Piece<'_>>, Errno> {
        loop {
            let unread = self.held.get(self.start..).unwrap_or_default();
            let new = unread.get(self.looked..).unwrap_or_default();
            if let Some(at) = memchr::memchr(b'\n', new) {
                let length = self.looked + at + 1;
                return Ok(Some(self.give(length, Ends::Here)));
            }
            let length = unread.len();
            self.looked = length;
            if length >= self.max || (length > 0 && self.within == Ends::Later) {
                return Ok(Some(self.give(length, Ends::Later)));
            }
            if self.over {
                return Ok((length > 0).then(|| self.give(length, Ends::Here)));
            }
            self.fill()?;
        }
    }

    fn give(&mut self, length: usize, ends: Ends) -> Piece<'_> {
        let before = std::mem::replace(&mut self.within, ends);
        let from = self.start;
        self.start += length;
        self.looked = 0;
        let bytes = self.held.get(from..self.start).unwrap_or_default();
        match (before, ends) {
            (Ends::Here, Ends::Here) => Piece::Line(bytes),
            (Ends::Later, _) | (_, Ends::Later) => Piece::Part(bytes, ends),
        }
    }

    fn fill(&mut self) -> Result<(), Errno> {
        self.held.drain(..self.start);
        self.start = 0;
        if self.held.is_empty() {
            // What one long line took is not kept for short ones.
            self.held.shrink_to(CHUNK);
        }
        let there = self.held.len();
        self.held.resize(there + CHUNK, 0);
        let room = self.held.get_mut(there..).unwrap_or_default();
        let read = io::read(self.from, room, self.stop, self.then);
        self.held
            .truncate(there + read.as_ref().copied().unwrap_or_default());
        self.over = read? == 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    fn pieces(text: &[u8], max: usize) -> Vec<(Vec<u8>, Option<Ends>)> {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let (stop, _stops) = Stop::pair().unwrap();
        rustix::io::write(&write, text).unwrap();
        drop(write);
        let mut lines = Lines::new(read.as_fd(), &stop, Then::Finish);
        lines.max = max;
        let mut all = Vec::new();
        while let Some(piece) = lines.next().unwrap() {
            all.push(match piece {
                Piece::Line(line) => (line.to_vec(), None),
                Piece::Part(part, ends) => (part.to_vec(), Some(ends)),
            });
        }
        all
    }

    #[test]
    fn lines_are_whole_and_long_ones_come_in_parts() {
        let whole = |line: &[u8]| (line.to_vec(), None);
        assert_eq!(
            pieces(b"a\n\nbc\nd", 100),
            [whole(b"a\n"), whole(b"\n"), whole(b"bc\n"), whole(b"d")]
        );
        let long = vec![b'x'; CHUNK + 10];
        let text = [&b"a\n"[..], &long, b"\nb\n"].concat();
        let all = pieces(&text[..60_000], 30);
        assert_eq!(all[0], whole(b"a\n"));
        assert_eq!(all[1].1, Some(Ends::Later));
        let parts = [&long[..40], b"\nb\n"].concat();
        let all = pieces(&parts, 30);
        // It was read in one piece, and its end is in it.
        assert_eq!(all, [(parts[..41].to_vec(), None), whole(b"b\n")]);
        assert_eq!(pieces(b"", 10), []);
    }
}
