//! The directory of a state: made, checked, and taken by one warden.

use super::{DATABASE, StateError};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often the lock of old gates is tried again.
const AGAIN: Duration = Duration::from_millis(10);

/// Where the state is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatePlace {
    /// In this directory, which is made if it is not there. It outlives the warden.
    At(PathBuf),
    /// In a directory of its own below the system's one for temporary files, which is removed
    /// when the warden ends: receipts are written and read like any, and nobody has them
    /// afterwards. What the warden cannot remove, because it was killed, stays.
    Private,
}

/// Where a user's state usually is: `$XDG_STATE_HOME/portcullis`, else
/// `~/.local/state/portcullis`; root's is `/var/lib/portcullis`. None where no home is known.
pub fn usual_state() -> Option<PathBuf> {
    if rustix::process::geteuid().is_root() {
        return Some(PathBuf::from("/var/lib/portcullis"));
    }
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .map(|state| state.join("portcullis"))
}

/// A taken directory.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    lifetime: Lifetime,
    /// Held until dropped.
    _lock: File,
    gates: OwnedFd,
}

#[derive(Debug)]
enum Lifetime {
    Stays,
    EndsWithWarden,
}

impl Drop for Place {
    fn drop(&mut self) {
        match self.lifetime {
            Lifetime::Stays => {}
            // What cannot be removed stays, as said of [`StatePlace::Private`].
            Lifetime::EndsWithWarden => drop(std::fs::remove_dir_all(&self.path)),
        }
    }
}

impl Place {
    pub(super) fn take(place: &StatePlace, gates: Duration) -> Result<Self, StateError> {
        let (path, lifetime) = match place {
            StatePlace::At(path) => (path.clone(), Lifetime::Stays),
            StatePlace::Private => (private()?, Lifetime::EndsWithWarden),
        };
        let failed = |what| {
            let path = path.clone();
            move |source| StateError::Files { path, what, source }
        };
        let directory = make(&path).map_err(failed("its directory"))?;
        check_own(&path, &directory)?;
        let lock = lock(&path)?;
        let gates = gates_gone(&path, gates)?;
        file(&path.join(DATABASE)).map_err(failed("its database"))?;
        Ok(Self {
            path,
            lifetime,
            _lock: lock,
            gates,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    pub(super) fn gates(&self) -> &OwnedFd {
        &self.gates
    }
}

/// A new directory that nobody else can have made.
fn private() -> Result<PathBuf, StateError> {
    let mut random = [0u8; 16];
    let path = std::env::temp_dir();
    let made = File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut random))
        .and_then(|()| {
            let path = path.join(format!(
                "portcullis-state-{:032x}",
                u128::from_le_bytes(random)
            ));
            DirBuilder::new().mode(0o700).create(&path).map(|()| path)
        });
    made.map_err(|source| StateError::Files {
        path,
        what: "a private directory",
        source,
    })
}

fn make(path: &Path) -> io::Result<OwnedFd> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// The directory must be this user's; one that others may enter is closed to them.
fn check_own(path: &Path, directory: &OwnedFd) -> Result<(), StateError> {
    let failed = |errno: Errno| StateError::Files {
        path: path.to_owned(),
        what: "its directory",
        source: errno.into(),
    };
    let stat = rustix::fs::fstat(directory).map_err(failed)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(StateError::Foreign {
            path: path.to_owned(),
            owner: stat.st_uid,
        });
    }
    if Mode::from_raw_mode(stat.st_mode).intersects(Mode::RWXG | Mode::RWXO) {
        rustix::fs::fchmod(directory, Mode::RWXU).map_err(failed)?;
    }
    Ok(())
}

/// Opens one of the state's own files, and makes it; no link is followed.
fn file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
}

fn lock(path: &Path) -> Result<File, StateError> {
    let failed = |source| StateError::Files {
        path: path.to_owned(),
        what: "its lock",
        source,
    };
    let mut lock = file(&path.join("lock")).map_err(failed)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let mut holder = String::new();
            lock.read_to_string(&mut holder).map_err(failed)?;
            let holder = holder.trim();
            let known = !holder.is_empty() && holder.bytes().all(|b| b.is_ascii_digit());
            return Err(StateError::InUse {
                path: path.to_owned(),
                holder: if known { holder } else { "unknown" }.to_owned(),
            });
        }
        Err(errno) => return Err(failed(errno.into())),
    }
    let written = lock
        .set_len(0)
        .and_then(|()| lock.rewind())
        .and_then(|()| writeln!(lock, "{}", std::process::id()));
    written.map_err(failed)?;
    Ok(lock)
}

/// The lock of all gates, once no gate of another warden holds it. Every gate shares the open file
/// of its warden, so that the kernel gives it to a successor when the last of them is gone.
fn gates_gone(path: &Path, wait: Duration) -> Result<OwnedFd, StateError> {
    let failed = |source| StateError::Files {
        path: path.to_owned(),
        what: "the lock of its gates",
        source,
    };
    let name = path.join("gates.lock");
    file(&name).map_err(failed)?;
    // Not opened for writing: gates hold it.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let gates = rustix::fs::open(&name, flags, Mode::empty()).map_err(|e| failed(e.into()))?;
    let end = Instant::now() + wait;
    loop {
        match flock(&gates, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(gates),
            Err(Errno::WOULDBLOCK) if Instant::now() < end => std::thread::sleep(AGAIN),
            Err(Errno::WOULDBLOCK) => {
                return Err(StateError::OldGates {
                    path: path.to_owned(),
                });
            }
            Err(errno) => return Err(failed(errno.into())),
        }
    }
}
