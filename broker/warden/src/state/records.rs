//! What the records say, read without the lock: while a warden runs, and when it is gone.

mod sessions;

pub(super) use sessions::{IDENTITY, identity};

use super::chain::{self, Body, Unsaid, Version, unhex};
use super::key::ExportKey;
use super::verify::verify;
use super::{DATABASE, StateError, connect, count, schema, sql};
use portcullis_protocol::authority::AuthorityId;
use portcullis_protocol::bounded::{Few, Text};
use portcullis_protocol::control::{
    DiffText, LogPage, Receipt, RunId, RunRecord, RunsPage, Verified,
};
use portcullis_protocol::ledger::ReceiptId;
use portcullis_protocol::limits::{BODY_BYTES_MAX, LOG_PAGE_MAX, RUNS_PAGE_MAX};
use portcullis_protocol::view::Digest;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row};
use std::path::{Path, PathBuf};

/// A page leaves this much of a frame free.
const MARGIN: usize = 1024;

/// What a receipt is made of.
const RECEIPT: &str = "SELECT receipts.run, receipts.number, receipts.session, receipts.body,
    receipts.link, sessions.chain, sessions.authority, sessions.roots
    FROM receipts JOIN sessions ON sessions.id = receipts.session";

/// The records of one state. Each call reads one consistent version of them, also while a warden
/// writes. Nothing is ever changed.
#[derive(Debug)]
pub struct Records {
    database: Connection,
    directory: PathBuf,
}

