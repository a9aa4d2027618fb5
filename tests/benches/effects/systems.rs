//! All processes of the comparison, and one round of measuring them.

use crate::clock::median_of_batches;
use crate::files;
use crate::journal::Journal;
use crate::peer::{Peer, Role};
use crate::staged::Staged;
use crate::subject::{CYCLES, Cage, Deed, MANY, Samples, Short, Subject, Times};
use crate::wire::{self, OnlyBeginsAndEnds};
use portcullis_client::{Changes, Control, MintOrder, Session, ask, change};
use portcullis_protocol::authority::Scope;
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::session::Outcome;
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::{own, privileged};
use portcullis_warden::{Config, Embedded, GateExecutable, StatePlace};
use rustix::fs::{Gid, Uid};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The owner of the gates' roots, when the bench runs as root.
const ORDINARY: u32 = 1234;
/// Pings in one round.
const PINGS: usize = 240;
/// Long enough for a profile.
const SPIN: Duration = Duration::from_secs(5);

/// A session that changes files. Its changes are built before, and each is made again and again.
pub struct Worker {
    session: Session,
    changes: Vec<(Deed, Changes)>,
    cleared: Changes,
}

impl Worker {
    pub fn new(session: Session) -> Self {
        Self {
            session,
            changes: Vec::new(),
            cleared: Changes::new(),
        }
    }

    /// Builds the changes of a round.
    pub fn turn_to(&mut self, round: usize) {
        let at = |n: usize| ask::selector(files::path(round, n)).unwrap();
        let written = |version: usize| {
            (0..MANY).fold(Changes::new(), |set, n| {
                let content = files::content(version);
                match version {
                    0 => set.with(change::create(at(n), content)),
                    _ => set.with(change::write(at(n), content)),
                }
            })
        };
        let one = |set: &Changes| Changes::new().with(set.items()[0].clone());
        let (made, replaced) = (written(0), written(1));
        let deleted = |n| change::delete(at(n));
        self.changes = vec![
            (Deed::Create, one(&made)),
            (Deed::Replace, one(&replaced)),
            (Deed::Delete, Changes::new().with(deleted(0))),
            (Deed::CreateMany, made),
            (Deed::ReplaceMany, replaced),
        ];
        self.cleared = (0..MANY).fold(Changes::new(), |set, n| set.with(deleted(n)));
    }

    pub fn make(&mut self, deed: Deed) {
        let (_, changes) = self.changes.iter().find(|(of, _)| *of == deed).unwrap();
        let changed = self.session.change(changes).unwrap().changed;
        assert!(changed.outcome == Outcome::Done && changed.left == 0);
    }

    /// Everything once or some times.
    fn turn(&mut self, round: usize, samples: &mut Samples) {
        self.turn_to(round);
        for _ in 0..CYCLES {
            for deed in Deed::SINGLE {
                if deed == Deed::Replace {
                    samples.time(Subject::DryRun, || self.dry_run(deed));
                }
                samples.time(Subject::Whole(deed), || self.make(deed));
            }
        }
        for deed in [Deed::CreateMany, Deed::ReplaceMany] {
            samples.time(Subject::Whole(deed), || self.make(deed));
        }
        self.clear();
    }

    /// Removes the many files.
    pub fn clear(&mut self) {
        self.session.change(&self.cleared).unwrap();
    }

    fn dry_run(&mut self, deed: Deed) {
        let (_, changes) = self.changes.iter().find(|(of, _)| *of == deed).unwrap();
        let plan = self.session.plan(changes).unwrap();
        assert_eq!(plan.planned.touched.as_slice().len(), changes.items().len());
    }
}

/// A warden, and a connection to it.
struct Broker {
    control: Control,
    _warden: Embedded,
}

impl Broker {
    fn start(gate: &Path, state: PathBuf) -> Self {
        let warden = Embedded::start(Config {
            gate: GateExecutable::At(gate.to_owned()),
            state: StatePlace::At(state),
            ..Config::default()
        })
        .unwrap();
        Self {
            control: Control::new(warden.connect().unwrap()).unwrap(),
            _warden: warden,
        }
    }

    /// A session on one root with every verb, and the built-in denials, as `portcullis run` has it.
    fn session(&mut self, root: &Path) -> Session {
        let label = Label::new("workspace").unwrap();
        let sealed = self
            .control
            .seal_path(root, label, Scope::Workspace)
            .unwrap();
        let order = MintOrder::new("bench").root(sealed.root, None).grant(
            sealed.root,
            RelPath::root(),
            VerbSet::ALL,
        );
        self.control.mint(&order).unwrap().1
    }
}

/// The roots of all ways; a gate's first.
const ROOTS: [&str; 6] = ["inside", "staged", "open", "closed", "temporary", "direct"];

/// Everything that is measured.
pub struct Systems {
    roots: [PathBuf; 6],
    echo: Peer,
    peers: Vec<Peer>,
    worker: Worker,
    staged: Staged,
    ledger: OnlyBeginsAndEnds,
    journal: Journal,
    file_system: String,
    // Dropped after all that uses them, in this order.
    _brokers: [Broker; 2],
    _place: TempDir,
}

