//! Makes descriptors known to the event loop.
#![expect(
    unsafe_code,
    reason = "tokio registers descriptors only unsafely; see the SAFETY comment below"
)]

use portcullis_transport::Endpoint;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// What holds one open descriptor from its making to its end. Implemented here alone, for types
/// of which that is known.
pub(crate) trait Holds: AsFd {}

/// Its socket is private and only moves out when it is consumed.
impl<S> Holds for Endpoint<S> {}

/// It is a descriptor, borrowed for as long as the value exists.
impl Holds for BorrowedFd<'_> {}

/// It is a descriptor.
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
