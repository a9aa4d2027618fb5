//! The one socket option that no library wraps.
#![expect(
    unsafe_code,
    reason = "rustix has no SO_PASSRIGHTS; see the SAFETY comment below"
)]

use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `SO_PASSRIGHTS` of `<asm-generic/socket.h>`, Linux 6.16.
const SO_PASSRIGHTS: libc::c_int = 83;

/// What the kernel does with descriptors that a peer tries to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passing {
    /// They come with their packet.
    Accepted,
    /// The peer's `sendmsg` fails with `EPERM`.
    Refused,
}

/// Tells the kernel. Before Linux 6.16 the option is unknown and this is [`Errno::NOPROTOOPT`];
/// then descriptors always come, and are dropped when received instead.
pub(crate) fn pass_descriptors(socket: BorrowedFd<'_>, passing: Passing) -> Result<(), Errno> {
    let value: libc::c_int = match passing {
        Passing::Accepted => 1,
        Passing::Refused => 0,
    };
    let size = libc::socklen_t::try_from(size_of_val(&value)).map_err(|_| Errno::INVAL)?;
    // SAFETY: the descriptor is borrowed and thus open for the call; `value` is a live `c_int` and
    // `size` is its size, as `setsockopt` wants for an integer option; the kernel only reads it.
    // No safe call exists: neither std nor rustix 1.1 knows this option.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PASSRIGHTS,
            (&raw const value).cast(),
            size,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL))
    }
}
