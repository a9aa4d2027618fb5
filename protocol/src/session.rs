//! Session endpoint: what a worker asks, and what its gate answers.

mod change;
mod composed;
mod delegate;
mod edit;
mod find;
mod found;
mod packed;
mod read;

pub use change::*;
pub use composed::*;
pub use delegate::*;
pub use edit::*;
pub use find::*;
pub use found::*;
pub use packed::*;
pub use read::*;

pub use crate::approval::input_digest;
use crate::authority::{AuthorityId, Budgets, Effect};
use crate::bounded::{Bytes, Few, Text};
use crate::frame::messages;
use crate::limits::{
    DENIALS_MAX, GRANTS_MAX, PATTERN_BYTES_MAX, REASON_BYTES_MAX, ROOTS_MAX, SELECTOR_BYTES_MAX,
};
use crate::path::{Label, RelPath};
use crate::refusal::{Refusal, Rule};
use crate::verb::{ModeSet, Verb, VerbSet};
use crate::view::{Binding, RootIndex};
use serde::{Deserialize, Serialize};

messages! {
    /// Worker to gate.
    pub enum Request: tag 0x51, canonical true, content [Ping, Change, Upload, Compose] {
        /// First message; again from each further program that takes its turn on the socket.
        0 = Hello(Hello),
        /// What may I do?
        1 = Whoami(Whoami),
        /// Look at one object.
        2 = Stat(Stat),
        /// Read files.
        3 = Read(Read),
        /// List a directory.
        4 = List(List),
        /// Find names.
        5 = Glob(Glob),
        /// Find lines.
        6 = Search(Search),
        /// Why would this be refused?
        7 = Why(Why),
        /// Stop a streaming request.
        8 = Cancel(Cancel),
        /// Send the content back.
        9 = Ping(Ping),
        /// Change files.
        10 = Change(ChangeSet),
        /// Keep content for a change that is to come.
        11 = Upload(Upload),
        /// Forget such content.
        12 = DropUpload(DropUpload),
        /// Keep a part of a change set that one frame does not hold.
        13 = Compose(Compose),
        /// Change files as was composed.
        14 = ChangeComposed(ChangeComposed),
        /// Make a narrower session.
        15 = Delegate(Delegate),
        /// The socket of a delegated session has arrived.
        16 = Acknowledge(Acknowledge),
        /// End a delegated session.
        17 = EndDelegated(EndDelegated),
    }
}

messages! {
    /// Gate to worker. Every request ends in exactly one of: `Refused`, `Conflicted`, the reply of its verb, or
    /// (for `Read`, `List`, `Glob` and `Search`) `Done` after zero or more parts.
    pub enum Reply: tag 0x52, canonical false, content [ReadPart, Pong, Planned, Changed, Conflicted] {
        /// Answers `Hello`.
        0 = Welcome(Welcome),
        /// Nothing happened, and why.
        1 = Refused(Refusal),
        /// Answers `Whoami`.
        2 = Whoami(Identity),
        /// Answers `Stat`.
        3 = Stat(Binding),
        /// A part of one file, its bytes in the content.
        4 = ReadPart(ReadPart),
        /// Entries of a listing or glob.
        5 = Entries(Entries),
        /// Results of a search.
        6 = Matches(Matches),
        /// Ends a streaming request.
        7 = Done(Done),
        /// Answers `Why`.
        8 = Why(Verdict),
        /// Answers `Ping`.
        9 = Pong(Ping),
        /// The session ends now; belongs to no request.
        10 = Closing(Closing),
        /// Answers `Change` and `ChangeComposed` of a dry run, the difference behind it.
        11 = Planned(Planned),
        /// Answers `Change` and `ChangeComposed` that was begun, the difference behind it.
        12 = Changed(Changed),
        /// Answers `Upload` and `DropUpload`.
        13 = Uploaded(Uploaded),
        /// Answers `Compose`.
        14 = Composed(Composed),
        /// Nothing happened, and what the object has become.
        15 = Conflicted(Conflicted),
        /// Answers `Delegate`; the session's socket comes with this frame.
        16 = Delegated(Delegated),
        /// Answers `Acknowledge` and `EndDelegated`.
        17 = Noted(Noted),
        /// How far a listing, glob or search is.
        18 = Progress(Progress),
    }
}

/// Distinguishes one life of a broker from the next: 128 random bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Incarnation(pub [u8; 16]);

/// A session, unique in one incarnation; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionId(pub u64);

/// What bounds one peer, fixed for the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Limits {
    /// Largest frame, in bytes.
    pub frame_bytes: u32,
    /// Most content in one frame, in bytes.
    pub content_bytes: u32,
    /// Requests unanswered at once.
    pub in_flight: u16,
    /// Streaming requests at once.
    pub streams: u16,
    /// Bytes of requests waiting in the socket at most.
    pub in_flight_bytes: u32,
    /// How long the peer may leave its socket full, in milliseconds.
    pub send_deadline_ms: u32,
}

