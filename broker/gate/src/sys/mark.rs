//! The mark: a file in memory by which the warden knows, when the gate is gone, whether it had begun to
//! change files. No fault is put here: it is no file of a root.

use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// Says that the effect of this number changes files from here on.
pub fn set(mark: BorrowedFd<'_>, effect: u64) -> Result<(), Errno> {
    loop {
        match rustix::io::pwrite(mark, &effect.to_le_bytes(), 0) {
            Ok(8) => return Ok(()),
            Ok(_) => return Err(Errno::IO),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}
