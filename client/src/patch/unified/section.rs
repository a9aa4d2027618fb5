//! What a diff says of one file.

use super::super::{Lines, Names, PatchError, no_carriage_return};
use super::hunk::{self, Hunk};
use super::name::{self, Name};
use crate::change::{Changes, Edit, Tiers, chmod, create, delete, link, rename};
use portcullis_protocol::session::{Expect, Parents, Selector};
use portcullis_protocol::view::Digest;

/// The mode of an object, as git writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    File(u16),
    Link,
}

/// A section that is being read.
#[derive(Debug, Default)]
pub(super) struct Section {
    /// Its first line in the patch.
    number: usize,
    kind: Kind,
    /// The name in its `diff --git` line.
    git_name: Option<Vec<u8>>,
    created: Option<Mode>,
    deleted: Option<Mode>,
    /// What its `index` line or `old mode` line says the file is.
    is: Option<Mode>,
    new_mode: Option<Mode>,
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    /// How much of a renamed file is the same.
    similarity: Option<Vec<u8>>,
    texts: Option<(Name, Name)>,
    hunks: Vec<Hunk>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Kind {
    #[default]
    Plain,
    Git,
}

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

    /// Takes the lines of git between `diff --git` and the texts.
    pub(super) fn with_headers(mut self, lines: &mut Lines<'_>) -> Result<Self, PatchError> {
        while let Some(line) = lines.peek() {
            let number = lines.number();
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
                self.similarity = Some(percent.to_vec());
            } else if let Some(hashes) = said(b"index ") {
                if let Some(mode) = hashes.split(|byte| *byte == b' ').nth(1) {
                    self.is = Some(mode_of(number, mode)?);
                }
            } else if line.starts_with(b"copy from ") || line.starts_with(b"copy to ") {
                return Err(PatchError::new(
                    number,
                    "a copy: make the diff without copies (`git diff --no-find-copies`), so that \
                     the new file comes with its text",
                ));
            } else if !line.starts_with(b"dissimilarity index ") {
                break;
            }
            no_carriage_return(number, line)?;
            lines.skip();
        }
        Ok(self)
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
        self.texts = Some(name::without_prefixes(old, new));
        while lines.peek().is_some_and(|line| line.starts_with(b"@@ ")) {
            self.hunks.push(hunk::read(lines)?);
        }
        if self.hunks.is_empty() {
            return Err(self.refused("there is no hunk after the `---` and `+++` lines"));
        }
        Ok(self)
    }

    fn refused(&self, what: &str) -> PatchError {
        PatchError::new(self.number, what)
    }

    /// Puts what the section says to the changes.
    pub(super) fn put(self, names: Names<'_>, changes: &mut Changes) -> Result<(), PatchError> {
        if self.from.is_some() || self.to.is_some() {
            return self.put_rename(names, changes);
        }
        let (made, gone) = match &self.texts {
            Some((Name::Nothing, Name::Nothing)) => {
                return Err(self.refused("both sides are /dev/null"));
            }
            Some((Name::Nothing, Name::File(_))) => (true, false),
            Some((Name::File(_), Name::Nothing)) => (false, true),
            Some((Name::File(old), Name::File(new))) if old != new => {
                return Err(self.refused(
                    "the names after `---` and `+++` differ: write the same name in both, or say \
                     a rename with the `rename from` and `rename to` lines of git",
                ));
            }
            Some((Name::File(_), Name::File(_))) => (false, false),
            None => (self.created.is_some(), self.deleted.is_some()),
        };
        if self.created.is_some() && !made || self.deleted.is_some() && !gone {
            return Err(self.refused(
                "its header says that the file is made or deleted, and its `---` or `+++` line \
                 says otherwise: that side is /dev/null",
            ));
        }
        let selector = names.selector(self.number, &self.name()?)?;
        match (made, gone) {
            (true, _) => self.put_new(selector, changes),
            (false, true) => self.put_gone(selector, changes),
            (false, false) => self.put_edit(selector, changes),
        }
    }

    /// The one name of the file.
    fn name(&self) -> Result<Vec<u8>, PatchError> {
        match &self.texts {
            Some((Name::Nothing, Name::File(name)) | (Name::File(name), _)) => Ok(name.clone()),
            Some((Name::Nothing, Name::Nothing)) | None => self.git_name.clone().ok_or_else(|| {
                self.refused("the two names of the `diff --git` line cannot be told apart")
            }),
        }
    }

    fn put_rename(self, names: Names<'_>, changes: &mut Changes) -> Result<(), PatchError> {
        let (Some(from), Some(to)) = (&self.from, &self.to) else {
            return Err(self.refused("a rename has both a `rename from` and a `rename to` line"));
        };
        if !self.hunks.is_empty() || self.new_mode.is_some() {
            return Err(self.refused(
                "a file is not renamed and changed by one patch: make the diff without renames \
                 (`git diff --no-renames`), or send the rename first and the change after it",
            ));
        }
        if self.similarity.as_deref().is_some_and(|p| p != b"100%") {
            return Err(self.refused(
                "the file is changed as well, says its similarity index, but its hunks are missing",
            ));
        }
        let mut moved = rename(
            names.selector(self.number, from)?,
            names.selector(self.number, to)?,
        );
        moved.parents = Parents::Make;
        changes.push(moved);
        Ok(())
    }

    /// The only text of a file that is made or deleted.
    fn whole_text(&self, side: fn(&Hunk) -> (&[u8], &[u8])) -> Result<Vec<u8>, PatchError> {
        match self.hunks.as_slice() {
            [] => Ok(Vec::new()),
            [hunk] => match side(hunk) {
                (text, []) => Ok(text.to_vec()),
                (_, [_, ..]) => Err(PatchError::new(
                    hunk.number,
                    "a file that is made has only `+` lines, one that is deleted only `-` lines",
                )),
            },
            [_, second, ..] => Err(PatchError::new(
                second.number,
                "a file that is made or deleted has one hunk",
            )),
        }
    }

    fn put_new(self, selector: Selector, changes: &mut Changes) -> Result<(), PatchError> {
        let content = self.whole_text(|hunk| (&hunk.new, &hunk.old))?;
        match self.created {
            Some(Mode::Link) if content.is_empty() || content.ends_with(b"\n") => Err(self
                .refused(
                    "the text of a link is one line, followed by `\\ No newline at end of file`",
                )),
            Some(Mode::Link) => {
                let mut made = link(selector, &content)
                    .map_err(|_| self.refused("the text of the link is too long"))?;
                made.parents = Parents::Make;
                changes.push(made);
                Ok(())
            }
            Some(Mode::File(_)) | None => {
                let mut file = create(selector, content);
                file.parents = Parents::Make;
                // 0o644 is what a new file gets anyway, or less where its directory says so.
                file.mode = match self.created {
                    Some(Mode::File(mode)) if mode != 0o644 => Some(mode),
                    Some(Mode::File(_) | Mode::Link) | None => None,
                };
                changes.push(file);
                Ok(())
            }
        }
    }

    /// The patch has the whole text of a file that goes, so that only that file goes.
    fn put_gone(self, selector: Selector, changes: &mut Changes) -> Result<(), PatchError> {
        let content = self.whole_text(|hunk| (&hunk.old, &hunk.new))?;
        let mut gone = delete(selector);
        gone.expect = Expect::Content(Digest(*blake3::hash(&content).as_bytes()));
        changes.push(gone);
        Ok(())
    }

    fn put_edit(self, selector: Selector, changes: &mut Changes) -> Result<(), PatchError> {
        if self.is == Some(Mode::Link) || self.new_mode == Some(Mode::Link) {
            return Err(self.refused(
                "what a link says, or whether it is one, is not edited: delete it and make \
                 another, in two patches",
            ));
        }
        let mode = match self.new_mode {
            Some(Mode::File(mode)) => Some(mode),
            Some(Mode::Link) | None => None,
        };
        match (self.hunks.is_empty(), mode) {
            (false, mode) => changes.push(Edit {
                selector,
                expect: Expect::Any,
                edits: self.hunks.into_iter().map(Hunk::edit).collect(),
                tiers: Tiers::DEFAULT,
                mode,
            }),
            (true, Some(mode)) => changes.push(chmod(selector, mode)),
            (true, None) => {
                return Err(self.refused("the section says nothing that could be done"));
            }
        }
        Ok(())
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
