//! Names that change while they are used: an attacker swaps what they lead to, as fast as the
//! kernel lets it, while a client asks. Nothing outside the root is ever shown; everything that
//! came of it is counted and printed; and the same attack and client catch a server that checks
//! paths.
//!
//! `PORTCULLIS_RACE_ATTEMPTS` sets how many attempts are made in all; at least 200,000 without it.

mod drive;
mod tally;

use drive::{Asks, drive};
use portcullis_client::Session;
use portcullis_client::protocol::verb::VerbSet;
use portcullis_tests::attack::{Attacker, Swap, directory};
use portcullis_tests::naive::Naive;
use portcullis_tests::{World, own};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use tally::Tally;

/// Attempts in all scenarios together, without the controls.
const ATTEMPTS: u64 = 200_000;
/// Scenarios that share them.
const SCENARIOS: u64 = 9;
/// Attempts the naive server is given at most to be caught.
const CONTROL_ATTEMPTS: u64 = 200_000;
/// Files in a directory that is walked.
const FILES: usize = 50;
/// The longest that one answer may take on a busy machine. A hang takes for ever.
const PATIENCE: Duration = Duration::from_secs(10);

/// Attacks need the processors for themselves.
static ALONE: Mutex<()> = Mutex::new(());

fn attempts() -> u64 {
    let wanted = std::env::var("PORTCULLIS_RACE_ATTEMPTS")
        .map_or(ATTEMPTS, |n| n.parse().expect("PORTCULLIS_RACE_ATTEMPTS is a number"));
    wanted.div_ceil(SCENARIOS)
}

/// One attack on one tree, with what a client asks and what must come of it.
struct Scenario {
    name: &'static str,
    asks: Asks,
    attack: fn(&Path) -> Vec<Swap>,
    /// Outcomes of which each must be met.
    wanted: &'static [(&'static str, &'static str)],
    /// Verbs by which the naive server must be caught; a FIFO catches it by hanging.
    caught: &'static [&'static str],
    /// A file outside that is denied by its object.
    denied: Option<&'static str>,
    fifos: &'static [&'static str],
}

impl Scenario {
    fn run(self, world: &mut World) {
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
        let (tally, longest) = drive(&mut opened.session, &self.asks, attempts(), |_| false);
        let turns = attacker.stop();
        tally.print(self.name, "portcullis", turns, &format!(", longest answer {longest:.1?}"));
        self.control(world);
        assert_eq!(tally.escapes(), 0, "{}: {:?}", self.name, tally.example);
        assert!(tally.attempts >= attempts());
        assert!(turns > tally.attempts / 100, "{}: the attacker hardly ran", self.name);
        assert!(longest < PATIENCE, "{}: an answer took {longest:?}", self.name);
        for (verb, outcome) in self.wanted {
            assert!(tally.of(verb, outcome) > 0, "{}: {verb} never met: {outcome}", self.name);
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
        }
        .start();
        let mut session = Session::from_socket(serving.socket()).unwrap();
        bound_waits(&session);
        let attacker = Attacker::start((self.attack)(&place));
        let caught = |tally: &Tally| {
            !self.caught.is_empty() && self.caught.iter().all(|verb| tally.of(verb, tally::ESCAPE) > 0)
        };
        let most = if self.caught.is_empty() { 3_000 } else { CONTROL_ATTEMPTS };
        let (tally, _) = drive(&mut session, &self.asks, most, caught);
        let turns = attacker.stop();
        drop(session);
        let hangs = serving.stop();
        tally.print(self.name, "naive control", turns, &format!(", {hangs} opens hung"));
        for verb in self.caught {
            assert!(
                tally.of(verb, tally::ESCAPE) > 0,
                "{}: the control is blind: {verb} never escaped the naive server",
                self.name
            );
        }
        if !self.fifos.is_empty() {
            assert!(hangs > 0, "{}: the control is blind: nothing hung", self.name);
        }
    }
}

/// A hang becomes an error.
fn bound_waits(session: &Session) {
    use rustix::net::sockopt::{Timeout, set_socket_timeout};
    set_socket_timeout(session, Timeout::Recv, Some(Duration::from_secs(60))).unwrap();
}

