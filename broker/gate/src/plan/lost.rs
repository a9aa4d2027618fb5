//! What a plan would take away, for whoever decides about it. Counted, not judged: the plan was.

use super::act::Bound;
use super::{Plan, content, too_large};
use crate::errors::code_of;
use crate::session::Session;
use crate::sys::directory::{self, Fetch};
use crate::sys::open::{self, Purpose};
use portcullis_protocol::approval::Lost;
use portcullis_protocol::limits::TREE_ENTRIES_MAX;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Refusal;
use portcullis_protocol::session::Deletion;
use portcullis_protocol::view::{Kind, Observation, PathState, Present};
use rustix::io::Errno;
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, OwnedFd};

impl Plan {
    /// What would be gone: what is removed or gets another content, and all below directories that
    /// are removed whole.
    pub(crate) fn lost(&self, session: &Session) -> Result<Lost, Refusal> {
        let mut lost = Lost::default();
        for name in &self.names {
            let (Some(deletion), Some(held)) = (name.fate.removal(), &name.held) else {
                continue;
            };
            add(
                &mut lost,
                held.observation.kind,
                held.observation.stamp.size,
            );
            match deletion {
                Deletion::File | Deletion::Directory => {}
                Deletion::Tree => below(session, name, &mut lost)?,
            }
        }
        Ok(lost)
    }
}

fn add(lost: &mut Lost, kind: Kind, size: u64) {
    match kind {
        Kind::Directory => lost.directories += 1,
        Kind::File => {
            lost.files += 1;
            lost.bytes = lost.bytes.saturating_add(size);
        }
        Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => lost.files += 1,
    }
}

/// Adds what is below a directory.
fn below(session: &Session, name: &Bound, lost: &mut Lost) -> Result<(), Refusal> {
    each_below(session, name, |_, now| add(lost, now.kind, now.stamp.size))
}

/// A directory that is removed whole, with the digest of everything below it: names, objects,
/// versions. So that what was approved is compared as deep as it goes.
pub(super) fn bind_tree(session: &Session, name: &mut Bound) -> Result<(), Refusal> {
    let PathState::Present(present) = name.touched.before else {
        return Ok(());
    };
    let mut entries: Vec<[u8; 32]> = Vec::new();
    each_below(session, name, |path, now| {
        let (kind, mode, stamp) = (now.kind, now.mode, now.stamp);
        // What has been looked at can be encoded; a failure would only make the digest say less.
        let entry = postcard::to_extend(&(path, kind, mode, stamp), Vec::new());
        entries.push(*blake3::hash(&entry.unwrap_or_default()).as_bytes());
    })?;
    // The order in which a directory gives its names says nothing.
    entries.sort_unstable();
    let digest = content::digest(entries.as_flattened());
    name.touched.before = PathState::Present(Present {
        digest: Some(digest),
        ..present
    });
    Ok(())
}

/// Looks at everything below a directory, with its path from the root. As much as one effect may
/// take away was judged before; what appeared since is met again when it is done.
fn each_below(
    session: &Session,
    name: &Bound,
    mut each: impl FnMut(&RelPath, &Observation),
) -> Result<(), Refusal> {
    let failed = |errno: Errno| {
        let refusal = Refusal::new(code_of(errno)).of(name.touched.verb);
        refusal.on(name.at.path.as_bytes()).noting("below it")
    };
    let root = session.root(name.at.root).ok_or(failed(Errno::BADF))?;
    let mut fetch = Fetch::new();
    let mut entries = 0;
    let mut waiting: Vec<RelPath> = vec![name.at.path.clone()];
    while let Some(path) = waiting.pop() {
        let opened = open::below(root, &path, Purpose::Entries).map_err(failed)?;
        let mut stopped = Ok(());
        directory::each(opened.as_fd(), &mut fetch, |named| {
            entries += 1;
            let looked = look(&opened, &path, &named).map(|(path, now)| {
                each(&path, &now);
                match now.kind {
                    Kind::Directory => waiting.push(path),
                    Kind::File
                    | Kind::Link
                    | Kind::Fifo
                    | Kind::Socket
                    | Kind::Device
                    | Kind::Unknown => {}
                }
            });
            match looked {
                _ if entries > TREE_ENTRIES_MAX => stopped = Err(too_large()),
                Ok(()) | Err(Errno::NOENT) => return ControlFlow::Continue(()),
                Err(errno) => stopped = Err(failed(errno)),
            }
            ControlFlow::Break(())
        })
        .map_err(failed)?;
        stopped?;
    }
    Ok(())
}

fn look(
    directory: &OwnedFd,
    parent: &RelPath,
    named: &directory::Named<'_>,
) -> Result<(RelPath, Observation), Errno> {
    let now = open::recorded(&open::observe_name(directory.as_fd(), named.name)?);
    let path = parent.join(named.name).map_err(|_| Errno::NAMETOOLONG)?;
    Ok((path, now))
}
