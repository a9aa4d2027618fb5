//! What an embedder decides: where the gate's executable is, and what bounds its sessions.

use portcullis_protocol::limits::{
    CONTENT_BYTES_MAX, FRAME_BYTES_MAX, IN_FLIGHT_MAX, SEND_DEADLINE_MS, STREAMS_MAX,
};
use portcullis_protocol::session::Limits;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// Where the executable of gates is. It is opened once, when the warden starts; what replaces the
/// file later is not picked up. `PATH` is never asked.
#[derive(Debug)]
pub enum GateExecutable {
    /// `portcullis-gate`, in the directory of the running executable.
    Beside,
    /// This file.
    At(PathBuf),
    /// The open file of this descriptor, however it was opened.
    Open(OwnedFd),
}

/// What an embedder decides.
#[derive(Debug)]
pub struct Config {
    /// The gate's executable.
    pub gate: GateExecutable,
    /// What bounds every worker.
    pub limits: Limits,
    /// How long a gate may take from the order to mint until it is caged; then nothing is minted.
    pub mint_deadline: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            gate: GateExecutable::Beside,
            limits: default_limits(),
            mint_deadline: Duration::from_secs(10),
        }
    }
}

/// The limits of the protocol itself: the most any worker may be allowed.
pub fn default_limits() -> Limits {
    let bytes = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Limits {
        frame_bytes: bytes(FRAME_BYTES_MAX),
        content_bytes: bytes(CONTENT_BYTES_MAX),
        in_flight: IN_FLIGHT_MAX,
        streams: STREAMS_MAX,
        // What `portcullis_transport::pair` makes room for.
        in_flight_bytes: bytes(4 * FRAME_BYTES_MAX),
        send_deadline_ms: SEND_DEADLINE_MS,
    }
}
