//! A file as lines, each with its terminator.

use super::miss::Noted;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Lines;
use std::ops::Range;

/// UTF-8's byte order mark.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";
/// What ends lines in a file that has no terminator.
pub(super) const LF: &[u8] = b"\n";
const CRLF: &[u8] = b"\r\n";

/// Bytes, and where each line of them begins. Four bytes for each line.
#[derive(Debug)]
pub(super) struct Text<'a> {
    bytes: &'a [u8],
    starts: Vec<u32>,
}

impl<'a> Text<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, Noted> {
        if u32::try_from(bytes.len()).is_err() {
            return Err(Noted::new(Code::OutOfBudget, "the file is too large"));
        }
        let mut starts = Vec::with_capacity(memchr::memchr_iter(b'\n', bytes).count() + 1);
        if !bytes.is_empty() {
            starts.push(0);
        }
        let after = memchr::memchr_iter(b'\n', bytes).map(|at| at + 1);
        starts.extend(after.filter(|at| *at < bytes.len()).map(short));
        Ok(Self { bytes, starts })
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// How many lines there are.
    pub(super) fn count(&self) -> usize {
        self.starts.len()
    }

    /// Where a line begins, from 0; the end of the file for what is none.
    pub(super) fn start(&self, line: usize) -> usize {
        self.starts
            .get(line)
            .map_or(self.bytes.len(), |at| long(*at))
    }

    /// A line with its terminator; empty for what is none.
    pub(super) fn line(&self, line: usize) -> &'a [u8] {
        self.bytes
            .get(self.start(line)..self.start(line + 1))
            .unwrap_or_default()
    }

    /// The line in which a byte is; beyond the last byte, the number of lines.
    pub(super) fn at(&self, byte: usize) -> usize {
        if byte >= self.bytes.len() {
            return self.count();
        }
        self.starts
            .partition_point(|start| long(*start) <= byte)
            .saturating_sub(1)
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = &'a [u8]> {
        split(self.bytes)
    }

    /// Bytes of the byte order mark it begins with.
    pub(super) fn mark(&self) -> usize {
        if self.bytes.starts_with(BOM) {
            BOM.len()
        } else {
            0
        }
    }

    /// The terminator of its first line, else LF.
    pub(super) fn first_terminator(&self) -> &'static [u8] {
        ended(terminator(self.line(0))).unwrap_or(LF)
    }

    /// Whether its last line is ended, or there is none: nothing, or no more than a mark.
    pub(super) fn is_ended(&self) -> bool {
        matches!(self.bytes, [] | [.., b'\n']) || self.bytes == BOM
    }

    /// The terminator next to a place between lines: of the line before it, else of the one after
    /// it, else the first of the file.
    pub(super) fn terminator_near(&self, line: usize) -> &'static [u8] {
        let before = line.checked_sub(1).map(|before| self.line(before));
        before
            .and_then(|line| ended(terminator(line)))
            .or_else(|| ended(terminator(self.line(line))))
            .unwrap_or_else(|| self.first_terminator())
    }
}

/// The lines of bytes, each with its terminator.
pub(super) fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let len = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(len);
        rest = after;
        (!line.is_empty()).then_some(line)
    })
}

/// The terminator of a line: LF, CRLF or nothing.
pub(super) fn terminator(line: &[u8]) -> &'static [u8] {
    if line.ends_with(CRLF) {
        CRLF
    } else if line.ends_with(LF) {
        LF
    } else {
        b""
    }
}

/// A terminator that is one.
pub(super) fn ended(terminator: &'static [u8]) -> Option<&'static [u8]> {
    (!terminator.is_empty()).then_some(terminator)
}

/// A line without its terminator.
pub(super) fn body(line: &[u8]) -> &[u8] {
    line.get(..line.len() - terminator(line).len())
        .unwrap_or_default()
}

/// Lines from 0, as the protocol counts them.
pub(super) fn told(lines: &Range<usize>) -> Lines {
    let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    Lines {
        first: number(lines.start).saturating_add(1),
        count: number(lines.len()),
    }
}

/// A position in a file that [`Text::new`] took.
pub(super) fn short(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

pub(super) fn long(at: u32) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}
