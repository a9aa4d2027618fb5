//! Whether the records hold together: every receipt is the next link of its session's chain, says
//! in its columns what its body says, and every session that is over is anchored as it is.

use super::chain::{self, Body, Head, Identity, hex, unhex};
use super::{StateError, count};
use portcullis_protocol::authority::AuthorityId;
use portcullis_protocol::bounded::{Few, Text};
use portcullis_protocol::control::{RunId, Verified};
use portcullis_protocol::limits::ROOTS_MAX;
use portcullis_protocol::path::Label;
use portcullis_protocol::session::{Incarnation, Outcome, SessionId};
use portcullis_protocol::view::Digest;
use rusqlite::{Connection, Row, Transaction};
use std::collections::{HashMap, HashSet};

/// A session as its receipts, read so far, say it must be.
struct Chain {
    incarnation: Incarnation,
    session: SessionId,
    run: RunId,
    roots: Few<Label, ROOTS_MAX>,
    link: Digest,
    /// The last receipt, and how many there are.
    last: u64,
    receipts: u64,
    /// Receipts done, failed and uncertain.
    tally: (u64, u64, u64),
    /// What its row says.
    said: Said,
}

struct Said {
    head: String,
    last: u64,
    tally: (u64, u64, u64),
    over: Over,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Yes,
    No,
}

/// What does not hold, or why that cannot be told.
enum Broken {
    Found(String),
    Failed(StateError),
}

impl From<StateError> for Broken {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Damaged(what) => Self::Found(what),
            failed @ (StateError::Files { .. }
            | StateError::Foreign { .. }
            | StateError::InUse { .. }
            | StateError::OldGates { .. }
            | StateError::Missing { .. }
            | StateError::Newer { .. }
            | StateError::Database(_)) => Self::Failed(failed),
        }
    }
}

impl From<rusqlite::Error> for Broken {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error.into())
    }
}

fn found<T>(what: String) -> Result<T, Broken> {
    Err(Broken::Found(what))
}

pub(super) fn verify(database: &Connection) -> Result<Verified, StateError> {
    // One version of all tables, whatever is written meanwhile.
    let version = database.unchecked_transaction()?;
    let mut seen = Verified {
        sessions: 0,
        receipts: 0,
        open: version
            .query_row("SELECT count(intent_ms) FROM sessions", (), |row| {
                row.get(0)
            })
            .map(count)?,
        broken: None,
    };
    match look(&version, &mut seen) {
        Ok(()) => {}
        Err(Broken::Found(what)) => seen.broken = Some(Text::plain(&what)),
        Err(Broken::Failed(error)) => return Err(error),
    }
    Ok(seen)
}

fn look(version: &Transaction<'_>, seen: &mut Verified) -> Result<(), Broken> {
    let mut chains = sessions(version)?;
    seen.sessions = chains.len() as u64;
    receipts(version, &mut chains, seen)?;
    for (row, chain) in &chains {
        if chain.said.head != hex(&chain.link.0)
            || chain.said.last != chain.last
            || chain.said.tally != chain.tally
        {
            return found(format!("session {row} does not end with its last receipt"));
        }
    }
    heads(version, &chains)
}

fn sessions(version: &Transaction<'_>) -> Result<HashMap<i64, Chain>, Broken> {
    let mut all = version.prepare(
        "SELECT id, incarnation, session, run, authority, request, owner, roots, began_ms,
         head, last, done, failed, uncertain, ended_ms FROM sessions",
    )?;
    let mut rows = all.query(())?;
    let mut chains = HashMap::new();
    while let Some(row) = rows.next()? {
        chains.insert(row.get(0)?, begun(row)?);
    }
    Ok(chains)
}

fn begun(row: &Row<'_>) -> Result<Chain, Broken> {
    let identity = Identity {
        incarnation: Incarnation(unhex(&row.get::<_, String>(1)?)?),
        session: SessionId(count(row.get(2)?)),
        run: RunId(count(row.get(3)?)),
        authority: AuthorityId(unhex(&row.get::<_, String>(4)?)?),
        request: row.get(5)?,
        owner: row.get(6)?,
        roots: chain::text_labels(&row.get::<_, String>(7)?)?,
        began_ms: count(row.get(8)?),
    };
    Ok(Chain {
        link: chain::first(&identity)?,
        incarnation: identity.incarnation,
        session: identity.session,
        run: identity.run,
        roots: identity.roots,
        last: 0,
        receipts: 0,
        tally: (0, 0, 0),
        said: Said {
            head: row.get(9)?,
            last: count(row.get(10)?),
            tally: (
                count(row.get(11)?),
                count(row.get(12)?),
                count(row.get(13)?),
            ),
            over: match row.get::<_, Option<i64>>(14)? {
                Some(_) => Over::Yes,
                None => Over::No,
            },
        },
    })
}

