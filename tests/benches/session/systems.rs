//! All processes of the comparison, and one round of measuring them.

use crate::clock::{median, median_of_batches};
use crate::gate::{Bare, DEPTH, Usual, children};
use crate::peer::{PING_BYTES, Peer, Role};
use crate::pin::{self, Placement};
use crate::subject::{Cage, Call, Client, Opening, PATTERNS, Spin, Subject};
use portcullis_client::{MintOrder, Pattern, Session};
use portcullis_protocol::authority::{Budget, Budgets, RootId};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::{World, own, privileged};
use portcullis_transport::Buffer;
use rustix::fs::{Gid, Uid};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// The owner of the root whose gate opens directly, when the bench runs as root.
const ORDINARY: u32 = 1234;
/// Echoes and pipelines in one round.
const PINGS: usize = 400;
const PIPELINES: usize = 8;
/// Long enough for a profile.
const SPIN: Duration = Duration::from_secs(5);

/// Nanoseconds for one operation of each subject, in each round.
pub struct Times(BTreeMap<Subject, Vec<f64>>);

impl Times {
    /// The median over the rounds.
    pub fn of(&self, subject: Subject) -> f64 {
        median(&mut self.0[&subject].clone())
    }

    /// The median over the rounds of each round's quotient of two sums. What the machine does
    /// beside falls on both sums of one round.
    pub fn quotient<const A: usize, const B: usize>(
        &self,
        above: [Subject; A],
        below: [Subject; B],
    ) -> f64 {
        let rounds = self.0[&above[0]].len();
        let sum = |of: &[Subject], round: usize| of.iter().map(|s| self.0[s][round]).sum::<f64>();
        let mut quotients: Vec<f64> = (0..rounds)
            .map(|round| sum(&above, round) / sum(&below, round))
            .collect();
        median(&mut quotients)
    }
}

/// A world to mint in.
pub struct Minting {
    pub world: World,
    pub root: RootId,
}

impl Minting {
    /// One more session.
    pub fn mint(&mut self) -> (portcullis_protocol::session::SessionId, Session) {
        let (minted, session) = self.world.control.mint(&order(self.root)).unwrap();
        (minted.session, session)
    }
}

/// Everything that is measured.
pub struct Systems {
    echo: Peer,
    plain: Peer,
    caged: Peer,
    bare: BTreeMap<Opening, Bare>,
    bounded: Bare,
    usual: Usual,
    buffer: Buffer,
    openings: Vec<Opening>,
    pub world: Minting,
}

impl Systems {
    pub fn start() -> Self {
        let mut world = World::new(own!("own-gate"));
        let opening = if privileged() {
            Opening::LookFirst
        } else {
            Opening::Direct
        };
        let mut openings = vec![Opening::Direct];
        let mut roots = vec![(Opening::Direct, world.inside())];
        fill(&world.inside());
        if opening == Opening::LookFirst {
            // The place itself is searched by an ordinary user only from its descriptor on.
            give(&world.inside());
            let roots_own = world.place.path().join("roots-own");
            std::fs::create_dir(&roots_own).unwrap();
            fill(&roots_own);
            openings.push(Opening::LookFirst);
            roots.push((Opening::LookFirst, roots_own));
        }
        let inside = world.inside();
        let [echo, plain, caged] = [
            Role::Echo,
            Role::Plain(Cage::Open),
            Role::Plain(Cage::Closed),
        ]
        .map(|role| Peer::start(role, &inside));
        let mut buffer = Buffer::new();
        let limits = portcullis_warden::default_limits();
        let mut bare = BTreeMap::new();
        let mut first = None;
        for (opening, path) in roots {
            let root = world.seal(&path, &format!("root-{}", opening as u8));
            first.get_or_insert(root);
            let (_, session) = world.control.mint(&order(root)).unwrap();
            bare.insert(opening, Bare::new(session, limits, &mut buffer));
        }
        let mut world = Minting {
            world,
            root: first.unwrap(),
        };
        let usual = Usual::new(world.mint().1);
        let bounded = bounded(world.root);
        let (_, bounded) = world.world.control.mint(&bounded).unwrap();
        let bounded = Bare::new(bounded, limits, &mut buffer);
        Self {
            echo,
            plain,
            caged,
            bare,
            bounded,
            usual,
            buffer,
            openings,
            world,
        }
    }

