//! Why a place cannot be used.

use std::path::PathBuf;

/// Why a place cannot be used. No file of a root was changed.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The host has no place for it.
    #[error(
        "there is no runtime directory: XDG_RUNTIME_DIR is not set and /run/user/{0} is not there; set \
         XDG_RUNTIME_DIR to a directory of your own (`mkdir -m 700 DIR`), or use --embedded"
    )]
    NoRuntimeDirectory(u32),
    /// The place that was named for it is not there.
    #[error(
        "XDG_RUNTIME_DIR is {0}, which is not there; set it to a directory of your own (`mkdir -m \
         700 DIR`), or use --embedded"
    )]
    NoSuchRuntimeDirectory(PathBuf),
    /// The host has no place for it.
    #[error("there is no state directory: set HOME or XDG_STATE_HOME, or name one with --state")]
    NoStateDirectory,
    /// A variable of the environment is no absolute path.
    #[error("{0} is no absolute path: set it to one, or unset it")]
    Relative(&'static str),
    /// The directory is not fit.
    #[error("{path}: {unfit}")]
    Unfit {
        /// The directory, or the name in it.
        path: PathBuf,
        /// What is wrong with it.
        unfit: Unfit,
    },
    /// The kernel refused.
    #[error("{path}: {source}")]
    System {
        /// On what.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Someone else held the lock all the time.
    #[error("{0} is held by another process, which takes too long")]
    Locked(PathBuf),
}

/// What is wrong with a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A link or a file.
    #[error("it is not a directory (a link to one is none)")]
    NotADirectory,
    /// Another user's.
    #[error(
        "it belongs to uid {0}, not to uid {ours}",
        ours = rustix::process::geteuid().as_raw()
    )]
    Foreign(u32),
    /// Others may enter it.
    #[error("others may use it (mode {0:04o}): `chmod 700` it")]
    Open(u32),
    /// Something that is no socket has the name of the socket.
    #[error("it is not a socket; nothing was removed: look at it, and remove it yourself")]
    NotASocket,
}
