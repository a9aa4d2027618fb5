//! A runtime's connection to a warden.

mod records;
mod review;
mod tasks;

pub use records::{Difference, RefusedPage};
pub use review::{Decider, Proposal};
pub use tasks::{RestoreOrder, task_input};

use crate::error::{Error, ErrorCode, Violation};
use crate::link::{Expected, Link, not_an_endpoint};
use crate::order::MintOrder;
use crate::session::{Session, client_name};
use portcullis_protocol::VERSION;
use portcullis_protocol::authority::{RootId, Scope};
use portcullis_protocol::control::{
    Answer, Build, End, Hello, Minted, Order, Over, Seal, Sealed, Sharing, Status, StatusReport,
    Unseal,
};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::path::Label;
use portcullis_protocol::session::{Incarnation, SessionId};
use portcullis_transport::{Buffer, Endpoint, RuntimeSide};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// A runtime's connection to a warden: seals roots, mints and ends sessions.
///
/// When it is dropped the warden ends every session that was minted on it.
#[derive(Debug)]
pub struct Control {
    link: Link<RuntimeSide>,
    buffer: Buffer,
    incarnation: Incarnation,
    build: Build,
    sharing: Sharing,
    /// Sessions that ended while another answer was waited for.
    over: VecDeque<Over>,
}

impl Control {
    /// Takes a connected control socket and says hello.
    pub fn new(socket: OwnedFd) -> Result<Self, Error> {
        let endpoint = Endpoint::new(socket).map_err(|error| not_an_endpoint(&error))?;
        let mut control = Self {
            link: Link::new(endpoint, 1),
            buffer: Buffer::new(),
            incarnation: Incarnation([0; 16]),
            build: Build(0),
            sharing: Sharing::Embedded,
            over: VecDeque::new(),
        };
        let hello = Order::Hello(Hello {
            version: VERSION,
            incarnation: None,
            client: client_name(),
        });
        let Answer::Welcome(welcome) = control.order_plain(&hello, &[])? else {
            return Err(control.link.violated(Violation::WrongKind));
        };
        if welcome.version != VERSION {
            return Err(control.link.violated(Violation::Version(welcome.version)));
        }
        control.incarnation = welcome.incarnation;
        control.build = welcome.build;
        control.sharing = welcome.sharing;
        Ok(control)
    }

    /// Which life of the broker this is.
    pub const fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// How new the warden's executable is.
    pub const fn build(&self) -> Build {
        self.build
    }

    /// Whether the warden serves every runtime of its user, or only this process.
    pub const fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// Seals a directory as a root. `directory` is open for reading (`O_RDONLY`, not `O_PATH`),
    /// which shows that this process may read it; it stays open here.
    pub fn seal(
        &mut self,
        directory: BorrowedFd<'_>,
        label: Label,
        scope: Scope,
    ) -> Result<Sealed, Error> {
        let answer = self.order_plain(&Order::Seal(Seal { label, scope }), &[directory])?;
        let Answer::Sealed(sealed) = answer else {
            return Err(self.link.violated(Violation::WrongKind));
        };
        Ok(sealed)
    }

