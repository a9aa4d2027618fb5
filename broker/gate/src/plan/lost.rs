//! What a plan would take away, for whoever decides about it. Counted, not judged: the plan was.

use super::act::Bound;
use super::{Plan, too_large};
use crate::errors::code_of;
use crate::session::Session;
use crate::sys::directory::{self, Fetch};
use crate::sys::open::{self, Purpose};
use portcullis_protocol::approval::Lost;
use portcullis_protocol::limits::TREE_ENTRIES_MAX;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Refusal;
use portcullis_protocol::session::Deletion;
use portcullis_protocol::view::Kind;
use rustix::io::Errno;
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;

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

/// Adds what is below a directory. As much as one effect may take away was judged before; what
/// appeared since is met again when it is done.
fn below(session: &Session, name: &Bound, lost: &mut Lost) -> Result<(), Refusal> {
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
            let counted = count(&opened, &named).and_then(|(kind, size)| {
                add(lost, kind, size);
                match (kind, path.join(named.name)) {
                    (Kind::Directory, Ok(path)) => waiting.push(path),
                    (Kind::Directory, Err(_)) => return Err(Errno::NAMETOOLONG),
                    (
                        Kind::File
                        | Kind::Link
                        | Kind::Fifo
                        | Kind::Socket
                        | Kind::Device
                        | Kind::Unknown,
                        _,
                    ) => {}
                }
                Ok(())
            });
            match counted {
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

fn count(
    directory: &std::os::fd::OwnedFd,
    named: &directory::Named<'_>,
) -> Result<(Kind, u64), Errno> {
    let now = open::recorded(&open::observe_name(directory.as_fd(), named.name)?);
    Ok((now.kind, now.stamp.size))
}
