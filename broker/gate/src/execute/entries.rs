//! Listings and globs: names below a directory, as entries, in the order that was asked for.

use super::cursor::After;
use super::frames::{Ended, Frames};
use super::glob::Patterns;
use super::sorted::{Sorted, Timed};
use super::walk::{
    Ground, Hunt, Interrupt, Length, Listing, Met, Passes, Route, Takes, Tell, Then, Walk, Wants,
};
use crate::bind::Bound;
use crate::outlet::{Gone, Outlet};
use crate::policy::Judgement;
use crate::session::Session;
use crate::sys::open::{self, Purpose};
use portcullis_protocol::authority::{Level, Operation};
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::limits::{LIST_ENTRIES_MAX, SORTED_ENTRIES_MAX, STREAM_TIME_MS_MAX};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal, Rule};
use portcullis_protocol::session::{
    Completeness, Cursor, CutReason, Detail, Done, Entries, EntryDetail, EntryRef, Kinds, Order,
    Passing, Reply, Weight,
};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Kind, Stamp};
use rustix::io::Errno;
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a listing and a glob have in common.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) verb: Verb,
    pub(super) depth: u32,
    pub(super) detail: Detail,
    pub(super) passing: &'a Passing,
    pub(super) kinds: &'a Kinds,
    pub(super) order: Order,
    pub(super) limit: u32,
    pub(super) cursor: Option<&'a Cursor>,
    pub(super) length: Length,
}

/// Whether a request was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answered {
    Yes,
    /// It is more than is answered at once, and nothing was told of it.
    Long,
}

/// Which names are told.
#[derive(Debug)]
pub(super) enum Choose {
    All,
    Matching(Patterns),
}

impl Ask<'_> {
    /// Whether its bounds are within those of the protocol, and its patterns can be used.
    pub(super) fn check(&self, start: &RelPath) -> Result<Passes, Refusal> {
        let most = match self.order {
            Order::Name => LIST_ENTRIES_MAX,
            Order::Newest | Order::Oldest => SORTED_ENTRIES_MAX,
        };
        let range = |note: &str| Refusal::new(Code::OutOfRange).of(self.verb).noting(note);
        if self.depth == 0 {
            return Err(range("depth must be at least 1"));
        }
        if self.limit == 0 || self.limit > most {
            let why = match self.order {
                Order::Name => "",
                Order::Newest | Order::Oldest => " where entries are sorted by time",
            };
            return Err(range(&format!("limit must be 1 to {most}{why}")));
        }
        Passes::new(self.passing, start)
            .map_err(|note| Refusal::new(Code::BadPattern).of(self.verb).noting(&note))
    }

    /// Where it goes on, if it does; a cursor of another order is no cursor of this one.
    fn after(&self, start: Stamp, within: &RelPath) -> Result<Option<After>, Refusal> {
        let Some(cursor) = self.cursor else {
            return Ok(None);
        };
        let bad = || Refusal::new(Code::BadCursor).of(self.verb);
        let after = After::read(cursor, start, within).ok_or_else(bad)?;
        match (&after, self.order) {
            (After::Name(_), Order::Name) | (After::Time(..), Order::Newest | Order::Oldest) => {
                Ok(Some(after))
            }
            (After::Name(_) | After::Time(..), Order::Name | Order::Newest | Order::Oldest) => {
                Err(bad())
            }
        }
    }

    fn route(&self, resume: Option<RelPath>, passes: Passes) -> Route {
        Route {
            verb: self.verb,
            depth: self.depth,
            resume,
            passes,
            listing: Listing::Told,
            length: self.length,
        }
    }

    /// Walks, and sends what `choose` takes.
    pub(super) fn answer(
        self,
        session: &Arc<Session>,
        bound: &Bound,
        choose: Choose,
        outlet: &mut Outlet,
    ) -> Result<Answered, Gone> {
        let yes = |()| Answered::Yes;
        let start = bound.observation().stamp;
        let checked = self
            .check(bound.path())
            .and_then(|passes| Ok((passes, self.after(start, bound.path())?)));
        let (passes, after) = match checked {
            Ok(checked) => checked,
            Err(refusal) => return outlet.refuse(&refusal).map(yes),
        };
        let (resume, sorted, most) = match (&after, self.order) {
            (Some(After::Name(path)), _) => (Some(path.clone()), None, self.limit),
            (None, Order::Name) => (None, None, self.limit),
            (after, order) => {
                let sorted = Sorted::new(order, self.limit, (*after).clone());
                (None, Some(Mutex::new(sorted)), u32::MAX)
            }
        };
        let route = self.route(resume, passes);
        let hunt = Finding {
            start: bound.path().clone(),
            choose,
            kinds: self.kinds.as_slice().to_vec(),
            detail: self.detail,
            sorted,
        };
        let time = Duration::from_millis(STREAM_TIME_MS_MAX.into());
        let interrupt = Interrupt::new(outlet, time);
        let mut frames = Frames::new(outlet, &session.meter, bound.binding(), most);
        let walk = Walk::new(session, bound, route, interrupt, hunt);
        let ended = walk.run(&mut frames);
        if walk.is_long() {
            return Ok(Answered::Long);
        }
        let mut ended = Ended::of(ended)?;
        let mut sorted = Told::InOrder(after);
        if let Some(kept) = &walk.hunt().sorted {
            let kept = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
            let (piece, further) = kept.piece(self.detail);
            match frames.take(&piece) {
                Ok(()) => {}
                Err(stop) => ended = Ended::of(Err(stop))?,
            }
            sorted = Told::Sorted(further);
        }
        let sent = frames.finish()?;
        let cut = match ended {
            Ended::Told(cut) => cut,
            Ended::Refused(refusal) => {
                return outlet.refuse(&refusal.of(self.verb)).map(yes);
            }
        };
        let done = Done {
            completeness: completeness(cut, sorted, sent.last, start),
            statistics: sent.statistics,
        };
        outlet.send(&Reply::Done(done), &[]).map(yes)
    }
}

