//! The lock table: who may change which names, in the order in which it was asked.
//!
//! All keys of one request are queued at one instant and in one step, so that of two requests one
//! is behind the other at every key they share: nobody can wait in a circle. A request has its
//! turn when everything before it, at each of its keys, is compatible with it; nothing overtakes,
//! so that one who wants a tree alone gets it behind any stream of those who share it.

use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::ledger::{Begin, TreeLock};
use portcullis_protocol::limits::NAME_BYTES_MAX;
use portcullis_protocol::refusal::{Code, Refusal};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

/// What is locked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key {
    /// All trees of one file system, by its device number. The coarsest root that two sessions
    /// can share, so that no overlap is missed, bind mounts included.
    Tree(u64),
    /// One name in one directory: its device and inode number, and the bytes.
    Name(u64, u64, Bytes<NAME_BYTES_MAX>),
}

/// Every key of one request with how it is held. Equal keys are one; exclusive wins.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys(BTreeMap<Key, TreeLock>);

impl Keys {
    /// The keys of an effect: the tree of each parent, and each name.
    pub(crate) fn of(begin: &Begin) -> Self {
        let mut keys = Self::default();
        for step in begin.intent.steps.as_slice() {
            let parent = step.parent;
            keys.add(Key::Tree(parent.device), begin.tree);
            let name = Key::Name(parent.device, parent.inode, step.name.clone());
            keys.add(name, TreeLock::Exclusive);
        }
        keys
    }

    fn add(&mut self, key: Key, mode: TreeLock) {
        let held = self.0.entry(key).or_insert(mode);
        if mode == TreeLock::Exclusive {
            *held = TreeLock::Exclusive;
        }
    }
}

/// The table of one warden.
#[derive(Debug, Clone, Default)]
pub(crate) struct Locks(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    next: u64,
    queues: HashMap<Key, VecDeque<Entry>>,
    requests: HashMap<u64, Request>,
}

/// A request at one key.
#[derive(Debug)]
struct Entry {
    request: u64,
    mode: TreeLock,
    turn: Turn,
}

/// Whether all that stands before an entry is compatible with it. Once so, it stays so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Waits,
    Has,
}

#[derive(Debug)]
struct Request {
    keys: Keys,
    /// Keys at which it still waits.
    waits_at: usize,
    /// Told when that is 0.
    granted: Option<oneshot::Sender<()>>,
}

impl Table {
    /// Puts a request behind all others.
    fn queue(&mut self, keys: Keys, granted: oneshot::Sender<()>) -> u64 {
        let id = self.next;
        self.next += 1;
        let mut waits_at = 0;
        for (key, mode) in &keys.0 {
            let queue = self.queues.entry(key.clone()).or_default();
            let turn = match mode {
                TreeLock::Exclusive if queue.is_empty() => Turn::Has,
                TreeLock::Shared if queue.iter().all(|e| e.mode == TreeLock::Shared) => Turn::Has,
                TreeLock::Exclusive | TreeLock::Shared => Turn::Waits,
            };
            waits_at += usize::from(turn == Turn::Waits);
            queue.push_back(Entry {
                request: id,
                mode: *mode,
                turn,
            });
        }
        let request = Request {
            keys,
            waits_at,
            granted: Some(granted),
        };
        self.requests.insert(id, request);
        id
    }

    /// Takes a request away, waiting or not, and tells those whose turn it is now.
    fn leave(&mut self, id: u64) {
        let Some(gone) = self.requests.remove(&id) else {
            return;
        };
        for key in gone.keys.0.keys() {
            let Some(queue) = self.queues.get_mut(key) else {
                continue;
            };
            queue.retain(|entry| entry.request != id);
            if queue.is_empty() {
                self.queues.remove(key);
                continue;
            }
            for next in their_turn(queue) {
                self.requests.entry(next).and_modify(Request::one_less);
            }
        }
    }
}

impl Request {
    fn one_less(&mut self) {
        self.waits_at = self.waits_at.saturating_sub(1);
        if self.waits_at == 0
            && let Some(granted) = self.granted.take()
        {
            // Who does not listen any more leaves by itself.
            granted.send(()).ok();
        }
    }
}

/// The requests whose turn has come at the front of a queue: one that is exclusive, or all that
/// share up to the first that does not.
fn their_turn(queue: &mut VecDeque<Entry>) -> Vec<u64> {
    let mut turned = Vec::new();
    for (n, entry) in queue.iter_mut().enumerate() {
        if entry.mode == TreeLock::Exclusive && n > 0 {
            break;
        }
        if entry.turn == Turn::Waits {
            entry.turn = Turn::Has;
            turned.push(entry.request);
        }
        if entry.mode == TreeLock::Exclusive {
            break;
        }
    }
    turned
}

impl Locks {
    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing in the table panics between two of its states.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a request. It has its place from here on, whether it is waited for or not.
    pub(crate) fn queue(&self, keys: Keys) -> Waiting {
        let (granted, turn) = oneshot::channel();
        let mut table = self.table();
        let id = table.queue(keys, granted);
        if let Some(request) = table.requests.get_mut(&id)
            && request.waits_at == 0
            && let Some(granted) = request.granted.take()
        {
            granted.send(()).ok();
        }
        drop(table);
        Waiting {
            ticket: Some(Ticket {
                locks: self.clone(),
                id,
            }),
            turn,
        }
    }
}

/// A place in the queues, waiting or not. Dropping it leaves them all.
#[derive(Debug)]
struct Ticket {
    locks: Locks,
    id: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.locks.table().leave(self.id);
    }
}

/// Holding one means: at every key of the request nobody else is who could disturb it. Dropping
/// it gives them back.
#[derive(Debug)]
pub(crate) struct Held {
    _ticket: Ticket,
}

/// A request that waits for its turn. Dropping it leaves the queues.
#[derive(Debug)]
pub(crate) struct Waiting {
    ticket: Option<Ticket>,
    turn: oneshot::Receiver<()>,
}

impl Waiting {
    /// The locks, if it is its turn already.
    pub(crate) fn now(&mut self) -> Option<Held> {
        self.turn.try_recv().ok()?;
        self.ticket.take().map(|ticket| Held { _ticket: ticket })
    }

    /// Waits for its turn, at most until `deadline`; then nothing is held and its place is gone.
    /// The place is kept when the wait itself is given up.
    pub(crate) async fn until(&mut self, deadline: Instant) -> Result<Held, Refusal> {
        let turn = timeout_at(deadline, &mut self.turn).await;
        match (turn, self.ticket.take()) {
            (Ok(Ok(())), Some(ticket)) => Ok(Held { _ticket: ticket }),
            (Ok(_) | Err(_), ticket) => {
                drop(ticket);
                let note = "other changes hold what this one needs";
                Err(Refusal::new(Code::Contended).noting(note))
            }
        }
    }
}

#[cfg(test)]
mod tests;
