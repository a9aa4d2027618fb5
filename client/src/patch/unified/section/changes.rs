//! A section, once it was read, as changes.

use super::super::super::{Names, PatchError};
use super::super::Origin;
use super::super::hunk::{Hunk, Reach};
use super::super::name::{self, Name};
use super::super::order::Unit;
use super::{Mode, Section, Shown, Stated};
use crate::change::{Edit, Item, Tiers, chmod, create, delete, link, rename};
use portcullis_protocol::session::{Expect, Parents, Selector};
use portcullis_protocol::view::Digest;

impl Section {
    /// What the section says, as changes.
    pub(in super::super) fn unit(self, names: Names<'_>, shown: Shown) -> Result<Unit, PatchError> {
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
        ranges.sort_by_key(|(range, number)| (range.start, range.end, *number));
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