impl Systems {
    pub fn start() -> Self {
        let place = tempfile::Builder::new()
            .prefix("effects-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .unwrap();
        let at = |of: &str| place.path().join(of);
        let gate = own!("own-gate");
        std::fs::copy(std::env::current_exe().unwrap(), at(wire::NAME)).unwrap();
        let roots = ROOTS.map(at);
        for root in &roots {
            files::make_root(root);
            if is_given(root) {
                give(root);
            }
        }
        let mut only = Broker::start(&at(wire::NAME), at("state-of-none"));
        let socket = only.session(&at("staged")).into_socket().unwrap();
        let (ledger, setup) = OnlyBeginsAndEnds::new(socket);
        let mut real = Broker::start(&gate, at("state"));
        let worker = Worker::new(real.session(&at("inside")));
        let roles = [
            (Role::Plain(Cage::Open), "open"),
            (Role::Plain(Cage::Closed), "closed"),
            (Role::Naive(Short::Temporary), "temporary"),
            (Role::Naive(Short::Direct), "direct"),
        ];
        Self {
            echo: Peer::start(Role::Echo, &at("open")),
            peers: roles
                .map(|(role, of)| Peer::start(role, &at(of)))
                .into_iter()
                .collect(),
            roots,
            worker,
            staged: Staged::start(&gate, &at("staged"), &setup),
            ledger,
            journal: Journal::new(&at("state/state.db"), &at("journal.db")),
            file_system: file_system(place.path()),
            _brokers: [real, only],
            _place: place,
        }
    }

    /// What all files are on.
    pub fn file_system(&self) -> &str {
        &self.file_system
    }

    /// Measures each way `rounds` times, in turns.
    pub fn rounds(&mut self, rounds: usize) -> Times {
        let mut times = Times::default();
        // The first round is only for caches, and is not counted.
        for round in 0..=rounds {
            self.prepare(round);
            let mut samples = Samples::default();
            // Another neighbour before each, as far as that goes: other first, other direction.
            let mut turn = Way::ALL.to_vec();
            turn.rotate_left(round * 2 % Way::ALL.len());
            if round % 2 == 0 {
                turn.reverse();
            }
            for way in turn {
                self.take(way, round, &mut samples);
            }
            if round > 0 {
                for (subject, nanos) in samples.medians() {
                    times.add(subject, nanos);
                }
            }
        }
        times
    }

    /// Makes the directories of a round, for all ways.
    fn prepare(&self, round: usize) {
        for root in &self.roots {
            files::make(root, round);
            if is_given(root) {
                let directory = files::directory(round);
                for path in Path::new(&directory).ancestors() {
                    give(&root.join(path));
                }
            }
        }
    }

    fn take(&mut self, way: Way, round: usize, samples: &mut Samples) {
        match way {
            Way::Pings => {
                let took = median_of_batches(PINGS, 16, || self.echo.ping());
                samples.add(Subject::PingPong, took);
            }
            Way::Peer(n) => self.peers[n].turn(round, samples),
            Way::Whole => self.worker.turn(round, samples),
            Way::Staged => self.staged.turn(round, samples),
            Way::Ledger => self.ledger.turn(samples),
            Way::Journal => self.journal.turn(samples),
        }
    }

    /// Repeats one thing through one gate for [`SPIN`].
    pub fn spin(&mut self, deed: Deed) {
        self.prepare(0);
        self.worker.turn_to(0);
        let start = Instant::now();
        while start.elapsed() < SPIN {
            match deed {
                Deed::Create | Deed::Replace | Deed::Delete => {
                    self.worker.make(Deed::Create);
                    if deed == Deed::Replace {
                        (0..20).for_each(|_| self.worker.make(Deed::Replace));
                    }
                    self.worker.make(Deed::Delete);
                }
                Deed::CreateMany | Deed::ReplaceMany => {
                    self.worker.make(Deed::CreateMany);
                    self.worker.make(Deed::ReplaceMany);
                    self.worker.clear();
                }
            }
        }
    }
}

/// One after the other, in each round.
#[derive(Clone, Copy)]
enum Way {
    Pings,
    Peer(usize),
    Whole,
    Staged,
    Ledger,
    Journal,
}

impl Way {
    const ALL: [Self; 9] = [
        Self::Pings,
        Self::Whole,
        Self::Peer(0),
        Self::Staged,
        Self::Peer(1),
        Self::Ledger,
        Self::Peer(2),
        Self::Journal,
        Self::Peer(3),
    ];
}

/// The type of the file system that holds `place`, with where it is mounted left out.
fn file_system(place: &Path) -> String {
    let device = std::fs::metadata(place).unwrap().dev();
    let of = format!(
        "{}:{}",
        rustix::fs::major(device),
        rustix::fs::minor(device)
    );
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let found = mounts.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let same = mount.split(' ').nth(2) == Some(&of);
        same.then(|| system.split(' ').next().unwrap_or("unknown").to_owned())
    });
    found.unwrap_or_else(|| "an unknown file system".to_owned())
}

/// Whether a root is a gate's, and belongs to an ordinary user when the bench runs as root: its
/// gate then opens directly, as usual.
fn is_given(root: &Path) -> bool {
    privileged() && (root.ends_with("inside") || root.ends_with("staged"))
}

/// Gives a directory to the ordinary user.
fn give(directory: &Path) {
    let (user, group) = (Uid::from_raw(ORDINARY), Gid::from_raw(ORDINARY));
    rustix::fs::chown(directory, Some(user), Some(group)).unwrap();
}