/// How entries were told.
enum Told {
    /// As they were met, after a place where an earlier answer ended.
    InOrder(Option<After>),
    /// When all were known; so many that they go on after a place.
    Sorted(Option<After>),
}

/// Whether an answer is whole, and where it goes on.
fn completeness(
    cut: Option<CutReason>,
    told: Told,
    last: Option<RelPath>,
    start: Stamp,
) -> Completeness {
    let (reason, after) = match (cut, told) {
        (None, Told::InOrder(_) | Told::Sorted(None)) => return Completeness::Complete,
        (None, Told::Sorted(further)) => (CutReason::Limit, further),
        // Of those that were not met, some come before what was told.
        (Some(reason), Told::Sorted(_)) => (reason, None),
        (Some(reason @ CutReason::Changed), Told::InOrder(_)) => (reason, None),
        (
            Some(reason @ (CutReason::Limit | CutReason::Time | CutReason::Cancelled)),
            Told::InOrder(after),
        ) => (reason, last.map(After::Name).or(after)),
    };
    Completeness::Cut {
        reason,
        cursor: after.and_then(|after| after.cursor(start)),
    }
}

/// A listing or glob under way.
#[derive(Debug)]
struct Finding {
    start: RelPath,
    choose: Choose,
    kinds: Vec<Kind>,
    detail: Detail,
    /// Where the order is one of times: what is told at the end.
    sorted: Option<Mutex<Sorted>>,
}

impl Hunt for Finding {
    type Told = Entries;
    type Hand = ();

    fn hand(&self) {}

    fn wants(&self, met: &Met<'_>) -> Wants {
        match &self.choose {
            Choose::Matching(patterns) if !patterns.take(&self.start, met.path, met.kind) => {
                Wants::No
            }
            Choose::All | Choose::Matching(_) => Wants::Yes,
        }
    }

