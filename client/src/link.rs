//! One connection that stops being used at the first sign that it cannot be trusted.

use crate::error::{Error, ErrorCode, Violation};
use portcullis_protocol::frame::{EncodeError, Frame, RequestId};
use portcullis_transport::{Buffer, Endpoint, Side, TransportError, WorkerSide};
use std::os::fd::{BorrowedFd, OwnedFd};

/// An endpoint, the ids given out on it, and the error that ended it, if one did.
#[derive(Debug)]
pub(crate) struct Link<S> {
    endpoint: Endpoint<S>,
    scratch: Vec<u8>,
    last_id: u32,
    /// The error every further call gives. Set once, never cleared.
    ended: Option<Error>,
}

/// How many frames are on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// One, or nobody knows.
    One,
    /// More than one.
    Many,
}

impl<S: Side> Link<S> {
    /// `first_id` is the first id given out.
    pub(crate) fn new(endpoint: Endpoint<S>, first_id: u32) -> Self {
        Self {
            endpoint,
            scratch: Vec::new(),
            last_id: first_id.wrapping_sub(1),
            ended: None,
        }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint<S> {
        &self.endpoint
    }

    pub(crate) fn into_socket(self) -> OwnedFd {
        self.endpoint.into_socket()
    }

    /// The next id, never 0.
    pub(crate) fn fresh_id(&mut self) -> RequestId {
        self.last_id = self.last_id.wrapping_add(1);
        if self.last_id == 0 {
            self.last_id = 1;
        }
        RequestId(self.last_id)
    }

    /// The error that ended the connection, if one did.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match &self.ended {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Ends the connection: this error now and from now on.
    pub(crate) fn end(&mut self, error: Error) -> Error {
        self.ended.get_or_insert(error).clone()
    }

    /// Gives a better reason for an end that is already known.
    pub(crate) fn replace_end(&mut self, error: Error) -> Error {
        self.ended.insert(error).clone()
    }

    /// The last id given out.
    pub(crate) fn last_id(&self) -> u32 {
        self.last_id
    }

    /// Ends the connection for a violation.
    pub(crate) fn violated(&mut self, violation: Violation) -> Error {
        self.end(Error::protocol(violation))
    }

    /// Sends one frame; gives its size in bytes.
    pub(crate) fn send(
        &mut self,
        id: RequestId,
        message: &S::Sends,
        content: &[u8],
    ) -> Result<usize, Error> {
        self.check()?;
        match self.endpoint.send(&mut self.scratch, id, message, content) {
            Ok(()) => Ok(self.scratch.len() + content.len()),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Sends many frames at once.
    pub(crate) fn send_many<'m>(
        &mut self,
        messages: impl IntoIterator<Item = (RequestId, &'m S::Sends)>,
    ) -> Result<(), Error>
    where
        S::Sends: 'm,
    {
        self.check()?;
        self.endpoint
            .send_many(messages)
            .map_err(|error| self.failed(error))
    }

    /// Sends one frame with descriptors.
    pub(crate) fn send_with(
        &mut self,
        id: RequestId,
        message: &S::Sends,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), Error> {
        self.check()?;
        self.endpoint
            .send_with(id, message, descriptors)
            .map_err(|error| self.failed(error))
    }

    /// Waits for one frame.
    pub(crate) fn receive<'b>(
        &mut self,
        buffer: &'b mut Buffer,
        expected: Expected,
    ) -> Result<(Frame<'b, S::Receives>, Vec<OwnedFd>), Error> {
        self.check()?;
        let received = match expected {
            Expected::One => self.endpoint.receive(buffer),
            Expected::Many => self.endpoint.receive_of_many(buffer),
        };
        match received {
            Ok(packet) => packet
                .decode()
                .map_err(|error| self.violated(Violation::Undecodable(error))),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// What a transport error means here. All but those of a frame that was not sent end the
    /// connection.
    fn failed(&mut self, error: TransportError) -> Error {
        match error {
            TransportError::NotReady => Error::new(ErrorCode::Stalled),
            TransportError::Encode(EncodeError::TooLarge(bytes)) => {
                Error::new(ErrorCode::TooLarge(bytes))
            }
            TransportError::Encode(error @ (EncodeError::NoContent | EncodeError::Serializer)) => {
                Error::invalid(error)
            }
            TransportError::Closed => self.end(Error::new(ErrorCode::Closed(None))),
            TransportError::TooLong => self.violated(Violation::TooLong),
            TransportError::UnwantedDescriptors => self.violated(Violation::Descriptors),
            TransportError::Decode(error) => self.violated(Violation::Undecodable(error)),
            TransportError::WrongSocket | TransportError::SmallBuffer(_) => {
                self.end(Error::invalid(error))
            }
            TransportError::Kernel(errno) => {
                self.end(Error::new(ErrorCode::Io(errno.raw_os_error())))
            }
        }
    }
}

impl Link<WorkerSide> {
    /// Lets a socket come with the next answers.
    pub(crate) fn accept_descriptor(&mut self) -> Result<(), Error> {
        self.check()?;
        let told = self.endpoint.accept_descriptor();
        told.map_err(|error| self.failed(error))
    }

    /// Lets none come any more.
    pub(crate) fn refuse_descriptors(&mut self) -> Result<(), Error> {
        self.check()?;
        let told = self.endpoint.refuse_descriptors();
        told.map_err(|error| self.failed(error))
    }
}

/// What an error in making an endpoint of a socket means.
pub(crate) fn not_an_endpoint(error: &TransportError) -> Error {
    match error {
        TransportError::Kernel(errno) => Error::new(ErrorCode::Io(errno.raw_os_error())),
        TransportError::Closed
        | TransportError::NotReady
        | TransportError::TooLong
        | TransportError::UnwantedDescriptors
        | TransportError::WrongSocket
        | TransportError::SmallBuffer(_)
        | TransportError::Encode(_)
        | TransportError::Decode(_) => Error::invalid(error),
    }
}
