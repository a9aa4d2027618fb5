//! What all control connections of one warden share.

use crate::config::Deadlines;
use crate::decider::{Deciders, Demands};
use crate::locks::{Held, Locks};
use crate::own::Own;
use crate::proposals::{ConnectionId, Proposals};
use crate::spawn::Spawner;
use crate::state::State;
use portcullis_protocol::control::{Build, Sharing};
use portcullis_protocol::limits::SESSIONS_MAX;
use portcullis_protocol::session::{Incarnation, Limits};
use portcullis_transport::Buffer;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};

/// What a warden needs to know of its configuration once it runs.
pub(crate) struct Terms {
    pub(crate) limits: Limits,
    pub(crate) mint_deadline: Duration,
    pub(crate) deadlines: Deadlines,
    pub(crate) build: Build,
    pub(crate) sharing: Sharing,
}

/// Whether a warden takes further connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intake {
    Open,
    /// It ends when the last connection has closed.
    Draining,
}

/// What all control connections of one warden share.
pub(crate) struct Shared {
    pub(crate) incarnation: Incarnation,
    pub(crate) terms: Terms,
    pub(crate) spawner: Spawner,
    pub(crate) state: State,
    pub(crate) own: Own,
    pub(crate) locks: Locks,
    pub(crate) proposals: Proposals,
    pub(crate) demands: Demands,
    /// Room for the packet being received: one thread receives, one packet at a time.
    pub(crate) buffer: Mutex<Buffer>,
    /// Sessions that may still be made.
    pub(crate) slots: Arc<Semaphore>,
    roots: AtomicU64,
    sessions: AtomicU64,
    connection_numbers: AtomicU64,
    intake: watch::Sender<Intake>,
    connections: AtomicU32,
    /// Locks of effects whose receipt could not be written: held as long as this warden lives.
    unsettled: Mutex<Vec<Held>>,
}

impl Shared {
    /// A new life of a broker.
    pub(crate) fn new(
        terms: Terms,
        spawner: Spawner,
        state: State,
        deciders: Deciders,
    ) -> io::Result<Self> {
        let mut incarnation = [0; 16];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut incarnation)?;
        Ok(Self {
            incarnation: Incarnation(incarnation),
            terms,
            spawner,
            own: Own::of(state.directory()),
            demands: Demands::of(deciders, state.directory()),
            state,
            locks: Locks::default(),
            proposals: Proposals::default(),
            buffer: Mutex::new(Buffer::new()),
            slots: Arc::new(Semaphore::new(SESSIONS_MAX)),
            roots: AtomicU64::new(1),
            sessions: AtomicU64::new(1),
            connection_numbers: AtomicU64::new(1),
            intake: watch::Sender::new(Intake::Open),
            connections: AtomicU32::new(0),
            unsettled: Mutex::default(),
        })
    }

    /// Takes no further connection from now on.
    pub(crate) fn drain(&self) {
        self.intake.send_replace(Intake::Draining);
    }

    /// Whether further connections are taken, and how that changes.
    pub(crate) fn draining(&self) -> watch::Receiver<Intake> {
        self.intake.subscribe()
    }

    /// Connections that are served.
    pub(crate) fn connections(&self) -> u32 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Counts one more connection, until what this gives is dropped.
    pub(crate) fn connected(self: &Arc<Self>) -> Connected {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Connected(Arc::clone(self))
    }

    /// Keeps locks for good: nobody knows what was done under them.
    pub(crate) fn keep_locked(&self, held: Held) {
        let mut kept = self
            .unsettled
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        kept.push(held);
    }

    /// A number no other root of this warden has or had.
    pub(crate) fn next_root(&self) -> u64 {
        self.roots.fetch_add(1, Ordering::Relaxed)
    }

    /// A number no other connection of this warden has or had.
    pub(crate) fn next_connection(&self) -> ConnectionId {
        ConnectionId(self.connection_numbers.fetch_add(1, Ordering::Relaxed))
    }

    /// A number no other session of this warden has or had.
    pub(crate) fn next_session(&self) -> u64 {
        self.sessions.fetch_add(1, Ordering::Relaxed)
    }
}

/// One connection that is served.
pub(crate) struct Connected(Arc<Shared>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
