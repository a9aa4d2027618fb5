//! What all control connections of one warden share.

use crate::spawn::Spawner;
use portcullis_protocol::limits::SESSIONS_MAX;
use portcullis_protocol::session::{Incarnation, Limits};
use portcullis_transport::Buffer;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;

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
    roots: AtomicU64,
    sessions: AtomicU64,
}

impl Shared {
    /// A new life of a broker.
    pub(crate) fn new(
        limits: Limits,
        mint_deadline: Duration,
        spawner: Spawner,
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
            roots: AtomicU64::new(1),
            sessions: AtomicU64::new(1),
        })
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
