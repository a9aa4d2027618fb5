//! Attempts from inside the cage, before the command runs. What is promised is observed.

use crate::sys::{self, Attempt};
use crate::worker::plan::{Probe, ProbeOutcome};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;

/// First Landlock ABI that keeps signals inside.
const SIGNAL_SCOPE_ABI: u32 = 6;

/// Makes every attempt. `launcher` is a process outside; `canary` a file of the worker's own user,
/// which only confinement protects; `abi` the kernel's Landlock ABI.
pub(in crate::worker) fn probe(launcher: i32, canary: &[u8], abi: u32) -> Vec<Probe> {
    let read = OFlags::RDONLY | OFlags::CLOEXEC;
    let list = rustix::fs::open("/", read | OFlags::DIRECTORY, Mode::empty()).map(drop);
    let file = rustix::fs::open(canary, read, Mode::empty()).map(drop);
    let mode = rustix::fs::chmod(canary, Mode::RUSR | Mode::WUSR);
    let mut probes = vec![
        told("list the root directory", list, Errno::ACCESS),
        told("read a file of the user", file, Errno::ACCESS),
        told("change a file's mode", mode, Errno::PERM),
    ];
    for (what, attempt) in [
        ("make a socket", Attempt::Socket),
        ("make a user namespace", Attempt::UserNamespace),
        ("trace the launcher", Attempt::Trace(launcher)),
        ("make an io_uring", Attempt::IoUring),
        ("watch file names", Attempt::Watch),
    ] {
        probes.push(told(what, sys::attempt(attempt), Errno::PERM));
    }
    probes.push(signal(launcher, abi));
    probes
}

/// A signal that does nothing, to a process outside. Older kernels let it pass: a gap.
fn signal(launcher: i32, abi: u32) -> Probe {
    let sent = match Pid::from_raw(launcher) {
        Some(pid) => rustix::process::test_kill_process(pid),
        None => Err(Errno::SRCH),
    };
    let probe = told("signal the launcher", sent, Errno::PERM);
    if abi < SIGNAL_SCOPE_ABI {
        return Probe {
            outcome: ProbeOutcome::Gap,
            ..probe
        };
    }
    probe
}

fn told(what: &str, outcome: Result<(), Errno>, expected: Errno) -> Probe {
    let outcome = match outcome {
        Ok(()) => ProbeOutcome::NotRefused(0),
        Err(error) if error == expected => ProbeOutcome::Refused,
        Err(error) => ProbeOutcome::NotRefused(error.raw_os_error()),
    };
    Probe {
        what: what.to_owned(),
        outcome,
    }
}
