//! What a warden writes: runs, sessions, intents and receipts. Each call is one transaction.

mod receipt;

use super::chain::{self, Head, Identity, encode, hex, unhex};
use super::checkpoint::Checkpoints;
use super::reserve::Reserve;
use super::{DATABASE, StateError, count, now_ms, sql};
use portcullis_protocol::authority::Authority;
use portcullis_protocol::bounded::Few;
use portcullis_protocol::control::RunId;
use portcullis_protocol::ledger::{Begin, Intent, TreeLock};
use portcullis_protocol::limits::ROOTS_MAX;
use portcullis_protocol::path::Label;
use portcullis_protocol::session::{Incarnation, SessionId};
use portcullis_protocol::view::Digest;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use std::collections::HashMap;
use std::path::Path;

/// A session in the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SessionRow(i64);

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
}

/// An intent of an earlier life, with what is needed to settle it.
#[derive(Debug)]
pub(crate) struct OpenIntent {
    pub(crate) id: IntentId,
    pub(crate) session: SessionRow,
    pub(crate) incarnation: Incarnation,
    pub(crate) number: SessionId,
    pub(crate) begin: Begin,
    /// None when it cannot be read.
    pub(crate) authority: Option<Authority>,
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
    roots: Few<Label, ROOTS_MAX>,
    receipts: u64,
    head: Digest,
    open: Option<Open>,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    began_ms: u64,
    request: Digest,
    /// The number of its receipt, when it has one before it ends.
    number: Option<u64>,
}

/// An intent as it is kept: how the trees are held, as a number of its own, and what is meant.
type Kept = (u8, Intent);

const fn tree_number(tree: TreeLock) -> u8 {
    match tree {
        TreeLock::Shared => 0,
        TreeLock::Exclusive => 1,
    }
}

