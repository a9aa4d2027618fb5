//! One attack on one tree in rounds: a request is made while the attacker works, then everything
//! stands still and every version that was ever placed is looked for.

use crate::attack::{Attack, Attacker, Event, Pace, Random};
use crate::drive::{Answer, Ask, make};
use crate::tally::{ESCAPE, LITTER, LOST, Tally, UNTRUE};
use crate::tree::{clear, contents, digest, snapshot};
use portcullis_client::protocol::ledger::Temporary;
use portcullis_client::protocol::session::{Changed, Outcome};
use portcullis_client::protocol::view::{Digest, Kind, PathState};
use portcullis_client::{MintOrder, Session};
use portcullis_tests::naive::{Naive, Style};
use portcullis_tests::{World, own};
use rustix::fs::{CWD, FileType, Mode};
use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// Attempts in all scenarios together, without the controls.
const ATTEMPTS: u64 = 200_000;
/// Attempts the naive server is given at most to be caught.
const CONTROL_ATTEMPTS: u64 = 60_000;

/// Whichever verb.
pub(crate) const ANY: &str = "any";

/// What every file of a tree that is deleted whole holds: such a file is no version.
pub(crate) const PART: &[u8] = b"part of a tree\n";

/// A file that edits made longer is made anew.
const EDITED_BYTES: u64 = 500;

/// Attacks need the processors for themselves.
static ALONE: Mutex<()> = Mutex::new(());

/// Waits until no other attack runs.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ALONE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Attempts asked for, of all scenarios together.
pub(crate) fn asked() -> u64 {
    std::env::var("PORTCULLIS_RACE_ATTEMPTS").map_or(ATTEMPTS, |n| {
        n.parse().expect("PORTCULLIS_RACE_ATTEMPTS is a number")
    })
}

/// Whether the run is long enough for what is rare to be met.
pub(crate) fn is_full() -> bool {
    asked() >= ATTEMPTS
}

/// One attack on one tree, with what a client asks and what must come of it.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) asks: &'static [Ask],
    /// Of a hundred attempts of all scenarios, those made here.
    pub(crate) share: u64,
    /// Puts the tree into the state that a round begins with. The attacker is at home.
    pub(crate) furnish: fn(&Place, u64),
    /// Whatever the session is not to do.
    pub(crate) mint: fn(MintOrder) -> MintOrder,
    pub(crate) attacks: fn(&mut World) -> Vec<Box<dyn Attack>>,
    pub(crate) pace: Pace,
    /// Outcomes of which each must be met in a full run.
    pub(crate) wanted: &'static [(&'static str, &'static str)],
    /// Refusals and failures that may come: any other would tell the worker what is not so.
    pub(crate) codes: &'static [&'static str],
    /// Verbs by which the naive server must be caught; of this style.
    pub(crate) caught: &'static [&'static str],
    /// Before it is asked the attacker has this long at most, in microseconds: it answers so soon
    /// that the attacker would hardly have begun.
    pub(crate) lead: u64,
    pub(crate) style: Style,
    /// FIFOs at which the naive server hangs, below the place.
    pub(crate) fifos: &'static [&'static str],
}

/// The directory of a scenario: `inside` is the root, `outside` is not.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// A file of this name that holds a version nobody else placed, unless there is a file.
    pub(crate) fn file(&self, path: &str, n: u64) {
        let host = self.at(path);
        let fits = |seen: &std::fs::Metadata| seen.is_file() && seen.len() < EDITED_BYTES;
        if !host.symlink_metadata().is_ok_and(|seen| fits(&seen)) {
            clear(&host);
            std::fs::write(&host, format!("first version {n} of {path}\nline\n")).unwrap();
        }
    }

    /// A file that belongs to a tree and is no version.
    pub(crate) fn part(&self, path: &str) {
        let host = self.at(path);
        if !host.exists() {
            std::fs::write(host, PART).unwrap();
        }
    }

    pub(crate) fn directory(&self, path: &str) {
        std::fs::create_dir_all(self.at(path)).unwrap();
    }

    pub(crate) fn nothing(&self, path: &str) {
        clear(&self.at(path));
    }

    /// A further name of `of`.
    pub(crate) fn name(&self, of: &str, path: &str) {
        let inode = |path: &str| self.at(path).symlink_metadata().map(|seen| seen.ino()).ok();
        if inode(of) != inode(path) {
            clear(&self.at(path));
            std::fs::hard_link(self.at(of), self.at(path)).unwrap();
        }
    }

    pub(crate) fn fifo(&self, path: &str) {
        let host = self.at(path);
        if !host
            .symlink_metadata()
            .is_ok_and(|seen| seen.file_type().is_fifo())
        {
            clear(&host);
            let mode = Mode::from_raw_mode(0o666);
            rustix::fs::mknodat(CWD, &host, FileType::Fifo, mode, 0).unwrap();
        }
    }

    pub(crate) fn link(&self, text: &str, path: &str) {
        let host = self.at(path);
        if !host.is_symlink() {
            clear(&host);
            std::os::unix::fs::symlink(text, host).unwrap();
        }
    }
}

