//! Where a change is to happen: a name in a directory, whether there is something of that name or
//! not. The directory and the object are each opened from the root by one call, like everything.

use super::canonical::canonical;
use super::{Asked, Known, Now, Stop, code_of_name, open_judged, plain};
use crate::admit::{Admitted, AdmittedParts};
use crate::policy::Judgement;
use crate::session::Session;
use crate::sys::open::{self, Purpose};
use portcullis_protocol::limits::{PARENTS_MAX, RESOLVE_TRIES_MAX};
use portcullis_protocol::path::{RelPath, Want};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Links;
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Kind, ObjectId, Observation, RootIndex};
use rustix::io::Errno;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// Which names of a path may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// None.
    Refused,
    /// The last.
    Last,
    /// The last and directories before it.
    Parents,
}

/// An open directory and which it is.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) fd: OwnedFd,
    pub(crate) id: ObjectId,
    pub(crate) root: RootIndex,
    pub(crate) path: RelPath,
}

/// Shared by the changes in one directory.
pub(crate) type SharedDirectory = Rc<Directory>;

/// An object, held so that its numbers cannot become another's.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) fd: OwnedFd,
    pub(crate) observation: Observation,
}

/// Holding one means: the grants and denials of `path` allow the verb, `directory` is the nearest
/// directory on the way that exists, and `object` is what had the name in the file system. What the
/// set itself leaves at the name, the type of the object and whether it is as expected is for
/// `plan` to judge.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) root: RootIndex,
    pub(crate) path: RelPath,
    pub(crate) directory: SharedDirectory,
    /// Names at the end of the path that are missing, the last included when nothing has it. What
    /// the set itself makes is not missing.
    pub(crate) missing: usize,
    pub(crate) object: Option<Held>,
    /// What the way it was written asks for: a name with a slash behind it is a directory's.
    pub(crate) want: Want,
}

/// Resolves one admitted selector to a place.
pub(crate) fn find(
    session: &Session,
    known: &Known,
    admitted: Admitted<'_>,
    allowed: Missing,
) -> Result<Place, Refusal> {
    let parts = admitted.into_parts();
    let Some(root) = session.root(parts.root) else {
        return Err(Refusal::new(Code::NoSuchRoot)
            .of(parts.verb)
            .on(parts.written));
    };
    let asked = Asked {
        session,
        root,
        parts,
    };
    let mut path = plain(&asked.parts).map_err(|error| asked.refuse(code_of_name(error)))?;
    for _ in 0..RESOLVE_TRIES_MAX {
        // What the set itself leaves is found name by name, like links.
        let plain = path
            .take()
            .filter(|path| !known.covers(asked.parts.root, path));
        let (path, missing) = match plain {
            Some(path) => {
                asked.permit(&path)?;
                (path, None)
            }
            None => match canonical(&asked, known, allowed) {
                Ok(found) => (found.path, Some(found.missing)),
                Err(Stop::Refused(refusal)) => return Err(refusal),
                Err(Stop::Link | Stop::Moved) => continue,
            },
        };
        match pin((&asked, known), path, missing, allowed) {
            Ok(place) => return Ok(place),
            Err(Stop::Refused(refusal)) => return Err(refusal),
            Err(Stop::Link | Stop::Moved) => {}
        }
    }
    Err(asked.refuse(Code::Contended))
}

