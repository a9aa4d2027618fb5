//! What is told of names that are not as they were to be: what a look under the locks of the effect
//! found, and else that it is not known. What was only planned with is not told as what is there.

use super::undo::insist;
use crate::plan::{Announced, Bound, Within};
use crate::resolve::{Held, look_again};
use crate::session::Session;
use crate::sys::open;
use portcullis_protocol::ledger::TreeLock;
use portcullis_protocol::session::Touched;
use portcullis_protocol::view::{Digest, Kind, PathState, Present, Stamp};
use rustix::fs::Statx;
use rustix::io::Errno;
use std::os::fd::AsFd as _;

/// A name that nothing was done to, with what is there by now.
pub(super) fn at_rest(session: &Session, tree: TreeLock, name: &Announced) -> Touched {
    let now = insist(|| under_lock(session, tree, name)).unwrap_or(PathState::Unknown);
    both(&name.touched, now)
}

/// A name that has what it had again. What cannot be looked at is as it was confirmed to be.
pub(super) fn restored(name: &Bound) -> Touched {
    let now = match &name.at.within {
        Within::Held(_) => insist(|| at(name)).unwrap_or(name.touched.before),
        // Its directory was taken back, and the name with it.
        Within::Made(_) => PathState::Absent,
    };
    both(&name.touched, now)
}

/// A name of an effect that could not be taken back, as far as a look without reading tells.
pub(super) fn left(name: &Bound) -> Touched {
    Touched {
        after: insist(|| at(name)).unwrap_or(PathState::Unknown),
        ..name.touched.clone()
    }
}

fn both(touched: &Touched, now: PathState) -> Touched {
    Touched {
        before: now,
        after: now,
        ..touched.clone()
    }
}

/// What is at a name, if its lock is of the name that the path leads to. Where the path leads to
/// another directory by now, and the tree is shared, others may change what is in it at any moment:
/// then no order of receipts would be the order of what they tell.
fn under_lock(session: &Session, tree: TreeLock, name: &Announced) -> Result<PathState, Errno> {
    let (touched, (id, nearest)) = (&name.touched, &name.nearest);
    if tree == TreeLock::Shared && look_again(session, touched.root, nearest)?.id != *id {
        return Ok(PathState::Unknown);
    }
    let mut parent = touched.path.clone();
    parent.pop();
    let directory = match look_again(session, touched.root, &parent) {
        Ok(directory) => directory,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(PathState::Absent),
        Err(errno) => return Err(errno),
    };
    let last = touched.path.last().unwrap_or_default();
    match open::observe_name(directory.fd.as_fd(), last) {
        Ok(now) => {
            // Of another version the content is another, or was not looked at.
            let is = open::recorded(&now).stamp;
            let same = |planned: &Present| planned.stamp == Some(is);
            Ok(state(&now, digest_if(same, &touched.before)))
        }
        Err(Errno::NOENT) => Ok(PathState::Absent),
        Err(errno) => Err(errno),
    }
}

/// What is at a name, in the directory that was confirmed.
fn at(name: &Bound) -> Result<PathState, Errno> {
    let directory = match &name.at.within {
        Within::Held(directory) => directory,
        Within::Made(_) => return Ok(PathState::Unknown),
    };
    match open::observe_name(directory.fd.as_fd(), name.at.name()) {
        Ok(now) => Ok(state(&now, digest(&now, name))),
        Err(Errno::NOENT) => Ok(PathState::Absent),
        Err(errno) => Err(errno),
    }
}

/// The digest of what is at a name, when it is what the plan found there or put there. A rename
/// moves the time of change, so that of what was found the content's own time is compared.
fn digest(now: &Statx, name: &Bound) -> Option<Digest> {
    let is = open::recorded(now);
    let same = |stamp: Stamp| (stamp.object(), stamp.size) == (is.stamp.object(), is.stamp.size);
    let found =
        |held: &Held| same(held.observation.stamp) && held.observation.modified == is.modified;
    if name.held.as_deref().is_some_and(found) {
        return digest_if(|_| true, &name.touched.before);
    }
    digest_if(|put| put.stamp.is_some_and(same), &name.touched.after)
}

fn digest_if(is: impl FnOnce(&Present) -> bool, state: &PathState) -> Option<Digest> {
    match state {
        PathState::Present(present) if is(present) => present.digest,
        PathState::Present(_) | PathState::Absent | PathState::Unknown => None,
    }
}

/// The state of what was just seen.
pub(super) fn state(now: &Statx, digest: Option<Digest>) -> PathState {
    let is = open::recorded(now);
    PathState::Present(Present {
        kind: is.kind,
        mode: is.mode,
        size: if is.kind == Kind::Directory {
            0
        } else {
            is.stamp.size
        },
        digest,
        stamp: Some(is.stamp),
    })
}