/// A directory to walk: files named after where they are, with content that says so too.
fn fill(directory: &Path, prefix: &str, content: &str) {
    std::fs::create_dir_all(directory).unwrap();
    for n in 0..FILES {
        std::fs::write(directory.join(format!("{prefix}{n:02}")), content).unwrap();
    }
    std::fs::write(directory.join("file"), content).unwrap();
}

fn link(text: impl AsRef<Path>, at: impl AsRef<Path>) {
    std::os::unix::fs::symlink(text, at).unwrap();
}

/// The inodes of everything below a directory, itself included.
fn inodes(directory: &Path) -> HashSet<u64> {
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

const DIRECTORY_WANTED: &[(&str, &str)] = &[
    ("read", "ok inside, INSIDE"),
    ("read", "refused escape"),
    ("stat", "ok inside, file"),
    ("stat", "refused escape"),
    ("list", "complete, with the files"),
    ("list", "refused escape"),
    ("list", "(a link seen as a link)"),
    ("glob", "complete, with the files"),
    ("glob", "refused escape"),
    ("search", "complete, with the files"),
    ("search", "refused escape"),
    ("search", "(something not regular passed over)"),
];

fn directory_and_link(name: &'static str, relative: bool) {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut world = World::new(own!("own-gate"));
    fill(&world.inside().join("d"), "in-", "INSIDE\n");
    fill(&world.outside().join("d"), "out-", "OUTSIDE\n");
    let absolute = world.outside().join("d");
    let text = if relative { Path::new("../outside/d") } else { absolute.as_path() };
    link(text, world.inside().join("link"));
    Scenario {
        name,
        asks: Asks {
            files: vec!["d/file"],
            walks: vec!["d", "."],
            known: inodes(&world.inside()),
        },
        attack: |place| {
            vec![Swap::Exchange {
                directory: directory(place.join("inside")),
                names: ["d", "link"],
            }]
        },
        wanted: DIRECTORY_WANTED,
        caught: &["read", "stat", "list", "glob", "search"],
        denied: None,
        fifos: &[],
    }
    .run(&mut world);
}

#[test]
fn a_directory_swapped_with_a_relative_link_out_never_shows_what_is_outside() {
    directory_and_link("directory <-> relative link out", true);
}

#[test]
fn a_directory_swapped_with_an_absolute_link_out_never_shows_what_is_outside() {
    directory_and_link("directory <-> absolute link out", false);
}

#[test]
fn swaps_at_every_depth_at_once_never_show_what_is_outside() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut world = World::new(own!("own-gate"));
    let (inside, outside) = (world.inside(), world.outside());
    fill(&inside.join("a/b/c"), "in-", "INSIDE\n");
    fill(&outside.join("a/b/c"), "out-", "OUTSIDE\n");
    link("../outside/a", inside.join("link"));
    link("../../outside/a/b", inside.join("a/link"));
    link("../../../outside/a/b/c", inside.join("a/b/link"));
    Scenario {
        name: "links out at every depth",
        asks: Asks {
            files: vec!["a/b/c/file"],
            walks: vec!["a/b", "."],
            known: inodes(&inside),
        },
        attack: |place| {
            [("inside", ["a", "link"]), ("inside/a", ["b", "link"]), ("inside/a/b", ["c", "link"])]
                .map(|(at, names)| Swap::Exchange { directory: directory(place.join(at)), names })
                .into()
        },
        wanted: &[
            ("read", "ok inside, INSIDE"),
            ("read", "refused escape"),
            ("stat", "ok inside, file"),
            ("stat", "refused escape"),
            ("list", "complete, with the files"),
            ("list", "refused escape"),
            ("glob", "complete, with the files"),
            ("search", "complete, with the files"),
            ("search", "refused escape"),
        ],
        caught: &["read", "stat", "list", "glob", "search"],
        denied: None,
        fifos: &[],
    }
    .run(&mut world);
}

