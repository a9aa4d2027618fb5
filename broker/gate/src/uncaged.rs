//! A gate without its cage, in the process of a fuzzer: the same conversation and the same stages.
//! Compiled for fuzz targets alone, so that no gate that is built for use can be one.

use crate::counters::Counters;
use crate::ledger::Ledger;
use crate::serve::serve_uncaged;
use crate::session::Session;
use crate::sys;
use portcullis_protocol::ledger::Setup;
use portcullis_transport::{Buffer, Endpoint, GateSide, SessionSide};
use rustix::fs::Mode;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What a gate is given beside its setup.
#[derive(Debug)]
pub struct Given {
    /// Between it and whoever plays the warden.
    pub ledger: OwnedFd,
    /// Where it says that it changes files.
    pub mark: OwnedFd,
    /// Between it and the worker.
    pub socket: OwnedFd,
    /// The roots, in order.
    pub roots: Vec<OwnedFd>,
}

/// Serves a worker to the end. An error says that it was given no setup.
pub fn serve(setup: Setup, given: Given) -> Result<(), Box<dyn std::error::Error>> {
    // What closing the cage does beside, and the stages rely on.
    sys::meta::ignore_broken_leases()?;
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let ledger = Endpoint::<GateSide>::new(given.ledger)?;
    let endpoint = Endpoint::<SessionSide>::new(given.socket)?;
    let session = Session::new(setup, given.roots)?;
    let counters = Arc::new(Counters::new(Arc::new(Ledger::new(ledger, given.mark))));
    let end = serve_uncaged(session, endpoint, &counters, &mut Buffer::new());
    // Whoever plays the warden may have left by now.
    counters.finish(end).unwrap_or_default();
    Ok(())
}
