//! One use of what is only to be asked for: the proposal, what it is bound to, who decided, and
//! what became of it.

use crate::ledger::Intent;
use crate::refusal::Rule;
use crate::session::{Change, Request, Source};
use crate::verb::Verb;
use crate::view::Digest;
use serde::{Deserialize, Serialize};

/// A proposal, unique in one state of a broker, from 1; never reused. Knowing one is no right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProposalId(pub u64);

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Approver {
    /// Some process of the broker's own user: nothing tells a person from a program there.
    SameUid,
    /// The runtime, on the connection that made the session.
    Runtime,
    /// Whoever was given the connection that the runtime opened for deciding.
    Decider,
    /// A process of another user, who may decide here.
    Uid(u32),
    /// Whoever knows the passphrase.
    Passphrase,
}

impl Approver {
    /// Its name, as receipts and commands spell it; of another user without the number.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SameUid => "same-uid",
            Self::Runtime => "runtime",
            Self::Decider => "decider",
            Self::Uid(_) => "uid",
            Self::Passphrase => "passphrase",
        }
    }
}

/// By which approval an effect was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Approval {
    /// What was decided about.
    pub proposal: ProposalId,
    /// Who did.
    pub approver: Approver,
}

/// What became of a proposal. Only an approved one can be spent, once; none comes back from void,
/// refused or spent but by an effect that provably changed nothing, which gives it back as approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ProposalState {
    /// It waits for a decision.
    Pending,
    /// It waits for its use.
    Approved,
    /// It was refused.
    Refused,
    /// It was used.
    Spent,
    /// Its session, its time, its broker or what it was about is gone.
    Void,
}

impl ProposalState {
    /// Every state.
    pub const ALL: [Self; 5] = [
        Self::Pending,
        Self::Approved,
        Self::Refused,
        Self::Spent,
        Self::Void,
    ];

    /// Its name, as commands spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Refused => "refused",
            Self::Spent => "spent",
            Self::Void => "void",
        }
    }
}

/// What a proposal is bound to: the objects as they were found, the exact result, what would be
/// lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// What is asked for; the first of a change set.
    pub verb: Verb,
    /// Every name with its directory, what is there, and what would be there. Of what only shows,
    /// both are the same, and absence is bound too.
    pub intent: Intent,
    /// What would be gone.
    pub lost: Lost,
    /// The rule that makes an approval needed; none where an ask allows what nothing grants.
    pub rule: Option<Rule>,
    /// Bytes of the difference that did not fit behind this.
    pub diff_cut: u64,
}

/// What an effect would take away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Lost {
    /// Files and links removed or replaced, those below removed directories too.
    pub files: u64,
    /// Directories removed.
    pub directories: u64,
    /// Bytes of the content of those files.
    pub bytes: u64,
}

/// The digest of a whole operation: blake3 of the number of its message, its encoding and the
/// content behind it. None where the content is not in it, as with uploads, and for what is no
/// operation on files.
pub fn input_digest(request: &Request, content: &[u8]) -> Option<Digest> {
    use crate::frame::Message as _;
    let inside = |change: &Change| match change {
        Change::Write(write) => matches!(write.source, Source::Inline(_)),
        Change::Edit(_)
        | Change::Mkdir(_)
        | Change::Move(_)
        | Change::Delete(_)
        | Change::Chmod(_)
        | Change::Link(_) => true,
    };
    match request {
        Request::Change(set) if set.changes.as_slice().iter().all(inside) => {}
        Request::Stat(_)
        | Request::Read(_)
        | Request::List(_)
        | Request::Glob(_)
        | Request::Search(_) => {}
        Request::Change(_)
        | Request::Hello(_)
        | Request::Whoami(_)
        | Request::Why(_)
        | Request::Cancel(_)
        | Request::Ping(_)
        | Request::Upload(_)
        | Request::DropUpload(_)
        | Request::Compose(_)
        | Request::ChangeComposed(_)
        | Request::Delegate(_)
        | Request::Acknowledge(_)
        | Request::EndDelegated(_) => return None,
    }
    let body = request.encode_body(Vec::new()).ok()?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(&request.code().to_le_bytes());
    hasher.update(&u64::try_from(body.len()).ok()?.to_le_bytes());
    hasher.update(&body).update(content);
    Some(Digest(*hasher.finalize().as_bytes()))
}