fn receipts(
    version: &Transaction<'_>,
    chains: &mut HashMap<i64, Chain>,
    seen: &mut Verified,
) -> Result<(), Broken> {
    let mut all = version.prepare(
        "SELECT number, session, run, at_ms, outcome, witness, guarantee, touched, body, link,
         diff FROM receipts ORDER BY run, number",
    )?;
    let mut rows = all.query(())?;
    while let Some(row) = rows.next()? {
        let number = count(row.get(0)?);
        let Some(chain) = chains.get_mut(&row.get(1)?) else {
            return found(format!("receipt {number} belongs to no session"));
        };
        receipt(number, row, chain)?;
        seen.receipts += 1;
    }
    Ok(())
}

/// Takes the next receipt of a chain.
fn receipt(number: u64, row: &Row<'_>, chain: &mut Chain) -> Result<(), Broken> {
    let bytes: Vec<u8> = row.get(8)?;
    let link = chain::link(chain.link, &bytes);
    if row.get::<_, String>(9)? != hex(&link.0) {
        return found(format!("receipt {number} is not the next of its chain"));
    }
    let body: Body = chain::decode(&bytes)?;
    let says = (
        row.get::<_, String>(4)?,
        row.get::<_, String>(5)?,
        row.get::<_, String>(6)?,
        row.get::<_, String>(7)?,
    );
    let end = &body.end;
    let means = (
        end.outcome.name().to_owned(),
        body.witness.name().to_owned(),
        end.guarantee.name().to_owned(),
        chain::touched_text(end, &chain.roots),
    );
    let numbers = (count(row.get(2)?), count(row.get(3)?));
    if says != means
        || numbers != (body.run.0, body.at_ms)
        || (body.number, body.run) != (number, chain.run)
        || (body.incarnation, body.session) != (chain.incarnation, chain.session)
    {
        return found(format!("receipt {number} does not say what it hashes"));
    }
    let text: Vec<u8> = row.get(10)?;
    let kept = u32::try_from(text.len()).unwrap_or(u32::MAX);
    if body.diff != (kept, chain::digest(&text)) {
        return found(format!("the difference of receipt {number} is another"));
    }
    chain.link = link;
    chain.last = number;
    chain.receipts += 1;
    match end.outcome {
        Outcome::Done => chain.tally.0 += 1,
        Outcome::Failed => chain.tally.1 += 1,
        Outcome::Uncertain => chain.tally.2 += 1,
    }
    Ok(())
}

/// The chain of heads, with one for each session that is over and has receipts.
fn heads(version: &Transaction<'_>, chains: &HashMap<i64, Chain>) -> Result<(), Broken> {
    let mut all = version.prepare(
        "SELECT position, session, at_ms, link, receipts, head FROM heads ORDER BY position",
    )?;
    let mut rows = all.query(())?;
    let mut link = chain::no_head();
    let mut anchored = HashSet::new();
    while let Some(row) = rows.next()? {
        let position: i64 = row.get(0)?;
        let session: i64 = row.get(1)?;
        let Some(chain) = chains.get(&session) else {
            return found(format!("head {position} belongs to no session"));
        };
        let head = chain::encode(&Head {
            incarnation: chain.incarnation,
            session: chain.session,
            receipts: chain.receipts,
            head: chain.link,
            at_ms: count(row.get(2)?),
        })?;
        link = chain::link(link, &head);
        let says = (
            row.get::<_, String>(3)?,
            count(row.get(4)?),
            row.get::<_, String>(5)?,
        );
        if says != (hex(&link.0), chain.receipts, hex(&chain.link.0)) {
            return found(format!("head {position} is not what its session came to"));
        }
        if !anchored.insert(session) {
            return found(format!("head {position} is the second of its session"));
        }
    }
    let over = |chain: &Chain| chain.said.over == Over::Yes && chain.receipts > 0;
    if chains
        .iter()
        .any(|(session, chain)| over(chain) != anchored.contains(session))
    {
        return found("a session that is over has no head, or one that is not has one".to_owned());
    }
    Ok(())
}
