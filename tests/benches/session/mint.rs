//! From the order to mint to the first reply of the session.

use crate::clock::{least, median};
use crate::peer::Role;
use crate::systems::Minting;
use std::time::Instant;

/// In milliseconds.
pub struct Mint {
    pub least: f64,
    pub median: f64,
    /// Starting this bench's own executable and waiting until it ended, for comparison.
    pub process_least: f64,
    pub process_median: f64,
}

/// Mints, asks, and ends, `times` times; in turns with a process that does nothing.
pub fn measure(minting: &mut Minting, times: usize) -> Mint {
    let (mut mints, mut processes) = (Vec::new(), Vec::new());
    for _ in 0..times {
        let start = Instant::now();
        let (id, mut session) = minting.mint();
        session.ping(b"first").unwrap();
        mints.push(start.elapsed().as_secs_f64() * 1e3);
        drop(session);
        // Ended already when the warden saw the worker leave first.
        drop(minting.world.control.end(id));
        let start = Instant::now();
        assert!(Role::Nothing.command().status().unwrap().success());
        processes.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Mint {
        least: least(&mints),
        median: median(&mut mints),
        process_least: least(&processes),
        process_median: median(&mut processes),
    }
}
