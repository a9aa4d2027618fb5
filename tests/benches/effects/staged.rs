//! One real gate whose warden is this bench, so that it is seen when the gate turns to it: before
//! an effect, and after it. The real warden's setup is used, so that the gate is the same.

use crate::subject::{CYCLES, Deed, Part, Samples, Subject};
use crate::systems::Worker;
use portcullis_client::Session;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{Begun, Command, Duty, Event, ReceiptId, Setup};
use portcullis_protocol::view::Digest;
use portcullis_transport::{Buffer, Descriptors, Endpoint, Side};
use rustix::fs::{MemfdFlags, Mode, OFlags};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// The warden's side, played here.
enum Played {}

impl Side for Played {
    type Sends = Command;
    type Receives = Event;
    const DESCRIPTORS: Descriptors = Descriptors::Refused;
}

/// When a gate turned to its warden, and was answered.
#[derive(Clone, Copy)]
struct Call {
    came: Instant,
    answered: Instant,
}

/// A gate, its worker, and what its warden saw.
pub struct Staged {
    pub worker: Worker,
    calls: Receiver<Call>,
    _gate: Gate,
}

struct Gate(Child);

impl Drop for Gate {
    fn drop(&mut self) {
        // Its worker has left, or leaves now; what does not end by itself is no use either.
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Staged {
    pub fn start(executable: &Path, root: &Path, setup: &Setup) -> Self {
        let (ours, theirs) = portcullis_transport::pair().unwrap();
        let (worker, served) = portcullis_transport::pair().unwrap();
        let gate = std::process::Command::new(executable)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(root, flags, Mode::empty()).unwrap();
        let alive = rustix::fs::open("/dev/null", OFlags::RDONLY, Mode::empty()).unwrap();
        let ledger = Endpoint::<Played>::new(ours).unwrap();
        let setup = Command::Setup(Setup {
            duty: Duty::Serve,
            ..setup.clone()
        });
        let mark = rustix::fs::memfd_create("mark", MemfdFlags::CLOEXEC).unwrap();
        let descriptors = [served.as_fd(), root.as_fd(), alive.as_fd(), mark.as_fd()];
        ledger
            .send_with(RequestId::NONE, &setup, &descriptors)
            .unwrap();
        drop(served);
        let (calls, seen) = channel();
        std::thread::spawn(move || play(&ledger, &calls));
        Self {
            worker: Worker::new(Session::from_socket(worker).unwrap()),
            calls: seen,
            _gate: Gate(gate),
        }
    }

    /// Everything once or some times.
    pub fn turn(&mut self, round: usize, samples: &mut Samples) {
        self.worker.turn_to(round);
        for _ in 0..CYCLES {
            for deed in Deed::SINGLE {
                self.time(deed, samples);
            }
        }
        for deed in [Deed::CreateMany, Deed::ReplaceMany] {
            self.time(deed, samples);
        }
        self.worker.clear();
        self.calls.try_iter().for_each(drop);
    }

    /// Does it once, and keeps what each part took.
    fn time(&mut self, deed: Deed, samples: &mut Samples) {
        let start = Instant::now();
        self.worker.make(deed);
        let end = Instant::now();
        let (begun, ended) = (self.calls.recv().unwrap(), self.calls.recv().unwrap());
        let mut add = |part, from: Instant, to: Instant| {
            let nanos = to.duration_since(from).as_nanos() as f64;
            samples.add(Subject::Staged(deed, part), nanos);
        };
        add(Part::Plan, start, begun.came);
        add(Part::Confirm, begun.answered, ended.came);
        add(Part::Encode, ended.answered, end);
    }
}

/// Grants everything, records nothing.
fn play(ledger: &Endpoint<Played>, calls: &Sender<Call>) {
    let mut buffer = Buffer::new();
    let mut scratch = Vec::new();
    while let Ok(packet) = ledger.receive(&mut buffer) {
        let came = Instant::now();
        let frame = packet.decode().unwrap().0;
        let (id, event) = (frame.id, frame.message);
        let command = match event {
            Event::Begin(_) => Command::Begun(Begun {}),
            Event::Finish(_) => Command::Receipted(ReceiptId {
                number: 1,
                chain: Digest([7; 32]),
            }),
            Event::Ready(_) | Event::Finished(_) => continue,
            other => panic!("{other:?}"),
        };
        let answered = Instant::now();
        ledger.send(&mut scratch, id, &command, &[]).unwrap();
        if calls.send(Call { came, answered }).is_err() {
            return;
        }
    }
}
