//! What became of an effect whose gate is gone: a gate that only looks is asked, and its word
//! becomes the receipt. The locks are held until then.

use crate::effect::{Left, Reached, Running, encoded};
use crate::launch::{Caged, Launch, launch};
use crate::locks::{Held, Keys};
use crate::mint;
use crate::root::SealedRoot;
use crate::shared::Shared;
use crate::state::{IntentId, OpenIntent};
use portcullis_protocol::authority::{Authority, Denial, Effect, Grant, Parts, Root};
use portcullis_protocol::bounded::Few;
use portcullis_protocol::control::Witness;
use portcullis_protocol::ledger::{Duty, Event, Finish, Intent, RunAs, Seen, SeenStep, Step};
use portcullis_protocol::limits::{BODY_BYTES_MAX, EFFECT_BYTES_MAX};
use portcullis_protocol::session::{Guarantee, Incarnation, Outcome, SessionId, Touched};
use portcullis_protocol::view::{PathState, Present};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Times a receipt is tried to be written, and the pause between two of them.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(200);

/// Under what an observer looks.
pub(crate) struct View<'a> {
    pub(crate) incarnation: Incarnation,
    pub(crate) session: SessionId,
    pub(crate) authority: &'a Authority,
    pub(crate) roots: &'a [Arc<SealedRoot>],
    pub(crate) run_as: Option<RunAs>,
}

/// Whether an effect has its receipt now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    Yes(Outcome),
    /// The journal does not take it. Its locks stay held, and the next warden settles it.
    No,
}

/// Whose the names of an effect are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Its own, until it has its receipt, and it changed none: its gate was gone before it had
    /// looked at them under its locks, so that what is there need not be what it was planned with.
    Untouched,
    /// Its own, until it has its receipt: what is there is what it left.
    Held,
    /// Everybody's: the gate gave its locks back when all names stood as announced, and what is
    /// there now may be of another effect.
    GivenBack,
}

/// Settles the effect of a gate that is gone. Without a view nobody can look.
pub(crate) async fn settle(shared: &Shared, view: Option<View<'_>>, left: Left) -> Settled {
    let Left { running, reached } = left;
    let Running {
        id, intent, held, ..
    } = running;
    let names = match (&held, reached) {
        (Some(_), Reached::Begun) => Names::Untouched,
        (Some(_), Reached::Confirmed) => Names::Held,
        (None, _) => Names::GivenBack,
    };
    close(shared, view, (id, &intent, names), held).await
}

/// Settles what earlier wardens left behind. The locks are asked for before anyone else can ask.
pub(crate) fn settle_left(shared: &Arc<Shared>, left: Vec<OpenIntent>) {
    for open in left {
        let shared = Arc::clone(shared);
        let mut waiting = shared.locks.queue(Keys::of(&open.begin));
        tokio::spawn(async move {
            // Two of them can only want the same where one had given its locks back.
            let held = waiting.until(far()).await.ok();
            let found = open.authority.as_ref().and_then(found_again);
            let view = found.as_ref().map(|found| View {
                incarnation: open.incarnation,
                session: open.number,
                authority: &found.authority,
                roots: &found.roots,
                run_as: found.run_as,
            });
            let intent = &open.begin.intent;
            // Whether it gave its locks back, or had not got to its first change, is not in the
            // journal.
            let effect = (open.id, intent, Names::Held);
            if let Settled::Yes(_) = close(&shared, view, effect, held).await {
                // A session that cannot be ended now is by the next warden.
                shared.state.end_session(open.session).ok();
            }
        });
    }
}

fn far() -> tokio::time::Instant {
    tokio::time::Instant::now() + Duration::from_secs(365 * 24 * 3600)
}

/// An authority of an earlier life, with its roots.
struct FoundAgain {
    authority: Authority,
    roots: Vec<Arc<SealedRoot>>,
    run_as: Option<RunAs>,
}

/// The roots of an authority of an earlier life, where all are what they were.
fn found_again(authority: &Authority) -> Option<FoundAgain> {
    let again = |root| SealedRoot::again(root).map(Arc::new).ok();
    let roots: Option<Vec<_>> = authority.parts().roots.iter().map(again).collect();
    let roots = roots?;
    // A gate compares what it holds with what its authority says, and devices and mounts have
    // other numbers when the system has started anew.
    let now = |root: &Root| {
        roots
            .iter()
            .map(|again| again.root().clone())
            .find(|r| r.id == root.id)
    };
    let authority = authority.rebase(now).ok()?;
    let run_as = mint::run_as(&roots).ok()?;
    Some(FoundAgain {
        authority,
        roots,
        run_as,
    })
}

