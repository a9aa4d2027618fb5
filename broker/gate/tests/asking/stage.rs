//! A gate with its warden and its worker played by the test.

use portcullis_protocol::VERSION;
use portcullis_protocol::authority::{
    Authority, Budgets, Denial, Durable, FileSystem, Grant, Parts, Root, RootId, RootIdentity,
    Scope,
};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::frame::{Message as _, RequestId};
use portcullis_protocol::ledger::{Asked, CageReport, Command, Duty, Event, Setup};
use portcullis_protocol::limits::{CONTENT_BYTES_MAX, FRAME_BYTES_MAX, SEND_DEADLINE_MS};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::session::{
    Hello, Incarnation, Limits, Reply, Request, Selector, SessionId, input_digest,
};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_protocol::view::RootIndex;
use portcullis_transport::{Buffer, Endpoint, LedgerSide, WorkerSide};
use rustix::net::sockopt;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command as Process, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take before the test is lost.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn limits() -> Limits {
    let bytes = |n: usize| u32::try_from(n).unwrap();
    Limits {
        frame_bytes: bytes(FRAME_BYTES_MAX),
        content_bytes: bytes(CONTENT_BYTES_MAX),
        in_flight: 64,
        streams: 2,
        in_flight_bytes: bytes(FRAME_BYTES_MAX),
        send_deadline_ms: SEND_DEADLINE_MS,
    }
}

/// What may be done below a prefix.
pub(crate) fn grant(prefix: &str, verbs: &[Verb]) -> Grant {
    let prefix = RelPath::parse(prefix.as_bytes()).unwrap();
    Grant::whole(RootIndex(0), prefix, VerbSet::of(verbs))
}

/// An authority over one directory.
pub(crate) fn authority(grants: Vec<Grant>, asks: Vec<Grant>, denials: Vec<Denial>) -> Authority {
    Authority::seal(Parts {
        request: Text::default(),
        owner: Text::new("owner").unwrap(),
        conversation: Text::default(),
        parent: None,
        roots: vec![Root {
            id: RootId(1),
            label: Label::new("w").unwrap(),
            scope: Scope::Workspace,
            location: RelPath::parse(b"srv/w").unwrap(),
            identity: RootIdentity {
                device: 1,
                inode: 1,
                born: None,
                mount: 1,
            },
            durable: Durable {
                file_system: 1,
                inode: 1,
                born: None,
                handle: None,
            },
            file_system: FileSystem::Ext,
        }],
        grants,
        asks,
        denials,
        budgets: Budgets::default(),
        expires_ms: None,
    })
    .unwrap()
}

/// A word of a gate: its number, its content and what came with it.
pub(crate) type Said = (RequestId, Event, Vec<u8>, Vec<OwnedFd>);

/// A gate, and its ledger as the warden has it.
pub(crate) struct Gate {
    process: Child,
    ledger: Endpoint<LedgerSide>,
    pub(crate) cage: CageReport,
}

/// The worker's end of a session, and the gate's.
pub(crate) struct Sockets {
    pub(crate) worker: Worker,
    pub(crate) served: OwnedFd,
}

pub(crate) fn sockets() -> Sockets {
    let (worker, served) = portcullis_transport::pair().unwrap();
    patient(&worker);
    Sockets {
        worker: Worker(Endpoint::new(worker).unwrap()),
        served,
    }
}

fn patient(socket: impl AsFd) {
    sockopt::set_socket_timeout(socket, sockopt::Timeout::Recv, Some(PATIENCE)).unwrap();
}

impl Gate {
    pub(crate) fn start(
        directory: &Path,
        authority: &Authority,
        duty: Duty,
        served: Option<&OwnedFd>,
    ) -> Self {
        let (ours, theirs) = portcullis_transport::pair().unwrap();
        patient(&ours);
        let process = Process::new(env!("CARGO_BIN_EXE_portcullis-gate"))
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .env_clear()
            .spawn()
            .unwrap();
        let ledger = Endpoint::<LedgerSide>::new(ours).unwrap();
        let setup = Command::Setup(Setup {
            authority: authority.clone(),
            incarnation: Incarnation([3; 16]),
            session: SessionId(1),
            limits: limits(),
            run_as: None,
            duty,
            lineage: Few::default(),
            ignore: Bytes::default(),
        });
        let root = OwnedFd::from(File::open(directory).unwrap());
        let alive = OwnedFd::from(File::open("/dev/null").unwrap());
        let mark = OwnedFd::from(tempfile::tempfile().unwrap());
        let passed: Vec<_> = served.into_iter().chain([&root, &alive, &mark]).collect();
        let passed: Vec<_> = passed.iter().map(|fd| fd.as_fd()).collect();
        ledger.send_with(RequestId::NONE, &setup, &passed).unwrap();
        let mut buffer = Buffer::new();
        let (frame, _none) = ledger.receive(&mut buffer).unwrap().decode().unwrap();
        let Event::Ready(cage) = frame.message else {
            panic!("the gate is not ready: {:?}", frame.message);
        };
        assert!(cage.is_whole(), "{cage:?}");
        Self {
            process,
            ledger,
            cage,
        }
    }

