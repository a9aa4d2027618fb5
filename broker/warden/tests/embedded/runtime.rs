//! The runtime's side: a control connection with one sealed root.

use portcullis_protocol::authority::{Budgets, Inputs, RootId, Scope};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::control::{
    Answer, Deciding, End, GrantOrder, Hello, Mint, Minted, Order, Over, RootOrder, Seal, Status,
    StatusReport, Unseal, Welcome,
};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::SessionId;
use portcullis_protocol::verb::{ModeSet, VerbSet};
use portcullis_transport::{Buffer, Endpoint, RuntimeSide, TransportError};
use portcullis_warden::{Config, Embedded, GateExecutable};
use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) fn start() -> Embedded {
    start_with(std::env::current_exe().unwrap())
}

pub(crate) fn start_with(gate: PathBuf) -> Embedded {
    Embedded::start(Config {
        gate: GateExecutable::At(gate),
        mint_deadline: Duration::from_secs(1),
        ..Config::default()
    })
    .unwrap()
}

pub(crate) struct Runtime {
    endpoint: Endpoint<RuntimeSide>,
    buffer: Buffer,
    next: u32,
    over: VecDeque<Over>,
    /// Answers to this are left out.
    ignored: RequestId,
    pub(crate) root: RootId,
}

impl Runtime {
    pub(crate) fn connect(warden: &Embedded) -> Self {
        Self::on(warden.connect().unwrap())
    }

    /// At the other end of this socket.
    pub(crate) fn on(socket: OwnedFd) -> Self {
        Self {
            endpoint: Endpoint::new(socket).unwrap(),
            buffer: Buffer::new(),
            next: 100,
            over: VecDeque::new(),
            ignored: RequestId::NONE,
            root: RootId(0),
        }
    }

    /// Said hello, and sealed a directory.
    pub(crate) fn greeted(warden: &Embedded) -> Self {
        Self::greeted_in(warden, Path::new(env!("CARGO_MANIFEST_DIR")))
    }

    /// Why its hello is refused, if it is.
    pub(crate) fn refused_hello(&mut self) -> Option<Code> {
        let hello = Order::Hello(Hello {
            version: portcullis_protocol::VERSION,
            incarnation: None,
            client: Text::default(),
        });
        let answer = self.ask(hello);
        if let Answer::Refused(refusal) = answer {
            return Some(refusal.code);
        }
        assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
        None
    }

    pub(crate) fn hello(&mut self) -> Welcome {
        let answer = self.ask(Order::Hello(Hello {
            version: portcullis_protocol::VERSION,
            incarnation: None,
            client: Text::default(),
        }));
        let Answer::Welcome(welcome) = answer else {
            panic!("{answer:?}");
        };
        welcome
    }

    /// The same, with another directory.
    pub(crate) fn greeted_in(warden: &Embedded, directory: &Path) -> Self {
        Self::greeted_on(warden.connect().unwrap(), directory)
    }

    /// The same, at the other end of this socket.
    pub(crate) fn greeted_on(socket: OwnedFd, directory: &Path) -> Self {
        let mut runtime = Self::on(socket);
        runtime.hello();
        let directory = File::open(directory).unwrap();
        let seal = Order::Seal(Seal {
            label: Label::new("w").unwrap(),
            scope: Scope::Workspace,
        });
        let answer = runtime.ask_with(&seal, &[directory.as_fd()]).0;
        let Answer::Sealed(sealed) = answer else {
            panic!("{answer:?}");
        };
        runtime.root = sealed.root;
        runtime
    }

    pub(crate) fn mint(&mut self, request: &str) -> Result<(Minted, OwnedFd), Refusal> {
        self.mint_for(request, VerbSet::READING)
    }

    pub(crate) fn mint_for(
        &mut self,
        request: &str,
        verbs: VerbSet,
    ) -> Result<(Minted, OwnedFd), Refusal> {
        let mint = self.order(request, verbs);
        self.mint_as(mint)
    }

    /// The order to mint that gives these verbs on the root.
    pub(crate) fn order(&self, request: &str, verbs: VerbSet) -> Mint {
        Mint {
            request: Text::new(request).unwrap(),
            owner: Text::default(),
            conversation: Text::default(),
            roots: Few::new(vec![RootOrder {
                root: self.root,
                label: None,
            }])
            .unwrap(),
            grants: Few::new(vec![GrantOrder {
                root: self.root,
                prefix: RelPath::root(),
                verbs,
                modes: ModeSet::ALL,
                inputs: Inputs::Any,
            }])
            .unwrap(),
            asks: Few::default(),
            budgets: Budgets::UNLIMITED,
            deciding: Deciding::Anyone,
            denials: Few::default(),
            exceptions: Few::default(),
            expires_ms: None,
            within: None,
            ignore: Bytes::default(),
        }
    }

    pub(crate) fn mint_as(&mut self, mint: Mint) -> Result<(Minted, OwnedFd), Refusal> {
        match self.ask_with(&Order::Mint(mint), &[]) {
            (Answer::Minted(minted), descriptors) => {
                let [worker] = <[OwnedFd; 1]>::try_from(descriptors).unwrap();
                Ok((minted, worker))
            }
            (Answer::Refused(refusal), _) => Err(refusal),
            (other, _) => panic!("{other:?}"),
        }
    }

    pub(crate) fn end(&mut self, session: SessionId) -> Answer {
        self.ask(Order::End(End { session }))
    }

    /// Asks to end a session, and does not wait.
    pub(crate) fn send_end(&mut self, session: SessionId) {
        self.ignored = RequestId(1_000_000);
        let order = Order::End(End { session });
        self.endpoint.send_with(self.ignored, &order, &[]).unwrap();
    }

