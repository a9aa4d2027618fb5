//! A user's one warden: found where it serves, or started.
//!
//! Runtimes of one user share a warden, so that they share its locks and its records. A newer
//! executable takes its place when it can: one that serves nobody else goes at once, one that does
//! is used as it is and goes when it is left. One that speaks another version of the protocol
//! cannot be used, and is waited for.

mod start;

use crate::control::Control;
use crate::error::{Error, ErrorCode, Violation};
use crate::place::{Knock, PlaceError, RuntimeDirectory, START_LOCK};
use portcullis_protocol::control::Build;
use portcullis_protocol::refusal::Code;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fmt;
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

/// Why there is no connection. No file of a root was changed.
#[derive(Debug, thiserror::Error)]
pub enum AttachOrStartError {
    /// A place is not fit.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The executable cannot be used.
    #[error("{path}: {source}")]
    Executable {
        /// The executable.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The warden that serves refuses this process, or broke the connection.
    #[error(transparent)]
    Refused(#[from] Error),
    /// The warden that was started ended, or did not answer in time.
    #[error("the broker did not start: {why}{tail}")]
    NotStarted {
        /// What became of it.
        why: String,
        /// What it said last, if it said anything.
        tail: Tail,
    },
    /// The warden that serves speaks another version of the protocol.
    #[error(
        "a broker of another version serves (process {process}, {age} than this one) and has \
         {sessions} running: end what uses them, or use --embedded"
    )]
    OtherVersion {
        /// Its process id.
        process: i32,
        /// Whether it is older or newer.
        age: Age,
        /// Its sessions.
        sessions: Sessions,
    },
    /// One after the other went away.
    #[error("no broker could be reached in time; use --embedded to do without")]
    TimedOut,
}

/// The end of a log, for an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tail(pub(crate) String);

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            Ok(())
        } else {
            write!(f, "; it said: {}", self.0)
        }
    }
}

/// Which of two executables is newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// It is older than this one.
    Older,
    /// It is newer, or that is not known.
    Newer,
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Older => "older",
            Self::Newer => "newer",
        })
    }
}

/// The sessions of a warden that cannot be asked, by the processes of their gates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sessions(pub Vec<i32>);

impl fmt::Display for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("no session"),
            [one] => write!(f, "one session (gate {one})"),
            many => {
                let named: Vec<String> = many.iter().take(16).map(ToString::to_string).collect();
                let dots = if many.len() > 16 { ", …" } else { "" };
                write!(f, "{} sessions (gates {}{dots})", many.len(), named.join(", "))
            }
        }
    }
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
            // Fails only for one that has ended.
            pidfd_send_signal(&theirs.handle, Signal::TERM).ok();
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

/// The warden at the other end of a socket.
struct Process {
    number: Pid,
    handle: OwnedFd,
}

impl Process {
    /// None when it is gone already.
    fn behind(socket: &OwnedFd) -> Option<Self> {
        let number = rustix::net::sockopt::socket_peercred(socket).ok()?.pid;
        let handle = pidfd_open(number, PidfdFlags::empty()).ok()?;
        Some(Self { number, handle })
    }

    /// Waits until it has ended, or `deadline`; whether it has.
    fn wait_until(&self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut polled = [PollFd::from_borrowed_fd(self.handle.as_fd(), PollFlags::IN)];
        matches!(rustix::event::poll(&mut polled, Some(&timeout)), Ok(1..))
    }

    fn raw(&self) -> i32 {
        self.number.as_raw_nonzero().get()
    }

    /// How new its executable is; one that cannot be looked at counts as newest, so that it is
    /// left alone.
    fn build(&self) -> Build {
        let own = PathBuf::from(format!("/proc/{}/exe", self.raw()));
        build_of(&own).unwrap_or(Build(u64::MAX))
    }

    fn in_the_way(&self, than: Build) -> AttachOrStartError {
        AttachOrStartError::OtherVersion {
            process: self.raw(),
            age: if self.build() < than {
                Age::Older
            } else {
                Age::Newer
            },
            sessions: children(self.raw()),
        }
    }
}

fn children(process: i32) -> Sessions {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
    let mut children = Vec::new();
    for task in tasks.into_iter().flatten().flatten() {
        let listed = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let numbers = listed.split_whitespace();
        children.extend(numbers.filter_map(|number| number.parse::<i32>().ok()));
    }
    children.sort_unstable();
    Sessions(children)
}

fn is_gone(error: &Error) -> bool {
    match error.code() {
        ErrorCode::Closed(_) => true,
        ErrorCode::Io(number) => {
            let gone = [rustix::io::Errno::CONNRESET, rustix::io::Errno::PIPE];
            gone.iter().any(|errno| errno.raw_os_error() == *number)
        }
        _ => false,
    }
}

fn is_other_version(error: &Error) -> bool {
    match error.code() {
        ErrorCode::Refused(refusal) => matches!(
            refusal.code,
            Code::VersionMismatch | Code::UnsupportedVerb | Code::Malformed
        ),
        ErrorCode::Protocol(
            Violation::Version(_) | Violation::Undecodable(_) | Violation::WrongKind,
        ) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