async fn close(
    shared: &Shared,
    view: Option<View<'_>>,
    (id, intent, names): (IntentId, &Intent, Names),
    held: Option<Held>,
) -> Settled {
    let seen = match view {
        Some(view) if !view.roots.iter().any(|root| root.is_gone()) => {
            observe(shared, &view, intent).await
        }
        Some(_) | None => None,
    };
    let (end, witness) = match seen {
        Some(seen) => (judge(intent, &seen, names), Witness::Observer),
        None => (unseen(intent, names), Witness::Nobody),
    };
    for _ in 0..TRIES {
        match shared.state.finish(id, &end, &[], witness) {
            Ok(_) => return Settled::Yes(end.outcome),
            Err(_) => sleep(PAUSE).await,
        }
    }
    if let Some(held) = held {
        shared.keep_locked(held);
    }
    Settled::No
}

/// What an observer sees, for each step of the intent.
async fn observe(shared: &Shared, view: &View<'_>, intent: &Intent) -> Option<Vec<SeenStep>> {
    let granted = as_granted(view.authority);
    let authority = granted.as_ref().unwrap_or(view.authority);
    let narrow = narrow_to_fit(authority, intent);
    let start = Launch {
        incarnation: view.incarnation,
        session: view.session,
        authority: narrow.as_ref().unwrap_or(authority),
        roots: view.roots,
        run_as: view.run_as,
        duty: Duty::Observe(intent.clone()),
        lineage: Few::default(),
        ignore: None,
    };
    let Caged { gate, ledger, .. } = match launch(shared, &start, None).await {
        Ok(caged) => caged,
        Err(unmade) => {
            drop(unmade.refused().await);
            return None;
        }
    };
    let deadline = shared.terms.deadlines.settle;
    let word = timeout(deadline, ledger.receive(&shared.buffer)).await;
    // It has said its last word, or will not say it.
    gate.end(Duration::ZERO).await;
    match word {
        Ok(Ok(received)) => match received.message {
            Event::Seen(Seen { steps }) => {
                let steps = steps.into_vec();
                (steps.len() == intent.steps.as_slice().len()).then_some(steps)
            }
            Event::Ready(_)
            | Event::Refused(_)
            | Event::Finished(_)
            | Event::Fault(_)
            | Event::Begin(_)
            | Event::Amend(_)
            | Event::Unlock(_)
            | Event::Finish(_)
            | Event::Delegate(_)
            | Event::EndDelegated(_)
            | Event::Propose(_)
            | Event::Bound(_)
            | Event::Unbound(_)
            | Event::Claim(_) => None,
        },
        Ok(Err(_)) | Err(_) => None,
    }
}

/// What was to be asked for, as granted: the effect may have been approved. None where nothing was.
fn as_granted(authority: &Authority) -> Option<Authority> {
    let parts = authority.parts();
    let asks = |denial: &&Denial| denial.effect == Effect::Ask;
    if parts.asks.is_empty() && !parts.denials.iter().any(|denial| asks(&denial)) {
        return None;
    }
    Authority::seal(Parts {
        grants: parts.grants.iter().chain(&parts.asks).cloned().collect(),
        asks: Vec::new(),
        denials: {
            let stay = parts.denials.iter().filter(|denial| !asks(denial));
            stay.cloned().collect()
        },
        ..parts.clone()
    })
    .ok()
}

/// An observer's setup is one frame. Where authority and intent together are more than that, it
/// gets only the grants that the intent needs, and no denials: it looks at the names of the intent
/// alone, and tells nobody but the warden.
fn narrow_to_fit(authority: &Authority, intent: &Intent) -> Option<Authority> {
    /// What a setup holds beside them.
    const REST: usize = 256;
    if encoded(authority) + encoded(intent) + REST <= BODY_BYTES_MAX {
        return None;
    }
    let parts = authority.parts();
    let needed = |grant: &&Grant| {
        intent.steps.as_slice().iter().any(|step| {
            let touched = &step.touched;
            grant.root == touched.root
                && grant.verbs.has(touched.verb)
                && touched.path.below(&grant.prefix).is_some()
        })
    };
    Authority::seal(Parts {
        grants: parts.grants.iter().filter(needed).cloned().collect(),
        asks: parts.asks.iter().filter(needed).cloned().collect(),
        denials: Vec::new(),
        ..parts.clone()
    })
    .ok()
}

