//! The sessions that one was made within, as its gate is told of them: so that its worker can be
//! told which of them had what it has not.

use crate::effect::encoded;
use portcullis_protocol::authority::{Authority, Grant};
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::ledger::{Ancestor, AncestorGrant};
use portcullis_protocol::limits::{BODY_BYTES_MAX, IGNORE_BYTES_MAX, LINEAGE_MAX};
use portcullis_protocol::session::SessionId;

/// What the setup of a serving gate holds beside authority, lineage and rules of ignore files, in bytes
/// at most.
const REST: usize = 512;

/// The ancestors of a session with this authority and these rules of ignore files, the nearest first. All of it is one frame: grants
/// that do not fit are left out, those of the farthest first. Those on roots that the session has
/// not are no use to it, and nobody counts them.
pub(crate) fn lineage(
    authority: &Authority,
    ignore: &Bytes<IGNORE_BYTES_MAX>,
    above: impl IntoIterator<Item = (SessionId, Authority)>,
) -> Few<Ancestor, LINEAGE_MAX> {
    let above: Vec<_> = above.into_iter().take(LINEAGE_MAX).collect();
    let bare = |(session, of): &(SessionId, Authority)| Ancestor {
        session: *session,
        request: of.parts().request.clone(),
        grants: Few::default(),
        // No other number has a longer encoding.
        cut: u32::MAX,
    };
    let mut all: Vec<Ancestor> = above.iter().map(bare).collect();
    let mut room =
        BODY_BYTES_MAX.saturating_sub(encoded(authority) + encoded(&all) + encoded(ignore) + REST);
    for (ancestor, (_, of)) in all.iter_mut().zip(&above) {
        let parts = of.parts();
        let named = |grant: &Grant| named(authority, of, grant);
        let mut grants = Vec::new();
        let mut cut = 0;
        for grant in parts.grants.iter().chain(&parts.asks).filter_map(named) {
            let bytes = encoded(&grant);
            if bytes <= room {
                room -= bytes;
                grants.push(grant);
            } else {
                room = 0;
                cut += 1;
            }
        }
        ancestor.cut = cut;
        ancestor.grants = Few::new(grants).unwrap_or_default();
    }
    Few::new(all).unwrap_or_default()
}

/// A grant of an ancestor, with its root as the session itself names it.
fn named(authority: &Authority, of: &Authority, grant: &Grant) -> Option<AncestorGrant> {
    let id = of.root(grant.root)?.id;
    let root = authority.parts().roots.iter().find(|root| root.id == id)?;
    Some(AncestorGrant {
        root: root.label.clone(),
        prefix: grant.prefix.clone(),
        verbs: grant.verbs,
    })
}

#[cfg(test)]
mod tests;
