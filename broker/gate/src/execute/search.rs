//! search: lines of files that match, with the engines of ripgrep on open descriptors.

use super::cursor::After;
use super::frames::{Ended, Frames, Stop};
use super::glob::Patterns;
use super::walk::{
    Go, Ground, Hunt, Interrupt, Length, Listing, Met, Passes, Piece, Relief, Route, Takes, Tell,
    Then, Walk, Wants,
};
use crate::bind::Bound;
use crate::outlet::{Gone, Outlet};
use crate::policy::Judgement;
use crate::resolve::open_judged;
use crate::session::Session;
use crate::sys::open::Purpose;
use engine::{End, Engine, FileEnd, Nature, Taker};
use plan::Plan;
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::limits::{PATTERN_BYTES_MAX, STREAM_TIME_MS_MAX};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Completeness, CutReason, Done, FoundRef, LineRole, Matches, Packed, Reply, Search, SearchMode,
    Statistics, Weight,
};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::Kind;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

mod catch;
mod construct;
mod engine;
mod lines;
mod pattern;
mod plan;
mod room;
mod source;
mod watch;

/// Whether the patterns and the bounds of a search can be used.
pub(crate) fn check(ask: &Search) -> Result<(), Refusal> {
    Checked::new(ask, &RelPath::root()).map(drop)
}

/// A search, checked and compiled.
struct Checked {
    passes: Passes,
    hunt: Searching,
}

impl Checked {
    fn new(ask: &Search, start: &RelPath) -> Result<Self, Refusal> {
        let refuse = |code: Code, note: &str| Refusal::new(code).of(Verb::Search).noting(note);
        if ask.depth == 0 {
            return Err(refuse(Code::OutOfRange, "depth must be at least 1"));
        }
        let bad = |note: String| refuse(Code::BadPattern, &note);
        Ok(Self {
            passes: Passes::new(&ask.passing, start).map_err(bad)?,
            hunt: Searching {
                plan: Arc::new(Plan::new(ask)?),
                mode: ask.mode,
                start: start.clone(),
                include: patterns(&ask.include).map_err(bad)?,
                types: patterns(&ask.types).map_err(bad)?,
                types_not: patterns(&ask.types_not).map_err(bad)?,
            },
        })
    }
}

fn patterns<const MAX: usize>(
    globs: &Few<Bytes<PATTERN_BYTES_MAX>, MAX>,
) -> Result<Patterns, String> {
    let globs: Vec<&[u8]> = globs
        .as_slice()
        .iter()
        .map(|glob| glob.as_slice())
        .collect();
    Patterns::compile(&globs)
}

/// Answers a search below a directory, or in one file.
#[expect(clippy::needless_pass_by_value, reason = "a bound operation runs once")]
pub(crate) fn search(
    session: &Arc<Session>,
    bound: Bound,
    ask: &Search,
    outlet: &mut Outlet,
) -> Result<(), Gone> {
    let start = bound.observation().stamp;
    let resume = match &ask.cursor {
        None => None,
        Some(cursor) => match After::read(cursor, start, bound.path()) {
            Some(After::Name(path)) => Some(path),
            Some(After::Time(..)) | None => {
                return outlet.refuse(&Refusal::new(Code::BadCursor).of(Verb::Search));
            }
        },
    };
    let Checked { passes, hunt } = match Checked::new(ask, bound.path()) {
        Ok(checked) => checked,
        Err(refusal) => return outlet.refuse(&refusal),
    };
    let time = Duration::from_millis(ask.time_ms.min(STREAM_TIME_MS_MAX).into());
    let interrupt = Interrupt::new(outlet, time);
    let mut frames = Frames::new(outlet, &session.meter, bound.binding(), ask.limit);
    let ended = match bound.observation().kind {
        Kind::Directory => {
            let route = Route {
                verb: Verb::Search,
                depth: ask.depth,
                resume: resume.clone(),
                passes,
                listing: Listing::Opened,
                length: Length::Any,
            };
            Walk::new(session, &bound, route, interrupt, hunt).run(&mut frames)
        }
        Kind::File | Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
            one_file(&hunt, &bound, &interrupt, &mut frames)
        }
    };
    let ended = Ended::of(ended)?;
    let sent = frames.finish()?;
    let completeness = match ended {
        Ended::Told(None) => Completeness::Complete,
        Ended::Told(Some(reason)) => {
            let last = match reason {
                // Not even one file is told whole within this limit: to go on would be to begin again.
                CutReason::Limit => sent.last,
                CutReason::Time | CutReason::Cancelled => sent.last.or(resume),
                CutReason::Changed => None,
            };
            let cursor = last.and_then(|last| After::Name(last).cursor(start));
            Completeness::Cut { reason, cursor }
        }
        Ended::Refused(refusal) => {
            let written = ask.selector.path.as_slice();
            return outlet.refuse(&refusal.of(Verb::Search).on(written));
        }
    };
    let statistics = sent.statistics;
    outlet.send(
        &Reply::Done(Done {
            completeness,
            statistics,
        }),
        &[],
    )
}

