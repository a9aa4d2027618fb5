//! What all control connections of one warden share.

use crate::spawn::Spawner;
use portcullis_protocol::control::{Build, Sharing};
use portcullis_protocol::limits::SESSIONS_MAX;
use portcullis_protocol::session::{Incarnation, Limits};
use portcullis_transport::Buffer;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};

/// What all control connections of one warden share.
pub(crate) struct Shared {
    pub(crate) incarnation: Incarnation,
    pub(crate) limits: Limits,
    pub(crate) mint_deadline: Duration,
    pub(crate) spawner: Spawner,
    /// Room for the packet being received: one thread receives, one packet at a time.
    pub(crate) buffer: Mutex<Buffer>,
    /// Sessions that may still be made.
    pub(crate) slots: Arc<Semaphore>,
    /// How new this executable is.
    pub(crate) build: Build,
    pub(crate) sharing: Sharing,
    roots: AtomicU64,
    sessions: AtomicU64,
    connections: AtomicU32,
    draining: Notify,
}

impl Shared {
    /// A new life of a broker.
    pub(crate) fn new(
        limits: Limits,
        mint_deadline: Duration,
        spawner: Spawner,
        sharing: Sharing,
    ) -> io::Result<Self> {
        let mut incarnation = [0; 16];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut incarnation)?;
        Ok(Self {
            incarnation: Incarnation(incarnation),
            limits,
            mint_deadline,
            spawner,
            buffer: Mutex::new(Buffer::new()),
            slots: Arc::new(Semaphore::new(SESSIONS_MAX)),
            build: own_build(),
            sharing,
            roots: AtomicU64::new(1),
            sessions: AtomicU64::new(1),
            connections: AtomicU32::new(1),
            draining: Notify::new(),
        })
    }

    /// Asks a warden that serves to make room for another. One that is embedded ends with its
    /// process, whoever asks. Gives the connections it still serves, the asking one included.
    pub(crate) fn ask_to_drain(&self) -> u32 {
        self.draining.notify_one();
        self.connections.load(Ordering::Relaxed)
    }

    /// Waits until that was asked. Nothing is lost when the wait is given up.
    pub(crate) async fn drain_asked(&self) {
        self.draining.notified().await;
    }

    /// Tells how many connections there are.
    pub(crate) fn set_connections(&self, count: usize) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.connections.store(count, Ordering::Relaxed);
    }

    /// Whether an effect that a gate left behind is being looked into.
    pub(crate) fn is_settling(&self) -> bool {
        false
    }

    /// A number no other root of this warden has or had.
    pub(crate) fn next_root(&self) -> u64 {
        self.roots.fetch_add(1, Ordering::Relaxed)
    }

    /// A number no other session of this warden has or had.
    pub(crate) fn next_session(&self) -> u64 {
        self.sessions.fetch_add(1, Ordering::Relaxed)
    }
}

/// When the file of this executable was last modified; 0 where that is not known, so that every
/// other counts as newer.
fn own_build() -> Build {
    let modified = std::fs::metadata("/proc/self/exe").and_then(|file| file.modified());
    let since = modified.map(|time| time.duration_since(std::time::UNIX_EPOCH));
    match since {
        Ok(Ok(age)) => Build(u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
        Ok(Err(_)) | Err(_) => Build(0),
    }
}
