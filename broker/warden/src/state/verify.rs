//! Whether the records hold together: every receipt is the next link of its session's chain, says
//! in its columns what its body says, and every session that is over is anchored as it is.
//!
//! What a crash of the disk may leave is told from what only a hand can do: a session's row that is
//! behind its receipts is a torn tail. Receipts that its row knows and that are not there are missing,
//! however they went.

mod heads;
mod receipts;

use super::chain::{Identity, hex};
use super::records::{IDENTITY, identity};
use super::{StateError, count};
use portcullis_protocol::bounded::Text;
use portcullis_protocol::control::Verified;
use portcullis_protocol::view::Digest;
use rusqlite::{Connection, Row};
use std::collections::{BTreeMap, HashMap};

/// What was found of one kind of thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Changed,
    Missing,
    Reordered,
    Foreign,
    /// Not what is there is wrong, but where it ends.
    Torn,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Reordered => "reordered",
            Self::Foreign => "foreign",
            Self::Torn => "torn tail",
        }
    }
}

/// Something that does not hold: its kind, and the row.
#[derive(Debug)]
struct Fault {
    kind: Kind,
    what: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.what)
    }
}

/// What does not hold, or why that cannot be told.
#[derive(Debug)]
enum Broken {
    Found(Fault),
    Failed(StateError),
}

impl From<StateError> for Broken {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Damaged(what) => Self::Found(Fault {
                kind: Kind::Changed,
                what,
            }),
            failed @ (StateError::Files { .. }
            | StateError::Foreign { .. }
            | StateError::InUse { .. }
            | StateError::OldGates { .. }
            | StateError::Missing { .. }
            | StateError::Newer { .. }
            | StateError::NotApproved { .. }
            | StateError::Database(_)) => Self::Failed(failed),
        }
    }
}

impl From<rusqlite::Error> for Broken {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error.into())
    }
}

fn found<T>(kind: Kind, what: String) -> Result<T, Broken> {
    Err(Broken::Found(Fault { kind, what }))
}

/// How far a session goes: its last receipt, the link after it, and receipts done, failed and
/// uncertain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) last: u64,
    pub(super) link: Digest,
    pub(super) tally: (u64, u64, u64),
}

impl Reach {
    pub(super) const fn receipts(&self) -> u64 {
        self.tally.0 + self.tally.1 + self.tally.2
    }
}

/// A session as its receipts, read so far, say it must be.
struct Chain {
    identity: Identity,
    /// By its receipts.
    is: Reach,
    /// By its row. Never behind `is`, but in a torn tail.
    said: Said,
    over: Over,
    /// The first receipt beyond its row that does not go on from the one before it.
    cut: Option<u64>,
    /// When its end is anchored, if it is.
    anchored_ms: Option<u64>,
}

struct Said {
    head: String,
    last: u64,
    tally: (u64, u64, u64),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Yes,
    No,
}

impl Chain {
    /// Its name, in what is said of it.
    fn name(&self) -> String {
        let Identity { session, run, .. } = &self.identity;
        format!("session {} of run {}", session.0, run.0)
    }

    /// Whether its row says what its receipts up to here come to.
    fn meets_row(&self) -> Result<(), Broken> {
        let (said, is) = (&self.said, &self.is);
        if said.last > is.last {
            let name = self.name();
            let what = match is.last {
                0 => format!("receipts of {name}, the last of them {}", said.last),
                last => format!("receipts of {name} after {last}, up to {}", said.last),
            };
            return found(Kind::Missing, what);
        }
        if said.head != hex(&is.link.0) || said.tally != is.tally {
            let what = format!(
                "the row of {} is not what its receipts come to",
                self.name()
            );
            return found(Kind::Changed, what);
        }
        Ok(())
    }

    fn is_torn(&self) -> bool {
        let behind = self.is.last > self.said.last || self.cut.is_some();
        behind || (self.over == Over::No && self.anchored_ms.is_some())
    }
}

/// A session whose row is behind its receipts, and how it is brought in order.
#[derive(Debug)]
pub(super) struct Torn {
    pub(super) row: i64,
    pub(super) run: u64,
    /// How far its receipts are whole.
    pub(super) whole: Reach,
    /// The first receipt that is not.
    pub(super) cut: Option<u64>,
    /// When its end is anchored.
    pub(super) ended_ms: Option<u64>,
}

/// What was seen of the records.
pub(super) struct Examined {
    pub(super) verified: Verified,
    /// Sessions with a torn tail. All there are only where nothing else does not hold.
    pub(super) torn: Vec<Torn>,
    /// Whether something else than torn tails does not hold.
    pub(super) tampered: Option<String>,
}

pub(super) fn verify(database: &Connection) -> Result<Verified, StateError> {
    if !database.is_autocommit() {
        return Ok(examine(database)?.verified);
    }
    // One version of all tables, whatever is written meanwhile.
    let version = database.unchecked_transaction()?;
    Ok(examine(&version)?.verified)
}

