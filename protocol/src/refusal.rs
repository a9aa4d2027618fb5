//! A refusal: nothing happened, and why. Closed, so that programs can decide by it; the words
//! for people are made from it in one place ([`Refusal`]'s `Display`).

use crate::approval::ProposalId;
use crate::bounded::{Bytes, Text};
use crate::limits::{PATH_BYTES_MAX, REASON_BYTES_MAX};
use crate::path::escape;
use crate::verb::Verb;
use crate::view::Stamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a request was refused. The number on the wire and the name never change meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Code {
    /// The request could not be read.
    Malformed,
    /// The broker does not know this verb.
    UnsupportedVerb,
    /// The peers speak different protocol versions.
    VersionMismatch,
    /// Another message was wanted here: a hello comes first.
    OutOfTurn,
    /// More requests or streams than the hello allows.
    TooManyInFlight,
    /// The session's authority has expired.
    Expired,
    /// No root of this name, and the path lies beneath none of the session's roots.
    NoSuchRoot,
    /// The authority does not grant this verb here.
    NotGranted,
    /// A denial covers it; the rule is named.
    Denied,
    /// There is nothing of this name, or nothing this session may know of.
    NotFound,
    /// A component that should be a directory is not.
    NotADirectory,
    /// A directory where a file is wanted.
    IsADirectory,
    /// A FIFO, socket or device: nothing is read from it.
    NotRegular,
    /// A link or `..` leads out of the root.
    Escape,
    /// Another file system is mounted there.
    MountCrossing,
    /// More than 40 links, or links that lead in a circle.
    LinkLoop,
    /// Bytes that can be no name.
    InvalidName,
    /// A name over 255 bytes or a path over 4095.
    NameTooLong,
    /// The file's own permissions refuse the session's user.
    Permission,
    /// The tree changed under the resolution again and again.
    Contended,
    /// A pattern could not be compiled.
    BadPattern,
    /// A cursor that is damaged or belongs to something that changed.
    BadCursor,
    /// A range or limit outside what the protocol allows.
    OutOfRange,
    /// The kernel is out of memory or descriptors.
    Exhausted,
    /// The root itself was deleted.
    RootGone,
    /// The disk or kernel failed to read.
    Io,
    /// No such root id on this control connection.
    UnknownRoot,
    /// No such session on this control connection.
    UnknownSession,
    /// The directory cannot become a root; the note says why.
    CannotSeal,
    /// The authority does not hold together; the note says why.
    BadAuthority,
    /// The gate could not be started or its cage is not whole; nothing was minted.
    NotConfined,
    /// There is something of that name already.
    Exists,
    /// The object is not in the version the request expects; its version now comes with this.
    Conflict,
    /// The directory is not empty.
    NotEmpty,
    /// Another process has the file open for writing.
    Busy,
    /// The file has other names, which the change would reach or leave behind.
    HardLinked,
    /// The owner, group, access list or attributes of the file cannot be kept by a replacement.
    Unkept,
    /// The text to replace does not occur, or not as often as expected; the note says how often.
    NotUnique,
    /// Changes of one set are in each other's way; the note says how.
    Collision,
    /// More bytes, files or uploads than the session may use.
    OutOfBudget,
    /// The file system or the quota has no room.
    DiskFull,
    /// The file system, or the object, cannot be changed.
    ReadOnly,
    /// The broker cannot record the change, so it was not begun.
    NoLedger,
    /// No upload of this id, or its parts are not in order.
    UnknownUpload,
    /// The file system cannot do this safely.
    Unsupported,
    /// The broker does not serve this process; the note says why.
    PeerNotServed,
    /// The session was not shown the whole of a file that would be overwritten.
    NotSeen,
    /// A label is not that of the line in this version of the file.
    StaleAnchor,
    /// It is only to be asked for: an approval of exactly this is needed, and was not given.
    NeedsApproval,
    /// No such proposal, or none that this connection may see.
    UnknownProposal,
    /// The proposal is decided, used or void.
    Decided,
    /// This connection may not decide about it; the note says who may.
    NotDecider,
    /// Too many sessions within one another, or at once.
    TooManySessions,
    /// Nothing can be restored from this task; the note says why.
    NotRestored,
}

