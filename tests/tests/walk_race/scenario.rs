//! One attack, against the gate and against the control.

use crate::control::ByPath;
use crate::drive;
use crate::judge::{Rules, Tally, Verb};
use crate::tree;
use portcullis_client::{MintOrder, Session};
use portcullis_tests::World;
use portcullis_tests::attack::{Attacker, Swap};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// Walks in all scenarios together, without the controls.
const WALKS: u64 = 4_500;
/// Scenarios that share them.
const SCENARIOS: u64 = 9;
/// Rounds a control is given at most to be beaten.
const CONTROL_ROUNDS: u64 = 20_000;
/// The longest that a client waits for any part of an answer. A hang takes for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// Attacks need the processors for themselves.
static ALONE: Mutex<()> = Mutex::new(());

/// Waits until no other attack runs.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ALONE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn walks() -> u64 {
    let wanted = std::env::var("PORTCULLIS_WALK_ATTEMPTS").map_or(WALKS, |n| {
        n.parse().expect("PORTCULLIS_WALK_ATTEMPTS is a number")
    });
    wanted.div_ceil(SCENARIOS)
}

/// One attack on one tree.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// Where walks begin.
    pub(crate) starts: &'static [&'static str],
    /// The attack on what is in this place.
    pub(crate) attack: fn(&Path) -> Vec<Swap>,
    /// A name that is denied, or hidden.
    pub(crate) denied: Option<&'static str>,
    pub(crate) hidden: Option<&'static str>,
    /// A file that is denied by its object, as a path in the place.
    pub(crate) object: Option<&'static str>,
    /// Outcomes of which each must come, by how they begin.
    pub(crate) wanted: &'static [(Verb, &'static str)],
    /// Verbs by which the control must be beaten.
    pub(crate) beaten: &'static [Verb],
}

pub(crate) const PLAIN: Scenario = Scenario {
    name: "",
    starts: &["."],
    attack: |_| Vec::new(),
    denied: None,
    hidden: None,
    object: None,
    wanted: &[],
    beaten: &[],
};

impl Scenario {
    /// Runs it; `order` says what the session may not.
    pub(crate) fn run(self, world: &mut World, order: impl FnOnce(MintOrder) -> MintOrder) {
        tree::keep(&world.inside());
        let place = world.place.path().to_owned();
        let rules = Rules {
            kept: kept(&world.inside()),
            hidden: self.hidden,
        };
        let mut opened = world.session_with(|plain, _| order(plain));
        opened.session.ping(b"").unwrap();
        bound_waits(&opened.session);
        let attacker = Attacker::start((self.attack)(&place));
        let mut tally = Tally::default();
        // At least the number asked for; then on, up to twenty times that, until every outcome that
        // must be seen was seen: how often one comes depends on the machine.
        let met = |tally: &Tally| self.wanted.iter().all(|(v, o)| tally.of(v, o) > 0);
        while tally.walks < walks() || (!met(&tally) && tally.walks < 20 * walks()) {
            drive::round(&mut opened.session, &rules, self.starts, &mut tally);
        }
        let turns = attacker.stop();
        tally.print(self.name, "portcullis", turns);
        self.control(world, &rules);
        assert_eq!(tally.escapes, 0, "{}: {:?}", self.name, tally.escape);
        assert_eq!(tally.missing, None, "{}", self.name);
        assert!(
            turns > tally.walks / 40,
            "{}: the attacker hardly ran",
            self.name
        );
        for (verb, outcome) in self.wanted {
            assert!(
                tally.of(verb, outcome) > 0,
                "{}: {verb} never {outcome}",
                self.name
            );
        }
    }

    /// The same attack on a walk by path, which must be beaten.
    fn control(&self, world: &World, rules: &Rules) {
        let place = world.place.path();
        let inode = |path| std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(path).unwrap());
        let walk = ByPath {
            root: world.inside(),
            denied: self.denied.or(self.hidden),
            object: self.object.map(|path| inode(place.join(path))),
        };
        let attacker = Attacker::start((self.attack)(place));
        let mut tally = Tally::default();
        let beaten = |tally: &Tally| self.beaten.iter().all(|verb| tally.of(verb, "ESCAPE") > 0);
        for _ in 0..CONTROL_ROUNDS {
            if beaten(&tally) {
                break;
            }
            walk.round(rules, &mut tally);
        }
        let turns = attacker.stop();
        tally.print(self.name, "control by path", turns);
        assert!(beaten(&tally), "{}: the attack beats nobody", self.name);
    }
}

/// Paths of files that no attack touches.
fn kept(inside: &Path) -> BTreeSet<Vec<u8>> {
    fn enter(inside: &Path, at: &Path, all: &mut BTreeSet<Vec<u8>>) {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                enter(inside, &path, all);
            } else if path.file_name().unwrap().as_bytes().starts_with(b"keep-") {
                let below = path.strip_prefix(inside).unwrap();
                all.insert(below.as_os_str().as_bytes().to_vec());
            }
        }
    }
    let mut all = BTreeSet::new();
    enter(inside, inside, &mut all);
    assert!(all.len() > 50);
    all
}

/// A hang becomes an error.
fn bound_waits(session: &Session) {
    use rustix::net::sockopt::{Timeout, set_socket_timeout};
    set_socket_timeout(session, Timeout::Recv, Some(PATIENCE)).unwrap();
}
