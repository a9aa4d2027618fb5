//! Changes of names: made, moved, removed; and of permission bits.

use super::act::{Act, At, Step};
use super::check::{
    MODE_MAX, check_deletable, check_mode, check_movable, check_single, made_directory, missing,
    mode_of, random, touched, with_mode,
};
use super::content;
use super::diff::Side;
use super::expect::Need;
use super::target::{Asked, Planner};
use super::tree;
use crate::resolve::{Held, Missing};
use crate::sys::open;
use portcullis_protocol::ledger::Temporary;
use portcullis_protocol::path::{RelPath, Want};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    DeleteObject, Deletion, Expect, Links, MakeDirectory, MakeLink, MoveObject, Onto, Parents,
    SetMode,
};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Kind, PathState, Present};
use std::os::fd::AsFd as _;

impl Planner<'_> {
    pub(super) fn mkdir(&mut self, asked: Asked<'_>, order: &MakeDirectory) -> Result<(), Refusal> {
        let place = self.find(asked, Links::Keep, missing(order.parents))?;
        let (at, object) = self.at(asked, place)?;
        match (object, order.parents) {
            (None, _) => {
                if self.made.insert((at.root, at.path.clone())) {
                    self.steps.push(made_directory(at));
                    return Ok(());
                }
                Err(asked.refuse(Code::Collision))
            }
            (Some(held), Parents::Make) if held.observation.kind == Kind::Directory => {
                let state = content::present(&held, None);
                let touched = vec![touched(asked.verb, &at, state, state)];
                let act = Act::Keep { at, held };
                self.steps.push(Step { act, touched });
                Ok(())
            }
            (Some(held), Parents::Exist | Parents::Make) => {
                Err(asked.refuse(Code::Exists).finding(held.observation.stamp))
            }
        }
    }

    pub(super) fn rename(&mut self, asked: Asked<'_>, order: &MoveObject) -> Result<(), Refusal> {
        let place = self.find(asked, Links::Keep, Missing::Refused)?;
        let (from, held) = self.at(asked, place)?;
        let held = held.ok_or_else(|| asked.refuse(Code::NotFound))?;
        check_movable(asked, &held)?;
        let (before, _) = self.expect(asked, (order.expect, Need::Any), &from, Some(&held))?;
        let towards = Asked {
            verb: Verb::Move,
            selector: &order.destination,
        };
        let place = self.find(towards, Links::Keep, missing(order.parents))?;
        if place.root != from.root {
            let note = "both names must be in one root; write a copy and delete the original";
            return Err(towards.refuse(Code::Unsupported).noting(note));
        }
        if place.path != from.path && place.path.below(&from.path).is_some() {
            let note = "a directory cannot be moved into itself";
            return Err(towards.refuse(Code::OutOfRange).noting(note));
        }
        if place.want == Want::Directory && held.observation.kind != Kind::Directory {
            return Err(towards.refuse(Code::NotADirectory));
        }
        let (to, onto) = self.at(towards, place)?;
        let replaced = self.displaced(towards, order.onto, &held, (&to, onto.as_ref()))?;
        if held.observation.kind == Kind::Directory {
            tree::judge_tree(self.session, asked.verb, &from, Some(&to.path))
                .map_err(|why| why.refusal(asked.verb, asked.selector))?;
        }
        self.diff.renamed(&from.path, &to.path);
        let gone = touched(asked.verb, &from, before, PathState::Absent);
        let there = touched(asked.verb, &to, replaced, before);
        let act = Act::Move {
            from,
            held,
            to,
            onto,
            temporary: random(),
        };
        let touched = vec![gone, there];
        self.steps.push(Step { act, touched });
        Ok(())
    }

    /// What a move would displace, if it may.
    pub(super) fn displaced(
        &self,
        asked: Asked<'_>,
        allowed: Onto,
        moved: &Held,
        (to, onto): (&At, Option<&Held>),
    ) -> Result<PathState, Refusal> {
        let Some(onto) = onto else {
            return match allowed {
                Onto::Nothing | Onto::Replace(Expect::Any | Expect::Seen | Expect::Absent) => {
                    Ok(PathState::Absent)
                }
                Onto::Replace(Expect::Version(_) | Expect::Content(_)) => {
                    Err(asked.refuse(Code::Conflict))
                }
            };
        };
        let stamp = onto.observation.stamp;
        let expect = match allowed {
            Onto::Nothing => return Err(asked.refuse(Code::Exists).finding(stamp)),
            Onto::Replace(expect) => expect,
        };
        if stamp.object() == moved.observation.stamp.object() {
            let note = "both names are of the same object";
            return Err(asked.refuse(Code::HardLinked).noting(note));
        }
        let plain = |held: &Held| matches!(held.observation.kind, Kind::File | Kind::Link);
        if !plain(onto) || !plain(moved) {
            let note = "only a file or a link can be replaced, and only by one";
            return Err(asked.refuse(Code::Exists).noting(note).finding(stamp));
        }
        // What was seen is given up with it; a version or a content that is named is meant.
        let need = match expect {
            Expect::Seen => Need::Whole,
            Expect::Any | Expect::Absent | Expect::Version(_) | Expect::Content(_) => Need::Any,
        };
        self.expect(asked, (expect, need), to, Some(onto))
            .map(|(state, _)| state)
    }

    pub(super) fn delete(&mut self, asked: Asked<'_>, order: &DeleteObject) -> Result<(), Refusal> {
        let place = self.find(asked, Links::Keep, Missing::Refused)?;
        let (at, object) = self.at(asked, place)?;
        let held = object.ok_or_else(|| asked.refuse(Code::NotFound))?;
        check_deletable(asked, order.what, &held)?;
        let (before, old) = self.expect(asked, (order.expect, Need::Any), &at, Some(&held))?;
        match order.what {
            Deletion::File => {
                let old = self.shown(&at, &old);
                self.diff
                    .add(&at.path, (mode_of(&before), 0), old, Side::None);
            }
            Deletion::Directory => self.check_empty(asked, &at)?,
            Deletion::Tree => tree::judge_tree(self.session, asked.verb, &at, None)
                .map_err(|why| why.refusal(asked.verb, asked.selector))?,
        }
        let touched = vec![touched(asked.verb, &at, before, PathState::Absent)];
        let act = Act::Delete {
            at,
            held,
            temporary: random(),
            deletion: order.what,
        };
        self.steps.push(Step { act, touched });
        Ok(())
    }

    pub(super) fn chmod(&mut self, asked: Asked<'_>, order: &SetMode) -> Result<(), Refusal> {
        check_mode(asked, Some(order.mode))?;
        let place = self.find(asked, Links::Follow, Missing::Refused)?;
        let (at, object) = self.at(asked, place)?;
        let held = object.ok_or_else(|| asked.refuse(Code::NotFound))?;
        let special = match held.observation.kind {
            Kind::File => {
                check_single(asked, &held)?;
                0
            }
            // What a directory passes on to what is made in it stays as its owner set it.
            Kind::Directory => held.observation.mode & !MODE_MAX,
            Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
                return Err(asked.refuse(Code::NotRegular));
            }
        };
        let (user, _) = open::owner(held.fd()).map_err(|errno| asked.kernel(errno))?;
        if user != rustix::process::geteuid().as_raw() {
            return Err(asked
                .refuse(Code::Permission)
                .noting("it belongs to another user"));
        }
        let (before, _) = self.expect(asked, (order.expect, Need::Any), &at, Some(&held))?;
        let mode = order.mode | special;
        let after = with_mode(before, mode);
        self.diff.mode(&at.path, held.observation.mode, mode);
        let touched = vec![touched(asked.verb, &at, before, after)];
        let act = Act::Chmod { at, held, mode };
        self.steps.push(Step { act, touched });
        Ok(())
    }

    pub(super) fn link(&mut self, asked: Asked<'_>, order: &MakeLink) -> Result<(), Refusal> {
        let place = self.find(asked, Links::Keep, missing(order.parents))?;
        let (at, object) = self.at(asked, place)?;
        if let Some(held) = object {
            return Err(asked.refuse(Code::Exists).finding(held.observation.stamp));
        }
        let text = order.text.as_slice();
        if !stays_below(&at.path, text) {
            let note = "a link's text must be relative, with `..` only at its beginning, and lead \
                        to a place below the root";
            return Err(asked.refuse(Code::Escape).noting(note));
        }
        self.diff
            .add(&at.path, (0, 0), Side::None, Side::Link(text));
        let after = PathState::Present(Present {
            kind: Kind::Link,
            mode: 0o777,
            size: u64::try_from(text.len()).unwrap_or(u64::MAX),
            digest: Some(content::digest(text)),
            stamp: None,
        });
        let touched = vec![touched(asked.verb, &at, PathState::Absent, after)];
        let act = Act::Link {
            at,
            text: text.to_vec(),
            temporary: random(),
        };
        self.steps.push(Step { act, touched });
        Ok(())
    }

    fn check_empty(&self, asked: Asked<'_>, at: &At) -> Result<(), Refusal> {
        let parent = at.within.nearest().fd.as_fd();
        match content::is_empty(parent, at.name()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(asked.refuse(Code::NotEmpty)),
            Err(errno) => Err(asked.kernel(errno)),
        }
    }
}

/// Whether a link at `path` of this text leads below the root whatever the tree looks like: `..`
/// may only come first, where it counts real directories and not links.
fn stays_below(path: &RelPath, text: &[u8]) -> bool {
    if text.is_empty() || text.starts_with(b"/") || text.contains(&0) {
        return false;
    }
    let depth = path.names().count().saturating_sub(1);
    let mut ups = 0;
    let mut went_down = false;
    for name in text.split(|b| *b == b'/') {
        match name {
            b"" | b"." => {}
            b".." if went_down => return false,
            b".." => ups += 1,
            name if Temporary::is_one(name) => return false,
            _ => went_down = true,
        }
    }
    ups <= depth
}
