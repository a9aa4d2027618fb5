//! What the launcher tells the process that becomes the worker, and what that one answers.

use serde::{Deserialize, Serialize};

/// Everything the confined process needs to know. It is made by the launcher alone: nothing of it
/// comes from the worker, and the descriptors travel beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// The executable, as an absolute path.
    pub(super) program: Vec<u8>,
    /// Its arguments, the command's own name first.
    pub(super) arguments: Vec<Vec<u8>>,
    /// Its whole environment.
    pub(super) environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// The private directory, and where it starts.
    pub(super) private: Vec<u8>,
    /// A file of the same user that it must not be able to open.
    pub(super) canary: Vec<u8>,
    /// Directories and files it may read and execute.
    pub(super) runtime: Vec<Vec<u8>>,
    /// Files it may read.
    pub(super) readable: Vec<Vec<u8>>,
    /// The launcher's process id.
    pub(super) launcher: i32,
    /// Whether it stays in the launcher's session.
    pub(super) terminal: Terminal,
}

/// Whether the worker has a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Terminal {
    /// One of its standard descriptors is one: it stays in the foreground group, so that reading
    /// and keys work.
    Passed,
    /// None is: it gets a session of its own.
    None,
}

/// One packet from the confined process. The channel closes by itself when the command runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Status {
    /// It is confined; the command is executed next.
    Confined(Report),
    /// It could not be confined; no command runs.
    NotConfined(String),
    /// It was confined, but the command could not be executed: the kernel's error number.
    NotExecuted(i32),
}

/// The confinement of a worker, as it was observed from inside before the command ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The kernel's Landlock ABI.
    pub landlock_abi: u32,
    /// Landlock file system rights that are refused unless a rule gives them, as bits.
    pub landlock_handled: u64,
    /// Landlock rules.
    pub landlock_rules: u32,
    /// Runtime paths that do not exist on this host and got no rule.
    pub runtime_absent: u32,
    /// Instructions of the seccomp programs.
    pub seccomp_instructions: u32,
    /// The kernel's word for the seccomp mode; 2 is a filter.
    pub seccomp_mode: u32,
    /// Whether `no_new_privs` is set: 1 when it is.
    pub no_new_privs: u32,
    /// Effective, permitted and inheritable capabilities, or-ed together.
    pub capabilities: u64,
    /// The bounding set; it can be emptied only by a process that has `CAP_SETPCAP`.
    pub bounding: Bounding,
    /// The attempts that were made from inside.
    pub probes: Vec<Probe>,
}

/// The capability bounding set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bounding {
    /// Emptied.
    Empty,
    /// Left as it was. `no_new_privs` and empty sets make it without effect.
    Kept,
}

/// One attempt that confinement must refuse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// What was tried, for people.
    pub what: String,
    /// What came of it.
    pub outcome: ProbeOutcome,
}

/// What came of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeOutcome {
    /// Refused as expected.
    Refused,
    /// It succeeded, or failed for another reason than confinement (0 and the error number).
    NotRefused(i32),
    /// This kernel cannot refuse it: a gap, which is told.
    Gap,
}

impl Report {
    /// True when nothing that confinement promises is missing.
    pub fn is_whole(&self) -> bool {
        self.landlock_abi >= portcullis_protocol::ledger::LANDLOCK_ABI_MIN
            && self.landlock_handled != 0
            && self.seccomp_mode == 2
            && self.no_new_privs == 1
            && self.capabilities == 0
            && !self.probes.is_empty()
            && self.broken().next().is_none()
    }

    /// The probes that were not refused and should have been.
    pub fn broken(&self) -> impl Iterator<Item = &Probe> {
        self.probes.iter().filter(|probe| match probe.outcome {
            ProbeOutcome::NotRefused(_) => true,
            ProbeOutcome::Refused | ProbeOutcome::Gap => false,
        })
    }
}
