//! A transport endpoint that waits without blocking its thread.

use crate::sys::{Watched, watch};
use portcullis_protocol::frame::{DecodeError, RequestId};
use portcullis_transport::{Buffer, Endpoint, Side, TransportError};
use rustix::io::Errno;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, timeout_at};

/// One received message with its descriptors.
pub(crate) struct Received<S: Side> {
    pub(crate) id: RequestId,
    pub(crate) message: S::Receives,
    /// What came behind it.
    pub(crate) content: Vec<u8>,
    pub(crate) descriptors: Vec<OwnedFd>,
}

/// Why no message came.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReceiveError {
    /// The packet did not pass.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// It came, and is not understood. Its descriptors are closed.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// Holding one means: a sound endpoint whose socket does not block, known to the event loop of
/// the thread that made it.
pub(crate) struct Socket<S: Side>(AsyncFd<Watched<Endpoint<S>>>);

impl<S: Side> Socket<S> {
    /// Takes a connected socket. Only inside the event loop.
    pub(crate) fn new(socket: OwnedFd) -> Result<Self, TransportError> {
        let endpoint = Endpoint::new(socket)?;
        rustix::io::ioctl_fionbio(&endpoint, true)?;
        // Not for room to write, of which there nearly always is some: the kernel tells of it each
        // time the peer takes a packet, and each time the event loop would be woken for nothing.
        Ok(Self(watch(endpoint, Interest::READABLE).map_err(kernel)?))
    }

    /// Waits for one message. Nothing is lost when the wait is given up.
    pub(crate) async fn receive(
        &self,
        buffer: &Mutex<Buffer>,
    ) -> Result<Received<S>, ReceiveError> {
        loop {
            let mut guard = self.0.readable().await.map_err(kernel)?;
            match self.receive_now(buffer) {
                Err(ReceiveError::Transport(TransportError::NotReady)) => guard.clear_ready(),
                other => return other,
            }
        }
    }

    /// Takes a message that is already here, else [`TransportError::NotReady`].
    pub(crate) fn receive_now(&self, buffer: &Mutex<Buffer>) -> Result<Received<S>, ReceiveError> {
        // A buffer holds nothing between packets, so one that a panic left behind is as good.
        let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
        let packet = self.0.get_ref().get().receive(&mut buffer)?;
        let (frame, descriptors) = packet.decode()?;
        Ok(Received {
            id: frame.id,
            content: frame.content.to_vec(),
            message: frame.message,
            descriptors,
        })
    }

    /// Sends one message whole or not at all; a peer that leaves no room until the deadline is
    /// [`TransportError::NotReady`]. The descriptors stay open here.
    pub(crate) async fn send(
        &self,
        id: RequestId,
        message: &S::Sends,
        descriptors: &[BorrowedFd<'_>],
        deadline: Duration,
    ) -> Result<(), TransportError> {
        self.sending(deadline, |to| to.send_with(id, message, descriptors))
            .await
    }

    /// The same, with content behind it and no descriptors.
    pub(crate) async fn send_content(
        &self,
        id: RequestId,
        message: &S::Sends,
        content: &[u8],
        deadline: Duration,
    ) -> Result<(), TransportError> {
        let mut scratch = Vec::new();
        self.sending(deadline, |to| to.send(&mut scratch, id, message, content))
            .await
    }

    async fn sending(
        &self,
        deadline: Duration,
        mut send: impl FnMut(&Endpoint<S>) -> Result<(), TransportError>,
    ) -> Result<(), TransportError> {
        match send(self.0.get_ref().get()) {
            Err(TransportError::NotReady) => {}
            other => return other,
        }
        let deadline = Instant::now() + deadline;
        // A second name of the socket, which the event loop can watch beside the first, for as
        // long as this waits. Room that is there already is told at once.
        let second = rustix::io::fcntl_dupfd_cloexec(self.0.get_ref().get(), 3)?;
        let room = watch(second, Interest::WRITABLE).map_err(kernel)?;
        loop {
            let mut guard = timeout_at(deadline, room.writable())
                .await
                .map_err(|_| TransportError::NotReady)?
                .map_err(kernel)?;
            match send(self.0.get_ref().get()) {
                Err(TransportError::NotReady) => guard.clear_ready(),
                other => return other,
            }
        }
    }
}

/// The same error, as the transport says it.
#[expect(clippy::needless_pass_by_value, reason = "shaped for map_err")]
fn kernel(error: io::Error) -> TransportError {
    TransportError::Kernel(Errno::from_io_error(&error).unwrap_or(Errno::IO))
}
