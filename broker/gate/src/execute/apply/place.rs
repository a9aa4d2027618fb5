//! Making one act. Each leaves nothing behind when it fails, or says that it did.

use super::new::{directory, staged, unlinked};
use super::undo::{insist, put_back, trade_back, unplace};
use super::{Failure, Made, Name, Placed, name, state, traced};
use crate::plan::{Act, At, Bound, Fate, New, Plan, Stands, Which, has_only};
use crate::resolve::{Held, look_again};
use crate::session::Session;
use crate::sys::meta::{self, Lease};
use crate::sys::{change, open};
use portcullis_protocol::ledger::Temporary;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Deletion;
use portcullis_protocol::view::{Digest, Kind, ObjectId, PathState};
use rustix::io::Errno;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// Makes one act, and says what is now at each of its names.
pub(super) fn make(
    session: &Session,
    plan: &Plan,
    act: &Act,
    after: &mut Vec<PathState>,
) -> Result<Made, Failure> {
    let mut making = Making {
        session,
        plan,
        after,
    };
    match act {
        Act::Make { at, new, temporary } => making.make(*at, new, *temporary),
        Act::Replace {
            at,
            gone,
            new,
            temporary,
        } => making.replace((*at, *gone), new, *temporary),
        Act::Claim {
            at,
            gone,
            temporary,
        } => making.claim((*at, *gone), *temporary),
        Act::Rename { from, to } => making.rename(*from, *to),
        Act::Swap { one, other } => making.swap(*one, *other),
        Act::Chmod { at, mode } => making.chmod(*at, *mode),
    }
}

/// A plan being made.
struct Making<'a> {
    session: &'a Session,
    plan: &'a Plan,
    /// What is at each name when all is done.
    after: &'a mut Vec<PathState>,
}

