//! Listing an open directory: names and types as the kernel gives them, in its order.

use super::fault::point;
use portcullis_protocol::view::Kind;
use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;

/// Bytes fetched from the kernel at a time.
const FETCH_BYTES: usize = 32 * 1024;

/// One name of a directory. Its type is the directory's word, which may be out of date by the
/// time it is opened.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// The name: no slash, never `.` or `..`.
    pub name: &'a [u8],
    /// Its type, when the file system says.
    pub kind: Kind,
    /// Its inode number, on the directory's device.
    pub inode: u64,
}

/// Room for [`each`], kept by the caller so that a walk allocates it once.
#[derive(Debug)]
pub struct Fetch(Vec<MaybeUninit<u8>>);

impl Fetch {
    /// Room for one fetch.
    pub fn new() -> Self {
        Self(vec![MaybeUninit::uninit(); FETCH_BYTES])
    }
}

impl Default for Fetch {
    fn default() -> Self {
        Self::new()
    }
}

/// Calls `visit` for each name until it breaks. Names added or removed meanwhile may be missing
/// or appear twice, as in every directory listing.
pub fn each(
    directory: BorrowedFd<'_>,
    fetch: &mut Fetch,
    mut visit: impl FnMut(Named<'_>) -> ControlFlow<()>,
) -> Result<(), Errno> {
    let mut raw = RawDir::new(directory, &mut fetch.0);
    loop {
        if raw.is_buffer_empty() {
            // In place of the call that fills it.
            point(|| Ok(()))?;
        }
        let Some(entry) = raw.next() else {
            return Ok(());
        };
        let entry = match entry {
            Ok(entry) => entry,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error),
        };
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let named = Named {
            name,
            kind: kind(entry.file_type()),
            inode: entry.ino(),
        };
        if visit(named).is_break() {
            return Ok(());
        }
    }
}

/// Our word for the kernel's.
pub fn kind(kind: FileType) -> Kind {
    match kind {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => Kind::Device,
        FileType::Unknown => Kind::Unknown,
    }
}
