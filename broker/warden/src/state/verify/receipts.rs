//! Every receipt in its place.

use super::{Broken, Chain, Fault, Kind, Over, Proposals, found};
use crate::state::chain::{self, Body, Unsaid, Version, hex, unhex};
use crate::state::{StateError, count};
use portcullis_protocol::approval::{Approval, ProposalState};
use portcullis_protocol::session::Outcome;
use portcullis_protocol::view::Digest;
use rusqlite::{Connection, Row};
use std::collections::{BTreeMap, HashMap};

/// What approvals were used for, so far.
struct Approvals {
    proposals: Proposals,
    /// The receipt that each was executed by.
    executed: HashMap<u64, u64>,
}

/// Takes every receipt, and counts those that are in their place.
pub(super) fn receipts(
    version: &Connection,
    chains: &mut BTreeMap<i64, Chain>,
    whole: &mut u64,
) -> Result<(), Broken> {
    let mut approvals = Approvals {
        proposals: proposals(version)?,
        executed: HashMap::new(),
    };
    let mut all = version.prepare(
        "SELECT number, session, run, at_ms, outcome, witness, guarantee, touched, body, link,
         diff FROM receipts ORDER BY run, number",
    )?;
    let mut rows = all.query(())?;
    while let Some(row) = rows.next()? {
        let number = count(row.get(0)?);
        let Some(chain) = chains.get_mut(&row.get(1)?) else {
            return found(
                Kind::Foreign,
                format!("receipt {number} belongs to no session"),
            );
        };
        let beyond = number > chain.said.last;
        if beyond && chain.is.last <= chain.said.last && chain.cut.is_none() {
            // The row says how far it goes, and that is reached.
            chain.meets_row()?;
        }
        match take(version, number, row, chain, &mut approvals) {
            Ok(()) if chain.cut.is_none() => *whole += 1,
            Ok(()) => {}
            Err(Broken::Found(fault))
                if beyond && chain.over == Over::No && fault.may_be_torn() =>
            {
                chain.cut.get_or_insert(number);
            }
            Err(broken) => return Err(broken),
        }
    }
    Ok(())
}

impl Fault {
    /// Whether a crash of the disk may leave it, at the end. It moves no row to another place.
    const fn may_be_torn(&self) -> bool {
        match self.kind {
            Kind::Changed | Kind::Missing | Kind::Torn => true,
            Kind::Reordered | Kind::Foreign => false,
        }
    }
}

fn proposals(version: &Connection) -> Result<Proposals, Broken> {
    let mut all = version.prepare("SELECT id, session, state, approver FROM proposals")?;
    let mut rows = all.query(())?;
    let mut proposals = HashMap::new();
    while let Some(row) = rows.next()? {
        proposals.insert(count(row.get(0)?), (row.get(1)?, row.get(2)?, row.get(3)?));
    }
    Ok(proposals)
}

/// Takes the next receipt of a chain.
fn take(
    version: &Connection,
    number: u64,
    row: &Row<'_>,
    chain: &mut Chain,
    approvals: &mut Approvals,
) -> Result<(), Broken> {
    let bytes: Vec<u8> = row.get(8)?;
    let name = format!("receipt {number} of {}", chain.name());
    let read = read(chain, &bytes);
    if chain.cut.is_some() {
        // What comes after one that is not whole goes with it, if it is of here.
        let whole = |body: &Body| {
            let link = hex(&chain::link(body.previous, &bytes).0);
            Ok::<_, StateError>(row.get::<_, String>(9)? == link)
        };
        return match read {
            Ok(body) if whole(&body)? && !is_of(&body, chain) => {
                found(Kind::Foreign, format!("{name} is of another session"))
            }
            Ok(_) | Err(_) => Ok(()),
        };
    }
    let link = chain::link(chain.is.link, &bytes);
    if row.get::<_, String>(9)? != hex(&link.0) {
        return Err(misplaced(version, row, chain, read.ok().as_ref(), &name)?);
    }
    let Ok(body) = read else {
        return found(Kind::Changed, format!("{name} cannot be read"));
    };
    if !is_of(&body, chain) {
        return found(Kind::Foreign, format!("{name} is of another session"));
    }
    if body.previous != chain.is.link || !says(row, &body, chain)? {
        return found(Kind::Changed, format!("{name} does not say what it hashes"));
    }
    let text: Vec<u8> = row.get(10)?;
    if body.diff != chain::kept(&text) {
        return found(
            Kind::Changed,
            format!("the difference of {name} is another"),
        );
    }
    if let Some(approval) = &body.approval {
        approvals.take(approval, row.get(1)?, &body, &name)?;
    }
    chain.is.link = link;
    chain.is.last = number;
    match body.end.outcome {
        Outcome::Done => chain.is.tally.0 += 1,
        Outcome::Failed => chain.is.tally.1 += 1,
        Outcome::Uncertain => chain.is.tally.2 += 1,
    }
    Ok(())
}

fn read(chain: &Chain, bytes: &[u8]) -> Result<Body, StateError> {
    Body::read(chain.identity.version, bytes, || {
        Ok(Unsaid {
            authority: chain.identity.authority,
            previous: chain.is.link,
        })
    })
}

/// Whether a receipt names this session.
fn is_of(body: &Body, chain: &Chain) -> bool {
    let identity = &chain.identity;
    (body.incarnation, body.session, body.run, body.authority)
        == (
            identity.incarnation,
            identity.session,
            identity.run,
            identity.authority,
        )
        // What was approved is done by a gate of its own.
        && (body.approval.is_some() || body.cage == identity.cage)
}

/// Whether the columns say what the body says.
fn says(row: &Row<'_>, body: &Body, chain: &Chain) -> Result<bool, StateError> {
    let numbers = (count(row.get(0)?), count(row.get(2)?), count(row.get(3)?));
    let meant = (body.number, body.run.0, body.at_ms);
    Ok(numbers == meant && says_words(row, body, chain)?)
}

