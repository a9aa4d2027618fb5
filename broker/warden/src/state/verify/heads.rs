//! The chain of heads: one for each session that is over and has receipts.

use super::{Broken, Chain, Kind, Over, found, given, no_gap};
use crate::state::chain::{self, Head, hex, unhex};
use crate::state::count;
use portcullis_protocol::view::Digest;
use rusqlite::{Connection, Row};
use std::collections::BTreeMap;

pub(super) fn heads(version: &Connection, chains: &mut BTreeMap<i64, Chain>) -> Result<(), Broken> {
    let mut all = version.prepare(
        "SELECT position, session, at_ms, link, receipts, head FROM heads ORDER BY position",
    )?;
    let mut rows = all.query(())?;
    let mut link = chain::no_head();
    let mut next = 1;
    while let Some(row) = rows.next()? {
        let position: i64 = row.get(0)?;
        no_gap("head", &mut next, position)?;
        link = head(version, link, row, chains)?;
    }
    no_gap("head", &mut next, given(version, "heads")? + 1)?;
    for chain in chains.values() {
        if chain.over == Over::Yes && chain.is.receipts() > 0 && chain.anchored_ms.is_none() {
            return found(Kind::Missing, format!("the head of {}", chain.name()));
        }
    }
    Ok(())
}

/// Takes the next head; gives its link.
fn head(
    version: &Connection,
    before: Digest,
    row: &Row<'_>,
    chains: &mut BTreeMap<i64, Chain>,
) -> Result<Digest, Broken> {
    let position: i64 = row.get(0)?;
    let Some(chain) = chains.get_mut(&row.get(1)?) else {
        return found(
            Kind::Foreign,
            format!("head {position} belongs to no session"),
        );
    };
    let at_ms = count(row.get(2)?);
    let body = chain::encode(&Head {
        incarnation: chain.identity.incarnation,
        session: chain.identity.session,
        receipts: chain.is.receipts(),
        head: chain.is.link,
        at_ms,
    })?;
    let link = chain::link(before, &body);
    let says: (String, u64, String) = (row.get(3)?, count(row.get(4)?), row.get(5)?);
    let name = format!("head {position}, of {}", chain.name());
    if (says.1, &says.2) != (chain.is.receipts(), &hex(&chain.is.link.0)) {
        return found(
            Kind::Changed,
            format!("{name}, is not what its session came to"),
        );
    }
    if says.0 != hex(&link.0) {
        return if follows(version, &says.0, &body)? {
            found(
                Kind::Reordered,
                format!("{name}, was linked after another one"),
            )
        } else {
            found(Kind::Changed, format!("{name}, is not what was linked"))
        };
    }
    if chain.anchored_ms.replace(at_ms).is_some() {
        return found(
            Kind::Foreign,
            format!("{name}, is the second of its session"),
        );
    }
    Ok(link)
}

/// Whether a head was linked after some other place than the one it is in.
fn follows(version: &Connection, link: &str, body: &[u8]) -> Result<bool, Broken> {
    let mut all = version.prepare("SELECT link FROM heads")?;
    let mut rows = all.query(())?;
    let mut befores = vec![chain::no_head()];
    while let Some(row) = rows.next()? {
        befores.extend(unhex(&row.get::<_, String>(0)?).map(Digest));
    }
    let after = |before: &Digest| hex(&chain::link(*before, body).0) == link;
    Ok(befores.iter().any(after))
}
