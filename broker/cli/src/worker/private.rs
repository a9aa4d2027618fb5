//! The worker's private directory: fresh, its user's alone, removed when the run is over.

use rustix::io::Errno;
use std::fmt::Write as _;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A directory below the system's temporary one. Below it lie the worker's directory and a file
/// that the worker must not be able to open.
#[derive(Debug)]
pub(crate) struct PrivateDirectory {
    base: PathBuf,
    inside: PathBuf,
    canary: PathBuf,
}

impl PrivateDirectory {
    /// Makes one.
    pub(crate) fn new() -> io::Result<Self> {
        let mut random = [0_u8; 8];
        match rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()) {
            Ok(8) => {}
            Ok(_) => return Err(Errno::IO.into()),
            Err(error) => return Err(error.into()),
        }
        let mut name = String::from("portcullis-");
        for byte in random {
            // Writing to a string does not fail.
            write!(name, "{byte:02x}").map_err(io::Error::other)?;
        }
        let base = std::path::absolute(std::env::temp_dir())?.join(name);
        DirBuilder::new().mode(0o700).create(&base)?;
        let made = Self {
            inside: base.join("tmp"),
            canary: base.join("outside"),
            base,
        };
        DirBuilder::new().mode(0o700).create(&made.inside)?;
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&made.canary)?;
        Ok(made)
    }

    /// The worker's own directory.
    pub(crate) fn inside(&self) -> &Path {
        &self.inside
    }

    /// The file it must not be able to open.
    pub(super) fn canary(&self) -> &Path {
        &self.canary
    }

    /// Removes everything.
    pub(super) fn remove(self) -> io::Result<()> {
        std::fs::remove_dir_all(&self.base)
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // After `remove` there is nothing left. On the ways out that do not call it the directory
        // is empty but for the canary, and a failure leaves only that.
        drop(std::fs::remove_dir_all(&self.base));
    }
}
