//! The tables, and how an older state becomes one of this version.

use super::{StateError, now_ms, sql};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

/// What takes a state from one version to the next; the first makes it. Never changed once
/// released, only added to.
const STEPS: &[&str] = &[FIRST, SECOND];

/// The version of this build.
pub(super) const KNOWN: i64 = STEPS.len() as i64;

/// Every digest is in hexadecimal; every `body` is what is hashed, the columns beside it say the
/// same in words. Names of files are written with `\xNN` for what cannot be shown.
///
/// A gate has one effect at a time, so that its intent is part of its session's row: a begin
/// changes one page, an end two. Each page costs more than all that is written in it.
const FIRST: &str = "
CREATE TABLE runs (
    run INTEGER PRIMARY KEY AUTOINCREMENT,
    request TEXT NOT NULL,
    owner TEXT NOT NULL,
    began_ms INTEGER NOT NULL,
    ended_ms INTEGER
) STRICT;
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL REFERENCES runs,
    incarnation TEXT NOT NULL,
    session INTEGER NOT NULL,
    request TEXT NOT NULL,
    owner TEXT NOT NULL,
    authority TEXT NOT NULL,
    roots TEXT NOT NULL,
    began_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    done INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    uncertain INTEGER NOT NULL DEFAULT 0,
    last INTEGER NOT NULL DEFAULT 0,
    head TEXT NOT NULL,
    intent_ms INTEGER,
    intent BLOB,
    UNIQUE (incarnation, session)
) STRICT;
CREATE INDEX sessions_of_runs ON sessions (run);
CREATE INDEX sessions_open ON sessions (id) WHERE ended_ms IS NULL;
CREATE TABLE authorities (
    authority TEXT PRIMARY KEY,
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE receipts (
    run INTEGER NOT NULL REFERENCES runs,
    number INTEGER NOT NULL,
    session INTEGER NOT NULL REFERENCES sessions,
    at_ms INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    witness TEXT NOT NULL,
    guarantee TEXT NOT NULL,
    touched TEXT NOT NULL,
    link TEXT NOT NULL,
    body BLOB NOT NULL,
    diff BLOB NOT NULL,
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE heads (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions,
    receipts INTEGER NOT NULL,
    head TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    link TEXT NOT NULL
) STRICT;
";

/// Sessions say which version their chain has, and what they were made within; what is asked for,
/// what is kept for later and what was refused is on record.
///
/// `claim` is the proposal that the open intent of a session spends. Authorities are those of open
/// intents alone, so that older encodings of them are of no use: what was begun under one is settled
/// as if it could not be read.
///
/// An approver is its name, of another user with `:` and the number behind.
const SECOND: &str = "
ALTER TABLE sessions ADD COLUMN chain INTEGER NOT NULL DEFAULT 1;
ALTER TABLE sessions ADD COLUMN conversation TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN parent TEXT;
ALTER TABLE sessions ADD COLUMN cage TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN claim INTEGER;
DELETE FROM authorities;
CREATE TABLE proposals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions,
    input TEXT NOT NULL,
    bound TEXT NOT NULL,
    state TEXT NOT NULL,
    approver TEXT,
    at_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    decided_ms INTEGER,
    spent_ms INTEGER
) STRICT;
CREATE INDEX proposals_waiting ON proposals (session)
    WHERE state IN ('pending', 'approved');
CREATE TABLE tasks (
    task TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    input TEXT NOT NULL,
    owner TEXT NOT NULL,
    conversation TEXT NOT NULL,
    authority TEXT NOT NULL,
    sealed_ms INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE refusals (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL REFERENCES runs,
    session INTEGER NOT NULL REFERENCES sessions,
    at_ms INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX refusals_of_runs ON refusals (run, number);
";

/// Makes the tables of a new state, or takes an older one to this version; all of it or nothing.
pub(super) fn make_or_migrate(database: &mut Connection) -> Result<(), StateError> {
    // The order matters: a journal mode cannot change inside a transaction.
    database.pragma_update(None, "journal_mode", "wal")?;
    database.pragma_update(None, "synchronous", "normal")?;
    database.pragma_update(None, "wal_autocheckpoint", 0)?;
    let step = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    step.execute_batch(
        "CREATE TABLE IF NOT EXISTS versions (
            version INTEGER PRIMARY KEY, since_ms INTEGER NOT NULL) STRICT;",
    )?;
    let found = version(&step)?.unwrap_or(0);
    if found > KNOWN {
        return Err(StateError::Newer {
            found,
            known: KNOWN,
        });
    }
    let first = usize::try_from(found).unwrap_or(0);
    for (version, sql_text) in (1..=KNOWN).zip(STEPS).skip(first) {
        step.execute_batch(sql_text)?;
        step.execute(
            "INSERT INTO versions (version, since_ms) VALUES (?1, ?2)",
            (version, sql(now_ms())),
        )?;
    }
    step.commit()?;
    Ok(())
}

/// Whether a state has the version of this build.
pub(super) fn is_known(database: &Connection) -> Result<(), StateError> {
    match version(database)? {
        Some(KNOWN) => Ok(()),
        Some(found) if found > KNOWN => Err(StateError::Newer {
            found,
            known: KNOWN,
        }),
        // Older ones are taken to this version by the next warden.
        Some(_) | None => Err(StateError::Damaged(
            "its schema is older than this version reads; start the broker once".to_owned(),
        )),
    }
}

/// The version of a state. None when its versions are not written.
pub(super) fn version(database: &Connection) -> Result<Option<i64>, StateError> {
    let newest = database
        .query_row("SELECT max(version) FROM versions", (), |row| {
            row.get::<_, Option<i64>>(0)
        })
        .optional()?;
    Ok(newest.flatten())
}
