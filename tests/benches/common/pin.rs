//! Who runs on which core. Unpinned results have two modes, which the scheduler chooses between.

use rustix::process::{Pid, getpid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Two cores this process may use; the second may be missing.
pub struct Cores {
    pub client: usize,
    pub other: Option<usize>,
}

/// Where the peers of the measuring thread run.
#[derive(Clone, Copy)]
pub enum Placement {
    /// On another core than it.
    Apart { peers: usize },
}

/// The last two cores that are allowed here: the first ones get most interrupts.
pub fn cores() -> Cores {
    let allowed = sched_getaffinity(None).unwrap();
    let mut last = (0..CpuSet::MAX_CPU)
        .rev()
        .filter(|core| allowed.is_set(*core));
    Cores {
        client: last.next().unwrap(),
        other: last.next(),
    }
}

/// Puts this thread, and all that is started from now on, on one core.
pub fn this_process(core: usize) {
    put(getpid(), core);
}

/// Puts the first thread of another process there. One that has ended needs no place.
pub fn put(process: Pid, core: usize) {
    let mut one = CpuSet::new();
    one.set(core);
    match sched_setaffinity(Some(process), &one) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => panic!("{process:?} cannot be put on core {core}: {error}"),
    }
}
