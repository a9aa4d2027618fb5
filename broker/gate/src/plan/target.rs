//! From one change to what it leaves at its names.

use super::Order;
use super::act::{At, Which, Within};
use super::content::{self, Content, Unstaged};
use super::expect::{self, Need, There};
use super::matches::Matches;
use super::overlay::{Basis, Name, Overlay, Thing, Was};
use super::region::Focus;
use super::text::{Keeping, Text};
use crate::admit::admit;
use crate::errors::code_of;
use crate::resolve::{self, Known, Missing, Place};
use crate::session::Session;
use crate::uploads::Uploads;
use portcullis_protocol::limits::PARENTS_MAX;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Change, Deletion, Expect, Links, Parents, Selector, UploadId};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Digest, Kind, ObjectId, PathState, RootIndex};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Plans changes one after the other; directories they share are opened once.
pub(super) struct Planner<'a> {
    pub(super) session: &'a Session,
    pub(super) uploads: &'a Uploads,
    pub(super) content: &'a [u8],
    /// The digest of the whole set, where it matters.
    pub(super) input: Option<Digest>,
    pub(super) known: Known,
    pub(super) overlay: Overlay<'a>,
    pub(super) taken: HashSet<UploadId>,
    pub(super) matches: Matches,
    pub(super) keeping: Keeping,
    /// Which change is planned.
    pub(super) n: u16,
    /// What is worth showing with the refusal of an edit.
    pub(super) focus: Focus,
    objects: HashMap<ObjectId, Which>,
    parents: usize,
    /// Why a move to itself would be refused where it is all there is.
    pub(super) idle: Option<Refusal>,
}

/// One change being planned: what messages name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) verb: Verb,
    pub(super) selector: &'a Selector,
}

impl Asked<'_> {
    pub(super) fn refuse(self, code: Code) -> Refusal {
        Refusal::new(code)
            .of(self.verb)
            .on(self.selector.path.as_slice())
    }

    pub(super) fn kernel(self, errno: Errno) -> Refusal {
        self.refuse(code_of(errno))
    }

    pub(super) fn unstaged(self, why: Unstaged) -> Refusal {
        match why {
            Unstaged::Kernel(errno) => self.kernel(errno),
            Unstaged::Unkept(what) => self.refuse(Code::Unkept).noting(what),
        }
    }
}

impl<'a> Planner<'a> {
    pub(super) fn new(session: &'a Session, uploads: &'a Uploads, order: Order<'a>) -> Self {
        Self {
            session,
            uploads,
            content: order.content,
            input: order.input,
            known: Known::default(),
            overlay: Overlay::default(),
            taken: HashSet::new(),
            matches: Matches::default(),
            keeping: Keeping::default(),
            n: 0,
            focus: Focus::Unsaid,
            objects: HashMap::new(),
            parents: 0,
            idle: None,
        }
    }

    /// Adds what one change leaves, the `n`th from 0.
    pub(super) fn change(&mut self, n: usize, change: &'a Change) -> Result<(), Refusal> {
        self.n = u16::try_from(n).unwrap_or(u16::MAX);
        let verb = change.verb();
        let of = |selector| Asked { verb, selector };
        match change {
            Change::Write(write) => self.write(of(&write.selector), write),
            Change::Edit(edit) => self.edit(of(&edit.selector), edit),
            Change::Mkdir(mkdir) => self.mkdir(of(&mkdir.selector), mkdir),
            Change::Move(order) => self.rename(of(&order.source), order),
            Change::Delete(delete) => self.delete(of(&delete.selector), delete),
            Change::Chmod(chmod) => self.chmod(of(&chmod.selector), chmod),
            Change::Link(link) => self.link(of(&link.selector), link),
        }
    }

    pub(super) fn find(
        &self,
        asked: Asked<'_>,
        links: Links,
        missing: Missing,
    ) -> Result<Place, Refusal> {
        let admitted = admit(
            self.session,
            self.operation(asked.verb),
            asked.selector,
            links,
        )?;
        resolve::find(self.session, &self.known, admitted, missing)
    }

    /// The name of a place, with what the changes so far leave there; the directories that are
    /// missing on the way to it are made first.
    pub(super) fn meet(&mut self, asked: Asked<'a>, place: Place) -> Result<Which, Refusal> {
        let Place {
            root,
            path,
            directory,
            missing,
            object,
            want: _,
        } = place;
        let nearest = self.known.keep(directory);
        if missing > 1 {
            self.make_parents(asked, (root, &path), &nearest, missing - 1)?;
        }
        if let Some(n) = self.overlay.find(root, &path) {
            self.judge_moved(asked, n)?;
            if let Some(name) = self.overlay.names.get_mut(n) {
                name.asked = asked;
            }
            return Ok(n);
        }
        let n = self.overlay.names.len();
        if let Some(held) = &object
            && asked.verb != Verb::Mkdir
            && self
                .objects
                .insert(held.observation.stamp.object(), n)
                .is_some()
        {
            let note = "it is the same object as another one of the set, by another name";
            return Err(asked.refuse(Code::Collision).noting(note));
        }
        let within = within(&path, nearest);
        let was = object.map(|held| Was {
            held: Rc::new(held),
            state: None,
            text: Text::Away,
            deletion: Deletion::File,
        });
        let now = was.as_ref().map(|_| Thing::Same { of: n, mode: None });
        Ok(self.overlay.add(Name {
            at: At { root, path, within },
            asked,
            verb: asked.verb,
            was,
            now,
        }))
    }

