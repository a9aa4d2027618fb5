//! What a diff says of one file.

mod changes;

use super::super::{Lines, PatchError};
use super::hunk::{self, Hunk};
use super::name::{self, Name, Time};
use super::{Origin, header};

/// The mode of an object, as git writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    File(u16),
    Link,
}

/// What the hunks of a patch show of the lines around them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// Some of them do: one without context after its changes is at the end of its file.
    Some,
    /// None does, and one hunk is not the first of its file or not in its first line: the patch was
    /// made without context.
    Never,
    /// None does, and each is the only one of its file, in its first line: all of a file was
    /// changed, or its first lines by a patch without context.
    Unclear,
}

impl Shown {
    /// What all sections show.
    pub(super) fn of(sections: &[Section]) -> Self {
        let hunks = || sections.iter().flat_map(|section| &section.hunks);
        let lonely = |section: &Section| match section.hunks.as_slice() {
            [] => true,
            [hunk] => hunk.is_from_the_first_line(),
            [_, _, ..] => false,
        };
        if hunks().any(Hunk::shows_context) {
            Self::Some
        } else if sections.iter().all(lonely) {
            Self::Unclear
        } else {
            Self::Never
        }
    }
}

/// A section that is being read.
#[derive(Debug, Default)]
pub(super) struct Section {
    /// Its first line in the patch.
    number: usize,
    kind: Kind,
    origin: Origin,
    /// The name in its `diff --git` line.
    git_name: Option<Vec<u8>>,
    created: Option<Mode>,
    deleted: Option<Mode>,
    /// What its `index` line or `old mode` line says the file is.
    is: Option<Mode>,
    new_mode: Option<Mode>,
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    /// What its `index` line says of the content.
    content: Stated,
    texts: Option<(Name, Name)>,
    hunks: Vec<Hunk>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Kind {
    #[default]
    Plain,
    Git,
}

/// What the headers of git say of the contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stated {
    /// Nothing, or that both are the same.
    #[default]
    Nothing,
    /// They differ.
    Differs,
    /// They differ, and there was nothing before.
    WasEmpty,
}

/// How the name of the empty content begins, in both kinds of repository.
const EMPTY: [&[u8]; 2] = [b"e69de29", b"473a0f4"];

