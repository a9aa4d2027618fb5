//! What a diff says of one file.

use super::super::{Lines, Names, PatchError};
use super::hunk::{self, Hunk, Reach};
use super::name::{self, Name, Time};
use super::order::Unit;
use super::{Origin, header};
use crate::change::{Edit, Item, Tiers, chmod, create, delete, link, rename};
use portcullis_protocol::session::{Expect, Parents, Selector};
use portcullis_protocol::view::Digest;

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

    /// What the section says, as changes.
    pub(super) fn unit(self, names: Names<'_>, shown: Shown) -> Result<Unit, PatchError> {
        self.check()?;
        if self.from.is_some() || self.to.is_some() {
            return self.renamed(names, shown);
        }
        let (name, fate) = self.name()?;
        if self.created.is_some() && fate != Fate::Made
            || self.deleted.is_some() && fate != Fate::Gone
        {
            return Err(self.refused(
                "its header says that the file is made or deleted, and its `---` or `+++` line \
                 says otherwise: that side is /dev/null",
            ));
        }
        let selector = names.selector(self.number, &name)?;
        let mut unit = Unit::default();
        match fate {
            Fate::Made => {
                unit.items.push(self.made(selector)?);
                unit.comes = Some(name);
            }
            Fate::Gone => unit.items.push(self.gone(selector)?),
            Fate::Stays => unit.items = self.stays(selector, shown)?,
        }
        Ok(unit)
    }

    /// What holds for every kind of section.
    fn check(&self) -> Result<(), PatchError> {
        if self.hunks.is_empty() && self.content != Stated::Nothing {
            return Err(self.refused(
                "the text of the file is changed as well, says its header, but its hunks are \
                 missing: send the whole patch",
            ));
        }
        let mut ranges: Vec<_> = self
            .hunks
            .iter()
            .filter_map(|hunk| Some((hunk.range()?, hunk.number)))
            .collect();
        ranges.sort_by_key(|(range, number)| (range.start, *number));
        for two in ranges.windows(2) {
            if let [(first, one), (second, other)] = two
                && (second.start < first.end && self.origin == Origin::Program || first == second)
            {
                return Err(PatchError::new(
                    *one.max(other),
                    format!(
                        "this hunk is about lines that the hunk in line {} of the patch is about \
                         too: send one of them, or both as one",
                        one.min(other)
                    ),
                ));
            }
        }
        Ok(())
    }

    /// The name of the file, and what becomes of it.
    fn name(&self) -> Result<(Vec<u8>, Fate), PatchError> {
        match &self.texts {
            Some((Name::Nothing, Name::Nothing)) => Err(self.refused("both sides are /dev/null")),
            Some((Name::Nothing, Name::File(new))) => Ok((new.clone(), Fate::Made)),
            Some((Name::File(old), Name::Nothing)) => Ok((old.clone(), Fate::Gone)),
            Some((Name::File(old), Name::File(new))) => {
                let one = name::without_backup(old.clone(), new.clone()).map_err(|_| {
                    self.refused(
                        "the names after `---` and `+++` differ: write the same name in both, or \
                         say a rename with the `rename from` and `rename to` lines of git",
                    )
                })?;
                Ok((one, Fate::Stays))
            }
            None => {
                let name = self.git_name.clone().ok_or_else(|| {
                    self.refused("the two names of the `diff --git` line cannot be told apart")
                })?;
                let fate = match (self.created, self.deleted) {
                    (Some(_), None) => Fate::Made,
                    (None, Some(_)) => Fate::Gone,
                    (None, None) => Fate::Stays,
                    (Some(_), Some(_)) => {
                        return Err(self.refused("a file is not made and deleted in one section"));
                    }
                };
                Ok((name, fate))
            }
        }
    }

    fn renamed(mut self, names: Names<'_>, shown: Shown) -> Result<Unit, PatchError> {
        let (Some(from), Some(to)) = (self.from.take(), self.to.take()) else {
            return Err(self.refused("a rename has both a `rename from` and a `rename to` line"));
        };
        if self.created.is_some() || self.deleted.is_some() {
            return Err(self.refused("a file is not renamed and made or deleted in one section"));
        }
        let source = names.selector(self.number, &from)?;
        let destination = names.selector(self.number, &to)?;
        let items = if self.is == Some(Mode::Link) && !self.hunks.is_empty() {
            self.retargeted(source, destination)?
        } else {
            let mut moved = rename(source, destination.clone());
            moved.parents = Parents::Make;
            let mut items = vec![Item::Move(moved)];
            if !self.hunks.is_empty() || self.new_mode.is_some() {
                items.extend(self.stays(destination, shown)?);
            }
            items
        };
        Ok(Unit {
            comes: Some(to),
            leaves: Some(from),
            items,
        })
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

    fn made(self, selector: Selector) -> Result<Item, PatchError> {
        let content = self.whole_text(|hunk| (hunk.new_text(), hunk.old()))?;
        match self.created {
            Some(Mode::Link) => self.new_link(selector, &content),
            Some(Mode::File(_)) | None => {
                let mut file = create(selector, content);
                file.parents = Parents::Make;
                // 0o644 is what a new file gets anyway, or less where its directory says so.
                file.mode = match self.created {
                    Some(Mode::File(mode)) if mode != 0o644 => Some(mode),
                    Some(Mode::File(_) | Mode::Link) | None => None,
                };
                Ok(Item::Write(file))
            }
        }
    }

    fn new_link(&self, selector: Selector, text: &[u8]) -> Result<Item, PatchError> {
        if text.is_empty() || text.contains(&b'\n') {
            return Err(self.refused(
                "the text of a link is one line, followed by `\\ No newline at end of file`",
            ));
        }
        let mut made =
            link(selector, text).map_err(|_| self.refused("the text of the link is too long"))?;
        made.parents = Parents::Make;
        Ok(Item::Link(made))
    }

    /// The patch has the whole text of a file that goes, so that only that file goes.
    fn gone(self, selector: Selector) -> Result<Item, PatchError> {
        let content = self.whole_text(|hunk| (hunk.old(), hunk.new_text()))?;
        Ok(gone(selector, &content))
    }

    /// A link is not edited: it goes and another comes.
    fn retargeted(&self, old: Selector, new: Selector) -> Result<Vec<Item>, PatchError> {
        let [hunk] = self.hunks.as_slice() else {
            return Err(self.refused("the text of a link is one line, in one hunk"));
        };
        let made = self.new_link(new, hunk.new_text())?;
        Ok(vec![gone(old, hunk.old()), made])
    }

    fn stays(self, selector: Selector, shown: Shown) -> Result<Vec<Item>, PatchError> {
        let mode = match (self.is, self.new_mode) {
            (Some(Mode::Link), None) if !self.hunks.is_empty() => {
                return self.retargeted(selector.clone(), selector);
            }
            (None | Some(Mode::File(_)), None) => None,
            (None | Some(Mode::File(_)), Some(Mode::File(mode))) => Some(mode),
            (Some(Mode::Link), _) | (_, Some(Mode::Link)) => {
                return Err(self.refused(
                    "a link is not made a file, nor a file a link, by its mode: delete the one \
                     and make the other, in two sections",
                ));
            }
        };
        if self.hunks.is_empty() {
            return match mode {
                Some(mode) => Ok(vec![Item::Chmod(chmod(selector, mode))]),
                None => Err(self.refused("the section says nothing that could be done")),
            };
        }
        let (tiers, reach) = match (self.origin, shown, self.content) {
            (Origin::Hand, _, _) => (Tiers::DEFAULT, Reach::Free),
            (Origin::Program, _, Stated::WasEmpty) => (Tiers::EXACT, Reach::Empty),
            (Origin::Program, Shown::Never, _) => (Tiers::EXACT, Reach::Zero),
            (Origin::Program, Shown::Unclear, Stated::Nothing) => (Tiers::EXACT, Reach::Top),
            (Origin::Program, Shown::Unclear, Stated::Differs) => (Tiers::EXACT, Reach::Start),
            (Origin::Program, Shown::Some, _) => (Tiers::EXACT, Reach::Strict),
        };
        let edits = self.hunks.into_iter().map(|hunk| hunk.edit(reach));
        Ok(vec![Item::Edit(Edit {
            selector,
            expect: Expect::Any,
            edits: edits.collect(),
            tiers,
            mode,
        })])
    }
}

/// What becomes of a file that keeps its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Made,
    Gone,
    Stays,
}

/// Removes what has this content.
fn gone(selector: Selector, content: &[u8]) -> Item {
    let mut gone = delete(selector);
    gone.expect = Expect::Content(Digest(*blake3::hash(content).as_bytes()));
    Item::Delete(gone)
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
