//! Unified diffs, with and without the headers of git.

mod hunk;
mod name;
mod section;

use super::{Lines, Names, PatchError, no_carriage_return};
use crate::change::Changes;
use name::Name;
use section::Section;

/// What a line outside of hunks may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Around {
    /// Anything: the head of a mail, the message of a commit.
    Prose,
    /// A hunk was just read: what looks like a line of it is one too many.
    Hunk,
}

/// Reads a whole patch.
pub(super) fn parse(lines: &mut Lines<'_>, names: Names<'_>) -> Result<Changes, PatchError> {
    let mut changes = Changes::new();
    let mut open: Option<Section> = None;
    let mut around = Around::Prose;
    while let Some((number, line)) = lines.next() {
        if let Some(names_of_git) = line.strip_prefix(b"diff --git ") {
            no_carriage_return(number, line)?;
            close(&mut open, names, &mut changes)?;
            let section = Section::of_git(number, name::of_git_line(names_of_git));
            open = Some(section.with_headers(lines)?);
            around = Around::Prose;
        } else if line.starts_with(b"--- ") && starts(lines, b"+++ ") {
            let section = match open.take() {
                Some(section) if section.wants_texts() => section,
                other => {
                    open = other;
                    close(&mut open, names, &mut changes)?;
                    Section::plain(number)
                }
            };
            open = Some(section.with_texts(number, line, lines)?);
            around = Around::Hunk;
        } else {
            around = outside(around, number, line)?;
        }
    }
    close(&mut open, names, &mut changes)?;
    Ok(changes)
}

fn starts(lines: &Lines<'_>, with: &[u8]) -> bool {
    lines.peek().is_some_and(|line| line.starts_with(with))
}

fn close(
    open: &mut Option<Section>,
    names: Names<'_>,
    changes: &mut Changes,
) -> Result<(), PatchError> {
    match open.take() {
        Some(section) => section.put(names, changes),
        None => Ok(()),
    }
}

/// Judges a line that belongs to no section.
fn outside(around: Around, number: usize, line: &[u8]) -> Result<Around, PatchError> {
    let refused = |what: &str| Err(PatchError::new(number, what));
    let starts = |with: &[&[u8]]| with.iter().any(|with| line.starts_with(with));
    if starts(&[b"diff --cc ", b"diff --combined ", b"@@@ "]) {
        return refused("a combined diff of a merge: send the diff against one parent");
    }
    if starts(&[b"GIT binary patch", b"Binary files "]) {
        return refused("a binary patch: write the whole file instead (`write`)");
    }
    if starts(&[b"@@ -"]) {
        return refused("a hunk without its `--- NAME` and `+++ NAME` lines before it");
    }
    if starts(&[b"--- "]) && around == Around::Prose {
        return refused("the `+++ NAME` line is missing after this one");
    }
    if starts(&[b"+++ "]) && around == Around::Prose {
        return refused("the `--- NAME` line is missing before this one");
    }
    match around {
        Around::Prose => Ok(Around::Prose),
        // The mark before the signature of a mail, and what begins another commit.
        Around::Hunk if line == b"-- " || starts(&[b"From ", b"commit "]) => Ok(Around::Prose),
        Around::Hunk if line.is_empty() || starts(&[b"diff ", b"Index: ", b"==="]) => {
            Ok(Around::Hunk)
        }
        Around::Hunk => refused(
            "one line more than the counts of the hunk header say: correct the counts in \
             `@@ -LINE,COUNT +LINE,COUNT @@`",
        ),
    }
}

/// A file's name in a `---` or `+++` line.
fn named(number: usize, line: &[u8]) -> Result<Name, PatchError> {
    no_carriage_return(number, line)?;
    let text = line.get(4..).unwrap_or_default();
    Name::of_header(text).ok_or_else(|| {
        PatchError::new(
            number,
            "the quoted name is damaged: quotes are closed, and escapes are those of git",
        )
    })
}
