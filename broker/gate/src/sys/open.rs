//! Opening below a root: one `openat2`, always with the same four resolve flags.

use portcullis_protocol::path::RelPath;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Statx, StatxFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Containment is decided by the kernel in the call that opens: never above the root, through no
/// link, no magic link and no other mount.
pub const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV)
    .union(ResolveFlags::NO_SYMLINKS);

/// What an object is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To look at it; a link in the last component is an error.
    Look,
    /// To look at it; a link in the last component is the object.
    LookAtLink,
    /// To read its content.
    Content,
    /// To list it; anything but a directory is an error.
    Entries,
}

impl Purpose {
    const fn flags(self) -> OFlags {
        // NONBLOCK: a FIFO or a leased file must not hold the gate. NOCTTY: no terminal becomes
        // ours. NOFOLLOW beside NO_SYMLINKS: a second lock on the same door.
        const READ: OFlags = OFlags::RDONLY
            .union(OFlags::NONBLOCK)
            .union(OFlags::NOCTTY)
            .union(OFlags::NOFOLLOW)
            .union(OFlags::CLOEXEC);
        match self {
            Self::Look => OFlags::PATH.union(OFlags::CLOEXEC),
            Self::LookAtLink => OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC),
            Self::Content => READ,
            Self::Entries => READ.union(OFlags::DIRECTORY),
        }
    }
}

/// Opens `path` below `root` in one system call.
pub fn below(root: BorrowedFd<'_>, path: &RelPath, purpose: Purpose) -> Result<OwnedFd, Errno> {
    // EAGAIN cannot come from `..` here, because a RelPath has none; with NONBLOCK it means that
    // another process holds a lease, which the caller reports as contended.
    loop {
        match rustix::fs::openat2(
            root,
            path.as_kernel_bytes(),
            purpose.flags(),
            Mode::empty(),
            RESOLVE,
        ) {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

/// Opens one `name` of an open directory, with the same flags. For walks, whose directory was
/// opened from the root a moment ago.
pub fn child(directory: BorrowedFd<'_>, name: &[u8], purpose: Purpose) -> Result<OwnedFd, Errno> {
    loop {
        match rustix::fs::openat2(directory, name, purpose.flags(), Mode::empty(), RESOLVE) {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

/// What the kernel says of an open object.
pub fn observe(object: impl AsFd) -> Result<Statx, Errno> {
    rustix::fs::statx(
        object,
        c"",
        AtFlags::EMPTY_PATH.union(AtFlags::STATX_DONT_SYNC),
        StatxFlags::BASIC_STATS.union(StatxFlags::BTIME),
    )
}

/// What the kernel says of one `name` of an open directory; a link is not followed. `name` has no
/// slash, so nothing is traversed.
pub fn observe_child(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Statx, Errno> {
    rustix::fs::statx(
        directory,
        name,
        AtFlags::SYMLINK_NOFOLLOW
            .union(AtFlags::NO_AUTOMOUNT)
            .union(AtFlags::STATX_DONT_SYNC),
        StatxFlags::BASIC_STATS.union(StatxFlags::BTIME),
    )
}

/// The text of a link that was opened as a link.
pub fn link_text(link: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    rustix::fs::readlinkat(link, c"", Vec::new()).map(std::ffi::CString::into_bytes)
}

/// The text of the link `name` of an open directory.
pub fn link_text_of(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Vec<u8>, Errno> {
    rustix::fs::readlinkat(directory, name, Vec::new()).map(std::ffi::CString::into_bytes)
}
