//! What a worker's confinement amounts to, as boundaries: what is kept apart, by what, and what is
//! not. Made from what was observed, never from intent.

use crate::worker::{ProbeOutcome, Report};

/// One boundary that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Boundary {
    /// Its stable name.
    pub(super) name: &'static str,
    /// What is kept out.
    pub(super) what: &'static str,
    /// By which means.
    pub(super) by: &'static str,
}

/// Something that is not kept out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    /// Its stable name.
    pub(super) name: &'static str,
    /// What remains possible.
    pub(super) what: &'static str,
}

const BOUNDARIES: [Boundary; 9] = [
    Boundary {
        name: "contents",
        what: "reading, listing, creating and removing files of the host",
        by: "landlock",
    },
    Boundary {
        name: "metadata-changes",
        what: "changing modes, owners, times and attributes of any file",
        by: "seccomp",
    },
    Boundary {
        name: "watching",
        what: "watching directories for names (inotify, fanotify)",
        by: "seccomp",
    },
    Boundary {
        name: "local-sockets",
        what: "services of the host behind local sockets",
        by: "seccomp",
    },
    Boundary {
        name: "network",
        what: "every network",
        by: "seccomp",
    },
    Boundary {
        name: "tracing",
        what: "memory, descriptors, limits and scheduling of other processes",
        by: "landlock, seccomp",
    },
    Boundary {
        name: "kernel-surface",
        what: "io_uring, namespaces, mounts, keyrings, shared memory, bpf, foreign system calls",
        by: "seccomp",
    },
    Boundary {
        name: "privileges",
        what: "gaining any privilege",
        by: "no_new_privs, capabilities",
    },
    Boundary {
        name: "inheritance",
        what: "descriptors, files as standard streams, environment, signals of the caller",
        by: "launcher",
    },
];

const SIGNALS: Boundary = Boundary {
    name: "signals",
    what: "signals to other processes",
    by: "landlock",
};

const GAPS: [Gap; 4] = [
    Gap {
        name: "metadata-visible",
        what: "whether a path of the host exists, its type, size, times and owner, and where a \
               symbolic link points, can be seen where the user's own permissions allow it",
    },
    Gap {
        name: "runtime-readable",
        what: "what lies below the runtime paths can be read and executed",
    },
    Gap {
        name: "resources",
        what: "memory, processor time and disk space for the private directory are not bounded",
    },
    Gap {
        name: "survivors",
        what: "processes that the command leaves behind go on, without the session",
    },
];

const SIGNALS_GAP: Gap = Gap {
    name: "signals",
    what: "signals can be sent to other processes of the same user (Linux 6.12 closes this)",
};

/// The boundaries that hold.
pub(super) fn enforced(report: &Report) -> Vec<Boundary> {
    let mut all = BOUNDARIES.to_vec();
    if signals_pass(report) {
        return all;
    }
    all.push(SIGNALS);
    all
}

/// What is not kept out.
pub(super) fn gaps(report: &Report) -> Vec<Gap> {
    let mut all = GAPS.to_vec();
    if signals_pass(report) {
        all.push(SIGNALS_GAP);
    }
    all
}

fn signals_pass(report: &Report) -> bool {
    let gap = |outcome| match outcome {
        ProbeOutcome::Gap => true,
        ProbeOutcome::Refused | ProbeOutcome::NotRefused(_) => false,
    };
    report.probes.iter().any(|probe| gap(probe.outcome))
}