impl Code {
    /// The stable name, as in `--json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::UnsupportedVerb => "unsupported_verb",
            Self::VersionMismatch => "version_mismatch",
            Self::OutOfTurn => "out_of_turn",
            Self::TooManyInFlight => "too_many_in_flight",
            Self::Expired => "expired",
            Self::NoSuchRoot => "no_such_root",
            Self::NotGranted => "not_granted",
            Self::Denied => "denied",
            Self::NotFound => "not_found",
            Self::NotADirectory => "not_a_directory",
            Self::IsADirectory => "is_a_directory",
            Self::NotRegular => "not_regular",
            Self::Escape => "escape",
            Self::MountCrossing => "mount_crossing",
            Self::LinkLoop => "link_loop",
            Self::InvalidName => "invalid_name",
            Self::NameTooLong => "name_too_long",
            Self::Permission => "permission",
            Self::Contended => "contended",
            Self::BadPattern => "bad_pattern",
            Self::BadCursor => "bad_cursor",
            Self::OutOfRange => "out_of_range",
            Self::Exhausted => "exhausted",
            Self::RootGone => "root_gone",
            Self::Io => "io",
            Self::UnknownRoot => "unknown_root",
            Self::UnknownSession => "unknown_session",
            Self::CannotSeal => "cannot_seal",
            Self::BadAuthority => "bad_authority",
            Self::NotConfined => "not_confined",
            Self::Exists => "exists",
            Self::Conflict => "conflict",
            Self::NotEmpty => "not_empty",
            Self::Busy => "busy",
            Self::HardLinked => "hard_linked",
            Self::Unkept => "unkept",
            Self::NotUnique => "not_unique",
            Self::Collision => "collision",
            Self::OutOfBudget => "out_of_budget",
            Self::DiskFull => "disk_full",
            Self::ReadOnly => "read_only",
            Self::NoLedger => "no_ledger",
            Self::UnknownUpload => "unknown_upload",
            Self::Unsupported => "unsupported",
            Self::PeerNotServed => "peer_not_served",
            Self::NotSeen => "not_seen",
            Self::StaleAnchor => "stale_anchor",
            Self::NeedsApproval => "needs_approval",
            Self::UnknownProposal => "unknown_proposal",
            Self::Decided => "decided",
            Self::NotDecider => "not_decider",
            Self::TooManySessions => "too_many_sessions",
            Self::NotRestored => "not_restored",
        }
    }

    /// True when the same request may succeed later without anything else being done.
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::TooManyInFlight
                | Self::Contended
                | Self::Exhausted
                | Self::Busy
                | Self::DiskFull
                | Self::NoLedger
        )
    }

    const fn said(self) -> &'static str {
        match self {
            Self::Malformed => "the request could not be read",
            Self::UnsupportedVerb => "this broker does not know that verb",
            Self::VersionMismatch => "the peers speak different protocol versions",
            Self::OutOfTurn => "another message was wanted here",
            Self::TooManyInFlight => "too many requests are unanswered",
            Self::Expired => "the session has expired",
            Self::NoSuchRoot => "the path lies beneath no root of this session",
            Self::NotGranted => "the session has no grant for it",
            Self::Denied => "a denial covers it",
            Self::NotFound => "there is nothing of that name",
            Self::NotADirectory => "it, or a component before it, is not a directory",
            Self::IsADirectory => "it is a directory",
            Self::NotRegular => "it is a FIFO, socket or device, and those are never opened",
            Self::Escape => "it leads out of the root",
            Self::MountCrossing => "another file system is mounted there",
            Self::LinkLoop => "its symbolic links lead in a circle, or there are more than 40",
            Self::InvalidName => "those bytes can be no name",
            Self::NameTooLong => "a name has at most 255 bytes and a path 4095",
            Self::Permission => "the file's own permissions do not allow it",
            Self::Contended => "the tree kept changing while it was resolved",
            Self::BadPattern => "the pattern cannot be used",
            Self::BadCursor => "the cursor is damaged or out of date",
            Self::OutOfRange => "a number is outside what the protocol allows",
            Self::Exhausted => "the system is out of memory or descriptors",
            Self::RootGone => "the root itself was deleted",
            Self::Io => "the system could not read it",
            Self::UnknownRoot => "no such root on this connection",
            Self::UnknownSession => "no such session on this connection",
            Self::CannotSeal => "the directory cannot become a root",
            Self::BadAuthority => "the authority does not hold together",
            Self::NotConfined => "the gate's cage is not whole",
            Self::Exists => "something of that name exists already",
            Self::Conflict => "it is not in the version that was expected",
            Self::NotEmpty => "the directory is not empty",
            Self::Busy => "another process has the file open for writing",
            Self::HardLinked => {
                "the file has other names (hard links), which a change would reach or leave behind"
            }
            Self::Unkept => "its owner, group or attributes would not survive the replacement",
            Self::NotUnique => "the text to replace does not occur as often as expected",
            Self::Collision => "changes of one set are in each other's way",
            Self::OutOfBudget => "it is more than the session may use",
            Self::DiskFull => "the file system or the quota has no room left",
            Self::ReadOnly => "the file system or the object is read-only or immutable",
            Self::NoLedger => "the broker cannot record it, so it was not begun",
            Self::UnknownUpload => "no upload of this id is open, or its parts are not in order",
            Self::Unsupported => "this file system has no safe way to do it",
            Self::PeerNotServed => "the broker does not serve this process",
            Self::NotSeen => "the session was not shown the whole file that would be overwritten",
            Self::StaleAnchor => "a label is not that of a line of this version of the file",
            Self::NeedsApproval => "it needs an approval",
            Self::UnknownProposal => "there is no such proposal",
            Self::Decided => "it is not open for a decision any more",
            Self::NotDecider => "this connection may not decide about it",
            Self::TooManySessions => "there are too many sessions within one another or at once",
            Self::NotRestored => "nothing can be restored from it",
        }
    }

    #[expect(clippy::too_many_lines, reason = "a table: one arm, one code")]
    const fn remedy(self) -> Option<&'static str> {
        match self {
            Self::UnsupportedVerb | Self::VersionMismatch => Some("use tools of one version"),
            Self::TooManyInFlight => Some("read the replies that are waiting, then ask again"),
            Self::Expired => Some("the runtime can mint a new session"),
            Self::NoSuchRoot => Some("`whoami` lists the roots; the runtime can grant another"),
            Self::NotGranted => Some("the runtime can grant this verb there"),
            Self::Denied => Some("the runtime can make an exception to the rule by its name"),
            Self::Escape => Some("the runtime can seal the directory it leads to as another root"),
            Self::MountCrossing => {
                Some("the runtime can seal the mounted directory as another root")
            }
            Self::IsADirectory => Some("list it, or name a file below it"),
            Self::Contended | Self::Exhausted => Some("ask again"),
            Self::BadCursor => Some("start again without a cursor"),
            Self::Permission => Some("the owner of the file can change its permissions"),
            Self::RootGone => Some("the runtime can seal the new directory and mint a session"),
            Self::Exists => Some("say which version of it shall be replaced, or take another name"),
            Self::Conflict => Some("read it again and decide anew"),
            Self::NotEmpty => {
                Some("delete what is in it first, or delete the whole tree by its own verb")
            }
            Self::Busy => Some("ask again when that process has closed it"),
            Self::Collision => Some("send them one after the other"),
            Self::DiskFull => Some("make room, then ask again"),
            Self::NoLedger => {
                Some("ask again; if it stays so, `portcullis doctor` shows the state of the broker")
            }
            Self::UnknownUpload => Some("start the upload again"),
            Self::NotSeen => Some(
                "read all of it and decide anew, change a part of it by an edit, or overwrite it \
                 unseen by saying so",
            ),
            Self::StaleAnchor => Some("take the labels that came with this, or read it again"),
            Self::NeedsApproval => {
                Some("once it is approved (`portcullis review`), ask for exactly the same again")
            }
            Self::TooManySessions => Some("end sessions that are no longer needed"),
            Self::PeerNotServed => Some("a runtime can embed a broker of its own (`--embedded`)"),
            Self::Malformed
            | Self::OutOfTurn
            | Self::NotFound
            | Self::NotADirectory
            | Self::NotRegular
            | Self::LinkLoop
            | Self::InvalidName
            | Self::NameTooLong
            | Self::BadPattern
            | Self::OutOfRange
            | Self::Io
            | Self::UnknownRoot
            | Self::UnknownSession
            | Self::CannotSeal
            | Self::BadAuthority
            | Self::NotConfined
            | Self::HardLinked
            | Self::Unkept
            | Self::NotUnique
            | Self::OutOfBudget
            | Self::ReadOnly
            | Self::UnknownProposal
            | Self::Decided
            | Self::NotDecider
            | Self::NotRestored
            | Self::Unsupported => None,
        }
    }
}

