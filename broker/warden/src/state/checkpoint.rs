//! Folding the log into the database, on a thread and a connection of its own: it writes to the
//! disk and waits for it, which the event loop must not.

use super::{StateError, connect};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Commits between two checkpoints: some tens of megabytes of log. The first commit after one waits
/// for the disk, so that they are rare.
const EVERY: u32 = 4000;

#[derive(Debug)]
pub(super) struct Checkpoints {
    /// Dropped first: that is the sign to stop.
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    commits: u32,
}

impl Checkpoints {
    pub(super) fn start(database: &Path) -> Result<Self, StateError> {
        let connection = connect(database, OpenFlags::default())?;
        let (wake, woken) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("portcullis-checkpoint".to_owned())
            .spawn(move || work(&connection, &woken))
            .map_err(|source| StateError::Files {
                path: database.to_owned(),
                what: "a thread for it",
                source,
            })?;
        Ok(Self {
            wake: Some(wake),
            thread: Some(thread),
            commits: 0,
        })
    }

    /// Counts one commit.
    pub(super) fn committed(&mut self) {
        self.commits += 1;
        if self.commits >= EVERY {
            self.commits = 0;
            // Full means that it is awake already.
            self.wake.as_ref().map(|wake| wake.try_send(()));
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.wake = None;
        drop(self.thread.take().map(JoinHandle::join));
    }
}

fn work(connection: &Connection, woken: &Receiver<()>) {
    while woken.recv().is_ok() {
        // It waits for nobody and loses nothing: what is not folded now is at the next time. A
        // disk that refuses here refuses the journal as well, which says so.
        let folded = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()));
        drop(folded);
    }
}
