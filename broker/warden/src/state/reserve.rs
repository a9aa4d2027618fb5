//! Room kept on the disk of the state, so that an effect that was begun can end when the disk is
//! full: a file of allocated blocks, which is given back when a receipt does not fit.
//!
//! In a log that only grows, a padded row keeps no room for what replaces it; blocks do.

use portcullis_protocol::limits::{DIFF_BYTES_MAX, EFFECT_BYTES_MAX};
use rustix::fs::FallocateFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What one receipt takes at most, in bytes: its body and columns, its difference, and the pages
/// of the log around them.
const PER_EFFECT: u64 = 4 * (EFFECT_BYTES_MAX + DIFF_BYTES_MAX) as u64;
/// Effects for which there is room from the start.
const STEP: u64 = 8;

#[derive(Debug)]
pub(super) struct Reserve {
    file: File,
    /// Effects that fit.
    room: u64,
}

impl Reserve {
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(directory.join("reserve"))?;
        Ok(Self { file, room: 0 })
    }

    /// Keeps room for this many effects at least, or says why it cannot.
    pub(super) fn keep(&mut self, effects: u64) -> io::Result<()> {
        if effects > self.room {
            let room = effects.div_ceil(STEP) * STEP;
            rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, room * PER_EFFECT)?;
            self.room = room;
        }
        Ok(())
    }

    /// Gives all of it back.
    pub(super) fn release(&mut self) -> io::Result<()> {
        self.room = 0;
        self.file.set_len(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn room_is_allocated_in_steps_and_given_back_whole() {
        let dir = TempDir::new();
        let mut reserve = Reserve::open(dir.path()).unwrap();
        let allocated = || {
            let seen = std::fs::metadata(dir.path().join("reserve")).unwrap();
            seen.blocks() * 512
        };
        reserve.keep(1).unwrap();
        let first = allocated();
        assert!(first >= STEP * PER_EFFECT, "blocks, not a hole: {first}");
        reserve.keep(STEP).unwrap();
        assert_eq!(allocated(), first);
        reserve.keep(STEP + 1).unwrap();
        assert!(allocated() >= 2 * STEP * PER_EFFECT);
        reserve.release().unwrap();
        assert_eq!(allocated(), 0);
        reserve.keep(1).unwrap();
        assert!(allocated() >= STEP * PER_EFFECT);
    }
}
