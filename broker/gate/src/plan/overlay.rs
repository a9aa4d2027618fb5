//! What the changes of a set leave at each name, one after the other. A change is judged by what
//! the ones before it leave; what is done in the end is what all of them leave.

use super::act::{At, Which};
use super::content::Content;
use super::looked;
use super::target::{Asked, Planner};
use super::text::Text;
use crate::policy::Judgement;
use crate::resolve::{Held, Now};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Deletion;
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Kind, PathState, RootIndex};
use std::collections::HashMap;
use std::rc::Rc;

/// One name that a set concerns.
#[derive(Debug)]
pub(super) struct Name<'a> {
    pub(super) at: At,
    /// The last change that concerns it.
    pub(super) asked: Asked<'a>,
    /// By which verb it becomes what it becomes.
    pub(super) verb: Verb,
    pub(super) was: Option<Was>,
    pub(super) now: Option<Thing>,
}

/// The object that has a name in the file system.
#[derive(Debug)]
pub(super) struct Was {
    pub(super) held: Rc<Held>,
    /// What it is, once it was looked at.
    pub(super) state: Option<PathState>,
    /// Its bytes, where they were read and are kept.
    pub(super) text: Text,
    /// How it is removed, if it is.
    pub(super) deletion: Deletion,
}

/// What has a name after the changes so far.
#[derive(Debug)]
pub(super) enum Thing {
    /// The object that the name `of` has in the file system, with other permission bits perhaps.
    Same { of: Which, mode: Option<u16> },
    /// A new file, like the object of a name in all but content, with these permission bits if
    /// some were said.
    File {
        content: Content,
        basis: Basis,
        like: Option<Which>,
        mode: Option<u16>,
    },
    /// A new directory.
    Directory { mode: Option<u16> },
    /// A new link.
    Link { text: Vec<u8> },
}

/// What new content was worked out from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    /// The request alone.
    Request,
    /// The object of the file system that it is like.
    Object,
}

/// All names that a set concerns, in the order in which it came to them.
#[derive(Debug, Default)]
pub(super) struct Overlay<'a> {
    pub(super) names: Vec<Name<'a>>,
    by_path: HashMap<(RootIndex, RelPath), Which>,
}

impl<'a> Overlay<'a> {
    pub(super) fn find(&self, root: RootIndex, path: &RelPath) -> Option<Which> {
        if self.names.is_empty() {
            return None;
        }
        self.by_path.get(&(root, path.clone())).copied()
    }

    pub(super) fn add(&mut self, name: Name<'a>) -> Which {
        let n = self.names.len();
        self.by_path.insert((name.at.root, name.at.path.clone()), n);
        self.names.push(name);
        n
    }

    /// The object of a name in the file system.
    pub(super) fn held(&self, n: Which) -> Option<&Rc<Held>> {
        Some(&self.names.get(n)?.was.as_ref()?.held)
    }

    pub(super) fn now(&self, n: Which) -> Option<&Thing> {
        self.names.get(n)?.now.as_ref()
    }

    /// The object that has a name now, if it is one of the file system.
    pub(super) fn held_now(&self, n: Which) -> Option<&Rc<Held>> {
        match self.now(n)? {
            Thing::Same { of, .. } => self.held(*of),
            Thing::File { .. } | Thing::Directory { .. } | Thing::Link { .. } => None,
        }
    }

    /// What kind of thing has a name now.
    pub(super) fn kind(&self, n: Which) -> Option<Kind> {
        match self.now(n)? {
            Thing::Same { of, .. } => Some(self.held(*of)?.observation.kind),
            Thing::File { .. } => Some(Kind::File),
            Thing::Directory { .. } => Some(Kind::Directory),
            Thing::Link { .. } => Some(Kind::Link),
        }
    }

    /// The permission bits said for what has a name now.
    pub(super) fn mode(&self, n: Which) -> Option<u16> {
        match self.now(n)? {
            Thing::Same { mode, .. } | Thing::File { mode, .. } | Thing::Directory { mode } => {
                *mode
            }
            Thing::Link { .. } => None,
        }
    }

    /// Whose mode, owner and attributes new content at a name gets: those of the file that has the
    /// name now, or of the one that had it and was removed by the set.
    pub(super) fn like(&self, n: Which) -> Option<Which> {
        match self.now(n) {
            Some(Thing::Same { of, .. }) => Some(*of),
            Some(Thing::File { like, .. }) => *like,
            Some(Thing::Directory { .. } | Thing::Link { .. }) => None,
            None => {
                let is_file = self.held(n)?.observation.kind == Kind::File;
                (is_file && !self.stands(n)).then_some(n)
            }
        }
    }