/// Searches the one file that was bound.
fn one_file(
    hunt: &Searching,
    bound: &Bound,
    interrupt: &Interrupt,
    frames: &mut Frames<'_, Matches>,
) -> Result<Option<CutReason>, Stop> {
    let mut relief = Directly(frames);
    let mut tell = Tell::relieved(Packed::default(), &mut relief);
    let size = bound.observation().stamp.size;
    let file = (bound.path(), bound.object(), size);
    hunt.search(&mut Engine::new(&hunt.plan), file, interrupt, &mut tell);
    let (packed, statistics) = tell.end()?;
    relief.hand_over(packed, statistics)?;
    Ok(interrupt.reason())
}

/// Sends what is handed over.
struct Directly<'f, 'o>(&'f mut Frames<'o, Matches>);

impl Relief<Matches> for Directly<'_, '_> {
    fn hand_over(&mut self, packed: Packed<Matches>, counted: Statistics) -> Result<(), Stop> {
        let Self(frames) = self;
        frames.take(&Piece::whole(packed, counted))
    }
}

/// A search under way.
struct Searching {
    plan: Arc<Plan>,
    mode: SearchMode,
    start: RelPath,
    include: Patterns,
    types: Patterns,
    types_not: Patterns,
}

impl Searching {
    /// Searches an open file, and counts how that went.
    fn search(
        &self,
        engine: &mut Engine,
        (path, object, size): (&RelPath, BorrowedFd<'_>, u64),
        interrupt: &Interrupt,
        tell: &mut Tell<'_, Matches>,
    ) {
        let mut taking = Taking {
            mode: self.mode,
            tell,
        };
        let FileEnd {
            lines: _,
            bytes,
            over_file_limit,
            nature,
            end,
        } = engine.search(path, (object, size), interrupt, &mut taking);
        let statistics = &mut tell.statistics;
        statistics.bytes += bytes;
        statistics.over_file_limit += over_file_limit;
        match nature {
            Nature::Text => {}
            Nature::Binary => statistics.binary += 1,
        }
        match end {
            End::Whole | End::Stopped | End::Cut(_) => statistics.files += 1,
            End::TooLarge | End::OverHeap => statistics.too_large += 1,
            End::Unreadable(errno) => tell.count(errno),
        }
    }
}

/// Takes what the engine finds.
struct Taking<'a, 't> {
    mode: SearchMode,
    tell: &'a mut Tell<'t, Matches>,
}

impl Taker for Taking<'_, '_> {
    fn take(&mut self, found: &FoundRef<'_>) -> engine::Go {
        let weight = match (self.mode, found) {
            (SearchMode::Content { .. }, FoundRef::File { .. }) => Weight::Heads,
            (_, FoundRef::File { .. } | FoundRef::Count { .. }) => Weight::Counts,
            (_, FoundRef::Line(line)) => match line.role {
                LineRole::Match | LineRole::Binary => Weight::Counts,
                LineRole::Context => Weight::Free,
            },
        };
        match self.tell.push(found, weight) {
            Go::On => engine::Go::On,
            Go::Stop => engine::Go::Stop,
        }
    }
}

impl Hunt for Searching {
    type Told = Matches;
    type Hand = Engine;

    fn hand(&self) -> Engine {
        Engine::new(&self.plan)
    }

    fn wants(&self, met: &Met<'_>) -> Wants {
        if met.kind != Kind::File {
            return Wants::Yes;
        }
        let takes = |patterns: &Patterns| patterns.take(&self.start, met.path, met.kind);
        let wanted = |patterns: &Patterns| patterns.is_empty() || takes(patterns);
        if wanted(&self.include) && wanted(&self.types) && !takes(&self.types_not) {
            Wants::Yes
        } else {
            Wants::Excluded
        }
    }

    fn takes(&self, met: &Met<'_>) -> Takes {
        if met.kind == Kind::File && !self.include.is_empty() {
            // It matches one: every other is not asked for.
            Takes::Ignored
        } else if self.include.spell_dot(met.name) {
            Takes::Dot
        } else {
            Takes::Usual
        }
    }

    fn meet(&self, _: &Ground, met: &Met<'_>, tell: &mut Tell<'_, Matches>) -> Then {
        if met.denied.is_some() {
            return Then::Done;
        }
        match met.kind {
            Kind::Directory => Then::Done,
            Kind::File => Then::Work,
            Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
                tell.statistics.not_regular += 1;
                Then::Done
            }
        }
    }

    fn file(
        &self,
        walk: &Ground,
        engine: &mut Engine,
        path: &RelPath,
        tell: &mut Tell<'_, Matches>,
    ) {
        let opened = walk
            .root_fd()
            .and_then(|root| open_judged(&walk.session, root, path, Purpose::Content));
        let (object, observed) = match opened {
            Ok(opened) => opened,
            Err(errno) => return tell.count(errno),
        };
        // What the directory called a file may be something else by now.
        if observed.kind != Kind::File {
            tell.statistics.changed += 1;
            return;
        }
        let stamp = observed.stamp;
        let policy = &walk.session.policy;
        match policy.judge_object((stamp.device, stamp.inode), Verb::Search) {
            Judgement::Clear => {
                let file = (path, object.as_fd(), stamp.size);
                self.search(engine, file, &walk.interrupt, tell);
            }
            Judgement::Denied(_) | Judgement::Asks(_) => tell.statistics.denied += 1,
            Judgement::Hidden => {}
        }
    }
}
