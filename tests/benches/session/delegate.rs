//! From a worker's wish to the first reply of the session within its own.

use crate::clock::{least, median};
use crate::systems::Minting;
use portcullis_client::{Wishes, Words, ask};
use portcullis_protocol::verb::VerbSet;
use std::time::Instant;

/// In milliseconds.
pub struct Delegations {
    pub least: f64,
    pub median: f64,
    /// In one second, one after the other, each ended before the next.
    pub rate: f64,
}

/// Delegates, asks, and ends, `times` times, one after the other.
pub fn measure(minting: &mut Minting, times: usize) -> Delegations {
    let (_, mut session) = minting.mint();
    let subtree = ask::selector("one/two").unwrap();
    let wishes = Wishes::new("bench").grant(Words::verbs(VerbSet::READING), subtree);
    let mut took = Vec::new();
    let whole = Instant::now();
    for _ in 0..times {
        let start = Instant::now();
        let mut child = session.delegate(&wishes).unwrap();
        child.session.ping(b"first").unwrap();
        took.push(start.elapsed().as_secs_f64() * 1e3);
        // Before its worker leaves, so that the next one is not delegated beside it.
        session.end_delegated(child.id).unwrap();
    }
    let rate = times as f64 / whole.elapsed().as_secs_f64();
    Delegations {
        least: least(&took),
        median: median(&mut took),
        rate,
    }
}
