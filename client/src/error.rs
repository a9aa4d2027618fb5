//! Why a call did not do what it was asked, so that programs can decide by it.

use crate::label::Excerpt;
use portcullis_protocol::approval::ProposalId;
use portcullis_protocol::frame::DecodeError;
use portcullis_protocol::path::escape;
use portcullis_protocol::refusal::{Refusal, Rule};
use portcullis_protocol::session::{self, Closing};
use portcullis_protocol::verb::Verb;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Whether files were changed by a call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Changed {
    /// No file was changed.
    Unchanged,
    /// Something was changed.
    Changed,
    /// It cannot be known from here; a receipt tells.
    Unknown,
}

impl Changed {
    /// Its name, as in `--json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Changed => "changed",
            Self::Unknown => "unknown",
        }
    }
}

/// Why a call failed. Closed: a new reason breaks every program that decides by it, on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorCode {
    /// The broker refused, and says why.
    Refused(Refusal),
    /// The connection is over; the reason, when the broker gave one.
    Closed(Option<Closing>),
    /// The peer broke the protocol. The connection is not used again.
    Protocol(Violation),
    /// The peer did not take the request in time. It was not sent.
    Stalled,
    /// The socket failed, with this error number of the system. The connection is not used again.
    Io(i32),
    /// The request has this many bytes and does not fit. It was not sent.
    TooLarge(usize),
    /// An argument is none, for this reason. Nothing was sent.
    Invalid(String),
    /// A path of the caller could not be opened, with this error number of the system.
    CannotOpen(PathBuf, i32),
    /// This process holds no session.
    NoSession(NoSession),
    /// The change was begun and failed: everything is as it was. Its receipt, with the reason.
    Failed(Box<session::Changed>),
    /// The change was begun, and it is not known what of it happened. Its receipt, with the state
    /// of each name as it was seen.
    Uncertain(Box<session::Changed>),
    /// The change was sent and the connection ended before its answer, for this reason. When it
    /// was begun, the broker has a receipt of it.
    Unanswered(Error),
}

/// What the peer did that the protocol does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A packet that is no frame of this endpoint.
    #[error("{0}")]
    Undecodable(DecodeError),
    /// A packet longer than any frame.
    #[error("a packet longer than any frame")]
    TooLong,
    /// Descriptors where none belong, or not the one that belongs there.
    #[error("descriptors where none belong, or one that is missing")]
    Descriptors,
    /// The answer to a request that was not asked.
    #[error("an answer to request {0}, which was not asked")]
    UnknownId(u32),
    /// An answer of another kind than the request wants, or parts out of order.
    #[error("an answer that does not belong to its request")]
    WrongKind,
    /// Another protocol version.
    #[error("protocol version {0}, this is {this}", this = portcullis_protocol::VERSION)]
    Version(u16),
    /// Limits that are larger than any frame, or of no use.
    #[error("limits that do not hold together")]
    Limits,
    /// The echo differs from what was sent.
    #[error("an echo that differs from what was sent")]
    Echo,
}

/// Why this process holds no session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSession {
    /// The variable is not there.
    #[error(
        "PORTCULLIS_SOCKET_FD is not set: this runs inside a worker that `portcullis run` or \
         another runtime started"
    )]
    NotSet,
    /// The variable is no descriptor number.
    #[error("PORTCULLIS_SOCKET_FD is not a descriptor number from 3 up")]
    NotANumber,
    /// The descriptor is not open.
    #[error("descriptor {0} of PORTCULLIS_SOCKET_FD is not open: was it closed or not inherited?")]
    NotOpen(u32),
    /// The descriptor is open, but not inherited: someone in this process holds it.
    #[error("descriptor {0} of PORTCULLIS_SOCKET_FD is already in use in this process")]
    Taken(u32),
    /// The descriptor is something else.
    #[error("descriptor {0} of PORTCULLIS_SOCKET_FD is not a session socket")]
    NotASocket(u32),
    /// Another process uses the same session now.
    #[error("another process has been using this session for {0} seconds; it serves one at a time")]
    Busy(u64),
}

/// Why a call failed, whether anything was changed, and what decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Box<Said>);

/// What an error says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    code: ErrorCode,
    region: Option<Excerpt>,
}

impl Error {
    /// An error for this reason.
    pub fn new(code: ErrorCode) -> Self {
        Self(Box::new(Said { code, region: None }))
    }