/// The rule that decided: its name, and the reason given for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rule {
    /// The rule's name: `builtin:…` or the one the runtime gave it.
    pub name: Text<REASON_BYTES_MAX>,
    /// Why it exists.
    pub reason: Text<REASON_BYTES_MAX>,
}

/// A refusal. Nothing was changed, and nothing was shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Refusal {
    /// Why.
    pub code: Code,
    /// What was asked, when it is known.
    pub verb: Option<Verb>,
    /// The object, as the worker wrote it; never a host path it did not write itself.
    pub object: Option<Bytes<PATH_BYTES_MAX>>,
    /// The rule, when one decided.
    pub rule: Option<Rule>,
    /// What a program cannot know from the code, such as which construct of a pattern is wrong.
    pub note: Option<Text<REASON_BYTES_MAX>>,
    /// The version of the object now, when the request expected another.
    pub current: Option<Box<Stamp>>,
    /// What waits for a decision, when that is what is missing.
    pub proposal: Option<ProposalId>,
}

impl Refusal {
    /// A refusal that says only why.
    pub const fn new(code: Code) -> Self {
        Self {
            code,
            verb: None,
            object: None,
            rule: None,
            note: None,
            current: None,
            proposal: None,
        }
    }

    /// The same, of this verb.
    #[must_use]
    pub fn of(mut self, verb: Verb) -> Self {
        self.verb = Some(verb);
        self
    }