    /// Whether the object of a name in the file system has a name now, or its content is in what
    /// has one.
    fn stands(&self, n: Which) -> bool {
        self.names.iter().any(|name| match &name.now {
            Some(Thing::Same { of, .. }) => *of == n,
            Some(Thing::File { like, .. }) => *like == Some(n),
            Some(Thing::Directory { .. } | Thing::Link { .. }) | None => false,
        })
    }

    /// The names below a directory.
    pub(super) fn below(&self, at: &At) -> impl Iterator<Item = &Name<'a>> {
        self.names.iter().filter(|name| {
            name.at.root == at.root
                && name.at.path != at.path
                && name.at.path.below(&at.path).is_some()
        })
    }

    /// What resolution is told of a name; none where it is as the file system says.
    fn left(&self, n: Which) -> Option<Now> {
        let name = self.names.get(n)?;
        match (&name.now, self.held(n).map(|held| held.observation.kind)) {
            (None, None) => None,
            (None, Some(Kind::Directory)) => Some(Now::Left),
            (
                None,
                Some(
                    Kind::File
                    | Kind::Link
                    | Kind::Fifo
                    | Kind::Socket
                    | Kind::Device
                    | Kind::Unknown,
                ),
            ) => Some(Now::Nothing),
            (Some(Thing::Same { of, .. }), _) if *of == n => None,
            (Some(Thing::Same { of, .. }), _) => {
                Some(match self.held(*of).map(|held| held.observation.kind) {
                    Some(Kind::Directory) => Now::Moved,
                    Some(Kind::Link) => Now::Link,
                    Some(Kind::File | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown)
                    | None => Now::Other,
                })
            }
            (Some(Thing::File { .. }), _) => Some(Now::Other),
            (Some(Thing::Directory { .. }), _) => Some(Now::Made),
            (Some(Thing::Link { .. }), _) => Some(Now::Link),
        }
    }
}

impl Planner<'_> {
    /// Leaves something, or nothing, at a name, by a verb; gives what it had.
    pub(super) fn leave(&mut self, n: Which, verb: Verb, now: Option<Thing>) -> Option<Thing> {
        let name = self.overlay.names.get_mut(n)?;
        let had = std::mem::replace(&mut name.now, now);
        let is_own = match &had {
            Some(Thing::Same { of, mode: None }) => *of == n,
            Some(
                Thing::Same { mode: Some(_), .. }
                | Thing::File { .. }
                | Thing::Directory { .. }
                | Thing::Link { .. },
            )
            | None => false,
        };
        // An edit or new bits of what another change of the set put there are part of that one.
        let keeps = match verb {
            Verb::Chmod => !is_own,
            Verb::Edit => !is_own && name.verb != Verb::Chmod,
            Verb::Stat
            | Verb::Read
            | Verb::List
            | Verb::Glob
            | Verb::Search
            | Verb::Write
            | Verb::Mkdir
            | Verb::Move
            | Verb::Delete
            | Verb::DeleteTree
            | Verb::Link => false,
        };
        if !keeps {
            name.verb = verb;
        }
        let (root, path) = (name.at.root, name.at.path.clone());
        let left = self.overlay.left(n);
        self.known.leave(root, &path, left);
        had
    }

    /// What the file system has at a name, with the digest of its content where it has one and it
    /// can be read. Looked at once.
    pub(super) fn was(&mut self, asked: Asked<'_>, n: Which) -> Result<PathState, Refusal> {
        let Some(was) = self
            .overlay
            .names
            .get_mut(n)
            .and_then(|name| name.was.as_mut())
        else {
            return Ok(PathState::Absent);
        };
        match was.state {
            Some(state) => Ok(state),
            None => {
                let looked = looked::look_into(&was.held, self.keeping.room());
                let (state, bytes) = looked.map_err(|errno| asked.kernel(errno))?;
                was.state = Some(state);
                was.text = bytes.map_or(Text::Away, |bytes| self.keeping.keep(bytes));
                Ok(state)
            }
        }
    }

    /// Denials of an object hold under whatever name the set gives it.
    pub(super) fn judge_moved(&self, asked: Asked<'_>, n: Which) -> Result<(), Refusal> {
        let Some(held) = self.overlay.held_now(n) else {
            return Ok(());
        };
        let stamp = held.observation.stamp;
        let object = (stamp.device, stamp.inode);
        match self.session.policy.judge_object(object, asked.verb) {
            Judgement::Clear => Ok(()),
            Judgement::Denied(rule) => Err(asked.refuse(Code::Denied).by(rule.clone())),
            Judgement::Asks(rule) => Err(asked.refuse(Code::NeedsApproval).by(rule.clone())),
            Judgement::Hidden => Err(asked.refuse(Code::NotFound)),
        }
    }
}