/// What [`crate::drive::IN_D`] asks about, in `inside/d`, and the same outside.
pub(crate) fn furnish(place: &Place, n: u64) {
    for d in ["inside/d", "outside/d"] {
        for directory in ["", "/empty", "/sub", "/tree/a"] {
            place.directory(&format!("{d}{directory}"));
        }
        place.file(&format!("{d}/file"), n);
        for gone in ["new", "made", "deep", "moved", "link"] {
            place.nothing(&format!("{d}/{gone}"));
        }
        for kept in ["tree/one", "tree/a/two"] {
            place.part(&format!("{d}/{kept}"));
        }
    }
    place.nothing("inside/sub");
    place.file("inside/away", n);
    place.link("../outside/d", "inside/link");
}

impl Scenario {
    pub(crate) fn run(self) {
        let _alone = alone();
        let world = &mut World::new(own!("own-gate"));
        let place = Place(world.place.path().canonicalize().unwrap());
        (self.furnish)(&place, 0);
        let mut opened = world.session_with(|order, _| (self.mint)(order));
        opened.session.ping(b"").unwrap();
        let attempts = (asked() * self.share).div_ceil(100);
        let began = std::time::Instant::now();
        let (tally, turns) = self.rounds(world, &place, (&mut opened.session, 0), |tally| {
            tally.attempts >= attempts
        });
        let took = began.elapsed();
        let more = format!(" against {turns} changes, {took:.1?}");
        tally.print(self.name, "portcullis", &more);
        assert_eq!(tally.faults(), 0, "{}: {:#?}", self.name, tally.examples);
        assert!(turns > tally.attempts / 4, "the attacker hardly ran");
        let untrue = tally.codes_beside(self.codes);
        assert!(untrue.is_empty(), "{}: {untrue:?}", self.name);
        for (verb, outcome) in self.wanted {
            assert!(
                !is_full() || tally.of(verb, outcome) > 0,
                "{}: {verb} never met: {outcome}",
                self.name
            );
        }
        self.control(world, &place);
    }

    /// The same attack and client against a server that checks paths, which must be caught.
    fn control(&self, world: &mut World, place: &Place) {
        if self.caught.is_empty() && self.fifos.is_empty() {
            return;
        }
        let mut serving = Naive {
            root: place.at("inside"),
            denied: None,
            fifos: self.fifos.iter().map(|fifo| place.at(fifo)).collect(),
            style: self.style,
        }
        .start();
        let mut session = Session::from_socket(serving.socket()).unwrap();
        session.ping(b"").unwrap();
        let missed = |tally: &Tally| {
            let missed = self.caught.iter().filter(|verb| match **verb {
                ANY => tally.faults() == 0,
                verb => tally.faults_of(verb) == 0,
            });
            missed.copied().collect::<Vec<_>>()
        };
        let (tally, turns) = self.rounds(world, place, (&mut session, self.lead), |tally| {
            let hung = self.fifos.is_empty() || serving.hangs() > 0;
            tally.attempts >= CONTROL_ATTEMPTS || (hung && missed(tally).is_empty())
        });
        drop(session);
        let hangs = serving.stop();
        let more = format!(" against {turns} changes, {hangs} opens hung");
        tally.print(self.name, "naive control", &more);
        let blind = missed(&tally);
        assert!(blind.is_empty(), "{}: blind for {blind:?}", self.name);
        assert!(
            self.fifos.is_empty() || hangs > 0,
            "{}: nothing hung",
            self.name
        );
    }

    fn rounds(
        &self,
        world: &mut World,
        place: &Place,
        (session, lead): (&mut Session, u64),
        enough: impl Fn(&Tally) -> bool,
    ) -> (Tally, u64) {
        let mut tally = Tally::default();
        let mut attacker = Attacker::start((self.attacks)(world));
        let mut random = Random(7);
        let pace = match lead {
            0 => self.pace,
            // What is to be caught makes one try only, in a few dozen microseconds.
            _ => Pace {
                turns: 16 * self.pace.turns,
                pause: self.pace.pause / 6,
            },
        };
        for (n, ask) in (1..).zip(self.asks.iter().cycle()) {
            (self.furnish)(place, n);
            let outside = snapshot(&place.at("outside"));
            let known: BTreeSet<Digest> = versions(place).keys().copied().collect();
            let changes = (ask.build)(n);
            attacker.go(pace);
            if lead > 0 {
                std::thread::sleep(Duration::from_micros(random.below(lead)));
            }
            let answer = make(session, &changes);
            let events = attacker.halt();
            tally.count(ask.verb, answer.name());
            let round = Round {
                place,
                ask,
                answer,
                events,
                known,
            };
            round.judge(&mut tally);
            let now = snapshot(&place.at("outside"));
            if now != outside {
                let what = format!("outside is {now:#?}, was {outside:#?}");
                tally.fault(ask.verb, ESCAPE, what);
                clear(&place.at("outside"));
                place.directory("outside");
            }
            if enough(&tally) {
                break;
            }
        }
        (tally, attacker.stop())
    }
}

