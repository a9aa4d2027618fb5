//! Files' rules that were read before, as long as the files are the same.

use super::compiled::{Compiled, Live};
use super::hashed::Seed;
use crate::sys::file::read_at;
use crate::sys::open::observation;
use portcullis_protocol::limits::IGNORE_FILE_BYTES_MAX;
use portcullis_protocol::view::{Kind, Observation, Stamp, Timestamp};
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// Files of one generation.
const FILES_MAX: usize = 2048;
/// Memory of the rules of one generation, in bytes.
const SIZE_MAX: usize = 4 * 1024 * 1024;
/// Memory of all rules that anybody holds, in bytes; a file that goes over it is left out.
const LIVE_MAX: usize = 32 * 1024 * 1024;
/// How long a file must have stood still, in nanoseconds, before what was read of it is kept: a
/// change right after it was read may leave it with the same times.
const SETTLED_NS: i64 = 100_000_000;

/// A version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    stamp: Stamp,
    modified: Timestamp,
}

/// The rules of files by what they were read from. What was not asked for through a whole
/// generation is forgotten.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<Generations>);

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<(u64, u64), (Version, Arc<Compiled>)>,
    old: HashMap<(u64, u64), (Version, Arc<Compiled>)>,
    /// Memory of the young ones.
    size: usize,
}

/// Why no rule of a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unread;

impl Kept {
    /// The rules of an open file.
    pub(super) fn rules(
        &self,
        file: &OwnedFd,
        seed: Seed,
        live: &Live,
    ) -> Result<Arc<Compiled>, Unread> {
        let seen = observation(file).map_err(|_| Unread)?;
        match seen.kind {
            Kind::File => {}
            Kind::Directory
            | Kind::Link
            | Kind::Fifo
            | Kind::Socket
            | Kind::Device
            | Kind::Unknown => return Err(Unread),
        }
        let version = version(&seen);
        if let Some(known) = self.find(version) {
            return Ok(known);
        }
        let text = text(file, seen.stamp.size)?;
        let compiled = Arc::new(Compiled::new(&text, seed, live));
        if live.bytes() > LIVE_MAX {
            self.forget();
        }
        if live.bytes() > LIVE_MAX {
            return Err(Unread);
        }
        let after = observation(file).map_err(|_| Unread)?;
        if self::version(&after) == version && is_settled(after.stamp.changed) {
            self.keep(version, &compiled);
        }
        Ok(compiled)
    }

    fn find(&self, version: Version) -> Option<Arc<Compiled>> {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(&version);
        if let Some((known, compiled)) = generations.young.get(&key) {
            return (*known == version).then(|| Arc::clone(compiled));
        }
        let (known, compiled) = generations.old.remove(&key)?;
        if known != version {
            return None;
        }
        generations.add(version, &compiled);
        Some(compiled)
    }

    fn keep(&self, version: Version, compiled: &Arc<Compiled>) {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        generations.add(version, compiled);
    }

    fn forget(&self) {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *generations = Generations::default();
    }
}

impl Generations {
    fn add(&mut self, version: Version, compiled: &Arc<Compiled>) {
        if self.young.len() >= FILES_MAX || self.size + compiled.size > SIZE_MAX {
            self.old = std::mem::take(&mut self.young);
            self.size = 0;
        }
        let new = (version, Arc::clone(compiled));
        self.size += compiled.size;
        if let Some((_, before)) = self.young.insert(key(&version), new) {
            self.size = self.size.saturating_sub(before.size);
        }
    }
}

fn key(version: &Version) -> (u64, u64) {
    (version.stamp.device, version.stamp.inode)
}

fn version(seen: &Observation) -> Version {
    Version {
        stamp: seen.stamp,
        modified: seen.modified,
    }
}

fn is_settled(changed: Timestamp) -> bool {
    let now = clock_gettime(ClockId::Realtime);
    let seconds = now.tv_sec.saturating_sub(changed.seconds);
    let nanos = now.tv_nsec.saturating_sub(i64::from(changed.nanos));
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos) > SETTLED_NS
}

/// The text of a file, when it is not too large.
fn text(file: &OwnedFd, size: u64) -> Result<Vec<u8>, Unread> {
    if size > IGNORE_FILE_BYTES_MAX {
        return Err(Unread);
    }
    let mut room = usize::try_from(size).map_err(|_| Unread)?;
    let most = usize::try_from(IGNORE_FILE_BYTES_MAX).map_err(|_| Unread)?;
    loop {
        // One byte more, to see whether it ends there.
        let mut text = vec![0; room + 1];
        let count = read_at(file.as_fd(), &mut text, 0).map_err(|_| Unread)?;
        if count <= room {
            text.truncate(count);
            return Ok(text);
        }
        if room == most {
            return Err(Unread);
        }
        room = most;
    }
}
