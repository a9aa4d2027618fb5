//! The chunks of a section: what leads to each, and its lines.

use super::super::without_newline;
use super::{AFTER_THE_LAST, Header, Lines, PatchError, header, misplaced_move, shown, unknown};
use crate::change::{Edges, Hunk, Part, TextEdit};
use portcullis_protocol::limits::LEADS_MAX;

/// A chunk that is being read.
#[derive(Default)]
struct Chunk {
    /// Its first line in the patch; 0 before there is one.
    number: usize,
    hunk: Hunk,
    /// What `@@ -3,2 +3,4 @@` said of the old lines.
    header: Option<Range>,
    body: Body,
    /// Empty lines of the patch that are lines of the file if more of the chunk comes.
    empty: usize,
    /// What its last line was, for `\ No newline` after it.
    last: Last,
    /// Whether more old lines, and more new ones, may come.
    old: Side,
    new: Side,
}

/// How far a chunk has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Body {
    /// No line of it yet.
    #[default]
    Nothing,
    /// Only lines that stay.
    Context,
    /// Lines that go or come as well.
    Changes,
    /// It was closed by `*** End of File`.
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Last {
    #[default]
    Nothing,
    Kept,
    Removed,
    Inserted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Side {
    #[default]
    Open,
    /// The file ends here, without a newline.
    Ended,
}

/// All chunks of a section.
pub(super) fn all(lines: &mut Lines<'_>) -> Result<Vec<TextEdit>, PatchError> {
    let mut done = Vec::new();
    let mut chunk = Chunk::default();
    // Empty lines below the header of the section are no lines of the file.
    lines.skip_empty();
    while let Some(line) = lines.peek() {
        let number = lines.number();
        if line.starts_with(b"@@") {
            if chunk.body != Body::Nothing {
                chunk.close(&mut done)?;
            }
            chunk.lead(number, line)?;
        } else if line.starts_with(b"***") {
            match header(number, line)? {
                Header::EndOfFile if matches!(chunk.body, Body::Context | Body::Changes) => {
                    chunk.end_of_file();
                    chunk.close(&mut done)?;
                    chunk.body = Body::Closed;
                }
                Header::EndOfFile => return Err(unknown(number, line)),
                Header::MoveTo(_) => return Err(misplaced_move(number)),
                Header::End
                | Header::Environment
                | Header::Add(_)
                | Header::Delete(_)
                | Header::Update(_) => break,
            }
        } else {
            chunk.line(number, line)?;
        }
        lines.skip();
    }
    if chunk.number > 0 {
        chunk.close(&mut done)?;
    }
    Ok(done)
}

impl Chunk {
    /// Takes a line that begins with `@@`: the numbers of a hunk, or a whole line of the file.
    fn lead(&mut self, number: usize, line: &[u8]) -> Result<(), PatchError> {
        let text = line.get(2..).unwrap_or_default();
        if self.number == 0 {
            self.number = number;
        }
        self.body = Body::Nothing;
        self.empty = 0;
        if text.trim_ascii().is_empty() {
            return Ok(());
        }
        let Some(text) = text.strip_prefix(b" ") else {
            return Err(PatchError::new(
                number,
                "`@@` is followed by a space and a whole line of the file, or by nothing",
            ));
        };
        if let Some(header) = old_range(text) {
            self.header = Some(header);
            return Ok(());
        }
        if text.trim_ascii_end().ends_with(b" @@") {
            return Err(PatchError::new(
                number,
                "nothing is written behind the line that leads to a chunk: leave the `@@` at its \
                 end out",
            ));
        }
        if self.hunk.after.len() == LEADS_MAX {
            return Err(PatchError::new(
                number,
                format!("more than {LEADS_MAX} lines lead to one chunk: leave the outer ones out"),
            ));
        }
        self.hunk.after.push(text.trim_ascii_end().to_vec());
        Ok(())
    }

    fn line(&mut self, number: usize, line: &[u8]) -> Result<(), PatchError> {
        if self.body == Body::Closed {
            return match line {
                [] => Ok(()),
                _ => Err(PatchError::new(
                    number,
                    "after `*** End of File` comes another `@@` or another section",
                )),
            };
        }
        if self.number == 0 {
            self.number = number;
        }
        match line {
            [] => self.empty += 1,
            [b' ', text @ ..] => self.keep(number, text)?,
            [b'-', text @ ..] => {
                self.fill(number)?;
                self.may_take(number, Last::Removed)?;
                self.hunk.remove(text);
                self.body = Body::Changes;
            }
            [b'+', text @ ..] => {
                self.fill(number)?;
                self.may_take(number, Last::Inserted)?;
                self.hunk.insert(text);
                self.body = Body::Changes;
            }
            [b'\\', ..] => self.without_newline(number)?,
            _ => {
                return Err(PatchError::new(
                    number,
                    format!(
                        "`{}` is no line of a chunk: those begin with a space (stays), `-` (goes) \
                         or `+` (comes)",
                        shown(line)
                    ),
                ));
            }
        }
        Ok(())
    }

    fn keep(&mut self, number: usize, text: &[u8]) -> Result<(), PatchError> {
        self.fill(number)?;
        self.put_kept(number, text)
    }

    fn put_kept(&mut self, number: usize, text: &[u8]) -> Result<(), PatchError> {
        self.may_take(number, Last::Kept)?;
        self.hunk.keep(text);
        if self.body == Body::Nothing {
            self.body = Body::Context;
        }
        Ok(())
    }

    /// Empty lines with more of the chunk behind them are lines of the file that stay.
    fn fill(&mut self, number: usize) -> Result<(), PatchError> {
        for _ in 0..std::mem::take(&mut self.empty) {
            self.put_kept(number, b"")?;
        }
        Ok(())
    }

    /// Refuses a line of a side that has ended.
    fn may_take(&mut self, number: usize, kind: Last) -> Result<(), PatchError> {
        let ended = match kind {
            Last::Nothing => false,
            Last::Kept => self.old == Side::Ended || self.new == Side::Ended,
            Last::Removed => self.old == Side::Ended,
            Last::Inserted => self.new == Side::Ended,
        };
        self.last = kind;
        if ended {
            return Err(PatchError::new(number, AFTER_THE_LAST));
        }
        Ok(())
    }

    /// Takes `\ No newline at end of file`, said of the line before it.
    fn without_newline(&mut self, number: usize) -> Result<(), PatchError> {
        self.fill(number)?;
        let (old, new) = match self.last {
            Last::Nothing => {
                return Err(PatchError::new(
                    number,
                    "`\\ No newline` belongs behind the line it is said of",
                ));
            }
            Last::Kept => (Side::Ended, Side::Ended),
            Last::Removed => (Side::Ended, self.new),
            Last::Inserted => (self.old, Side::Ended),
        };
        if (old, new) != (self.old, self.new)
            && let Some(Part::Keep(run) | Part::Remove(run) | Part::Insert(run)) =
                self.hunk.parts.last_mut()
        {
            without_newline(number, run)?;
        }
        (self.old, self.new) = (old, new);
        self.hunk.edges = Edges::End;
        Ok(())
    }

    /// Takes `*** End of File`. Empty lines before it are lines of the file.
    fn end_of_file(&mut self) {
        let empty = std::mem::take(&mut self.empty);
        if self.old == Side::Open && self.new == Side::Open {
            (0..empty).for_each(|_| self.hunk.keep(b""));
        }
        self.hunk.edges = Edges::End;
    }

    /// Ends the chunk and begins the next.
    fn close(&mut self, done: &mut Vec<TextEdit>) -> Result<(), PatchError> {
        let mut chunk = std::mem::take(self);
        let refused = |what: &str| Err(PatchError::new(chunk.number, what));
        match chunk.body {
            Body::Closed => return Ok(()),
            Body::Nothing => {
                return refused("the chunk has no lines: `@@` alone changes nothing");
            }
            Body::Context => {
                return refused("the chunk changes nothing: it has neither `-` nor `+` lines");
            }
            Body::Changes => {}
        }
        chunk.hunk.line = match (chunk.header, chunk.hunk.only_inserts()) {
            (None, _) => None,
            (Some(Range { first, .. }), false) => Some(first).filter(|first| *first > 0),
            (Some(Range { first, count: 0 }), true) => Some(first.saturating_add(1)),
            (Some(_), true) => {
                return refused(
                    "its header counts lines that were there, and it has none: give the lines \
                     around the new ones, each begun with a space, or write `@@` alone",
                );
            }
        };
        if chunk.hunk.only_inserts() {
            if chunk.empty > 0 {
                return refused(
                    "an empty line after lines that come: leave it out, or begin it with a space \
                     if it is a line of the file that they are put before",
                );
            }
            // Lines for which no place is named go to the end, as everybody who writes this means.
            if chunk.hunk.after.is_empty() && chunk.hunk.line.is_none() {
                chunk.hunk.edges = Edges::End;
            }
        }
        done.push(TextEdit::Hunk(chunk.hunk));
        Ok(())
    }
}

/// A range of lines, as the header of a hunk has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    first: u64,
    count: u64,
}

/// Of `-3,2 +3,4 @@ anything`, the old lines. What is written behind is no whole line of the file.
fn old_range(text: &[u8]) -> Option<Range> {
    let text = std::str::from_utf8(text).ok()?;
    let (ranges, _) = text.split_once(" @@")?;
    let (old, new) = ranges.split_once(' ')?;
    range(new.strip_prefix('+')?)?;
    range(old.strip_prefix('-')?)
}

/// `3,2`, or `3` for one line.
fn range(text: &str) -> Option<Range> {
    let number = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse().ok()).flatten()
    };
    let (first, count) = match text.split_once(',') {
        Some((first, count)) => (number(first)?, number(count)?),
        None => (number(text)?, 1),
    };
    Some(Range { first, count })
}
