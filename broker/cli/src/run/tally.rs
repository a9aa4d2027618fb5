//! How much sessions did, in words.

use crate::words::{bytes, counted};
use portcullis_protocol::ledger::Tally;
use serde_json::{Value, json};

/// What two sessions did in all.
pub(super) const fn together(a: Tally, b: Tally) -> Tally {
    Tally {
        requests: a.requests.saturating_add(b.requests),
        stats: a.stats.saturating_add(b.stats),
        reads: a.reads.saturating_add(b.reads),
        lists: a.lists.saturating_add(b.lists),
        searches: a.searches.saturating_add(b.searches),
        changes: a.changes.saturating_add(b.changes),
        refused: a.refused.saturating_add(b.refused),
        bytes: a.bytes.saturating_add(b.bytes),
    }
}

pub(super) fn done(tally: &Tally) -> String {
    let of_files = tally
        .stats
        .saturating_add(tally.reads)
        .saturating_add(tally.lists)
        .saturating_add(tally.searches)
        .saturating_add(tally.changes);
    let parts = [
        (tally.stats, "stat"),
        (tally.reads, "read"),
        (tally.lists, "list"),
        (tally.searches, "search"),
        (tally.changes, "change"),
        // So that the parts are the whole.
        (tally.requests.saturating_sub(of_files), "other"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let listed = if parts.is_empty() {
        String::new()
    } else {
        format!(" ({})", parts.join(", "))
    };
    format!(
        "{}{listed}, {} of content, {} refused",
        counted(tally.requests, "request"),
        bytes(tally.bytes),
        tally.refused
    )
}

pub(super) fn tally_json(tally: &Tally) -> Value {
    json!({
        "requests": tally.requests,
        "stats": tally.stats,
        "reads": tally.reads,
        "lists": tally.lists,
        "searches": tally.searches,
        "changes": tally.changes,
        "refused": tally.refused,
        "bytes": tally.bytes,
    })
}
