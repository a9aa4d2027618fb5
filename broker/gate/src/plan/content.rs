//! New content: written into a file without a name, in the directory where it is to have one.

use super::SharedDirectory;
use crate::resolve::Held;
use crate::sys::directory::{self, Fetch};
use crate::sys::open::Purpose;
use crate::sys::{change, file, meta, open};
use portcullis_protocol::limits::SCAN_BYTES_MAX;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::view::{Digest, Kind, PathState, Present};
use rustix::io::Errno;
use std::ffi::CStr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// Bytes read at a time.
const PIECE: usize = 256 * 1024;

/// New content of one file.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) staged: Staged,
    pub(crate) present: Present,
}

/// Where it is.
#[derive(Debug)]
pub(crate) enum Staged {
    /// In a file that waits for its name.
    File(Rc<OwnedFd>),
    /// In memory, because its directory is still to be made.
    Later(Later),
}

/// Content whose directory is still to be made.
#[derive(Debug)]
pub(crate) enum Later {
    /// These bytes, with these permission bits.
    Bytes(Vec<u8>, Option<u16>),
    /// Of an upload, to be copied, with these permission bits.
    Upload(Rc<OwnedFd>, Option<u16>),
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

/// Gives a file without a name its mode, group and attributes; says what it is now.
pub(crate) fn dress(
    made: BorrowedFd<'_>,
    mode: Option<u16>,
    like: Option<&Held>,
    digest: Digest,
) -> Result<Present, Unstaged> {
    let is = open::observe(made)?;
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
        }
        copy_attributes(like.fd(), made)?;
    }
    let wanted = mode.or(like.map(|like| like.observation.mode & 0o777));
    let now = open::recorded(&is);
    // A group or an access list changes the bits, so that they are set last.
    if let Some(wanted) = wanted
        && (like.is_some() || wanted != now.mode)
    {
        meta::set_file_mode(made, wanted)?;
    }
    let now = open::recorded(&open::observe(made)?);
    Ok(Present {
        kind: Kind::File,
        mode: now.mode,
        size: now.stamp.size,
        digest: Some(digest),
        stamp: Some(now.stamp),
    })
}

/// Copies extended attributes, access lists among them, and takes away what only the new one has.
/// What gives rights or vouches for content is never copied.
fn copy_attributes(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<(), Unstaged> {
    let wanted = meta::attributes(from)?;
    let inherited = meta::attributes(to)?;
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
    Ok(())
}

fn names(list: &[u8]) -> impl Iterator<Item = &CStr> {
    list.split_inclusive(|b| *b == 0)
        .filter_map(|name| CStr::from_bytes_with_nul(name).ok())
}

/// Reads a whole file of at most `max` bytes; none when it is larger.
pub(crate) fn whole(held: &Held, max: u64) -> Result<Option<Vec<u8>>, Errno> {
    let size = held.observation.stamp.size;
    if size > max {
        return Ok(None);
    }
    // One more than it had, so that growth is seen; what changed is met again by `confirm`.
    let mut bytes = vec![0; usize::try_from(size).map_err(|_| Errno::FBIG)? + 1];
    let n = file::read_at(held.fd(), &mut bytes, 0)?;
    bytes.truncate(n);
    Ok(Some(bytes))
}

/// What an object holds, when it is little and can be read.
#[derive(Debug)]
pub(crate) enum Old {
    /// There is no object.
    Nothing,
    /// A file's bytes.
    Bytes(Vec<u8>),
    /// A link's text.
    Link(Vec<u8>),
    /// Anything else.
    Other,
}

/// Files up to this are kept in memory while a change is planned, for the difference.
const KEPT_BYTES_MAX: u64 = 256 * 1024;

/// What is at a name, with the digest of its content where it has one and it can be read.
pub(crate) fn look(held: &Held) -> Result<(PathState, Old), Errno> {
    let (digest, old) = match held.observation.kind {
        Kind::File => match whole(held, KEPT_BYTES_MAX) {
            Ok(Some(bytes)) => (Some(digest(&bytes)), Old::Bytes(bytes)),
            Ok(None) => (digest_of(held)?, Old::Other),
            // Open as a mere path.
            Err(Errno::BADF) => (None, Old::Other),
            Err(errno) => return Err(errno),
        },
        Kind::Link => {
            let text = open::link_text(held.fd())?;
            (Some(digest(&text)), Old::Link(text))
        }
        Kind::Directory | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
            (None, Old::Other)
        }
    };
    Ok((present(held, digest), old))
}

/// The state of a held object whose digest is known.
pub(crate) fn present(held: &Held, digest: Option<Digest>) -> PathState {
    let observation = &held.observation;
    PathState::Present(Present {
        kind: observation.kind,
        mode: observation.mode,
        size: match observation.kind {
            Kind::Directory => 0,
            Kind::File | Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
                observation.stamp.size
            }
        },
        digest,
        stamp: Some(observation.stamp),
    })
}

/// The digest of a file's content; none when it is too large, or held without a right to read.
fn digest_of(held: &Held) -> Result<Option<Digest>, Errno> {
    if held.observation.stamp.size > SCAN_BYTES_MAX {
        return Ok(None);
    }
    let mut hasher = blake3::Hasher::new();
    let mut room =
        vec![0; PIECE.min(usize::try_from(held.observation.stamp.size).unwrap_or(PIECE) + 1)];
    let mut at = 0;
    loop {
        let n = match file::read_at(held.fd(), &mut room, at) {
            Ok(n) => n,
            // Open as a mere path.
            Err(Errno::BADF) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        hasher.update(room.get(..n).unwrap_or_default());
        at += u64::try_from(n).unwrap_or(u64::MAX);
        if n < room.len() || at > SCAN_BYTES_MAX {
            return Ok(Some(Digest(*hasher.finalize().as_bytes())));
        }
    }
}

/// Whether the directory of this name has no entry.
pub(crate) fn is_empty(parent: BorrowedFd<'_>, name: &[u8]) -> Result<bool, Errno> {
    let name = RelPath::parse(name).map_err(|_| Errno::NAMETOOLONG)?;
    let opened = open::below(parent, &name, Purpose::Entries)?;
    let mut entries = 0_u32;
    directory::each(opened.as_fd(), &mut Fetch::new(), |_| {
        entries += 1;
        ControlFlow::Break(())
    })?;
    Ok(entries == 0)
}
