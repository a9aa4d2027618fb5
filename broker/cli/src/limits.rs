//! How many descriptors a process that holds a warden may have.

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};

/// Fewest descriptors a warden must be able to have. Those of its user that wait in sockets are
/// counted together, against the limit of whoever sends one more: a worker has fewer than a gate,
/// and a gate fewer than this, so that neither can bring a warden to where it cannot send its own.
pub(crate) const DESCRIPTORS_MIN: u64 = 4096;

/// Why there are too few.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LimitError {
    /// The hard limit is too low.
    #[error(
        "this process may have {0} descriptors at most, and a broker needs {DESCRIPTORS_MIN}: raise \
         the hard limit (`ulimit -Hn`)"
    )]
    Few(u64),
    /// The kernel refused.
    #[error("the limit on descriptors: {0}")]
    Kernel(Errno),
}

/// The most this process may have.
pub(crate) fn most_descriptors() -> u64 {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    limit.maximum.unwrap_or(u64::MAX)
}

/// Raises the limit as far as it goes.
pub(crate) fn raise_descriptors() -> Result<(), LimitError> {
    let most = most_descriptors();
    if most < DESCRIPTORS_MIN {
        return Err(LimitError::Few(most));
    }
    let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    rustix::process::setrlimit(Resource::Nofile, raised).map_err(LimitError::Kernel)
}