    /// Makes the `between` directories that are missing before the last name of a path.
    fn make_parents(
        &mut self,
        asked: Asked<'a>,
        (root, path): (RootIndex, &RelPath),
        nearest: &resolve::SharedDirectory,
        between: usize,
    ) -> Result<(), Refusal> {
        let above = path.names().count().saturating_sub(between + 1);
        let mut parent = RelPath::root();
        for (n, name) in path.names().take(above + between).enumerate() {
            parent
                .push(name)
                .map_err(|_| asked.refuse(Code::NameTooLong))?;
            if n < above {
                continue;
            }
            self.parents += 1;
            if self.parents > PARENTS_MAX {
                return Err(asked
                    .refuse(Code::OutOfBudget)
                    .noting("too many directories"));
            }
            self.may_make(asked, (root, &parent))?;
            let n = match self.overlay.find(root, &parent) {
                Some(n) => n,
                None => self.overlay.add(Name {
                    at: At {
                        root,
                        path: parent.clone(),
                        within: within(&parent, Rc::clone(nearest)),
                    },
                    asked,
                    verb: Verb::Mkdir,
                    was: None,
                    now: None,
                }),
            };
            self.make_directory(asked, n)?;
        }
        Ok(())
    }

    /// Leaves a new directory at a name that is free. What was below one that the set moves or
    /// removes would be told apart from what is below the new one by no name.
    pub(super) fn make_directory(&mut self, asked: Asked<'a>, n: Which) -> Result<(), Refusal> {
        let was = self.overlay.held(n).map(|held| held.observation.kind);
        if was == Some(Kind::Directory) {
            let note = "the same set moves or removes a directory of this name";
            return Err(asked.refuse(Code::Collision).noting(note));
        }
        self.leave(n, Verb::Mkdir, Some(Thing::Directory { mode: None }));
        Ok(())
    }

    /// Checks what the worker believes of what a name has now.
    pub(super) fn expect(
        &mut self,
        asked: Asked<'a>,
        n: Which,
        (expect, need): (Expect, Need),
    ) -> Result<(), Refusal> {
        // What is there is recorded, whatever is believed of it.
        self.was(asked, n)?;
        let digest = match self.overlay.now(n) {
            None => return self.check_expected(asked, (expect, need), None),
            Some(Thing::Same { of, .. }) => {
                let of = *of;
                self.was(asked, of)?;
                return self.check_expected(asked, (expect, need), Some(of));
            }
            Some(Thing::File { content, .. }) => content.present.digest,
            Some(Thing::Directory { .. }) => None,
            Some(Thing::Link { text }) => Some(content::digest(text)),
        };
        self.own(asked, n, (expect, need), digest)
    }

    /// Compares what the worker believes with an object of the file system, which was looked at.
    pub(super) fn check_expected(
        &self,
        asked: Asked<'_>,
        (expect, need): (Expect, Need),
        of: Option<Which>,
    ) -> Result<(), Refusal> {
        let there = of.and_then(|of| {
            let name = self.overlay.names.get(of)?;
            let was = name.was.as_ref()?;
            Some(There {
                name: (name.at.root, &name.at.path),
                kind: was.held.observation.kind,
                stamp: was.held.observation.stamp,
                digest: match was.state {
                    Some(PathState::Present(present)) => present.digest,
                    Some(PathState::Absent | PathState::Unknown) | None => None,
                },
            })
        });
        expect::check(&self.session.memory, asked, expect, need, there)
    }

    /// Checks what the worker believes of what the set itself put at a name. It knows that; but of
    /// a version it can only know the one that the set began with, and of what was edited it knows
    /// no more than it did of that.
    pub(super) fn own(
        &self,
        asked: Asked<'_>,
        n: Which,
        (expect, need): (Expect, Need),
        digest: Option<Digest>,
    ) -> Result<(), Refusal> {
        let (like, basis) = match self.overlay.now(n) {
            Some(Thing::File { like, basis, .. }) => (*like, *basis),
            Some(Thing::Same { .. } | Thing::Directory { .. } | Thing::Link { .. }) | None => {
                (None, Basis::Request)
            }
        };
        let version = || Some(self.overlay.held(like?)?.observation.stamp);
        let holds = match (expect, basis) {
            (Expect::Absent, _) => return Err(asked.refuse(Code::Exists)),
            (Expect::Seen | Expect::Version(_), Basis::Object) => {
                return self.check_expected(asked, (expect, need), like);
            }
            (Expect::Any, _) | (Expect::Seen, Basis::Request) => true,
            (Expect::Version(stamp), Basis::Request) => Some(stamp) == version(),
            (Expect::Content(wanted), _) => Some(wanted) == digest,
        };
        if holds {
            Ok(())
        } else {
            let note = "a change before it in the set leaves something else there";
            Err(asked.refuse(Code::Conflict).noting(note))
        }
    }

    /// What messages say of the version that a name has now.
    pub(super) fn finding(&self, n: Which, refusal: Refusal) -> Refusal {
        match self.overlay.held_now(n) {
            Some(held) => refusal.finding(held.observation.stamp),
            None => refusal,
        }
    }

    /// The content that has a name now, if the set put it there.
    pub(super) fn content_now(&self, n: Which) -> Option<&Content> {
        match self.overlay.now(n)? {
            Thing::File { content, .. } => Some(content),
            Thing::Same { .. } | Thing::Directory { .. } | Thing::Link { .. } => None,
        }
    }
}

/// The directory of a path, of which `nearest` exists.
fn within(path: &RelPath, nearest: resolve::SharedDirectory) -> Within {
    if nearest.path.names().count() + 1 == path.names().count() {
        Within::Held(nearest)
    } else {
        Within::Made(nearest)
    }
}

/// What is made for a name whose directories may be missing.
pub(super) const fn missing(parents: Parents) -> Missing {
    match parents {
        Parents::Exist => Missing::Last,
        Parents::Make => Missing::Parents,
    }
}