/// Looks at one version of the records.
pub(super) fn examine(version: &Connection) -> Result<Examined, StateError> {
    let mut seen = Seen {
        open: version
            .query_row("SELECT count(intent_ms) FROM sessions", (), |row| {
                row.get(0)
            })
            .map(count)?,
        ..Seen::default()
    };
    let (tampered, torn) = match look(version, &mut seen) {
        Ok(torn) => (None, torn),
        Err(Broken::Found(fault)) => (Some(fault.to_string()), Vec::new()),
        Err(Broken::Failed(error)) => return Err(error),
    };
    let broken = tampered.clone().or_else(|| torn.first().map(Torn::said));
    Ok(Examined {
        verified: Verified {
            sessions: seen.sessions,
            receipts: seen.receipts,
            open: seen.open,
            broken: broken.map(|broken| Text::plain(&broken)),
        },
        torn,
        tampered,
    })
}

impl Torn {
    fn said(&self) -> String {
        let cut = match self.cut {
            Some(number) => format!("; receipt {number} is not whole"),
            None => String::new(),
        };
        let what = format!(
            "the row of session {} (run {}) is behind its receipts, the last whole one is {}{cut}; \
             `portcullis log repair` brings it in order",
            self.row, self.run, self.whole.last
        );
        Fault {
            kind: Kind::Torn,
            what,
        }
        .to_string()
    }
}

#[derive(Default)]
struct Seen {
    sessions: u64,
    receipts: u64,
    open: u64,
}

fn look(version: &Connection, seen: &mut Seen) -> Result<Vec<Torn>, Broken> {
    runs(version)?;
    let mut chains = sessions(version)?;
    seen.sessions = chains.len() as u64;
    receipts::receipts(version, &mut chains, &mut seen.receipts)?;
    for chain in chains.values() {
        let behind = chain.is.last > chain.said.last || chain.cut.is_some();
        match (behind, chain.over) {
            (false, _) => chain.meets_row()?,
            (true, Over::No) => {}
            (true, Over::Yes) => {
                let name = chain.name();
                let what = format!(
                    "receipts after {} in {name}, after its end",
                    chain.said.last
                );
                return found(Kind::Foreign, what);
            }
        }
    }
    heads::heads(version, &mut chains)?;
    let torn = chains.iter().filter(|(_, chain)| chain.is_torn());
    Ok(torn
        .map(|(row, chain)| Torn {
            row: *row,
            run: chain.identity.run.0,
            whole: chain.is,
            cut: chain.cut,
            ended_ms: chain.anchored_ms,
        })
        .collect())
}

/// No chain holds the rows of runs, whose sessions say the same; but none may be gone.
fn runs(version: &Connection) -> Result<(), Broken> {
    let mut all = version.prepare("SELECT run FROM runs ORDER BY run")?;
    let mut rows = all.query(())?;
    let mut next = 1;
    while let Some(row) = rows.next()? {
        no_gap("run", &mut next, row.get(0)?)?;
    }
    no_gap("run", &mut next, given(version, "runs")? + 1)
}

fn sessions(version: &Connection) -> Result<BTreeMap<i64, Chain>, Broken> {
    let mut all = version.prepare(&format!(
        "SELECT {IDENTITY}, head, last, done, failed, uncertain, ended_ms FROM sessions
         ORDER BY id"
    ))?;
    let mut rows = all.query(())?;
    let mut chains = BTreeMap::new();
    let mut next = 1;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        no_gap("session", &mut next, id)?;
        chains.insert(id, begun(id, row)?);
    }
    no_gap("session", &mut next, given(version, "sessions")? + 1)?;
    Ok(chains)
}

/// Rows are numbered without gaps, and none goes.
fn no_gap(what: &str, next: &mut i64, row: i64) -> Result<(), Broken> {
    if row > *next {
        return found(Kind::Missing, format!("row {next} of the {what}s"));
    }
    *next = row + 1;
    Ok(())
}

/// The last number that a table gave.
fn given(version: &Connection, table: &str) -> Result<i64, Broken> {
    let sql = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?1";
    Ok(version.query_row(sql, (table,), |row| row.get(0))?)
}

fn begun(id: i64, row: &Row<'_>) -> Result<Chain, Broken> {
    let identity = identity(row).map_err(|error| match Broken::from(error) {
        Broken::Found(Fault { kind, what }) => Broken::Found(Fault {
            kind,
            what: format!("row {id} of the sessions: {what}"),
        }),
        failed @ Broken::Failed(_) => failed,
    })?;
    Ok(Chain {
        is: Reach {
            last: 0,
            link: identity.first()?,
            tally: (0, 0, 0),
        },
        identity,
        said: Said {
            head: row.get(13)?,
            last: count(row.get(14)?),
            tally: (
                count(row.get(15)?),
                count(row.get(16)?),
                count(row.get(17)?),
            ),
        },
        over: match row.get::<_, Option<i64>>(18)? {
            Some(_) => Over::Yes,
            None => Over::No,
        },
        cut: None,
        anchored_ms: None,
    })
}

/// Proposals by their number: the session's row, the state, the approver.
type Proposals = HashMap<u64, (i64, String, Option<String>)>;
