//! What an embedder decides: where the gate's executable and the state are, whom it serves, and
//! what bounds its sessions.

use crate::decider::Deciders;
use crate::state::StatePlace;
use portcullis_protocol::control::{Build, Sharing};
use portcullis_protocol::limits::{
    CONTENT_BYTES_MAX, FRAME_BYTES_MAX, IN_FLIGHT_MAX, LOCK_HOLD_MS_MAX, LOCK_WAIT_MS_MAX,
    SEND_DEADLINE_MS, STREAMS_MAX,
};
use portcullis_protocol::session::Limits;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

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
    /// Where journal and receipts are.
    pub state: StatePlace,
    /// How long effects may take.
    pub deadlines: Deadlines,
    /// How new this executable is, for a runtime that has a newer one.
    pub build: Build,
    /// Whom it serves, for a runtime to know.
    pub sharing: Sharing,
    /// What is demanded of those who decide about what is asked for.
    pub deciders: Deciders,
}

/// How long each part of an effect may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// For the locks it needs; then it is refused as *contended* and nothing is held.
    pub lock_wait: Duration,
    /// From its begin to its end, while it holds locks; then its gate is killed and it is settled.
    pub lock_hold: Duration,
    /// To its end once its session is revoked; then its gate is killed and it is settled.
    pub finish: Duration,
    /// For an observer to say what is there; then the effect is *uncertain*.
    pub settle: Duration,
    /// For a gate to work out what an operation is bound to, and for another to begin it once it is
    /// approved; then there is no proposal, and nothing is done.
    pub propose: Duration,
    /// For the gates of the warden before to be gone; then the warden does not start.
    pub old_gates: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            lock_wait: Duration::from_millis(u64::from(LOCK_WAIT_MS_MAX)),
            lock_hold: Duration::from_millis(u64::from(LOCK_HOLD_MS_MAX)),
            finish: Duration::from_secs(5),
            settle: Duration::from_secs(10),
            propose: Duration::from_secs(30),
            old_gates: Duration::from_secs(10),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            gate: GateExecutable::Beside,
            limits: default_limits(),
            mint_deadline: Duration::from_secs(10),
            state: StatePlace::Private,
            deadlines: Deadlines::default(),
            build: own_build(),
            sharing: Sharing::Embedded,
            deciders: Deciders::default(),
        }
    }
}

/// How new the running executable is; 0 where that cannot be known.
pub fn own_build() -> Build {
    let modified = std::env::current_exe()
        .and_then(std::fs::metadata)
        .and_then(|seen| seen.modified());
    let since = modified
        .ok()
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    Build(since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }))
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