    /// What comes with an answer behind it.
    pub(crate) fn ask_content(&mut self, order: &Order) -> (Answer, Vec<u8>) {
        self.next += 1;
        let id = RequestId(self.next);
        self.endpoint.send_with(id, order, &[]).unwrap();
        let packet = self.endpoint.receive(&mut self.buffer).unwrap();
        let (frame, _) = packet.decode().unwrap();
        assert_eq!(frame.id, id);
        (frame.message, frame.content.to_vec())
    }

    pub(crate) fn unseal(&mut self, root: RootId) -> Answer {
        self.ask(Order::Unseal(Unseal { root }))
    }

    pub(crate) fn status(&mut self) -> StatusReport {
        let answer = self.ask(Order::Status(Status {}));
        let Answer::Status(report) = answer else {
            panic!("{answer:?}");
        };
        report
    }

    /// The next session that is over.
    pub(crate) fn over(&mut self) -> Over {
        while self.over.is_empty() {
            if let Some((answer, _)) = self.receive(RequestId::NONE) {
                panic!("{answer:?}");
            }
        }
        self.over.pop_front().unwrap()
    }

    #[expect(clippy::needless_pass_by_value, reason = "shorter to call")]
    pub(crate) fn ask(&mut self, order: Order) -> Answer {
        self.ask_with(&order, &[]).0
    }

    pub(crate) fn ask_with(
        &mut self,
        order: &Order,
        with: &[BorrowedFd<'_>],
    ) -> (Answer, Vec<OwnedFd>) {
        self.next += 1;
        let id = RequestId(self.next);
        self.endpoint.send_with(id, order, with).unwrap();
        self.answer_to(id)
    }

    /// Sends bytes, and waits for the answer to request `id`.
    pub(crate) fn send_raw(&mut self, bytes: &[u8], id: u32) -> Answer {
        self.write(bytes);
        self.answer_to(RequestId(id)).0
    }

    pub(crate) fn write(&self, bytes: &[u8]) {
        rustix::net::send(&self.endpoint, bytes, rustix::net::SendFlags::NOSIGNAL).unwrap();
    }

    /// Sends orders and reads no answer until no more can be sent.
    pub(crate) fn ask_until_full(&mut self) {
        let deadline = Duration::from_millis(200);
        self.endpoint.set_send_deadline(deadline).unwrap();
        let order = Order::Status(Status {});
        while self.endpoint.send_with(RequestId(1), &order, &[]).is_ok() {}
    }

    fn answer_to(&mut self, id: RequestId) -> (Answer, Vec<OwnedFd>) {
        loop {
            if let Some(answer) = self.receive(id) {
                return answer;
            }
        }
    }

    /// One answer to `id`, or none when it told of a session that is over.
    fn receive(&mut self, id: RequestId) -> Option<(Answer, Vec<OwnedFd>)> {
        let packet = self.endpoint.receive(&mut self.buffer).unwrap();
        let (frame, descriptors) = packet.decode().unwrap();
        if let Answer::Over(over) = frame.message {
            assert_eq!(frame.id, RequestId::NONE);
            self.over.push_back(over);
            return None;
        }
        if frame.id != RequestId::NONE && frame.id == self.ignored {
            return None;
        }
        assert_eq!(frame.id, id);
        Some((frame.message, descriptors))
    }

    pub(crate) fn is_closed(&mut self) -> bool {
        let received = self.endpoint.receive(&mut self.buffer);
        matches!(received, Err(TransportError::Closed))
    }
}

/// Waits for the first byte of the gate, which comes after what it said to the warden.
pub(crate) fn wait_until_served(worker: &OwnedFd) {
    let mut byte = [0];
    let received = rustix::net::recv(worker, &mut byte, rustix::net::RecvFlags::empty());
    assert_eq!(received.unwrap().1, 1);
}

/// Whether the peer of a session socket is gone.
pub(crate) fn is_closed(socket: &OwnedFd) -> bool {
    let mut byte = [0];
    let received = rustix::net::recv(socket, &mut byte, rustix::net::RecvFlags::DONTWAIT);
    matches!(received, Ok((_, 0)) | Err(rustix::io::Errno::CONNRESET))
}

/// Whether a process runs, or is a zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Whether it has ended, and nobody has reaped it.
pub(crate) fn is_zombie(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status
        .rsplit(')')
        .next()
        .is_some_and(|rest| rest.starts_with(" Z"))
}

/// Every child of this process, zombies included.
pub(crate) fn children() -> Vec<u32> {
    let mut all = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let path = task.unwrap().path().join("children");
        // A thread may have ended since.
        let text = std::fs::read_to_string(path).unwrap_or_default();
        all.extend(
            text.split_whitespace()
                .map(|pid| pid.parse::<u32>().unwrap()),
        );
    }
    all
}

pub(crate) fn no_children_soon() {
    let end = Instant::now() + Duration::from_secs(5);
    while !children().is_empty() {
        assert!(Instant::now() < end, "processes are left: {:?}", children());
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Descriptors of this process that are not close-on-exec, in order.
pub(crate) fn inheritable() -> Vec<u32> {
    const CLOEXEC: u32 = 0o2_000_000;
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fdinfo").unwrap() {
        let path = entry.unwrap().path();
        let info = std::fs::read_to_string(&path).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        if flags.is_some_and(|f| u32::from_str_radix(f.trim(), 8).unwrap() & CLOEXEC == 0) {
            let name = path.file_name().unwrap().to_str().unwrap();
            all.push(name.parse().unwrap());
        }
    }
    all.sort_unstable();
    all
}