    /// The same, on this object as the worker wrote it.
    #[must_use]
    pub fn on(mut self, object: &[u8]) -> Self {
        self.object = Some(Bytes::cut(object));
        self
    }

    /// The same, by this rule.
    #[must_use]
    pub fn by(mut self, rule: Rule) -> Self {
        self.rule = Some(rule);
        self
    }

    /// The same, with the version the object has now.
    #[must_use]
    pub fn finding(mut self, current: Stamp) -> Self {
        self.current = Some(Box::new(current));
        self
    }

    /// The same, waiting for a decision about this.
    #[must_use]
    pub fn awaiting(mut self, proposal: ProposalId) -> Self {
        self.proposal = Some(proposal);
        self
    }

    /// The same, with a note; control and invisible characters become spaces and what is too long is cut.
    #[must_use]
    pub fn noting(mut self, note: &str) -> Self {
        self.note = Some(Text::plain(note));
        self
    }
}

impl Refusal {
    /// The same line without its first words, for an effect that was begun and is not done: there
    /// the outcome says what changed.
    pub const fn cause(&self) -> Cause<'_> {
        Cause(self)
    }
}

impl fmt::Display for Refusal {
    /// One line for a person: whether anything changed, what was refused, on which object, by
    /// which rule, and what would allow it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing was changed: {}", self.cause())
    }
}

/// Shows a refusal without saying that nothing was changed. See [`Refusal::cause`].
#[derive(Debug, Clone, Copy)]
pub struct Cause<'a>(&'a Refusal);

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(refusal) = self;
        match (refusal.verb, &refusal.object) {
            (Some(verb), Some(object)) => {
                write!(f, "{verb} `{}` refused: ", escape(object.as_slice()))?;
            }
            (Some(verb), None) => write!(f, "{verb} refused: ")?,
            (None, Some(object)) => write!(f, "`{}` refused: ", escape(object.as_slice()))?,
            (None, None) => {}
        }
        f.write_str(refusal.code.said())?;
        if let Some(ProposalId(number)) = refusal.proposal {
            write!(f, " (proposal {number})")?;
        }
        if let Some(rule) = &refusal.rule {
            write!(f, " (rule {}: {})", rule.name, rule.reason)?;
        }
        if let Some(note) = &refusal.note {
            write!(f, " ({note})")?;
        }
        if let Some(remedy) = refusal.code.remedy() {
            write!(f, "; {remedy}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}
