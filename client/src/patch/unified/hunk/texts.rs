//! The lines of a hunk, taken one after another.

use super::super::super::{PatchError, without_newline};
use crate::change::{self, Part};

/// What was read of a hunk.
#[derive(Debug, Default)]
pub(super) struct Texts {
    old: Side,
    new: Side,
    parts: change::Hunk,
    /// Lines that stay before the first one that goes or comes.
    leading: u64,
    /// Lines that stay after the last one that goes or comes.
    trailing: u64,
    kind: Kind,
    last: Last,
}

/// One side of a hunk.
#[derive(Debug, Default)]
struct Side {
    text: Vec<u8>,
    lines: u64,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum End {
    /// More lines may come.
    #[default]
    Open,
    /// The file ends here, without a newline.
    OfFile,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Kind {
    /// Nothing that goes or comes yet.
    #[default]
    Context,
    Changes,
}

/// What the last line was, for `\ No newline` after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Last {
    #[default]
    None,
    Both,
    Old,
    New,
}

/// Whether a line was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    Line,
    NotOfAHunk,
}

impl Side {
    fn put(&mut self, number: usize, line: &[u8]) -> Result<(), PatchError> {
        match self.end {
            End::OfFile => Err(PatchError::new(
                number,
                "a line after `\\ No newline at end of file`, which is said of the last one",
            )),
            End::Open => {
                self.text.extend_from_slice(line);
                self.text.push(b'\n');
                self.lines += 1;
                Ok(())
            }
        }
    }

    fn without_newline(&mut self) {
        if self.end == End::Open {
            self.text.pop();
            self.end = End::OfFile;
        }
    }
}

impl Texts {
    pub(super) fn old(&self) -> &[u8] {
        &self.old.text
    }

    pub(super) fn new_text(&self) -> &[u8] {
        &self.new.text
    }

    pub(super) const fn old_lines(&self) -> u64 {
        self.old.lines
    }

    pub(super) const fn new_lines(&self) -> u64 {
        self.new.lines
    }

    pub(super) const fn leading(&self) -> u64 {
        self.leading
    }

    pub(super) const fn trailing(&self) -> u64 {
        self.trailing
    }

    /// Whether a side ends without a newline, as only a file does.
    pub(super) fn ends_file(&self) -> bool {
        self.old.end == End::OfFile || self.new.end == End::OfFile
    }

    /// Whether a line goes or comes.
    pub(super) fn changes(&self) -> bool {
        self.kind == Kind::Changes
    }

    pub(super) fn into_parts(self) -> Vec<Part> {
        self.parts.parts
    }

    /// Takes one line of the body. A line of context that is empty may have lost its space.
    pub(super) fn take(&mut self, number: usize, line: &[u8]) -> Result<Taken, PatchError> {
        match line {
            [] | [b' ', ..] => {
                let text = line.get(1..).unwrap_or_default();
                self.old.put(number, text)?;
                self.new.put(number, text)?;
                self.parts.keep(text);
                self.leading += u64::from(self.kind == Kind::Context);
                self.trailing += 1;
                self.last = Last::Both;
            }
            [b'-', text @ ..] => {
                self.old.put(number, text)?;
                self.parts.remove(text);
                self.changed(Last::Old);
            }
            [b'+', text @ ..] => {
                self.new.put(number, text)?;
                self.parts.insert(text);
                self.changed(Last::New);
            }
            [b'\\', ..] => self.end_of_file(number)?,
            _ => return Ok(Taken::NotOfAHunk),
        }
        Ok(Taken::Line)
    }

    fn changed(&mut self, last: Last) {
        self.kind = Kind::Changes;
        self.trailing = 0;
        self.last = last;
    }

    /// The last line ends the file without a newline.
    fn end_of_file(&mut self, number: usize) -> Result<(), PatchError> {
        match self.last {
            Last::Both => {
                self.old.without_newline();
                self.new.without_newline();
            }
            Last::Old => self.old.without_newline(),
            Last::New => self.new.without_newline(),
            Last::None => {
                return Err(PatchError::new(
                    number,
                    "`\\ No newline` belongs behind the line it is said of",
                ));
            }
        }
        if let Some(Part::Keep(run) | Part::Remove(run) | Part::Insert(run)) =
            self.parts.parts.last_mut()
        {
            without_newline(number, run)?;
        }
        Ok(())
    }
}
