//! What is on record: runs, their sessions, receipts, differences, refusals.

use crate::approval::Approval;
use crate::authority::AuthorityId;
use crate::bounded::{Few, Text};
use crate::ledger::{Finish, ReceiptId, RefusalNote};
use crate::limits::{
    LOG_PAGE_MAX, REASON_BYTES_MAX, REFUSALS_PAGE_MAX, ROOTS_MAX, RUNS_PAGE_MAX, SESSIONS_PAGE_MAX,
};
use crate::path::Label;
use crate::session::{Incarnation, SessionId};
use crate::view::Digest;
use serde::{Deserialize, Serialize};

/// A run: the sessions of one control connection. Unique in one state of a broker, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RunId(pub u64);

/// Asks for the runs on record, the latest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    /// Only runs before this one; none begins with the latest.
    pub before: Option<RunId>,
}

/// Runs, the latest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunsPage {
    /// The runs. Fewer than the page holds means that there are no more.
    pub runs: Few<RunRecord, RUNS_PAGE_MAX>,
}

/// A run on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Its number.
    pub run: RunId,
    /// The runtime's own name for the first request it served.
    pub request: Text<REASON_BYTES_MAX>,
    /// The end user on whose behalf it acted.
    pub owner: Text<REASON_BYTES_MAX>,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
    /// When its connection closed; none while it runs, or when its broker died.
    pub ended_ms: Option<u64>,
    /// Sessions it had.
    pub sessions: u32,
    /// Receipts by outcome.
    pub done: u64,
    /// Nothing was changed.
    pub failed: u64,
    /// It is not known what was changed.
    pub uncertain: u64,
    /// Effects that were begun and are not settled.
    pub open: u64,
}

/// Asks for the receipts of a run, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// The run.
    pub run: RunId,
    /// Only receipts after this number; 0 begins with the first.
    pub after: u64,
}

/// Receipts of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPage {
    /// The receipts, as many as fit. None means that there are no more.
    pub receipts: Few<Receipt, LOG_PAGE_MAX>,
}

/// A receipt on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Its number and its link in its session's chain.
    pub id: ReceiptId,
    /// The session, unique in one life of the broker.
    pub session: SessionId,
    /// When it was written, in milliseconds since 1970.
    pub at_ms: u64,
    /// Who said how it ended.
    pub witness: Witness,
    /// How it ended.
    pub end: Finish,
    /// The labels of its session's roots, by index.
    pub roots: Few<Label, ROOTS_MAX>,
    /// Bytes of its difference that are kept.
    pub diff_bytes: u32,
    /// The authority it was made under.
    pub authority: AuthorityId,
    /// When the effect was begun, in milliseconds since 1970.
    pub began_ms: u64,
    /// The digest of the request as its gate said it.
    pub request: Digest,
    /// The link of its session's chain before it.
    pub previous: Digest,
    /// blake3 of the cage its gate was in, as it reported it ([`crate::ledger::CageReport`], encoded).
    pub cage: Digest,
    /// By which approval, if it took one.
    pub approval: Option<Approval>,
}

/// Who said how an effect ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Witness {
    /// The gate that made it.
    Gate,
    /// A gate that looked afterwards, because the one that made it died.
    Observer,
    /// Nobody could look; only what was intended is known.
    Nobody,
}

impl Witness {
    /// Its name, as commands spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Observer => "observer",
            Self::Nobody => "nobody",
        }
    }
}

/// Asks for the difference one effect made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// The number of its receipt.
    pub receipt: u64,
}

/// The difference one effect made is behind this, as a unified diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffText {
    /// Bytes of it that were not kept.
    pub cut: u64,
}

/// Asks whether the records hold together: every chain, and the chain of their heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verify {}

/// What the records say of themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Sessions looked at.
    pub sessions: u64,
    /// Receipts looked at.
    pub receipts: u64,
    /// Effects that were begun and have no receipt yet.
    pub open: u64,
    /// The first thing that does not hold; none when all does.
    pub broken: Option<Text<REASON_BYTES_MAX>>,
}

/// Asks for refusals of a run, in order. They have a log of their own, of which the oldest go
/// first, and no chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    /// The run.
    pub run: RunId,
    /// Only those after this number; 0 begins with the first that is kept.
    pub after: u64,
}

/// Refusals of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalsPage {
    /// As many as fit. None means that there are no more.
    pub refusals: Few<RefusalRecord, REFUSALS_PAGE_MAX>,
    /// Refusals of the run that were not told one by one, or are not kept any more.
    pub left_out: u64,
}

/// A refusal on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalRecord {
    /// Its number.
    pub number: u64,
    /// The session.
    pub session: SessionId,
    /// When it was written, in milliseconds since 1970.
    pub at_ms: u64,
    /// What was refused.
    pub note: RefusalNote,
}

/// Asks for the sessions of a run, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sessions {
    /// The run.
    pub run: RunId,
    /// Only those after this row; 0 begins with the first.
    pub after: u64,
}

/// Sessions of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionsPage {
    /// As many as fit. None means that there are no more.
    pub sessions: Few<SessionRecord, SESSIONS_PAGE_MAX>,
}

/// A session on record: what its chain begins with, and how far it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Its row in the state, from 1; never reused.
    pub row: u64,
    /// The life of the broker it was in.
    pub incarnation: Incarnation,
    /// The session, unique in that life.
    pub session: SessionId,
    /// Its authority.
    pub authority: AuthorityId,
    /// The runtime's own name for the request it served.
    pub request: Text<REASON_BYTES_MAX>,
    /// The end user.
    pub owner: Text<REASON_BYTES_MAX>,
    /// The runtime's own name for the conversation.
    pub conversation: Text<REASON_BYTES_MAX>,
    /// The authority it was made within.
    pub parent: Option<AuthorityId>,
    /// The labels of its roots, by index.
    pub roots: Few<Label, ROOTS_MAX>,
    /// blake3 of the cage its gate was in.
    pub cage: Digest,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
    /// When it was over.
    pub ended_ms: Option<u64>,
    /// Receipts in its chain.
    pub receipts: u64,
    /// The link before its first receipt.
    pub first: Digest,
    /// Its last link.
    pub head: Digest,
}
