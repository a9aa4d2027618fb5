//! A session: the capability a worker holds.

use crate::attach::{self, AttachError};
use crate::error::{Error, ErrorCode, Violation};
use crate::link::not_an_endpoint;
use crate::lock::ProcessLock;
use crate::pages::{Paged, Pages};
use crate::stream::Stream;
use crate::sys;
use crate::wire::{Greeting, Holding, OFFERED, Wire, match_reply};
use portcullis_protocol::VERSION;
use portcullis_protocol::bounded::Text;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::limits::SEND_DEADLINE_MS;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{
    Entry, Found, Glob, Hello, Identity, Incarnation, Limits, List, Ping, Reply, Request, Search,
    SessionId, Stat, Verdict, Whoami, Why,
};
use portcullis_protocol::view::Binding;
use portcullis_transport::{Buffer, Endpoint};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Command;
use std::time::Duration;

/// A session with its gate: what a worker may do, and nothing else.
///
/// The hello is said at the first call, so that a session can be handed on unused
/// ([`Self::attach`]). One request is answered at a time, except in [`Self::pipeline_read`].
///
/// The gate closes a session whose answers are not read for [`SEND_DEADLINE_MS`] milliseconds:
/// take what a stream gives without waiting for anyone else in between.
#[derive(Debug)]
pub struct Session {
    pub(crate) wire: Wire,
    pub(crate) buffer: Buffer,
    /// Number of the last upload that was begun here.
    pub(crate) last_upload: u32,
}

impl Session {
    /// Takes a connected session socket that no other process uses.
    pub fn from_socket(socket: OwnedFd) -> Result<Self, Error> {
        Self::with(socket, Holding::Sole)
    }

    /// Takes the session of this process's environment: the socket whose number is in
    /// `PORTCULLIS_SOCKET_FD`. It works once in a process. Several processes that inherited one
    /// socket take turns: another one is waited for, for a bounded time.
    pub fn from_env() -> Result<Self, Error> {
        let socket = sys::inherited_socket()?;
        let lock = ProcessLock::take(&socket)?;
        Self::with(socket, Holding::Shared { _lock: lock })
    }

    fn with(socket: OwnedFd, holding: Holding) -> Result<Self, Error> {
        let endpoint = Endpoint::new(socket).map_err(|error| not_an_endpoint(&error))?;
        endpoint
            .set_send_deadline(Duration::from_millis(u64::from(SEND_DEADLINE_MS)))
            .map_err(|error| not_an_endpoint(&error))?;
        Ok(Self {
            wire: Wire::new(endpoint, holding),
            buffer: Buffer::new(),
            last_upload: 0,
        })
    }

    /// Refuses to speak with any broker but this one.
    #[must_use]
    pub fn expecting(mut self, incarnation: Incarnation) -> Self {
        self.wire.expected = Some(incarnation);
        self
    }

    /// Gives the session to a child process, which finds it with [`Self::from_env`].
    ///
    /// The socket stays close-on-exec in this process and becomes inheritable in the child alone,
    /// between fork and exec, so that children started meanwhile do not get it. `command` keeps
    /// the socket open here: drop it after `spawn`, or the gate does not see the child's end; and
    /// spawn it once, or two children share the session. A session that has been used is given
    /// back: its answers belong here.
    pub fn attach(self, command: &mut Command) -> Result<(), AttachError> {
        if self.wire.greeting.is_some() {
            return Err(AttachError::Greeted(Box::new(self)));
        }
        attach::attach(self.wire.link.into_socket(), command)
    }

    /// The socket, unless the session has been used.
    pub fn into_socket(self) -> Result<OwnedFd, Box<Self>> {
        match self.wire.greeting {
            None => Ok(self.wire.link.into_socket()),
            Some(_) => Err(Box::new(self)),
        }
    }

