//! Making one step. Each leaves nothing behind when it fails, or says that it did.

use super::undo::{insist, put_back, remove, trade_back};
use super::{Failure, Made, Name, Trace, name, state};
use crate::plan::{Act, At, Content, Later, Staged, Step, Unstaged, copied, is_empty, stage};
use crate::resolve::{Held, look_again};
use crate::session::Session;
use crate::sys::meta::{self, Lease};
use crate::sys::{change, open};
use portcullis_protocol::ledger::Temporary;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Deletion, Touched};
use portcullis_protocol::view::{Digest, Kind, ObjectId, PathState};
use rustix::io::Errno;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// Permission bits of a new directory.
const NEW_DIRECTORY: u16 = 0o755;

/// Makes one step, and says what is now at each of its names.
pub(super) fn make(
    session: &Session,
    step: &Step,
    touched: &mut Vec<Touched>,
) -> Result<Made, Failure> {
    let mut says = Says {
        planned: &step.touched,
        touched,
        n: 0,
    };
    match &step.act {
        Act::Keep { .. } => {
            says.as_planned();
            Ok(Made::Nothing)
        }
        Act::Mkdir { at } => mkdir(name(session, at)?, &mut says),
        Act::Create {
            at,
            content,
            temporary,
        } => create(session, at, content, *temporary, &mut says),
        Act::Replace {
            at,
            held,
            content,
            temporary,
            ..
        } => replace(name(session, at)?, held, content, *temporary, &mut says),
        Act::Delete {
            at,
            held,
            temporary,
            deletion,
        } => claim(name(session, at)?, held, *temporary, *deletion, &mut says),
        Act::Move {
            from,
            held,
            to,
            onto,
            temporary,
        } => {
            let (from, to) = (name(session, from)?, name(session, to)?);
            match onto {
                None => rename(from, to, held, &mut says),
                Some(onto) => trade(from, to, (held, onto), *temporary, &mut says),
            }
        }
        Act::Chmod { at, held, mode } => chmod(session, at, (held, *mode), &mut says),
        Act::Link {
            at,
            text,
            temporary,
        } => link(name(session, at)?, text, *temporary, &mut says),
    }
}

/// Says what is at the names of one step, in order.
struct Says<'a> {
    planned: &'a [Touched],
    touched: &'a mut Vec<Touched>,
    n: usize,
}

impl Says<'_> {
    fn is(&mut self, after: PathState) {
        if let Some(planned) = self.planned.get(self.n) {
            self.touched.push(Touched {
                after,
                ..planned.clone()
            });
        }
        self.n += 1;
    }

    fn as_planned(&mut self) {
        while let Some(planned) = self.planned.get(self.n) {
            self.touched.push(planned.clone());
            self.n += 1;
        }
    }

    /// The digest that the next name was planned with.
    fn digest(&self) -> Option<Digest> {
        match self.planned.get(self.n)?.after {
            PathState::Present(present) => present.digest,
            PathState::Absent | PathState::Unknown => None,
        }
    }

    /// The object that is open here now has the name.
    fn holds(&mut self, object: BorrowedFd<'_>) -> Result<(), Errno> {
        let now = open::observe(object)?;
        let digest = self.digest();
        self.is(state(&now, digest));
        Ok(())
    }
}

fn mkdir(at: Name, says: &mut Says<'_>) -> Result<Made, Failure> {
    change::make_directory(at.fd(), &at.name, NEW_DIRECTORY)?;
    let now = match at.observe() {
        Ok(now) => now,
        Err(errno) => {
            // Ours, but which one it is was not seen: empty, or somebody else's by now.
            return match change::remove_directory(at.fd(), &at.name) {
                Ok(()) | Err(Errno::NOENT) => Err(errno.into()),
                Err(_) => Err(traced(errno.into())),
            };
        }
    };
    let id = open::recorded(&now).stamp.object();
    says.is(state(&now, None));
    Ok(Made::Directory { at, id })
}

const fn traced(failure: Failure) -> Failure {
    Failure {
        trace: Trace::Some,
        ..failure
    }
}

fn create(
    session: &Session,
    at: &At,
    content: &Content,
    temporary: Temporary,
    says: &mut Says<'_>,
) -> Result<Made, Failure> {
    let name = name(session, at)?;
    let file = match &content.staged {
        Staged::File(file) => Rc::clone(file),
        Staged::Later(later) => staged_now(&name, later, content)?,
    };
    let id = staged_object(content, &file)?;
    change::give_name(file.as_fd(), name.fd(), &name.name)?;
    let made = Made::Named {
        at: name,
        id,
        temporary,
    };
    told(made, says, file.as_fd())
}

/// Which object new content is in. It has been open since it was staged, so that its numbers are
/// its own; only what was staged just now was not looked at.
fn staged_object(content: &Content, file: &OwnedFd) -> Result<ObjectId, Errno> {
    match content.present.stamp {
        Some(stamp) => Ok(stamp.object()),
        None => Ok(open::observation(file)?.stamp.object()),
    }
}

