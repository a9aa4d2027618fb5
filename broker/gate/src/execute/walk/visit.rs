//! What a walk shows its visitor, and what may end it from outside.

use crate::bind::Bound;
use crate::outlet::{Gone, Outlet};
use crate::policy::Place;
use crate::session::Session;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Rule;
use portcullis_protocol::session::{CutReason, Statistics};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Kind, RootIndex};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// One object met by a walk.
#[derive(Debug)]
pub(in crate::execute) struct Met<'a> {
    pub(in crate::execute) path: &'a RelPath,
    pub(in crate::execute) kind: Kind,
    /// The rule that denies the walk's verb here.
    pub(in crate::execute) denied: Option<&'a Rule>,
    pub(in crate::execute) place: &'a Place,
    /// Device and inode, as the directory gave them.
    pub(in crate::execute) object: (u64, u64),
}

/// What the walk does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::execute) enum Flow {
    /// Goes on, into the object if it is a directory.
    On,
    /// Goes on, past the object.
    Past,
    /// Stops.
    Stop(CutReason),
}

/// Takes what a walk meets.
pub(in crate::execute) trait Visitor {
    /// Takes one object.
    fn visit(&mut self, met: &Met<'_>, walk: &mut Walked<'_>) -> Result<Flow, Gone>;
}

/// The part of a walk that its visitor may use.
#[derive(Debug)]
pub(in crate::execute) struct Walked<'a> {
    pub(in crate::execute) session: &'a Session,
    pub(in crate::execute) root: RootIndex,
    pub(in crate::execute) verb: Verb,
    pub(in crate::execute) statistics: Statistics,
    pub(in crate::execute) interrupt: Interrupt,
}

/// What ends a walk from outside: its worker, or the clock.
#[derive(Debug, Clone)]
pub(in crate::execute) struct Interrupt {
    cancelled: Arc<AtomicBool>,
    deadline: Instant,
}

impl Interrupt {
    /// Why work must stop now, if it must.
    pub(in crate::execute) fn reason(&self) -> Option<CutReason> {
        if self.cancelled.load(Ordering::Relaxed) {
            Some(CutReason::Cancelled)
        } else if Instant::now() >= self.deadline {
            Some(CutReason::Time)
        } else {
            None
        }
    }
}

impl<'a> Walked<'a> {
    /// A walk in the root of `bound` for `verb`, for `time` at most, until `outlet` is cancelled.
    pub(in crate::execute) fn new(
        session: &'a Session,
        bound: &Bound,
        verb: Verb,
        time: Duration,
        outlet: &Outlet,
    ) -> Self {
        let interrupt = Interrupt {
            cancelled: outlet.cancel_handle(),
            deadline: Instant::now() + time,
        };
        let statistics = Statistics::default();
        Self {
            session,
            root: bound.root(),
            verb,
            statistics,
            interrupt,
        }
    }

    /// The root's descriptor.
    pub(in crate::execute) fn root_fd(&self) -> Result<BorrowedFd<'a>, Errno> {
        self.session.root(self.root).ok_or(Errno::BADF)
    }

    /// Counts an object that could not be opened.
    pub(in crate::execute) fn count(&mut self, errno: Errno) {
        let counter = match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::STALE | Errno::NXIO => {
                &mut self.statistics.changed
            }
            Errno::XDEV => &mut self.statistics.mounts,
            Errno::NAMETOOLONG => &mut self.statistics.too_deep,
            _ => &mut self.statistics.unreadable,
        };
        *counter += 1;
    }
}