/// The same of the columns that say it in words, which no other place of the row changes.
fn says_words(row: &Row<'_>, body: &Body, chain: &Chain) -> Result<bool, StateError> {
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
        chain::touched_text(end, &chain.identity.roots),
    );
    Ok(says == means)
}

/// Why a receipt is not the next of its chain.
fn misplaced(
    version: &Connection,
    row: &Row<'_>,
    chain: &Chain,
    body: Option<&Body>,
    name: &str,
) -> Result<Broken, Broken> {
    let fault = |kind, what| Ok(Broken::Found(Fault { kind, what }));
    let bytes: Vec<u8> = row.get(8)?;
    let link: String = row.get(9)?;
    let Some(body) = body else {
        return fault(Kind::Changed, format!("{name} cannot be read"));
    };
    let after = |before: Digest| hex(&chain::link(before, &bytes).0) == link;
    let previous = match chain.identity.version {
        Version::Second => Some(body.previous).filter(|previous| after(*previous)),
        Version::First => before(version, after)?,
    };
    let whole = match chain.identity.version {
        Version::Second => previous.is_some(),
        // It does not say what it comes after, and that may be gone.
        Version::First => previous.is_some() || says_words(row, body, chain)?,
    };
    let number = count(row.get(0)?);
    if !whole {
        fault(Kind::Changed, format!("{name} is not what was linked"))
    } else if !is_of(body, chain) {
        fault(Kind::Foreign, format!("{name} is of another session"))
    } else if body.number != number {
        let what = format!("{name} is receipt {} by what it hashes", body.number);
        fault(Kind::Reordered, what)
    } else {
        match previous {
            Some(previous) if lies(version, previous)? => moved(version, previous, chain, name),
            Some(_) | None if chain.is.last == 0 && all_there(version, row, chain)? => {
                let what = format!(
                    "the row of {} is not what {name} was linked to",
                    chain.name()
                );
                fault(Kind::Changed, what)
            }
            Some(_) | None => fault(Kind::Missing, format!("what came before {name}")),
        }
    }
}

/// Whether a session has as many receipts as its row says.
fn all_there(version: &Connection, row: &Row<'_>, chain: &Chain) -> Result<bool, Broken> {
    let (done, failed, uncertain) = chain.said.tally;
    let there: i64 = version.query_row(
        "SELECT count(*) FROM receipts WHERE run = ?1 AND session = ?2",
        (row.get::<_, i64>(2)?, row.get::<_, i64>(1)?),
        |row| row.get(0),
    )?;
    Ok(count(there) >= done.saturating_add(failed).saturating_add(uncertain))
}

/// Whether some receipt has this link.
fn lies(version: &Connection, link: Digest) -> Result<bool, Broken> {
    let mut one = version.prepare("SELECT 1 FROM receipts WHERE link = ?1")?;
    Ok(one.exists((hex(&link.0),))?)
}

/// The link that a receipt comes after, among all there are.
fn before(version: &Connection, after: impl Fn(Digest) -> bool) -> Result<Option<Digest>, Broken> {
    let mut all = version.prepare("SELECT link FROM receipts")?;
    let mut rows = all.query(())?;
    while let Some(row) = rows.next()? {
        if let Ok(link) = unhex(&row.get::<_, String>(0)?)
            && after(Digest(link))
        {
            return Ok(Some(Digest(link)));
        }
    }
    Ok(None)
}

/// A whole receipt of this session whose predecessor is there, and not before it: where that is.
fn moved(
    version: &Connection,
    previous: Digest,
    chain: &Chain,
    name: &str,
) -> Result<Broken, Broken> {
    let (other, session, run) = version.query_row(
        "SELECT number, sessions.session, receipts.run FROM receipts
         LEFT JOIN sessions ON sessions.id = receipts.session WHERE link = ?1",
        (hex(&previous.0),),
        |row| {
            let session: Option<i64> = row.get(1)?;
            Ok((count(row.get(0)?), session.map(count), count(row.get(2)?)))
        },
    )?;
    let place = session.map_or_else(
        || "no session".to_owned(),
        |session| format!("session {session} of run {run}"),
    );
    let home = (Some(chain.identity.session.0), chain.identity.run.0);
    let kind = if (session, run) == home {
        Kind::Reordered
    } else {
        Kind::Foreign
    };
    let what = format!("receipt {other}, which came before {name}, is in {place}");
    Ok(Broken::Found(Fault { kind, what }))
}

impl Approvals {
    /// An approval is used as it stands, and by one effect.
    fn take(
        &mut self,
        approval: &Approval,
        row: i64,
        body: &Body,
        name: &str,
    ) -> Result<(), Broken> {
        let id = approval.proposal.0;
        let Some((session, state, approver)) = self.proposals.get(&id) else {
            let what = format!("proposal {id}, by which {name} was made");
            return found(Kind::Missing, what);
        };
        let said = chain::approver_text(approval.approver);
        if *session != row || approver.as_ref() != Some(&said) {
            let what = format!("proposal {id}, by which {name} was made: it says something else");
            return found(Kind::Changed, what);
        }
        match body.end.outcome {
            Outcome::Failed => return Ok(()),
            Outcome::Done | Outcome::Uncertain => {}
        }
        if state != ProposalState::Spent.name() {
            let what = format!("proposal {id} is {state}, and {name} was made by it");
            return found(Kind::Changed, what);
        }
        match self.executed.insert(id, body.number) {
            None => Ok(()),
            Some(other) => {
                let what = format!("proposal {id} was used by receipt {other} and by {name}");
                found(Kind::Foreign, what)
            }
        }
    }
}
