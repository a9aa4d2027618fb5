//! Changes of names: made, moved, removed; and of permission bits.

use super::act::{At, Which, Within};
use super::check::{MODE_MAX, check_deletable, check_mode, check_movable, check_single};
use super::content;
use super::expect::Need;
use super::overlay::Thing;
use super::target::{Asked, Planner, missing};
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
use portcullis_protocol::verb::{Mode, Verb};
use portcullis_protocol::view::Kind;
use std::os::fd::AsFd as _;
use std::rc::Rc;

impl<'a> Planner<'a> {
    pub(super) fn mkdir(&mut self, asked: Asked<'a>, order: &MakeDirectory) -> Result<(), Refusal> {
        let place = self.find(asked, Links::Keep, missing(order.parents))?;
        let n = self.meet(asked, place)?;
        match (self.overlay.kind(n), order.parents) {
            (None, _) => self.make_directory(asked, n),
            (Some(Kind::Directory), Parents::Make) => Ok(()),
            (Some(_), Parents::Exist | Parents::Make) => {
                Err(self.finding(n, asked.refuse(Code::Exists)))
            }
        }
    }

    pub(super) fn rename(
        &mut self,
        asked: Asked<'a>,
        order: &'a MoveObject,
    ) -> Result<(), Refusal> {
        let place = self.find(asked, Links::Keep, Missing::Refused)?;
        let from = self.meet(asked, place)?;
        let kind = self.overlay.kind(from);
        let kind = kind.ok_or_else(|| asked.refuse(Code::NotFound))?;
        check_movable(asked, kind)?;
        self.expect(asked, from, (order.expect, Need::Any))?;
        let towards = Asked {
            verb: Verb::Move,
            selector: &order.destination,
        };
        let place = self.find(towards, Links::Keep, missing(order.parents))?;
        let source = self.at(asked, from)?;
        if place.root != source.root {
            let note = "both names must be in one root; write a copy and delete the original";
            return Err(towards.refuse(Code::Unsupported).noting(note));
        }
        if place.path == source.path {
            // To itself: nothing of its own.
            self.idle
                .get_or_insert(self.idle(towards, from, order.onto));
            return Ok(());
        }
        if place.path.below(&source.path).is_some() {
            let note = "a directory cannot be moved into itself";
            return Err(towards.refuse(Code::OutOfRange).noting(note));
        }
        if place.want == Want::Directory && kind != Kind::Directory {
            return Err(towards.refuse(Code::NotADirectory));
        }
        self.check_apart(towards, from, (place.object.as_ref(), order.onto))?;
        let to = self.meet(towards, place)?;
        let mode = match (self.overlay.kind(to), order.onto) {
            // What must be free is never moved over.
            (None, _) | (_, Onto::Nothing) => Mode::MoveNew,
            (Some(_), Onto::Replace(_)) => Mode::MoveOver,
        };
        self.judge_mode(towards, to, mode)?;
        self.displace(towards, kind, (to, order.onto))?;
        if kind == Kind::Directory {
            let destination = self.at(towards, to)?;
            self.check_tree(asked, from, Some(&destination.path))?;
        }
        if let Some(thing) = self.leave(from, Verb::Move, None) {
            let thing = self.carried(towards, thing, (&source.within, to))?;
            self.leave(to, Verb::Move, Some(thing));
        }
        Ok(())
    }

    pub(super) fn at(&self, asked: Asked<'_>, n: Which) -> Result<At, Refusal> {
        let name = self.overlay.names.get(n);
        name.map(|name| name.at.clone())
            .ok_or_else(|| asked.refuse(Code::NotFound))
    }

    /// Why a set of nothing but a move to itself is refused.
    fn idle(&self, towards: Asked<'_>, n: Which, onto: Onto) -> Refusal {
        let refusal = match onto {
            Onto::Nothing => towards.refuse(Code::Exists),
            Onto::Replace(_) => towards
                .refuse(Code::HardLinked)
                .noting("both names are of the same object"),
        };
        self.finding(n, refusal)
    }

