//! One SEQPACKET endpoint, typed by its two sides.
//!
//! A packet is a frame. What an [`Endpoint`] sends and receives follows from its [`Side`], so a
//! session endpoint cannot be handed to code that speaks control: the types differ, and on the
//! wire every frame begins with the tag of its endpoint and direction.

mod buffer;
mod receive;
mod sys;

pub use buffer::{Buffer, Filled};
pub use receive::Packet;

use portcullis_protocol::frame::{self, DecodeError, EncodeError, Message, RequestId};
use portcullis_protocol::limits::{DESCRIPTORS_MAX, FRAME_BYTES_MAX};
use portcullis_protocol::session::{Packed, Reply, Streamed};
use portcullis_protocol::view::Binding;
use portcullis_protocol::{control, ledger, session};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, MMsgHdr, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
    SocketType, sockopt,
};
use std::io::IoSlice;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// One of the six sides of the three kinds of endpoint.
pub trait Side {
    /// What this side sends.
    type Sends: Message;
    /// What this side receives.
    type Receives: Message;
    /// Whether descriptors may come with what it receives.
    const DESCRIPTORS: Descriptors;
}

/// Whether a side takes descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descriptors {
    /// It takes up to [`DESCRIPTORS_MAX`] with one frame.
    Taken,
    /// It takes one with a frame at most.
    One,
    /// It takes one with a frame while it waits for one ([`Endpoint::accept_descriptor`]); else a
    /// peer that sends one is refused by the kernel, or the frame says that one came.
    Awaited,
    /// It takes none; a peer that sends one is refused by the kernel or closed.
    Refused,
}

