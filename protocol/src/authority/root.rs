//! Sealed roots, and what they are known by: while they are held, and for good.

use crate::bounded::Bytes;
use crate::limits::HANDLE_BYTES_MAX;
use crate::path::{Label, RelPath};
use crate::view::Timestamp;
use serde::{Deserialize, Serialize};

/// What a root is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Scope {
    /// The user's project.
    Workspace,
    /// A private place for temporary work.
    Scratch,
    /// Something outside the project, usually only read.
    External,
    /// Belongs to the authority's owner alone.
    Private,
}

impl Scope {
    /// Its name, as commands spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Scratch => "scratch",
            Self::External => "external",
            Self::Private => "private",
        }
    }
}

/// A sealed root, unique in one incarnation of a broker; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RootId(pub u64);

/// What the kernel said of a root's directory when it was sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RootIdentity {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Birth, where the file system keeps it.
    pub born: Option<Timestamp>,
    /// Mount, unique while the system runs.
    pub mount: u64,
}

/// File systems whose names and types are known to behave as the broker relies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FileSystem {
    /// ext2, ext3 or ext4, without case folding.
    Ext,
    /// XFS.
    Xfs,
    /// btrfs: a subvolume below the root is a crossing.
    Btrfs,
    /// tmpfs.
    Tmpfs,
    /// overlayfs.
    Overlay,
    /// F2FS, without case folding.
    F2fs,
}

/// What a root is known by for good, over restarts of broker and system: compared when a task is
/// restored. Mounts and device numbers are no part of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// The file system's own id (`f_fsid`), which on btrfs tells subvolumes apart.
    pub file_system: u64,
    /// Inode number.
    pub inode: u64,
    /// Birth, where the file system keeps it.
    pub born: Option<Timestamp>,
    /// The kernel's handle of the directory (`AT_HANDLE_FID`), its type first; it tells an inode
    /// number from its next use. None where the file system has none.
    pub handle: Option<Bytes<HANDLE_BYTES_MAX>>,
}

/// A part of [`Durable`] that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DurableField {
    /// Another file system.
    FileSystem,
    /// Another inode.
    Inode,
    /// Born at another time.
    Born,
    /// Another handle: the inode number was used again.
    Handle,
}

impl DurableField {
    /// Its name, as messages spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FileSystem => "file system",
            Self::Inode => "inode",
            Self::Born => "birth time",
            Self::Handle => "file handle",
        }
    }
}

impl Durable {
    /// The first part in which two differ; none when both are one directory.
    pub fn difference(&self, other: &Self) -> Option<DurableField> {
        if self.file_system != other.file_system {
            Some(DurableField::FileSystem)
        } else if self.inode != other.inode {
            Some(DurableField::Inode)
        } else if self.born != other.born {
            Some(DurableField::Born)
        } else if self.handle != other.handle {
            Some(DurableField::Handle)
        } else {
            None
        }
    }
}

/// A sealed root inside an authority.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Which sealed root.
    pub id: RootId,
    /// Its name inside the session.
    pub label: Label,
    /// What it is for.
    pub scope: Scope,
    /// Where it was when sealed: the components of its absolute path. Denials are judged on it
    /// together with the path below; it is never opened.
    pub location: RelPath,
    /// What was sealed.
    pub identity: RootIdentity,
    /// What it is known by for good.
    pub durable: Durable,
    /// The file system it is on.
    pub file_system: FileSystem,
}
