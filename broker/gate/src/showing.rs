//! What only shows, bound for a decision: the object as it is, or what has its name instead, or that
//! nothing has.

use crate::admit::{Admitted, admit};
use crate::asked::Shows;
use crate::bind::{Bound, bind};
use crate::errors::code_of;
use crate::plan::{look, look_at};
use crate::policy::Judgement;
use crate::resolve::{Known, Missing, Place, find, look_again, resolve, written_path};
use crate::session::Session;
use crate::sys::open;
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::ledger::{Intent, Step};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Touched;
use portcullis_protocol::view::{Digest, ObjectId, PathState, RootIndex};
use rustix::io::Errno;
use std::os::fd::AsFd as _;

/// One object that is to be shown, as it was found.
#[derive(Debug)]
pub(crate) struct Showing {
    pub(crate) found: Found,
    step: Step,
}

/// What was found.
#[derive(Debug)]
pub(crate) enum Found {
    /// The object, bound to its verb.
    Object(Bound),
    /// Nothing that can be shown, and what the worker is told of that once it may know. What has the
    /// name is held, and so is the directory it is in.
    Refused(
        Refusal,
        #[expect(
            dead_code,
            reason = "it holds what is there open, and that is all it is for"
        )]
        Option<Box<Place>>,
    ),
}

impl Showing {
    /// What it is bound to: the same before and after.
    pub(crate) fn intent(&self, request: Digest) -> Intent {
        Intent {
            // One is fewer than any intent may have.
            steps: Few::new(vec![self.step.clone()]).unwrap_or_default(),
            request,
        }
    }
}

/// Finds what a request would show. A refusal means that it can be bound to nothing.
pub(crate) fn showing(session: &Session, shows: Shows<'_>) -> Result<Showing, Refusal> {
    let written = shows.selector.path.as_slice();
    let refuse = |code| Refusal::new(code).of(shows.operation.verb).on(written);
    let failed = |errno: Errno| refuse(code_of(errno));
    let reached = admit(session, shows.operation, shows.selector, shows.links)
        .and_then(|admitted| resolve(session, admitted))
        .and_then(|pinned| bind(session, pinned, written));
    match reached {
        Ok(bound) => {
            let state = look_at(bound.object(), bound.observation()).map_err(failed)?;
            let at = (bound.root(), bound.path());
            let object = bound.observation().stamp.object();
            let (parent, name) = stands(session, at, object)
                .map_err(failed)?
                .ok_or_else(|| refuse(Code::Contended))?;
            let step = step(shows, at, (parent, &name), state);
            Ok(Showing {
                found: Found::Object(bound),
                step,
            })
        }
        Err(refusal) if tells_what_is_there(refusal.code) => {
            // What is no object of the verb, or is not there, is bound as that: whether it is shall
            // not be learnt from a proposal that is not made.
            let again = || admit(session, shows.operation, shows.selector, shows.links);
            let place = again()
                .and_then(|admitted| find(session, &Known::default(), admitted, Missing::Parents));
            let place = match place {
                Ok(place) => place,
                Err(hidden) if hidden.code == Code::NotFound => {
                    return hidden_step(session, shows, again()?)
                        .map(|step| Showing {
                            found: Found::Refused(hidden, None),
                            step,
                        })
                        .ok_or(refusal);
                }
                Err(_) => return Err(refusal),
            };
            let state = match &place.object {
                Some(held) => look(held).map_err(failed)?,
                None => PathState::Absent,
            };
            let above = place.directory.path.names().count();
            let name = place.path.names().nth(above).unwrap_or_default().to_vec();
            let at = (place.root, &place.path);
            let step = step(shows, at, (place.directory.id, &name), state);
            Ok(Showing {
                found: Found::Refused(refusal, Some(Box::new(place))),
                step,
            })
        }
        Err(refusal) => Err(refusal),
    }
}

/// What is hidden, bound like what is not there: in the nearest directory that is there for the
/// session.
fn hidden_step(session: &Session, shows: Shows<'_>, admitted: Admitted<'_>) -> Option<Step> {
    let (root, path) = written_path(admitted)?;
    let mut above = RelPath::root();
    let mut nearest = look_again(session, root, &above).ok()?;
    let mut names = path.names();
    loop {
        let name = names.next()?;
        let next = above.join(name).ok()?;
        let by_name = session.policy.judge(root, &next, shows.operation.verb);
        let there = look_again(session, root, &next).ok().filter(|directory| {
            let object = (directory.id.device, directory.id.inode);
            let by_object = session.policy.judge_object(object, shows.operation.verb);
            by_name.or(by_object) != Judgement::Hidden
        });
        match there {
            Some(directory) => (nearest, above) = (directory, next),
            None => {
                let parent = (nearest.id, name);
                return Some(step(shows, (root, &path), parent, PathState::Absent));
            }
        }
    }
}

/// Whether a refusal says of a name only what has it.
const fn tells_what_is_there(code: Code) -> bool {
    matches!(
        code,
        Code::NotFound | Code::NotADirectory | Code::IsADirectory | Code::NotRegular
    )
}

/// The directory in which an object has its name, and that name; none where the object has lost it
/// meanwhile. A root stands for itself.
fn stands(
    session: &Session,
    (root, path): (RootIndex, &RelPath),
    object: ObjectId,
) -> Result<Option<(ObjectId, Vec<u8>)>, Errno> {
    let Some(name) = path.last() else {
        return Ok(Some((object, Vec::new())));
    };
    let mut parent = path.clone();
    parent.pop();
    let directory = look_again(session, root, &parent)?;
    let now = open::recorded(&open::observe_name(directory.fd.as_fd(), name)?);
    Ok((now.stamp.object() == object).then(|| (directory.id, name.to_vec())))
}

fn step(
    shows: Shows<'_>,
    (root, path): (RootIndex, &RelPath),
    (parent, name): (ObjectId, &[u8]),
    state: PathState,
) -> Step {
    Step {
        parent,
        name: Bytes::cut(name),
        touched: Touched {
            verb: shows.operation.verb,
            root,
            path: path.clone(),
            before: state,
            after: state,
        },
        temporary: None,
        deletion: None,
    }
}