    /// The same, with what the object has become.
    pub(crate) fn showing(mut self, region: Excerpt) -> Self {
        self.0.region = Some(region);
        self
    }

    pub(crate) fn protocol(violation: Violation) -> Self {
        Self::new(ErrorCode::Protocol(violation))
    }

    pub(crate) fn invalid(what: impl fmt::Display) -> Self {
        Self::new(ErrorCode::Invalid(what.to_string()))
    }

    pub(crate) fn cannot_open(path: &Path, errno: rustix::io::Errno) -> Self {
        Self::new(ErrorCode::CannotOpen(
            path.to_path_buf(),
            errno.raw_os_error(),
        ))
    }

    /// Why.
    pub fn code(&self) -> &ErrorCode {
        &self.0.code
    }

    /// The part of the file that decided, as it is now and as far as the session may read it: of a
    /// conflict, a text that is not there as was asked, or a label that is not current. Its lines
    /// have labels that the next edit can name.
    pub fn region(&self) -> Option<&Excerpt> {
        self.0.region.as_ref()
    }

    /// The refusal, when the broker refused, or when a change that was begun is not done.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.0.code {
            ErrorCode::Refused(refusal) => Some(refusal),
            ErrorCode::Failed(changed) | ErrorCode::Uncertain(changed) => changed.refusal.as_ref(),
            ErrorCode::Closed(_)
            | ErrorCode::Protocol(_)
            | ErrorCode::Stalled
            | ErrorCode::Io(_)
            | ErrorCode::TooLarge(_)
            | ErrorCode::Invalid(_)
            | ErrorCode::CannotOpen(..)
            | ErrorCode::NoSession(_)
            | ErrorCode::Unanswered(_) => None,
        }
    }

    /// The receipt of a change that was begun and not done, when it came.
    pub fn receipt(&self) -> Option<&session::Changed> {
        match &self.0.code {
            ErrorCode::Failed(changed) | ErrorCode::Uncertain(changed) => Some(changed),
            ErrorCode::Refused(_)
            | ErrorCode::Closed(_)
            | ErrorCode::Protocol(_)
            | ErrorCode::Stalled
            | ErrorCode::Io(_)
            | ErrorCode::TooLarge(_)
            | ErrorCode::Invalid(_)
            | ErrorCode::CannotOpen(..)
            | ErrorCode::NoSession(_)
            | ErrorCode::Unanswered(_) => None,
        }
    }

    /// The stable name of the reason, as in `--json`. No name of the client's is one of a
    /// refusal's; a change that failed after it was begun has the name of its refusal.
    pub fn code_name(&self) -> &'static str {
        match &self.0.code {
            ErrorCode::Refused(refusal) => refusal.code.name(),
            ErrorCode::Closed(_) => "connection_closed",
            ErrorCode::Protocol(_) => "connection_protocol",
            ErrorCode::Stalled => "connection_stalled",
            ErrorCode::Io(_) => "connection_io",
            ErrorCode::TooLarge(_) => "request_too_large",
            ErrorCode::Invalid(_) => "invalid_argument",
            ErrorCode::CannotOpen(..) => "cannot_open",
            ErrorCode::NoSession(_) => "no_session",
            ErrorCode::Failed(changed) => changed
                .refusal
                .as_ref()
                .map_or("change_failed", |refusal| refusal.code.name()),
            ErrorCode::Uncertain(_) => "change_uncertain",
            ErrorCode::Unanswered(_) => "change_unanswered",
        }
    }

    /// Whether files were changed. Only a change that was sent leaves a doubt.
    pub fn changed(&self) -> Changed {
        match &self.0.code {
            ErrorCode::Uncertain(_) | ErrorCode::Unanswered(_) => Changed::Unknown,
            ErrorCode::Refused(_)
            | ErrorCode::Closed(_)
            | ErrorCode::Protocol(_)
            | ErrorCode::Stalled
            | ErrorCode::Io(_)
            | ErrorCode::TooLarge(_)
            | ErrorCode::Invalid(_)
            | ErrorCode::CannotOpen(..)
            | ErrorCode::NoSession(_)
            | ErrorCode::Failed(_) => Changed::Unchanged,
        }
    }

    /// True when the same call may succeed later without anything else being done.
    pub fn is_retryable(&self) -> bool {
        match &self.0.code {
            ErrorCode::Refused(refusal) => refusal.code.is_retryable(),
            ErrorCode::Failed(changed) => changed
                .refusal
                .as_ref()
                .is_some_and(|refusal| refusal.code.is_retryable()),
            ErrorCode::Stalled | ErrorCode::NoSession(NoSession::Busy(_)) => true,
            ErrorCode::Closed(_)
            | ErrorCode::Protocol(_)
            | ErrorCode::Io(_)
            | ErrorCode::TooLarge(_)
            | ErrorCode::Invalid(_)
            | ErrorCode::CannotOpen(..)
            | ErrorCode::Uncertain(_)
            | ErrorCode::Unanswered(_)
            | ErrorCode::NoSession(
                NoSession::NotSet
                | NoSession::NotANumber
                | NoSession::NotOpen(_)
                | NoSession::Taken(_)
                | NoSession::NotASocket(_),
            ) => false,
        }
    }

    /// The verb that was refused, when it is known.
    pub fn verb(&self) -> Option<Verb> {
        self.refusal().and_then(|refusal| refusal.verb)
    }

    /// The rule that decided, when one did.
    pub fn rule(&self) -> Option<&Rule> {
        self.refusal().and_then(|refusal| refusal.rule.as_ref())
    }

    /// What waits for a decision, when an approval is what is missing: once it is approved, the
    /// very same request does what it asks for. The same call asked again before that is refused
    /// with the same number.
    pub fn proposal(&self) -> Option<ProposalId> {
        self.refusal().and_then(|refusal| refusal.proposal)
    }

    /// The object, as the worker wrote it, when it is known.
    pub fn object(&self) -> Option<&[u8]> {
        self.refusal()
            .and_then(|refusal| refusal.object.as_ref())
            .map(|object| object.as_slice())
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::new(ErrorCode::Refused(refusal))
    }
}