/// Says what an open object is now. Not being able to is a failure like any other: the step is
/// taken back.
fn told(made: Made, says: &mut Says<'_>, object: BorrowedFd<'_>) -> Result<Made, Failure> {
    match says.holds(object) {
        Ok(()) => Ok(made),
        Err(errno) => {
            let undone = super::undo::all(vec![made]);
            let failure = Failure::from(errno);
            Err(if undone.left == 0 {
                failure
            } else {
                traced(failure)
            })
        }
    }
}

/// Content whose directory was made just now.
fn staged_now(at: &Name, later: &Later, content: &Content) -> Result<Rc<OwnedFd>, Failure> {
    // What a file in a new directory shall be was planned; its own bits may say less by the
    // defaults of the directory.
    let failed = |why: Unstaged| match why {
        Unstaged::Kernel(errno) => Failure::from(errno),
        Unstaged::Unkept(what) => Failure::clean(Code::Unkept).noting(what),
    };
    match later {
        Later::Bytes(bytes, mode) => stage(&at.directory, bytes, *mode, None)
            .map(|(file, _)| file)
            .map_err(failed),
        Later::Upload(upload, mode) => {
            let digest = content.present.digest.unwrap_or(Digest([0; 32]));
            copied(&at.directory, upload.as_fd(), digest, (*mode, None))
                .map(|(file, _)| file)
                .map_err(failed)
        }
    }
}

/// Exchange, look at what came out, and put it back if it is not what was expected. What counts is
/// the object displaced: between the look before and the call anything may have happened.
fn replace(
    at: Name,
    held: &Held,
    content: &Content,
    temporary: Temporary,
    says: &mut Says<'_>,
) -> Result<Made, Failure> {
    let Staged::File(file) = &content.staged else {
        return Err(Failure::clean(Code::Contended));
    };
    let placed = staged_object(content, file)?;
    let beside = at.beside(temporary);
    change::give_name(file.as_fd(), beside.fd(), &beside.name)?;
    if let Err(errno) = change::exchange(beside.fd(), &beside.name, at.fd(), &at.name) {
        let failure = Failure::from(errno);
        return Err(if remove(&beside, placed) {
            failure
        } else {
            traced(failure)
        });
    }
    let displaced = held.observation.stamp.object();
    let expected = is_displaced(&beside, held);
    if !matches!(expected, Ok(true)) {
        let failure = match expected {
            Err(errno) => Failure::from(errno),
            Ok(_) => Failure::clean(Code::Contended),
        };
        let back = put_back(&at, &beside, placed);
        return Err(if back { failure } else { traced(failure) });
    }
    let made = Made::Exchanged {
        at,
        temporary,
        placed,
        displaced,
    };
    told(made, says, file.as_fd())
}

/// Whether what came out is the object the change was worked out from, in the same version, with
/// nobody having begun to write it.
fn is_displaced(beside: &Name, held: &Held) -> Result<bool, Errno> {
    Ok(is_version(beside, held)? && still_alone(held)?)
}

/// Whether a name has the object that was held, in the version it had then; of a directory only
/// the object is compared, because what is in it has versions of its own.
fn is_version(at: &Name, held: &Held) -> Result<bool, Errno> {
    let now = open::recorded(&at.observe()?);
    let was = &held.observation;
    // A rename moves the time of change, so that of the content and the size are compared.
    let unchanged = now.stamp.size == was.stamp.size
        && now.modified == was.modified
        && now.mode == was.mode
        && now.links == was.links;
    let same = now.stamp.object() == was.stamp.object();
    Ok(same && (unchanged || was.kind == Kind::Directory))
}

/// A lease that was taken and is gone means that somebody opened the file for writing.
fn still_alone(held: &Held) -> Result<bool, Errno> {
    if meta::lease_holds(held.fd())? {
        return Ok(true);
    }
    // None was taken where none can be had; asking again tells that from one that broke.
    Ok(meta::lease(held.fd())? == Lease::Unavailable)
}

/// Takes an object from its name, and gives it back if it is another than expected.
fn claim(
    at: Name,
    held: &Held,
    temporary: Temporary,
    deletion: Deletion,
    says: &mut Says<'_>,
) -> Result<Made, Failure> {
    let id = held.observation.stamp.object();
    let beside = at.beside(temporary);
    change::rename(at.fd(), &at.name, beside.fd(), &beside.name)?;
    let right = match deletion {
        Deletion::File | Deletion::Tree => is_version(&beside, held),
        Deletion::Directory => is_version(&beside, held)
            .and_then(|same| Ok(same && is_empty(beside.fd(), &beside.name)?)),
    };
    if !matches!(right, Ok(true)) {
        let failure = match right {
            Err(errno) => Failure::from(errno),
            Ok(_) => Failure::clean(Code::Contended),
        };
        let back = change::rename(beside.fd(), &beside.name, at.fd(), &at.name);
        return Err(if back.is_ok() {
            failure
        } else {
            traced(failure)
        });
    }
    says.is(PathState::Absent);
    Ok(Made::Claimed {
        at,
        temporary,
        id,
        deletion,
    })
}

