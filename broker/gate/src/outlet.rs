//! encode: where the answer to one request goes.

use crate::counters::Counters;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Reply;
use portcullis_transport::{Endpoint, SessionSide, TransportError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The worker is gone, or did not read in time: nothing more can be said to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gone;

/// Answers one request. Several may be open at once; the kernel keeps their packets apart.
#[derive(Debug)]
pub(crate) struct Outlet {
    endpoint: Arc<Endpoint<SessionSide>>,
    counters: Arc<Counters>,
    cancelled: Arc<AtomicBool>,
    id: RequestId,
    scratch: Vec<u8>,
}

impl Outlet {
    pub(crate) fn new(
        endpoint: Arc<Endpoint<SessionSide>>,
        counters: Arc<Counters>,
        id: RequestId,
    ) -> Self {
        let cancelled = Arc::new(AtomicBool::new(false));
        Self {
            endpoint,
            counters,
            cancelled,
            id,
            scratch: Vec::new(),
        }
    }

    /// The same outlet for another request; keeps its memory.
    pub(crate) fn turn_to(&mut self, id: RequestId) {
        self.id = id;
    }

    /// Sends one reply whole.
    pub(crate) fn send(&mut self, reply: &Reply, content: &[u8]) -> Result<(), Gone> {
        match self
            .endpoint
            .send(&mut self.scratch, self.id, reply, content)
        {
            Ok(()) => {
                self.counters.content(content.len());
                Ok(())
            }
            // A reply is built to fit; one that does not is our error, and said as such.
            Err(TransportError::Encode(_)) => {
                let refusal = Refusal::new(Code::OutOfRange).noting("the reply does not fit");
                self.refuse(&refusal)
            }
            Err(_) => Err(Gone),
        }
    }

    /// Counts a refusal that is told as a part of a larger answer.
    pub(crate) fn note(&self, refusal: &Refusal) {
        self.counters.refusal(refusal);
    }

    /// Ends the request with a refusal.
    pub(crate) fn refuse(&mut self, refusal: &Refusal) -> Result<(), Gone> {
        self.counters.refusal(refusal);
        let reply = Reply::Refused(refusal.clone());
        self.endpoint
            .send(&mut self.scratch, self.id, &reply, &[])
            .map_err(|_| Gone)
    }

    /// Whether the worker no longer wants the rest. Asked between units of work.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// What cancels it.
    pub(crate) fn cancel_handle(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }
}
