//! Ledger endpoint: between a gate and the warden that started it. The warden treats a gate as
//! untrusted: same codec, same limits.

use crate::authority::Authority;
use crate::bounded::{Bytes, Text};
use crate::frame::messages;
use crate::limits::{PATH_BYTES_MAX, REASON_BYTES_MAX};
use crate::refusal::Code;
use crate::session::{Incarnation, Limits, SessionId};
use crate::verb::Verb;
use serde::{Deserialize, Serialize};

/// Refusals of one session that are told one by one; the rest is counted.
pub const NOTES_MAX: usize = 64;

messages! {
    /// Warden to gate.
    pub enum Command: tag 0x4c, canonical false, content [] {
        /// First message: what to be. With it come the session socket, then one descriptor for
        /// each root of the authority, in order.
        0 = Setup(Setup),
    }
}

messages! {
    /// Gate to warden.
    pub enum Event: tag 0x4d, canonical true, content [] {
        /// The gate is caged and serves.
        0 = Ready(CageReport),
        /// A request was refused; at most [`NOTES_MAX`] of these.
        1 = Refused(RefusalNote),
        /// The session is over and this is what it did; last message.
        2 = Finished(Finished),
        /// The gate could not be caged, or broke; last message.
        3 = Fault(Fault),
    }
}

/// What a gate is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// What its session may do.
    pub authority: Authority,
    /// This broker.
    pub incarnation: Incarnation,
    /// This session.
    pub session: SessionId,
    /// What bounds the worker.
    pub limits: Limits,
    /// The user and group to become before anything else; none stays as it is.
    pub run_as: Option<RunAs>,
}

/// A user and group. Supplementary groups are always dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAs {
    /// User id.
    pub user: u32,
    /// Group id.
    pub group: u32,
}

/// The cage of a gate, as the gate observed it from inside after it was closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CageReport {
    /// The kernel's Landlock ABI.
    pub landlock_abi: u32,
    /// File system rights the kernel now refuses unless a rule gives them.
    pub landlock_handled: u64,
    /// Rules: one for each root or granted subtree.
    pub landlock_rules: u32,
    /// The kernel's word for the thread's seccomp mode; 2 is a filter.
    pub seccomp_mode: u32,
    /// blake3 of the filter program.
    pub seccomp_digest: [u8; 32],
    /// Whether `no_new_privs` is set.
    pub no_new_privs: u32,
    /// Effective, permitted and inheritable capabilities, all or-ed together; ambient ones are
    /// always permitted ones too.
    pub capabilities: u64,
    /// Whether the process can be dumped or traced by its own user.
    pub dumpable: u32,
    /// User id.
    pub user: u32,
    /// Group id.
    pub group: u32,
    /// Attempts made from inside that a cage must refuse, and were refused.
    pub probes_refused: u32,
    /// Such attempts made.
    pub probes_made: u32,
}

impl CageReport {
    /// True when nothing of the cage is missing.
    pub fn is_whole(&self) -> bool {
        self.landlock_abi >= LANDLOCK_ABI_MIN
            && self.landlock_handled != 0
            && self.seccomp_mode == 2
            && self.no_new_privs == 1
            && self.capabilities == 0
            && self.dumpable == 0
            && self.probes_made > 0
            && self.probes_refused == self.probes_made
    }
}

/// Lowest Landlock ABI a gate accepts: 3 (Linux 6.2) is the first that also refuses to truncate.
pub const LANDLOCK_ABI_MIN: u32 = 3;

/// A refused request, for the runtime's summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalNote {
    /// What was asked.
    pub verb: Option<Verb>,
    /// On what, as the worker wrote it.
    pub object: Option<Bytes<PATH_BYTES_MAX>>,
    /// Why it was refused.
    pub code: Code,
    /// By which rule.
    pub rule: Option<Text<REASON_BYTES_MAX>>,
}

/// What a session did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Requests answered, refusals included; hello, ping and cancel are not counted.
    pub requests: u64,
    /// `stat` requests.
    pub stats: u64,
    /// `read` requests.
    pub reads: u64,
    /// `list` and `glob` requests.
    pub lists: u64,
    /// `search` requests.
    pub searches: u64,
    /// Refusals.
    pub refused: u64,
    /// Content of files sent, in bytes: of reads, and the lines of searches.
    pub bytes: u64,
}

/// The end of a session, by its gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// What it did.
    pub tally: Tally,
    /// How it ended.
    pub end: SessionEnd,
}

/// How a session ended, by its gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SessionEnd {
    /// The worker closed its socket.
    WorkerLeft,
    /// The worker broke the protocol or did not read.
    WorkerMisbehaved,
}

/// A gate that could not be, or broke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What the runtime's order to mint is refused with: [`Code::BadPattern`] when a denial cannot
    /// be compiled, else [`Code::NotConfined`].
    pub code: Code,
    /// What went wrong, for the runtime; may name host objects.
    pub what: Text<REASON_BYTES_MAX>,
}
