//! confirm: everything a plan was bound to, looked at again while the locks are held, so that no
//! denial and no identity can be outrun.
//!
//! Other sessions cannot move a directory on the way or touch one of the names until the effect
//! has ended. Processes outside the broker can; what they do between here and the call is seen by
//! `execute` in what the call displaced.

use crate::ledger::Begun;
use crate::plan::{Act, At, Plan, Within, judge_tree};
use crate::resolve::{Held, look_again};
use crate::session::Session;
use crate::sys::meta::{self, Lease};
use crate::sys::open;
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Deletion, Guarantee, Selector};
use portcullis_protocol::view::{Kind, RootIndex};
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
    for step in &plan.steps {
        for at in step.act.places() {
            let nearest = at.within.nearest();
            if seen.insert((nearest.root, &nearest.path)) {
                let again = look_again(session, nearest.root, &nearest.path);
                if again.map_err(|errno| stopped(&step.act, errno))?.id != nearest.id {
                    return Err(Unconfirmed::Moved);
                }
            }
        }
        guarantee = weaker(guarantee, hold_writers_off(&step.act)?);
        for (at, expected) in step.act.places().zip(step.act.expected()) {
            check_name(&step.act, at, expected)?;
        }
        judge_below(session, &step.act)?;
    }
    Ok(Confirmed { plan, guarantee })
}

fn refuse(act: &Act, code: Code) -> Unconfirmed {
    let path = act.places().next().map(|at| at.path.as_bytes());
    Unconfirmed::Refused(
        Refusal::new(code)
            .of(act.verb())
            .on(path.unwrap_or_default()),
    )
}

fn stopped(act: &Act, errno: Errno) -> Unconfirmed {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::STALE => {
            Unconfirmed::Moved
        }
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => refuse(act, Code::Exhausted),
        _ => refuse(act, Code::Io),
    }
}

/// Whether a name still leads to what was held, or still to nothing.
fn check_name(act: &Act, at: &At, expected: Option<&Held>) -> Result<(), Unconfirmed> {
    let directory = match &at.within {
        Within::Held(directory) => directory,
        // It cannot be there before its directory is.
        Within::Made(_) => return Ok(()),
    };
    match (
        open::observe_name(directory.fd.as_fd(), at.name()),
        expected,
    ) {
        (Err(Errno::NOENT), None) => Ok(()),
        (Ok(now), Some(held)) if open::recorded(&now).stamp == held.observation.stamp => Ok(()),
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
        (Err(errno), _) => Err(stopped(act, errno)),
    }
}

/// Keeps writers off a file that is to be replaced, until its descriptor closes.
fn hold_writers_off(act: &Act) -> Result<Guarantee, Unconfirmed> {
    match act {
        Act::Replace { held, .. } => match meta::lease(held.fd()) {
            Ok(Lease::Held) => Ok(Guarantee::Exact),
            Ok(Lease::Writers) => Err(refuse(act, Code::Busy)),
            Ok(Lease::Unavailable) => Ok(Guarantee::Detected),
            Err(errno) => Err(stopped(act, errno)),
        },
        Act::Delete { .. } | Act::Move { .. } => Ok(Guarantee::Detected),
        Act::Mkdir { .. }
        | Act::Keep { .. }
        | Act::Create { .. }
        | Act::Chmod { .. }
        | Act::Link { .. } => Ok(Guarantee::Exact),
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
fn judge_below(session: &Session, act: &Act) -> Result<(), Unconfirmed> {
    let (at, destination) = match act {
        Act::Move { from, held, to, .. } if held.observation.kind == Kind::Directory => {
            (from, Some(&to.path))
        }
        Act::Delete { at, deletion, .. } => match deletion {
            Deletion::Tree => (at, None),
            Deletion::File | Deletion::Directory => return Ok(()),
        },
        Act::Move { .. }
        | Act::Mkdir { .. }
        | Act::Keep { .. }
        | Act::Create { .. }
        | Act::Replace { .. }
        | Act::Chmod { .. }
        | Act::Link { .. } => return Ok(()),
    };
    judge_tree(session, act.verb(), at, destination).map_err(|why| {
        let selector = Selector {
            root: None,
            path: Bytes::cut(at.path.as_bytes()),
        };
        Unconfirmed::Refused(why.refusal(act.verb(), &selector))
    })
}
