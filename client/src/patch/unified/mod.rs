//! Unified diffs, with and without the headers of git.
//!
//! A section that a program wrote is taken at its word: byte for byte, by its counts, at the ends
//! of the file where `git apply` would want it. One that a person or a model wrote is not: its
//! counts are made again where they are wrong, and its line numbers are hints.

mod hunk;
mod name;
mod order;
mod section;

use super::{Lines, Names, PatchError};
use crate::change::Changes;
use name::Header;
use section::{Section, Shown};

/// Who wrote a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Origin {
    /// `git diff`, by its `index` line, or `diff -u`, by its times.
    Program,
    /// Anybody, who cannot count.
    #[default]
    Hand,
}

/// Reads a whole patch.
pub(super) fn parse(lines: &mut Lines<'_>, names: Names<'_>) -> Result<Changes, PatchError> {
    let mut sections: Vec<Section> = Vec::new();
    let mut around = Around::Prose;
    while let Some((number, line)) = lines.next() {
        let line = header(line);
        if let Some(names_of_git) = line.strip_prefix(b"diff --git ") {
            let section = Section::of_git(number, name::of_git_line(names_of_git));
            sections.push(section.with_headers(lines)?);
            around = Around::Section;
        } else if line.starts_with(b"--- ") && starts(lines, b"+++ ") {
            let section = match sections.pop() {
                Some(section) if around == Around::Section && section.wants_texts() => section,
                // Its headers were lost among other lines; the texts say it all.
                Some(section) if section.is_bare() => Section::plain(number),
                other => {
                    sections.extend(other);
                    Section::plain(number)
                }
            };
            sections.push(section.with_texts(number, line, lines)?);
            around = Around::Texts;
        } else {
            around = outside(number, line)?;
        }
    }
    let shown = Shown::of(&sections);
    let mut units = Vec::with_capacity(sections.len());
    for section in sections {
        units.push(section.unit(names, shown)?);
    }
    let mut changes = Changes::new();
    for item in order::arranged(units).into_iter().flatten() {
        changes.push(item);
    }
    Ok(changes)
}

/// A line outside of hunks, without the carriage return of a patch that was sent with Windows line
/// ends.
fn header(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn starts(lines: &Lines<'_>, with: &[u8]) -> bool {
    lines.peek().is_some_and(|line| line.starts_with(with))
}

/// What a line outside of hunks follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Around {
    /// Anything: the head of a mail, the message of a commit.
    Prose,
    /// The headers of git, whose texts may still come.
    Section,
    /// A hunk.
    Texts,
}

/// Judges a line that belongs to no section: prose, unless it shows that something is missing.
fn outside(number: usize, line: &[u8]) -> Result<Around, PatchError> {
    let refused = |what: &str| Err(PatchError::new(number, what));
    let starts = |with: &[&[u8]]| with.iter().any(|with| line.starts_with(with));
    if starts(&[b"diff --cc ", b"diff --combined ", b"@@@ "]) {
        return refused(
            "a combined diff of a merge: send the diff against one parent (`git diff HEAD^1`)",
        );
    }
    if starts(&[b"GIT binary patch", b"Binary files "]) {
        return refused("a binary patch: write the whole file instead (`write`)");
    }
    if starts(&[b"@@ -"]) {
        return refused("a hunk without its `--- NAME` and `+++ NAME` lines before it");
    }
    if starts(&[b"--- "]) {
        return refused("the `+++ NAME` line is missing after this one");
    }
    if starts(&[b"+++ "]) {
        return refused("the `--- NAME` line is missing before this one");
    }
    Ok(Around::Prose)
}

/// A file's name in a `---` or `+++` line.
fn named(number: usize, line: &[u8]) -> Result<Header, PatchError> {
    let text = header(line).get(4..).unwrap_or_default();
    Header::read(text).ok_or_else(|| {
        PatchError::new(
            number,
            "the quoted name is damaged: quotes are closed, and escapes are those of git",
        )
    })
}
