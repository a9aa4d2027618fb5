//! What did not exist before: made, or given the name it waits for.

use super::{Failure, Name, state, traced};
use crate::plan::{Content, Later, Source, Staged, Unstaged, copied, stage};
use crate::sys::open::{self, Purpose};
use crate::sys::{change, meta};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::view::{Digest, ObjectId, PathState};
use rustix::io::Errno;
use std::os::fd::{AsFd as _, OwnedFd};
use std::rc::Rc;

/// Permission bits of a new directory.
const NEW_DIRECTORY: u16 = 0o755;

/// Makes a directory; gives which it is and what is there now.
pub(super) fn directory(at: &Name, mode: Option<u16>) -> Result<(ObjectId, PathState), Failure> {
    change::make_directory(at.fd(), &at.name, NEW_DIRECTORY)?;
    let now = at.observe().and_then(|now| match mode {
        None => Ok(now),
        Some(mode) => {
            let path = RelPath::parse(&at.name).map_err(|_| Errno::NAMETOOLONG)?;
            let opened = open::below(at.fd(), &path, Purpose::Look)?;
            // What its parent passes on to it stays.
            let passed_on = open::recorded(&now).mode & !0o777;
            meta::set_mode(opened.as_fd(), mode | passed_on)?;
            open::observe(&opened)
        }
    });
    match now {
        Ok(now) => Ok((open::recorded(&now).stamp.object(), state(&now, None))),
        // Ours, but which one it is was not seen: empty, or somebody else's by now.
        Err(errno) => match change::remove_directory(at.fd(), &at.name) {
            Ok(()) | Err(Errno::NOENT) => Err(errno.into()),
            Err(_) => Err(traced(errno.into())),
        },
    }
}

/// Takes away a link that was just made under a temporary name.
pub(super) fn unlinked(beside: &Name, errno: Errno) -> Failure {
    match change::remove(beside.fd(), &beside.name) {
        Ok(()) | Err(Errno::NOENT) => errno.into(),
        Err(_) => traced(errno.into()),
    }
}

/// The file of new content, and which object it is. It has been open since it was staged, so that
/// its numbers are its own; only what was staged just now was not looked at.
pub(super) fn staged(at: &Name, content: &Content) -> Result<(Rc<OwnedFd>, ObjectId), Failure> {
    let file = match &content.staged {
        Staged::File(file) => Rc::clone(file),
        Staged::Later(later) => staged_now(at, later, content)?,
    };
    let id = match content.present.stamp {
        Some(stamp) => stamp.object(),
        None => open::observation(&file)?.stamp.object(),
    };
    Ok((file, id))
}

/// Content whose directory was made just now.
fn staged_now(at: &Name, later: &Later, content: &Content) -> Result<Rc<OwnedFd>, Failure> {
    // What a file in a new directory shall be was planned; its own bits may say less by the
    // defaults of the directory.
    let failed = |why: Unstaged| match why {
        Unstaged::Kernel(errno) => Failure::from(errno),
        Unstaged::Unkept(what) => Failure::clean(Code::Unkept).noting(what),
    };
    let like = later.like.as_deref();
    let made = match &later.source {
        Source::Bytes(bytes) => stage(&at.directory, bytes, later.mode, like),
        Source::File(file) => {
            let digest = content.present.digest.unwrap_or(Digest([0; 32]));
            copied(&at.directory, file.as_fd(), digest, (later.mode, like))
        }
    };
    made.map(|(file, _)| file).map_err(failed)
}
