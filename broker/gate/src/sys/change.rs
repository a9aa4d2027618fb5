//! Calls that change a tree, each on a name in a held directory: one component, never followed.

use super::fault::point;
use super::open::RESOLVE;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::os::fd::{BorrowedFd, OwnedFd};

/// A new file without a name, to be given one in `directory`: its defaults, its quota. Readable,
/// because an upload may have to be copied.
pub fn temporary(directory: BorrowedFd<'_>, mode: u16) -> Result<OwnedFd, Errno> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    point(|| rustix::fs::openat2(directory, ".", flags, bits(mode), RESOLVE))
}

/// Writes all of `bytes` at `offset`.
pub fn write_at(file: BorrowedFd<'_>, bytes: &[u8], offset: u64) -> Result<(), Errno> {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        let at = offset.saturating_add(u64::try_from(done).unwrap_or(u64::MAX));
        match point(|| rustix::io::pwrite(file, rest, at)) {
            // A file system that takes nothing and says nothing would be waited for forever.
            Ok(0) => return Err(Errno::IO),
            Ok(n) => done += n,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Cuts a file of our own to nothing.
pub fn truncate(file: BorrowedFd<'_>) -> Result<(), Errno> {
    point(|| rustix::fs::ftruncate(file, 0))
}

/// Gives a file without a name one; never replaces.
pub fn give_name(
    file: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
    name: &[u8],
) -> Result<(), Errno> {
    point(|| rustix::fs::linkat(file, "", directory, name, AtFlags::EMPTY_PATH))
}

/// Exchanges what two names lead to. Both must exist.
pub fn exchange(
    from: BorrowedFd<'_>,
    name: &[u8],
    to: BorrowedFd<'_>,
    other: &[u8],
) -> Result<(), Errno> {
    point(|| rustix::fs::renameat_with(from, name, to, other, RenameFlags::EXCHANGE))
}

/// Gives an object another name; never replaces.
pub fn rename(
    from: BorrowedFd<'_>,
    name: &[u8],
    to: BorrowedFd<'_>,
    other: &[u8],
) -> Result<(), Errno> {
    point(|| rustix::fs::renameat_with(from, name, to, other, RenameFlags::NOREPLACE))
}

/// Removes a name that is not a directory's.
pub fn remove(directory: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    point(|| rustix::fs::unlinkat(directory, name, AtFlags::empty()))
}

/// Removes an empty directory.
pub fn remove_directory(directory: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    point(|| rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR))
}

/// Makes a directory; never replaces.
pub fn make_directory(directory: BorrowedFd<'_>, name: &[u8], mode: u16) -> Result<(), Errno> {
    point(|| rustix::fs::mkdirat(directory, name, bits(mode)))
}

/// Makes a symbolic link; never replaces.
pub fn make_link(text: &[u8], directory: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    point(|| rustix::fs::symlinkat(text, directory, name))
}

/// Permission bits as the kernel takes them; set-id and sticky bits cannot be said here.
pub(super) fn bits(mode: u16) -> Mode {
    Mode::from_raw_mode((mode & 0o777).into())
}
