//! After a whole change set stands: what was displaced goes. Nothing here can fail the effect; what
//! cannot be removed is counted and keeps its temporary name.

use super::undo::{insist, remove};
use super::{Made, Name};
use crate::sys::change;
use crate::sys::directory::{self, Fetch};
use crate::sys::open::{self, Purpose};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::Deletion;
use portcullis_protocol::view::{Kind, ObjectId};
use rustix::io::Errno;
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// Rounds over a directory that others fill while it is emptied.
const ROUNDS_MAX: u32 = 8;

/// What could not be removed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Left {
    /// Temporary names.
    pub(super) names: u32,
    /// Entries of directories that were to be removed.
    pub(super) entries: u64,
}

/// Whether cleaning up after an act may take long.
pub(super) fn is_long(made: &Made) -> bool {
    match made {
        Made::Claimed { deletion, .. } | Made::Exchanged { deletion, .. } => match deletion {
            Deletion::Tree => true,
            Deletion::File | Deletion::Directory => false,
        },
        Made::Directory { .. }
        | Made::Named { .. }
        | Made::Renamed { .. }
        | Made::Swapped { .. }
        | Made::Moded { .. } => false,
    }
}

/// Cleans up after all acts. What lay in a directory that goes as well comes before it, as it did
/// when it was taken.
pub(super) fn all(made: Vec<Made>) -> Left {
    let mut left = Left::default();
    for act in made {
        let clean = match act {
            Made::Exchanged {
                at,
                temporary,
                displaced,
                deletion,
                ..
            } => gone(&at.beside(temporary), displaced, deletion, &mut left),
            Made::Claimed {
                at,
                temporary,
                id,
                deletion,
            } => gone(&at.beside(temporary), id, deletion, &mut left),
            Made::Directory { .. }
            | Made::Named { .. }
            | Made::Renamed { .. }
            | Made::Swapped { .. }
            | Made::Moded { .. } => true,
        };
        left.names += u32::from(!clean);
    }
    left
}

/// Removes what was taken from its name; whether nothing is left.
fn gone(beside: &Name, id: ObjectId, deletion: Deletion, left: &mut Left) -> bool {
    match deletion {
        Deletion::File => remove(beside, id),
        Deletion::Directory => {
            let gone = insist(|| change::remove_directory(beside.fd(), &beside.name));
            left.entries += u64::from(gone.is_err());
            gone.is_ok()
        }
        Deletion::Tree => remove_tree(beside, &mut left.entries),
    }
}

/// Removes a directory and all below it; whether nothing is left. Every directory is opened from
/// the top of it by one call that enters no mount and no link, and nothing but directories is
/// opened at all.
fn remove_tree(top: &Name, left: &mut u64) -> bool {
    let others = *left;
    let name = match RelPath::parse(&top.name) {
        Ok(name) => name,
        Err(_) => return false,
    };
    let root = match insist(|| open::below(top.fd(), &name, Purpose::Look)) {
        Ok(root) => root,
        Err(_) => {
            *left += 1;
            return false;
        }
    };
    // A directory comes again after all that was in it.
    let mut waiting = vec![(RelPath::root(), 0)];
    while let Some((path, rounds)) = waiting.pop() {
        let emptied = insist(|| {
            let opened = open::below(root.as_fd(), &path, Purpose::Entries)?;
            empty(&opened, &path, left)
        });
        let Ok(below) = emptied else {
            *left += 1;
            continue;
        };
        if below.is_empty() {
            let gone = match parent(&root, &path) {
                None => insist(|| change::remove_directory(top.fd(), &top.name)),
                Some((directory, name)) => directory.and_then(|directory| {
                    insist(|| change::remove_directory(directory.as_fd(), name))
                }),
            };
            match gone {
                Ok(()) => {}
                // Somebody who is still in it made something.
                Err(Errno::NOTEMPTY | Errno::EXIST) if rounds < ROUNDS_MAX => {
                    waiting.push((path, rounds + 1));
                }
                Err(_) => *left += 1,
            }
        } else if rounds < ROUNDS_MAX {
            waiting.push((path, rounds + 1));
            waiting.extend(below.into_iter().map(|path| (path, 0)));
        } else {
            *left += 1;
        }
    }
    *left == others
}

/// The open parent of a path below the tree, and its last name; none for the top.
fn parent<'p>(root: &OwnedFd, path: &'p RelPath) -> Option<(Result<OwnedFd, Errno>, &'p [u8])> {
    let name = path.last()?;
    let mut above = path.clone();
    above.pop();
    let opened = insist(|| open::below(root.as_fd(), &above, Purpose::Look));
    Some((opened, name))
}

/// Removes all but the directories in one directory; gives those.
fn empty(opened: &OwnedFd, path: &RelPath, left: &mut u64) -> Result<Vec<RelPath>, Errno> {
    let mut names: Vec<(Vec<u8>, Kind)> = Vec::new();
    directory::each(opened.as_fd(), &mut Fetch::new(), |named| {
        names.push((named.name.to_vec(), named.kind));
        ControlFlow::Continue(())
    })?;
    let mut below = Vec::new();
    for (name, kind) in names {
        if is_directory(opened.as_fd(), &name, kind) {
            match path.join(&name) {
                Ok(path) => below.push(path),
                Err(_) => *left += 1,
            }
            continue;
        }
        match insist(|| change::remove(opened.as_fd(), &name)) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(_) => *left += 1,
        }
    }
    Ok(below)
}

/// Some file systems do not say in a listing what a name is.
fn is_directory(directory: BorrowedFd<'_>, name: &[u8], kind: Kind) -> bool {
    match kind {
        Kind::Directory => true,
        Kind::Unknown => insist(|| open::observe_name(directory, name))
            .is_ok_and(|seen| open::recorded(&seen).kind == Kind::Directory),
        Kind::File | Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device => false,
    }
}
