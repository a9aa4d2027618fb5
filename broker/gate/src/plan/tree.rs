//! A directory that is moved or removed whole: every name below it is judged first, because its
//! path changes with it. A denial of one of them holds the directory where it is.

use super::act::At;
use crate::errors::code_of;
use crate::policy::{Judgement, Place};
use crate::session::Session;
use crate::sys::directory::{self, Fetch};
use crate::sys::open::{self, Purpose};
use portcullis_protocol::limits::{PATH_BYTES_MAX, TREE_DEPTH_MAX, TREE_ENTRIES_MAX};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal, Rule};
use portcullis_protocol::session::Selector;
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::Kind;
use rustix::io::Errno;
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;

/// What a rule does that holds a directory.
const COVERS: &str = "it covers something below";

/// Why a directory must stay.
#[derive(Debug)]
pub(crate) enum Held {
    /// A rule covers something below it.
    Denied(Rule),
    /// A rule makes an approval needed for something below it.
    Asks(Rule),
    /// Something below it cannot be moved or removed, and what it is may not be said.
    Unsaid,
    /// Something else is mounted below it.
    Mount,
    /// More below it than is judged for one effect.
    TooMuch,
    /// It cannot be looked at.
    Kernel(Errno),
}

impl Held {
    /// What a worker is told.
    pub(crate) fn refusal(self, verb: Verb, selector: &Selector) -> Refusal {
        let (code, rule, note) = match self {
            Self::Denied(rule) => (Code::Denied, Some(rule), COVERS),
            Self::Asks(rule) => (Code::NeedsApproval, Some(rule), COVERS),
            Self::Unsaid => (Code::Denied, None, "something below it has to stay"),
            Self::Mount => (Code::MountCrossing, None, "below it"),
            Self::TooMuch => (Code::OutOfBudget, None, "there is too much below it"),
            Self::Kernel(errno) => (code_of(errno), None, "below it"),
        };
        let refusal = Refusal::new(code)
            .of(verb)
            .on(selector.path.as_slice())
            .noting(note);
        match rule {
            Some(rule) => refusal.by(rule),
            None => refusal,
        }
    }
}

/// A directory to be looked into: its path below the root, what covers it where it is and where
/// it would be.
struct Waiting {
    path: RelPath,
    depth: u32,
    here: Place,
    there: Option<Place>,
}

/// Judges every name below `at` for `verb`, where it is and, for a move, where it would be.
pub(crate) fn judge_tree(
    session: &Session,
    verb: Verb,
    at: &At,
    destination: Option<&RelPath>,
) -> Result<(), Held> {
    let root = session.root(at.root).ok_or(Held::Kernel(Errno::BADF))?;
    let policy = &session.policy;
    let mut fetch = Fetch::new();
    let mut entries = 0;
    // What is below gets longer paths with it. Those no request could name any more.
    let longer = destination.map_or(0, |to| {
        to.as_bytes().len().saturating_sub(at.path.as_bytes().len())
    });
    let mut waiting = vec![Waiting {
        here: policy.place(at.root, &at.path),
        there: destination.map(|path| policy.place(at.root, path)),
        path: at.path.clone(),
        depth: 0,
    }];
    while let Some(directory) = waiting.pop() {
        if directory.depth > TREE_DEPTH_MAX {
            return Err(Held::TooMuch);
        }
        let opened = open::below(root, &directory.path, Purpose::Entries).map_err(|errno| {
            if errno == Errno::XDEV {
                Held::Mount
            } else {
                Held::Kernel(errno)
            }
        })?;
        let device = match session.sole_device(at.root) {
            Some(sole) => sole,
            None => at.within.nearest().id.device,
        };
        let mut stopped = Ok(());
        directory::each(opened.as_fd(), &mut fetch, |named| {
            entries += 1;
            match judge(session, verb, &directory, &named, device) {
                _ if entries > TREE_ENTRIES_MAX => stopped = Err(Held::TooMuch),
                _ if longer > 0 && longer + length(&directory, &named) > PATH_BYTES_MAX => {
                    stopped = Err(Held::TooMuch);
                }
                Ok(below) => waiting.extend(below),
                Err(held) => stopped = Err(held),
            }
            if stopped.is_ok() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })
        .map_err(Held::Kernel)?;
        stopped?;
    }
    Ok(())
}

/// Bytes of the path of a name.
fn length(directory: &Waiting, named: &directory::Named<'_>) -> usize {
    directory.path.as_bytes().len() + 1 + named.name.len()
}

/// Judges one name; gives it back when it is a directory to be looked into.
fn judge(
    session: &Session,
    verb: Verb,
    directory: &Waiting,
    named: &directory::Named<'_>,
    device: u64,
) -> Result<Option<Waiting>, Held> {
    let policy = &session.policy;
    let here = policy.enter(&directory.here, named.name);
    let there = directory
        .there
        .as_ref()
        .map(|there| policy.enter(there, named.name));
    let object = policy.judge_object((device, named.inode), verb);
    let names = [Some(&here), there.as_ref()];
    let names = names.into_iter().flatten();
    match names.fold(object, |judgement, place| {
        judgement.or(policy.judge_place(place, verb))
    }) {
        Judgement::Clear => {}
        Judgement::Denied(rule) => return Err(Held::Denied(rule.clone())),
        Judgement::Asks(rule) => return Err(Held::Asks(rule.clone())),
        Judgement::Hidden => return Err(Held::Unsaid),
    }
    if !matches!(named.kind, Kind::Directory | Kind::Unknown) {
        return Ok(None);
    }
    let path = directory.path.join(named.name).map_err(|_| Held::TooMuch)?;
    Ok(Some(Waiting {
        path,
        depth: directory.depth + 1,
        here,
        there,
    }))
}
