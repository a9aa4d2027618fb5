//! One step of a plan: what will be done to which names.

use super::{Content, SharedDirectory};
use crate::resolve::Held;
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::ledger::{self, Temporary};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{Deletion, Touched};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Kind, ObjectId, RootIndex};

/// The directory a name is in.
#[derive(Debug, Clone)]
pub(crate) enum Within {
    /// This one.
    Held(SharedDirectory),
    /// One that the same plan makes, somewhere below this one.
    Made(SharedDirectory),
}

impl Within {
    /// The nearest directory that exists when the plan is made.
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
}

/// What is done.
#[derive(Debug)]
pub(crate) enum Act {
    /// A directory is made.
    Mkdir { at: At },
    /// A directory that was to be made is there already.
    Keep { at: At, held: Held },
    /// A file is made.
    Create {
        at: At,
        content: Content,
        temporary: Temporary,
    },
    /// A file's content is replaced by exchanging the file, for a write or an edit.
    Replace {
        verb: Verb,
        at: At,
        held: Held,
        content: Content,
        temporary: Temporary,
    },
    /// An object is removed.
    Delete {
        at: At,
        held: Held,
        temporary: Temporary,
        deletion: Deletion,
    },
    /// An object gets another name.
    Move {
        from: At,
        held: Held,
        to: At,
        onto: Option<Held>,
        temporary: Temporary,
    },
    /// Permission bits are set.
    Chmod { at: At, held: Held, mode: u16 },
    /// A symbolic link is made.
    Link {
        at: At,
        text: Vec<u8>,
        temporary: Temporary,
    },
}

impl Act {
    /// The verb it needs.
    pub(crate) fn verb(&self) -> Verb {
        match self {
            Self::Mkdir { .. } | Self::Keep { .. } => Verb::Mkdir,
            Self::Create { .. } => Verb::Write,
            Self::Replace { verb, .. } => *verb,
            Self::Delete { deletion, .. } => match deletion {
                Deletion::File | Deletion::Directory => Verb::Delete,
                Deletion::Tree => Verb::DeleteTree,
            },
            Self::Move { .. } => Verb::Move,
            Self::Chmod { .. } => Verb::Chmod,
            Self::Link { .. } => Verb::Link,
        }
    }

    /// Every name it touches; of a move, where it was comes first.
    pub(crate) fn places(&self) -> impl Iterator<Item = &At> {
        let (first, second) = match self {
            Self::Mkdir { at }
            | Self::Keep { at, .. }
            | Self::Create { at, .. }
            | Self::Replace { at, .. }
            | Self::Delete { at, .. }
            | Self::Chmod { at, .. }
            | Self::Link { at, .. } => (at, None),
            Self::Move { from, to, .. } => (from, Some(to)),
        };
        std::iter::once(first).chain(second)
    }

    /// Every object it touches that exists, with its name.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (ObjectId, &At)> {
        let (first, second) = match self {
            Self::Mkdir { .. } | Self::Create { .. } | Self::Link { .. } | Self::Keep { .. } => {
                (None, None)
            }
            Self::Replace { at, held, .. }
            | Self::Delete { at, held, .. }
            | Self::Chmod { at, held, .. } => (Some((held, at)), None),
            Self::Move {
                from,
                held,
                to,
                onto,
                ..
            } => (Some((held, from)), onto.as_ref().map(|onto| (onto, to))),
        };
        first
            .into_iter()
            .chain(second)
            .map(|(held, at)| (held.observation.stamp.object(), at))
    }

    /// What is expected at each of its names when it is done, in the order of [`Self::places`].
    pub(crate) fn expected(&self) -> impl Iterator<Item = Option<&Held>> {
        let (first, second) = match self {
            Self::Mkdir { .. } | Self::Create { .. } | Self::Link { .. } => (None, None),
            Self::Keep { held, .. }
            | Self::Replace { held, .. }
            | Self::Delete { held, .. }
            | Self::Chmod { held, .. } => (Some(held), None),
            Self::Move { held, onto, .. } => (Some(held), Some(onto.as_ref())),
        };
        std::iter::once(first).chain(second)
    }

    /// Whether a directory that exists goes from its name.
    pub(crate) fn takes_a_directory(&self) -> bool {
        match self {
            Self::Move { held, .. } => held.observation.kind == Kind::Directory,
            Self::Delete { deletion, .. } => match deletion {
                Deletion::Tree | Deletion::Directory => true,
                Deletion::File => false,
            },
            Self::Mkdir { .. }
            | Self::Keep { .. }
            | Self::Create { .. }
            | Self::Replace { .. }
            | Self::Chmod { .. }
            | Self::Link { .. } => false,
        }
    }

    const fn temporary(&self) -> Option<Temporary> {
        match self {
            Self::Create { temporary, .. }
            | Self::Replace { temporary, .. }
            | Self::Delete { temporary, .. }
            | Self::Move { temporary, .. }
            | Self::Link { temporary, .. } => Some(*temporary),
            Self::Mkdir { .. } | Self::Keep { .. } | Self::Chmod { .. } => None,
        }
    }
}

/// An act, with what it means for each name.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) act: Act,
    /// One for each of [`Act::places`], in order.
    pub(crate) touched: Vec<Touched>,
}

impl Step {
    /// What the ledger is told of it.
    pub(super) fn announced(&self) -> impl Iterator<Item = ledger::Step> {
        let deletion = match &self.act {
            Act::Delete { deletion, .. } => Some(*deletion),
            Act::Mkdir { .. }
            | Act::Keep { .. }
            | Act::Create { .. }
            | Act::Replace { .. }
            | Act::Move { .. }
            | Act::Chmod { .. }
            | Act::Link { .. } => None,
        };
        // Of a move only the old place has a temporary.
        let temporaries = std::iter::once(self.act.temporary()).chain(std::iter::repeat(None));
        self.act.places().zip(&self.touched).zip(temporaries).map(
            move |((at, touched), temporary)| ledger::Step {
                parent: at.within.nearest().id,
                name: Bytes::cut(at.lock_name()),
                touched: touched.clone(),
                temporary,
                deletion,
            },
        )
    }
}

impl At {
    /// The name in the nearest directory that exists, which is what is locked.
    fn lock_name(&self) -> &[u8] {
        let above = self.within.nearest().path.names().count();
        self.path.names().nth(above).unwrap_or_default()
    }
}
