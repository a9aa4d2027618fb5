//! The V4A envelope.

use super::{Lines, Names, PatchError, no_carriage_return, shown};
use crate::change::{Changes, Edit, Hunk, TextEdit, Tiers, create, delete, rename};
use portcullis_protocol::session::{Expect, Parents};

pub(super) const BEGIN: &[u8] = b"*** Begin Patch";

/// What a line that begins with `***` says.
enum Header<'p> {
    End,
    Environment,
    Add(&'p [u8]),
    Delete(&'p [u8]),
    Update(&'p [u8]),
    MoveTo(&'p [u8]),
    EndOfFile,
}

impl<'p> Header<'p> {
    /// Nothing when the line is no header.
    fn of(number: usize, line: &'p [u8]) -> Result<Option<Self>, PatchError> {
        if !line.starts_with(b"***") {
            return Ok(None);
        }
        no_carriage_return(number, line)?;
        let named = |key: &[u8]| line.strip_prefix(key);
        Ok(Some(match line.trim_ascii_end() {
            b"*** End Patch" => Self::End,
            b"*** End of File" => Self::EndOfFile,
            _ => {
                if let Some(name) = named(b"*** Add File: ") {
                    Self::Add(name)
                } else if let Some(name) = named(b"*** Delete File: ") {
                    Self::Delete(name)
                } else if let Some(name) = named(b"*** Update File: ") {
                    Self::Update(name)
                } else if let Some(name) = named(b"*** Move to: ") {
                    Self::MoveTo(name)
                } else if line.starts_with(b"*** Environment ID:") {
                    Self::Environment
                } else {
                    return Err(unknown(number, line));
                }
            }
        }))
    }
}

fn unknown(number: usize, line: &[u8]) -> PatchError {
    PatchError::new(
        number,
        format!(
            "`{}` is not known here: a section begins with `*** Add File: NAME`, `*** Delete File: \
             NAME` or `*** Update File: NAME`, and `*** End Patch` ends the patch",
            shown(line)
        ),
    )
}

/// Reads a whole patch.
pub(super) fn parse(lines: &mut Lines<'_>, names: Names<'_>) -> Result<Changes, PatchError> {
    begin(lines)?;
    let mut changes = Changes::new();
    loop {
        let Some((number, line)) = lines.next() else {
            return Err(PatchError::new(
                lines.number(),
                "`*** End Patch` is missing: was the patch cut off?",
            ));
        };
        match Header::of(number, line)? {
            Some(Header::Environment) if changes.items().is_empty() => {}
            Some(Header::Add(name)) => {
                let mut file = create(names.selector(number, name)?, added(lines)?);
                file.parents = Parents::Make;
                changes.push(file);
            }
            Some(Header::Delete(name)) => changes.push(delete(names.selector(number, name)?)),
            Some(Header::Update(name)) => update(lines, names, (number, name), &mut changes)?,
            Some(Header::End) => break,
            Some(Header::MoveTo(_)) => {
                return Err(PatchError::new(
                    number,
                    "`*** Move to:` belongs directly after its `*** Update File:` line",
                ));
            }
            Some(Header::EndOfFile | Header::Environment) | None => {
                return Err(unknown(number, line));
            }
        }
    }
    while let Some((number, line)) = lines.next() {
        if !line.trim_ascii().is_empty() {
            return Err(PatchError::new(
                number,
                "there is text after `*** End Patch`: put all sections into one patch",
            ));
        }
    }
    Ok(changes)
}

fn begin(lines: &mut Lines<'_>) -> Result<(), PatchError> {
    while let Some((number, line)) = lines.next() {
        if line.trim_ascii() == BEGIN {
            return no_carriage_return(number, line);
        }
        if !line.trim_ascii().is_empty() {
            return Err(PatchError::new(
                number,
                "the first line must be `*** Begin Patch`: send the patch alone, without a shell \
                 command or a code fence around it",
            ));
        }
    }
    Err(PatchError::new(lines.number(), "the patch is empty"))
}

/// The content of a new file.
fn added(lines: &mut Lines<'_>) -> Result<Vec<u8>, PatchError> {
    let mut content = Vec::new();
    while let Some(line) = lines.peek() {
        match line {
            [b'+', text @ ..] => put(&mut content, text),
            line if line.starts_with(b"***") => break,
            _ => {
                return Err(PatchError::new(
                    lines.number(),
                    "every line of a new file begins with `+`, an empty one is `+` alone",
                ));
            }
        }
        lines.skip();
    }
    Ok(content)
}

/// One section that changes or moves a file.
fn update(
    lines: &mut Lines<'_>,
    names: Names<'_>,
    (number, name): (usize, &[u8]),
    changes: &mut Changes,
) -> Result<(), PatchError> {
    let selector = names.selector(number, name)?;
    let mut destination = None;
    if let Some(line) = lines.peek()
        && let Some(Header::MoveTo(name)) = Header::of(lines.number(), line)?
    {
        destination = Some(names.selector(lines.number(), name)?);
        lines.skip();
    }
    let first = lines.number();
    let edits = chunks(lines)?;
    match (destination, edits.is_empty()) {
        (None, true) => Err(PatchError::new(
            number,
            "the section changes nothing: it has no chunk and no `*** Move to:`",
        )),
        (None, false) => {
            changes.merge(Edit {
                selector,
                expect: Expect::Any,
                edits,
                tiers: Tiers::DEFAULT,
                mode: None,
            });
            Ok(())
        }
        (Some(destination), true) => {
            let mut moved = rename(selector, destination);
            moved.parents = Parents::Make;
            changes.push(moved);
            Ok(())
        }
        (Some(_), false) => Err(PatchError::new(
            first,
            "a file is not edited and moved by one section: send one patch with the chunks and no \
             `*** Move to:`, then another with only the move",
        )),
    }
}

/// A chunk that is being read.
#[derive(Default)]
struct Chunk {
    /// Its first line; 0 before there is one.
    number: usize,
    hunk: Hunk,
    body: Body,
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

/// All chunks of a section.
fn chunks(lines: &mut Lines<'_>) -> Result<Vec<TextEdit>, PatchError> {
    let mut done = Vec::new();
    let mut chunk = Chunk::default();
    while let Some(line) = lines.peek() {
        let number = lines.number();
        match line {
            line if line.starts_with(b"@@") => {
                if chunk.body != Body::Nothing {
                    chunk.close(&mut done)?;
                }
                chunk.anchor(number, line)?;
            }
            line if line.starts_with(b"***") => match Header::of(number, line)? {
                Some(Header::EndOfFile) if chunk.body != Body::Nothing => {
                    chunk.close(&mut done)?;
                    chunk.body = Body::Closed;
                }
                Some(Header::EndOfFile) | None => return Err(unknown(number, line)),
                Some(Header::MoveTo(_)) => {
                    return Err(PatchError::new(
                        number,
                        "`*** Move to:` belongs directly after its `*** Update File:` line",
                    ));
                }
                Some(_) => break,
            },
            line => chunk.line(number, line)?,
        }
        lines.skip();
    }
    if chunk.number > 0 {
        chunk.close(&mut done)?;
    }
    Ok(done)
}

impl Chunk {
    fn anchor(&mut self, number: usize, line: &[u8]) -> Result<(), PatchError> {
        if self.number == 0 {
            self.number = number;
        }
        self.body = Body::Nothing;
        match line {
            b"@@" | b"@@ " => Ok(()),
            [b'@', b'@', b' ', text @ ..] if is_hunk_header(text) => Err(PatchError::new(
                number,
                "line numbers have no meaning in this format: write `@@` alone, or `@@ ` and a \
                 whole line that stands before the change",
            )),
            [b'@', b'@', b' ', text @ ..] => {
                self.hunk.after.push(text.to_vec());
                Ok(())
            }
            _ => Err(PatchError::new(
                number,
                "`@@` is followed by a space and a whole line of the file, or by nothing",
            )),
        }
    }

    fn line(&mut self, number: usize, line: &[u8]) -> Result<(), PatchError> {
        if self.body == Body::Closed {
            return Err(PatchError::new(
                number,
                "after `*** End of File` comes another `@@` or another section",
            ));
        }
        if self.number == 0 {
            self.number = number;
        }
        match line {
            [] | [b' ', ..] => {
                let text = line.get(1..).unwrap_or_default();
                self.hunk.keep(text);
                if self.body == Body::Nothing {
                    self.body = Body::Context;
                }
            }
            [b'-', text @ ..] => {
                self.hunk.remove(text);
                self.body = Body::Changes;
            }
            [b'+', text @ ..] => {
                self.hunk.insert(text);
                self.body = Body::Changes;
            }
            [b'\\', ..] => {
                return Err(PatchError::new(
                    number,
                    "`\\ No newline` is not known in this format: send a unified diff instead",
                ));
            }
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

    /// Ends the chunk and begins the next.
    fn close(&mut self, done: &mut Vec<TextEdit>) -> Result<(), PatchError> {
        let chunk = std::mem::take(self);
        match chunk.body {
            Body::Nothing => Err(PatchError::new(
                chunk.number,
                "the chunk has no lines: `@@` alone changes nothing",
            )),
            Body::Context => Err(PatchError::new(
                chunk.number,
                "the chunk changes nothing: it has neither `-` nor `+` lines",
            )),
            Body::Closed => Ok(()),
            Body::Changes if chunk.hunk.only_inserts() && chunk.hunk.after.is_empty() => {
                Err(PatchError::new(
                    chunk.number,
                    "the chunk does not say where its lines go: give a line of context, or \
                     `@@ LINE` to put them after that line",
                ))
            }
            Body::Changes => {
                done.push(TextEdit::Hunk(chunk.hunk));
                Ok(())
            }
        }
    }
}

/// Whether what follows `@@ ` is `-1,2 +1,2 @@`.
fn is_hunk_header(text: &[u8]) -> bool {
    let numbers = |part: &[u8]| part.iter().all(|b| b.is_ascii_digit() || *b == b',');
    let mut parts = text.split(|byte| *byte == b' ');
    let old = parts.next().and_then(|part| part.strip_prefix(b"-"));
    let new = parts.next().and_then(|part| part.strip_prefix(b"+"));
    old.is_some_and(numbers) && new.is_some_and(numbers) && parts.next() == Some(b"@@")
}

/// One more line of a text.
fn put(text: &mut Vec<u8>, line: &[u8]) {
    text.extend_from_slice(line);
    text.push(b'\n');
}