impl Making<'_> {
    /// A name, with what is known of it.
    fn bound(&self, n: Which) -> Result<&Bound, Failure> {
        // Acts only speak of names of their plan.
        self.plan
            .names
            .get(n)
            .ok_or_else(|| Failure::clean(Code::Io))
    }

    /// The object that a name had when the plan was made.
    fn held(&self, n: Which) -> Result<&Rc<Held>, Failure> {
        let held = self.bound(n)?.held.as_ref();
        held.ok_or_else(|| Failure::clean(Code::Io))
    }

    fn name(&self, n: Which) -> Result<Name, Failure> {
        Ok(name(self.session, &self.bound(n)?.at)?)
    }

    fn is(&mut self, n: Which, now: PathState) {
        if let Some(after) = self.after.get_mut(n) {
            *after = now;
        }
    }

    /// The digest of what is to be at a name.
    fn digest(&self, n: Which) -> Option<Digest> {
        match self.plan.names.get(n)?.touched.after {
            PathState::Present(present) => present.digest,
            PathState::Absent | PathState::Unknown => None,
        }
    }

    /// The object that is open here has a name now. Not being able to say so is a failure like any
    /// other: the act is taken back.
    fn told(&mut self, made: Made, n: Which, object: BorrowedFd<'_>) -> Result<Made, Failure> {
        match open::observe(object) {
            Ok(now) => {
                let digest = self.digest(n);
                self.is(n, state(&now, digest));
                Ok(made)
            }
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

    /// Something new gets a name.
    fn make(&mut self, n: Which, new: &New, temporary: Temporary) -> Result<Made, Failure> {
        let at = self.name(n)?;
        match new {
            New::File(content) => {
                let (file, id) = staged(&at, content)?;
                change::give_name(file.as_fd(), at.fd(), &at.name)?;
                let made = Made::Named { at, id, temporary };
                self.told(made, n, file.as_fd())
            }
            New::Directory(mode) => {
                let (id, now) = directory(&at, *mode)?;
                self.is(n, now);
                Ok(Made::Directory { at, id })
            }
            New::Link(text) => {
                // Made under the temporary name, where nobody puts another in its place before it
                // was seen.
                let beside = at.beside(temporary);
                change::make_link(text, beside.fd(), &beside.name)?;
                let named = beside.observe().and_then(|now| {
                    change::rename(beside.fd(), &beside.name, at.fd(), &at.name)?;
                    Ok(now)
                });
                let now = named.map_err(|errno| unlinked(&beside, errno))?;
                let id = open::recorded(&now).stamp.object();
                let digest = self.digest(n);
                self.is(n, state(&now, digest));
                Ok(Made::Named { at, id, temporary })
            }
        }
    }

    /// Puts something new under a temporary name; gives the open file, where it is one.
    fn put(
        &mut self,
        n: Which,
        beside: &Name,
        new: &New,
    ) -> Result<(Placed, Option<Rc<OwnedFd>>), Failure> {
        match new {
            New::File(content) => {
                let (file, id) = staged(beside, content)?;
                change::give_name(file.as_fd(), beside.fd(), &beside.name)?;
                let deletion = Deletion::File;
                Ok((Placed { id, deletion }, Some(file)))
            }
            New::Directory(mode) => {
                let (id, now) = directory(beside, *mode)?;
                self.is(n, now);
                let deletion = Deletion::Directory;
                Ok((Placed { id, deletion }, None))
            }
            New::Link(text) => {
                change::make_link(text, beside.fd(), &beside.name)?;
                let now = beside.observe().map_err(|errno| unlinked(beside, errno))?;
                let digest = self.digest(n);
                self.is(n, state(&now, digest));
                let id = open::recorded(&now).stamp.object();
                let deletion = Deletion::File;
                Ok((Placed { id, deletion }, None))
            }
        }
    }

    /// Exchange, look at what came out, and put it back if it is not what was expected. What counts
    /// is the object displaced: between the look before and the call anything may have happened.
    fn replace(
        &mut self,
        (n, gone): (Which, Which),
        new: &New,
        temporary: Temporary,
    ) -> Result<Made, Failure> {
        let at = self.name(n)?;
        let beside = at.beside(temporary);
        let (placed, file) = self.put(n, &beside, new)?;
        if let Err(errno) = change::exchange(beside.fd(), &beside.name, at.fd(), &at.name) {
            let failure = Failure::from(errno);
            return Err(if unplace(&beside, placed) {
                failure
            } else {
                traced(failure)
            });
        }
        let right = self.is_displaced(&beside, gone);
        if let Err(failure) = right.and_then(expected) {
            let back = put_back(&at, &beside, placed);
            return Err(if back { failure } else { traced(failure) });
        }
        let made = Made::Exchanged {
            at,
            temporary,
            placed,
            displaced: self.held(gone)?.observation.stamp.object(),
            deletion: self.removal(gone)?,
        };
        match file {
            Some(file) => self.told(made, n, file.as_fd()),
            None => Ok(made),
        }
    }

    fn removal(&self, gone: Which) -> Result<Deletion, Failure> {
        let removal = self.bound(gone)?.fate.removal();
        removal.ok_or_else(|| Failure::clean(Code::Io))
    }

    /// Whether what came out is the object that was to go, in the same version, with nobody having
    /// begun to write it where something was worked out from it; and of a directory that was to be
    /// empty, that nothing is in it but what the same plan took away.
    fn is_displaced(&self, beside: &Name, gone: Which) -> Result<bool, Failure> {
        let held = self.held(gone)?;
        if !is_version(beside, held)? {
            return Ok(false);
        }
        match &self.bound(gone)?.fate {
            Fate::Replaced(_) => Ok(still_alone(held)?),
            Fate::Deleted(Deletion::Directory) => {
                let ours = |name: &[u8]| {
                    let mut temporaries = self.plan.acts.iter().filter_map(Act::temporary);
                    temporaries.any(|(_, temporary)| temporary.name().as_bytes() == name)
                };
                Ok(has_only(beside.fd(), &beside.name, ours)?)
            }
            Fate::Deleted(Deletion::File | Deletion::Tree) | Fate::Stays | Fate::Moves(_) => {
                Ok(true)
            }
        }
    }

    /// Takes an object from its name, and gives it back if it is another than expected.
    fn claim(&mut self, (n, gone): (Which, Which), temporary: Temporary) -> Result<Made, Failure> {
        let at = self.name(n)?;
        let beside = at.beside(temporary);
        let id = self.held(gone)?.observation.stamp.object();
        let deletion = self.removal(gone)?;
        change::rename(at.fd(), &at.name, beside.fd(), &beside.name)?;
        let right = self.is_displaced(&beside, gone);
        if let Err(failure) = right.and_then(expected) {
            let back = change::rename(beside.fd(), &beside.name, at.fd(), &at.name);
            return Err(if back.is_ok() {
                failure
            } else {
                traced(failure)
            });
        }
        self.is(n, PathState::Absent);
        Ok(Made::Claimed {
            at,
            temporary,
            id,
            deletion,
        })
    }

    fn rename(&mut self, from: Which, to: Which) -> Result<Made, Failure> {
        let (source, target) = (self.name(from)?, self.name(to)?);
        let object = Rc::clone(self.held(from)?);
        let id = object.observation.stamp.object();
        change::rename(source.fd(), &source.name, target.fd(), &target.name)?;
        if let Err(failure) = arrived(&target, id) {
            let back = change::rename(target.fd(), &target.name, source.fd(), &source.name);
            return Err(if back.is_ok() {
                failure
            } else {
                traced(failure)
            });
        }
        let made = Made::Renamed {
            from: source,
            to: target,
            id,
        };
        self.told(made, to, object.fd())
    }

    /// Two objects exchange their names, of which neither is free at any moment.
    fn swap(&mut self, one: Stands, other: Stands) -> Result<Made, Failure> {
        let (from, to) = (self.name(one.at)?, self.name(other.at)?);
        let objects = (
            Rc::clone(self.held(one.object)?),
            Rc::clone(self.held(other.object)?),
        );
        let id = objects.0.observation.stamp.object();
        change::exchange(from.fd(), &from.name, to.fd(), &to.name)?;
        let right = arrived(&to, id).and_then(|()| self.is_as_planned(&from, other.object));
        if let Err(failure) = right {
            return Err(if trade_back(&from, &to, id) {
                failure
            } else {
                traced(failure)
            });
        }
        let made = Made::Swapped { from, to, id };
        let made = self.told(made, other.at, objects.0.fd())?;
        self.told(made, one.at, objects.1.fd())
    }

    /// Whether the object that came to a name is the one that had the name `object`; of one that is
    /// to be removed, that it is the version that was looked at.
    fn is_as_planned(&self, at: &Name, object: Which) -> Result<(), Failure> {
        let held = self.held(object)?;
        match self.bound(object)?.fate {
            Fate::Stays | Fate::Moves(_) => arrived(at, held.observation.stamp.object()),
            Fate::Replaced(_) | Fate::Deleted(_) => expected(is_version(at, held)?),
        }
    }

    /// The kernel's cage does not cover modes, so that an object moved out of the root keeps being
    /// reached by its descriptor: looked for from the root before and afterwards, and set back if
    /// it is gone.
    fn chmod(&mut self, n: Which, mode: u16) -> Result<Made, Failure> {
        let held = Rc::clone(self.held(n)?);
        let object = open::duplicate(held.fd())?;
        let (id, before) = (held.observation.stamp.object(), held.observation.mode);
        let at = &self.bound(n)?.at;
        is_there(self.session, at, id)?;
        meta::set_mode(held.fd(), mode)?;
        if let Err(failure) = is_there(self.session, at, id) {
            let back = insist(|| meta::set_mode(held.fd(), before));
            return Err(if back.is_ok() {
                failure
            } else {
                traced(failure)
            });
        }
        let made = Made::Moded { object, before };
        match self.bound(n)?.fate {
            Fate::Stays => self.told(made, n, held.fd()),
            // It is told where it goes.
            Fate::Moves(_) | Fate::Replaced(_) | Fate::Deleted(_) => Ok(made),
        }
    }
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

fn arrived(at: &Name, id: ObjectId) -> Result<(), Failure> {
    expected(at.object()? == id)
}

fn expected(is: bool) -> Result<(), Failure> {
    if is {
        Ok(())
    } else {
        Err(Failure::clean(Code::Contended))
    }
}

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
