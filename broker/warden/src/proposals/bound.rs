//! What a proposal is bound to: whether a gate may say so, and whether what is to be done later is still
//! that. Neither the gate that worked it out nor the one that does it is trusted.

use crate::effect::encoded;
use portcullis_protocol::approval::Bound;
use portcullis_protocol::authority::{Authority, Level, Operation};
use portcullis_protocol::ledger::{Intent, Step};
use portcullis_protocol::limits::EFFECT_BYTES_MAX;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Deletion;
use portcullis_protocol::verb::VerbSet;
use portcullis_protocol::view::{Digest, Kind, PathState, Present};

/// What an approval is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Names are changed: the claim goes with the intent.
    Changes,
    /// Something is only shown.
    Shows,
}

/// A gate that was to work out an operation said what cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unsound(pub(crate) &'static str);

/// What a sound intent is for; an intent has steps of one kind alone.
pub(crate) fn used_for(intent: &Intent) -> Result<Use, Unsound> {
    let steps = intent.steps.as_slice();
    let writes = |step: &&Step| VerbSet::WRITING.has(step.touched.verb);
    match steps.iter().filter(writes).count() {
        _ if steps.is_empty() => Err(Unsound("it touches nothing")),
        0 => Ok(Use::Shows),
        all if all == steps.len() => Ok(Use::Changes),
        _ => Err(Unsound("it both shows and changes")),
    }
}

/// Whether what a gate says an operation is bound to is of this authority. Every name must at least
/// be one that may be asked for; which of them a denial covers was the gate's to judge.
pub(crate) fn check(authority: &Authority, input: Digest, bound: &Bound) -> Result<Use, Unsound> {
    let used = used_for(&bound.intent)?;
    let steps = bound.intent.steps.as_slice();
    if !steps.iter().any(|step| step.touched.verb == bound.verb) {
        return Err(Unsound("no name of it is touched by its verb"));
    }
    for step in steps {
        let touched = &step.touched;
        if authority.root(touched.root).is_none() {
            return Err(Unsound("it names a root that is not there"));
        }
        let operation = Operation {
            input: Some(input),
            ..Operation::of(touched.verb)
        };
        if authority.level(touched.root, &touched.path, operation) == Level::Nothing {
            return Err(Unsound("it is beyond what may be asked for"));
        }
        if used == Use::Shows && touched.before != touched.after {
            return Err(Unsound("it shows something and changes it"));
        }
    }
    if encoded(&bound.intent) > EFFECT_BYTES_MAX {
        return Err(Unsound("its names do not fit one effect"));
    }
    Ok(used)
}

/// Whether what is to be done now is what was approved: the same names in the same order, the
/// same versions there, the same result. Where an effect will put things meanwhile is its own affair, and so is the
/// digest that it gives of its request: the warden handed the same bytes to both gates.
pub(crate) fn same(approved: &Intent, now: &Intent) -> Result<(), Refusal> {
    let (approved, now) = (approved.steps.as_slice(), now.steps.as_slice());
    if approved.len() != now.len() {
        return Err(changed(
            approved.first(),
            "it would touch other names than were approved",
        ));
    }
    for (was, is) in approved.iter().zip(now) {
        let (a, b) = (&was.touched, &is.touched);
        if (a.root, &a.path, a.verb) != (b.root, &b.path, b.verb) {
            return Err(changed(
                Some(was),
                "it would touch other names than were approved",
            ));
        }
        if (was.parent, &was.name) != (is.parent, &is.name) {
            return Err(changed(Some(was), "the directory it is in is another one"));
        }
        if !stands(&a.before, &b.before, was.deletion) {
            return Err(changed(Some(was), what_changed(&a.before, &b.before)));
        }
        // What is replaced is taken away, so that this says less than what is there.
        if was.deletion != is.deletion {
            let what = "it would take something else away";
            return Err(changed(Some(was), what));
        }
        if !a.after.agrees(&b.after) {
            return Err(changed(Some(was), "its result would be another one"));
        }
    }
    Ok(())
}

pub(super) fn changed(step: Option<&Step>, what: &str) -> Refusal {
    let note = format!("what was approved has changed since: {what}");
    let refusal = Refusal::new(Code::Conflict).noting(&note);
    match step {
        Some(step) => {
            let touched = &step.touched;
            refusal.of(touched.verb).on(touched.path.as_bytes())
        }
        None => refusal,
    }
}

fn what_changed(was: &PathState, is: &PathState) -> &'static str {
    match (was, is) {
        (PathState::Absent, PathState::Present(_)) => "something of that name has appeared",
        (PathState::Present(_), PathState::Absent) => "it is gone",
        (PathState::Absent | PathState::Present(_) | PathState::Unknown, _) => {
            "it is in another version, or is another object"
        }
    }
}

/// Whether a name still shows what it showed: nothing, the same version of the same file or link, or the
/// same directory. Of a tree that is deleted whole the gate says a digest of everything below, which is
/// compared with the rest of its state.
fn stands(was: &PathState, is: &PathState, deletion: Option<Deletion>) -> bool {
    match (was, is) {
        (PathState::Absent, PathState::Absent) => true,
        (PathState::Present(a), PathState::Present(b)) => present_stands(a, b, deletion),
        (PathState::Absent | PathState::Present(_) | PathState::Unknown, _) => false,
    }
}

fn present_stands(was: &Present, is: &Present, deletion: Option<Deletion>) -> bool {
    if !PathState::Present(*was).agrees(&PathState::Present(*is)) {
        return false;
    }
    match (was.stamp, is.stamp) {
        (Some(a), Some(b)) => match (was.kind, deletion) {
            (Kind::Directory, None | Some(Deletion::File | Deletion::Directory)) => {
                a.object() == b.object()
            }
            (Kind::Directory, Some(Deletion::Tree))
            | (
                Kind::File | Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown,
                _,
            ) => a == b,
        },
        // Made by an earlier change of the same set: it has no object yet.
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

#[cfg(test)]
mod tests;
