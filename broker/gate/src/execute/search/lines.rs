//! How one line is shown.

use portcullis_protocol::limits::SEARCH_LINE_BYTES_MAX;

/// A line without what ends it: a line feed, or a carriage return and one.
pub(super) fn without_end(line: &[u8]) -> &[u8] {
    match line.strip_suffix(b"\n") {
        None => line,
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
    }
}

/// What is shown of a line, and how much of it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shown<'a> {
    pub(super) before: usize,
    pub(super) text: &'a [u8],
    pub(super) after: usize,
}

/// The part of a line that is shown: all of it, or what is around byte `at`. A character of UTF-8 is
/// shown whole or not at all.
pub(super) fn around(line: &[u8], at: usize) -> Shown<'_> {
    if line.len() <= SEARCH_LINE_BYTES_MAX {
        return Shown {
            before: 0,
            text: line,
            after: 0,
        };
    }
    let start = at
        .saturating_sub(SEARCH_LINE_BYTES_MAX / 4)
        .min(line.len() - SEARCH_LINE_BYTES_MAX);
    let end = start + SEARCH_LINE_BYTES_MAX;
    let start = (start..start + 4)
        .find(|at| is_boundary(line, *at))
        .unwrap_or(start);
    let end = (end - 3..=end)
        .rev()
        .find(|at| is_boundary(line, *at))
        .unwrap_or(end);
    Shown {
        before: start,
        text: line.get(start..end).unwrap_or_default(),
        after: line.len() - end,
    }
}

/// Whether a character of UTF-8 may begin at `at`, or the line ends there.
fn is_boundary(line: &[u8], at: usize) -> bool {
    line.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)
}

#[cfg(test)]
mod tests;
