//! Opening below a root: one `openat2`, always with the same four resolve flags.

use super::fault::point;
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

/// Further tries when an open fails in a way that a moment's move can cause.
const DOUBTFUL_TRIES: u32 = 3;

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
        // ours.
        const READ: OFlags = OFlags::RDONLY
            .union(OFlags::NONBLOCK)
            .union(OFlags::NOCTTY)
            .union(OFlags::CLOEXEC);
        match self {
            Self::Look => OFlags::PATH.union(OFlags::CLOEXEC),
            Self::LookAtLink => OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC),
            // NOFOLLOW beside NO_SYMLINKS: a second lock on the same door.
            Self::Content => READ.union(OFlags::NOFOLLOW),
            // Without it, because together with DIRECTORY it turns a link's ELOOP into ENOTDIR.
            Self::Entries => READ.union(OFlags::DIRECTORY),
        }
    }
}

/// Opens `path` below `root` in one system call.
pub fn below(root: BorrowedFd<'_>, path: &RelPath, purpose: Purpose) -> Result<OwnedFd, Errno> {
    // EAGAIN cannot come from `..` here, because a RelPath has none; with NONBLOCK it means that
    // another process holds a lease, which the caller reports as contended.
    let mut doubtful = 0;
    loop {
        match point(|| {
            rustix::fs::openat2(
                root,
                path.as_kernel_bytes(),
                purpose.flags(),
                Mode::empty(),
                RESOLVE,
            )
        }) {
            Err(Errno::INTR) => {}
            // A parent that is moved out of the root in the middle of the lookup ends it like a
            // mount (EXDEV) or a closed mode (EACCES, by Landlock). Only what persists is said.
            Err(Errno::XDEV | Errno::ACCESS) if doubtful < DOUBTFUL_TRIES => doubtful += 1,
            result => return result,
        }
    }
}

/// A further descriptor of an open object.
pub fn duplicate(object: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    point(|| rustix::io::fcntl_dupfd_cloexec(object, 3))
}

/// What the kernel says of an open object.
pub fn observe(object: impl AsFd) -> Result<Statx, Errno> {
    point(|| {
        rustix::fs::statx(
            &object,
            c"",
            AtFlags::EMPTY_PATH.union(AtFlags::STATX_DONT_SYNC),
            StatxFlags::BASIC_STATS.union(StatxFlags::BTIME),
        )
    })
}

/// What the kernel says of whatever has a name in a held directory; a link is the object. It
/// proves nothing but that, at one instant: compare it with an object that is held.
pub fn observe_name(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Statx, Errno> {
    point(|| {
        rustix::fs::statx(
            directory,
            name,
            AtFlags::SYMLINK_NOFOLLOW
                .union(AtFlags::STATX_DONT_SYNC)
                .union(AtFlags::NO_AUTOMOUNT),
            StatxFlags::BASIC_STATS.union(StatxFlags::BTIME),
        )
    })
}

/// The text of a link that was opened as a link.
pub fn link_text(link: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    point(|| rustix::fs::readlinkat(link, c"", Vec::new()).map(std::ffi::CString::into_bytes))
}