impl Section {
    pub(super) fn plain(number: usize) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }

    pub(super) fn of_git(number: usize, name: Option<Vec<u8>>) -> Self {
        Self {
            number,
            kind: Kind::Git,
            git_name: name,
            ..Self::default()
        }
    }

    /// Whether `---` and `+++` lines that come now belong to it.
    pub(super) fn wants_texts(&self) -> bool {
        self.kind == Kind::Git && self.texts.is_none()
    }

    /// Whether there is nothing of it but its `diff --git` line.
    pub(super) fn is_bare(&self) -> bool {
        let modes = [self.created, self.deleted, self.is, self.new_mode];
        let names = [&self.from, &self.to];
        self.wants_texts()
            && self.origin == Origin::Hand
            && self.content == Stated::Nothing
            && modes.iter().all(Option::is_none)
            && names.iter().all(|name| name.is_none())
    }

    /// Takes the lines of git between `diff --git` and the texts.
    pub(super) fn with_headers(mut self, lines: &mut Lines<'_>) -> Result<Self, PatchError> {
        while let Some(line) = lines.peek() {
            let (number, line) = (lines.number(), header(line));
            let said = |key: &[u8]| line.strip_prefix(key);
            if let Some(mode) = said(b"old mode ") {
                self.is = Some(mode_of(number, mode)?);
            } else if let Some(mode) = said(b"new mode ") {
                self.new_mode = Some(mode_of(number, mode)?);
            } else if let Some(mode) = said(b"new file mode ") {
                self.created = Some(mode_of(number, mode)?);
            } else if let Some(mode) = said(b"deleted file mode ") {
                self.deleted = Some(mode_of(number, mode)?);
            } else if let Some(name) = said(b"rename from ") {
                self.from = Some(whole_name(number, name)?);
            } else if let Some(name) = said(b"rename to ") {
                self.to = Some(whole_name(number, name)?);
            } else if let Some(percent) = said(b"similarity index ") {
                if percent != b"100%" {
                    self.content = Stated::Differs;
                }
            } else if let Some(index) = said(b"index ") {
                self.index(number, index)?;
            } else if line.starts_with(b"copy from ") || line.starts_with(b"copy to ") {
                return Err(PatchError::new(
                    number,
                    "a copy: make the diff without copies (`git diff --no-find-copies`), so that \
                     the new file comes with its text",
                ));
            } else if !line.starts_with(b"dissimilarity index ") {
                break;
            }
            lines.skip();
        }
        Ok(self)
    }

    /// Takes `1a2b3c4..5d6e7f8 100644`.
    fn index(&mut self, number: usize, text: &[u8]) -> Result<(), PatchError> {
        let mut words = text.split(|byte| *byte == b' ');
        let ids = words.next().unwrap_or_default();
        if let Some(mode) = words.next() {
            self.is = Some(mode_of(number, mode)?);
        }
        let Some(at) = ids.windows(2).position(|two| two == b"..") else {
            return Ok(());
        };
        let (old, new) = (ids.get(..at).unwrap_or_default(), ids.get(at + 2..));
        let new = new.unwrap_or_default();
        let is_id = |id: &[u8]| id.len() >= 4 && id.iter().all(u8::is_ascii_hexdigit);
        if !is_id(old) || !is_id(new) {
            return Ok(());
        }
        self.origin = Origin::Program;
        let empty = |id: &[u8]| {
            id.iter().all(|byte| *byte == b'0')
                || id.len() >= 7 && EMPTY.iter().any(|empty| id.starts_with(empty))
        };
        self.content = match (empty(old), empty(new)) {
            (true, true) => Stated::Nothing,
            (true, false) => Stated::WasEmpty,
            (false, _) if old == new => Stated::Nothing,
            (false, _) => Stated::Differs,
        };
        Ok(())
    }

    /// Takes the `+++` line after this `---` line, and the hunks.
    pub(super) fn with_texts(
        mut self,
        number: usize,
        line: &[u8],
        lines: &mut Lines<'_>,
    ) -> Result<Self, PatchError> {
        let old = super::named(number, line)?;
        let new = super::named(lines.number(), lines.peek().unwrap_or_default())?;
        lines.skip();
        let times = [old.time, new.time];
        if times.contains(&Time::Exact) && !times.contains(&Time::Unknown) {
            self.origin = Origin::Program;
        }
        let begins: &[u8] = match self.origin {
            Origin::Program => b"@@ -",
            Origin::Hand => b"@@",
        };
        loop {
            if self.origin == Origin::Hand {
                skip_blank(lines);
            }
            let is_hunk = |line: &[u8]| line.starts_with(begins) && !line.starts_with(b"@@@");
            if !lines.peek().is_some_and(is_hunk) {
                break;
            }
            self.hunks.push(hunk::read(lines, self.origin)?);
        }
        if self.hunks.is_empty() {
            return Err(self.refused("there is no hunk after the `---` and `+++` lines"));
        }
        let (mut left, mut right) = self.bare(old.name, new.name);
        if let [hunk] = self.hunks.as_slice() {
            // What is written for a file that is not there, unless its text says that it is. Its
            // name is there all the same.
            if times == [Time::Epoch, Time::Exact] && hunk.old().is_empty() {
                left = Name::Nothing;
            }
            if times == [Time::Exact, Time::Epoch] && hunk.new_text().is_empty() {
                right = Name::Nothing;
            }
        }
        self.texts = Some((left, right));
        Ok(self)
    }

    /// The names of the texts, without the prefixes of git. One of them alone does not show
    /// whether it has one; the line of git has both.
    fn bare(&self, old: Name, new: Name) -> (Name, Name) {
        let as_in_git_line = |name: &Name| match (name, &self.git_name) {
            (Name::File(name), Some(git)) => name == git,
            (Name::File(_) | Name::Nothing, _) => false,
        };
        if as_in_git_line(&old) || as_in_git_line(&new) {
            (old, new)
        } else {
            name::without_prefixes(old, new)
        }
    }

    fn refused(&self, what: &str) -> PatchError {
        PatchError::new(self.number, what)
    }
}

/// Empty lines before another hunk, which models write.
fn skip_blank(lines: &mut Lines<'_>) {
    let rest = lines.lines.get(lines.at..).unwrap_or_default();
    let blank = rest.iter().take_while(|line| header(line).is_empty());
    let blank = blank.count();
    if rest.get(blank).is_some_and(|line| line.starts_with(b"@@")) {
        lines.at += blank;
    }
}

fn whole_name(number: usize, text: &[u8]) -> Result<Vec<u8>, PatchError> {
    name::whole(text).ok_or_else(|| PatchError::new(number, "the quoted name is damaged"))
}

/// Six octal digits: the type of the object and its permission bits.
fn mode_of(number: usize, text: &[u8]) -> Result<Mode, PatchError> {
    let digits = std::str::from_utf8(text).ok().filter(|t| t.len() == 6);
    let mode = digits.and_then(|digits| u32::from_str_radix(digits, 8).ok());
    match mode.map(|mode| (mode & 0o170_000, mode & 0o7777)) {
        Some((0o100_000, bits @ 0..=0o777)) => {
            Ok(Mode::File(u16::try_from(bits).unwrap_or_default()))
        }
        Some((0o120_000, _)) => Ok(Mode::Link),
        Some((0o160_000, _)) => Err(PatchError::new(
            number,
            "a submodule: its commit is not changed by a patch of files",
        )),
        Some(_) | None => Err(PatchError::new(
            number,
            "a mode is 100644, 100755 or another of a file, or 120000 for a link",
        )),
    }
}
