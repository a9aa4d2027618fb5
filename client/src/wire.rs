//! The worker's end of a session socket: which answer belongs to which request, and who else may
//! have spoken there.

use crate::error::{Error, ErrorCode, Violation};
use crate::label::Excerpt;
use crate::link::{Expected, Link};
use crate::lock::ProcessLock;
use portcullis_protocol::VERSION;
use portcullis_protocol::frame::{Frame, RequestId};
use portcullis_protocol::limits::{
    CONTENT_BYTES_MAX, FRAME_BYTES_MAX, IN_FLIGHT_MAX, SEND_DEADLINE_MS, STREAMS_MAX,
};
use portcullis_protocol::session::{
    Acknowledge, Cancel, Incarnation, Limits, Reply, Request, SessionId, Welcome,
};
use portcullis_transport::{Buffer, Endpoint, WorkerSide};
use std::hash::{BuildHasher, RandomState};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Frames of another process that are passed over before the connection is given up.
const STRANGERS_MAX: u32 = 1 << 16;

/// Takes the body of one kind of reply; any other kind ends the connection.
macro_rules! match_reply {
    ($wire:expr, $reply:expr, $arm:ident) => {
        if let Reply::$arm(body) = $reply {
            Ok(body)
        } else {
            Err($wire.violated(Violation::WrongKind))
        }
    };
}

pub(crate) use match_reply;

/// The connection without its buffer, so that content can be lent from the buffer meanwhile.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) link: Link<WorkerSide>,
    pub(crate) holding: Holding,
    first_id: u32,
    pub(crate) expected: Option<Incarnation>,
    pub(crate) greeting: Option<Greeting>,
    /// The last request of another process that was told to stop.
    stranger: RequestId,
}

/// Who else may have spoken on this socket.
#[derive(Debug)]
pub(crate) enum Holding {
    /// Nobody: it came straight from the warden, or is held apart.
    Sole,
    /// Other processes that inherited it, before or after this one, but not now.
    Shared {
        /// What keeps them away until it is dropped.
        _lock: ProcessLock,
    },
}

/// What is known of the session once the gate has answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Greeting {
    pub(crate) limits: Limits,
    pub(crate) session: SessionId,
}

impl Wire {
    pub(crate) fn new(endpoint: Endpoint<WorkerSide>, holding: Holding) -> Self {
        // Ids of processes that share a socket must not meet; the gate only compares them.
        let [a, b, c, d, ..] = RandomState::new().hash_one(0).to_le_bytes();
        let first_id = u32::from_le_bytes([a, b, c, d]).max(1);
        Self {
            link: Link::new(endpoint, first_id),
            holding,
            first_id,
            expected: None,
            greeting: None,
            stranger: RequestId::NONE,
        }
    }