#[test]
fn a_file_swapped_with_a_link_to_a_file_outside_is_read_as_itself_or_refused() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut world = World::new(own!("own-gate"));
    let (inside, outside) = (world.inside(), world.outside());
    fill(&inside.join("d"), "in-", "INSIDE\n");
    std::fs::write(outside.join("out-secret"), "OUTSIDE\n").unwrap();
    link("../../outside/out-secret", inside.join("d/link"));
    Scenario {
        name: "file <-> link to a file outside",
        asks: Asks {
            files: vec!["d/file"],
            walks: vec!["d"],
            known: inodes(&inside),
        },
        attack: |place| {
            vec![Swap::Exchange {
                directory: directory(place.join("inside/d")),
                names: ["file", "link"],
            }]
        },
        wanted: &[
            ("read", "ok inside, INSIDE"),
            ("read", "refused escape"),
            ("stat", "ok inside, file"),
            ("stat", "refused escape"),
            ("list", "(a link seen as a link)"),
            ("list", "complete, with the files"),
            ("glob", "complete, with the files"),
            ("search", "complete, with the files"),
            ("search", "changed counted, with the files"),
            ("search", "(something not regular passed over)"),
        ],
        caught: &["read", "stat", "search"],
        denied: None,
        fifos: &[],
    }
    .run(&mut world);
}

#[test]
fn a_file_swapped_with_a_hard_link_of_a_denied_file_is_read_as_itself_or_denied() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut world = World::new(own!("own-gate"));
    let (inside, outside) = (world.inside(), world.outside());
    fill(&inside.join("d"), "in-", "INSIDE\n");
    let known = inodes(&inside);
    std::fs::write(outside.join("out-secret"), "OUTSIDE\n").unwrap();
    std::fs::hard_link(outside.join("out-secret"), inside.join("d/alias")).unwrap();
    Scenario {
        name: "file <-> hard link of a denied file outside",
        asks: Asks { files: vec!["d/file", "d/alias"], walks: vec!["d"], known },
        attack: |place| {
            vec![Swap::Exchange {
                directory: directory(place.join("inside/d")),
                names: ["file", "alias"],
            }]
        },
        wanted: &[
            ("read", "ok inside, INSIDE"),
            ("read", "refused denied"),
            ("stat", "ok inside, file"),
            ("stat", "refused denied"),
            ("list", "complete, with the files"),
            ("glob", "complete, with the files"),
            ("search", "complete, with the files"),
            ("search", "(something denied passed over)"),
        ],
        caught: &["read", "stat", "search"],
        denied: Some("outside/out-secret"),
        fifos: &[],
    }
    .run(&mut world);
}

#[test]
fn a_file_swapped_with_a_hard_link_of_another_is_one_object_in_judgement_and_content() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut world = World::new(own!("own-gate"));
    let inside = world.inside();
    fill(&inside.join("d"), "in-", "INSIDE\n");
    world.write("other", "OTHER and longer\n");
    std::fs::hard_link(inside.join("other"), inside.join("d/alias")).unwrap();
    let mut opened = world.session();
    let sizes = [(7_usize, 1_u32), (17, 2)];
    let attack = |place: &Path| {
        vec![Swap::Exchange {
            directory: directory(place.join("inside/d")),
            names: ["file", "alias"],
        }]
    };
    let reads = drive::reads(&["d/file"]);
    // Judgement and content belong together when size and links are those of the bytes' file.
    let count = |session: &mut Session, tally: &mut Tally| {
        for answer in session.pipeline_read(&reads).unwrap() {
            let file = answer.unwrap().remove(0).unwrap();
            let seen = file.binding.observation;
            let is = (file.bytes.len(), seen.links);
            match sizes.iter().position(|size| *size == is) {
                Some(which) if seen.stamp.size == file.bytes.len() as u64 => {
                    tally.count("read", format!("ok inside, object {which} with its content"));
                }
                Some(_) | None => tally.escape("read", format!("{is:?} seen as {seen:?}")),
            }
        }
    };
    let place = world.place.path().to_owned();
    let attacker = Attacker::start(attack(&place));
    let mut tally = Tally::default();
    while tally.attempts < attempts() {
        count(&mut opened.session, &mut tally);
    }
    tally.print("file <-> hard link of another", "portcullis", attacker.stop(), "");
    let naive = Naive { root: inside.canonicalize().unwrap(), denied: None, fifos: Vec::new() };
    let mut serving = naive.start();
    let mut session = Session::from_socket(serving.socket()).unwrap();
    let attacker = Attacker::start(attack(&place));
    let mut control = Tally::default();
    while control.attempts < CONTROL_ATTEMPTS && control.escapes() == 0 {
        count(&mut session, &mut control);
    }
    control.print("file <-> hard link of another", "naive control", attacker.stop(), "");
    drop(session);
    serving.stop();
    assert_eq!(tally.escapes(), 0, "{:?}", tally.example);
    for which in 0..2 {
        assert!(tally.of("read", &format!("ok inside, object {which} with its content")) > 0);
    }
    assert!(control.escapes() > 0, "the control is blind");
}

