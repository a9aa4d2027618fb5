//! Time on processors, of any process.

use super::outcome;
use rustix::io::Errno;
use rustix::process::Pid;
use std::time::Duration;

/// What all threads of a process have used so far, those that ended included; of one that has ended
/// and was not waited for, all of it.
pub fn used(process: Pid) -> Result<Duration, Errno> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: writes the number of a clock to `clock`, which lives through the call. It gives an
    // error number, not -1. No safe call exists.
    let error =
        unsafe { libc::clock_getcpuclockid(process.as_raw_nonzero().get(), &raw mut clock) };
    if error != 0 {
        return Err(Errno::from_raw_os_error(error));
    }
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to `time`, which lives through the call. The safe call takes no such clock.
    outcome(unsafe { libc::clock_gettime(clock, &raw mut time) }.into())?;
    let seconds = u64::try_from(time.tv_sec).map_err(|_| Errno::RANGE)?;
    let nanos = u32::try_from(time.tv_nsec).map_err(|_| Errno::RANGE)?;
    Ok(Duration::new(seconds, nanos))
}