    fn takes(&self, met: &Met<'_>) -> Takes {
        match &self.choose {
            Choose::Matching(patterns) if patterns.spell_dot(met.name) => Takes::Dot,
            Choose::All | Choose::Matching(_) => Takes::Usual,
        }
    }

    fn meet(&self, walk: &Ground, met: &Met<'_>, tell: &mut Tell<'_, Entries>) -> Then {
        tell.statistics.files += 1;
        // What is no directory was chosen before, unless it is denied.
        let chosen = match (&self.choose, met.kind, met.denied) {
            (Choose::All, _, _) => true,
            (Choose::Matching(patterns), Kind::Directory, _)
            | (Choose::Matching(patterns), _, Some(_)) => {
                patterns.take(&self.start, met.path, met.kind)
            }
            (Choose::Matching(_), _, None) => true,
        };
        if !chosen || !(self.kinds.is_empty() || self.kinds.contains(&met.kind)) {
            return Then::Done;
        }
        let denied = met.denied.or_else(|| denies(walk, met, Verb::Read));
        let detail = match (self.detail, &self.sorted) {
            (Detail::Names, None) => None,
            (Detail::Full, _) | (Detail::Names, Some(_)) => detail(walk, met, tell),
        };
        match &self.sorted {
            None => {
                let entry = EntryRef {
                    path: met.path,
                    kind: met.kind,
                    denied: denied.map(|rule| &rule.name),
                    detail: detail.as_ref(),
                };
                // Whoever leads the walk sees what is over the limit.
                let _on = tell.push(&entry, Weight::Counts);
            }
            Some(sorted) => {
                let timed = Timed {
                    path: met.path.clone(),
                    kind: met.kind,
                    denied: denied.map(|rule| rule.name.clone()),
                    detail,
                };
                let mut sorted = sorted.lock().unwrap_or_else(PoisonError::into_inner);
                sorted.add(timed);
            }
        }
        Then::Done
    }

    fn file(&self, _: &Ground, (): &mut (), _: &RelPath, _: &mut Tell<'_, Entries>) {
        // No name is put off.
    }
}

/// The rule that denies `verb` on what was met, or makes an approval needed for it, which a walk has
/// not.
fn denies<'a>(walk: &'a Ground, met: &Met<'_>, verb: Verb) -> Option<&'a Rule> {
    let policy = &walk.session.policy;
    let by_name = policy.judge_met(met.room, met.judged, verb);
    match by_name.or(policy.judge_object(met.object, verb)) {
        Judgement::Denied(rule) | Judgement::Asks(rule) => Some(rule),
        Judgement::Clear | Judgement::Hidden => None,
    }
}

/// The further fields of an entry, from the object itself. None when it is gone or unreachable,
/// and where the session may not `stat` it: a right to list gives no metadata.
fn detail(walk: &Ground, met: &Met<'_>, tell: &mut Tell<'_, Entries>) -> Option<EntryDetail> {
    let stat = Operation::of(Verb::Stat);
    match walk.session.level(walk.root, met.path, stat) {
        Level::Granted => {}
        Level::Ask | Level::Nothing => return None,
    }
    if denies(walk, met, Verb::Stat).is_some() {
        return None;
    }
    let looked = walk.root_fd().and_then(|root| {
        let object = open::below(root, met.path, Purpose::LookAtLink)?;
        let observed = open::observation(&object)?;
        let link = match observed.kind {
            Kind::Link => Some(open::link_text(object.as_fd())?),
            Kind::File
            | Kind::Directory
            | Kind::Fifo
            | Kind::Socket
            | Kind::Device
            | Kind::Unknown => None,
        };
        Ok((observed, link))
    });
    match looked {
        Ok((observed, link)) => Some(EntryDetail {
            size: observed.stamp.size,
            mode: observed.mode,
            modified: observed.modified,
            link: link.and_then(|text| Bytes::new(text).ok()),
        }),
        // The walk counts a mount when it does not enter it; once is enough.
        Err(Errno::XDEV) if met.kind == Kind::Directory => None,
        Err(errno) => {
            tell.count(errno);
            None
        }
    }
}
