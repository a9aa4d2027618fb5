//! Why there is no connection to a warden.

use crate::error::Error;
use crate::place::PlaceError;
use std::fmt;
use std::path::PathBuf;

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
                write!(
                    f,
                    "{} sessions (gates {}{dots})",
                    many.len(),
                    named.join(", ")
                )
            }
        }
    }
}
