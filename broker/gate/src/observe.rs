//! An observer: looks at what became of an effect whose gate is gone, and says it. It changes
//! nothing, and its cage would not let it.

use crate::cage::Caged;
use crate::resolve::look_again;
use crate::session::Session;
use crate::sys::file;
use crate::sys::open::{self, Purpose};
use portcullis_protocol::bounded::Few;
use portcullis_protocol::ledger::{Intent, Seen, SeenStep, Step};
use portcullis_protocol::limits::SCAN_BYTES_MAX;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::view::{Digest, Kind, PathState, Present, RootIndex};
use rustix::io::Errno;
use std::os::fd::{AsFd as _, BorrowedFd};

/// Bytes read at a time.
const PIECE: usize = 256 * 1024;

/// Looks at every name of an effect. Demands the proof of the cage.
pub(crate) fn observe(_caged: &Caged, session: &Session, intent: &Intent) -> Seen {
    let is_alone = is_alone(intent);
    let look = |step| {
        if is_alone || is_locked(session, step) {
            look(session, step)
        } else {
            not_looked_at(step)
        }
    };
    let seen = intent.steps.as_slice().iter().map(look).collect();
    Seen {
        // As many as the intent has.
        steps: Few::new(seen).unwrap_or_default(),
    }
}

fn look(session: &Session, step: &Step) -> SeenStep {
    let (root, path) = (step.touched.root, &step.touched.path);
    let mut beside = path.clone();
    let beside = step
        .temporary
        .filter(|_| beside.pop())
        .and_then(|temporary| beside.join(temporary.name().as_bytes()).ok());
    SeenStep {
        now: at(session, root, path),
        temporary: match (step.temporary, beside) {
            (None, _) => PathState::Absent,
            (Some(_), Some(path)) => at(session, root, &path),
            // No such name can exist: it would be longer than a path may be.
            (Some(_), None) => PathState::Absent,
        },
    }
}

/// Whether the effect has the trees for itself, which a plan asks for where a directory goes from
/// its name or is made together with something else: then nobody else's effects change anything
/// until it has its receipt, whichever directory a path leads to.
fn is_alone(intent: &Intent) -> bool {
    let directory = |state: &PathState| match state {
        PathState::Present(present) if present.kind == Kind::Directory => {
            Some(present.stamp.map(|stamp| stamp.object()))
        }
        PathState::Present(_) | PathState::Absent | PathState::Unknown => None,
    };
    let steps = intent.steps.as_slice();
    steps.iter().any(|step| {
        let (was, will) = (
            directory(&step.touched.before),
            directory(&step.touched.after),
        );
        was != will && (was.is_some() || steps.len() > 1)
    })
}

/// Whether the path leads through the name that is locked. Where it leads through another directory
/// by now, what is there is not of this effect, and others may change it at any moment.
fn is_locked(session: &Session, step: &Step) -> bool {
    let (root, path) = (step.touched.root, &step.touched.path);
    let mut above = path.clone();
    path.names().rev().any(|name| {
        above.pop()
            && name == step.name.as_slice()
            && look_again(session, root, &above).is_ok_and(|directory| directory.id == step.parent)
    })
}

fn not_looked_at(step: &Step) -> SeenStep {
    SeenStep {
        now: PathState::Unknown,
        temporary: match step.temporary {
            Some(_) => PathState::Unknown,
            None => PathState::Absent,
        },
    }
}

fn at(session: &Session, root: RootIndex, path: &RelPath) -> PathState {
    let mut parent = path.clone();
    parent.pop();
    let name = path.last().unwrap_or_default();
    let seen = look_again(session, root, &parent).and_then(|directory| {
        let now = open::recorded(&open::observe_name(directory.fd.as_fd(), name)?);
        let digest = match now.kind {
            Kind::File => content(directory.fd.as_fd(), name)?,
            Kind::Link => text(directory.fd.as_fd(), name)?,
            Kind::Directory | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => None,
        };
        Ok(Present {
            kind: now.kind,
            mode: now.mode,
            size: if now.kind == Kind::Directory {
                0
            } else {
                now.stamp.size
            },
            digest,
            stamp: Some(now.stamp),
        })
    });
    match seen {
        Ok(present) => PathState::Present(present),
        Err(Errno::NOENT | Errno::NOTDIR) => PathState::Absent,
        Err(_) => PathState::Unknown,
    }
}

/// The digest of a file; none when it is too large or may not be read.
fn content(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Option<Digest>, Errno> {
    let name = RelPath::parse(name).map_err(|_| Errno::NAMETOOLONG)?;
    let opened = match open::below(directory, &name, Purpose::Content) {
        Ok(opened) => opened,
        Err(Errno::ACCESS | Errno::PERM) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let mut hasher = blake3::Hasher::new();
    let mut room = vec![0; PIECE];
    let mut at = 0;
    loop {
        let n = file::read_at(opened.as_fd(), &mut room, at)?;
        hasher.update(room.get(..n).unwrap_or_default());
        at += u64::try_from(n).unwrap_or(u64::MAX);
        if at > SCAN_BYTES_MAX {
            return Ok(None);
        }
        if n < room.len() {
            return Ok(Some(Digest(*hasher.finalize().as_bytes())));
        }
    }
}

fn text(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Option<Digest>, Errno> {
    let name = RelPath::parse(name).map_err(|_| Errno::NAMETOOLONG)?;
    let link = open::below(directory, &name, Purpose::LookAtLink)?;
    let text = open::link_text(link.as_fd())?;
    Ok(Some(Digest(*blake3::hash(&text).as_bytes())))
}
