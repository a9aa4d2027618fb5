//! Patch text into changes: the V4A envelope (`*** Begin Patch`), and unified and git diffs.
//!
//! Texts match byte for byte, context included. What a patch says of a place is kept: `@@` lines
//! of V4A become lines that lead to the text, line numbers of a hunk say where it is looked for
//! first; in both the text must be there exactly once. Lines end as the patch text ends them.
//!
//! Names are selectors as any other: the gate judges where they lead.

mod json;
mod unified;
mod v4a;

use crate::change::Changes;
use crate::error::Error;
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::path::{Label, escape};
use portcullis_protocol::session::Selector;
use std::fmt;

/// How a patch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Sections between `*** Begin Patch` and `*** End Patch`.
    V4a,
    /// `---`, `+++` and `@@ -1,2 +1,2 @@`, with or without the headers of git.
    Unified,
    /// The arguments of editing tools as JSON: one document, or a list of them.
    Edits,
}

impl Format {
    /// Its name, as commands spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V4a => "v4a",
            Self::Unified => "unified",
            Self::Edits => "edits",
        }
    }
}

/// Why a text is not taken as a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchError {
    line: usize,
    what: String,
}

impl PatchError {
    fn new(line: usize, what: impl Into<String>) -> Self {
        Self {
            line,
            what: what.into(),
        }
    }

    /// The line of the patch, from 1.
    pub const fn line(&self) -> usize {
        self.line
    }
}

impl fmt::Display for PatchError {
    /// One line for a person: where, what is wrong, and what to write instead.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the patch: {}", self.line, self.what)
    }
}

impl std::error::Error for PatchError {}

impl From<PatchError> for Error {
    fn from(error: PatchError) -> Self {
        Self::invalid(error)
    }
}

/// The format a text is written in, by its first lines; none when it is neither.
pub fn detect(patch: &[u8]) -> Option<Format> {
    if json::is_start(patch) {
        return Some(Format::Edits);
    }
    let mut lines = patch.split(|byte| *byte == b'\n');
    let first = lines.find(|line| !line.trim_ascii().is_empty())?;
    if first.trim_ascii() == v4a::BEGIN {
        return Some(Format::V4a);
    }
    let is_start = |line: &[u8]| {
        [&b"--- "[..], b"diff --git ", b"@@ -"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let mut all = patch.split(|byte| *byte == b'\n');
    all.any(is_start).then_some(Format::Unified)
}

/// Reads a patch whose names are in the root of this label, or where a session's plain names are.
pub fn parse(patch: &[u8], format: Format, root: Option<&Label>) -> Result<Changes, PatchError> {
    let mut lines = Lines::new(patch);
    let names = Names { root };
    let changes = match format {
        Format::V4a => v4a::parse(&mut lines, names)?,
        Format::Unified => unified::parse(&mut lines, names)?,
        Format::Edits => json::parse(patch, names)?,
    };
    if changes.items().is_empty() {
        return Err(PatchError::new(lines.number(), "the patch changes nothing"));
    }
    Ok(changes)
}

/// Reads a patch in the format it is found to be in.
pub fn parse_any(patch: &[u8], root: Option<&Label>) -> Result<Changes, PatchError> {
    let format = detect(patch).ok_or_else(|| {
        PatchError::new(
            1,
            "this is no patch: begin with `*** Begin Patch`, or with the `---` and `+++` lines of a \
             unified diff",
        )
    })?;
    parse(patch, format, root)
}

/// Where the names of a patch are.
#[derive(Debug, Clone, Copy)]
struct Names<'r> {
    root: Option<&'r Label>,
}

impl Names<'_> {
    fn selector(self, line: usize, name: &[u8]) -> Result<Selector, PatchError> {
        if name.is_empty() {
            return Err(PatchError::new(line, "there is no file name"));
        }
        let path = Bytes::new(name).map_err(|e| PatchError::new(line, format!("name: {e}")))?;
        Ok(Selector {
            root: self.root.cloned(),
            path,
        })
    }
}

/// The lines of a patch, without their terminators.
#[derive(Debug)]
struct Lines<'p> {
    lines: Vec<&'p [u8]>,
    at: usize,
}

impl<'p> Lines<'p> {
    fn new(patch: &'p [u8]) -> Self {
        let whole = patch.strip_suffix(b"\n").unwrap_or(patch);
        Self {
            lines: whole.split(|byte| *byte == b'\n').collect(),
            at: 0,
        }
    }

    /// The number of the line that comes next, or of the last one.
    fn number(&self) -> usize {
        (self.at + 1).min(self.lines.len())
    }

    fn peek(&self) -> Option<&'p [u8]> {
        self.lines.get(self.at).copied()
    }

    fn skip(&mut self) {
        self.at += 1;
    }

    /// The next line with its number.
    fn next(&mut self) -> Option<(usize, &'p [u8])> {
        let line = self.peek()?;
        self.at += 1;
        Some((self.at, line))
    }
}

/// A line of a patch, for a person, at most 40 characters of it.
fn shown(line: &[u8]) -> String {
    const MOST: usize = 40;
    let whole = escape(line);
    match whole.char_indices().nth(MOST) {
        Some((cut, _)) => format!("{}…", whole.get(..cut).unwrap_or_default()),
        None => whole,
    }
}

/// Refuses a header line of a patch that was turned into Windows line ends as a whole.
fn no_carriage_return(number: usize, line: &[u8]) -> Result<(), PatchError> {
    if line.ends_with(b"\r") {
        return Err(PatchError::new(
            number,
            "a header ends in a carriage return: send the patch with plain newlines; carriage \
             returns belong only in the text of files that have them",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
