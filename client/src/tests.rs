//! The client against a peer that follows a script: what it says, and what it makes of answers
//! that are right, late, out of order or hostile.

pub(crate) mod attached;
mod changing;
mod composing;
mod controlled;
mod decided;
mod delegated;
mod hostile;
mod recorded;
mod streamed;

use crate::{Error, ErrorCode, Session, Violation, ask};
use portcullis_protocol::VERSION;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Closing, Incarnation, Limits, More, Ping, ReadEnd, ReadPart, ReadTail, Reply, Request, Rest,
    SessionId, Steadiness, Welcome,
};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Binding, Kind, Observation, Role, RootIndex, Stamp, Timestamp};
use portcullis_transport::{Buffer, Endpoint, SessionSide, TransportError, pair};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::thread::JoinHandle;

const LIMITS: Limits = Limits {
    frame_bytes: 128 * 1024,
    content_bytes: 64 * 1024,
    in_flight: 4,
    streams: 2,
    in_flight_bytes: 512 * 1024,
    send_deadline_ms: 10_000,
};

/// A gate that does what a test says.
pub(crate) struct Gate {
    endpoint: Endpoint<SessionSide>,
    buffer: Buffer,
}

impl Gate {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self {
            endpoint: Endpoint::new(socket).unwrap(),
            buffer: Buffer::new(),
        }
    }

    pub(crate) fn next(&mut self) -> (RequestId, Request, Vec<u8>) {
        self.try_next().unwrap()
    }

    /// Nothing when the client is gone.
    pub(crate) fn try_next(&mut self) -> Option<(RequestId, Request, Vec<u8>)> {
        let packet = self.endpoint.receive(&mut self.buffer).ok()?;
        let (frame, _) = packet.decode().unwrap();
        Some((frame.id, frame.message, frame.content.to_vec()))
    }

    pub(crate) fn send(&self, id: RequestId, reply: &Reply, content: &[u8]) {
        self.endpoint
            .send(&mut Vec::new(), id, reply, content)
            .unwrap();
    }

    /// With descriptors; an error where the kernel has been told to let none pass.
    pub(crate) fn send_with(
        &self,
        id: RequestId,
        reply: &Reply,
        with: &[BorrowedFd<'_>],
    ) -> Result<(), TransportError> {
        self.endpoint.send_with(id, reply, with)
    }

    fn raw(&self, bytes: &[u8]) {
        rustix::net::send(&self.endpoint, bytes, rustix::net::SendFlags::NOSIGNAL).unwrap();
    }

    pub(crate) fn greet(&mut self) {
        let (id, request, _) = self.next();
        let Request::Hello(hello) = request else {
            panic!("{request:?} before the hello");
        };
        assert_eq!(hello.version, VERSION);
        assert_ne!(id, RequestId::NONE);
        self.send(id, &Reply::Welcome(welcome(VERSION)), &[]);
    }
}

fn welcome(version: u16) -> Welcome {
    Welcome {
        version,
        limits: LIMITS,
        incarnation: Incarnation([7; 16]),
        session: SessionId(9),
    }
}

/// A session whose gate greets and then follows `script`.
pub(crate) fn session(
    script: impl FnOnce(&mut Gate) + Send + 'static,
) -> (Session, JoinHandle<()>) {
    ungreeted(move |gate| {
        gate.greet();
        script(gate);
    })
}

/// A session whose gate follows `script` from the first byte.
fn ungreeted(script: impl FnOnce(&mut Gate) + Send + 'static) -> (Session, JoinHandle<()>) {
    let (ours, theirs) = pair().unwrap();
    let gate = std::thread::spawn(move || script(&mut Gate::new(theirs)));
    (Session::from_socket(ours).unwrap(), gate)
}

pub(crate) fn bound(path: &str) -> Binding {
    let time = Timestamp {
        seconds: 1,
        nanos: 2,
    };
    Binding {
        role: Role::Source,
        root: RootIndex(0),
        path: RelPath::parse(path.as_bytes()).unwrap(),
        observation: Observation {
            kind: Kind::File,
            mode: 0o644,
            links: 1,
            modified: time,
            stamp: Stamp {
                device: 1,
                inode: 2,
                changed: time,
                born: None,
                size: 6,
            },
        },
        link: None,
    }
}

fn end(next_offset: u64) -> ReadEnd {
    ReadEnd {
        first_line: 0,
        next_offset,
        rest: Rest::End,
        text: None,
        digest: None,
        steadiness: Steadiness::Steady,
    }
}

fn part(file: u16, offset: u64, more: More) -> ReadPart {
    ReadPart {
        file,
        offset,
        head: None,
        tail: None,
        more,
    }
}

fn violation(error: &Error) -> Violation {
    let ErrorCode::Protocol(violation) = error.code() else {
        panic!("{error:?}");
    };
    *violation
}

#[test]
fn hello_is_said_once_and_at_the_first_call() {
    let (mut session, gate) = session(|gate| {
        for _ in 0..2 {
            let (id, request, content) = gate.next();
            assert_eq!(request, Request::Ping(Ping {}));
            gate.send(id, &Reply::Pong(Ping {}), &content);
        }
        assert!(gate.try_next().is_none());
    });
    session.ping(b"one").unwrap();
    session.ping(&[5; 64 * 1024]).unwrap();
    assert_eq!(session.id().unwrap(), SessionId(9));
    assert_eq!(session.limits().unwrap().in_flight, 4);
    let too_large = session.ping(&[0; 64 * 1024 + 1]).unwrap_err();
    assert_eq!(too_large.code(), &ErrorCode::TooLarge(64 * 1024 + 1));
    drop(session);
    gate.join().unwrap();
}