impl From<NoSession> for Error {
    fn from(reason: NoSession) -> Self {
        Self::new(ErrorCode::NoSession(reason))
    }
}

/// What every message of a call that changed nothing begins with.
const UNCHANGED: &str = "nothing was changed: ";
/// What every message of a call that leaves a doubt begins with.
const UNKNOWN: &str = "it is not known whether anything was changed: ";

impl fmt::Display for Error {
    /// One line for a person; says first whether anything was changed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.changed() {
            Changed::Unchanged => UNCHANGED,
            // Not given by any code of today: what is done is no error.
            Changed::Changed => "something was changed: ",
            Changed::Unknown => UNKNOWN,
        })?;
        self.0.code.fmt(f)
    }
}

/// The end of a change that was begun, for a person.
fn begun(changed: &session::Changed, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match &changed.refusal {
        Some(refusal) => write!(f, "{}", refusal.cause())?,
        None => f.write_str("the change did not come to its end")?,
    }
    write!(f, " (receipt {})", changed.receipt.number)
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let system = |number: &i32| std::io::Error::from_raw_os_error(*number);
        match self {
            Self::Refused(refusal) => write!(f, "{}", refusal.cause()),
            Self::Closed(None) => f.write_str("the session is over: the broker closed it"),
            Self::Closed(Some(closing)) => {
                write!(f, "the session is over: {}", closing_text(*closing))
            }
            Self::Protocol(violation) => write!(f, "the peer broke the protocol: {violation}"),
            Self::Stalled => f.write_str("the peer did not take the request in time; ask again"),
            Self::Io(number) => write!(f, "the connection failed: {}", system(number)),
            Self::TooLarge(bytes) => write!(f, "the request is too large ({bytes} bytes)"),
            Self::Invalid(what) => f.write_str(what),
            Self::CannotOpen(path, number) => write!(
                f,
                "cannot open `{}`: {}",
                escape(path.as_os_str().as_bytes()),
                system(number)
            ),
            Self::NoSession(reason) => reason.fmt(f),
            Self::Failed(changed) | Self::Uncertain(changed) => begun(changed, f),
            Self::Unanswered(cause) => write!(
                f,
                "the change was sent and not answered ({}); look at the files, or at the log",
                cause.0.code
            ),
        }
    }
}

/// Why the broker closed, for a person.
const fn closing_text(closing: Closing) -> &'static str {
    match closing {
        Closing::NotAFrame => "the broker was sent something that is no frame",
        Closing::NotReading => "its answers were not read in time",
        Closing::Incompatible => "the broker is of another version, or not the one expected",
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
#[path = "error/tests.rs"]
mod tests;
