//! The state of a broker: journal and receipts, in one directory that one warden has at a time.
//!
//! ```text
//! state.db      SQLite: runs, sessions, open intents, receipts, differences, heads of chains
//! lock          held by the warden; its process id
//! gates.lock    held by every gate of the warden that has the state, and by the warden
//! export.key    makes digests in exports useless to whoever has not got it; made when first needed
//! evidence-….db a database as it was before a repair
//! reserve       room that is given back when the disk is full, so that what began can end
//! ```

mod chain;
mod checkpoint;
mod journal;
mod key;
mod place;
mod records;
mod repair;
mod reserve;
mod schema;
mod step;
mod tasks;
mod verify;

pub(crate) use journal::{
    Claim, Decided, IntentId, NewProposal, NewSession, OpenIntent, SessionRow,
};
pub use key::ExportKey;
pub use place::{StatePlace, usual_state};
pub use records::Records;
pub use repair::{RepairError, Repaired, repair};
pub(crate) use tasks::{KeptTask, NewTask, TaskError};

use journal::Journal;
use place::Place;
use portcullis_protocol::approval::{Approval, ProposalId, ProposalState};
use portcullis_protocol::control::{RunId, Witness};
use portcullis_protocol::ledger::{Begin, Finish, Intent, ReceiptId, RefusalNote};
use rusqlite::Connection;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The file of the database in its directory.
const DATABASE: &str = "state.db";
/// The files that hold records.
pub(crate) const RECORDS: [&str; 2] = [DATABASE, "state.db-wal"];
/// How long a statement waits for another process that has the database for a moment, such as one
/// that recovers it.
const BUSY: Duration = Duration::from_secs(2);

/// Why a state cannot be used. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Something about its directory or files.
    #[error("the state in {path}: {what}: {source}")]
    Files {
        /// The directory.
        path: PathBuf,
        /// What was asked for.
        what: &'static str,
        /// Why it was not given.
        #[source]
        source: std::io::Error,
    },
    /// Its directory belongs to another user.
    #[error("the state in {path} belongs to user {owner}")]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// Another warden has it.
    #[error("the state in {path} is in use by the warden with process id {holder}")]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process, as it wrote it down; `unknown` if it had not yet.
        holder: String,
    },
    /// Gates of the warden before are still there.
    #[error("gates of the last warden on the state in {path} still run")]
    OldGates {
        /// The directory.
        path: PathBuf,
    },
    /// There is none.
    #[error("there is no state in {path}")]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// It was written by a newer version.
    #[error("the state has schema {found}, this version knows those up to {known}")]
    Newer {
        /// Its schema.
        found: i64,
        /// The latest that is known.
        known: i64,
    },
    /// An effect would spend what is not approved.
    #[error("proposal {proposal} is not approved, or not for this session")]
    NotApproved {
        /// The proposal.
        proposal: u64,
    },
    /// The database refused.
    #[error("the state's database: {0}")]
    Database(#[from] rusqlite::Error),
    /// A record cannot be read.
    #[error("the state is damaged: {0}")]
    Damaged(String),
}

/// The state of a running warden. Holding one means: no other warden has it, and no gate of an
/// earlier one runs.
#[derive(Debug)]
pub(crate) struct State {
    // Dropped first: its last connection folds the log into the database.
    journal: Mutex<Journal>,
    place: Place,
}

impl State {
    /// Takes the state, waiting at most `gates` for the gates of the warden before to be gone.
    /// Makes it if there is none; takes an older one to this version.
    pub(crate) fn open(place: &StatePlace, gates: Duration) -> Result<Self, StateError> {
        let place = Place::take(place, gates)?;
        let mut database = connect(&place.database(), rusqlite::OpenFlags::default())?;
        schema::make_or_migrate(&mut database)?;
        let journal = Journal::open(database, place.path())?;
        Ok(Self {
            journal: Mutex::new(journal),
            place,
        })
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        // Each call is one transaction, so that a panic leaves none half done.
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its directory.
    pub(crate) fn directory(&self) -> &Path {
        self.place.path()
    }

    /// What each gate holds while it lives, so that a successor knows when all are gone.
    pub(crate) fn gates(&self) -> BorrowedFd<'_> {
        self.place.gates().as_fd()
    }

    /// A run begins.
    pub(crate) fn begin_run(&self, request: &str, owner: &str) -> Result<RunId, StateError> {
        self.journal().begin_run(request, owner)
    }

    /// Its connection has closed.
    pub(crate) fn end_run(&self, run: RunId) -> Result<(), StateError> {
        self.journal().end_run(run)
    }