    /// What bounds this session. Says hello if that has not been done.
    pub fn limits(&mut self) -> Result<Limits, Error> {
        Ok(self.greet()?.limits)
    }

    /// Which session this is. Says hello if that has not been done.
    pub fn id(&mut self) -> Result<SessionId, Error> {
        Ok(self.greet()?.session)
    }

    /// What this session may do.
    pub fn whoami(&mut self) -> Result<Identity, Error> {
        let id = self.ask(&Request::Whoami(Whoami {}), &[])?;
        let (reply, _) = self.wire.answer(&mut self.buffer, id)?;
        match_reply!(self.wire, reply, Whoami)
    }

    /// What the kernel says of one object.
    pub fn stat(&mut self, stat: &Stat) -> Result<Binding, Error> {
        let id = self.ask(&Request::Stat(stat.clone()), &[])?;
        let (reply, _) = self.wire.answer(&mut self.buffer, id)?;
        match_reply!(self.wire, reply, Stat)
    }

    /// Why a verb on an object is allowed or would be refused.
    pub fn why(&mut self, why: &Why) -> Result<Verdict, Error> {
        let id = self.ask(&Request::Why(why.clone()), &[])?;
        let (reply, _) = self.wire.answer(&mut self.buffer, id)?;
        match_reply!(self.wire, reply, Why)
    }

    /// Has the gate send `content` back, and compares.
    pub fn ping(&mut self, content: &[u8]) -> Result<(), Error> {
        let most = self.limits()?.content_bytes;
        if usize::try_from(most).is_ok_and(|most| content.len() > most) {
            return Err(Error::new(ErrorCode::TooLarge(content.len())));
        }
        let id = self.ask(&Request::Ping(Ping {}), content)?;
        let (reply, echo) = self.wire.answer(&mut self.buffer, id)?;
        let same = echo == content;
        let Ping {} = match_reply!(self.wire, reply, Pong)?;
        if same {
            Ok(())
        } else {
            Err(self.wire.violated(Violation::Echo))
        }
    }