macro_rules! sides {
    ($($(#[$doc:meta])* $name:ident: $sends:ty => $receives:ty, $descriptors:ident;)*) => {
        $($(#[$doc])*
        #[derive(Debug)]
        pub enum $name {}
        impl Side for $name {
            type Sends = $sends;
            type Receives = $receives;
            const DESCRIPTORS: Descriptors = Descriptors::$descriptors;
        })*
    };
}

sides! {
    /// The runtime's side of control.
    RuntimeSide: control::Order => control::Answer, Taken;
    /// The warden's side of control.
    ControlSide: control::Answer => control::Order, Taken;
    /// The worker's side of a session. All it is ever given is the socket of a delegated one.
    WorkerSide: session::Request => Reply, Awaited;
    /// The gate's side of a session.
    SessionSide: Reply => session::Request, Refused;
    /// The gate's side of the ledger.
    GateSide: ledger::Event => ledger::Command, Taken;
    /// The warden's side of the ledger. A gate has one thing to hand over: its session's socket.
    LedgerSide: ledger::Command => ledger::Event, One;
}

/// Why a packet did not pass.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The peer closed, or sent an empty packet, which cannot be told from that.
    #[error("the peer closed the connection")]
    Closed,
    /// Nothing could be sent or received in time, or now.
    #[error("the peer did not keep up")]
    NotReady,
    /// The packet was longer than any frame.
    #[error("a packet longer than {FRAME_BYTES_MAX} bytes")]
    TooLong,
    /// Descriptors came where none are taken, or more than are.
    #[error("descriptors that are not taken here")]
    UnwantedDescriptors,
    /// The descriptor is no SEQPACKET socket of the local family.
    #[error("not a local SEQPACKET socket")]
    WrongSocket,
    /// The kernel gives the socket less room than one frame needs.
    #[error("socket buffer of {0} bytes, a frame needs {need}", need = 2 * FRAME_BYTES_MAX)]
    SmallBuffer(usize),
    /// The message does not fit a frame.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The packet is no frame of this endpoint.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The kernel refused.
    #[error("socket: {0}")]
    Kernel(#[from] Errno),
}

/// Content that is copied behind its head to be sent as one piece, at most; in bytes.
const COPIED_BYTES_MAX: usize = 1024;

/// What becomes of descriptors that the peer tries to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rights {
    /// The kernel refuses them at the peer, so that a packet is bytes alone and is simply read.
    RefusedBefore,
    /// They may come with a packet, and must be looked for.
    MayCome,
}

/// Holding one means: a connected local SEQPACKET socket, close-on-exec, with room for a frame.
#[derive(Debug)]
pub struct Endpoint<S> {
    socket: OwnedFd,
    rights: Rights,
    side: PhantomData<fn() -> S>,
}

/// A connected pair of sockets, both close-on-exec, with room for frames both ways. The first
/// becomes an [`Endpoint`] of one side, the second of the other.
pub fn pair() -> Result<(OwnedFd, OwnedFd), TransportError> {
    let (a, b) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    for socket in [&a, &b] {
        make_room(socket)?;
    }
    Ok((a, b))
}

/// Has the kernel refuse descriptors at the peer. Without the option (before Linux 6.16) `receive`
/// looks for them.
fn refuse(socket: BorrowedFd<'_>) -> Result<Rights, Errno> {
    match sys::pass_descriptors(socket, sys::Passing::Refused) {
        Ok(()) => Ok(Rights::RefusedBefore),
        Err(Errno::NOPROTOOPT) => Ok(Rights::MayCome),
        Err(error) => Err(error),
    }
}

/// What it means that a packet was not sent.
fn unsent(error: Errno) -> TransportError {
    match error {
        Errno::AGAIN => TransportError::NotReady,
        Errno::PIPE | Errno::CONNRESET => TransportError::Closed,
        error => error.into(),
    }
}

/// Gives a socket room for the frames it sends. Each side gives it to its own socket: an accepted
/// one does not have what the listening one was given.
pub fn make_room(socket: impl AsFd) -> Result<(), Errno> {
    sockopt::set_socket_send_buffer_size(socket, 4 * FRAME_BYTES_MAX)
}

impl<S: Side> Endpoint<S> {
    /// Takes a connected socket. Refuses another kind of socket, and one whose buffer cannot hold
    /// a frame; on a side that takes no descriptors, tells the kernel so where it can be told.
    pub fn new(socket: OwnedFd) -> Result<Self, TransportError> {
        let kind = sockopt::socket_type(&socket).map_err(|_| TransportError::WrongSocket)?;
        let domain = sockopt::socket_domain(&socket).map_err(|_| TransportError::WrongSocket)?;
        if kind != SocketType::SEQPACKET || domain != AddressFamily::UNIX {
            return Err(TransportError::WrongSocket);
        }
        let room = sockopt::socket_send_buffer_size(&socket)?;
        if room < 2 * FRAME_BYTES_MAX {
            return Err(TransportError::SmallBuffer(room));
        }
        rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
        let rights = match S::DESCRIPTORS {
            Descriptors::Taken | Descriptors::One => Rights::MayCome,
            Descriptors::Refused | Descriptors::Awaited => refuse(socket.as_fd())?,
        };
        Ok(Self {
            socket,
            rights,
            side: PhantomData,
        })
    }

    /// Bounds how long [`Self::send`] waits for a peer that does not read; then it is
    /// [`TransportError::NotReady`].
    pub fn set_send_deadline(&self, deadline: Duration) -> Result<(), TransportError> {
        Ok(sockopt::set_socket_timeout(
            &self.socket,
            sockopt::Timeout::Send,
            Some(deadline),
        )?)
    }

    /// Sends one frame whole or not at all. `scratch` is overwritten with the frame's head.
    /// Safe from several threads:
    /// the kernel keeps packets apart.
    pub fn send(
        &self,
        scratch: &mut Vec<u8>,
        id: RequestId,
        message: &S::Sends,
        content: &[u8],
    ) -> Result<(), TransportError> {
        frame::encode(id, message, content.len(), scratch)?;
        if content.len() <= COPIED_BYTES_MAX {
            let head = scratch.len();
            scratch.extend_from_slice(content);
            let sent = self.send_piece(scratch, SendFlags::NOSIGNAL);
            scratch.truncate(head);
            return sent;
        }
        let mut none = SendAncillaryBuffer::default();
        self.send_packet(scratch, content, &mut none, SendFlags::NOSIGNAL)
    }

    /// Sends one reply of many items that are encoded already: those of `items`.
    pub fn send_packed<T: Streamed>(
        &self,
        scratch: &mut Vec<u8>,
        id: RequestId,
        start: Option<&Binding>,
        (packed, items): (&Packed<T>, Range<usize>),
    ) -> Result<(), TransportError>
    where
        S: Side<Sends = Reply>,
    {
        packed.encode(items, id, start, scratch)?;
        self.send_piece(scratch, SendFlags::NOSIGNAL)
    }

    /// Sends one frame whose content is in the buffer's room already, whole or not at all. What is
    /// before the room is overwritten, as `scratch` is.
    pub fn send_room(
        &self,
        scratch: &mut Vec<u8>,
        id: RequestId,
        message: &S::Sends,
        content: Filled<'_>,
    ) -> Result<(), TransportError> {
        let Filled { buffer, len } = content;
        frame::encode(id, message, len, scratch)?;
        match buffer.headed(scratch, len) {
            Some(piece) => self.send_piece(piece, SendFlags::NOSIGNAL),
            None => {
                let mut none = SendAncillaryBuffer::default();
                self.send_packet(scratch, buffer.room(len), &mut none, SendFlags::NOSIGNAL)
            }
        }
    }

    /// Sends many frames without content, in order, in as few system calls as the kernel allows:
    /// the peer is woken once for all of them and not for each. On an error some of them may have
    /// been sent.
    pub fn send_many<'m>(
        &self,
        messages: impl IntoIterator<Item = (RequestId, &'m S::Sends)>,
    ) -> Result<(), TransportError>
    where
        S::Sends: 'm,
    {
        let mut frames = Vec::new();
        for (id, message) in messages {
            let mut encoded = Vec::new();
            frame::encode(id, message, 0, &mut encoded)?;
            frames.push(encoded);
        }
        let parts: Vec<_> = frames
            .iter()
            .map(|encoded| [IoSlice::new(encoded)])
            .collect();
        let mut sent = 0;
        while let Some(rest) = parts.get(sent..).filter(|rest| !rest.is_empty()) {
            let mut none: Vec<_> = rest
                .iter()
                .map(|_| SendAncillaryBuffer::default())
                .collect();
            let mut packets: Vec<_> = rest
                .iter()
                .zip(&mut none)
                .map(|(part, none)| MMsgHdr::new(part, none))
                .collect();
            match rustix::net::sendmmsg(&self.socket, &mut packets, SendFlags::NOSIGNAL) {
                Ok(more) => sent += more,
                Err(Errno::INTR) => {}
                Err(error) => return Err(unsent(error)),
            }
        }
        Ok(())
    }

    /// Sends one frame without content and without waiting: a peer that is not reading now gets
    /// nothing.
    pub fn try_send(
        &self,
        scratch: &mut Vec<u8>,
        id: RequestId,
        message: &S::Sends,
    ) -> Result<(), TransportError> {
        frame::encode(id, message, 0, scratch)?;
        self.send_piece(scratch, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
    }

    /// Sends one frame with descriptors, which stay open here.
    pub fn send_with(
        &self,
        id: RequestId,
        message: &S::Sends,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), TransportError> {
        self.send_all(id, message, &[], descriptors)
    }

    /// The same, with content behind it.
    pub fn send_all(
        &self,
        id: RequestId,
        message: &S::Sends,
        content: &[u8],
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), TransportError> {
        if descriptors.len() > DESCRIPTORS_MAX {
            return Err(TransportError::UnwantedDescriptors);
        }
        let mut scratch = Vec::new();
        if descriptors.is_empty() {
            return self.send(&mut scratch, id, message, content);
        }
        frame::encode(id, message, content.len(), &mut scratch)?;
        let mut space =
            vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(TransportError::UnwantedDescriptors);
        }
        self.send_packet(&scratch, content, &mut ancillary, SendFlags::NOSIGNAL)
    }

    /// A packet that is one piece of memory: `sendto` costs less than `sendmsg`.
    fn send_piece(&self, piece: &[u8], flags: SendFlags) -> Result<(), TransportError> {
        loop {
            match rustix::net::send(&self.socket, piece, flags) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(unsent(error)),
            }
        }
    }

    fn send_packet(
        &self,
        head: &[u8],
        content: &[u8],
        ancillary: &mut SendAncillaryBuffer<'_, '_, '_>,
        flags: SendFlags,
    ) -> Result<(), TransportError> {
        let parts = [IoSlice::new(head), IoSlice::new(content)];
        let used = if content.is_empty() { 1 } else { 2 };
        loop {
            let parts = parts.get(..used).unwrap_or(&parts);
            match rustix::net::sendmsg(&self.socket, parts, ancillary, flags) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(unsent(error)),
            }
        }
    }

    /// The socket, moved out.
    pub fn into_socket(self) -> OwnedFd {
        self.socket
    }
}

impl Endpoint<WorkerSide> {
    /// Lets a descriptor come with a frame, until [`Self::refuse_descriptors`].
    pub fn accept_descriptor(&mut self) -> Result<(), TransportError> {
        match sys::pass_descriptors(self.socket.as_fd(), sys::Passing::Accepted) {
            // Without the option they may always come.
            Ok(()) | Err(Errno::NOPROTOOPT) => self.rights = Rights::MayCome,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Has the kernel refuse descriptors at the peer again.
    pub fn refuse_descriptors(&mut self) -> Result<(), TransportError> {
        self.rights = refuse(self.socket.as_fd())?;
        Ok(())
    }
}

impl<S> AsFd for Endpoint<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests;