fn rename(from: Name, to: Name, held: &Held, says: &mut Says<'_>) -> Result<Made, Failure> {
    let id = held.observation.stamp.object();
    change::rename(from.fd(), &from.name, to.fd(), &to.name)?;
    if let Err(failure) = arrived(&to, id) {
        let back = change::rename(to.fd(), &to.name, from.fd(), &from.name);
        return Err(if back.is_ok() {
            failure
        } else {
            traced(failure)
        });
    }
    says.is(PathState::Absent);
    let made = Made::Renamed { from, to, id };
    told(made, says, held.fd())
}

fn arrived(at: &Name, id: ObjectId) -> Result<(), Failure> {
    if at.object()? == id {
        Ok(())
    } else {
        Err(Failure::clean(Code::Contended))
    }
}

/// A move onto another object: the two change places, and the one that gave way is claimed.
fn trade(
    from: Name,
    to: Name,
    (held, onto): (&Held, &Held),
    temporary: Temporary,
    says: &mut Says<'_>,
) -> Result<Made, Failure> {
    let id = held.observation.stamp.object();
    let displaced = onto.observation.stamp.object();
    let beside = from.beside(temporary);
    change::exchange(from.fd(), &from.name, to.fd(), &to.name)?;
    let right = arrived(&to, id)
        .and_then(|()| expected(is_version(&from, onto)?))
        .and_then(|()| set_aside(&from, &beside, onto));
    if let Err(failure) = right {
        return Err(if trade_back(&from, &to, id) {
            failure
        } else {
            traced(failure)
        });
    }
    says.is(PathState::Absent);
    let made = Made::Traded {
        from,
        to,
        temporary,
        id,
        displaced,
    };
    told(made, says, held.fd())
}

/// Gives what a move displaced its temporary name. Under that nobody knows it: what is looked at
/// there is what will go.
fn set_aside(from: &Name, beside: &Name, onto: &Held) -> Result<(), Failure> {
    change::rename(from.fd(), &from.name, beside.fd(), &beside.name)?;
    let right = is_version(beside, onto)
        .map_err(Failure::from)
        .and_then(expected);
    right.map_err(|failure| {
        match change::rename(beside.fd(), &beside.name, from.fd(), &from.name) {
            Ok(()) => failure,
            Err(_) => traced(failure),
        }
    })
}

fn expected(is: bool) -> Result<(), Failure> {
    if is {
        Ok(())
    } else {
        Err(Failure::clean(Code::Contended))
    }
}

/// The kernel's cage does not cover modes, so that an object moved out of the root keeps being
/// reached by its descriptor: looked for from the root before and afterwards, and set back if it
/// is gone.
fn chmod(
    session: &Session,
    at: &At,
    (held, mode): (&Held, u16),
    says: &mut Says<'_>,
) -> Result<Made, Failure> {
    let object = open::duplicate(held.fd())?;
    let id = held.observation.stamp.object();
    is_there(session, at, id)?;
    meta::set_mode(held.fd(), mode)?;
    if let Err(failure) = is_there(session, at, id) {
        let back = insist(|| meta::set_mode(held.fd(), held.observation.mode));
        return Err(if back.is_ok() {
            failure
        } else {
            traced(failure)
        });
    }
    let made = Made::Moded {
        object,
        before: held.observation.mode,
    };
    told(made, says, held.fd())
}

/// Made under the temporary name, where nobody puts another in its place before it was seen.
/// Whether a path of the root leads to this object now.
fn is_there(session: &Session, at: &At, id: ObjectId) -> Result<(), Failure> {
    let mut parent = at.path.clone();
    parent.pop();
    let now = look_again(session, at.root, &parent)
        .and_then(|directory| open::observe_name(directory.fd.as_fd(), at.name()));
    match now {
        Ok(now) if open::recorded(&now).stamp.object() == id => Ok(()),
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::ACCESS) => {
            Err(Failure::clean(Code::Contended))
        }
        Err(errno) => Err(errno.into()),
    }
}

fn link(at: Name, text: &[u8], temporary: Temporary, says: &mut Says<'_>) -> Result<Made, Failure> {
    let beside = at.beside(temporary);
    change::make_link(text, beside.fd(), &beside.name)?;
    let named = beside.observe().and_then(|now| {
        change::rename(beside.fd(), &beside.name, at.fd(), &at.name)?;
        Ok(now)
    });
    let now = match named {
        Ok(now) => now,
        Err(errno) => {
            return Err(match change::remove(beside.fd(), &beside.name) {
                Ok(()) | Err(Errno::NOENT) => errno.into(),
                Err(_) => traced(errno.into()),
            });
        }
    };
    let id = open::recorded(&now).stamp.object();
    let digest = says.digest();
    says.is(state(&now, digest));
    Ok(Made::Named { at, id, temporary })
}