fn numbered_tree(number: u8) -> Result<TreeLock, StateError> {
    match number {
        0 => Ok(TreeLock::Shared),
        1 => Ok(TreeLock::Exclusive),
        _ => Err(StateError::Damaged("no such tree lock".to_owned())),
    }
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
            "SELECT id, incarnation, session, run, roots, done + failed + uncertain, head,
             intent_ms, intent FROM sessions WHERE ended_ms IS NULL",
        )?;
        let mut rows = all.query(())?;
        while let Some(row) = rows.next()? {
            let session = Session {
                incarnation: Incarnation(unhex(&row.get::<_, String>(1)?)?),
                number: SessionId(count(row.get(2)?)),
                run: RunId(count(row.get(3)?)),
                roots: chain::text_labels(&row.get::<_, String>(4)?)?,
                receipts: count(row.get(5)?),
                head: Digest(unhex(&row.get::<_, String>(6)?)?),
                open: opened(row.get(7)?, row.get(8)?)?,
            };
            self.open += u64::from(session.open.is_some());
            self.sessions.insert(SessionRow(row.get(0)?), session);
        }
        Ok(())
    }

    fn transaction(database: &mut Connection) -> Result<Transaction<'_>, StateError> {
        Ok(database.transaction_with_behavior(TransactionBehavior::Immediate)?)
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
            incarnation: new.incarnation,
            session: new.session,
            run: new.run,
            authority: new.authority.id(),
            request: parts.request.as_str().to_owned(),
            owner: parts.owner.as_str().to_owned(),
            roots: chain::labels(new.authority),
            began_ms: now_ms(),
        };
        let head = chain::first(&identity)?;
        let authority = hex(&identity.authority.0);
        let step = Self::transaction(&mut self.database)?;
        if let Some(encoded) = new.encoded {
            step.prepare_cached("INSERT OR IGNORE INTO authorities VALUES (?1, ?2)")?
                .execute((&authority, encoded))?;
        }
        step.prepare_cached(
            "INSERT INTO sessions (run, incarnation, session, request, owner, authority, roots,
             began_ms, head) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
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
        ))?;
        let row = SessionRow(step.last_insert_rowid());
        step.commit()?;
        self.checkpoints.committed();
        let session = Session {
            incarnation: identity.incarnation,
            number: identity.session,
            run: identity.run,
            roots: identity.roots,
            receipts: 0,
            head,
            open: None,
        };
        self.sessions.insert(row, session);
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
        let step = Self::transaction(&mut self.database)?;
        step.prepare_cached("UPDATE sessions SET ended_ms = ?2 WHERE id = ?1")?
            .execute((row.0, sql(at_ms)))?;
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

    pub(super) fn begin(&mut self, row: SessionRow, begin: &Begin) -> Result<IntentId, StateError> {
        self.reserve
            .keep(self.open + 1)
            .map_err(|source| StateError::Files {
                path: DATABASE.into(),
                what: "room for the receipt",
                source,
            })?;
        let session = self.sessions.get_mut(&row).ok_or_else(no_session)?;
        if session.open.is_some() {
            return Err(StateError::Damaged("an effect of it is open".to_owned()));
        }
        let body = encode(&(tree_number(begin.tree), &begin.intent))?;
        let open = Open {
            began_ms: now_ms(),
            request: begin.intent.request,
            number: None,
        };
        self.database
            .prepare_cached("UPDATE sessions SET intent_ms = ?2, intent = ?3 WHERE id = ?1")?
            .execute((row.0, sql(open.began_ms), body))?;
        session.open = Some(open);
        self.open += 1;
        self.checkpoints.committed();
        Ok(IntentId(row))
    }

    /// The trees stay held as they are; see [`Kept`].
    pub(super) fn amend(&mut self, id: IntentId, intent: &Intent) -> Result<(), StateError> {
        let IntentId(row) = id;
        let session = self.sessions.get_mut(&row).ok_or_else(no_session)?;
        let open = session.open.as_mut().ok_or_else(no_intent)?;
        let old: Vec<u8> = self
            .database
            .prepare_cached("SELECT intent FROM sessions WHERE id = ?1")?
            .query_row((row.0,), |row| row.get(0))?;
        let (tree, _): Kept = chain::decode(&old)?;
        self.database
            .prepare_cached("UPDATE sessions SET intent = ?2 WHERE id = ?1")?
            .execute((row.0, encode(&(tree, intent))?))?;
        open.request = intent.request;
        self.checkpoints.committed();
        Ok(())
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

    /// Gives an open intent the number of its receipt. Numbers are the order of effects on any one
    /// name: whoever gives its locks back before it ends has its number from then.
    pub(super) fn number(&mut self, id: IntentId) {
        let IntentId(row) = id;
        let next = self.last + 1;
        let session = self.sessions.get_mut(&row);
        if let Some(open) = session.and_then(|session| session.open.as_mut())
            && open.number.is_none()
        {
            open.number = Some(next);
            self.last = next;
        }
    }

    fn session(&self, row: SessionRow) -> Result<&Session, StateError> {
        self.sessions.get(&row).ok_or_else(no_session)
    }

    pub(super) fn open_intents(&self) -> Result<Vec<OpenIntent>, StateError> {
        let mut all = self.database.prepare(
            "SELECT id, intent, authorities.body FROM sessions
             LEFT JOIN authorities ON authorities.authority = sessions.authority
             WHERE ended_ms IS NULL AND intent IS NOT NULL ORDER BY id",
        )?;
        let mut rows = all.query(())?;
        let mut intents = Vec::new();
        while let Some(row) = rows.next()? {
            let session = SessionRow(row.get(0)?);
            let (tree, intent): Kept = chain::decode(&row.get::<_, Vec<u8>>(1)?)?;
            let authority: Option<Vec<u8>> = row.get(2)?;
            let known = self.session(session)?;
            intents.push(OpenIntent {
                id: IntentId(session),
                session,
                incarnation: known.incarnation,
                number: known.number,
                begin: Begin {
                    tree: numbered_tree(tree)?,
                    intent,
                },
                authority: authority.and_then(|body| postcard::from_bytes(&body).ok()),
            });
        }
        Ok(intents)
    }
}

fn no_session() -> StateError {
    StateError::Damaged("no such session runs".to_owned())
}

fn no_intent() -> StateError {
    StateError::Damaged("no effect of it is open".to_owned())
}

/// The intent of a session's row, if it has one.
fn opened(began_ms: Option<i64>, body: Option<Vec<u8>>) -> Result<Option<Open>, StateError> {
    let (Some(began_ms), Some(body)) = (began_ms, body) else {
        return Ok(None);
    };
    let (_, intent): Kept = chain::decode(&body)?;
    Ok(Some(Open {
        began_ms: count(began_ms),
        request: intent.request,
        number: None,
    }))
}
