//! Bringing a torn tail in order, with the database as it was kept beside it.

use super::place::Place;
use super::verify::{Torn, examine};
use super::{DATABASE, StateError, StatePlace, chain, connect, now_ms, schema, sql};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What was brought in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// Sessions whose rows were behind their receipts, and say now what those come to.
    pub sessions: u64,
    /// Receipts that were not whole, and are gone.
    pub removed: u64,
    /// The database as it was; none where nothing had to be done.
    pub evidence: Option<PathBuf>,
}

/// Why nothing was repaired. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// What is wrong is no torn tail.
    #[error("this is no torn tail, and no repair brings back what was there: {0}")]
    Tampered(String),
    /// The state cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
}

impl From<rusqlite::Error> for RepairError {
    fn from(error: rusqlite::Error) -> Self {
        Self::State(error.into())
    }
}

/// Brings the torn tail of the records in `directory` in order: rows of sessions that are behind
/// their receipts are brought up to the last whole one, and what is beyond that goes. Before that
/// the whole database is copied to `evidence-TIME.db` beside it. Refuses where anything else does
/// not hold together, and while a warden or a gate of one runs.
pub fn repair(directory: &Path) -> Result<Repaired, RepairError> {
    if !directory.join(DATABASE).exists() {
        return Err(RepairError::State(StateError::Missing {
            path: directory.to_owned(),
        }));
    }
    let place = Place::take(&StatePlace::At(directory.to_owned()), Duration::ZERO)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut database = connect(&place.database(), flags)?;
    schema::is_known(&database)?;
    let torn = torn(&database)?;
    if torn.is_empty() {
        return Ok(Repaired {
            sessions: 0,
            removed: 0,
            evidence: None,
        });
    }
    let evidence = copy(&database, place.path())?;
    let step = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut removed = 0;
    for session in &torn {
        removed += mend(&step, session)?;
    }
    let left = examine(&step)?;
    if let Some(broken) = left.verified.broken {
        // Dropped, the step is undone.
        return Err(RepairError::Tampered(broken.as_str().to_owned()));
    }
    step.commit()?;
    Ok(Repaired {
        sessions: torn.len() as u64,
        removed,
        evidence: Some(evidence),
    })
}

fn torn(database: &Connection) -> Result<Vec<Torn>, RepairError> {
    let version = database.unchecked_transaction()?;
    let seen = examine(&version)?;
    match seen.tampered {
        Some(what) => Err(RepairError::Tampered(what)),
        None => Ok(seen.torn),
    }
}

/// Brings one session in order; gives how many receipts went.
fn mend(step: &Connection, torn: &Torn) -> Result<u64, RepairError> {
    let mut removed = 0;
    if let Some(cut) = torn.cut {
        removed = step.execute(
            "DELETE FROM receipts WHERE run = ?1 AND number >= ?2 AND session = ?3",
            (sql(torn.run), sql(cut), torn.row),
        )? as u64;
    }
    let whole = &torn.whole;
    // An intent that has its receipt is over; one whose receipt went is settled by the next warden.
    step.execute(
        "UPDATE sessions SET intent = NULL, intent_ms = NULL, claim = NULL
         WHERE id = ?1 AND last < ?2",
        (torn.row, sql(whole.last)),
    )?;
    step.execute(
        "UPDATE sessions SET last = ?2, head = ?3, done = ?4, failed = ?5, uncertain = ?6,
         ended_ms = coalesce(ended_ms, ?7) WHERE id = ?1",
        (
            torn.row,
            sql(whole.last),
            chain::hex(&whole.link.0),
            sql(whole.tally.0),
            sql(whole.tally.1),
            sql(whole.tally.2),
            torn.ended_ms.map(sql),
        ),
    )?;
    Ok(removed)
}

/// Copies the whole database, what is in its log included, to a new file beside it.
fn copy(database: &Connection, directory: &Path) -> Result<PathBuf, RepairError> {
    let path = directory.join(format!("evidence-{}.db", now_ms()));
    let failed = |source: io::Error| StateError::Files {
        path: path.clone(),
        what: "a copy of the database as it is",
        source,
    };
    // Nobody else may read it, and nothing that is there is overwritten.
    let mut new = OpenOptions::new();
    new.write(true).create_new(true).mode(0o600);
    let file: File = new.open(&path).map_err(failed)?;
    let mut evidence = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let copied = Backup::new(database, &mut evidence)?.step(-1)?;
    if copied != StepResult::Done {
        return Err(failed(io::ErrorKind::ResourceBusy.into()).into());
    }
    evidence.close().map_err(|(_, error)| error)?;
    file.sync_all().map_err(failed)?;
    Ok(path)
}
