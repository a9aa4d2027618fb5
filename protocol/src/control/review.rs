//! Deciding about proposals: a capability of its own, that no session has.

use super::RunId;
use crate::approval::{Approver, Lost, ProposalId, ProposalState};
use crate::bounded::{Bytes, Few, Text};
use crate::limits::{PROPOSALS_PAGE_MAX, REASON_BYTES_MAX, ROOTS_MAX, SECRET_BYTES_MAX};
use crate::path::{Label, RelPath};
use crate::refusal::Rule;
use crate::session::{SessionId, TOUCHED_MAX, Touched};
use crate::verb::Verb;
use crate::view::Digest;
use serde::{Deserialize, Serialize};

/// Who may decide about what the sessions of an order ask for. What the broker itself demands (a
/// passphrase, another user) is demanded beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Deciding {
    /// The runtime on this connection, and every operator of the same user.
    Anyone,
    /// Only a connection that the runtime opened for it with `OpenDecider`.
    Decider,
}

/// Whose proposals are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Whose {
    /// Of the sessions of this connection; of a decider's, those of the connection that opened it.
    Own,
    /// Of every session. For operators: a connection that has made no session.
    All,
}

/// Asks for proposals, the oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposals {
    /// Whose.
    pub whose: Whose,
    /// Only those after this one; 0 begins with the first.
    pub after: u64,
}

/// Proposals that wait for a decision or for their use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalsPage {
    /// As many as fit. None means that there are no more.
    pub proposals: Few<ProposalSummary, PROPOSALS_PAGE_MAX>,
}

/// A proposal in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalSummary {
    /// Its number.
    pub id: ProposalId,
    /// The session that asks.
    pub session: SessionId,
    /// What has become of it.
    pub state: ProposalState,
    /// What is asked for; of a change set the first.
    pub verb: Verb,
    /// The first name it touches, as the host has it: the components of an absolute path.
    pub place: RelPath,
    /// Names it touches in all.
    pub names: u32,
    /// When it was made, in milliseconds since 1970.
    pub at_ms: u64,
    /// When it is void, in milliseconds since 1970.
    pub expires_ms: u64,
}

/// Asks for one proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShowProposal {
    /// Which.
    pub id: ProposalId,
}

/// A proposal, whole. Behind it comes the difference, as a unified diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalRecord {
    /// Its line.
    pub summary: ProposalSummary,
    /// The run of its session.
    pub run: RunId,
    /// The runtime's own name for the request that the session serves.
    pub request: Text<REASON_BYTES_MAX>,
    /// The end user.
    pub owner: Text<REASON_BYTES_MAX>,
    /// The runtime's own name for the conversation.
    pub conversation: Text<REASON_BYTES_MAX>,
    /// The roots that its names are below.
    pub roots: Few<RootPlace, ROOTS_MAX>,
    /// Every name it touches, with what is there and what would be.
    pub touched: Few<Touched, TOUCHED_MAX>,
    /// What would be gone.
    pub lost: Lost,
    /// The rule that makes an approval needed; none where an ask allows what nothing grants.
    pub rule: Option<Rule>,
    /// The digest of the whole operation.
    pub input: Digest,
    /// Bytes of the difference that were not kept.
    pub diff_cut: u64,
    /// Who decided, once somebody did.
    pub approver: Option<Approver>,
}

/// Where a root is on the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootPlace {
    /// Its name in the session.
    pub label: Label,
    /// The components of its absolute path when it was sealed.
    pub location: RelPath,
}

/// Decides about a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decide {
    /// Which.
    pub id: ProposalId,
    /// The digest of what was shown, as [`ProposalRecord::input`] has it: nobody decides about
    /// something else than they saw.
    pub input: Digest,
    /// How.
    pub decision: Decision,
    /// What shows that the peer may, where being on this connection is not enough.
    pub proof: Proof,
}

/// A decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Decision {
    /// It may happen, once, exactly as bound.
    Approve,
    /// It may not.
    Refuse,
}

/// What shows that a peer may decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proof {
    /// The connection itself.
    Connection,
    /// The passphrase, typed by a person.
    Passphrase(Bytes<SECRET_BYTES_MAX>),
}

/// It is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// What has become of it.
    pub state: ProposalState,
    /// As whom the peer was taken.
    pub approver: Approver,
}

/// Asks for a connection that may look at and decide about the proposals of this connection's
/// sessions, and may do nothing else. It is over when this one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenDecider {}

/// A deciding connection; its socket comes with this frame. A hello is said on it as on any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeciderOpened {}
