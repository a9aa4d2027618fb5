//! What the session did, counted from several threads, and the refusals told to the warden.

use crate::ledger::Ledger;
use portcullis_protocol::ledger::{Event, Finished, NOTES_MAX, RefusalNote, SessionEnd, Tally};
use portcullis_protocol::refusal::Refusal;
use portcullis_protocol::session::Request;
use portcullis_transport::TransportError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The gate's side of the ledger with the session's counts.
#[derive(Debug)]
pub(crate) struct Counters {
    ledger: Arc<Ledger>,
    notes: Mutex<usize>,
    requests: AtomicU64,
    stats: AtomicU64,
    reads: AtomicU64,
    lists: AtomicU64,
    searches: AtomicU64,
    changes: AtomicU64,
    refused: AtomicU64,
    bytes: AtomicU64,
    stalled: AtomicBool,
}

/// What is counted when a request comes in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Counted {
    Stat,
    Read,
    List,
    Search,
    Change,
    Other,
}

impl Counted {
    /// As what a request counts.
    pub(crate) const fn of(request: &Request) -> Self {
        match request {
            Request::Stat(_) => Self::Stat,
            Request::Read(_) => Self::Read,
            Request::List(_) | Request::Glob(_) => Self::List,
            Request::Search(_) => Self::Search,
            Request::Change(_) | Request::ChangeComposed(_) => Self::Change,
            Request::Upload(_)
            | Request::DropUpload(_)
            | Request::Compose(_)
            | Request::Hello(_)
            | Request::Whoami(_)
            | Request::Why(_)
            | Request::Cancel(_)
            | Request::Ping(_)
            | Request::Delegate(_)
            | Request::Acknowledge(_)
            | Request::EndDelegated(_) => Self::Other,
        }
    }
}

impl Counters {
    pub(crate) fn new(ledger: Arc<Ledger>) -> Self {
        Self {
            ledger,
            notes: Mutex::new(0),
            requests: AtomicU64::new(0),
            stats: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            lists: AtomicU64::new(0),
            searches: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            stalled: AtomicBool::new(false),
        }
    }

    /// The ledger that refusals are told on.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn request(&self, counted: Counted) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let of_verb = match counted {
            Counted::Stat => &self.stats,
            Counted::Read => &self.reads,
            Counted::List => &self.lists,
            Counted::Search => &self.searches,
            Counted::Change => &self.changes,
            Counted::Other => return,
        };
        of_verb.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn content(&self, bytes: usize) {
        self.bytes
            .fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// The worker did not read in time.
    pub(crate) fn stalled(&self) {
        self.stalled.store(true, Ordering::Relaxed);
    }

    /// Whether [`Self::stalled`] was ever called.
    pub(crate) fn has_stalled(&self) -> bool {
        self.stalled.load(Ordering::Relaxed)
    }

    /// Counts a refusal, and tells the warden of the first [`NOTES_MAX`]. A ledger that takes no
    /// more is not an error here: the warden kills its gates, not the other way round.
    pub(crate) fn refusal(&self, refusal: &Refusal) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        let Ok(mut notes) = self.notes.lock() else {
            return;
        };
        if *notes >= NOTES_MAX {
            return;
        }
        *notes += 1;
        let note = RefusalNote {
            verb: refusal.verb,
            object: refusal.object.clone(),
            code: refusal.code,
            rule: refusal.rule.as_ref().map(|rule| rule.name.clone()),
        };
        self.ledger.tell(&Event::Refused(note)).unwrap_or_default();
    }

    /// Tells the warden how the session ended; the last message.
    pub(crate) fn finish(&self, end: SessionEnd) -> Result<(), TransportError> {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let tally = Tally {
            requests: count(&self.requests),
            stats: count(&self.stats),
            reads: count(&self.reads),
            lists: count(&self.lists),
            searches: count(&self.searches),
            changes: count(&self.changes),
            refused: count(&self.refused),
            bytes: count(&self.bytes),
        };
        self.ledger.tell(&Event::Finished(Finished { tally, end }))
    }
}
