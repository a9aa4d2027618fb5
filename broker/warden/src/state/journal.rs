//! What a warden writes: runs, sessions, intents and receipts. Each call is one transaction.

mod effect;
mod proposals;
mod receipt;
mod refusals;

pub(crate) use effect::{Claim, OpenIntent};
pub(crate) use proposals::{Decided, NewProposal};
pub(super) use refusals::REFUSAL;

use super::chain::{self, Head, Identity, Version, encode, hex, unhex};
use super::checkpoint::Checkpoints;
use super::reserve::Reserve;
use super::step::Step;
use super::{DATABASE, StateError, count, now_ms, sql};
use effect::Open;
use portcullis_protocol::authority::{Authority, AuthorityId};
use portcullis_protocol::bounded::Few;
use portcullis_protocol::control::RunId;
use portcullis_protocol::ledger::CageReport;
use portcullis_protocol::limits::ROOTS_MAX;
use portcullis_protocol::path::Label;
use portcullis_protocol::session::{Incarnation, SessionId};
use portcullis_protocol::view::Digest;
use rusqlite::{Connection, OptionalExtension};
use std::collections::HashMap;
use std::path::Path;

/// A session in the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SessionRow(pub(super) i64);

/// An intent that has no receipt yet: the one of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct IntentId(SessionRow);

/// A session that begins.
#[derive(Debug)]
pub(crate) struct NewSession<'a> {
    pub(crate) run: RunId,
    pub(crate) incarnation: Incarnation,
    pub(crate) session: SessionId,
    pub(crate) authority: &'a Authority,
    /// The authority encoded, for a session that may change something: its effects may have to
    /// be settled under it.
    pub(crate) encoded: Option<&'a [u8]>,
    /// The cage its gate is in.
    pub(crate) cage: &'a CageReport,
}

#[derive(Debug)]
pub(super) struct Journal {
    database: Connection,
    reserve: Reserve,
    checkpoints: Checkpoints,
    /// Sessions that are not over.
    sessions: HashMap<SessionRow, Session>,
    /// Effects that are begun.
    open: u64,
    /// The number that was given last.
    last: u64,
}

#[derive(Debug)]
struct Session {
    incarnation: Incarnation,
    number: SessionId,
    run: RunId,
    version: Version,
    authority: AuthorityId,
    cage: Digest,
    roots: Few<Label, ROOTS_MAX>,
    receipts: u64,
    head: Digest,
    open: Option<Open>,
    life: Life,
}

/// In whose life a session began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    /// In that of an earlier warden: what was approved in it is void.
    Earlier,
    Now,
}

impl Journal {
    pub(super) fn open(database: Connection, directory: &Path) -> Result<Self, StateError> {
        database.set_prepared_statement_cache_capacity(64);
        let files = |source| StateError::Files {
            path: directory.to_owned(),
            what: "room kept for receipts",
            source,
        };
        let mut reserve = Reserve::open(directory).map_err(files)?;
        reserve.keep(1).map_err(files)?;
        let last = database.query_row("SELECT max(last) FROM sessions", (), |row| {
            row.get::<_, Option<i64>>(0)
        })?;
        let mut journal = Self {
            checkpoints: Checkpoints::start(&directory.join(DATABASE))?,
            database,
            reserve,
            sessions: HashMap::new(),
            open: 0,
            last: last.map_or(0, count),
        };
        journal.load_sessions()?;
        Ok(journal)
    }

