//! The mark of a gate: a file in memory that the gate writes into when it begins to change files, and
//! that is read when the gate is gone. A word on the ledger would wake the warden for each effect, to
//! tell it what matters of very few.

use crate::effect::Reached;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes of a number.
const BYTES: u64 = 8;

/// Holding one means: a file of eight bytes that stays one, and that one gate may write into.
#[derive(Debug)]
pub(crate) struct Mark(OwnedFd);

impl Mark {
    /// One that says nothing yet.
    pub(crate) fn new() -> Result<Self, Errno> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = match rustix::fs::memfd_create(NAME, flags | MemfdFlags::NOEXEC_SEAL) {
            // Before Linux 6.3.
            Err(Errno::INVAL) => rustix::fs::memfd_create(NAME, flags)?,
            made => made?,
        };
        rustix::fs::ftruncate(&file, BYTES)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok(Self(file))
    }

    /// How far the gate says that it is with the effect of this number. What cannot be read may
    /// have changed anything.
    pub(crate) fn reached(&self, effect: u64) -> Reached {
        let mut bytes = [0; 8];
        match rustix::io::pread(&self.0, &mut bytes, 0) {
            Ok(8) if u64::from_le_bytes(bytes) != effect => Reached::Begun,
            Ok(_) | Err(_) => Reached::Confirmed,
        }
    }
}

impl AsFd for Mark {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What it is called where descriptors are listed.
const NAME: &str = "portcullis-mark";
