//! What a worker is told of the names it changed. A receipt has every digest; a worker is told only
//! those of content it may read or wrote itself: the digest of a short secret tells the secret.

use crate::plan::reaches_to_read;
use crate::policy::Judgement;
use crate::session::Session;
use portcullis_protocol::authority::Operation;
use portcullis_protocol::bounded::Few;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{TOUCHED_MAX, Touched};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{PathState, Present};

/// The names without what the worker may not know.
pub(crate) fn told(
    session: &Session,
    touched: Few<Touched, TOUCHED_MAX>,
) -> Few<Touched, TOUCHED_MAX> {
    let all = touched.into_vec().into_iter();
    // As many as there were.
    Few::new(all.map(|one| told_one(session, one)).collect()).unwrap_or_default()
}

/// The difference and how many bytes of it are left out: all of it, where showing what was there takes
/// more than is left of what the session may be shown. What is new in it its worker sent itself.
pub(crate) fn told_difference<'d>(session: &Session, diff: &'d [u8]) -> (&'d [u8], u64) {
    let was_there = |line: &&[u8]| matches!(line.first(), Some(b'-' | b' '));
    let lines = diff.split_inclusive(|b| *b == b'\n').filter(was_there);
    match session.meter.show(lines.map(<[u8]>::len).sum()) {
        Ok(()) => (diff, 0),
        Err(_) => (&[], u64::try_from(diff.len()).unwrap_or(u64::MAX)),
    }
}

fn told_one(session: &Session, mut one: Touched) -> Touched {
    let may = session.permits(one.root, &one.path, Operation::of(Verb::Read))
        && (!session.policy.denies_objects() || may_reach(session, &one));
    // What was replaced or moved is another object than what can be reached now.
    let clear = |present: &Present| {
        present.stamp.is_none_or(|stamp| {
            let object = (stamp.device, stamp.inode);
            session.policy.judge_object(object, Verb::Read) == Judgement::Clear
        })
    };
    let without = |state: PathState| match state {
        PathState::Present(present) if !(may && clear(&present)) => PathState::Present(Present {
            digest: None,
            ..present
        }),
        PathState::Present(_) | PathState::Absent | PathState::Unknown => state,
    };
    one.before = without(one.before);
    if one.verb != Verb::Write {
        one.after = without(one.after);
    }
    one
}

/// Whether no object on the way is denied. Of a name that is gone, or is to be, only the way is
/// left to judge.
fn may_reach(session: &Session, one: &Touched) -> bool {
    match reaches_to_read(session, Operation::of(Verb::Read), (one.root, &one.path)) {
        Ok(()) => true,
        Err(refusal) => refusal.code == Code::NotFound,
    }
}