    /// What is moved and what has the new name may not be one object.
    fn check_apart(
        &self,
        towards: Asked<'_>,
        from: Which,
        (there, onto): (Option<&Held>, Onto),
    ) -> Result<(), Refusal> {
        let object = |held: &Held| held.observation.stamp.object();
        let moved = self.overlay.held_now(from).map(|held| object(held));
        match (there, onto) {
            (Some(there), Onto::Replace(_)) if moved == Some(object(there)) => {
                let note = "both names are of the same object";
                Err(towards.refuse(Code::HardLinked).noting(note))
            }
            (Some(there), Onto::Nothing) if moved == Some(object(there)) => Err(towards
                .refuse(Code::Exists)
                .finding(there.observation.stamp)),
            (Some(_) | None, Onto::Nothing | Onto::Replace(_)) => Ok(()),
        }
    }

    /// Whether a move may displace what has the new name.
    fn displace(
        &mut self,
        towards: Asked<'a>,
        moved: Kind,
        (to, onto): (Which, Onto),
    ) -> Result<(), Refusal> {
        let expect = match (self.overlay.kind(to), onto) {
            (None, Onto::Nothing) => return Ok(()),
            (None, Onto::Replace(Expect::Any | Expect::Seen | Expect::Absent)) => return Ok(()),
            (None, Onto::Replace(Expect::Version(_) | Expect::Content(_))) => {
                return Err(towards.refuse(Code::Conflict));
            }
            (Some(_), Onto::Nothing) => {
                return Err(self.finding(to, towards.refuse(Code::Exists)));
            }
            (Some(Kind::File | Kind::Link), Onto::Replace(expect)) => expect,
            (Some(_), Onto::Replace(_)) => return Err(self.not_replaced(towards, to)),
        };
        if !matches!(moved, Kind::File | Kind::Link) {
            return Err(self.not_replaced(towards, to));
        }
        // What was seen is given up with it; a version or a content that is named is meant.
        let need = match expect {
            Expect::Seen => Need::Whole,
            Expect::Any | Expect::Absent | Expect::Version(_) | Expect::Content(_) => Need::Any,
        };
        self.expect(towards, to, (expect, need))
    }

    fn not_replaced(&self, towards: Asked<'_>, to: Which) -> Refusal {
        let note = "only a file or a link can be replaced, and only by one";
        self.finding(to, towards.refuse(Code::Exists).noting(note))
    }

    /// What is moved, as it is at its new name: new content is staged where it is to be.
    fn carried(
        &self,
        towards: Asked<'_>,
        thing: Thing,
        (within, to): (&Within, Which),
    ) -> Result<Thing, Refusal> {
        let Thing::File {
            content,
            basis,
            like,
            mode,
        } = thing
        else {
            return Ok(thing);
        };
        let there = self.within(towards, to)?;
        let stays = match (within, &there) {
            (Within::Held(one), Within::Held(other)) => one.id == other.id,
            (Within::Made(_), Within::Made(_)) => true,
            (Within::Held(_), Within::Made(_)) | (Within::Made(_), Within::Held(_)) => false,
        };
        let content = if stays {
            content
        } else {
            let held = like.and_then(|like| self.overlay.held(like));
            content::again(&content, self.room(&there), (mode, held))
                .map_err(|why| towards.unstaged(why))?
        };
        Ok(Thing::File {
            content,
            basis,
            like,
            mode,
        })
    }

    /// A directory with all that is below it: nothing of the set may be there, and everything else
    /// is judged where it is and where it would be.
    fn check_tree(
        &self,
        asked: Asked<'_>,
        n: Which,
        destination: Option<&RelPath>,
    ) -> Result<(), Refusal> {
        let at = self.at(asked, n)?;
        if let Some(other) = self.overlay.below(&at).next() {
            let note = "it lies in a directory that the same set moves or removes";
            let refusal = Refusal::new(Code::Collision).of(asked.verb);
            return Err(refusal.on(other.at.path.as_bytes()).noting(note));
        }
        let Some(Thing::Same { of, .. }) = self.overlay.now(n) else {
            return Ok(());
        };
        // What it has moved to before was judged then, and is where it goes from now.
        let home = self.at(asked, *of)?;
        let moved = (*of != n).then_some(&at.path);
        tree::judge_tree(self.session, asked.verb, &home, destination.or(moved))
            .map_err(|why| why.refusal(asked.verb, asked.selector))
    }

