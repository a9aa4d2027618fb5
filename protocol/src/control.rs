//! Control endpoint: what a runtime asks of the warden. Descriptors travel beside the frames.

use crate::authority::{AuthorityId, Effect, RootId, RootIdentity, Scope};
use crate::bounded::{Bytes, Few, Text};
use crate::frame::messages;
use crate::ledger::{CageReport, Finish, ReceiptId, RefusalNote, Tally};
use crate::limits::{
    DENIALS_MAX, GRANTS_MAX, LOG_PAGE_MAX, PATH_BYTES_MAX, PATTERN_BYTES_MAX, REASON_BYTES_MAX,
    ROOTS_MAX, RUNS_PAGE_MAX,
};
use crate::path::{Label, RelPath};
use crate::refusal::Refusal;
use crate::session::{Incarnation, SessionId};
use crate::verb::VerbSet;
use serde::{Deserialize, Serialize};

messages! {
    /// Runtime to warden.
    pub enum Order: tag 0x43, canonical true, content [] {
        /// First message, once.
        0 = Hello(Hello),
        /// Seal the directory whose readable descriptor comes with this frame.
        1 = Seal(Seal),
        /// Make a session; descriptors of object denials come with this frame.
        2 = Mint(Mint),
        /// End a session at once.
        3 = End(End),
        /// Forget a root: no new session gets it, running ones keep it.
        4 = Unseal(Unseal),
        /// What is going on?
        5 = Status(Status),
        /// Which runs are on record?
        6 = Runs(Runs),
        /// What did a run change?
        7 = Log(Log),
        /// What did one effect change, line by line?
        8 = Diff(Diff),
        /// Do the records hold together?
        9 = Verify(Verify),
        /// Make room for a newer warden: end when the last connection has closed.
        10 = Drain(Drain),
    }
}

messages! {
    /// Warden to runtime.
    pub enum Answer: tag 0x44, canonical false, content [Diff] {
        /// Answers `Hello`.
        0 = Welcome(Welcome),
        /// Nothing happened, and why.
        1 = Refused(Refusal),
        /// Answers `Seal`.
        2 = Sealed(Sealed),
        /// Answers `Mint`; the session socket comes with this frame.
        3 = Minted(Minted),
        /// Answers `End` and `Unseal`.
        4 = Ended(Ended),
        /// Answers `Status`.
        5 = Status(StatusReport),
        /// A session is over; belongs to no request.
        6 = Over(Over),
        /// Answers `Runs`.
        7 = Runs(RunsPage),
        /// Answers `Log`.
        8 = Log(LogPage),
        /// Answers `Diff`, the difference behind it.
        9 = Diff(DiffText),
        /// Answers `Verify`.
        10 = Verified(Verified),
        /// Answers `Drain`.
        11 = Draining(Draining),
    }
}

/// The runtime's hello.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`crate::VERSION`].
    pub version: u16,
    /// The incarnation the runtime expects, when it was told one.
    pub incarnation: Option<Incarnation>,
    /// Name and version of the runtime, for logs.
    pub client: Text<64>,
}

/// Which of two executables is newer: when its file was last modified, in milliseconds since
/// 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Build(pub u64);

/// The warden's hello.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// [`crate::VERSION`].
    pub version: u16,
    /// This broker.
    pub incarnation: Incarnation,
    /// How new its executable is.
    pub build: Build,
    /// Whether it shares its state and locks with other runtimes of its user.
    pub sharing: Sharing,
}

/// Whom a warden serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sharing {
    /// Every runtime of its user.
    User,
    /// The process it is embedded in.
    Embedded,
}

/// Seals a root. With it comes one descriptor, opened for reading, of the directory: having it
/// shows that the runtime could read it. The warden opens no path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// Its usual name in sessions.
    pub label: Label,
    /// What it is for.
    pub scope: Scope,
}

/// A root is sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// Its id on this connection.
    pub root: RootId,
    /// Where the kernel says it is.
    pub location: RelPath,
    /// What was sealed.
    pub identity: RootIdentity,
}

/// A grant in an order to mint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantOrder {
    /// A sealed root of this connection.
    pub root: RootId,
    /// The subtree; the empty path is the whole root.
    pub prefix: RelPath,
    /// What may be done there.
    pub verbs: VerbSet,
}

