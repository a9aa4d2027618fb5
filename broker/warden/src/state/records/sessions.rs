//! Sessions and refusals on record.

use super::{MARGIN, Records};
use crate::state::chain::{self, Identity, Version, unhex};
use crate::state::{StateError, count, sql};
use portcullis_protocol::bounded::{Few, Text};
use portcullis_protocol::control::{
    RefusalRecord, RefusalsPage, RunId, SessionRecord, SessionsPage,
};
use portcullis_protocol::ledger::RefusalNote;
use portcullis_protocol::limits::{BODY_BYTES_MAX, REFUSALS_PAGE_MAX, SESSIONS_PAGE_MAX};
use portcullis_protocol::session::{Incarnation, SessionId};
use portcullis_protocol::view::Digest;
use rusqlite::Row;

/// What the identity of a session is made of, in this order; see [`identity`].
pub(in crate::state) const IDENTITY: &str = "sessions.id, chain, incarnation, sessions.session,
    run, authority, parent, request, owner, conversation, roots, cage, began_ms";

/// The identity of a session, of a row that begins with [`IDENTITY`].
pub(in crate::state) fn identity(row: &Row<'_>) -> Result<Identity, StateError> {
    let version = Version::numbered(row.get(1)?)?;
    let parent: Option<String> = row.get(6)?;
    Ok(Identity {
        version,
        incarnation: Incarnation(unhex(&row.get::<_, String>(2)?)?),
        session: SessionId(count(row.get(3)?)),
        run: RunId(count(row.get(4)?)),
        authority: chain::authority(&row.get::<_, String>(5)?)?,
        parent: parent.as_deref().map(chain::authority).transpose()?,
        request: row.get(7)?,
        owner: row.get(8)?,
        conversation: row.get(9)?,
        roots: chain::text_labels(&row.get::<_, String>(10)?)?,
        cage: chain::cage_of(version, &row.get::<_, String>(11)?)?,
        began_ms: count(row.get(12)?),
    })
}

impl Records {
    /// Sessions of a run after row `after`, in order; as many as fit one answer.
    pub fn sessions(&self, run: RunId, after: u64) -> Result<SessionsPage, StateError> {
        let mut all = self.database.prepare_cached(&format!(
            "SELECT {IDENTITY}, ended_ms, done + failed + uncertain, head FROM sessions
             WHERE run = ?1 AND id > ?2 ORDER BY id LIMIT ?3"
        ))?;
        let mut rows = all.query((sql(run.0), sql(after), sql(SESSIONS_PAGE_MAX as u64)))?;
        let mut sessions = Vec::new();
        let mut bytes = 0;
        while let Some(row) = rows.next()? {
            let session = session_of(row)?;
            bytes += chain::encode(&session)?.len();
            if bytes + MARGIN > BODY_BYTES_MAX && !sessions.is_empty() {
                break;
            }
            sessions.push(session);
        }
        Ok(SessionsPage {
            sessions: Few::new(sessions).unwrap_or_default(),
        })
    }

    /// Refusals of a run after number `after`, in order; as many as fit one answer.
    pub fn refusals(&self, run: RunId, after: u64) -> Result<RefusalsPage, StateError> {
        let left_out = self
            .database
            .prepare_cached(
                "SELECT (SELECT coalesce(sum(refused), 0) FROM sessions WHERE run = ?1)
                 - (SELECT count(*) FROM refusals WHERE run = ?1)",
            )?
            .query_row((sql(run.0),), |row| row.get(0))
            .map(count)?;
        let mut all = self.database.prepare_cached(
            "SELECT number, sessions.session, at_ms, body FROM refusals
             JOIN sessions ON sessions.id = refusals.session
             WHERE refusals.run = ?1 AND number > ?2 ORDER BY number LIMIT ?3",
        )?;
        let mut rows = all.query((sql(run.0), sql(after), sql(REFUSALS_PAGE_MAX as u64)))?;
        let mut refusals = Vec::new();
        let mut bytes = 0;
        while let Some(row) = rows.next()? {
            let refusal = refusal_of(row)?;
            bytes += chain::encode(&refusal)?.len();
            if bytes + MARGIN > BODY_BYTES_MAX && !refusals.is_empty() {
                break;
            }
            refusals.push(refusal);
        }
        Ok(RefusalsPage {
            refusals: Few::new(refusals).unwrap_or_default(),
            left_out,
        })
    }

    /// The link before the first receipt of a session.
    pub(super) fn first_link(&self, session: i64) -> Result<Digest, StateError> {
        let sql = format!("SELECT {IDENTITY} FROM sessions WHERE id = ?1");
        let mut one = self.database.prepare_cached(&sql)?;
        let mut rows = one.query((session,))?;
        match rows.next()? {
            Some(row) => identity(row)?.first(),
            None => Err(StateError::Damaged("a receipt has no session".to_owned())),
        }
    }
}

fn session_of(row: &Row<'_>) -> Result<SessionRecord, StateError> {
    let identity = identity(row)?;
    Ok(SessionRecord {
        row: count(row.get(0)?),
        first: identity.first()?,
        incarnation: identity.incarnation,
        session: identity.session,
        authority: identity.authority,
        request: Text::plain(&identity.request),
        owner: Text::plain(&identity.owner),
        conversation: Text::plain(&identity.conversation),
        parent: identity.parent,
        roots: identity.roots,
        cage: identity.cage,
        began_ms: identity.began_ms,
        ended_ms: row.get::<_, Option<i64>>(13)?.map(count),
        receipts: count(row.get(14)?),
        head: Digest(unhex(&row.get::<_, String>(15)?)?),
    })
}

fn refusal_of(row: &Row<'_>) -> Result<RefusalRecord, StateError> {
    let body: Vec<u8> = row.get(3)?;
    let (version, note): (u8, RefusalNote) = chain::decode(&body)?;
    if version != crate::state::journal::REFUSAL {
        return Err(StateError::Damaged(
            "a refusal of no known version".to_owned(),
        ));
    }
    Ok(RefusalRecord {
        number: count(row.get(0)?),
        session: SessionId(count(row.get(1)?)),
        at_ms: count(row.get(2)?),
        note,
    })
}