    /// Sessions that a warden left behind.
    fn load_sessions(&mut self) -> Result<(), StateError> {
        let mut all = self.database.prepare(
            "SELECT sessions.id, incarnation, sessions.session, run, chain, authority, cage, roots,
             done + failed + uncertain, head, last, intent_ms, intent, claim, approver
             FROM sessions LEFT JOIN proposals ON proposals.id = claim WHERE ended_ms IS NULL",
        )?;
        let mut beyond = self.database.prepare(
            "SELECT 1 FROM receipts WHERE run = ?1 AND number > ?2 AND session = ?3 LIMIT 1",
        )?;
        let mut rows = all.query(())?;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            let version = Version::numbered(row.get(4)?)?;
            // Its next receipt would be a second one after the same link.
            if beyond.exists((row.get::<_, i64>(3)?, row.get::<_, i64>(10)?, id))? {
                return Err(StateError::Damaged(format!(
                    "session {id} has receipts beyond what its row says; `portcullis log verify` \
                     says more, `portcullis log repair` brings it in order"
                )));
            }
            let session = Session {
                incarnation: Incarnation(unhex(&row.get::<_, String>(1)?)?),
                number: SessionId(count(row.get(2)?)),
                run: RunId(count(row.get(3)?)),
                version,
                authority: chain::authority(&row.get::<_, String>(5)?)?,
                cage: chain::cage_of(version, &row.get::<_, String>(6)?)?,
                roots: chain::text_labels(&row.get::<_, String>(7)?)?,
                receipts: count(row.get(8)?),
                head: Digest(unhex(&row.get::<_, String>(9)?)?),
                open: Open::load(version, row)?,
                life: Life::Earlier,
            };
            self.open += u64::from(session.open.is_some());
            self.sessions.insert(SessionRow(id), session);
        }
        Ok(())
    }

    /// One statement, or a look, of what else is kept beside runs and receipts.
    pub(super) fn with<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let done = work(&self.database)?;
        self.checkpoints.committed();
        Ok(done)
    }

    pub(super) fn begin_run(&mut self, request: &str, owner: &str) -> Result<RunId, StateError> {
        self.database
            .prepare_cached("INSERT INTO runs (request, owner, began_ms) VALUES (?1, ?2, ?3)")?
            .execute((request, owner, sql(now_ms())))?;
        self.checkpoints.committed();
        Ok(RunId(count(self.database.last_insert_rowid())))
    }

    pub(super) fn end_run(&mut self, run: RunId) -> Result<(), StateError> {
        self.database
            .prepare_cached("UPDATE runs SET ended_ms = ?2 WHERE run = ?1")?
            .execute((sql(run.0), sql(now_ms())))?;
        self.checkpoints.committed();
        Ok(())
    }

    pub(super) fn begin_session(&mut self, new: &NewSession<'_>) -> Result<SessionRow, StateError> {
        let parts = new.authority.parts();
        let identity = Identity {
            version: Version::Second,
            incarnation: new.incarnation,
            session: new.session,
            run: new.run,
            authority: new.authority.id(),
            parent: parts.parent,
            request: parts.request.as_str().to_owned(),
            owner: parts.owner.as_str().to_owned(),
            conversation: parts.conversation.as_str().to_owned(),
            roots: chain::labels(new.authority),
            cage: chain::cage(new.cage)?,
            began_ms: now_ms(),
        };
        let head = identity.first()?;
        let row = self.write_session(&identity, head, new.encoded)?;
        self.checkpoints.committed();
        let session = Session {
            incarnation: identity.incarnation,
            number: identity.session,
            run: identity.run,
            version: identity.version,
            authority: identity.authority,
            cage: identity.cage,
            roots: identity.roots,
            receipts: 0,
            head,
            open: None,
            life: Life::Now,
        };
        self.sessions.insert(row, session);
        Ok(row)
    }

    fn write_session(
        &mut self,
        identity: &Identity,
        head: Digest,
        encoded: Option<&[u8]>,
    ) -> Result<SessionRow, StateError> {
        let authority = hex(&identity.authority.0);
        let step = Step::begin(&mut self.database)?;
        if let Some(encoded) = encoded {
            step.prepare_cached("INSERT OR IGNORE INTO authorities VALUES (?1, ?2)")?
                .execute((&authority, encoded))?;
        }
        step.prepare_cached(
            "INSERT INTO sessions (run, incarnation, session, request, owner, authority, roots,
             began_ms, head, chain, conversation, parent, cage)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?
        .execute((
            sql(identity.run.0),
            hex(&identity.incarnation.0),
            sql(identity.session.0),
            &identity.request,
            &identity.owner,
            &authority,
            chain::labels_text(&identity.roots),
            sql(identity.began_ms),
            hex(&head.0),
            identity.version.number(),
            &identity.conversation,
            identity.parent.map(|parent| hex(&parent.0)),
            hex(&identity.cage.0),
        ))?;
        let row = SessionRow(step.last_insert_rowid());
        step.commit()?;
        Ok(row)
    }

    pub(super) fn end_session(&mut self, row: SessionRow) -> Result<(), StateError> {
        let session = self.session(row)?;
        let at_ms = now_ms();
        let head = Head {
            incarnation: session.incarnation,
            session: session.number,
            receipts: session.receipts,
            head: session.head,
            at_ms,
        };
        let body = encode(&head)?;
        let step = Step::begin(&mut self.database)?;
        step.prepare_cached("UPDATE sessions SET ended_ms = ?2 WHERE id = ?1")?
            .execute((row.0, sql(at_ms)))?;
        step.prepare_cached(
            "UPDATE proposals SET state = 'void'
             WHERE session = ?1 AND state IN ('pending', 'approved')",
        )?
        .execute((row.0,))?;
        // A session that changed nothing has nothing to be anchored.
        if head.receipts > 0 {
            let before = step
                .prepare_cached("SELECT link FROM heads ORDER BY position DESC LIMIT 1")?
                .query_row((), |row| row.get::<_, String>(0))
                .optional()?;
            let before = match before {
                Some(link) => Digest(unhex(&link)?),
                None => chain::no_head(),
            };
            step.prepare_cached(
                "INSERT INTO heads (session, receipts, head, at_ms, link)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute((
                row.0,
                sql(head.receipts),
                hex(&head.head.0),
                sql(at_ms),
                hex(&chain::link(before, &body).0),
            ))?;
        }
        step.commit()?;
        self.sessions.remove(&row);
        self.checkpoints.committed();
        Ok(())
    }

    pub(super) fn end_left_sessions(&mut self) -> Result<(), StateError> {
        let settled = self.sessions.iter().filter(|(_, s)| s.open.is_none());
        let mut left: Vec<SessionRow> = settled.map(|(row, _)| *row).collect();
        left.sort_unstable_by_key(|row| row.0);
        left.into_iter().try_for_each(|row| self.end_session(row))
    }

    fn session(&self, row: SessionRow) -> Result<&Session, StateError> {
        self.sessions.get(&row).ok_or_else(no_session)
    }

    /// As a full disk does.
    #[cfg(test)]
    pub(super) fn forbid_growth(&self) {
        let pages: i64 = self
            .database
            .pragma_query_value(None, "page_count", |row| row.get(0))
            .unwrap();
        let limit = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        let sql = format!("PRAGMA max_page_count = {pages}");
        self.database.query_row(&sql, (), limit).unwrap();
    }
}

fn no_session() -> StateError {
    StateError::Damaged("no such session runs".to_owned())
}
