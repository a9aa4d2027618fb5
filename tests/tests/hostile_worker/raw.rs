//! A worker's socket without the client, and what the tests look at from outside.

use portcullis_client::Session;
use portcullis_client::protocol::VERSION;
use portcullis_client::protocol::bounded::Text;
use portcullis_client::protocol::control::{Over, OverCause};
use portcullis_client::protocol::frame::{RequestId, encode};
use portcullis_client::protocol::refusal::Code;
use portcullis_client::protocol::session::{Closing, Hello, Reply, Request, SessionId};
use portcullis_tests::{Opened, World};
use portcullis_transport::{Buffer, Endpoint, TransportError, WorkerSide};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What takes longer than this on a busy machine hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A raw worker.
pub(crate) struct Raw {
    pub(crate) endpoint: Endpoint<WorkerSide>,
    buffer: Buffer,
}

impl Raw {
    pub(crate) fn new(session: Session) -> Self {
        let endpoint = Endpoint::new(session.into_socket().unwrap()).unwrap();
        use rustix::net::sockopt::{Timeout, set_socket_timeout};
        set_socket_timeout(&endpoint, Timeout::Recv, Some(PATIENCE)).unwrap();
        Self {
            endpoint,
            buffer: Buffer::new(),
        }
    }

    /// A raw worker that said hello.
    pub(crate) fn greeted(session: Session) -> Self {
        let mut raw = Self::new(session);
        raw.ask(u32::MAX, &hello());
        assert!(matches!(
            raw.next(),
            (RequestId(u32::MAX), Reply::Welcome(_))
        ));
        raw
    }

    /// Sends any bytes as one packet.
    pub(crate) fn send(&self, packet: &[u8]) -> Result<(), rustix::io::Errno> {
        let flags = rustix::net::SendFlags::NOSIGNAL;
        rustix::net::send(self.endpoint.as_fd(), packet, flags).map(drop)
    }

    pub(crate) fn ask(&self, id: u32, request: &Request) {
        self.endpoint
            .send(&mut Vec::new(), RequestId(id), request, &[])
            .unwrap();
    }

    pub(crate) fn receive(&mut self) -> Result<(RequestId, Reply), TransportError> {
        let (frame, _) = self.endpoint.receive(&mut self.buffer)?.decode()?;
        Ok((frame.id, frame.message))
    }

    pub(crate) fn next(&mut self) -> (RequestId, Reply) {
        self.receive().unwrap()
    }

    /// The code of the refusal that comes next, for this request.
    pub(crate) fn refused(&mut self, id: u32) -> Code {
        match self.next() {
            (from, Reply::Refused(refusal)) if from == RequestId(id) => refusal.code,
            other => panic!("not a refusal of {id}: {other:?}"),
        }
    }

    /// The session goes on: it answers.
    pub(crate) fn goes_on(&mut self) {
        self.ask(
            424_242,
            &Request::Whoami(portcullis_client::protocol::session::Whoami {}),
        );
        let answer = self.next();
        assert!(
            matches!(answer, (RequestId(424_242), Reply::Whoami(_))),
            "{answer:?}"
        );
    }

    /// The end: what is said before it, if something is.
    pub(crate) fn end(&mut self) -> Option<Closing> {
        let mut said = None;
        loop {
            match self.receive() {
                Ok((RequestId(0), Reply::Closing(closing))) => said = Some(closing),
                Ok(_) => {}
                Err(TransportError::Closed) => return said,
                Err(other) => panic!("no end: {other}"),
            }
        }
    }
}

pub(crate) fn hello() -> Request {
    Request::Hello(Hello {
        version: VERSION,
        limits: portcullis_warden::default_limits(),
        incarnation: None,
        client: Text::new("hostile").unwrap(),
    })
}

/// A request as it is on the wire.
pub(crate) fn bytes_of(id: u32, request: &Request) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(RequestId(id), request, 0, &mut bytes).unwrap();
    bytes
}

/// How the session ended, when it does soon.
pub(crate) fn over(world: &mut World, session: SessionId) -> Over {
    world
        .control
        .wait_over(session, Some(PATIENCE))
        .unwrap()
        .expect("the session does not end")
}

pub(crate) fn cause(world: &mut World, session: SessionId) -> OverCause {
    over(world, session).cause
}

/// The process of a session's gate.
pub(crate) fn pid(world: &mut World, opened: &Opened) -> u32 {
    let report = world.control.status().unwrap();
    report
        .sessions
        .as_slice()
        .iter()
        .find(|r| r.session == opened.id)
        .unwrap()
        .gate
}

/// Whether a process is there, dead ones that nobody reaped included.
pub(crate) fn exists(pid: u32) -> bool {
    PathBuf::from(format!("/proc/{pid}")).exists()
}

pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A tree whose search takes long: one file under many names.
pub(crate) fn haystack(world: &World) {
    let line = b"the quick brown fox jumps over the lazy dog and goes on to the next hill\n";
    world.write("haystack/000", line.repeat(8 * 1024 * 1024 / line.len()));
    for n in 1..400 {
        let name = world.inside().join(format!("haystack/{n:03}"));
        std::fs::hard_link(world.inside().join("haystack/000"), name).unwrap();
    }
}

/// A search that takes long there.
pub(crate) fn long_search() -> portcullis_client::protocol::session::Search {
    let selector = portcullis_client::ask::selector("haystack").unwrap();
    let mut search = portcullis_client::ask::search(selector, "[a-z ]{40,60}[A-Z]zz").unwrap();
    search.syntax = portcullis_client::protocol::session::Syntax::Regex;
    search
}
