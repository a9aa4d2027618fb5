//! The broker a command works with: the user's own, or one inside this process.

use crate::args::SeatChoice;
use crate::limits::{LimitError, raise_descriptors};
use crate::worker::OWN_EXECUTABLE;
use portcullis_client::place::{PlaceError, state_directory};
use portcullis_client::{AttachOptions, AttachOrStartError, Attachment, Control, Error};
use portcullis_protocol::path::escape;
use portcullis_warden::{Config, Embedded, GateExecutable, StatePlace};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A warden, and a control connection to it.
#[derive(Debug)]
pub(crate) struct Broker {
    pub(crate) control: Control,
    seat: Seat,
}

/// Where the warden is.
#[derive(Debug)]
enum Seat {
    /// The user's own.
    Shared(Attachment),
    /// In this process: its sessions end with it. Its records stay where they are, or go with it.
    Embedded {
        _warden: Embedded,
        records: Option<PathBuf>,
    },
}

/// Why there is no broker. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BrokerError {
    /// The user's own cannot be reached.
    #[error(transparent)]
    Attach(#[from] AttachOrStartError),
    /// A place is not fit.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// One of this process did not start.
    #[error(transparent)]
    Warden(#[from] portcullis_warden::StartError),
    /// This process could not hold one.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// It refuses this process.
    #[error(transparent)]
    Refused(#[from] Error),
    /// The new directory for its records cannot be made.
    #[error("{path}: {source}")]
    Records {
        /// The directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl Broker {
    /// The one that was asked for. Signals the caller waits for must be blocked before, because one
    /// in this process has threads.
    pub(crate) fn seated(choice: SeatChoice<'_>) -> Result<Self, BrokerError> {
        match choice {
            SeatChoice::Shared { socket } => {
                let mut options = AttachOptions::new(OWN_EXECUTABLE);
                options.runtime = socket.map(Path::to_path_buf);
                let attached = Control::attach_or_start(&options)?;
                Ok(Self {
                    control: attached.control,
                    seat: Seat::Shared(attached.how),
                })
            }
            SeatChoice::Embedded { state, gate } => {
                raise_descriptors()?;
                let records = match state {
                    Some(named) => state_directory(Some(named))?,
                    None => fresh_records()?,
                };
                Self::embedded(gate, StatePlace::At(records.clone()), Some(records))
            }
        }
    }

    /// One in this process that leaves no records, to ask it something.
    pub(crate) fn to_ask(gate: Option<&Path>) -> Result<Self, BrokerError> {
        Self::embedded(gate, StatePlace::Private, None)
    }

    fn embedded(
        gate: Option<&Path>,
        state: StatePlace,
        records: Option<PathBuf>,
    ) -> Result<Self, BrokerError> {
        let warden = Embedded::start(config(gate, state))?;
        let socket = warden.connect()?;
        Ok(Self {
            control: Control::new(socket)?,
            seat: Seat::Embedded {
                _warden: warden,
                records,
            },
        })
    }

    /// What `portcullis log` must be told to find the records: nothing for those of the user's own.
    pub(crate) fn where_records(&self) -> String {
        match &self.seat {
            Seat::Shared(_) | Seat::Embedded { records: None, .. } => String::new(),
            Seat::Embedded {
                records: Some(path),
                ..
            } => format!(" --state {}", quoted(path)),
        }
    }

    /// What should be known about it.
    pub(crate) fn remark(&self) -> Option<&'static str> {
        match &self.seat {
            Seat::Shared(Attachment::Older(_)) => Some(
                "the broker is older than this command and serves other runs; it is replaced when \
                 they have ended",
            ),
            Seat::Shared(Attachment::Found | Attachment::Started) | Seat::Embedded { .. } => None,
        }
    }
}

/// What a warden is started with.
pub(crate) fn config(gate: Option<&Path>, state: StatePlace) -> Config {
    Config {
        gate: gate.map_or(GateExecutable::Beside, |path| {
            GateExecutable::At(path.to_path_buf())
        }),
        state,
        ..Config::default()
    }
}

/// The directory below the state directory where the records of embedded brokers are, each in a
/// directory of its own.
pub(crate) const EMBEDDED: &str = "embedded";

/// A new directory for the records of one run, named by its time and process, so that the latest
/// is the last by name.
fn fresh_records() -> Result<PathBuf, BrokerError> {
    let now = crate::time::Time::now();
    let name = format!("{}-{}", now.compact(), std::process::id());
    let parent = state_directory(None)?.join(EMBEDDED);
    let path = parent.join(name);
    match state_directory(Some(&path)) {
        Ok(path) => Ok(path),
        Err(PlaceError::System { path, source }) => Err(BrokerError::Records { path, source }),
        Err(error) => Err(error.into()),
    }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = escape(path.as_os_str().as_bytes());
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    if text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
