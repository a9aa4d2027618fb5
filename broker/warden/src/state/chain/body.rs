//! What a session's chain begins with, and what a receipt says, in each version of the encoding.

use super::{StateError, decode, encode, link_after, older};
use portcullis_protocol::approval::Approval;
use portcullis_protocol::authority::AuthorityId;
use portcullis_protocol::bounded::Few;
use portcullis_protocol::control::{RunId, Witness};
use portcullis_protocol::ledger::Finish;
use portcullis_protocol::limits::ROOTS_MAX;
use portcullis_protocol::path::Label;
use portcullis_protocol::session::{Incarnation, SessionId};
use portcullis_protocol::view::Digest;
use serde::{Deserialize, Serialize};

/// How the chain of a session is encoded. One of version 1 is read and checked for ever, and goes
/// on only to settle what was begun in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::state) enum Version {
    /// Of receipts that say neither authority, nor cage, nor approval.
    First,
    Second,
}

impl Version {
    pub(in crate::state) const fn number(self) -> i64 {
        match self {
            Self::First => 1,
            Self::Second => 2,
        }
    }

    pub(in crate::state) fn numbered(number: i64) -> Result<Self, StateError> {
        match number {
            1 => Ok(Self::First),
            2 => Ok(Self::Second),
            _ => Err(StateError::Damaged(
                "a session has no version of a chain that is known".to_owned(),
            )),
        }
    }

    /// First of what a session's chain hashes; the last word is the version.
    const fn mark(self) -> &'static [u8] {
        match self {
            Self::First => b"portcullis session chain 1",
            Self::Second => b"portcullis session chain 2",
        }
    }
}

/// What a session's chain begins with: who it was. What a chain of version 1 does not begin with is
/// empty there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::state) struct Identity {
    pub(in crate::state) version: Version,
    pub(in crate::state) incarnation: Incarnation,
    pub(in crate::state) session: SessionId,
    pub(in crate::state) run: RunId,
    pub(in crate::state) authority: AuthorityId,
    /// Not in version 1.
    pub(in crate::state) parent: Option<AuthorityId>,
    pub(in crate::state) request: String,
    pub(in crate::state) owner: String,
    /// Not in version 1.
    pub(in crate::state) conversation: String,
    pub(in crate::state) roots: Few<Label, ROOTS_MAX>,
    /// Of the cage its gate reported. Not in version 1.
    pub(in crate::state) cage: Digest,
    pub(in crate::state) began_ms: u64,
}

impl Identity {
    /// The link before the first receipt of the session.
    pub(in crate::state) fn first(&self) -> Result<Digest, StateError> {
        let whose = (self.incarnation, self.session, self.run, self.authority);
        let body = match self.version {
            Version::First => encode(&(
                whose,
                &self.request,
                &self.owner,
                &self.roots,
                self.began_ms,
            ))?,
            Version::Second => encode(&(
                whose,
                self.parent,
                &self.request,
                &self.owner,
                &self.conversation,
                &self.roots,
                self.cage,
                self.began_ms,
            ))?,
        };
        Ok(link_after(self.version.mark(), &body))
    }
}

/// A receipt as it is hashed: everything it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::state) struct Body {
    pub(in crate::state) number: u64,
    pub(in crate::state) incarnation: Incarnation,
    pub(in crate::state) session: SessionId,
    pub(in crate::state) run: RunId,
    pub(in crate::state) authority: AuthorityId,
    /// The link before it. It is hashed with the body anyway; said here, a row that is whole and in
    /// the wrong place can be told from one that was changed.
    pub(in crate::state) previous: Digest,
    /// Of the cage of the gate that made the effect.
    pub(in crate::state) cage: Digest,
    pub(in crate::state) approval: Option<Approval>,
    pub(in crate::state) began_ms: u64,
    pub(in crate::state) at_ms: u64,
    pub(in crate::state) witness: Witness,
    /// blake3 of the request, as its intent had it.
    pub(in crate::state) request: Digest,
    pub(in crate::state) end: Finish,
    /// Bytes and blake3 of the difference that is kept.
    pub(in crate::state) diff: (u32, Digest),
}

/// What a receipt of version 1 does not say of itself, and its session says.
#[derive(Debug, Clone, Copy)]
pub(in crate::state) struct Unsaid {
    pub(in crate::state) authority: AuthorityId,
    pub(in crate::state) previous: Digest,
}

impl Body {
    /// Reads a receipt. `unsaid` is asked only where the version needs it; its cage is then zero,
    /// and its approval none.
    pub(in crate::state) fn read(
        version: Version,
        bytes: &[u8],
        unsaid: impl FnOnce() -> Result<Unsaid, StateError>,
    ) -> Result<Self, StateError> {
        match version {
            Version::First => Ok(decode::<older::Body>(bytes)?.with(unsaid()?)),
            Version::Second => decode(bytes),
        }
    }

    /// What is hashed. What a version does not say is left out.
    pub(in crate::state) fn write(&self, version: Version) -> Result<Vec<u8>, StateError> {
        match version {
            Version::First => encode(&older::Body::of(self)),
            Version::Second => encode(self),
        }
    }
}
