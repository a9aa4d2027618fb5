//! New content: written into a file without a name, in the directory where it is to have one.

use super::SharedDirectory;
use super::text::Text;
use crate::resolve::Held;
use crate::sys::directory::{self, Fetch};
use crate::sys::open::Purpose;
use crate::sys::{change, file, meta, open};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::view::{Digest, Kind, Present};
use rustix::io::Errno;
use std::ffi::CStr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// Bytes read at a time.
pub(super) const PIECE: usize = 256 * 1024;

/// New content of one file.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) staged: Staged,
    pub(crate) present: Present,
    /// Its bytes, where they are in memory as well.
    pub(crate) text: Text,
}

/// Where it is.
#[derive(Debug)]
pub(crate) enum Staged {
    /// In a file that waits for its name.
    File(Rc<OwnedFd>),
    /// In memory: its directory is still to be made, or this gate may write nothing.
    Later(Later),
}

/// Where it may wait.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Room<'d> {
    /// In a file of this directory.
    Beside(&'d SharedDirectory),
    /// In memory.
    Memory,
}

/// Content that waits in memory.
#[derive(Debug)]
pub(crate) struct Later {
    pub(crate) source: Source,
    /// Permission bits, if some were said.
    pub(crate) mode: Option<u16>,
    /// What the file is to look like in all but content.
    pub(crate) like: Option<Rc<Held>>,
}

/// Where its bytes are.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Bytes(Rc<[u8]>),
    /// To be copied.
    File(Rc<OwnedFd>),
}

/// The blake3 of bytes.
pub(crate) fn digest(bytes: &[u8]) -> Digest {
    Digest(*blake3::hash(bytes).as_bytes())
}

/// What stopped the writing of new content.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unstaged {
    /// The kernel.
    Kernel(Errno),
    /// The file has something a new one cannot be given.
    Unkept(&'static str),
}

impl From<Errno> for Unstaged {
    fn from(errno: Errno) -> Self {
        Self::Kernel(errno)
    }
}

/// Permission bits of a new file when the request says none.
pub(crate) const NEW_FILE: u16 = 0o644;

/// A file without a name, of these bytes, that looks like `like` in all but content, or is new.
pub(crate) fn stage(
    directory: &SharedDirectory,
    bytes: &[u8],
    mode: Option<u16>,
    like: Option<&Held>,
) -> Result<(Rc<OwnedFd>, Present), Unstaged> {
    let made = change::temporary(directory.fd.as_fd(), NEW_FILE)?;
    change::write_at(made.as_fd(), bytes, 0)?;
    let present = dress(made.as_fd(), mode, like, digest(bytes))?;
    Ok((Rc::new(made), present))
}

/// The same of a copy of an upload, whose own file is elsewhere or has what a new one must not.
pub(crate) fn copied(
    directory: &SharedDirectory,
    upload: BorrowedFd<'_>,
    digest: Digest,
    (mode, like): (Option<u16>, Option<&Held>),
) -> Result<(Rc<OwnedFd>, Present), Unstaged> {
    let made = change::temporary(directory.fd.as_fd(), NEW_FILE)?;
    let mut room = vec![0; PIECE];
    let mut done = 0;
    loop {
        let n = file::read_at(upload, &mut room, done)?;
        change::write_at(made.as_fd(), room.get(..n).unwrap_or_default(), done)?;
        done += u64::try_from(n).unwrap_or(u64::MAX);
        if n < room.len() {
            break;
        }
    }
    let present = dress(made.as_fd(), mode, like, digest)?;
    Ok((Rc::new(made), present))
}

/// Gives a file without a name its mode, group and attributes; says what it is now.
pub(crate) fn dress(
    made: BorrowedFd<'_>,
    mode: Option<u16>,
    like: Option<&Held>,
    digest: Digest,
) -> Result<Present, Unstaged> {
    let mut is = open::observe(made)?;
    let mut dressed = Dressed::No;
    if let Some(like) = like {
        let (user, group) = open::owner(like.fd())?;
        if user != is.stx_uid {
            return Err(Unstaged::Unkept("it belongs to another user"));
        }
        if group != is.stx_gid {
            meta::set_group(made, group).map_err(|errno| match errno {
                Errno::PERM | Errno::INVAL => Unstaged::Unkept("its group cannot be given"),
                errno => Unstaged::Kernel(errno),
            })?;
            dressed = Dressed::Yes;
        }
        if copy_attributes(like.fd(), made)? == Dressed::Yes {
            dressed = Dressed::Yes;
        }
    }
    let wanted = mode.or(like.map(|like| like.observation.mode & 0o777));
    // A group or an access list changes the bits, so that they are set last.
    if let Some(wanted) = wanted
        && (dressed == Dressed::Yes || wanted != open::recorded(&is).mode)
    {
        meta::set_file_mode(made, wanted)?;
        dressed = Dressed::Yes;
    }
    if dressed == Dressed::Yes {
        is = open::observe(made)?;
    }
    let now = open::recorded(&is);
    Ok(Present {
        kind: Kind::File,
        mode: now.mode,
        size: now.stamp.size,
        digest: Some(digest),
        stamp: Some(now.stamp),
    })
}

