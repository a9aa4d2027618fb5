//! What ends work from outside: its worker, the clock, or that no more is wanted.

use crate::outlet::Outlet;
use portcullis_protocol::session::CutReason;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// See the module.
#[derive(Debug, Clone)]
pub(in crate::execute) struct Interrupt {
    cancelled: Arc<AtomicBool>,
    /// Set when the answer is over for another reason, for threads that still work on it.
    over: Arc<AtomicBool>,
    deadline: Instant,
}

impl Interrupt {
    /// After `time`, or when `outlet` is cancelled.
    pub(in crate::execute) fn new(outlet: &Outlet, time: Duration) -> Self {
        Self {
            cancelled: outlet.cancel_handle(),
            over: Arc::default(),
            deadline: Instant::now() + time,
        }
    }

    /// Why work must stop now, if it must.
    pub(in crate::execute) fn reason(&self) -> Option<CutReason> {
        if self.cancelled.load(Ordering::Relaxed) || self.over.load(Ordering::Relaxed) {
            Some(CutReason::Cancelled)
        } else if Instant::now() >= self.deadline {
            Some(CutReason::Time)
        } else {
            None
        }
    }

    /// Nothing more is wanted.
    pub(in crate::execute) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