/// Opens what there is of a plain path. `missing` is what a search found, none when the path was
/// taken as it was written.
fn pin(
    (asked, known): (&Asked<'_>, &Known),
    path: RelPath,
    missing: Option<usize>,
    allowed: Missing,
) -> Result<Place, Stop> {
    if path.is_root() {
        let note = "a root itself cannot be changed, only what is in it";
        return Err(asked.refuse(Code::OutOfRange).noting(note).into());
    }
    if asked.session.policy.denies_objects() {
        judge_existing((asked, known), &path)?;
    }
    let AdmittedParts {
        root, want, links, ..
    } = asked.parts;
    let covered = known.covers(root, &path);
    let object = if covered || missing.is_some_and(|missing| missing > 0) {
        None
    } else {
        match open_target(asked, &path) {
            Ok((_, observed)) if observed.kind == Kind::Link && links == Links::Follow => {
                return Err(Stop::Link);
            }
            Ok((fd, observation)) => Some(Held { fd, observation }),
            Err(Errno::NOENT) if allowed != Missing::Refused => None,
            Err(errno) => return Err(asked.stop_at(&path, errno)),
        }
    };
    match &object {
        Some(held) => judge_held(asked, held, want)?,
        None if want == Want::Directory => match known.now(root, &path) {
            Some(Now::Made | Now::Moved) => {}
            None | Some(Now::Nothing | Now::Left) if takes_directories(asked.parts.verb) => {}
            None | Some(Now::Nothing | Now::Left | Now::Link | Now::Other) => {
                return Err(asked.refuse(Code::NotADirectory).into());
            }
        },
        None => {}
    }
    let (directory, counted) = nearest((asked, known), &path, &object, allowed)?;
    let missing = match missing {
        Some(missing) if covered => missing,
        Some(_) | None => counted,
    };
    Ok(Place {
        root,
        path,
        directory,
        missing,
        object,
        want,
    })
}

/// Whether what a verb puts where nothing is, or looks for there, can be a directory.
const fn takes_directories(verb: Verb) -> bool {
    match verb {
        Verb::Mkdir
        | Verb::Move
        | Verb::Stat
        | Verb::Read
        | Verb::List
        | Verb::Glob
        | Verb::Search => true,
        Verb::Write | Verb::Edit | Verb::Delete | Verb::DeleteTree | Verb::Chmod | Verb::Link => {
            false
        }
    }
}

/// Opens what a change is about: for reading where its content is compared or recorded, as far as
/// that can be; else to hold it.
fn open_target(asked: &Asked<'_>, path: &RelPath) -> Result<(OwnedFd, Observation), Errno> {
    let (session, root) = (asked.session, asked.root);
    match asked.parts.verb {
        Verb::Write | Verb::Edit | Verb::Move | Verb::Delete | Verb::Chmod => {
            let look = || open_judged(session, root, path, Purpose::LookAtLink);
            match open_judged(session, root, path, Purpose::Content) {
                // A link, a socket or a directory. A file that has the name by now was not opened
                // for reading by the look, and its content is wanted: once more from the start.
                Err(Errno::LOOP | Errno::NXIO | Errno::NODEV | Errno::ISDIR) => match look()? {
                    (_, seen) if seen.kind == Kind::File => Err(Errno::STALE),
                    found => Ok(found),
                },
                // A directory that may not be listed, a file that may not be read: the look tells.
                Err(Errno::ACCESS | Errno::PERM | Errno::TXTBSY) => look(),
                other => other,
            }
        }
        Verb::Mkdir | Verb::DeleteTree | Verb::Link => {
            open_judged(session, root, path, Purpose::LookAtLink)
        }
        // Nothing of these is changed, and what is there is not of their kind.
        Verb::Stat | Verb::Read | Verb::List | Verb::Glob | Verb::Search => {
            open_judged(session, root, path, Purpose::LookAtLink)
        }
    }
}

/// The nearest directory on the way that exists, and how many names below it do not.
fn nearest(
    (asked, known): (&Asked<'_>, &Known),
    path: &RelPath,
    object: &Option<Held>,
    allowed: Missing,
) -> Result<(SharedDirectory, usize), Stop> {
    let mut key = (asked.parts.root, path.clone());
    let mut missing = usize::from(object.is_none());
    loop {
        key.1.pop();
        // Made by the set, or in the place of what the file system has.
        if known.covers(key.0, &key.1) {
            continue;
        }
        if let Some(directory) = known.directory(&key) {
            return Ok((directory, missing));
        }
        let (root, parent) = &key;
        match directory(asked.session, asked.root, *root, parent) {
            Ok(directory) => return Ok((Rc::new(directory), missing)),
            Err(Errno::NOENT) if object.is_none() && allowed == Missing::Parents => {
                missing += 1;
                if missing > PARENTS_MAX || parent.is_root() {
                    return Err(asked.stop(Errno::NOENT));
                }
            }
            Err(errno) => return Err(asked.stop_at(parent, errno)),
        }
    }
}

/// Opens a directory from its root.
fn directory(
    session: &Session,
    root_fd: BorrowedFd<'_>,
    root: RootIndex,
    path: &RelPath,
) -> Result<Directory, Errno> {
    let fd = open::below(root_fd, path, Purpose::Look)?;
    let observation = open::observation(&fd)?;
    if observation.kind != Kind::Directory {
        return Err(Errno::NOTDIR);
    }
    if session
        .sole_device(root)
        .is_some_and(|sole| sole != observation.stamp.device)
    {
        return Err(Errno::XDEV);
    }
    Ok(Directory {
        fd,
        id: observation.stamp.object(),
        root,
        path: path.clone(),
    })
}

/// Opens the directory of this path once more, whichever it is by now.
pub(crate) fn look_again(
    session: &Session,
    root: RootIndex,
    path: &RelPath,
) -> Result<Directory, Errno> {
    let root_fd = session.root(root).ok_or(Errno::BADF)?;
    directory(session, root_fd, root, path)
}

/// What must be true of the object itself, whatever is done with it.
fn judge_held(asked: &Asked<'_>, held: &Held, want: Want) -> Result<(), Stop> {
    let stamp = held.observation.stamp;
    let sole = asked.session.sole_device(asked.parts.root);
    if sole.is_some_and(|device| device != stamp.device) {
        return Err(asked.refuse(Code::MountCrossing).into());
    }
    let object = (stamp.device, stamp.inode);
    match asked.session.policy.judge_object(object, asked.parts.verb) {
        Judgement::Clear => {}
        Judgement::Denied(rule) => {
            return Err(asked.refuse(Code::Denied).by(rule.clone()).into());
        }
        Judgement::Asks(rule) => {
            return Err(asked.refuse(Code::NeedsApproval).by(rule.clone()).into());
        }
        Judgement::Hidden => return Err(asked.refuse(Code::NotFound).into()),
    }
    let makes_directory = asked.parts.verb == Verb::Mkdir;
    if want == Want::Directory && held.observation.kind != Kind::Directory && !makes_directory {
        return Err(asked.refuse(Code::NotADirectory).into());
    }
    Ok(())
}

/// Judges, as objects, whatever of the path exists. See `Asked::judge_objects`.
fn judge_existing((asked, known): (&Asked<'_>, &Known), path: &RelPath) -> Result<(), Stop> {
    let mut prefix = RelPath::root();
    let mut names = path.names();
    loop {
        // What the set puts there is judged by who plans it.
        if known.covers(asked.parts.root, &prefix) {
            return Ok(());
        }
        match asked.look(&prefix) {
            Ok((fd, observed)) => {
                drop(fd);
                asked.judge_object(&observed)?;
            }
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(asked.stop_at(&prefix, errno)),
        }
        match names.next() {
            Some(name) => prefix
                .push(name)
                .map_err(|error| asked.refuse(code_of_name(error)))?,
            None => return Ok(()),
        }
    }
}

impl Held {
    /// The object, for calls by descriptor.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
