//! An answer, whoever gave it.

use std::collections::BTreeMap;

/// What was told, by path.
pub(crate) type Answer = BTreeMap<Vec<u8>, Told>;

/// What was told of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    /// Lines, and whether a zero byte was met in it.
    Lines(Vec<Line>, Zero),
    /// How many lines.
    Count(u64),
    /// Only that it is one.
    Named,
}

/// Whether a file is known to have a zero byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zero {
    Met,
    NotMet,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Is {
    Match,
    Context,
    Binary,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) is: Is,
    pub(crate) number: u64,
    pub(crate) offset: u64,
    /// From 1; 0 where nothing in the line matches.
    pub(crate) column: u64,
    /// Without what ends it.
    pub(crate) text: Vec<u8>,
    /// Bytes that were left out.
    pub(crate) cut: (usize, usize),
}

/// A line without what ends it.
pub(crate) fn bare(line: &[u8]) -> &[u8] {
    match line.strip_suffix(b"\n") {
        None => line,
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
    }
}