/// Whether something of a new file was set after it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dressed {
    No,
    Yes,
}

/// Copies extended attributes, access lists among them, and takes away what only the new one has.
/// What gives rights or vouches for content is never copied.
fn copy_attributes(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<Dressed, Unstaged> {
    let wanted = meta::attributes(from)?;
    let inherited = meta::attributes(to)?;
    if wanted.is_empty() && inherited.is_empty() {
        return Ok(Dressed::No);
    }
    for name in names(&inherited).filter(|name| name.to_bytes().starts_with(b"system.posix_acl")) {
        if !names(&wanted).any(|other| other == name) {
            meta::remove_attribute(to, name)?;
        }
    }
    for name in names(&wanted) {
        if matches!(
            name.to_bytes(),
            b"security.capability" | b"security.ima" | b"security.evm"
        ) {
            continue;
        }
        let value = meta::attribute(from, name)?;
        match meta::set_attribute(to, name, &value) {
            Ok(()) => {}
            // A label the system gives by its own policy: as good when it is the same.
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::ACCESS)
                if meta::attribute(to, name).is_ok_and(|has| has == value) => {}
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::ACCESS) => {
                return Err(Unstaged::Unkept("an extended attribute cannot be given"));
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(Dressed::Yes)
}

fn names(list: &[u8]) -> impl Iterator<Item = &CStr> {
    list.split_inclusive(|b| *b == 0)
        .filter_map(|name| CStr::from_bytes_with_nul(name).ok())
}

/// The bytes of new content of at most `max` bytes; none when it is larger.
pub(crate) fn read(content: &Content, max: u64) -> Result<Option<Vec<u8>>, Errno> {
    let file = match &content.staged {
        Staged::File(file) => file,
        Staged::Later(later) => match &later.source {
            Source::Bytes(bytes) => return Ok(Some(bytes.to_vec())),
            Source::File(file) => file,
        },
    };
    read_all(file.as_fd(), content.present.size, max)
}

pub(super) fn read_all(
    file: BorrowedFd<'_>,
    size: u64,
    max: u64,
) -> Result<Option<Vec<u8>>, Errno> {
    if size > max {
        return Ok(None);
    }
    // What changed since is met again by `confirm`.
    let size = usize::try_from(size).map_err(|_| Errno::FBIG)?;
    let mut bytes = vec![0; size + 1];
    let n = file::read_whole(file, &mut bytes, size)?;
    bytes.truncate(n);
    Ok(Some(bytes))
}

/// New content once more, for another directory, with other permission bits or another likeness.
/// What it was staged in stays as it is: it may be an upload, whose plan may be made again.
pub(crate) fn again(
    content: &Content,
    room: Room<'_>,
    (mode, like): (Option<u16>, Option<&Rc<Held>>),
) -> Result<Content, Unstaged> {
    let source = match &content.staged {
        Staged::File(file) => Source::File(Rc::clone(file)),
        Staged::Later(later) => later.source.clone(),
    };
    let digest = content.present.digest.unwrap_or(Digest([0; 32]));
    match room {
        Room::Beside(directory) => {
            let like = like.map(Rc::as_ref);
            let (file, present) = match &source {
                Source::Bytes(bytes) => stage(directory, bytes, mode, like)?,
                Source::File(file) => copied(directory, file.as_fd(), digest, (mode, like))?,
            };
            Ok(Content {
                staged: Staged::File(file),
                present,
                text: content.text.clone(),
            })
        }
        Room::Memory => Ok(Content {
            text: content.text.clone(),
            ..later(source, content.present.size, digest, (mode, like))
        }),
    }
}

/// Content that waits in memory.
pub(crate) fn later(
    source: Source,
    size: u64,
    digest: Digest,
    (mode, like): (Option<u16>, Option<&Rc<Held>>),
) -> Content {
    let like_mode = like.map(|like| like.observation.mode & 0o777);
    Content {
        staged: Staged::Later(Later {
            source,
            mode,
            like: like.map(Rc::clone),
        }),
        present: Present {
            kind: Kind::File,
            mode: mode.or(like_mode).unwrap_or(NEW_FILE),
            size,
            digest: Some(digest),
            stamp: None,
        },
        text: Text::Away,
    }
}

/// Whether every entry of the directory of this name is one that may be there.
pub(crate) fn has_only(
    parent: BorrowedFd<'_>,
    name: &[u8],
    may_be: impl Fn(&[u8]) -> bool,
) -> Result<bool, Errno> {
    let name = RelPath::parse(name).map_err(|_| Errno::NAMETOOLONG)?;
    let opened = open::below(parent, &name, Purpose::Entries)?;
    let mut only = true;
    directory::each(opened.as_fd(), &mut Fetch::new(), |named| {
        only = may_be(named.name);
        if only {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    Ok(only)
}
