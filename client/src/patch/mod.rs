//! Patch text into changes: the V4A envelope (`*** Begin Patch`), unified and git diffs,
//! SEARCH/REPLACE blocks, and the arguments of editing tools as JSON. `docs/PATCHES.md` says what of each is taken and what is refused.
//!
//! The broker never sees a patch: what is read here is one change set, whose texts the gate looks
//! for in the files. What a patch says of a place only narrows where: `@@` lines of V4A become
//! lines that lead to the text, line numbers say where it is looked for first.
//!
//! Names are selectors as any other: the gate judges where they lead.

mod blocks;
mod json;
mod unified;
mod v4a;
mod wrapper;

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
    /// `<<<<<<< SEARCH`, `=======` and `>>>>>>> REPLACE` below the name of a file.
    Blocks,
    /// The arguments of editing tools as JSON: one document, or a list of them.
    Edits,
}

impl Format {
    /// Its name, as commands spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V4a => "v4a",
            Self::Unified => "unified",
            Self::Blocks => "blocks",
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

/// Takes the newline from the last of these lines, as `\ No newline` says. An empty one would be no
/// line then, and is refused in every format.
fn without_newline(number: usize, lines: &mut Vec<u8>) -> Result<(), PatchError> {
    if lines == b"\n" || lines.ends_with(b"\n\n") {
        return Err(PatchError::new(
            number,
            "an empty line without a newline is no line: leave out both it and this mark",
        ));
    }
    if lines.ends_with(b"\n") {
        lines.pop();
    }
    Ok(())
}

/// The format a text is written in: the one whose first mark comes first. None when there is no
/// mark of any.
pub fn detect(patch: &[u8]) -> Option<Format> {
    if json::is_start(patch) {
        return Some(Format::Edits);
    }
    let starts = |line: &[u8], with: &[&[u8]]| with.iter().any(|with| line.starts_with(with));
    let mut lines = unmarked(patch).split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        if v4a::is_mark(line) {
            Some(Format::V4a)
        } else if blocks::is_mark(line) {
            Some(Format::Blocks)
        } else if starts(line, &[b"--- ", b"diff --", b"@@ -"]) {
            Some(Format::Unified)
        } else {
            None
        }
    })
}

/// Reads a patch whose names are in the root of this label, or where a session's plain names are.
pub fn parse(patch: &[u8], format: Format, root: Option<&Label>) -> Result<Changes, PatchError> {
    let mut lines = match format {
        Format::V4a | Format::Blocks => Lines::without_returns(patch),
        Format::Unified | Format::Edits => Lines::new(patch),
    };
    let changes = match format {
        Format::V4a => {
            let wrapper = wrapper::take_off(&mut lines)?;
            let names = Names {
                root,
                below: &wrapper.directory,
            };
            v4a::parse(&mut lines, names, wrapper.end)?
        }
        Format::Unified => unified::parse(&mut lines, Names::of(root))?,
        Format::Blocks => blocks::parse(&mut lines, Names::of(root))?,
        Format::Edits => json::parse(patch, Names::of(root))?,
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
            "this is no patch: begin with `*** Begin Patch`, with the `---` and `+++` lines of a \
             unified diff, with the name of a file and `<<<<<<< SEARCH` on the next line, or with the \
             JSON of editing tools, `{\"path\": …}`",
        )
    })?;
    parse(patch, format, root)
}

/// Where the names of a patch are.
#[derive(Debug, Clone, Copy)]
struct Names<'r> {
    root: Option<&'r Label>,
    /// The directory that relative names are in; empty is the root itself.
    below: &'r [u8],
}

impl<'r> Names<'r> {
    fn of(root: Option<&'r Label>) -> Self {
        Self { root, below: b"" }
    }

    fn selector(self, line: usize, name: &[u8]) -> Result<Selector, PatchError> {
        if name.is_empty() {
            return Err(PatchError::new(line, "there is no file name"));
        }
        let name = if self.below.is_empty() || name.starts_with(b"/") {
            name.to_vec()
        } else {
            [self.below, b"/", name].concat()
        };
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
    end: PatchEnd,
}

/// How a patch ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatchEnd {
    /// With a newline.
    Newline,
    /// In a line, which may be one that was cut.
    Open,
}

impl<'p> Lines<'p> {
    fn new(patch: &'p [u8]) -> Self {
        let patch = unmarked(patch);
        let (whole, end) = match patch.strip_suffix(b"\n") {
            Some(whole) => (whole, PatchEnd::Newline),
            None => (patch, PatchEnd::Open),
        };
        Self {
            lines: whole.split(|byte| *byte == b'\n').collect(),
            at: 0,
            end,
        }
    }

    /// The same, of a patch whose every line ends in a carriage return and a newline: those are
    /// line ends of the patch then, and no content of a file.
    fn without_returns(patch: &'p [u8]) -> Self {
        let mut all = Self::new(patch);
        let ended = patch.ends_with(b"\n");
        let count = all.lines.len();
        let of_patch = all
            .lines
            .iter()
            .enumerate()
            .all(|(at, line)| line.ends_with(b"\r") || at + 1 == count && !ended);
        if of_patch && patch.contains(&b'\n') {
            for line in &mut all.lines {
                *line = line.strip_suffix(b"\r").unwrap_or(line);
            }
        }
        all
    }

    /// The number of the line that comes next, or of the last one.
    fn number(&self) -> usize {
        (self.at + 1).min(self.lines.len()).max(1)
    }

    /// Passes over lines that are empty or blank.
    fn skip_blank(&mut self) {
        while self.peek().is_some_and(|line| line.trim_ascii().is_empty()) {
            self.skip();
        }
    }

    /// Passes over lines with nothing in them.
    fn skip_empty(&mut self) {
        while self.peek().is_some_and(<[u8]>::is_empty) {
            self.skip();
        }
    }

    /// The last line that is still to come and is not blank.
    fn last(&self) -> Option<&'p [u8]> {
        let rest = self.lines.get(self.at..).unwrap_or_default();
        let mut rest = rest.iter().rev();
        rest.find(|line| !line.trim_ascii().is_empty()).copied()
    }

    /// Takes the last line that is not blank off, with what is behind it.
    fn drop_last(&mut self) {
        while self.lines.len() > self.at
            && let Some(line) = self.lines.pop()
            && line.trim_ascii().is_empty()
        {}
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

/// A patch without the byte order mark that some editors put before any text.
fn unmarked(patch: &[u8]) -> &[u8] {
    patch.strip_prefix(b"\xef\xbb\xbf").unwrap_or(patch)
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
