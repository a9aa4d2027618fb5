//! bind: an open object becomes the source or search root of exactly one verb, judged by what
//! the kernel says of the descriptor itself.

use crate::policy::Judgement;
use crate::resolve::{Pinned, PinnedParts};
use crate::session::Session;
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::path::{RelPath, Want};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Binding, Kind, Observation, Role, RootIndex};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// Holding one means: this verb may run on this open object, once; its type is one the verb
/// takes, and no denial of the object itself covers it.
#[derive(Debug)]
pub(crate) struct Bound {
    object: OwnedFd,
    root: RootIndex,
    path: RelPath,
    role: Role,
    observation: Observation,
}

impl Bound {
    /// What was seen of the object.
    pub(crate) const fn observation(&self) -> &Observation {
        &self.observation
    }

    /// The object and its canonical path, for execute.
    pub(crate) fn object(&self) -> BorrowedFd<'_> {
        self.object.as_fd()
    }

    /// The root it is in.
    pub(crate) const fn root(&self) -> RootIndex {
        self.root
    }

    /// Its canonical path below the root.
    pub(crate) const fn path(&self) -> &RelPath {
        &self.path
    }

    /// How a reply names it.
    pub(crate) fn binding(&self) -> Binding {
        let link = match self.observation.kind {
            Kind::Link => crate::sys::open::link_text(self.object.as_fd())
                .ok()
                .and_then(|text| Bytes::new(text).ok()),
            Kind::File
            | Kind::Directory
            | Kind::Fifo
            | Kind::Socket
            | Kind::Device
            | Kind::Unknown => None,
        };
        Binding {
            role: self.role,
            root: self.root,
            path: self.path.clone(),
            observation: self.observation,
            link,
        }
    }
}

/// Binds one pinned object; `written` is the selector, for messages.
pub(crate) fn bind(session: &Session, pinned: Pinned, written: &[u8]) -> Result<Bound, Refusal> {
    let PinnedParts {
        verb,
        root,
        path,
        object,
        observation,
        want,
    } = pinned.into_parts();
    let refuse = |code: Code| Refusal::new(code).of(verb).on(written);
    let stamp = observation.stamp;
    if session
        .sole_device(root)
        .is_some_and(|device| device != stamp.device)
    {
        return Err(refuse(Code::MountCrossing));
    }
    match session
        .policy
        .judge_object((stamp.device, stamp.inode), verb)
    {
        Judgement::Clear => {}
        Judgement::Denied(rule) => return Err(refuse(Code::Denied).by(rule.clone())),
        Judgement::Asks(rule) => return Err(refuse(Code::NeedsApproval).by(rule.clone())),
        Judgement::Hidden => return Err(refuse(Code::NotFound)),
    }
    if want == Want::Directory && observation.kind != Kind::Directory {
        return Err(refuse(Code::NotADirectory));
    }
    let role = match (verb, observation.kind) {
        (Verb::Stat, _) | (Verb::Read, Kind::File) => Role::Source,
        (Verb::Read, Kind::Directory) => return Err(refuse(Code::IsADirectory)),
        (Verb::List | Verb::Glob | Verb::Search, Kind::Directory) | (Verb::Search, Kind::File) => {
            Role::SearchRoot
        }
        (Verb::List | Verb::Glob, _) => return Err(refuse(Code::NotADirectory)),
        // Reached only to say why: what changes is bound by `plan`.
        (
            Verb::Write
            | Verb::Edit
            | Verb::Mkdir
            | Verb::Move
            | Verb::Delete
            | Verb::DeleteTree
            | Verb::Chmod
            | Verb::Link,
            _,
        ) => Role::Target,
        (
            Verb::Read | Verb::Search,
            Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown,
        ) => return Err(refuse(Code::NotRegular)),
    };
    Ok(Bound {
        object,
        root,
        path,
        role,
        observation,
    })
}