/// The end of an effect by what was seen afterwards: done when every name is as it was to be,
/// failed when every name is as it was before, else uncertain. An effect whose names were given
/// back is done, and only what it left is looked for; one that changed none is failed, and what is
/// there is what was there.
fn judge(intent: &Intent, seen: &[SeenStep], names: Names) -> Finish {
    let steps = || intent.steps.as_slice().iter().zip(seen);
    let stands = |(step, seen): (&Step, &SeenStep)| proves(&step.touched.after, &seen.now);
    let outcome = if names == Names::Untouched {
        Outcome::Failed
    } else if names == Names::GivenBack || steps().all(stands) {
        Outcome::Done
    } else if steps().all(|(step, seen)| {
        // A displaced object under a temporary name is not where it was, whatever its name shows.
        proves(&step.touched.before, &seen.now) && !holds(&seen.temporary, &step.touched.before)
    }) {
        Outcome::Failed
    } else {
        Outcome::Uncertain
    };
    let left = steps().filter(|(step, seen)| match seen.temporary {
        PathState::Present(_) => true,
        // Where one may be and nobody could look, one may be left.
        PathState::Unknown => step.temporary.is_some() && names != Names::Untouched,
        PathState::Absent => false,
    });
    let left = u32::try_from(left.count()).unwrap_or(u32::MAX);
    let touched = steps().map(|(step, seen)| Touched {
        after: match names {
            Names::GivenBack if !stands((step, seen)) => step.touched.after,
            Names::GivenBack | Names::Held | Names::Untouched => seen.now,
        },
        before: was(names, &step.touched, seen.now),
        ..step.touched.clone()
    });
    fitting(finish(outcome, touched.collect(), left), intent, names)
}

/// What was at a name before the effect, of which `seen` is there now: what it was confirmed to be.
fn was(names: Names, touched: &Touched, seen: PathState) -> PathState {
    match names {
        Names::Untouched => seen,
        Names::GivenBack | Names::Held => touched.before,
    }
}

/// The end of an effect that nobody could look at.
fn unseen(intent: &Intent, names: Names) -> Finish {
    let steps = intent.steps.as_slice().iter();
    let left = steps.clone().filter(|step| step.temporary.is_some());
    let left = u32::try_from(left.count()).unwrap_or(u32::MAX);
    let (outcome, left) = match names {
        Names::Untouched => (Outcome::Failed, 0),
        Names::GivenBack | Names::Held => (Outcome::Uncertain, left),
    };
    let touched = steps.map(|step| Touched {
        before: was(names, &step.touched, PathState::Unknown),
        after: PathState::Unknown,
        ..step.touched.clone()
    });
    finish(outcome, touched.collect(), left)
}

fn finish(outcome: Outcome, touched: Vec<Touched>, left: u32) -> Finish {
    Finish {
        outcome,
        guarantee: match outcome {
            Outcome::Failed => Guarantee::Exact,
            // What it displaced was looked at by nobody who is left to say so.
            Outcome::Done | Outcome::Uncertain => Guarantee::BestEffort,
        },
        touched: Few::new(touched).unwrap_or_default(),
        refusal: None,
        left,
        diff_cut: 0,
    }
}

/// A version that was seen takes more room than one that was planned. Where that is too much,
/// what is as planned is said as it was planned, and the rest is not said.
fn fitting(end: Finish, intent: &Intent, names: Names) -> Finish {
    if encoded(&end) <= EFFECT_BYTES_MAX {
        return end;
    }
    let steps = intent.steps.as_slice().iter();
    let touched = steps.zip(end.touched.as_slice()).map(|(step, seen)| {
        let planned = &step.touched;
        let after = [planned.after, planned.before, PathState::Unknown];
        let mut after = after.into_iter().filter(|state| proves(state, &seen.after));
        let after = after.next().unwrap_or(PathState::Unknown);
        Touched {
            before: was(names, planned, after),
            after,
            ..planned.clone()
        }
    });
    Finish {
        touched: Few::new(touched.collect()).unwrap_or_default(),
        ..end
    }
}

/// Whether `now` shows that a name is as `meant`: they agree, and where there is content it, or
/// the object, is known to be the same. A directory has no content to compare.
fn proves(meant: &PathState, now: &PathState) -> bool {
    if !meant.agrees(now) {
        return false;
    }
    match (meant, now) {
        (PathState::Present(a), PathState::Present(b)) => {
            let known = |p: &Present| (p.digest.is_some(), p.stamp.is_some());
            let (a_knows, b_knows) = (known(a), known(b));
            a.kind == portcullis_protocol::view::Kind::Directory
                || (a_knows.0 && b_knows.0)
                || (a_knows.1 && b_knows.1)
        }
        (PathState::Absent | PathState::Present(_) | PathState::Unknown, _) => true,
    }
}

/// Whether the object at a temporary name is this one.
fn holds(temporary: &PathState, object: &PathState) -> bool {
    match (temporary, object) {
        (PathState::Present(a), PathState::Present(b)) => {
            a.stamp.is_some() && a.stamp.map(|s| s.object()) == b.stamp.map(|s| s.object())
        }
        (PathState::Absent | PathState::Present(_) | PathState::Unknown, _) => false,
    }
}

#[cfg(test)]
mod tests;