#[test]
fn a_file_swapped_with_a_fifo_never_hangs() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut world = World::new(own!("own-gate"));
    let inside = world.inside();
    fill(&inside.join("d"), "in-", "INSIDE\n");
    let mode = Mode::from_raw_mode(0o666);
    rustix::fs::mknodat(CWD, inside.join("d/pipe"), FileType::Fifo, mode, 0).unwrap();
    Scenario {
        name: "file <-> FIFO",
        asks: Asks { files: vec!["d/file"], walks: vec!["d"], known: inodes(&inside) },
        attack: |place| {
            vec![Swap::Exchange {
                directory: directory(place.join("inside/d")),
                names: ["file", "pipe"],
            }]
        },
        wanted: &[
            ("read", "ok inside, INSIDE"),
            ("read", "refused not_regular"),
            ("stat", "ok inside, file"),
            ("stat", "ok inside, fifo"),
            ("list", "(a FIFO seen as a FIFO)"),
            ("list", "complete, with the files"),
            ("glob", "complete, with the files"),
            ("search", "complete, with the files"),
            ("search", "changed counted, with the files"),
            ("search", "(something not regular passed over)"),
        ],
        caught: &[],
        denied: None,
        fifos: &["inside/d/file", "inside/d/pipe"],
    }
    .run(&mut world);
}

#[test]
fn parents_moved_out_and_in_under_dot_dot_never_lead_out() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut world = World::new(own!("own-gate"));
    let (inside, outside) = (world.inside(), world.outside());
    // `b/..` is `a` while `b` is at home, and the directory outside while it is away.
    fill(&inside.join("a"), "in-", "INSIDE\n");
    fill(&inside.join("a/b/c"), "in-", "INSIDE\n");
    fill(&outside, "out-", "OUTSIDE\n");
    Scenario {
        name: "parents moved out and in, with `..`",
        asks: Asks {
            files: vec!["a/b/../file", "a/b/c/../../file", "a/b/c/file"],
            walks: vec!["a/b/..", "a/b/c/..", "a"],
            known: inodes(&inside),
        },
        attack: |place| {
            vec![Swap::Shuttle {
                home: (directory(place.join("inside/a")), "b"),
                away: (directory(place.join("outside")), "in-b"),
            }]
        },
        wanted: &[
            ("read", "ok inside, INSIDE"),
            ("read", "refused not_found"),
            ("stat", "ok inside, file"),
            ("stat", "refused not_found"),
            ("list", "complete, with the files"),
            ("list", "refused not_found"),
            ("glob", "complete, with the files"),
            ("search", "complete, with the files"),
            ("search", "refused not_found"),
            ("search", "changed counted, with the files"),
        ],
        caught: &["read", "stat"],
        denied: None,
        fifos: &[],
    }
    .run(&mut world);
}

#[test]
fn a_file_rewritten_in_place_is_read_in_one_version_or_said_to_be_torn() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut world = World::new(own!("own-gate"));
    world.write("file", vec![b'A'; 32 * 1024]);
    Scenario {
        name: "file rewritten in place",
        asks: Asks { files: vec!["file"], walks: Vec::new(), known: inodes(&world.inside()) },
        attack: |place| {
            let flags = OFlags::WRONLY | OFlags::CLOEXEC;
            let file: OwnedFd =
                rustix::fs::openat(CWD, place.join("inside/file"), flags, Mode::empty()).unwrap();
            let versions = [vec![b'A'; 32 * 1024], vec![b'B'; 32 * 1024]];
            vec![Swap::Rewrite { file, versions }]
        },
        wanted: &[
            ("read", "ok inside, all A"),
            ("read", "ok inside, all B"),
            ("read", "two versions, said torn"),
        ],
        caught: &[],
        denied: None,
        fifos: &[],
    }
    .run(&mut world);
}