/// A denial in an order to mint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DenialOrder {
    /// The rule's name; it cannot begin with `builtin:`.
    pub name: Text<REASON_BYTES_MAX>,
    /// Why it exists, for the worker to read.
    pub reason: Text<REASON_BYTES_MAX>,
    /// The verbs it refuses; ignored by [`Effect::Hide`].
    pub verbs: VerbSet,
    /// What it covers.
    pub target: DenialOrderTarget,
    /// How it shows itself.
    pub effect: Effect,
}

/// What a denial in an order covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DenialOrderTarget {
    /// Names that match. See [`crate::authority::DenialTarget::Pattern`].
    Pattern {
        /// The root below which a pattern with a slash begins; none is anywhere.
        root: Option<RootId>,
        /// The pattern.
        pattern: Bytes<PATTERN_BYTES_MAX>,
    },
    /// The object of this descriptor, counted among those that come with the frame.
    Object {
        /// Which descriptor, from 0.
        descriptor: u16,
    },
}

/// Makes a session. Only what is granted here can be done in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mint {
    /// The runtime's own name for the request this serves.
    pub request: Text<REASON_BYTES_MAX>,
    /// The end user on whose behalf it acts.
    pub owner: Text<REASON_BYTES_MAX>,
    /// The roots in order, each with a label for this session; the first is the default.
    pub roots: Few<RootOrder, ROOTS_MAX>,
    /// What may be done.
    pub grants: Few<GrantOrder, GRANTS_MAX>,
    /// What may not, beside the built-in denials.
    pub denials: Few<DenialOrder, DENIALS_MAX>,
    /// Built-in denials that shall not hold, by name.
    pub exceptions: Few<Text<REASON_BYTES_MAX>, DENIALS_MAX>,
    /// When it ends, in milliseconds since 1970.
    pub expires_ms: Option<u64>,
    /// A session of this connection whose authority the new one must stay within.
    pub within: Option<SessionId>,
}

/// A root in an order to mint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootOrder {
    /// A sealed root of this connection.
    pub root: RootId,
    /// Its name in this session; none keeps the one it was sealed with.
    pub label: Option<Label>,
}

/// A session is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Minted {
    /// The session.
    pub session: SessionId,
    /// Its authority.
    pub authority: AuthorityId,
    /// The run it belongs to: all sessions of one connection are one.
    pub run: RunId,
    /// Roots that lay inside others and became subtrees of them, for the runtime to show.
    pub merged: Few<Merged, ROOTS_MAX>,
    /// The cage its gate is in, as the gate observed it.
    pub cage: CageReport,
}

/// A root that became a subtree of another in one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    /// The inner root.
    pub inner: RootId,
    /// The outer root.
    pub outer: RootId,
    /// Where the inner one lies in the outer one.
    pub prefix: RelPath,
}

/// Ends a session: its gate is killed, its socket closes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The session.
    pub session: SessionId,
}

/// Forgets a root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseal {
    /// The root.
    pub root: RootId,
}

/// It is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {}

/// Asks what is going on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {}

/// What is going on, on this connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusReport {
    /// Roots sealed.
    pub roots: u32,
    /// Sessions whose gate runs, with its process id; at most 1024 are named.
    pub sessions: Few<Running, 1024>,
    /// How many run in all.
    pub running: u32,
}

/// A running session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// The session.
    pub session: SessionId,
    /// Its gate's process id, as the warden sees it.
    pub gate: u32,
}

/// A session is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Over {
    /// The session.
    pub session: SessionId,
    /// Why.
    pub cause: OverCause,
    /// What it did; absent when its gate was killed before it could say.
    pub tally: Option<Tally>,
    /// The first refusals, in order.
    pub refusals: Few<RefusalNote, { crate::ledger::NOTES_MAX }>,
    /// What else the gate said, for people.
    pub note: Option<Text<PATH_BYTES_MAX>>,
}

/// Why a session is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OverCause {
    /// Its worker closed the socket.
    WorkerLeft,
    /// The worker broke the protocol or did not read.
    WorkerMisbehaved,
    /// The runtime ended it.
    Revoked,
    /// The gate died.
    GateDied,
}

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

/// Asks the warden to end when it is no longer needed, so that a newer one can take its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drain {}

/// The warden ends when the last connection has closed. Takes no further one, if it has no other
/// than this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draining {
    /// Connections it still serves, this one included.
    pub connections: u32,
}
