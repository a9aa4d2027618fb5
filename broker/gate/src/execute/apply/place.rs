//! Making one step. Each leaves nothing behind when it fails, or says that it did.

use super::undo::{put_back, remove};
use super::{Failure, Made, Name, Trace, is_nothing, name, state};
use crate::observation::observation;
use crate::plan::{Act, At, Content, Later, Staged, Step, Unstaged, dress, is_empty, stage};
use crate::resolve::Held;
use crate::session::Session;
use crate::sys::meta::{self, Lease};
use crate::sys::{change, file, open};
use portcullis_protocol::ledger::Temporary;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Deletion, Touched};
use portcullis_protocol::view::{Digest, Kind, ObjectId, PathState};
use rustix::io::Errno;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// Permission bits of a new directory.
const NEW_DIRECTORY: u16 = 0o755;
/// Bytes copied at a time.
const PIECE: usize = 256 * 1024;

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
        act if is_nothing(act) => {
            says.as_planned();
            Ok(Made::Nothing)
        }
        Act::Keep { .. } => Ok(Made::Nothing),
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
        Act::Chmod { held, mode, .. } => chmod(held, *mode, &mut says),
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
    let id = observation(&now).stamp.object();
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
    let id = observation(&open::observe(&*file)?).stamp.object();
    change::give_name(file.as_fd(), name.fd(), &name.name)?;
    let made = Made::Named {
        at: name,
        id,
        temporary,
    };
    told(made, says, file.as_fd())
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
            let made = change::temporary(at.fd(), crate::plan::NEW_FILE)?;
            let mut room = vec![0; PIECE];
            let mut done = 0;
            loop {
                let n = file::read_at(upload.as_fd(), &mut room, done)?;
                change::write_at(made.as_fd(), room.get(..n).unwrap_or_default(), done)?;
                done += u64::try_from(n).unwrap_or(u64::MAX);
                if n < room.len() {
                    break;
                }
            }
            let digest = content.present.digest.unwrap_or(Digest([0; 32]));
            dress(made.as_fd(), *mode, None, digest).map_err(failed)?;
            Ok(Rc::new(made))
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
    let placed = observation(&open::observe(&**file)?).stamp.object();
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
    let now = observation(&beside.observe()?);
    let was = &held.observation;
    // A rename moves the time of change, so that of the content and the size are compared.
    let same = now.stamp.object() == was.stamp.object()
        && now.stamp.size == was.stamp.size
        && now.modified == was.modified
        && now.mode == was.mode
        && now.links == was.links;
    Ok(same && still_alone(held)?)
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
        Deletion::File | Deletion::Tree => beside.object().map(|now| now == id),
        Deletion::Directory => beside
            .object()
            .and_then(|now| Ok(now == id && is_empty(beside.fd(), &beside.name)?)),
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
        .and_then(|()| arrived(&from, displaced))
        .and_then(|()| {
            change::rename(from.fd(), &from.name, beside.fd(), &beside.name)?;
            Ok(())
        });
    if let Err(failure) = right {
        let back = change::exchange(from.fd(), &from.name, to.fd(), &to.name);
        return Err(if back.is_ok() {
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

fn chmod(held: &Held, mode: u16, says: &mut Says<'_>) -> Result<Made, Failure> {
    let object = open::duplicate(held.fd())?;
    meta::set_mode(held.fd(), mode)?;
    let made = Made::Moded {
        object,
        before: held.observation.mode,
    };
    told(made, says, held.fd())
}

fn link(at: Name, text: &[u8], temporary: Temporary, says: &mut Says<'_>) -> Result<Made, Failure> {
    change::make_link(text, at.fd(), &at.name)?;
    let now = match at.observe() {
        Ok(now) if observation(&now).kind == Kind::Link => now,
        Ok(_) => return Err(traced(Failure::clean(Code::Contended))),
        Err(errno) => {
            return match change::remove(at.fd(), &at.name) {
                Ok(()) | Err(Errno::NOENT) => Err(errno.into()),
                Err(_) => Err(traced(errno.into())),
            };
        }
    };
    let id = observation(&now).stamp.object();
    let digest = says.digest();
    says.is(state(&now, digest));
    Ok(Made::Named { at, id, temporary })
}