#[test]
fn another_version_is_not_spoken_with() {
    let (mut session, gate) = ungreeted(|gate| {
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Welcome(welcome(2)), &[]);
    });
    let error = session.whoami().unwrap_err();
    assert_eq!(violation(&error), Violation::Version(2));
    assert_eq!(session.whoami().unwrap_err(), error);
    gate.join().unwrap();
}

#[test]
fn limits_of_no_use_are_refused() {
    let (mut session, gate) = ungreeted(|gate| {
        let (id, ..) = gate.next();
        let mut welcome = welcome(VERSION);
        welcome.limits.in_flight = 0;
        gate.send(id, &Reply::Welcome(welcome), &[]);
    });
    assert_eq!(violation(&session.whoami().unwrap_err()), Violation::Limits);
    gate.join().unwrap();
}

#[test]
fn a_refused_hello_is_a_refusal_and_the_expected_broker_is_told() {
    let (session, gate) = ungreeted(|gate| {
        let (id, request, _) = gate.next();
        let Request::Hello(hello) = request else {
            panic!("{request:?}");
        };
        assert_eq!(hello.incarnation, Some(Incarnation([3; 16])));
        let refusal = Refusal::new(Code::VersionMismatch);
        gate.send(id, &Reply::Refused(refusal), &[]);
    });
    let mut session = session.expecting(Incarnation([3; 16]));
    assert_eq!(
        session.whoami().unwrap_err().code_name(),
        "version_mismatch"
    );
    gate.join().unwrap();
}

#[test]
fn stat_gives_the_binding_and_a_refusal_leaves_the_session_usable() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        let refusal = Refusal::new(Code::NotFound).of(Verb::Stat).on(b"b");
        gate.send(id, &Reply::Refused(refusal), &[]);
        let (id, request, _) = gate.next();
        let stat = ask::stat(ask::selector("a").unwrap());
        assert_eq!(request, Request::Stat(stat));
        gate.send(id, &Reply::Stat(bound("a")), &[]);
    });
    let stat = |name| ask::stat(ask::selector(name).unwrap());
    let error = session.stat(&stat("b")).unwrap_err();
    assert_eq!(error.refusal().unwrap().code, Code::NotFound);
    assert_eq!(error.object(), Some(&b"b"[..]));
    assert_eq!(session.stat(&stat("a")).unwrap(), bound("a"));
    gate.join().unwrap();
}

#[test]
fn parts_of_several_files_are_put_together_and_one_refusal_spares_the_others() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        let first = ReadPart {
            head: Some(bound("a")),
            ..part(0, 10, More::Follows)
        };
        gate.send(id, &Reply::ReadPart(first), b"abc");
        let last = ReadPart {
            tail: Some(ReadTail::Read(end(16))),
            ..part(0, 13, More::Follows)
        };
        gate.send(id, &Reply::ReadPart(last), b"def");
        let refused = ReadPart {
            tail: Some(ReadTail::Refused(Refusal::new(Code::Denied))),
            ..part(1, 0, More::Last)
        };
        gate.send(id, &Reply::ReadPart(refused), &[]);
    });
    let names = ["a", ".env"].map(|name| ask::selector(name).unwrap());
    let read = ask::read_many(names.to_vec()).unwrap();
    let answers = session.read(&read).unwrap();
    let [Ok(a), Err(env)] = answers.as_slice() else {
        panic!("{answers:?}");
    };
    assert_eq!((a.bytes.as_slice(), a.offset), (&b"abcdef"[..], 10));
    assert_eq!(a.binding, bound("a"));
    assert_eq!(env.code, Code::Denied);
    gate.join().unwrap();
}

#[test]
fn an_echo_that_differs_is_a_violation() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Pong(Ping {}), b"two");
    });
    assert_eq!(
        violation(&session.ping(b"one").unwrap_err()),
        Violation::Echo
    );
    gate.join().unwrap();
}

#[test]
fn a_closing_is_remembered() {
    let (mut session, gate) = session(|gate| {
        gate.next();
        gate.send(RequestId::NONE, &Reply::Closing(Closing::NotReading), &[]);
    });
    let closed = ErrorCode::Closed(Some(Closing::NotReading));
    assert_eq!(session.whoami().unwrap_err().code(), &closed);
    gate.join().unwrap();
    assert_eq!(session.whoami().unwrap_err().code(), &closed);
}

#[test]
fn a_closing_that_came_between_calls_explains_the_end() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Pong(Ping {}), &[]);
        gate.send(RequestId::NONE, &Reply::Closing(Closing::NotAFrame), &[]);
    });
    session.ping(b"").unwrap();
    gate.join().unwrap();
    let error = session.ping(b"").unwrap_err();
    assert_eq!(error.code(), &ErrorCode::Closed(Some(Closing::NotAFrame)));
}

#[test]
fn the_end_of_the_socket_is_an_end_without_a_reason() {
    let (mut session, gate) = session(|gate| drop(gate.next()));
    let error = session.whoami().unwrap_err();
    assert_eq!(error.code(), &ErrorCode::Closed(None));
    assert_eq!(error.code_name(), "connection_closed");
    gate.join().unwrap();
}