    /// A session begins, with no receipt.
    pub(crate) fn begin_session(&self, new: &NewSession<'_>) -> Result<SessionRow, StateError> {
        self.journal().begin_session(new)
    }

    /// A session is over and its last receipt is written: the head of its chain goes into the
    /// chain of heads, and its proposals that are not spent are void.
    pub(crate) fn end_session(&self, session: SessionRow) -> Result<(), StateError> {
        self.journal().end_session(session)
    }

    /// Writes an intent. From here on it ends in one receipt. With a claim its proposal, which must
    /// be approved, of this session and by this approver, is spent in the same transaction; else
    /// nothing is begun ([`StateError::NotApproved`]).
    pub(crate) fn begin(
        &self,
        session: SessionRow,
        begin: &Begin,
        claim: Option<&Claim<'_>>,
    ) -> Result<IntentId, StateError> {
        self.journal().begin(session, begin, claim)
    }

    /// Replaces an intent.
    pub(crate) fn amend(&self, id: IntentId, intent: &Intent) -> Result<(), StateError> {
        self.journal().amend(id, intent)
    }

    /// Writes the receipt of an intent and forgets the intent, both or neither. A failed one gives
    /// its approval back with that: as approved, or void where its time or its life is over.
    pub(crate) fn finish(
        &self,
        id: IntentId,
        end: &Finish,
        diff: &[u8],
        witness: Witness,
    ) -> Result<ReceiptId, StateError> {
        self.journal().finish(id, end, diff, witness)
    }

    /// Puts refusals on record, and how many requests of the session were refused until now.
    pub(crate) fn refused(
        &self,
        session: SessionRow,
        notes: &[RefusalNote],
        refused: u64,
    ) -> Result<(), StateError> {
        self.journal().refused(session, notes, refused)
    }

    /// The effect gives its names back before it ends: its receipt has the next number.
    pub(crate) fn number(&self, id: IntentId) {
        self.journal().number(id);
    }

    /// Intents without a receipt, those of earlier lives too.
    pub(crate) fn open_intents(&self) -> Result<Vec<OpenIntent>, StateError> {
        self.journal().open_intents()
    }

    /// Something that is asked for waits for a decision. Its number is no other's, ever.
    pub(crate) fn propose(&self, new: &NewProposal) -> Result<ProposalId, StateError> {
        self.journal().propose(new)
    }

    /// Writes a decision about a proposal down, if it is pending and its time is not over. Gives
    /// what has become of it; none where there is no such proposal.
    pub(crate) fn decide_proposal(
        &self,
        id: ProposalId,
        decided: Decided,
    ) -> Result<Option<ProposalState>, StateError> {
        self.journal().decide(id, decided)
    }

    /// A proposal that is pending or approved is void from here on; any other stays as it is.
    pub(crate) fn void_proposal(&self, id: ProposalId) -> Result<(), StateError> {
        self.journal().void(id)
    }

    /// All proposals of earlier lives that were not used are void.
    pub(crate) fn void_waiting_proposals(&self) -> Result<(), StateError> {
        self.journal().void_waiting()
    }

    /// Spends an approval for what only shows; [`StateError::NotApproved`] where it cannot be. One
    /// for an effect is spent by its begin.
    pub(crate) fn spend_shown(
        &self,
        session: SessionRow,
        approval: &Approval,
    ) -> Result<(), StateError> {
        self.journal().spend_shown(session, approval)
    }

    /// What has become of a proposal, if there is one.
    pub(crate) fn proposal(&self, id: ProposalId) -> Result<Option<ProposalState>, StateError> {
        self.journal().proposal(id)
    }

    /// Ends the sessions of earlier lives that have no open intent.
    pub(crate) fn end_left_sessions(&self) -> Result<(), StateError> {
        self.journal().end_left_sessions()
    }
}

/// A connection with what every connection needs.
fn connect(path: &Path, flags: rusqlite::OpenFlags) -> Result<Connection, StateError> {
    // Through a link of the last component nothing is opened, in no mode.
    let flags = flags | rusqlite::OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let database = Connection::open_with_flags(path, flags)?;
    database.busy_timeout(BUSY)?;
    database.pragma_update(None, "trusted_schema", false)?;
    database.pragma_update(None, "foreign_keys", true)?;
    Ok(database)
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// A number as the database keeps it. None of ours comes near its limit.
fn sql(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// A number of the database, of those that cannot be negative.
fn count(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

#[cfg(test)]
mod tests;