    /// Waits for the next frame of request `id`, and gives its content from `buffer`. A refusal is
    /// an error that ends the request; every other error but a stall ends the connection.
    pub(crate) fn answer<'b>(
        &mut self,
        buffer: &'b mut Buffer,
        id: RequestId,
    ) -> Result<(Reply, &'b [u8]), Error> {
        let (from, reply, content) = self.next(buffer, Expected::One)?;
        if from != id {
            return Err(self.violated(Violation::UnknownId(from.0)));
        }
        let reply = told(reply, content)?;
        Ok((reply, content))
    }

    /// The same of an answer with which a socket comes, and no content.
    pub(crate) fn answer_with_socket(
        &mut self,
        buffer: &mut Buffer,
        id: RequestId,
    ) -> Result<(Reply, OwnedFd), Error> {
        let (frame, sockets) = self.take(buffer, Expected::One)?;
        if frame.id != id {
            return Err(self.violated(Violation::UnknownId(frame.id.0)));
        }
        let told = told(frame.message, frame.content);
        match (told, <[OwnedFd; 1]>::try_from(sockets)) {
            (Ok(reply), Ok([socket])) => Ok((reply, socket)),
            (Err(refused), Err(none)) if none.is_empty() => Err(refused),
            (Ok(_) | Err(_), Ok(_) | Err(_)) => Err(self.violated(Violation::Descriptors)),
        }
    }

    /// Takes what comes of a request of which nothing is wanted any more, up to its end.
    pub(crate) fn drop_answer(&mut self, buffer: &mut Buffer, id: RequestId) -> Result<(), Error> {
        loop {
            match self.answer(buffer, id) {
                Ok((Reply::Entries(_) | Reply::Matches(_) | Reply::Progress(_), _)) => {}
                Ok(_) => return Ok(()),
                Err(error) if error.refusal().is_some() => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for the next frame of any request of this session.
    pub(crate) fn next<'b>(
        &mut self,
        buffer: &'b mut Buffer,
        expected: Expected,
    ) -> Result<(RequestId, Reply, &'b [u8]), Error> {
        let (frame, descriptors) = self.take(buffer, expected)?;
        if descriptors.is_empty() {
            Ok((frame.id, frame.message, frame.content))
        } else {
            Err(self.violated(Violation::Descriptors))
        }
    }

    /// The same, with what came beside it.
    fn take<'b>(
        &mut self,
        buffer: &'b mut Buffer,
        expected: Expected,
    ) -> Result<(Frame<'b, Reply>, Vec<OwnedFd>), Error> {
        match self.holding {
            Holding::Sole => {}
            Holding::Shared { .. } => self.pass_strangers(buffer)?,
        }
        let (frame, descriptors) = self.link.receive(buffer, expected)?;
        if let Reply::Closing(closing) = frame.message {
            return Err(self.link.end(Error::new(ErrorCode::Closed(Some(closing)))));
        }
        Ok((frame, descriptors))
    }

    /// Drops answers to requests of processes that had this socket before and ended in the middle,
    /// and tells the gate to stop those.
    fn pass_strangers(&mut self, buffer: &mut Buffer) -> Result<(), Error> {
        for _ in 0..STRANGERS_MAX {
            self.link.check()?;
            let Some(id) = peek_id(self.link.endpoint().as_fd()) else {
                return Ok(());
            };
            if id == RequestId::NONE || self.is_own(id) {
                return Ok(());
            }
            // A descriptor that came with it is closed here.
            let (frame, _) = self.link.receive(buffer, Expected::One)?;
            if let Reply::Delegated(delegated) = frame.message {
                self.acknowledge_for(id, delegated.session)?;
            }
            if id != self.stranger {
                self.stranger = id;
                self.cancel(id)?;
            }
        }
        Err(self.violated(Violation::UnknownId(self.stranger.0)))
    }

    /// Says for a process that is gone that the socket of its delegated session has come, so that
    /// another one can be asked for. Nobody has that socket any more, so the session is over. The
    /// answer goes where the process's other answers go.
    fn acknowledge_for(&mut self, gone: RequestId, session: SessionId) -> Result<(), Error> {
        let acknowledge = Request::Acknowledge(Acknowledge { session });
        self.link.send(gone, &acknowledge, &[]).map(|_| ())
    }

    /// Whether an id was given out here.
    fn is_own(&self, id: RequestId) -> bool {
        let given = self.link.last_id().wrapping_sub(self.first_id);
        id.0.wrapping_sub(self.first_id) <= given
    }

    /// Tells the gate to stop a request. It still ends as it would have.
    pub(crate) fn cancel(&mut self, request: RequestId) -> Result<(), Error> {
        let id = self.link.fresh_id();
        let cancel = Request::Cancel(Cancel { request: request.0 });
        self.link.send(id, &cancel, &[]).map(|_| ())
    }

    pub(crate) fn fresh_id(&mut self) -> RequestId {
        self.link.fresh_id()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.link.check().is_err()
    }

    /// Ends the connection for a violation.
    pub(crate) fn violated(&mut self, violation: Violation) -> Error {
        self.link.violated(violation)
    }

    /// The peer is gone: whether it said why before.
    pub(crate) fn last_words(&mut self, buffer: &mut Buffer, closed: Error) -> Error {
        for _ in 0..STRANGERS_MAX {
            let Ok(packet) = self.link.endpoint().receive(buffer) else {
                break;
            };
            let Ok((frame, _)) = packet.decode() else {
                break;
            };
            if let Reply::Closing(closing) = frame.message {
                return self
                    .link
                    .replace_end(Error::new(ErrorCode::Closed(Some(closing))));
            }
        }
        closed
    }

    pub(crate) fn welcomed(&mut self, welcome: &Welcome) -> Result<Greeting, Error> {
        if welcome.version != VERSION {
            return Err(self.violated(Violation::Version(welcome.version)));
        }
        self.accepted(welcome.limits, welcome.session)
    }

    /// The smaller of what both sides can do.
    pub(crate) fn accepted(
        &mut self,
        limits: Limits,
        session: SessionId,
    ) -> Result<Greeting, Error> {
        let sound = (1..=OFFERED.frame_bytes).contains(&limits.frame_bytes)
            && (1..=OFFERED.content_bytes).contains(&limits.content_bytes)
            && limits.in_flight > 0
            && limits.streams > 0;
        if !sound {
            return Err(self.violated(Violation::Limits));
        }
        let limits = Limits {
            in_flight: limits.in_flight.min(OFFERED.in_flight),
            streams: limits.streams.min(OFFERED.streams),
            in_flight_bytes: limits.in_flight_bytes.min(OFFERED.in_flight_bytes),
            ..limits
        };
        Ok(Greeting { limits, session })
    }
}

