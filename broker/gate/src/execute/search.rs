//! search: lines of files that match, with the engine of ripgrep on open descriptors.

use super::walk::Walked;
use crate::bind::Bound;
use crate::outlet::{Gone, Outlet};
use crate::session::Session;
use engine::{End, Engine, Go, Nature, Taker};
use plan::Plan;
use portcullis_protocol::limits::STREAM_TIME_MS_MAX;
use portcullis_protocol::refusal::Refusal;
use portcullis_protocol::session::{Completeness, Done, FoundRef, Reply, Search};
use portcullis_protocol::verb::Verb;
use std::sync::Arc;
use std::time::Duration;

mod catch;
mod construct;
mod engine;
mod lines;
mod pattern;
mod plan;
mod source;
mod watch;

/// Whether the patterns and the bounds of a search can be used.
pub(crate) fn check(ask: &Search) -> Result<(), Refusal> {
    Plan::new(ask).map(drop)
}

struct All(u64);

impl Taker for All {
    fn take(&mut self, found: &FoundRef<'_>) -> Go {
        match found {
            FoundRef::File { .. } | FoundRef::Line(_) | FoundRef::Count { .. } => self.0 += 1,
        }
        Go::On
    }
}

/// Answers a search in one file.
#[expect(clippy::needless_pass_by_value, reason = "a bound operation runs once")]
pub(crate) fn search(
    session: &Session,
    bound: Bound,
    ask: &Search,
    outlet: &mut Outlet,
) -> Result<(), Gone> {
    let plan = match Plan::new(ask) {
        Ok(plan) => Arc::new(plan),
        Err(refusal) => return outlet.refuse(&refusal),
    };
    let time = Duration::from_millis(ask.time_ms.min(STREAM_TIME_MS_MAX).into());
    let walked = Walked::new(session, &bound, Verb::Search, time, outlet);
    let size = bound.observation().stamp.size;
    let mut all = All(0);
    let file = (bound.object(), size);
    let end = Engine::new(&plan).search(bound.path(), file, &walked.interrupt, &mut all);
    let mut statistics = walked.statistics;
    statistics.bytes += end.bytes;
    statistics.sent += all.0;
    statistics.over_file_limit += end.over_file_limit;
    match end.nature {
        Nature::Text => {}
        Nature::Binary => statistics.binary += 1,
    }
    match end.end {
        End::Whole | End::Stopped | End::Cut(_) => {}
        End::Unreadable(_) => statistics.unreadable += 1,
        End::TooLarge | End::OverHeap => statistics.too_large += 1,
    }
    outlet.send(
        &Reply::Done(Done {
            completeness: Completeness::Complete,
            statistics,
        }),
        &[],
    )
}
