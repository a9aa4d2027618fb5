//! How the gate waits for its next request.
//!
//! A gate that sleeps is woken by the first of many requests, and where it shares a core with the
//! worker that wake stops the worker after each: the many become single ones, each with two
//! switches. A gate that steps back once instead of sleeping finds them all. That costs what a
//! single request must not pay, so it is done only where it was seen to help, and tried seldom.

use portcullis_transport::{Buffer, Endpoint, Packet, SessionSide, TransportError};

/// Requests that come one by one between two tries.
const ALONE: u32 = 64;
/// Waits in vain that end the stepping back.
const PATIENCE: u32 = 4;

/// What was seen of the worker's pace.
#[derive(Debug)]
pub(crate) enum Pace {
    /// Requests come one by one: so many since the last try.
    Alone(u32),
    /// Several may wait: `found` since the last wait, `patience` waits are left.
    Many { found: u32, patience: u32 },
}

impl Default for Pace {
    fn default() -> Self {
        Self::Alone(0)
    }
}

impl Pace {
    /// Waits for the next packet.
    pub(crate) fn receive<'b>(
        &mut self,
        endpoint: &Endpoint<SessionSide>,
        buffer: &'b mut Buffer,
    ) -> Result<Packet<'b, SessionSide>, TransportError> {
        let (mut found, mut patience) = match self {
            Self::Alone(since) if *since < ALONE => {
                *since += 1;
                return endpoint.receive(buffer);
            }
            Self::Alone(_) => (0, 1),
            Self::Many { found, patience } => (*found, *patience),
        };
        let mut next = None;
        let packet = endpoint.receive_or(buffer, || {
            if found > 1 {
                patience = PATIENCE;
            }
            found = 0;
            match patience.checked_sub(1) {
                None => next = Some(Self::default()),
                Some(left) => {
                    patience = left;
                    rustix::thread::sched_yield();
                }
            }
        });
        found = found.saturating_add(1);
        *self = next.unwrap_or(Self::Many { found, patience });
        packet
    }
}
