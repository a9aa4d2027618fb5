//! The cage of a gate: what the kernel refuses it, each beside the same attempt without the cage,
//! which succeeds; what a real gate looks like from outside; and that no gate serves without one.

mod attempts;
mod fakes;
mod gate;

use std::sync::{Mutex, MutexGuard};

static ALONE: Mutex<()> = Mutex::new(());

/// One test at a time, so that every child of this process is the test's own.
fn alone() -> MutexGuard<'static, ()> {
    ALONE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Children of this process, dead ones that nobody reaped included.
fn children() -> Vec<u32> {
    let me = format!("PPid:\t{}", std::process::id());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap() {
        let name = entry.unwrap().file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        if status.lines().any(|line| line == me) {
            found.push(pid);
        }
    }
    found
}
