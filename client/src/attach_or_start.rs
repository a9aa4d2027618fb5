//! A user's one warden: found where it serves, or started.
//!
//! Runtimes of one user share a warden, so that they share its locks and its records. A newer
//! executable takes its place when it can: one that serves nobody else goes at once, one that does
//! is used as it is and goes when it is left. One that speaks another version of the protocol
//! cannot be used, and is waited for.

mod error;
mod process;
mod start;

pub use error::{Age, AttachOrStartError, Sessions, Tail};

use crate::control::Control;
use crate::error::{Error, ErrorCode, Violation};
use crate::place::{Knock, RuntimeDirectory, START_LOCK};
use portcullis_protocol::control::Build;
use portcullis_protocol::refusal::Code;
use process::{Process, children};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// How long a warden may take to answer, or to be started, unless something else is said.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a runtime finds or starts its user's warden.
#[derive(Debug, Clone)]
pub struct AttachOptions {
    /// The `portcullis` executable that is started when no warden serves, and whose age decides
    /// whether one that does is replaced. The gate's executable must be beside it.
    pub executable: PathBuf,
    /// The runtime directory; none is the user's own. See [`crate::place`].
    pub runtime: Option<PathBuf>,
    /// The state directory of a warden that is started; none is the user's own.
    pub state: Option<PathBuf>,
    /// How long all of it may take.
    pub patience: Duration,
}

impl AttachOptions {
    /// With the user's own places, and ten seconds.
    pub fn new(executable: impl Into<PathBuf>) -> Self {
        Self {
            executable: executable.into(),
            runtime: None,
            state: None,
            patience: PATIENCE,
        }
    }
}

/// A connection to the user's warden.
#[derive(Debug)]
pub struct Attached {
    /// The connection.
    pub control: Control,
    /// How it came about.
    pub how: Attachment,
}

/// How a connection to a warden came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attachment {
    /// A warden served already.
    Found,
    /// It was started.
    Started,
    /// One that is older than the executable serves others too. It is replaced when they have
    /// left.
    Older(Build),
}

impl Control {
    /// Connects to the user's warden, and starts it when none serves. Everything is over when
    /// `options.patience` is.
    pub fn attach_or_start(options: &AttachOptions) -> Result<Attached, AttachOrStartError> {
        let attempt = Attempt {
            place: RuntimeDirectory::open(options.runtime.as_deref())?,
            build: build_of(&options.executable)?,
            deadline: Instant::now() + options.patience,
            options,
        };
        if let Some(attached) = attempt.attach()? {
            return Ok(attached);
        }
        if attempt.is_over() {
            return Err(AttachOrStartError::TimedOut);
        }
        let _lock = attempt.place.lock(START_LOCK, attempt.deadline)?;
        // Who held it before may have started one.
        match attempt.attach()? {
            Some(attached) => Ok(attached),
            None => attempt.start(),
        }
    }

    /// Connects to the user's warden, when one serves.
    pub fn attach(runtime: Option<&Path>) -> Result<Option<Self>, AttachOrStartError> {
        let Some(place) = RuntimeDirectory::find(runtime)? else {
            return Ok(None);
        };
        match place.knock()? {
            Knock::Nobody => Ok(None),
            Knock::Answered(socket) => match greet(socket, Instant::now() + PATIENCE)? {
                Greeted::Control(control, _) => Ok(Some(*control)),
                Greeted::Going => Ok(None),
                Greeted::Silent => Err(AttachOrStartError::TimedOut),
                Greeted::OtherVersion(theirs) => Err(theirs.in_the_way(Build(u64::MAX))),
            },
        }
    }
}

impl Control {
    /// The process at the other end: the warden that listened; for one that is embedded, this
    /// process. None when it is gone.
    pub fn peer_process(&self) -> Option<i32> {
        let peer = rustix::net::sockopt::socket_peercred(self.as_fd()).ok()?;
        Some(peer.pid.as_raw_nonzero().get())
    }

    /// The gates of the warden at the other end: its child processes, as far as the kernel shows
    /// them.
    pub fn peer_gates(&self) -> Sessions {
        self.peer_process().map(children).unwrap_or_default()
    }
}

/// When the file of an executable was last modified.
fn build_of(path: &Path) -> Result<Build, AttachOrStartError> {
    let modified = std::fs::metadata(path).and_then(|file| file.modified());
    let age = modified.map(|time| time.duration_since(UNIX_EPOCH).unwrap_or_default());
    match age {
        Ok(age) => Ok(Build(u64::try_from(age.as_millis()).unwrap_or(u64::MAX))),
        Err(source) => Err(AttachOrStartError::Executable {
            path: path.to_path_buf(),
            source,
        }),
    }
}

/// One call's try to get a connection.
struct Attempt<'a> {
    place: RuntimeDirectory,
    build: Build,
    deadline: Instant,
    options: &'a AttachOptions,
}

