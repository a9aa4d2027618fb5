//! A gate that does nothing but begin and end effects: what the warden's part costs, seen from
//! where a gate sees it. Being started without arguments, it is known by the name of its file.

use crate::files;
use crate::subject::{CYCLES, Samples, Subject};
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::frame::{self, RequestId};
use portcullis_protocol::ledger::{
    Begin, CageReport, Command, Event, Finish, Intent, Setup, Step, Temporary, TreeLock,
};
use portcullis_protocol::limits::FRAME_BYTES_MAX;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{Guarantee, Outcome, Touched};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{
    Digest, Kind, ObjectId, PathState, Present, RootIndex, Stamp, Timestamp,
};
use portcullis_transport::{Buffer, Endpoint, GateSide};
use rustix::net::{RecvFlags, SendFlags};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitCode;

/// The name of its file.
pub const NAME: &str = "gate-that-only-begins-and-ends";

/// Whether this process was started as one.
pub fn is_one() -> bool {
    std::fs::read_link("/proc/self/exe").is_ok_and(|file| file.ends_with(NAME))
}

/// First tells its setup on its session socket, then answers each packet with the medians of
/// [`CYCLES`] begins and ends.
pub fn serve() -> ExitCode {
    let socket = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let ledger = Endpoint::<GateSide>::new(socket).unwrap();
    let mut buffer = Buffer::new();
    let (frame, mut descriptors) = ledger.receive(&mut buffer).unwrap().decode().unwrap();
    let Command::Setup(setup) = frame.message else {
        panic!("a gate is set up first");
    };
    let worker = descriptors.remove(0);
    if let Some(run_as) = setup.run_as {
        portcullis_gate::cage::become_user(run_as).unwrap();
    }
    let ready = Event::Ready(cage());
    let mut scratch = Vec::new();
    ledger
        .send(&mut scratch, RequestId::NONE, &ready, &[])
        .unwrap();
    frame::encode(RequestId::NONE, &Command::Setup(setup), 0, &mut scratch).unwrap();
    rustix::net::send(&worker, &scratch, SendFlags::NOSIGNAL).unwrap();
    let mut order = [0; 1];
    while let Ok((1.., _)) = rustix::net::recv(&worker, &mut order, RecvFlags::empty()) {
        let mut samples = Samples::default();
        for _ in 0..CYCLES {
            let mut ask = |subject, event: &Event, content: &[u8]| {
                samples.time(subject, || {
                    ledger
                        .send(&mut Vec::new(), RequestId::NONE, event, content)
                        .unwrap();
                    let packet = ledger.receive(&mut buffer).unwrap();
                    packet.decode().unwrap().0.message
                })
            };
            let begun = ask(Subject::Begin, &Event::Begin(begin()), &[]);
            assert!(matches!(begun, Command::Begun(_)), "{begun:?}");
            let ended = ask(Subject::Finish, &Event::Finish(finish()), &difference());
            assert!(matches!(ended, Command::Receipted(_)), "{ended:?}");
        }
        let medians: Vec<(Subject, f64)> = samples.medians().collect();
        let answer: Vec<u8> = medians.iter().flat_map(|(_, n)| n.to_le_bytes()).collect();
        rustix::net::send(&worker, &answer, SendFlags::NOSIGNAL).unwrap();
    }
    ExitCode::SUCCESS
}

/// Such a gate, from its worker's side.
pub struct OnlyBeginsAndEnds {
    socket: OwnedFd,
}

impl OnlyBeginsAndEnds {
    /// Also gives what its warden set it up with.
    pub fn new(socket: OwnedFd) -> (Self, Setup) {
        let mut room = vec![0; FRAME_BYTES_MAX];
        let (n, _) = rustix::net::recv(&socket, &mut room, RecvFlags::empty()).unwrap();
        let Command::Setup(setup) = frame::decode::<Command>(&room[..n]).unwrap().message else {
            panic!("it tells its setup first");
        };
        (Self { socket }, setup)
    }

    /// Has it take its turn.
    pub fn turn(&self, samples: &mut Samples) {
        rustix::net::send(&self.socket, &[1], SendFlags::NOSIGNAL).unwrap();
        let mut answer = [0; 16];
        let (n, _) = rustix::net::recv(&self.socket, &mut answer, RecvFlags::empty()).unwrap();
        assert_eq!(n, answer.len());
        for (subject, bytes) in [Subject::Begin, Subject::Finish]
            .into_iter()
            .zip(answer.chunks(8))
        {
            samples.add(subject, f64::from_le_bytes(bytes.try_into().unwrap()));
        }
    }
}

/// Says that nothing is missing. It is none and works for a bench.
fn cage() -> CageReport {
    CageReport {
        landlock_abi: 7,
        landlock_handled: 0xffff,
        landlock_rules: 1,
        seccomp_mode: 2,
        seccomp_digest: [0; 32],
        no_new_privs: 1,
        capabilities: 0,
        dumpable: 0,
        user: rustix::process::getuid().as_raw(),
        group: rustix::process::getgid().as_raw(),
        probes_refused: 5,
        probes_made: 5,
    }
}

fn present(inode: u64) -> PathState {
    let at = Timestamp {
        seconds: 1_800_000_000,
        nanos: 123_456_789,
    };
    PathState::Present(Present {
        kind: Kind::File,
        mode: 0o644,
        size: 4096,
        digest: Some(Digest([7; 32])),
        stamp: Some(Stamp {
            device: 64,
            inode,
            changed: at,
            born: Some(at),
            size: 4096,
        }),
    })
}

fn touched() -> Touched {
    Touched {
        verb: Verb::Write,
        root: RootIndex(0),
        path: RelPath::parse(files::path(0, 0).as_bytes()).unwrap(),
        before: present(1_000_001),
        after: present(1_000_002),
    }
}

/// As for the replacement of one file.
pub fn begin() -> Begin {
    let step = Step {
        parent: ObjectId {
            device: 64,
            inode: 1_000_000,
        },
        name: Bytes::new(files::name(0).into_bytes()).unwrap(),
        touched: touched(),
        temporary: Some(Temporary([7; 16])),
        deletion: None,
    };
    Begin {
        tree: TreeLock::Shared,
        intent: Intent {
            steps: Few::new(vec![step]).unwrap(),
            request: Digest([7; 32]),
        },
    }
}

/// Its end.
pub fn finish() -> Finish {
    Finish {
        outcome: Outcome::Done,
        guarantee: Guarantee::Exact,
        touched: Few::new(vec![touched()]).unwrap(),
        refusal: None,
        left: 0,
        diff_cut: 0,
    }
}

/// About as long as that of a replacement.
pub fn difference() -> Vec<u8> {
    files::content(0)
}