    /// How gates open here.
    pub fn openings(&self) -> &'static [Opening] {
        match self.openings.len() {
            1 => &[Opening::Direct],
            _ => &[Opening::Direct, Opening::LookFirst],
        }
    }

    /// Moves every process but this one.
    pub fn place(&self, placement: Placement) {
        let Placement::Apart { peers } = placement;
        for child in children() {
            pin::put(child, peers);
        }
        // The plain calls are a sum with the ping-pong, so they run where gates run.
        pin::put(self.echo.pid(), peers);
    }

    /// Measures each subject `rounds` times, in turns.
    pub fn rounds(&mut self, rounds: usize, subjects: &[Subject]) -> Times {
        let mut times: BTreeMap<Subject, Vec<f64>> = BTreeMap::new();
        // The first round is only for caches, and is not counted.
        for round in 0..=rounds {
            // Another neighbour before each, as far as that goes: other first, other direction.
            let mut turn: Vec<Subject> = subjects.to_vec();
            turn.rotate_left(round * 5 % subjects.len());
            if round % 2 == 0 {
                turn.reverse();
            }
            for subject in turn {
                let took = self.measure(subject);
                if round > 0 {
                    times.entry(subject).or_default().push(took);
                }
            }
        }
        Times(times)
    }

    /// Repeats one thing through one gate for [`SPIN`].
    pub fn spin(&mut self, spin: Spin) {
        let bare = self.bare.get_mut(&Opening::Direct).unwrap();
        let start = Instant::now();
        while start.elapsed() < SPIN {
            match spin {
                Spin::Echo => bare.echo(&[7; PING_BYTES], &mut self.buffer),
                Spin::Call(call) => bare.call(call, &mut self.buffer),
                Spin::Pipelined => bare.pipelined(&mut self.buffer),
            }
        }
    }

    fn measure(&mut self, subject: Subject) -> f64 {
        let content = [7; PING_BYTES];
        let Self {
            echo,
            plain,
            caged,
            bare,
            bounded,
            usual,
            buffer,
            ..
        } = self;
        match subject {
            Subject::PingPong => median_of_batches(PINGS, 16, || echo.ping()),
            Subject::Carry(call) => {
                let (times, batch) = call.times();
                median_of_batches(times, batch, || echo.carry(call, buffer))
            }
            Subject::CarryMany => {
                median_of_batches(PIPELINES, 1, || echo.carry_many(DEPTH, buffer)) / DEPTH as f64
            }
            Subject::Echo(Client::Raw) => {
                let bare = bare.get_mut(&Opening::Direct).unwrap();
                median_of_batches(PINGS, 16, || bare.echo(&content, buffer))
            }
            Subject::Echo(Client::Session | Client::Whole) => {
                median_of_batches(PINGS, 16, || usual.echo(&content))
            }
            Subject::Plain(Cage::Open, opening, call) => plain.plain(opening, call),
            Subject::Plain(Cage::Closed, opening, call) => caged.plain(opening, call),
            Subject::Gate(Client::Raw, opening, call) => {
                let bare = bare.get_mut(&opening).unwrap();
                let (times, batch) = call.times();
                median_of_batches(times, batch, || bare.call(call, buffer))
            }
            Subject::Bounded(call) => {
                let (times, batch) = call.times();
                median_of_batches(times, batch, || bounded.call(call, buffer))
            }
            Subject::Gate(client @ (Client::Session | Client::Whole), _, call) => {
                let (times, batch) = call.times();
                median_of_batches(times, batch, || usual.call(client, call))
            }
            Subject::Pipelined(Client::Raw) => {
                let bare = bare.get_mut(&Opening::Direct).unwrap();
                median_of_batches(PIPELINES, 1, || bare.pipelined(buffer)) / DEPTH as f64
            }
            Subject::Pipelined(Client::Session | Client::Whole) => {
                median_of_batches(PIPELINES, 1, || usual.pipelined()) / DEPTH as f64
            }
        }
    }
}

/// A session on one root with every verb, and the built-in denials, as `portcullis run` has it.
fn order(root: RootId) -> MintOrder {
    MintOrder::new("bench")
        .root(root, None)
        .grant(root, RelPath::root(), VerbSet::READING)
}

/// The same with every budget, none of which is used up, and patterns of every form, none of which
/// matches what is asked for.
fn bounded(root: RootId) -> MintOrder {
    let limits = Budget::ALL.into_iter();
    let budgets = limits.fold(Budgets::UNLIMITED, |budgets, budget| {
        budgets.with(budget, Some(u64::MAX / 2))
    });
    let order = order(root).budgets(budgets);
    (0..PATTERNS).fold(order, |order, n| {
        let pattern = match n % 5 {
            0 => Pattern::anywhere(format!("*.kind-{n}")),
            1 => Pattern::anywhere(format!("private-{n}")),
            2 => Pattern::anywhere(format!("**/build-{n}/*.log")),
            3 => Pattern::below(root, format!("one/{{secret,hidden}}-{n}/**")),
            _ => Pattern::below(root, format!("one/two/[x-z]?-{n}")),
        };
        let (name, reason) = (format!("rule-{n}"), "of the bench");
        if n % 2 == 0 {
            order.hide(&name, reason, pattern)
        } else {
            order.deny(&name, reason, VerbSet::READING, pattern)
        }
    })
}

fn fill(root: &Path) {
    for call in [Call::Small, Call::Frame, Call::Large] {
        let path = root.join(call.path());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, vec![b'x'; call.bytes()]).unwrap();
    }
}

/// Gives a tree to the ordinary user.
fn give(root: &Path) {
    let (user, group) = (Uid::from_raw(ORDINARY), Gid::from_raw(ORDINARY));
    let mut pending = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        rustix::fs::chown(&path, Some(user), Some(group)).unwrap();
        if path.is_dir() {
            pending.extend(
                std::fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        }
    }
}
