//! confirm: everything a plan was bound to, looked at again while the locks are held, so that no
//! denial and no identity can be outrun.
//!
//! Other sessions cannot move a directory on the way or touch one of the names until the effect
//! has ended. Processes outside the broker can; what they do between here and the call is seen by
//! `execute` in what the call displaced.

use crate::ledger::Begun;
use crate::plan::{Bound, Fate, Plan, Within, judge_tree};
use crate::resolve::look_again;
use crate::session::Session;
use crate::sys::meta::{self, Lease};
use crate::sys::open;
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Deletion, Guarantee, Selector};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Kind, Observation, RootIndex};
use rustix::io::Errno;
use std::collections::HashSet;
use std::os::fd::AsFd as _;

/// Holding one means: the locks are held, every directory is still where its path leads, every
/// object still has its name and its version, and nobody has a file that is replaced open for
/// writing, as far as that can be known.
#[derive(Debug)]
pub(crate) struct Confirmed {
    plan: Plan,
    guarantee: Guarantee,
}

/// Why a plan does not hold.
#[derive(Debug)]
pub(crate) enum Unconfirmed {
    /// Something is not as it was; a new plan may hold.
    Moved,
    /// It cannot be done now.
    Refused(Refusal),
}

impl Confirmed {
    pub(crate) fn into_parts(self) -> (Plan, Guarantee) {
        (self.plan, self.guarantee)
    }
}

/// Looks again. Demands the proof that the locks are held. The plan is lost when it does not hold:
/// a new one is made from the request.
pub(crate) fn confirm(
    session: &Session,
    _begun: &Begun,
    plan: Plan,
) -> Result<Confirmed, Unconfirmed> {
    let mut guarantee = Guarantee::Exact;
    let mut seen: HashSet<(RootIndex, &RelPath)> = HashSet::new();
    for name in &plan.names {
        let nearest = name.at.within.nearest();
        if seen.insert((nearest.root, &nearest.path)) {
            let again = look_again(session, nearest.root, &nearest.path);
            if again.map_err(|errno| stopped(name, errno))?.id != nearest.id {
                return Err(Unconfirmed::Moved);
            }
        }
        guarantee = weaker(guarantee, hold_writers_off(session, name)?);
        check_name(name)?;
        judge_below(session, name)?;
    }
    Ok(Confirmed { plan, guarantee })
}

fn refuse(name: &Bound, code: Code) -> Unconfirmed {
    Unconfirmed::Refused(
        Refusal::new(code)
            .of(name.touched.verb)
            .on(name.at.path.as_bytes()),
    )
}

fn stopped(name: &Bound, errno: Errno) -> Unconfirmed {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::STALE => {
            Unconfirmed::Moved
        }
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => refuse(name, Code::Exhausted),
        _ => refuse(name, Code::Io),
    }
}

/// Whether a name still leads to what was held, or still to nothing.
fn check_name(name: &Bound) -> Result<(), Unconfirmed> {
    let directory = match &name.at.within {
        Within::Held(directory) => directory,
        // It cannot be there before its directory is.
        Within::Made(_) => return Ok(()),
    };
    match (
        open::observe_name(directory.fd.as_fd(), name.at.name()),
        &name.held,
    ) {
        (Err(Errno::NOENT), None) => Ok(()),
        // Before Linux 6.13 two changes within a few milliseconds have one time: what others change
        // without making another object is compared as well.
        (Ok(now), Some(held)) if is_seen(&open::recorded(&now), &held.observation) => Ok(()),
        // What is below a directory changes its times; which it is and that it is one does not.
        (Ok(now), Some(held)) if held.observation.kind == Kind::Directory => {
            let now = open::recorded(&now);
            let same = now.stamp.object() == held.observation.stamp.object();
            if same && now.mode == held.observation.mode {
                Ok(())
            } else {
                Err(Unconfirmed::Moved)
            }
        }
        (Ok(_), _) | (Err(Errno::NOENT), Some(_)) => Err(Unconfirmed::Moved),
        (Err(errno), _) => Err(stopped(name, errno)),
    }
}

fn is_seen(now: &Observation, held: &Observation) -> bool {
    now.stamp == held.stamp && (now.mode, now.links) == (held.mode, held.links)
}

/// Keeps writers off a file that something new was worked out from, until its descriptor closes.
fn hold_writers_off(session: &Session, name: &Bound) -> Result<Guarantee, Unconfirmed> {
    match (&name.fate, &name.held) {
        (Fate::Replaced(_), Some(held)) => match meta::lease(held.fd()) {
            Ok(Lease::Held) => Ok(session.surest_lease(name.at.root)),
            Ok(Lease::Writers) => Err(refuse(name, Code::Busy)),
            Ok(Lease::Unavailable) => Ok(Guarantee::Detected),
            Err(errno) => Err(stopped(name, errno)),
        },
        (Fate::Moves(_) | Fate::Deleted(_), _) => Ok(Guarantee::Detected),
        (Fate::Replaced(_) | Fate::Stays, _) => Ok(Guarantee::Exact),
    }
}

/// The less sure of two.
pub(crate) const fn weaker(a: Guarantee, b: Guarantee) -> Guarantee {
    match (a, b) {
        (Guarantee::BestEffort, _) | (_, Guarantee::BestEffort) => Guarantee::BestEffort,
        (Guarantee::Detected, _) | (_, Guarantee::Detected) => Guarantee::Detected,
        (Guarantee::Exact, Guarantee::Exact) => Guarantee::Exact,
    }
}

/// Judges what is below a directory that moves or goes once more: it may have got something that
/// is denied since.
fn judge_below(session: &Session, name: &Bound) -> Result<(), Unconfirmed> {
    let is_directory = name
        .held
        .as_ref()
        .is_some_and(|held| held.observation.kind == Kind::Directory);
    let (verb, destination) = match &name.fate {
        Fate::Moves(to) if is_directory => (Verb::Move, Some(to)),
        Fate::Deleted(Deletion::Tree) | Fate::Replaced(Deletion::Tree) => (Verb::DeleteTree, None),
        Fate::Stays
        | Fate::Moves(_)
        | Fate::Deleted(Deletion::File | Deletion::Directory)
        | Fate::Replaced(Deletion::File | Deletion::Directory) => return Ok(()),
    };
    judge_tree(session, verb, &name.at, destination).map_err(|why| {
        let selector = Selector {
            root: None,
            path: Bytes::cut(name.at.path.as_bytes()),
        };
        Unconfirmed::Refused(why.refusal(verb, &selector))
    })
}
