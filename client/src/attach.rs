//! Handing a session to a child process.

use crate::error::Error;
use crate::session::Session;
use crate::sys;
use rustix::io::Errno;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;

/// The environment variable that holds the number of the session socket.
pub const SOCKET_VARIABLE: &str = "PORTCULLIS_SOCKET_FD";

/// Lowest number for the socket: those below are the child's standard streams, which are put in
/// place over whatever is there.
const FIRST_FREE: i32 = 3;

/// Why a session was not handed over.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// It has been used, and answers of it may belong here; it is given back.
    #[error("nothing was changed: the session has been used and cannot be handed over")]
    Greeted(Box<Session>),
    /// The socket could not be moved away from the standard streams. The session is gone.
    #[error("nothing was changed: the session socket could not be moved: {0}")]
    Moving(Errno),
}

/// Puts the socket into the child of `command` alone.
pub(crate) fn attach(socket: OwnedFd, command: &mut Command) -> Result<(), AttachError> {
    let socket = if socket.as_raw_fd() < FIRST_FREE {
        rustix::io::fcntl_dupfd_cloexec(&socket, FIRST_FREE).map_err(AttachError::Moving)?
    } else {
        socket
    };
    command.env(SOCKET_VARIABLE, socket.as_raw_fd().to_string());
    sys::inherit_in_child(socket, command);
    Ok(())
}

impl From<AttachError> for Error {
    fn from(error: AttachError) -> Self {
        Self::invalid(
            error
                .to_string()
                .trim_start_matches("nothing was changed: "),
        )
    }
}