impl Attempt<'_> {
    fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Connects, when one serves that can be used. An older one that serves nobody else is gone
    /// when this returns.
    fn attach(&self) -> Result<Option<Attached>, AttachOrStartError> {
        let socket = match self.place.knock()? {
            Knock::Nobody => return Ok(None),
            Knock::Answered(socket) => socket,
        };
        match greet(socket, self.deadline)? {
            Greeted::Going | Greeted::Silent => Ok(None),
            Greeted::Control(control, _) if control.build() >= self.build => Ok(Some(Attached {
                control: *control,
                how: Attachment::Found,
            })),
            Greeted::Control(control, process) => self.replace(*control, &process),
            Greeted::OtherVersion(theirs) => {
                self.make_go(&theirs)?;
                Ok(None)
            }
        }
    }

    fn replace(
        &self,
        mut control: Control,
        process: &Process,
    ) -> Result<Option<Attached>, AttachOrStartError> {
        match control.drain() {
            Ok(draining) if draining.connections > 1 => {
                let how = Attachment::Older(control.build());
                Ok(Some(Attached { control, how }))
            }
            Ok(_) => {
                drop(control);
                // One that takes long is met again by who is started, who waits for the records.
                process.wait_until(self.deadline);
                Ok(None)
            }
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Tells an older warden, with which no word can be exchanged, to drain, and waits for it.
    fn make_go(&self, theirs: &Process) -> Result<(), AttachOrStartError> {
        if theirs.build() < self.build {
            theirs.tell_to_drain();
            if theirs.wait_until(self.deadline) {
                return Ok(());
            }
        }
        Err(theirs.in_the_way(self.build))
    }
}

/// What came of a hello.
enum Greeted {
    Control(Box<Control>, Process),
    /// It took the connection and ended.
    Going,
    /// It listens and did not answer in time: it waits for the one before it.
    Silent,
    OtherVersion(Process),
}

fn greet(socket: OwnedFd, deadline: Instant) -> Result<Greeted, AttachOrStartError> {
    let Some(process) = Process::behind(&socket) else {
        return Ok(Greeted::Going);
    };
    let left = deadline.saturating_duration_since(Instant::now());
    // The kernel takes 0 for no end.
    wait_at_most(&socket, Some(left.max(Duration::from_millis(1))))?;
    match Control::new(socket) {
        Ok(control) => {
            wait_at_most(&control, None)?;
            Ok(Greeted::Control(Box::new(control), process))
        }
        Err(error) if *error.code() == ErrorCode::Stalled => Ok(Greeted::Silent),
        Err(error) if is_gone(&error) => Ok(Greeted::Going),
        // It has answered, so that the handle is its own.
        Err(error) if is_other_version(&error) => Ok(Greeted::OtherVersion(process)),
        Err(error) => Err(error.into()),
    }
}

fn wait_at_most(socket: &impl AsFd, time: Option<Duration>) -> Result<(), Error> {
    let kind = rustix::net::sockopt::Timeout::Recv;
    rustix::net::sockopt::set_socket_timeout(socket, kind, time)
        .map_err(|errno| Error::new(ErrorCode::Io(errno.raw_os_error())))
}

fn is_gone(error: &Error) -> bool {
    match error.code() {
        ErrorCode::Closed(_) => true,
        ErrorCode::Io(number) => {
            let gone = [rustix::io::Errno::CONNRESET, rustix::io::Errno::PIPE];
            gone.iter().any(|errno| errno.raw_os_error() == *number)
        }
        ErrorCode::Refused(_)
        | ErrorCode::Protocol(_)
        | ErrorCode::Stalled
        | ErrorCode::TooLarge(_)
        | ErrorCode::Invalid(_)
        | ErrorCode::CannotOpen(..)
        | ErrorCode::NoSession(_)
        | ErrorCode::Failed(_)
        | ErrorCode::Uncertain(_)
        | ErrorCode::Unanswered(_) => false,
    }
}

fn is_other_version(error: &Error) -> bool {
    match error.code() {
        ErrorCode::Refused(refusal) => matches!(
            refusal.code,
            Code::VersionMismatch | Code::UnsupportedVerb | Code::Malformed
        ),
        ErrorCode::Protocol(violation) => match violation {
            Violation::Version(_) | Violation::Undecodable(_) | Violation::WrongKind => true,
            Violation::TooLong
            | Violation::Descriptors
            | Violation::UnknownId(_)
            | Violation::Limits
            | Violation::Echo => false,
        },
        ErrorCode::Closed(_)
        | ErrorCode::Io(_)
        | ErrorCode::Stalled
        | ErrorCode::TooLarge(_)
        | ErrorCode::Invalid(_)
        | ErrorCode::CannotOpen(..)
        | ErrorCode::NoSession(_)
        | ErrorCode::Failed(_)
        | ErrorCode::Uncertain(_)
        | ErrorCode::Unanswered(_) => false,
    }
}

#[cfg(test)]
mod tests;
