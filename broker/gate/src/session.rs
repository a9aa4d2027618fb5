//! What one session is, from the moment it is set up to its end: nothing here changes but what it
//! remembers.

use crate::cage::Subtree;
use crate::ignored::Ignores;
use crate::memory::{Keeping, Memory};
use crate::meter::Meter;
use crate::policy::{Asking, Judgement, Policy};
use crate::pool::Pool;
use crate::standing::Standing;
use crate::sys::open::{self, Purpose};
use portcullis_protocol::authority::{Authority, Budgets, FileSystem, Grant, Level, Operation};
use portcullis_protocol::ledger::{Ancestor, Setup};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{
    Guarantee, Incarnation, Limits, Request, SessionId, input_digest,
};
use portcullis_protocol::verb::VerbSet;
use portcullis_protocol::view::{Digest, Kind, RootIndex};
use rustix::io::Errno;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// One session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) incarnation: Incarnation,
    pub(crate) limits: Limits,
    pub(crate) authority: Arc<Authority>,
    pub(crate) policy: Policy,
    pub(crate) standing: Standing,
    inputs: Inputs,
    /// The sessions it was made within, the nearest first.
    pub(crate) lineage: Vec<Ancestor>,
    roots: Vec<OwnedFd>,
    pub(crate) opening: Opening,
    /// What it was shown, and what it wrote.
    pub(crate) memory: Memory,
    pub(crate) meter: Meter,
    /// Rules of ignore files, as far as walks have met them.
    pub(crate) ignores: Ignores,
    /// Threads that help its walks.
    pub(crate) pool: Pool,
}

/// What the cage leaves open for a grant. To change a file is to change the directory it is in, so that
/// of one on a file alone it is that directory; which of its names is meant is judged before.
fn subtree(root: BorrowedFd<'_>, grant: &Grant, object: OwnedFd) -> Result<Subtree, SetupError> {
    let verbs = grant.verbs;
    let is_directory = open::observation(&object)
        .map_err(SetupError::Subtree)?
        .kind
        == Kind::Directory;
    let directory = if is_directory || verbs.meet(VerbSet::WRITING).is_empty() {
        object
    } else {
        let mut parent = grant.prefix.clone();
        parent.pop();
        open::below(root, &parent, Purpose::Look).map_err(SetupError::Subtree)?
    };
    Ok(Subtree { directory, verbs })
}

/// Whether what a session may do depends on the whole of an operation, so that the digest of each
/// is worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inputs {
    Alike,
    Matter,
}

/// How content is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// At once: this user may not make device nodes, so there are none of its own to open.
    Direct,
    /// Looked at first, then opened and compared: for root, whom every device would answer.
    LookFirst,
}

/// Why a session could not be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetupError {
    /// Descriptors do not fit the roots of the authority.
    #[error("{descriptors} descriptors for {roots} roots")]
    Descriptors { descriptors: usize, roots: usize },
    /// A granted subtree cannot be opened, and not because it is missing.
    #[error("a granted directory: {0}")]
    Subtree(Errno),
    /// A denial cannot be compiled.
    #[error(transparent)]
    Pattern(#[from] crate::policy::PatternError),
}

impl Session {
    /// Takes the authority and one descriptor for each of its roots, in order.
    pub(crate) fn new(setup: Setup, roots: Vec<OwnedFd>) -> Result<Self, SetupError> {
        let authority = Arc::new(setup.authority);
        let wanted = authority.parts().roots.len();
        if roots.len() != wanted {
            return Err(SetupError::Descriptors {
                descriptors: roots.len(),
                roots: wanted,
            });
        }
        let opening = if rustix::process::geteuid().is_root() {
            Opening::LookFirst
        } else {
            Opening::Direct
        };
        let standing = Standing::of(&setup.duty);
        let keeping = if changes(&authority) {
            Keeping::Shown
        } else {
            Keeping::Nothing
        };
        Ok(Self {
            ignores: Ignores::new(setup.ignore.as_slice()),
            pool: Pool::new(),
            memory: Memory::new(standing.keeping(keeping)),
            meter: Meter::new(match standing.asking() {
                Asking::Refuse => authority.parts().budgets,
                // Counted where it was asked for.
                Asking::Granted => Budgets::UNLIMITED,
            }),
            policy: Policy::compile(&authority, standing.asking())?,
            standing,
            inputs: if authority.tells_inputs_apart() {
                Inputs::Matter
            } else {
                Inputs::Alike
            },
            lineage: setup.lineage.into_vec(),
            id: setup.session,
            incarnation: setup.incarnation,
            limits: setup.limits,
            authority,
            roots,
            opening,
        })
    }