    /// What the gate says next but for refusals it tells of, with its content and the descriptors.
    pub(crate) fn says(&self) -> Said {
        loop {
            match self.hear() {
                (_, Event::Refused(_), ..) => {}
                said => return said,
            }
        }
    }

    fn hear(&self) -> Said {
        let mut buffer = Buffer::new();
        let packet = self.ledger.receive(&mut buffer).unwrap();
        let (frame, descriptors) = packet.decode().unwrap();
        let content = frame.content.to_vec();
        (frame.id, frame.message, content, descriptors)
    }

    /// What the gate says next, unless its worker hears something first.
    pub(crate) fn says_or(&self, worker: &Worker) -> Option<Said> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if !is_silent(&self.ledger) {
                match self.hear() {
                    (_, Event::Refused(_), ..) => continue,
                    said => return Some(said),
                }
            }
            if !worker.has_heard_nothing() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("neither the warden nor the worker hears anything");
    }

    pub(crate) fn tell(&self, id: RequestId, command: &Command) {
        self.tell_with(id, command, b"");
    }

    pub(crate) fn tell_with(&self, id: RequestId, command: &Command, content: &[u8]) {
        self.ledger
            .send(&mut Vec::new(), id, command, content)
            .unwrap();
    }

    /// The same with a descriptor.
    pub(crate) fn pass(&self, id: RequestId, command: &Command, descriptor: BorrowedFd<'_>) {
        self.ledger.send_with(id, command, &[descriptor]).unwrap();
    }

    pub(crate) fn ask(&self, asked: Asked, content: &[u8]) {
        self.tell_with(RequestId::NONE, &Command::Asked(asked), content);
    }

    /// Closes the ledger and waits for the end.
    pub(crate) fn end(self) -> ExitStatus {
        let Self {
            mut process,
            ledger,
            ..
        } = self;
        drop(ledger);
        ended(&mut process)
    }

    /// Waits for a gate that ends by itself.
    pub(crate) fn ends(mut self) -> ExitStatus {
        ended(&mut self.process)
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }
}

fn ended(process: &mut Child) -> ExitStatus {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > until {
            process.kill().unwrap();
            panic!("the gate does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The worker's side of a session.
pub(crate) struct Worker(Endpoint<WorkerSide>);

impl Worker {
    pub(crate) fn greets(&self) {
        let hello = Hello {
            version: VERSION,
            limits: limits(),
            incarnation: None,
            client: Text::default(),
        };
        self.asks(1, &Request::Hello(hello), b"");
        assert!(matches!(self.hears(), (1, Reply::Welcome(_), _)));
    }

    pub(crate) fn asks(&self, id: u32, request: &Request, content: &[u8]) {
        self.0
            .send(&mut Vec::new(), RequestId(id), request, content)
            .unwrap();
    }

    pub(crate) fn hears(&self) -> (u32, Reply, Vec<u8>) {
        let mut buffer = Buffer::new();
        let packet = self.0.receive(&mut buffer).unwrap();
        let (frame, _none) = packet.decode().unwrap();
        (frame.id.0, frame.message, frame.content.to_vec())
    }

    /// Lets a socket come with what is heard from now on.
    pub(crate) fn takes_sockets(&mut self) {
        self.0.accept_descriptor().unwrap();
    }

    /// What is heard, with the descriptors that came.
    pub(crate) fn hears_with(&self) -> (u32, Reply, Vec<OwnedFd>) {
        let mut buffer = Buffer::new();
        let packet = self.0.receive(&mut buffer).unwrap();
        let (frame, descriptors) = packet.decode().unwrap();
        (frame.id.0, frame.message, descriptors)
    }

    /// Whether nothing came so far.
    pub(crate) fn has_heard_nothing(&self) -> bool {
        is_silent(&self.0)
    }
}

fn is_silent(socket: impl AsFd) -> bool {
    let mut room = [0_u8; 1];
    let flags = rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT;
    rustix::net::recv(socket, &mut room[..], flags).is_err()
}

pub(crate) fn selector(path: &str) -> Selector {
    Selector {
        root: None,
        path: Bytes::new(path).unwrap(),
    }
}

/// A request in the form it is asked for.
pub(crate) fn asked(id: u32, request: &Request, content: &[u8]) -> Asked {
    Asked {
        id,
        code: request.code(),
        body: Bytes::new(request.encode_body(Vec::new()).unwrap()).unwrap(),
        input: input_digest(request, content).unwrap(),
    }
}