/// The client's hello.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`crate::VERSION`].
    pub version: u16,
    /// What the client can take. Frames smaller than the gate's are refused; for the numbers of
    /// requests and streams the smaller of both holds.
    pub limits: Limits,
    /// The incarnation the client expects, when it was told one; another refuses the session.
    pub incarnation: Option<Incarnation>,
    /// Name and version of the client, for logs.
    pub client: Text<64>,
}

/// The gate's hello.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// [`crate::VERSION`].
    pub version: u16,
    /// What holds from now on.
    pub limits: Limits,
    /// This broker.
    pub incarnation: Incarnation,
    /// This session.
    pub session: SessionId,
}

/// A name as the worker wrote it, in a root or in the session's first one. See
/// [`crate::path::parse_selector`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Selector {
    /// The root's label; none is the first root, or what an absolute path says.
    pub root: Option<Label>,
    /// The bytes.
    pub path: Bytes<SELECTOR_BYTES_MAX>,
}

/// Asks what the session may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whoami {}

/// Whether a link in the last component is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Links {
    /// Followed, as long as it stays below the root.
    Follow,
    /// Looked at as a link.
    Keep,
}

/// Asks for one object's observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    /// Which object.
    pub selector: Selector,
    /// What a link in the last component means.
    pub links: Links,
}

/// Asks why a verb on an object is allowed or refused. The object is reached exactly as the verb
/// would reach it; nothing of it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// The verb.
    pub verb: Verb,
    /// The object.
    pub selector: Selector,
}

/// Stops the streaming request with this id; it still ends in `Done`. Has no answer of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancel {
    /// The request to stop.
    pub request: u32,
}

/// Sends the content back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ping {}

/// What a session may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The session.
    pub session: SessionId,
    /// Its authority.
    pub authority: AuthorityId,
    /// The end user on whose behalf it acts.
    pub owner: Text<REASON_BYTES_MAX>,
    /// The runtime's own name for the conversation it belongs to.
    pub conversation: Text<REASON_BYTES_MAX>,
    /// The authority it was made within.
    pub parent: Option<AuthorityId>,
    /// When it expires, in milliseconds since 1970.
    pub expires_ms: Option<u64>,
    /// Its roots; the first is the default.
    pub roots: Few<RootView, ROOTS_MAX>,
    /// Its grants.
    pub grants: Few<GrantView, GRANTS_MAX>,
    /// What it may do with an approval for each use.
    pub asks: Few<GrantView, GRANTS_MAX>,
    /// How much it may do in all.
    pub budgets: Budgets,
    /// How much of that it has used, or given to sessions within it.
    pub used: Used,
    /// Its denials that can be seen. Hiding ones are absent.
    pub denials: Few<DenialView, DENIALS_MAX>,
    /// What bounds it.
    pub limits: Limits,
}

/// How much of each budget is used, whether it has a limit or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Used {
    /// Of [`Budgets::operations`].
    pub operations: u64,
    /// Of [`Budgets::read_bytes`].
    pub read_bytes: u64,
    /// Of [`Budgets::written_bytes`].
    pub written_bytes: u64,
    /// Of [`Budgets::creates`].
    pub creates: u64,
    /// Of [`Budgets::deletes`].
    pub deletes: u64,
}

/// A root as its worker knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootView {
    /// Its name: `/label/…` is a path in it.
    pub label: Label,
    /// What it is for.
    pub scope: crate::authority::Scope,
}

/// A grant as its worker knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantView {
    /// The root.
    pub root: RootIndex,
    /// The subtree.
    pub prefix: RelPath,
    /// The verbs.
    pub verbs: VerbSet,
    /// Which modes of them.
    pub modes: ModeSet,
    /// How many exact operations it is for; none is every one.
    pub inputs: Option<u16>,
}

/// A visible denial as its worker knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DenialView {
    /// Name and reason.
    pub rule: Rule,
    /// The verbs it refuses.
    pub verbs: VerbSet,
    /// Its pattern; none for a denial of one object.
    pub pattern: Option<Bytes<PATTERN_BYTES_MAX>>,
    /// Whether it refuses, or makes an approval needed.
    pub effect: Effect,
}

/// The answer to `Why`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// It would be admitted: by this grant, on this object.
    Allowed {
        /// The grant.
        grant: GrantView,
        /// The object.
        binding: Binding,
    },
    /// It would be admitted with an approval of exactly that operation.
    Asks {
        /// The rule that makes one needed; none where nothing else allows it.
        rule: Option<Rule>,
    },
    /// It would be refused like this.
    Refused(Refusal),
}

/// Why a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Closing {
    /// The peer sent something that is no frame.
    NotAFrame,
    /// The peer did not read in time.
    NotReading,
    /// The peer's version or expected broker is another.
    Incompatible,
}
