//! The V4A envelope: sections for files between two markers.

mod chunk;

use super::wrapper::End;
use super::{Lines, Names, PatchError, no_carriage_return, shown, without_newline};
use crate::change::{Changes, Edit, Tiers, create, delete, rename};
use portcullis_protocol::session::{Expect, Parents};

const BEGIN: &[u8] = b"*** Begin Patch";
const END: &[u8] = b"*** End Patch";

/// Whether a line shows that a text is written in this format.
pub(super) fn is_mark(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line == BEGIN || matches!(Header::of(line), Some(header) if header.begins_section())
}

/// What a line that begins with `***` says. Names are without the blanks around them: a file whose
/// name begins or ends in a blank cannot be named in this format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Nothing when the line is none of them.
    fn of(line: &'p [u8]) -> Option<Self> {
        let line = line.trim_ascii();
        let named = |key: &[u8]| line.strip_prefix(key).map(<[u8]>::trim_ascii);
        if line == END {
            return Some(Self::End);
        }
        if line == b"*** End of File" {
            return Some(Self::EndOfFile);
        }
        (named(b"*** Add File:").map(Self::Add))
            .or_else(|| named(b"*** Delete File:").map(Self::Delete))
            .or_else(|| named(b"*** Update File:").map(Self::Update))
            .or_else(|| named(b"*** Move to:").map(Self::MoveTo))
            .or_else(|| named(b"*** Environment ID:").map(|_| Self::Environment))
    }

    const fn begins_section(self) -> bool {
        match self {
            Self::Add(_) | Self::Delete(_) | Self::Update(_) => true,
            Self::End | Self::Environment | Self::MoveTo(_) | Self::EndOfFile => false,
        }
    }
}

/// The header in a line, which must be one.
fn header(number: usize, line: &[u8]) -> Result<Header<'_>, PatchError> {
    no_carriage_return(number, line)?;
    Header::of(line).ok_or_else(|| unknown(number, line))
}

fn unknown(number: usize, line: &[u8]) -> PatchError {
    let what = if [&b"--- "[..], b"+++ ", b"diff --git "]
        .iter()
        .any(|start| line.starts_with(start))
    {
        "a unified diff stands alone, without `*** Begin Patch` around it; in this format"
    } else {
        "here"
    };
    PatchError::new(
        number,
        format!(
            "`{}` is not known: {what} a section begins with `*** Add File: NAME`, `*** Delete \
             File: NAME` or `*** Update File: NAME`, and `*** End Patch` ends the patch",
            shown(line)
        ),
    )
}

fn misplaced_move(number: usize) -> PatchError {
    PatchError::new(
        number,
        "`*** Move to:` belongs directly after its `*** Update File:` line",
    )
}

/// Reads a whole patch, out of its wrapper.
pub(super) fn parse(
    lines: &mut Lines<'_>,
    names: Names<'_>,
    wrapper: End,
) -> Result<Changes, PatchError> {
    let begun = begin(lines)?;
    // The very last line may have blanks in front: as a line of a chunk it could not be the last.
    let mut ended = lines.last().map(<[u8]>::trim_ascii) == Some(END);
    if ended {
        lines.drop_last();
    }
    let mut changes = Changes::new();
    loop {
        lines.skip_blank();
        let Some((number, line)) = lines.next() else {
            break;
        };
        match header(number, line)? {
            Header::Environment if changes.items().is_empty() => {}
            Header::Add(name) => {
                let mut file = create(names.selector(number, name)?, added(lines)?);
                file.parents = Parents::Make;
                changes.push(file);
            }
            Header::Delete(name) => changes.push(delete(names.selector(number, name)?)),
            Header::Update(name) => update(lines, names, (number, name), &mut changes)?,
            Header::End => {
                ended = true;
                lines.skip_blank();
                if lines.peek().is_some() {
                    return Err(PatchError::new(
                        lines.number(),
                        "there is text after `*** End Patch`: put all sections into one patch",
                    ));
                }
            }
            Header::MoveTo(_) => return Err(misplaced_move(number)),
            Header::EndOfFile | Header::Environment => return Err(unknown(number, line)),
        }
    }
    match (ended, begun, wrapper) {
        (true, _, _) | (false, Begun::Unmarked, _) | (false, Begun::Marked, End::Seen) => {
            Ok(changes)
        }
        (false, Begun::Marked, End::NotSeen) => Err(PatchError::new(
            lines.number(),
            "`*** End Patch` is missing: was the patch cut off?",
        )),
    }
}

/// How a patch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    /// With the marker.
    Marked,
    /// With its first section. Its end needs no marker either.
    Unmarked,
}

fn begin(lines: &mut Lines<'_>) -> Result<Begun, PatchError> {
    lines.skip_blank();
    let number = lines.number();
    let Some(line) = lines.peek() else {
        return Err(PatchError::new(number, "the patch is empty"));
    };
    if line.trim_ascii() == BEGIN {
        no_carriage_return(number, line)?;
        lines.skip();
        return Ok(Begun::Marked);
    }
    if Header::of(line).is_some_and(Header::begins_section) {
        return Ok(Begun::Unmarked);
    }
    Err(PatchError::new(
        number,
        "the first line must be `*** Begin Patch`: send the patch alone, without words before it",
    ))
}

/// The content of a new file: its `+` lines, each ended by a newline but where the last is said to
/// have none.
fn added(lines: &mut Lines<'_>) -> Result<Vec<u8>, PatchError> {
    let mut content = Vec::new();
    while let Some([b'+', text @ ..]) = lines.peek() {
        content.extend_from_slice(text);
        content.push(b'\n');
        lines.skip();
    }
    if let Some([b'\\', ..]) = lines.peek()
        && !content.is_empty()
    {
        without_newline(lines.number(), &mut content)?;
        lines.skip();
    }
    let number = lines.number();
    lines.skip_blank();
    match lines.peek() {
        None => Ok(content),
        Some(line) if line.trim_ascii().starts_with(b"***") => Ok(content),
        Some([b'+', ..]) if !content.is_empty() && !content.ends_with(b"\n") => {
            Err(PatchError::new(number, AFTER_THE_LAST))
        }
        Some(_) => Err(PatchError::new(
            number,
            "every line of a new file begins with `+`, an empty one is `+` alone",
        )),
    }
}

const AFTER_THE_LAST: &str =
    "a line after `\\ No newline at end of file`, which is said of the last one";

/// One section that changes or moves a file. It is changed under its old name, then moved: a text
/// that is not found is told of the name the file still has.
fn update(
    lines: &mut Lines<'_>,
    names: Names<'_>,
    (number, name): (usize, &[u8]),
    changes: &mut Changes,
) -> Result<(), PatchError> {
    let source = names.selector(number, name)?;
    let mut destination = None;
    if let Some(line) = lines.peek()
        && let Some(Header::MoveTo(name)) = Header::of(line)
    {
        no_carriage_return(lines.number(), line)?;
        destination = Some(names.selector(lines.number(), name)?);
        lines.skip();
    }
    let edits = chunk::all(lines)?;
    if edits.is_empty() && destination.is_none() {
        return Err(PatchError::new(
            number,
            "the section changes nothing: it has no chunk and no `*** Move to:`",
        ));
    }
    if !edits.is_empty() {
        changes.push(Edit {
            selector: source.clone(),
            expect: Expect::Any,
            edits,
            tiers: Tiers::DEFAULT,
            mode: None,
        });
    }
    if let Some(destination) = destination {
        let mut moved = rename(source, destination);
        moved.parents = Parents::Make;
        changes.push(moved);
    }
    Ok(())
}
