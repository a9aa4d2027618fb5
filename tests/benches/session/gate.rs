//! One session, spoken to in three ways: bare endpoint, `Session`, and `Session` for whole files.

use crate::subject::{Call, Client};
use portcullis_client::{Session, ask};
use portcullis_protocol::VERSION;
use portcullis_protocol::bounded::Few;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::session::{Hello, Limits, More, Ping, Range, Read, Reply, Request, Stat};
use portcullis_transport::{Buffer, Endpoint, WorkerSide};
use rustix::process::Pid;

/// Small reads asked for before the first answer is taken.
pub const DEPTH: usize = 32;

/// A session served by a gate of its own, spoken to bare.
pub struct Bare {
    endpoint: Endpoint<WorkerSide>,
    scratch: Vec<u8>,
    requests: Vec<(Call, Request)>,
    ping: Request,
    last: u32,
}

impl Bare {
    /// Says hello.
    pub fn new(session: Session, limits: Limits, buffer: &mut Buffer) -> Self {
        let endpoint = Endpoint::new(session.into_socket().unwrap()).unwrap();
        let requests = Call::ALL.map(|call| (call, request(call))).to_vec();
        let ping = Request::Ping(Ping {});
        let mut bare = Self {
            endpoint,
            scratch: Vec::new(),
            requests,
            ping,
            last: 0,
        };
        let hello = Hello {
            version: VERSION,
            limits,
            incarnation: None,
            client: portcullis_protocol::bounded::Text::default(),
        };
        let id = bare.fresh();
        bare.endpoint
            .send(&mut bare.scratch, id, &Request::Hello(hello), &[])
            .unwrap();
        let packet = bare.endpoint.receive(buffer).unwrap();
        assert!(matches!(
            packet.decode().unwrap().0.message,
            Reply::Welcome(_)
        ));
        bare
    }

    fn fresh(&mut self) -> RequestId {
        self.last += 1;
        RequestId(self.last)
    }

    /// Content there and back.
    pub fn echo(&mut self, content: &[u8], buffer: &mut Buffer) {
        let id = self.fresh();
        self.endpoint
            .send(&mut self.scratch, id, &self.ping, content)
            .unwrap();
        let (frame, _) = self.endpoint.receive(buffer).unwrap().decode().unwrap();
        assert!(frame.id == id && matches!(frame.message, Reply::Pong(_)));
        assert_eq!(frame.content.len(), content.len());
    }

    /// One call to its end.
    pub fn call(&mut self, call: Call, buffer: &mut Buffer) {
        self.ask(call);
        self.take(call, buffer);
    }

    /// [`DEPTH`] small reads at once, as `Session` asks for many.
    pub fn pipelined(&mut self, buffer: &mut Buffer) {
        let first = self.last + 1;
        self.last += u32::try_from(DEPTH).unwrap();
        let ids = (first..=self.last).map(RequestId);
        let (_, request) = self
            .requests
            .iter()
            .find(|(of, _)| *of == Call::Small)
            .unwrap();
        self.endpoint
            .send_many(ids.map(|id| (id, request)))
            .unwrap();
        for left in (0..DEPTH).rev() {
            let packet = match left {
                0 => self.endpoint.receive(buffer),
                _ => self.endpoint.receive_of_many(buffer),
            };
            let (frame, _) = packet.unwrap().decode().unwrap();
            assert_eq!(frame.content.len(), Call::Small.bytes());
            assert!(matches!(frame.message, Reply::ReadPart(part) if part.more == More::Last));
        }
    }

    fn ask(&mut self, call: Call) {
        let id = self.fresh();
        let (_, request) = self.requests.iter().find(|(of, _)| *of == call).unwrap();
        self.endpoint
            .send(&mut self.scratch, id, request, &[])
            .unwrap();
    }

    fn take(&mut self, call: Call, buffer: &mut Buffer) {
        let mut bytes = 0;
        loop {
            let (frame, _) = self.endpoint.receive(buffer).unwrap().decode().unwrap();
            bytes += frame.content.len();
            match frame.message {
                Reply::Stat(_) => break,
                Reply::ReadPart(part) if part.more == More::Last => break,
                Reply::ReadPart(_) => {}
                other => panic!("{call:?}: {other:?}"),
            }
        }
        assert_eq!(bytes, call.bytes());
    }
}

/// Exactly the bytes there are.
fn request(call: Call) -> Request {
    match call {
        Call::Stat => Request::Stat(stat()),
        Call::Small | Call::Frame | Call::Large => Request::Read(read(call, Client::Session)),
    }
}

fn stat() -> Stat {
    ask::stat(ask::selector(Call::Stat.path()).unwrap())
}

fn read(call: Call, client: Client) -> Read {
    let whole = ask::read(ask::selector(call.path()).unwrap());
    match client {
        Client::Whole => whole,
        Client::Raw | Client::Session => {
            let length = u64::try_from(call.bytes()).unwrap();
            Read {
                range: Range::Bytes { offset: 0, length },
                ..whole
            }
        }
    }
}

/// A session spoken to with the client's own type.
pub struct Usual {
    session: Session,
    stat: Stat,
    reads: Vec<(Call, Client, Read)>,
    many: Vec<Read>,
}

impl Usual {
    pub fn new(session: Session) -> Self {
        let mut reads = Vec::new();
        for call in [Call::Small, Call::Frame, Call::Large] {
            for client in [Client::Session, Client::Whole] {
                reads.push((call, client, read(call, client)));
            }
        }
        let many = vec![read(Call::Small, Client::Session); DEPTH];
        assert!(Few::<Read, DEPTH>::new(many.clone()).is_ok());
        Self {
            session,
            stat: stat(),
            reads,
            many,
        }
    }

    pub fn echo(&mut self, content: &[u8]) {
        self.session.ping(content).unwrap();
    }

    /// One call to its end. Content is looked at in the session's buffer, not collected.
    pub fn call(&mut self, client: Client, call: Call) {
        if call == Call::Stat {
            self.session.stat(&self.stat).unwrap();
            return;
        }
        let (.., read) = self
            .reads
            .iter()
            .find(|(c, k, _)| (*c, *k) == (call, client))
            .unwrap();
        let mut stream = self.session.read_stream(read).unwrap();
        let mut bytes = 0;
        while let Some((_, content)) = stream.next_part().unwrap() {
            bytes += content.len();
        }
        assert_eq!(bytes, call.bytes());
    }

    /// [`DEPTH`] small reads at once, each collected.
    pub fn pipelined(&mut self) {
        let answers = self.session.pipeline_read(&self.many).unwrap();
        assert_eq!(answers.len(), DEPTH);
        for answer in answers {
            assert_eq!(
                answer.unwrap()[0].as_ref().unwrap().bytes.len(),
                Call::Small.bytes()
            );
        }
    }
}

/// The processes this one has started and not reaped.
pub fn children() -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut children = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        // A process may end between being listed and being read.
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // The name in brackets may hold anything, so fields count from its end.
        let parent = stat
            .rsplit(')')
            .next()
            .and_then(|rest| rest.split_whitespace().nth(1));
        if parent.and_then(|parent| parent.parse::<i32>().ok()) == Some(own) {
            children.extend(Pid::from_raw(pid));
        }
    }
    children
}
