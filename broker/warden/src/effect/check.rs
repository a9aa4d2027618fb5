//! What a gate may begin and end, by its own word for it.

use super::{Lied, Writer};
use portcullis_protocol::authority::Grant;
use portcullis_protocol::frame::encoded_len;
use portcullis_protocol::ledger::{Begin, Finish, Intent, Step, TreeLock};
use portcullis_protocol::limits::EFFECT_BYTES_MAX;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Touched;
use portcullis_protocol::verb::{Mode, ModeSet, Verb, VerbSet};
use portcullis_protocol::view::{Kind, PathState};

/// Names and parents of an intent, in an order of their own.
pub(super) fn names(intent: &Intent) -> Vec<(u64, u64, &[u8])> {
    let steps = intent.steps.as_slice().iter();
    let name = |s: &'_ Step| (s.parent.device, s.parent.inode);
    let mut all: Vec<_> = steps
        .map(|s| (name(s).0, name(s).1, s.name.as_slice()))
        .collect();
    all.sort_unstable();
    all
}

/// Whoever gives directories another place, or takes trees away, must be alone: other sessions
/// have bound names through them.
pub(super) fn check_tree(begin: &Begin) -> Result<(), Lied> {
    let is_directory = |state: &PathState| match state {
        PathState::Present(present) => present.kind == Kind::Directory,
        PathState::Absent | PathState::Unknown => false,
    };
    let moves = |step: &Step| match step.touched.verb {
        Verb::Move => is_directory(&step.touched.before) || is_directory(&step.touched.after),
        Verb::DeleteTree => true,
        Verb::Stat
        | Verb::Read
        | Verb::List
        | Verb::Glob
        | Verb::Search
        | Verb::Write
        | Verb::Edit
        | Verb::Mkdir
        | Verb::Delete
        | Verb::Chmod
        | Verb::Link => false,
    };
    if begin.tree == TreeLock::Shared && begin.intent.steps.as_slice().iter().any(moves) {
        return Err(Lied("the gate would move a directory without being alone"));
    }
    Ok(())
}

/// The modes a step needs: both where it cannot be told which.
pub(super) fn modes(touched: &Touched) -> ModeSet {
    let of = |new, over| match touched.before {
        PathState::Absent => ModeSet::of(&[new]),
        PathState::Present(_) => ModeSet::of(&[over]),
        PathState::Unknown => ModeSet::of(&[new, over]),
    };
    match (touched.verb, touched.after) {
        (Verb::Write, _) => of(Mode::WriteNew, Mode::WriteOver),
        // What it displaces is a matter of where it comes to be.
        (Verb::Move, PathState::Absent) => ModeSet::of(&[]),
        (Verb::Move, PathState::Present(_) | PathState::Unknown) => {
            of(Mode::MoveNew, Mode::MoveOver)
        }
        (Verb::Delete, _) => match touched.before {
            PathState::Present(was) if was.kind == Kind::Directory => {
                ModeSet::of(&[Mode::DeleteDirectory])
            }
            PathState::Present(_) => ModeSet::of(&[Mode::DeleteFile]),
            PathState::Absent | PathState::Unknown => {
                ModeSet::of(&[Mode::DeleteFile, Mode::DeleteDirectory])
            }
        },
        (
            Verb::Stat
            | Verb::Read
            | Verb::List
            | Verb::Glob
            | Verb::Search
            | Verb::Edit
            | Verb::Mkdir
            | Verb::DeleteTree
            | Verb::Chmod
            | Verb::Link,
            _,
        ) => ModeSet::of(&[]),
    }
}

/// Whether an intent is within what its session was granted. Denials are the gate's own work, and
/// so are exact inputs: what a gate says that it was asked proves nothing.
pub(super) fn check(
    writer: &Writer,
    intent: &Intent,
    now_ms: u64,
) -> Result<Result<(), Refusal>, Lied> {
    let steps = intent.steps.as_slice();
    if steps.is_empty() {
        return Err(Lied("the gate began an effect that touches nothing"));
    }
    if writer.expires_ms.is_some_and(|end| now_ms >= end) {
        return Ok(Err(Refusal::new(Code::Expired)));
    }
    for step in steps {
        let touched = &step.touched;
        if usize::from(touched.root.0) >= writer.roots.len() {
            return Err(Lied("the gate began an effect in a root it does not have"));
        }
        let needed = modes(touched);
        let covers = |grant: &Grant| {
            grant.root == touched.root
                && grant.verbs.has(touched.verb)
                && needed.within(grant.modes)
                && touched.path.below(&grant.prefix).is_some()
        };
        let covered = writer.grants.iter().any(covers);
        if !VerbSet::WRITING.has(touched.verb) || !covered {
            let refusal = Refusal::new(Code::NotGranted).of(touched.verb);
            return Ok(Err(refusal.on(touched.path.as_bytes())));
        }
    }
    if encoded(intent) > EFFECT_BYTES_MAX {
        let note = "the names it touches are too many or too long for one effect";
        return Ok(Err(Refusal::new(Code::OutOfBudget).noting(note)));
    }
    Ok(Ok(()))
}

/// An end concerns names of its intent, and fits.
pub(super) fn check_end(intent: &Intent, end: &Finish) -> Result<(), Lied> {
    let known: std::collections::HashSet<_> = intent
        .steps
        .as_slice()
        .iter()
        .map(|step| (step.touched.root, &step.touched.path))
        .collect();
    let meant = |touched: &Touched| known.contains(&(touched.root, &touched.path));
    if !end.touched.as_slice().iter().all(meant) {
        return Err(Lied(
            "the gate ended an effect on names it did not announce",
        ));
    }
    if encoded(end) > EFFECT_BYTES_MAX {
        return Err(Lied("the gate ended an effect with too many words"));
    }
    Ok(())
}

/// Bytes of a value on the wire.
pub(crate) fn encoded<T: serde::Serialize>(value: &T) -> usize {
    encoded_len(value).unwrap_or(usize::MAX)
}
