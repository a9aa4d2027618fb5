//! What the kernel said of an open object, and how a reply names it.

use crate::bounded::Bytes;
use crate::limits::PATH_BYTES_MAX;
use crate::path::RelPath;
use serde::{Deserialize, Serialize};

/// The type of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, looked at as a link.
    Link,
    /// A FIFO.
    Fifo,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
    /// Something the kernel has no type for.
    Unknown,
}

impl Kind {
    /// Its name, as commands and messages spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Link => "link",
            Self::Fifo => "fifo",
            Self::Socket => "socket",
            Self::Device => "device",
            Self::Unknown => "unknown",
        }
    }
}

/// A point in time, as file systems keep it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp {
    /// Seconds since 1970, UTC.
    pub seconds: i64,
    /// Nanoseconds, below 1 000 000 000.
    pub nanos: u32,
}

/// A version of one object: differs when the object is another, or when its content or metadata
/// was changed through the file system. Compare for equality only. A store through a writable
/// memory mapping may not move it until the mapping is synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// Device number of the file system.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Last change of content or metadata.
    pub changed: Timestamp,
    /// Birth, where the file system keeps it.
    pub born: Option<Timestamp>,
    /// Size in bytes.
    pub size: u64,
}

/// What the kernel said of one open object, at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Observation {
    /// Its type.
    pub kind: Kind,
    /// Permission bits, at most `0o7777`.
    pub mode: u16,
    /// Names it has (hard links).
    pub links: u32,
    /// Last change of content.
    pub modified: Timestamp,
    /// Its version, with its size.
    pub stamp: Stamp,
}

/// Which part of an operation an object plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// What is looked at or read.
    Source,
    /// What is changed.
    Target,
    /// Where something comes to be.
    Destination,
    /// Where a walk starts.
    SearchRoot,
}

impl Role {
    /// Its name, as receipts and commands spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Target => "target",
            Self::Destination => "destination",
            Self::SearchRoot => "search_root",
        }
    }
}

/// Which of the session's roots, as an index into the roots of `whoami`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RootIndex(pub u16);

/// An object a request was bound to: which, where, and what was seen of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Binding {
    /// The part it plays.
    pub role: Role,
    /// The root.
    pub root: RootIndex,
    /// The canonical path below the root: every link followed, no `..`.
    pub path: RelPath,
    /// What was seen of it.
    pub observation: Observation,
    /// The text of the link, when the object is a link looked at as one.
    pub link: Option<Bytes<PATH_BYTES_MAX>>,
}

/// blake3 of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Digest(pub [u8; 32]);

/// Which object, while it is held: another may get the same numbers after it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectId {
    /// Device number of the file system.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

impl Stamp {
    /// Which object this is a version of.
    pub const fn object(&self) -> ObjectId {
        ObjectId {
            device: self.device,
            inode: self.inode,
        }
    }
}

/// What is at one name: before an effect, after it, or when it was looked at to settle one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PathState {
    /// Nothing.
    Absent,
    /// This object.
    Present(Present),
    /// It could not be looked at.
    Unknown,
}

/// An object at a name, as far as it matters for proving an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Present {
    /// Its type.
    pub kind: Kind,
    /// Permission bits, at most `0o7777`.
    pub mode: u16,
    /// Size in bytes; 0 for directories.
    pub size: u64,
    /// Of a file's content or a link's text; none for files over
    /// [`crate::limits::SCAN_BYTES_MAX`] and for directories. Of a directory that is removed whole
    /// by an approval: of the names, objects and versions of everything below it.
    pub digest: Option<Digest>,
    /// Its version. None for an object that is still to be made, where that has no object yet.
    pub stamp: Option<Stamp>,
}

impl PathState {
    /// Whether both say the same of one name: the same type, mode and content, and the same
    /// object where both know it. Times are not compared: a rename moves them.
    pub fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Absent, Self::Absent) => true,
            (Self::Present(a), Self::Present(b)) => {
                let object = |p: &Present| p.stamp.map(|stamp| stamp.object());
                (a.kind, a.mode, a.size) == (b.kind, b.mode, b.size)
                    && alike(a.digest, b.digest)
                    && alike(object(a), object(b))
            }
            (Self::Absent | Self::Present(_) | Self::Unknown, _) => false,
        }
    }
}

/// Equal, as far as both are known.
fn alike<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b,
        (None, _) | (_, None) => true,
    }
}