    /// Opens a directory here, in the runtime, and seals it. Links in `path` are followed: it is
    /// the caller's word.
    pub fn seal_path(&mut self, path: &Path, label: Label, scope: Scope) -> Result<Sealed, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|errno| Error::cannot_open(path, errno))?;
        self.seal(directory.as_fd(), label, scope)
    }

    /// Makes a session. The gate that serves it is caged before this returns; when its cage is not
    /// whole, nothing is minted.
    pub fn mint(&mut self, order: &MintOrder) -> Result<(Minted, Session), Error> {
        let (mint, objects) = order.build()?;
        let objects: Vec<BorrowedFd<'_>> = objects.iter().map(AsFd::as_fd).collect();
        self.make(&Order::Mint(mint), &objects)
    }

    /// An order whose answer is a session.
    fn make(&mut self, order: &Order, with: &[BorrowedFd<'_>]) -> Result<(Minted, Session), Error> {
        let answered = self.order(order, with)?;
        let Answer::Minted(minted) = answered.answer else {
            return Err(self.link.violated(Violation::WrongKind));
        };
        let socket = self.one(answered.descriptors)?;
        let session = Session::from_socket(socket)?.expecting(self.incarnation);
        Ok((minted, session))
    }

    /// The one descriptor that an answer comes with.
    fn one(&mut self, descriptors: Vec<OwnedFd>) -> Result<OwnedFd, Error> {
        match <[OwnedFd; 1]>::try_from(descriptors) {
            Ok([socket]) => Ok(socket),
            Err(_) => Err(self.link.violated(Violation::Descriptors)),
        }
    }

    /// Ends a session at once.
    pub fn end(&mut self, session: SessionId) -> Result<(), Error> {
        self.done(&Order::End(End { session }))
    }

    /// Forgets a root: no new session gets it, running ones keep it.
    pub fn unseal(&mut self, root: RootId) -> Result<(), Error> {
        self.done(&Order::Unseal(Unseal { root }))
    }

    /// What is going on, on this connection.
    pub fn status(&mut self) -> Result<StatusReport, Error> {
        let answer = self.order_plain(&Order::Status(Status {}), &[])?;
        let Answer::Status(report) = answer else {
            return Err(self.link.violated(Violation::WrongKind));
        };
        Ok(report)
    }

    /// Waits until a session is over and gives its end, once. `None` when `timeout` passes first;
    /// without a timeout it waits for good. The ends of other sessions are kept for later calls.
    pub fn wait_over(
        &mut self,
        session: SessionId,
        timeout: Option<Duration>,
    ) -> Result<Option<Over>, Error> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            if let Some(at) = self.over.iter().position(|over| over.session == session) {
                return Ok(self.over.remove(at));
            }
            self.link.check()?;
            if !self.readable(deadline)? {
                return Ok(None);
            }
            if let Some(answered) = self.next()? {
                return Err(self.link.violated(Violation::UnknownId(answered.id.0)));
            }
        }
    }

    /// Ends of sessions that came and were not asked for, such as of those that workers delegated.
    /// Each is given once. It looks at nothing new: any other call on this connection does.
    pub fn overs(&mut self) -> Vec<Over> {
        self.over.drain(..).collect()
    }

    /// Whether a frame, or the end, is there before the deadline.
    fn readable(&mut self, deadline: Option<Instant>) -> Result<bool, Error> {
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = left.map(|left| Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            });
            let mut polled = [PollFd::new(self.link.endpoint(), PollFlags::IN)];
            match rustix::event::poll(&mut polled, timeout.as_ref()) {
                Ok(ready) => return Ok(ready > 0),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Error::new(ErrorCode::Io(errno.raw_os_error()))),
            }
        }
    }

    fn done(&mut self, order: &Order) -> Result<(), Error> {
        let answer = self.order_plain(order, &[])?;
        let Answer::Ended(_) = answer else {
            return Err(self.link.violated(Violation::WrongKind));
        };
        Ok(())
    }

    /// An order whose answer comes without descriptors.
    fn order_plain(&mut self, order: &Order, with: &[BorrowedFd<'_>]) -> Result<Answer, Error> {
        let answered = self.order(order, with)?;
        if answered.descriptors.is_empty() {
            Ok(answered.answer)
        } else {
            Err(self.link.violated(Violation::Descriptors))
        }
    }

    fn order(&mut self, order: &Order, with: &[BorrowedFd<'_>]) -> Result<Answered, Error> {
        let id = self.link.fresh_id();
        self.link.send_with(id, order, with)?;
        let answered = loop {
            if let Some(answered) = self.next()? {
                break answered;
            }
        };
        if answered.id != id {
            return Err(self.link.violated(Violation::UnknownId(answered.id.0)));
        }
        let Answer::Refused(refusal) = answered.answer else {
            return Ok(answered);
        };
        if answered.descriptors.is_empty() {
            Err(refusal.into())
        } else {
            Err(self.link.violated(Violation::Descriptors))
        }
    }

    /// Takes one frame. The end of a session is kept for [`Self::wait_over`]; every other is the
    /// answer to an order.
    fn next(&mut self) -> Result<Option<Answered>, Error> {
        let (frame, descriptors) = self.link.receive(&mut self.buffer, Expected::One)?;
        let id = frame.id;
        let content = frame.content.to_vec();
        let Answer::Over(over) = frame.message else {
            return Ok(Some(Answered {
                id,
                answer: frame.message,
                content,
                descriptors,
            }));
        };
        if id != RequestId::NONE || !descriptors.is_empty() {
            return Err(self.link.violated(Violation::WrongKind));
        }
        self.over.push_back(over);
        Ok(None)
    }
}

/// What came back for one order.
struct Answered {
    id: RequestId,
    answer: Answer,
    /// Of a difference or a proposal; nothing else of this endpoint carries content.
    content: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

impl AsFd for Control {
    /// The socket, to wait on together with others; nothing else should be done with it.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.endpoint().as_fd()
    }
}