    pub(super) fn delete(&mut self, asked: Asked<'a>, order: &DeleteObject) -> Result<(), Refusal> {
        let place = self.find(asked, Links::Keep, Missing::Refused)?;
        let n = self.meet(asked, place)?;
        let kind = self.overlay.kind(n);
        let kind = kind.ok_or_else(|| asked.refuse(Code::NotFound))?;
        check_deletable(asked, order.what, kind)?;
        let mode = match order.what {
            Deletion::File => Some(Mode::DeleteFile),
            Deletion::Directory => Some(Mode::DeleteDirectory),
            Deletion::Tree => None,
        };
        if let Some(mode) = mode {
            self.judge_mode(asked, n, mode)?;
        }
        self.expect(asked, n, (order.expect, Need::Any))?;
        match order.what {
            Deletion::File => {}
            Deletion::Directory => self.check_empty(asked, n)?,
            Deletion::Tree => self.check_tree(asked, n, None)?,
        }
        if let Some(Thing::Same { of, .. }) = self.leave(n, asked.verb, None)
            && let Some(was) = self
                .overlay
                .names
                .get_mut(of)
                .and_then(|name| name.was.as_mut())
        {
            was.deletion = order.what;
        }
        Ok(())
    }

    /// Whether nothing is left below a directory when what the set takes from there is gone.
    fn check_empty(&self, asked: Asked<'_>, n: Which) -> Result<(), Refusal> {
        let at = self.at(asked, n)?;
        if self.overlay.below(&at).any(|name| name.now.is_some()) {
            return Err(asked.refuse(Code::NotEmpty));
        }
        let Some(Thing::Same { of, .. }) = self.overlay.now(n) else {
            return Ok(());
        };
        let home = self.at(asked, *of)?;
        let is_taken = |name: &[u8]| {
            home.path.join(name).is_ok_and(|path| {
                let found = self.overlay.find(home.root, &path);
                found.is_some_and(|n| self.overlay.now(n).is_none())
            })
        };
        let parent = home.within.nearest().fd.as_fd();
        match content::has_only(parent, home.name(), is_taken) {
            Ok(true) => Ok(()),
            Ok(false) => Err(asked.refuse(Code::NotEmpty)),
            Err(errno) => Err(asked.kernel(errno)),
        }
    }

    pub(super) fn chmod(&mut self, asked: Asked<'a>, order: &SetMode) -> Result<(), Refusal> {
        check_mode(asked, Some(order.mode))?;
        let place = self.find(asked, Links::Follow, Missing::Refused)?;
        let n = self.meet(asked, place)?;
        let special = match self.overlay.held_now(n) {
            Some(held) => check_owned(asked, held)?,
            None => 0,
        };
        if self.overlay.now(n).is_none() {
            return Err(asked.refuse(Code::NotFound));
        }
        self.expect(asked, n, (order.expect, Need::Any))?;
        let mode = Some(order.mode | special);
        let now = match self.overlay.now(n) {
            Some(Thing::Same { of, .. }) => Thing::Same { of: *of, mode },
            Some(Thing::File {
                content,
                basis,
                like,
                ..
            }) => {
                let held = like.and_then(|like| self.overlay.held(like));
                let within = self.within(asked, n)?;
                let again = content::again(content, self.room(&within), (mode, held));
                Thing::File {
                    content: again.map_err(|why| asked.unstaged(why))?,
                    basis: *basis,
                    like: *like,
                    mode,
                }
            }
            Some(Thing::Directory { .. }) => Thing::Directory { mode },
            Some(Thing::Link { .. }) | None => return Err(asked.refuse(Code::NotRegular)),
        };
        self.leave(n, Verb::Chmod, Some(now));
        Ok(())
    }

    pub(super) fn link(&mut self, asked: Asked<'a>, order: &MakeLink) -> Result<(), Refusal> {
        let place = self.find(asked, Links::Keep, missing(order.parents))?;
        let n = self.meet(asked, place)?;
        if self.overlay.now(n).is_some() {
            return Err(self.finding(n, asked.refuse(Code::Exists)));
        }
        let text = order.text.as_slice();
        if !stays_below(&self.at(asked, n)?.path, text) {
            let note = "a link's text must be relative, with `..` only at its beginning, and lead \
                        to a place below the root";
            return Err(asked.refuse(Code::Escape).noting(note));
        }
        let text = text.to_vec();
        self.leave(n, Verb::Link, Some(Thing::Link { text }));
        Ok(())
    }
}

/// Whether the permission bits of an object may be set; gives those that stay as they are.
fn check_owned(asked: Asked<'_>, held: &Rc<Held>) -> Result<u16, Refusal> {
    let special = match held.observation.kind {
        Kind::File => {
            check_single(asked, held)?;
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
    Ok(special)
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