/// A refusal is an error; what an object has become is shown with it.
fn told(reply: Reply, content: &[u8]) -> Result<Reply, Error> {
    match reply {
        Reply::Refused(refusal) => Err(refusal.into()),
        Reply::Conflicted(conflicted) => {
            let region = Excerpt::new(conflicted.region, content);
            Err(Error::from(conflicted.refusal).showing(region))
        }
        reply @ (Reply::Welcome(_)
        | Reply::Whoami(_)
        | Reply::Stat(_)
        | Reply::ReadPart(_)
        | Reply::Entries(_)
        | Reply::Matches(_)
        | Reply::Done(_)
        | Reply::Why(_)
        | Reply::Pong(_)
        | Reply::Closing(_)
        | Reply::Planned(_)
        | Reply::Changed(_)
        | Reply::Uploaded(_)
        | Reply::Composed(_)
        | Reply::Delegated(_)
        | Reply::Noted(_)
        | Reply::Progress(_)) => Ok(reply),
    }
}

/// What a client of this build can take. The bytes in flight fit the smallest socket buffer an
/// endpoint accepts, so that sending them cannot block while nobody reads answers.
pub(crate) const OFFERED: Limits = Limits {
    frame_bytes: u32_of(FRAME_BYTES_MAX),
    content_bytes: u32_of(CONTENT_BYTES_MAX),
    in_flight: IN_FLIGHT_MAX,
    streams: STREAMS_MAX,
    in_flight_bytes: u32_of(FRAME_BYTES_MAX),
    send_deadline_ms: SEND_DEADLINE_MS,
};

#[expect(
    clippy::cast_possible_truncation,
    reason = "const, of two limits far below 4 GiB"
)]
const fn u32_of(limit: usize) -> u32 {
    limit as u32
}

/// The id in the header of the next packet; none when there is no whole header to see.
fn peek_id(socket: BorrowedFd<'_>) -> Option<RequestId> {
    let mut header = [0; 8];
    let flags = rustix::net::RecvFlags::PEEK;
    let (read, _) = loop {
        match rustix::net::recv(socket, &mut header, flags) {
            Err(rustix::io::Errno::INTR) => {}
            received => break received.ok()?,
        }
    };
    let [_, _, _, _, a, b, c, d] = header;
    (read == header.len()).then(|| RequestId(u32::from_le_bytes([a, b, c, d])))
}
