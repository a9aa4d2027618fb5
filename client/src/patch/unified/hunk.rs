//! One hunk: its header, and exactly the lines its header counts.

use super::super::{Lines, PatchError};
use crate::change::{self, Part, TextEdit};

/// A hunk, its texts with terminators as they are in the files.
#[derive(Debug)]
pub(super) struct Hunk {
    /// The line of its header in the patch.
    pub(super) number: usize,
    /// Line of the file where its old text begins; with no old text, the line it comes after.
    start: u64,
    pub(super) old: Vec<u8>,
    pub(super) new: Vec<u8>,
    lines: change::Hunk,
}

impl Hunk {
    /// As an edit.
    pub(super) fn edit(self) -> TextEdit {
        let line = if self.old.is_empty() {
            self.start.saturating_add(1)
        } else {
            self.start
        };
        TextEdit::Hunk(change::Hunk {
            line: Some(line),
            ..self.lines
        })
    }
}

/// The numbers of a hunk header.
struct Counts {
    start: u64,
    old: u64,
    new: u64,
}

/// Reads one hunk, its header first.
pub(super) fn read(lines: &mut Lines<'_>) -> Result<Hunk, PatchError> {
    let number = lines.number();
    let header = lines.peek().unwrap_or_default();
    let counts = header_counts(header).ok_or_else(|| {
        PatchError::new(
            number,
            "a hunk header is `@@ -LINE,COUNT +LINE,COUNT @@`, with lines from 1",
        )
    })?;
    lines.skip();
    let mut texts = Texts::default();
    while texts.old.lines < counts.old || texts.new.lines < counts.new {
        let taken = match lines.peek() {
            Some(line) => texts.take(lines.number(), line)?,
            None => Taken::NotOfAHunk,
        };
        let over = texts.old.lines > counts.old || texts.new.lines > counts.new;
        if over || taken == Taken::NotOfAHunk {
            return Err(miscounted(number, &counts, &texts));
        }
        lines.skip();
    }
    if let Some(line @ [b'\\', ..]) = lines.peek() {
        texts.take(lines.number(), line)?;
        lines.skip();
    }
    match texts.kind {
        Kind::Changes => Ok(Hunk {
            number,
            start: counts.start,
            old: texts.old.text,
            new: texts.new.text,
            lines: texts.parts,
        }),
        Kind::Context => Err(PatchError::new(
            number,
            "the hunk changes nothing: it has neither `-` nor `+` lines",
        )),
    }
}

fn miscounted(number: usize, counts: &Counts, texts: &Texts) -> PatchError {
    PatchError::new(
        number,
        format!(
            "the header of the hunk counts {} old and {} new lines, but {} and {} were read \
             when it ended or had one too many: correct the counts, and begin every line with a \
             space, `-` or `+`",
            counts.old, counts.new, texts.old.lines, texts.new.lines
        ),
    )
}

#[derive(Debug, Default)]
struct Texts {
    old: Side,
    new: Side,
    parts: change::Hunk,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
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
    /// The last line ends the file without a newline.
    fn end_of_file(&mut self) {
        if let Some(Part::Keep(run) | Part::Remove(run) | Part::Insert(run)) =
            self.parts.parts.last_mut()
            && run.ends_with(b"\n")
        {
            run.pop();
        }
    }

    /// Takes one line of the body. The line of a context that is empty may have lost its space.
    fn take(&mut self, number: usize, line: &[u8]) -> Result<Taken, PatchError> {
        match line {
            [] | [b' ', ..] => {
                let text = line.get(1..).unwrap_or_default();
                self.old.put(number, text)?;
                self.new.put(number, text)?;
                self.parts.keep(text);
                self.last = Last::Both;
            }
            [b'-', text @ ..] => {
                self.old.put(number, text)?;
                self.parts.remove(text);
                self.kind = Kind::Changes;
                self.last = Last::Old;
            }
            [b'+', text @ ..] => {
                self.new.put(number, text)?;
                self.parts.insert(text);
                self.kind = Kind::Changes;
                self.last = Last::New;
            }
            [b'\\', ..] => {
                self.end_of_file();
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
            }
            _ => return Ok(Taken::NotOfAHunk),
        }
        Ok(Taken::Line)
    }
}

/// The numbers of `@@ -1,2 +3,4 @@ anything`; a count that is left out is 1.
fn header_counts(line: &[u8]) -> Option<Counts> {
    let text = std::str::from_utf8(line.split(|byte| *byte == b'@').nth(2)?).ok()?;
    if !line.starts_with(b"@@ -") {
        return None;
    }
    let closed = line.get(2 + text.len()..)?;
    let (old, new) = text
        .strip_prefix(" -")?
        .strip_suffix(' ')?
        .split_once(" +")?;
    let (start, old) = range(old)?;
    let (_, new) = range(new)?;
    let counted = old > 0 || new > 0;
    let placed = old == 0 || start > 0;
    (closed.starts_with(b"@@") && counted && placed).then_some(Counts { start, old, new })
}

fn range(text: &str) -> Option<(u64, u64)> {
    let number = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse().ok()).flatten()
    };
    match text.split_once(',') {
        Some((start, count)) => Some((number(start)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}