    /// The descriptor of a root.
    pub(crate) fn root(&self, index: RootIndex) -> Option<BorrowedFd<'_>> {
        self.roots
            .get(usize::from(index.0))
            .map(|root| root.as_fd())
    }

    /// How sure a read lease makes it that nobody writes a file of this root.
    pub(crate) fn surest_lease(&self, index: RootIndex) -> Guarantee {
        match self.authority.root(index).map(|root| root.file_system) {
            // A mapping for writing that outlived its descriptor is not seen there.
            Some(FileSystem::Overlay) | None => Guarantee::Detected,
            Some(
                FileSystem::Btrfs
                | FileSystem::Ext
                | FileSystem::Xfs
                | FileSystem::Tmpfs
                | FileSystem::F2fs,
            ) => Guarantee::Exact,
        }
    }

    /// The device of a root when its file system may have others inside one mount (btrfs
    /// subvolumes), which `RESOLVE_NO_XDEV` does not see.
    pub(crate) fn sole_device(&self, index: RootIndex) -> Option<u64> {
        let root = self.authority.root(index)?;
        match root.file_system {
            FileSystem::Btrfs => Some(root.identity.device),
            FileSystem::Ext
            | FileSystem::Xfs
            | FileSystem::Tmpfs
            | FileSystem::Overlay
            | FileSystem::F2fs => None,
        }
    }

    /// One subtree for each grant, and for each ask where those count as granted, opened now, before
    /// the cage is closed. A prefix that does not exist has none: what appears there later stays out
    /// of reach until a new session.
    pub(crate) fn subtrees(&self) -> Result<Vec<Subtree>, SetupError> {
        let mut subtrees = Vec::new();
        let parts = self.authority.parts();
        let asks = match self.standing.asking() {
            Asking::Refuse => &[][..],
            Asking::Granted => &parts.asks,
        };
        for grant in parts.grants.iter().chain(asks) {
            let Some(root) = self.root(grant.root) else {
                continue;
            };
            match open::below(root, &grant.prefix, Purpose::Look) {
                Ok(object) => subtrees.push(subtree(root, grant, object)?),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::ACCESS)
                    if !grant.prefix.is_root() => {}
                Err(errno) => return Err(SetupError::Subtree(errno)),
            }
        }
        Ok(subtrees)
    }

    /// How far the session may do an operation at `path`. Denials, which may lower it, are judged by
    /// its policy. No lock is taken and nothing allocated.
    pub(crate) fn level(&self, root: RootIndex, path: &RelPath, operation: Operation) -> Level {
        match (
            self.authority.level(root, path, operation),
            self.standing.asking(),
        ) {
            (Level::Ask, Asking::Granted) => Level::Granted,
            (level, Asking::Granted | Asking::Refuse) => level,
        }
    }

    /// The digest of a whole operation, where anything depends on it and it has one.
    pub(crate) fn input(&self, request: &Request, content: &[u8]) -> Option<Digest> {
        match self.inputs {
            Inputs::Alike => None,
            Inputs::Matter => input_digest(request, content),
        }
    }

    /// Whether the session may do an operation at `path` without asking: granted, and no denial by
    /// name covers it.
    pub(crate) fn permits(&self, root: RootIndex, path: &RelPath, operation: Operation) -> bool {
        self.level(root, path, operation) == Level::Granted
            && self.policy.judge(root, path, operation.verb) == Judgement::Clear
    }

    /// Whether any grant or ask lets it change something.
    pub(crate) fn may_change(&self) -> bool {
        changes(&self.authority)
    }

    /// Whether `path` lies on the way from a root to a subtree of a grant or an ask, so that a resolution may
    /// pass through it without anything of it being shown.
    pub(crate) fn is_on_the_way(&self, root: RootIndex, path: &RelPath) -> bool {
        self.allowed()
            .any(|grant| grant.root == root && grant.prefix.below(path).is_some())
    }

    /// All that is granted, and all that is to be asked for.
    pub(crate) fn allowed(&self) -> impl Iterator<Item = &Grant> {
        allowed(&self.authority)
    }
}

fn allowed(authority: &Authority) -> impl Iterator<Item = &Grant> {
    let parts = authority.parts();
    parts.grants.iter().chain(&parts.asks)
}

/// Whether any grant or ask is of a verb that changes something.
fn changes(authority: &Authority) -> bool {
    allowed(authority).any(|grant| !grant.verbs.meet(VerbSet::WRITING).is_empty())
}

#[cfg(test)]
mod tests;
