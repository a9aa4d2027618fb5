//! Makes descriptors known to the event loop, and asks who is at the other end of a socket.
#![expect(
    unsafe_code,
    reason = "tokio registers descriptors only unsafely, and one socket option has no safe call; \
              see the SAFETY comments below"
)]

use portcullis_transport::Endpoint;
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// What holds one open descriptor from its making to its end. Implemented here alone, for types
/// of which that is known.
pub(crate) trait Holds: AsFd {}

/// Its socket is private and only moves out when it is consumed.
impl<S> Holds for Endpoint<S> {}

/// It is a descriptor, borrowed for as long as the value exists.
impl Holds for BorrowedFd<'_> {}

/// It is a descriptor, owned for as long as the value exists.
impl Holds for OwnedFd {}

/// A holder, in the shape the event loop wants. It is never taken out again.
#[derive(Debug)]
pub(crate) struct Watched<F>(F);

impl<F> Watched<F> {
    pub(crate) const fn get(&self) -> &F {
        &self.0
    }
}

impl<F: Holds> AsRawFd for Watched<F> {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

/// Makes `holder` known to the event loop of this thread. Only inside it.
pub(crate) fn watch<F: Holds>(holder: F, interest: Interest) -> io::Result<AsyncFd<Watched<F>>> {
    // SAFETY: the descriptor must be open and the same until the `AsyncFd` is dropped, and every
    // `as_raw_fd` must give it: `Holds` is implemented only for types that hold one descriptor
    // for their whole life, `Watched` gives no way to move or change the holder inside, and the
    // `AsyncFd` drops its registration before it drops the holder. No safe call exists: tokio's
    // safe constructors are deprecated for not being able to demand this.
    unsafe { AsyncFd::register_with_interest(Watched(holder), interest) }.map_err(io::Error::from)
}

/// `SO_PEERPIDFD` of `<asm-generic/socket.h>`, Linux 6.5.
const SO_PEERPIDFD: libc::c_int = 77;

/// The process that connected, as it was then. Before Linux 6.5 this is [`Errno::NOPROTOOPT`];
/// [`Errno::NODATA`] and [`Errno::SRCH`] mean that it is gone.
pub(crate) fn peer_pidfd(socket: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let mut number: libc::c_int = -1;
    let mut size = libc::socklen_t::try_from(size_of_val(&number)).map_err(|_| Errno::INVAL)?;
    // SAFETY: the descriptor is borrowed and thus open for the call; `number` is a live `c_int`
    // and `size` its size, as the kernel wants for this option; it writes both. No safe call
    // exists: neither std nor rustix 1.1 knows this option.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut number).cast(),
            &raw mut size,
        )
    };
    if result != 0 || number < 0 {
        return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL));
    }
    // SAFETY: the kernel has just made this descriptor for this process and told its number to
    // nobody else. It is close-on-exec, as every pidfd is.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
