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
