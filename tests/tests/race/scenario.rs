//! One attack on one tree, what a client asks meanwhile, and what must come of it.

use crate::drive::{Asks, drive};
use crate::tally::{self, Tally};
use portcullis_client::Session;
use portcullis_client::protocol::verb::VerbSet;
use portcullis_tests::World;
use portcullis_tests::attack::{Attacker, Swap};
use portcullis_tests::naive::{Naive, Style};
use rustix::fs::{CWD, Mode, OFlags};
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// Attempts in all scenarios together, without the controls.
const ATTEMPTS: u64 = 200_000;
/// Scenarios that share them.
const SCENARIOS: u64 = 9;
/// Attempts the naive server is given at most to be caught.
pub(crate) const CONTROL_ATTEMPTS: u64 = 200_000;
/// Files in a directory that is walked.
const FILES: usize = 50;
/// The longest that one answer may take on a busy machine. A hang takes for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// Attacks need the processors for themselves.
static ALONE: Mutex<()> = Mutex::new(());

/// Waits until no other attack runs.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ALONE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Attempts of one scenario, at most.
fn most() -> u64 {
    // Those that a full run may take: what is rare does not come more often where fewer are asked for.
    20 * attempts().max(ATTEMPTS.div_ceil(SCENARIOS))
}

pub(crate) fn attempts() -> u64 {
    let wanted = std::env::var("PORTCULLIS_RACE_ATTEMPTS").map_or(ATTEMPTS, |n| {
        n.parse().expect("PORTCULLIS_RACE_ATTEMPTS is a number")
    });
    wanted.div_ceil(SCENARIOS)
}

/// One attack on one tree, with what a client asks and what must come of it.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) asks: Asks,
    pub(crate) attack: fn(&Path) -> Vec<Swap>,
    /// Outcomes of which each must be met.
    pub(crate) wanted: &'static [(&'static str, &'static str)],
    /// Refusals that may come: any other would tell its worker what is not so.
    pub(crate) refusals: &'static [&'static str],
    /// Verbs by which the naive server must be caught; a FIFO catches it by hanging.
    pub(crate) caught: &'static [&'static str],
    /// A file outside that is denied by its object.
    pub(crate) denied: Option<&'static str>,
    pub(crate) fifos: &'static [&'static str],
}

impl Scenario {
    pub(crate) fn run(self, world: &mut World) {
        let place = world.place.path().to_owned();
        let mut opened = world.session_with(|order, _| match self.denied {
            None => order,
            Some(path) => {
                let flags = OFlags::PATH | OFlags::CLOEXEC;
                let object = rustix::fs::openat(CWD, place.join(path), flags, Mode::empty());
                order.deny_object("secret", "not yours", VerbSet::READING, object.unwrap())
            }
        });
        opened.session.ping(b"").unwrap();
        bound_waits(&opened.session);
        let attacker = Attacker::start((self.attack)(&place));
        // At least the number asked for; then on, up to twenty times that of a full run, until every
        // outcome that must be seen was seen: how often one comes depends on the machine.
        let met = |tally: &Tally| {
            tally.attempts >= attempts()
                && self
                    .wanted
                    .iter()
                    .all(|(verb, outcome)| tally.of(verb, outcome) > 0)
        };
        let (tally, longest) = drive(&mut opened.session, &self.asks, most(), met);
        let turns = attacker.stop();
        tally.print(
            self.name,
            "portcullis",
            turns,
            &format!(", longest answer {longest:.1?}"),
        );
        self.control(world);
        assert_eq!(tally.escapes(), 0, "{}: {:?}", self.name, tally.example);
        assert!(tally.attempts >= attempts());
        assert!(
            turns > tally.attempts / 100,
            "{}: the attacker hardly ran",
            self.name
        );
        assert!(
            longest < PATIENCE,
            "{}: an answer took {longest:?}",
            self.name
        );
        let untrue = tally.refusals_beside(self.refusals);
        assert!(untrue.is_empty(), "{}: {untrue:?}", self.name);
        for (verb, outcome) in self.wanted {
            assert!(
                tally.of(verb, outcome) > 0,
                "{}: {verb} never met: {outcome}",
                self.name
            );
        }
    }

    /// The same attack and client against a server that checks paths, which must be caught.
    fn control(&self, world: &World) {
        if self.caught.is_empty() && self.fifos.is_empty() {
            return;
        }
        let place = world.place.path().canonicalize().unwrap();
        let denied = self.denied.map(|path| {
            let seen = std::fs::metadata(place.join(path)).unwrap();
            (seen.dev(), seen.ino())
        });
        let mut serving = Naive {
            root: place.join("inside"),
            denied,
            fifos: self.fifos.iter().map(|fifo| place.join(fifo)).collect(),
            style: Style::Paths,
        }
        .start();
        let mut session = Session::from_socket(serving.socket()).unwrap();
        bound_waits(&session);
        let attacker = Attacker::start((self.attack)(&place));
        let caught = |tally: &Tally| {
            let escaped = |verb: &&str| tally.of(verb, tally::ESCAPE) > 0;
            self.caught.iter().all(escaped) && (self.fifos.is_empty() || serving.hangs() > 0)
        };
        let (tally, _) = drive(&mut session, &self.asks, CONTROL_ATTEMPTS, caught);
        let turns = attacker.stop();
        drop(session);
        let hangs = serving.stop();
        tally.print(
            self.name,
            "naive control",
            turns,
            &format!(", {hangs} opens hung"),
        );
        for verb in self.caught {
            assert!(
                tally.of(verb, tally::ESCAPE) > 0,
                "{}: the control is blind: {verb} never escaped the naive server",
                self.name
            );
        }
        if !self.fifos.is_empty() {
            assert!(
                hangs > 0,
                "{}: the control is blind: nothing hung",
                self.name
            );
        }
    }
}

/// A hang becomes an error.
pub(crate) fn bound_waits(session: &Session) {
    use rustix::net::sockopt::{Timeout, set_socket_timeout};
    set_socket_timeout(session, Timeout::Recv, Some(Duration::from_secs(60))).unwrap();
}

/// A directory to walk: files named after where they are, with content that says so too.
pub(crate) fn fill(directory: &Path, prefix: &str, content: &str) {
    std::fs::create_dir_all(directory).unwrap();
    for n in 0..FILES {
        std::fs::write(directory.join(format!("{prefix}{n:02}")), content).unwrap();
    }
    std::fs::write(directory.join("file"), content).unwrap();
}

pub(crate) fn link(text: impl AsRef<Path>, at: impl AsRef<Path>) {
    std::os::unix::fs::symlink(text, at).unwrap();
}

/// The inodes of everything below a directory, itself included.
pub(crate) fn inodes(directory: &Path) -> HashSet<u64> {
    let mut all = HashSet::from([std::fs::metadata(directory).unwrap().ino()]);
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let seen = entry.path().symlink_metadata().unwrap();
        all.insert(seen.ino());
        if seen.is_dir() {
            all.extend(inodes(&entry.path()));
        }
    }
    all
}