    /// The names below a directory.
    pub fn list(&mut self, list: &List) -> Result<Stream<'_, Entry>, Error> {
        Stream::open(self, &Request::List(list.clone()))
    }

    /// The names below a directory that match a pattern.
    pub fn glob(&mut self, glob: &Glob) -> Result<Stream<'_, Entry>, Error> {
        Stream::open(self, &Request::Glob(glob.clone()))
    }

    /// The lines below a directory that match a pattern.
    pub fn search(&mut self, search: &Search) -> Result<Stream<'_, Found>, Error> {
        Stream::open(self, &Request::Search(search.clone()))
    }

    /// The same of a listing, glob or search that goes on where its limit cuts it, until it is whole.
    pub fn pages<R: Paged>(&mut self, request: &R) -> Result<Pages<'_, R>, Error> {
        Pages::open(self, request.clone())
    }

    /// Gives its turn on this socket to other processes for good. The socket stays open here, so
    /// that what was delegated from this session goes on; nothing is asked through it any more.
    #[cfg(feature = "tool")]
    pub(crate) fn stand_by(&mut self) {
        self.wire.holding = Holding::Sole;
        self.wire.link.end(Error::new(ErrorCode::Closed(None)));
    }

    /// Sends one request, after the hello.
    pub(crate) fn ask(&mut self, request: &Request, content: &[u8]) -> Result<RequestId, Error> {
        self.greet()?;
        let id = self.wire.link.fresh_id();
        self.send(id, request, content)?;
        Ok(id)
    }

    /// Sends one request that changes nothing. The first one goes together with the hello, so that
    /// the gate is woken once for both: what the hello is answered is looked at before any answer is.
    pub(crate) fn ask_to_look(&mut self, request: &Request) -> Result<RequestId, Error> {
        if self.wire.greeting.is_some() {
            return self.ask(request, &[]);
        }
        let (hello, id) = (self.wire.link.fresh_id(), self.wire.link.fresh_id());
        self.send_many([(hello, &self.hello()), (id, request)])?;
        match self.wire.answer(&mut self.buffer, hello) {
            Ok((reply, _)) => {
                let welcome = match_reply!(self.wire, reply, Welcome)?;
                self.wire.greeting = Some(self.wire.welcomed(&welcome)?);
                Ok(id)
            }
            Err(error) => {
                self.check_greeted_before(&error)?;
                // It was asked all the same; asked again once the limits are known.
                self.wire.cancel(id)?;
                self.wire.drop_answer(&mut self.buffer, id)?;
                self.wire.greeting = Some(self.ask_limits()?);
                self.ask(request, &[])
            }
        }
    }

    /// Sends many requests at once, each under its id.
    pub(crate) fn send_many<'m>(
        &mut self,
        requests: impl IntoIterator<Item = (RequestId, &'m Request)>,
    ) -> Result<(), Error> {
        let sent = self.wire.link.send_many(requests);
        match sent {
            Err(error) if *error.code() == ErrorCode::Closed(None) => {
                Err(self.wire.last_words(&mut self.buffer, error))
            }
            Ok(()) | Err(_) => sent,
        }
    }

    /// Sends one request under this id; gives its size.
    pub(crate) fn send(
        &mut self,
        id: RequestId,
        request: &Request,
        content: &[u8],
    ) -> Result<usize, Error> {
        let sent = self.wire.link.send(id, request, content);
        match sent {
            Err(error) if *error.code() == ErrorCode::Closed(None) => {
                Err(self.wire.last_words(&mut self.buffer, error))
            }
            Ok(_) | Err(_) => sent,
        }
    }

    /// Says hello once.
    fn greet(&mut self) -> Result<Greeting, Error> {
        if let Some(greeting) = self.wire.greeting {
            self.wire.link.check()?;
            return Ok(greeting);
        }
        let (id, hello) = (self.wire.link.fresh_id(), self.hello());
        self.send(id, &hello, &[])?;
        let greeting = match self.wire.answer(&mut self.buffer, id) {
            Ok((reply, _)) => {
                let welcome = match_reply!(self.wire, reply, Welcome)?;
                self.wire.welcomed(&welcome)?
            }
            Err(error) => {
                self.check_greeted_before(&error)?;
                self.ask_limits()?
            }
        };
        self.wire.greeting = Some(greeting);
        Ok(greeting)
    }

    fn hello(&self) -> Request {
        Request::Hello(Hello {
            version: VERSION,
            limits: OFFERED,
            incarnation: self.wire.expected,
            client: client_name(),
        })
    }

    /// Whether a hello failed because a process that had this socket before has said one.
    fn check_greeted_before(&self, error: &Error) -> Result<(), Error> {
        let second = error
            .refusal()
            .is_some_and(|refusal| refusal.code == Code::OutOfTurn);
        match self.wire.holding {
            Holding::Shared { .. } if second => Ok(()),
            Holding::Sole | Holding::Shared { .. } => Err(error.clone()),
        }
    }

    /// What another process was told at its hello holds for the session, and `whoami` says it again.
    fn ask_limits(&mut self) -> Result<Greeting, Error> {
        let id = self.wire.link.fresh_id();
        self.send(id, &Request::Whoami(Whoami {}), &[])?;
        let (reply, _) = self.wire.answer(&mut self.buffer, id)?;
        let identity = match_reply!(self.wire, reply, Whoami)?;
        self.wire.accepted(identity.limits, identity.session)
    }
}

impl AsFd for Session {
    /// The socket, to wait on together with others; nothing else should be done with it.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wire.link.endpoint().as_fd()
    }
}

/// Name and version of this client, for the broker's logs.
pub(crate) fn client_name() -> Text<64> {
    Text::new(concat!("portcullis-client ", env!("CARGO_PKG_VERSION"))).unwrap_or_default()
}
