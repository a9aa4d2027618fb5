//! Control endpoint: what a runtime asks of the warden. Descriptors travel beside the frames.

mod records;
mod review;
mod tasks;

pub use records::*;
pub use review::*;
pub use tasks::*;

use crate::authority::{AuthorityId, Budgets, Effect, Inputs, RootId, RootIdentity, Scope};
use crate::bounded::{Bytes, Few, Text};
use crate::frame::messages;
use crate::ledger::{CageReport, RefusalNote, Tally};
use crate::limits::{
    DENIALS_MAX, GRANTS_MAX, IGNORE_BYTES_MAX, PATH_BYTES_MAX, PATTERN_BYTES_MAX, REASON_BYTES_MAX,
    ROOTS_MAX,
};
use crate::path::{Label, RelPath};
use crate::refusal::Refusal;
use crate::session::{Incarnation, SessionId};
use crate::verb::{ModeSet, VerbSet};
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
        /// Which proposals are there?
        11 = Proposals(Proposals),
        /// What is one of them, whole?
        12 = Proposal(ShowProposal),
        /// Approve or refuse one.
        13 = Decide(Decide),
        /// Open a connection for deciding about this connection's sessions, and for nothing else.
        14 = OpenDecider(OpenDecider),
        /// Keep the authority of a session for later.
        15 = SealTask(SealTask),
        /// Make a session of what was kept.
        16 = Restore(Restore),
        /// Make a session that goes on where another one is.
        17 = Continue(Continue),
        /// What was refused?
        18 = Refusals(Refusals),
        /// Which sessions had a run?
        19 = Sessions(Sessions),
    }
}

messages! {
    /// Warden to runtime.
    pub enum Answer: tag 0x44, canonical false, content [Diff, Proposal] {
        /// Answers `Hello`.
        0 = Welcome(Welcome),
        /// Nothing happened, and why.
        1 = Refused(Refusal),
        /// Answers `Seal`.
        2 = Sealed(Sealed),
        /// Answers `Mint`, `Restore` and `Continue`; the session socket comes with this frame.
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
        /// Answers `Proposals`.
        12 = Proposals(ProposalsPage),
        /// Answers `Proposal`, the difference behind it.
        13 = Proposal(ProposalRecord),
        /// Answers `Decide`.
        14 = Decided(Decided),
        /// Answers `OpenDecider`; the socket comes with this frame.
        15 = Decider(DeciderOpened),
        /// Answers `SealTask`.
        16 = TaskSealed(TaskSealed),
        /// Answers `Refusals`.
        17 = Refusals(RefusalsPage),
        /// Answers `Sessions`.
        18 = Sessions(SessionsPage),
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
    /// Which modes of those verbs.
    pub modes: ModeSet,
    /// Which operations, by their input.
    pub inputs: Inputs,
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
    /// The runtime's own name for the conversation, thread or job it belongs to.
    pub conversation: Text<REASON_BYTES_MAX>,
    /// The roots in order, each with a label for this session; the first is the default.
    pub roots: Few<RootOrder, ROOTS_MAX>,
    /// What may be done.
    pub grants: Few<GrantOrder, GRANTS_MAX>,
    /// What may be done with an approval for each use.
    pub asks: Few<GrantOrder, GRANTS_MAX>,
    /// How much may be done in all.
    pub budgets: Budgets,
    /// Who decides about what is asked for.
    pub deciding: Deciding,
    /// What may not, beside the built-in denials.
    pub denials: Few<DenialOrder, DENIALS_MAX>,
    /// Built-in denials that shall not hold, by name.
    pub exceptions: Few<Text<REASON_BYTES_MAX>, DENIALS_MAX>,
    /// When it ends, in milliseconds since 1970.
    pub expires_ms: Option<u64>,
    /// A session of this connection whose authority the new one must stay within, and with which it
    /// ends.
    pub within: Option<SessionId>,
    /// Rules of ignore files that hold in every root, weaker than those in it: the user's own, which
    /// no session reads for itself. They narrow what a walk shows, never what may be done.
    pub ignore: Bytes<IGNORE_BYTES_MAX>,
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
    /// The session it was made within.
    pub parent: Option<SessionId>,
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