/// Contents inside, but for those of trees that are deleted whole.
fn versions(place: &Place) -> std::collections::BTreeMap<Digest, String> {
    let mut files = contents(&place.at("inside")).files;
    files.remove(&digest(PART));
    files
}

fn is_temporary(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    Temporary::is_one(name.as_bytes())
}

/// One attempt, after which everything stands still.
struct Round<'a> {
    place: &'a Place,
    ask: &'a Ask,
    answer: Answer,
    events: Vec<Event>,
    /// Versions there before.
    known: BTreeSet<Digest>,
}

impl Round<'_> {
    fn judge(self, tally: &mut Tally) {
        let verb = self.ask.verb;
        let known = self.known.clone();
        let (mut expected, mut destroyed) = (self.known, BTreeSet::new());
        for event in &self.events {
            match event {
                Event::Placed(version) => drop(expected.insert(*version)),
                Event::Moved => tally.also("mover", "moved it, and back"),
                Event::Destroyed(version) => drop(destroyed.insert(*version)),
                // No kernel call sets a mode by a name that is looked up in the same moment, and no cage
                // covers it: what was away then is seen to be gone, and set back. CAVEATS says so.
                Event::Escape if verb == "chmod" => {
                    tally.also(verb, "(set while it was away)");
                }
                Event::Escape => {
                    tally.fault(
                        verb,
                        ESCAPE,
                        "a directory changed while it was not in place".into(),
                    );
                }
            }
        }
        let name = format!("{} ({} left)", self.answer.name(), self.answer.left());
        let sure = match &self.answer {
            Answer::Done(changed) => {
                replaced(changed, &mut expected, |what| {
                    tally.fault(verb, UNTRUE, format!("{name}: {what}"));
                });
                true
            }
            Answer::Failed(_) | Answer::Refused(_) => true,
            Answer::Uncertain(_) => false,
        };
        let found = versions(self.place);
        // A temporary that is left holds what a change displaced; it is looked at below.
        let strange = found
            .iter()
            .filter(|(version, at)| !expected.contains(version) && !is_temporary(at));
        let strange = strange.count();
        if strange > 0 && sure {
            let what = format!(
                "{name}, and yet {strange} versions appeared: {found:?}, known {known:?}, {:?}, {:?}",
                self.events, self.answer
            );
            tally.fault(verb, UNTRUE, what);
        }
        let lost = expected
            .iter()
            .filter(|v| !destroyed.contains(v) && !found.contains_key(v));
        let lost = lost.count();
        if lost > 0 {
            let events = &self.events;
            let what = format!("{name}, {lost} versions gone, {events:?}, {found:?}");
            tally.fault(verb, LOST, what);
        }
        let temporaries = contents(&self.place.at("inside")).temporaries;
        if temporaries.len() > self.answer.left() as usize {
            let what = format!("{name}, {} said to be left", self.answer.left());
            tally.fault(verb, LITTER, what);
        }
        if self.answer.left() > 0 {
            tally.also(verb, "(left, and said so)");
        }
        temporaries.iter().for_each(|temporary| clear(temporary));
    }
}

/// What a receipt says came and went.
fn replaced(changed: &Changed, versions: &mut BTreeSet<Digest>, mut untrue: impl FnMut(String)) {
    assert_eq!(changed.outcome, Outcome::Done);
    let file = |state: &PathState| match state {
        PathState::Present(present) if present.kind == Kind::File => present.digest,
        PathState::Present(_) | PathState::Absent | PathState::Unknown => None,
    };
    for touched in changed.touched.as_slice() {
        if let Some(before) = file(&touched.before)
            && !versions.remove(&before)
        {
            untrue(format!("{} never held that", touched.path));
        }
    }
    for touched in changed.touched.as_slice() {
        versions.extend(file(&touched.after));
    }
}

/// A pace: this many turns at most in a round, and as many microseconds between two at most.
pub(crate) const fn pace(turns: u64, micros: u64) -> Pace {
    Pace {
        turns,
        pause: Duration::from_micros(micros),
    }
}