impl Records {
    /// Opens the records in the state directory `directory`.
    pub fn open(directory: &Path) -> Result<Self, StateError> {
        let path = directory.join(DATABASE);
        if !path.exists() {
            return Err(StateError::Missing {
                path: directory.to_owned(),
            });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = connect(&path, flags)?;
        schema::is_known(&database)?;
        Ok(Self {
            database,
            directory: directory.to_owned(),
        })
    }

    /// From here on all calls read one and the same version, until this is dropped.
    pub fn hold(&self) -> Result<(), StateError> {
        // The version is the one that the first look finds.
        self.database.execute_batch("BEGIN")?;
        schema::is_known(&self.database)
    }

    /// The key of its exports, which is made when there is none.
    pub fn export_key(&self) -> Result<ExportKey, StateError> {
        ExportKey::of(&self.directory)
    }

    /// Runs, the latest first; only those before `before`.
    pub fn runs(&self, before: Option<RunId>) -> Result<RunsPage, StateError> {
        let mut all = self.database.prepare_cached(
            "SELECT run, request, owner, began_ms, ended_ms,
               (SELECT count(*) FROM sessions WHERE sessions.run = runs.run),
               (SELECT coalesce(sum(done), 0) FROM sessions WHERE sessions.run = runs.run),
               (SELECT coalesce(sum(failed), 0) FROM sessions WHERE sessions.run = runs.run),
               (SELECT coalesce(sum(uncertain), 0) FROM sessions WHERE sessions.run = runs.run),
               (SELECT count(intent_ms) FROM sessions WHERE sessions.run = runs.run)
             FROM runs WHERE run < ?1 ORDER BY run DESC LIMIT ?2",
        )?;
        let mut rows = all.query((
            before.map_or(i64::MAX, |run| sql(run.0)),
            sql(RUNS_PAGE_MAX as u64),
        ))?;
        let mut runs = Vec::new();
        let mut bytes = 0;
        while let Some(row) = rows.next()? {
            let run = RunRecord {
                run: RunId(count(row.get(0)?)),
                request: Text::plain(&row.get::<_, String>(1)?),
                owner: Text::plain(&row.get::<_, String>(2)?),
                began_ms: count(row.get(3)?),
                ended_ms: row.get::<_, Option<i64>>(4)?.map(count),
                sessions: u32::try_from(count(row.get(5)?)).unwrap_or(u32::MAX),
                done: count(row.get(6)?),
                failed: count(row.get(7)?),
                uncertain: count(row.get(8)?),
                open: count(row.get(9)?),
            };
            bytes += chain::encode(&run)?.len();
            runs.push(run);
        }
        debug_assert!(
            bytes + MARGIN < BODY_BYTES_MAX,
            "a page of runs fits a frame"
        );
        Ok(RunsPage {
            runs: Few::new(runs).unwrap_or_default(),
        })
    }

    /// Receipts of a run after number `after`, in order; as many as fit one answer.
    pub fn log(&self, run: RunId, after: u64) -> Result<LogPage, StateError> {
        let mut all = self.database.prepare_cached(&format!(
            "{RECEIPT} WHERE receipts.run = ?1 AND number > ?2 ORDER BY number LIMIT ?3"
        ))?;
        let mut rows = all.query((sql(run.0), sql(after), sql(LOG_PAGE_MAX as u64)))?;
        let mut receipts = Vec::new();
        let mut bytes = 0;
        while let Some(row) = rows.next()? {
            let receipt = self.receipt_of(row)?;
            bytes += chain::encode(&receipt)?.len();
            if bytes + MARGIN > BODY_BYTES_MAX && !receipts.is_empty() {
                break;
            }
            receipts.push(receipt);
        }
        Ok(LogPage {
            receipts: Few::new(receipts).unwrap_or_default(),
        })
    }

    /// The receipt of this number, and its run. None when there is no such receipt.
    pub fn receipt(&self, number: u64) -> Result<Option<(RunId, Receipt)>, StateError> {
        let mut one = self.database.prepare_cached(&format!(
            // A receipt is found by its run; its session's last one is not before it.
            "{RECEIPT} WHERE receipts.run IN (SELECT run FROM sessions WHERE last >= ?1)
             AND number = ?1 LIMIT 1"
        ))?;
        let mut rows = one.query((sql(number),))?;
        match rows.next()? {
            Some(row) => {
                let run = RunId(count(row.get("run")?));
                Ok(Some((run, self.receipt_of(row)?)))
            }
            None => Ok(None),
        }
    }

    fn receipt_of(&self, row: &Row<'_>) -> Result<Receipt, StateError> {
        let version = Version::numbered(row.get("chain")?)?;
        let bytes: Vec<u8> = row.get("body")?;
        let body = Body::read(version, &bytes, || {
            let authority = chain::authority(&row.get::<_, String>("authority")?)?;
            Ok(Unsaid {
                authority,
                previous: self.link_before(row)?,
            })
        })?;
        Ok(Receipt {
            id: ReceiptId {
                number: body.number,
                chain: Digest(unhex(&row.get::<_, String>("link")?)?),
            },
            session: body.session,
            at_ms: body.at_ms,
            witness: body.witness,
            end: body.end,
            roots: chain::text_labels(&row.get::<_, String>("roots")?)?,
            diff_bytes: body.diff.0,
            authority: body.authority,
            began_ms: body.began_ms,
            request: body.request,
            previous: body.previous,
            cage: body.cage,
            approval: body.approval,
        })
    }

    /// The link before a receipt that does not say it.
    fn link_before(&self, row: &Row<'_>) -> Result<Digest, StateError> {
        let session: i64 = row.get("session")?;
        let before = self
            .database
            .prepare_cached(
                "SELECT link FROM receipts WHERE run = ?1 AND number < ?2 AND session = ?3
                 ORDER BY number DESC LIMIT 1",
            )?
            .query_row(
                (
                    row.get::<_, i64>("run")?,
                    row.get::<_, i64>("number")?,
                    session,
                ),
                |row| row.get::<_, String>(0),
            )
            .optional()?;
        match before {
            Some(link) => Ok(Digest(unhex(&link)?)),
            None => self.first_link(session),
        }
    }

    /// The difference kept with receipt `receipt`, as a unified diff. None when there is no such
    /// receipt.
    pub fn diff(&self, receipt: u64) -> Result<Option<(DiffText, Vec<u8>)>, StateError> {
        let found = self
            .database
            .prepare_cached(
                // A receipt is found by its run; its session's last one is not before it.
                "SELECT sessions.chain, receipts.body, receipts.diff FROM receipts
                 JOIN sessions ON sessions.id = receipts.session
                 WHERE receipts.run IN (SELECT run FROM sessions WHERE last >= ?1)
                 AND number = ?1 LIMIT 1",
            )?
            .query_row((sql(receipt),), |row| {
                let texts = (row.get::<_, Vec<u8>>(1)?, row.get::<_, Vec<u8>>(2)?);
                Ok((row.get::<_, i64>(0)?, texts.0, texts.1))
            })
            .optional()?;
        let Some((version, body, text)) = found else {
            return Ok(None);
        };
        let nothing = || {
            Ok(Unsaid {
                authority: AuthorityId([0; 32]),
                previous: Digest([0; 32]),
            })
        };
        let body = Body::read(Version::numbered(version)?, &body, nothing)?;
        let cut = body.end.diff_cut;
        Ok(Some((DiffText { cut }, text)))
    }

    /// The last link of the chain of heads: whoever knows it can tell later that nothing before it
    /// was changed. None when no session is over.
    pub fn head(&self) -> Result<Option<Digest>, StateError> {
        let last = "SELECT link FROM heads ORDER BY position DESC LIMIT 1";
        let last = self
            .database
            .query_row(last, (), |row| row.get::<_, String>(0))
            .optional()?;
        last.map(|link| Ok(Digest(unhex(&link)?))).transpose()
    }

    /// Whether this was the last link of the chain of heads once.
    pub fn had_head(&self, head: Digest) -> Result<bool, StateError> {
        let one = "SELECT 1 FROM heads WHERE link = ?1";
        let mut one = self.database.prepare_cached(one)?;
        Ok(one.exists((chain::hex(&head.0),))?)
    }

    /// Looks at every chain, and the chain of their heads.
    pub fn verify(&self) -> Result<Verified, StateError> {
        verify(&self.database)
    }
}
