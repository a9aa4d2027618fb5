//! Where tests make a file system call fail, or the process end, so that what is promised of a
//! failure is seen and not believed. Nothing but a test's own executable arms it, before the cage
//! is closed; unarmed, each point is one relaxed load.

use rustix::io::Errno;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// What happens at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call fails with this error, once.
    Fail(Errno),
    /// The call and every later one of the effect fail with this error.
    FailFrom(Errno),
    /// The process ends before the call.
    Die,
    /// The process ends after the call.
    DieAfter,
    /// The process waits before the call until somebody ends it.
    Hang,
}

#[derive(Debug, Clone, Copy)]
struct Plan {
    nth: u32,
    fault: Fault,
}

static PLAN: OnceLock<Plan> = OnceLock::new();
/// Whether the thread that makes effects is making one, or keeps a part of an upload for one.
static WITHIN: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Makes the `nth` call (from 1) that an effect makes, its uploads included, meet `fault`. For
/// tests; once.
#[doc(hidden)]
pub fn arm(nth: u32, fault: Fault) {
    // A second plan is ignored: the first is what the test's name says.
    PLAN.set(Plan { nth, fault }).unwrap_or_default();
}

#[cfg(not(fuzzing))]
fn planned() -> Option<Plan> {
    PLAN.get().copied()
}

/// What a fuzzer planned last.
#[cfg(fuzzing)]
static AGAIN: std::sync::Mutex<Option<Plan>> = std::sync::Mutex::new(None);

/// The same as [`arm`], or none, for the effects from here on: a fuzzer plans for each.
#[cfg(fuzzing)]
pub fn arm_again(plan: Option<(u32, Fault)>) {
    COUNT.store(0, Ordering::Relaxed);
    if let Ok(mut again) = AGAIN.lock() {
        *again = plan.map(|(nth, fault)| Plan { nth, fault });
    }
}

#[cfg(fuzzing)]
fn planned() -> Option<Plan> {
    *AGAIN.lock().ok()?
}

/// Counts from here on: an effect begins, or a part of an upload is kept.
pub(crate) fn enter() {
    WITHIN.store(true, Ordering::Relaxed);
}

/// Counts no longer: it is over.
pub(crate) fn leave() {
    WITHIN.store(false, Ordering::Relaxed);
}

/// Makes a call, or what was planned in its place.
pub(super) fn point<T>(call: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    if !WITHIN.load(Ordering::Relaxed) {
        return call();
    }
    let Some(plan) = planned() else {
        return call();
    };
    let n = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    match plan.fault {
        Fault::Fail(errno) if n == plan.nth => Err(errno),
        Fault::FailFrom(errno) if n >= plan.nth => Err(errno),
        Fault::Die if n == plan.nth => std::process::abort(),
        Fault::DieAfter if n == plan.nth => {
            drop(call());
            std::process::abort()
        }
        Fault::Hang if n == plan.nth => loop {
            std::thread::park();
        },
        Fault::Fail(_) | Fault::FailFrom(_) | Fault::Die | Fault::DieAfter | Fault::Hang => call(),
    }
}
