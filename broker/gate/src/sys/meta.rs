//! What a file has beside its content: permission bits, group, extended attributes; and the lease
//! that tells whether somebody is writing it.
#![expect(
    unsafe_code,
    reason = "raw system calls for what rustix does not offer"
)]

use super::change::bits;
use super::fault::point;
use rustix::fs::{Gid, XattrFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// Names of attributes one file may have, in bytes (the kernel's `XATTR_LIST_MAX`).
const NAMES_BYTES: usize = 64 * 1024;
/// Largest value of one attribute, in bytes (the kernel's `XATTR_SIZE_MAX`).
const VALUE_BYTES: usize = 64 * 1024;

/// Whether a file's readers and writers were held off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// Nobody had it open for writing, and who tries now waits.
    Held,
    /// Somebody has it open for writing.
    Writers,
    /// The file system or the file's owner does not allow to ask.
    Unavailable,
}

/// Sets the permission bits of an object that may be open as a mere path. Needs Linux 6.6. All
/// twelve bits are set: a caller gives no set-id bit that was not there.
pub fn set_mode(object: BorrowedFd<'_>, mode: u16) -> Result<(), Errno> {
    let mode = libc::c_uint::from(mode & 0o7777);
    point(|| {
        // SAFETY: the descriptor is open as long as it is borrowed, and the name is a valid, empty
        // C string, which with the flag means the descriptor's own object. The call touches no
        // other memory. No safe call exists: rustix has no `fchmodat2`.
        let result = unsafe {
            libc::syscall(
                libc::SYS_fchmodat2,
                object.as_raw_fd(),
                c"".as_ptr(),
                mode,
                libc::AT_EMPTY_PATH,
            )
        };
        if result == 0 { Ok(()) } else { Err(last()) }
    })
}

/// Sets the permission bits of an open file.
pub fn set_file_mode(file: BorrowedFd<'_>, mode: u16) -> Result<(), Errno> {
    point(|| rustix::fs::fchmod(file, bits(mode)))
}

/// Gives a file to a group.
pub fn set_group(file: BorrowedFd<'_>, group: u32) -> Result<(), Errno> {
    point(|| rustix::fs::fchown(file, None, Some(Gid::from_raw(group))))
}

/// The names of a file's attributes, each with its final zero byte. A file system without any has
/// none.
pub fn attributes(file: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    // Most files have none, and the size alone says so. An empty buffer would not: rustix gives
    // what it put there, which is nothing.
    match point(|| rustix::fs::flistxattr_query(file)) {
        Ok(0) | Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
        Ok(_) | Err(Errno::RANGE) => {}
        Err(error) => return Err(error),
    }
    let mut names = vec![0; NAMES_BYTES];
    let len = point(|| rustix::fs::flistxattr(file, names.as_mut_slice()))?;
    names.truncate(len);
    Ok(names)
}

/// The value of one attribute.
pub fn attribute(file: BorrowedFd<'_>, name: &CStr) -> Result<Vec<u8>, Errno> {
    let mut value = vec![0; VALUE_BYTES];
    let len = point(|| rustix::fs::fgetxattr(file, name, value.as_mut_slice()))?;
    value.truncate(len);
    Ok(value)
}

/// Sets one attribute.
pub fn set_attribute(file: BorrowedFd<'_>, name: &CStr, value: &[u8]) -> Result<(), Errno> {
    point(|| rustix::fs::fsetxattr(file, name, value, XattrFlags::empty()))
}

/// Takes one attribute away.
pub fn remove_attribute(file: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    point(|| rustix::fs::fremovexattr(file, name))
}

/// Asks for a lease on a file that is open for reading. It ends with the descriptor.
pub fn lease(file: BorrowedFd<'_>) -> Result<Lease, Errno> {
    let taken = point(|| {
        // SAFETY: the descriptor is open as long as it is borrowed, and this command takes a
        // number and no memory. No safe call exists: rustix has no leases.
        let result =
            unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::c_int::from(RDLCK)) };
        if result == 0 { Ok(()) } else { Err(last()) }
    });
    match taken {
        Ok(()) => Ok(Lease::Held),
        Err(Errno::AGAIN) => Ok(Lease::Writers),
        Err(Errno::ACCESS | Errno::PERM | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => {
            Ok(Lease::Unavailable)
        }
        Err(error) => Err(error),
    }
}

/// Whether a lease that was taken still holds everybody off.
pub fn lease_holds(file: BorrowedFd<'_>) -> Result<bool, Errno> {
    point(|| {
        // SAFETY: as above; this command takes nothing.
        let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLEASE) };
        if result < 0 {
            Err(last())
        } else {
            Ok(result == libc::c_int::from(RDLCK))
        }
    })
}

/// Lets a signal that a broken lease sends pass unnoticed; its default would end the process.
/// What became of a lease is asked of the lease itself.
pub fn ignore_broken_leases() -> Result<(), Errno> {
    ignore(libc::SIGIO)
}

/// Lets the signal for a file that grew too large pass unnoticed; its default would end the
/// process in the middle of an effect. The write that was too much says so itself.
pub fn ignore_size_limits() -> Result<(), Errno> {
    ignore(libc::SIGXFSZ)
}

fn ignore(signal: libc::c_int) -> Result<(), Errno> {
    // SAFETY: `SIG_IGN` is a valid action, and no handler of ours runs. No safe call exists: std
    // and rustix set no signal actions.
    let before = unsafe { libc::signal(signal, libc::SIG_IGN) };
    if before == libc::SIG_ERR {
        Err(last())
    } else {
        Ok(())
    }
}

const RDLCK: libc::c_short = libc::F_RDLCK as libc::c_short;

fn last() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
