//! What a plan consists of: the names that change, and the acts that change them.

use super::{Content, SharedDirectory};
use crate::memory::Origin;
use crate::resolve::Held;
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::ledger::{self, Temporary};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{Deletion, Touched};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Kind, PathState, RootIndex};
use std::rc::Rc;

/// The directory a name is in.
#[derive(Debug, Clone)]
pub(crate) enum Within {
    /// This one.
    Held(SharedDirectory),
    /// One that the same plan makes, somewhere below this one.
    Made(SharedDirectory),
}

impl Within {
    /// The nearest directory that exists when the plan is made and is not replaced by it.
    pub(crate) fn nearest(&self) -> &SharedDirectory {
        match self {
            Self::Held(directory) | Self::Made(directory) => directory,
        }
    }
}

/// A name: its root, its canonical path, and the directory it is in.
#[derive(Debug, Clone)]
pub(crate) struct At {
    pub(crate) root: RootIndex,
    pub(crate) path: RelPath,
    pub(crate) within: Within,
}

impl At {
    /// The name in its directory.
    pub(crate) fn name(&self) -> &[u8] {
        self.path.last().unwrap_or_default()
    }

    /// The name in the nearest directory that exists, which is what is locked.
    fn lock_name(&self) -> &[u8] {
        let above = self.within.nearest().path.names().count();
        self.path.names().nth(above).unwrap_or_default()
    }
}

/// What becomes of the object that a name has before the plan is made.
#[derive(Debug, Clone)]
pub(crate) enum Fate {
    /// It keeps the name, or nothing has it.
    Stays,
    /// It gets another name.
    Moves(RelPath),
    /// It is removed. Its content may not have been written by anybody since it was looked at, as
    /// far as can be known: something new was worked out from it.
    Replaced(Deletion),
    /// It is removed.
    Deleted(Deletion),
}

impl Fate {
    /// How it is removed, if it is.
    pub(crate) const fn removal(&self) -> Option<Deletion> {
        match self {
            Self::Replaced(deletion) | Self::Deleted(deletion) => Some(*deletion),
            Self::Stays | Self::Moves(_) => None,
        }
    }
}

/// One name that a plan concerns, with all that is known of it before anything is done.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) at: At,
    /// The object that has the name; it must be this one still, or still none.
    pub(crate) held: Option<Rc<Held>>,
    pub(crate) fate: Fate,
    /// What is there before and after the whole plan.
    pub(crate) touched: Touched,
    /// What it is made from, as far as a session's memory of it goes.
    pub(crate) origin: Origin,
}

impl Bound {
    /// Whether a directory goes with everything below it.
    pub(super) const fn removes_a_tree(&self) -> bool {
        matches!(self.fate.removal(), Some(Deletion::Tree))
    }

    /// Whether nobody else may work in the tree: a directory that exists goes from its name; or the
    /// name came to be what it is by a verb that can do that, which is all that the ledger is told.
    pub(super) fn needs_the_tree(&self) -> bool {
        let is_directory = |state: &PathState| match state {
            PathState::Present(present) => present.kind == Kind::Directory,
            PathState::Absent | PathState::Unknown => false,
        };
        let before = is_directory(&self.touched.before);
        match (self.touched.verb, &self.fate) {
            (Verb::DeleteTree, _) => true,
            (Verb::Move, _) if before || is_directory(&self.touched.after) => true,
            (_, Fate::Moves(_) | Fate::Replaced(_) | Fate::Deleted(_)) => before,
            (_, Fate::Stays) => false,
        }
    }

    /// What the ledger is told of it.
    pub(super) fn announced(&self, temporary: Option<Temporary>) -> ledger::Step {
        ledger::Step {
            parent: self.at.within.nearest().id,
            name: Bytes::cut(self.at.lock_name()),
            touched: self.touched.clone(),
            temporary,
            deletion: self.fate.removal(),
        }
    }
}

/// Which of the names of a plan, by number.
pub(crate) type Which = usize;

/// Something that did not exist before.
#[derive(Debug)]
pub(crate) enum New {
    File(Content),
    /// A directory, with these permission bits instead of its first ones.
    Directory(Option<u16>),
    Link(Vec<u8>),
}

/// What is done, in order. Objects are called by the name they have before the plan is made. Where
/// something comes to a name or goes from it by way of a temporary, that is beside the name.
#[derive(Debug)]
pub(crate) enum Act {
    /// Something new gets a name that is free.
    Make {
        at: Which,
        new: New,
        temporary: Temporary,
    },
    /// Something new takes the place of the object of `gone`, which is at `at`.
    Replace {
        at: Which,
        gone: Which,
        new: New,
        temporary: Temporary,
    },
    /// The object of `gone`, which is at `at`, is removed.
    Claim {
        at: Which,
        gone: Which,
        temporary: Temporary,
    },
    /// An object gets another name, which is free.
    Rename { from: Which, to: Which },
    /// Two objects exchange their names.
    Swap { one: Stands, other: Stands },
    /// Permission bits are set, of an object that has its first name.
    Chmod { at: Which, mode: u16 },
}

/// An object at a name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stands {
    pub(crate) at: Which,
    /// The name it has before the plan is made.
    pub(crate) object: Which,
}

impl Act {
    /// The name to speak of when it cannot be done.
    pub(crate) const fn about(&self) -> Which {
        match self {
            Self::Make { at, .. } | Self::Chmod { at, .. } => *at,
            Self::Replace { gone, .. } | Self::Claim { gone, .. } => *gone,
            Self::Rename { from, .. } => *from,
            Self::Swap { one, .. } => one.object,
        }
    }

    /// The temporary it uses, and beside which name.
    pub(crate) const fn temporary(&self) -> Option<(Which, Temporary)> {
        match self {
            Self::Make {
                new: New::Directory(_),
                ..
            }
            | Self::Rename { .. }
            | Self::Swap { .. }
            | Self::Chmod { .. } => None,
            Self::Make { at, temporary, .. }
            | Self::Replace { at, temporary, .. }
            | Self::Claim { at, temporary, .. } => Some((*at, *temporary)),
        }
    }
}
