//! Receiving: one packet, of one that is waited for or of many.

use crate::{Buffer, Descriptors, Endpoint, Rights, Side, TransportError};
use portcullis_protocol::frame::{self, DecodeError, Frame};
use portcullis_protocol::limits::{DESCRIPTORS_MAX, FRAME_BYTES_MAX};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags};
use std::io::IoSliceMut;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

/// A received packet, not yet decoded.
#[derive(Debug)]
pub struct Packet<'a, S> {
    bytes: &'a [u8],
    descriptors: Vec<OwnedFd>,
    side: PhantomData<S>,
}

impl<'a, S: Side> Packet<'a, S> {
    /// Decodes it and hands over its descriptors.
    pub fn decode(self) -> Result<(Frame<'a, S::Receives>, Vec<OwnedFd>), DecodeError> {
        Ok((frame::decode(self.bytes)?, self.descriptors))
    }
}

/// A packet in a buffer that is not lent yet.
struct Taken {
    bytes: usize,
    descriptors: Vec<OwnedFd>,
}

impl Taken {
    fn of<S>(self, buffer: &Buffer) -> Result<Packet<'_, S>, TransportError> {
        match buffer.filled(self.bytes) {
            Some([]) | None => Err(TransportError::Closed),
            Some(bytes) => Ok(Packet {
                bytes,
                descriptors: self.descriptors,
                side: PhantomData,
            }),
        }
    }
}

/// What it means that no packet was taken.
fn untaken(error: Errno) -> TransportError {
    match error {
        Errno::AGAIN => TransportError::NotReady,
        Errno::CONNRESET => TransportError::Closed,
        error => error.into(),
    }
}

impl<S: Side> Endpoint<S> {
    /// Waits for one packet.
    pub fn receive<'b>(&self, buffer: &'b mut Buffer) -> Result<Packet<'b, S>, TransportError> {
        self.wait(buffer).and_then(|taken| taken.of(buffer))
    }

    fn wait(&self, buffer: &mut Buffer) -> Result<Taken, TransportError> {
        match self.rights {
            Rights::RefusedBefore => self.plain(buffer),
            Rights::MayCome => self.packet(buffer, RecvFlags::empty()),
        }
    }

    /// A packet of bytes alone: `read` costs less than `recvmsg`.
    fn plain(&self, buffer: &mut Buffer) -> Result<Taken, TransportError> {
        let bytes = loop {
            match rustix::io::read(&self.socket, buffer.room_and_beyond()) {
                Ok(bytes) => break bytes,
                Err(Errno::INTR) => {}
                Err(error) => return Err(untaken(error)),
            }
        };
        if bytes > FRAME_BYTES_MAX {
            return Err(TransportError::TooLong);
        }
        Ok(Taken {
            bytes,
            descriptors: Vec::new(),
        })
    }

    /// Waits for one packet where more are expected than one. On a core that the two sides share,
    /// a side that sleeps is woken by the first packet and stops the other after each; so this one
    /// steps back once before it sleeps, and finds what the other sent meanwhile.
    pub fn receive_of_many<'b>(
        &self,
        buffer: &'b mut Buffer,
    ) -> Result<Packet<'b, S>, TransportError> {
        self.receive_or(buffer, rustix::thread::sched_yield)
    }

    /// Takes a packet that has come. When none has, calls `idle` once and then waits.
    pub fn receive_or<'b>(
        &self,
        buffer: &'b mut Buffer,
        idle: impl FnOnce(),
    ) -> Result<Packet<'b, S>, TransportError> {
        let taken = match self.packet(buffer, RecvFlags::DONTWAIT) {
            Err(TransportError::NotReady) => {
                idle();
                self.wait(buffer)
            }
            taken => taken,
        };
        taken.and_then(|taken| taken.of(buffer))
    }

    fn packet(&self, buffer: &mut Buffer, how: RecvFlags) -> Result<Taken, TransportError> {
        let mut descriptors = Vec::new();
        let (bytes, flags) = loop {
            let received = match (S::DESCRIPTORS, self.rights) {
                (Descriptors::Refused, _) | (Descriptors::Awaited, Rights::RefusedBefore) => {
                    self.receive_into(buffer, &mut RecvAncillaryBuffer::default(), how)
                }
                (Descriptors::Taken | Descriptors::One, _)
                | (Descriptors::Awaited, Rights::MayCome) => {
                    let room = match S::DESCRIPTORS {
                        Descriptors::Taken => rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX)),
                        Descriptors::One | Descriptors::Awaited | Descriptors::Refused => {
                            rustix::cmsg_space!(ScmRights(1))
                        }
                    };
                    let mut space = vec![MaybeUninit::uninit(); room];
                    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
                    let received = self.receive_into(buffer, &mut ancillary, how);
                    for message in ancillary.drain() {
                        if let RecvAncillaryMessage::ScmRights(rights) = message {
                            descriptors.extend(rights);
                        }
                    }
                    received
                }
            };
            match received {
                Ok(received) => break received,
                Err(Errno::INTR) => {}
                Err(error) => return Err(untaken(error)),
            }
        };
        if flags.contains(ReturnFlags::TRUNC) {
            return Err(TransportError::TooLong);
        }
        // Room for one is aligned, and so is room for two.
        let too_many = match S::DESCRIPTORS {
            Descriptors::One | Descriptors::Awaited => descriptors.len() > 1,
            Descriptors::Taken | Descriptors::Refused => false,
        };
        if flags.contains(ReturnFlags::CTRUNC) || too_many {
            return Err(TransportError::UnwantedDescriptors);
        }
        Ok(Taken { bytes, descriptors })
    }

    fn receive_into(
        &self,
        buffer: &mut Buffer,
        ancillary: &mut RecvAncillaryBuffer<'_>,
        how: RecvFlags,
    ) -> Result<(usize, ReturnFlags), Errno> {
        let mut parts = [IoSliceMut::new(buffer.room(FRAME_BYTES_MAX))];
        let flags = how | RecvFlags::CMSG_CLOEXEC;
        rustix::net::recvmsg(&self.socket, &mut parts, ancillary, flags)
            .map(|received| (received.bytes, received.flags))
    }
}
