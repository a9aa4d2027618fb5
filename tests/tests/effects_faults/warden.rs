//! A warden is killed while an effect of one of its gates is being made. Its successor settles it.

use crate::bench::{Bench, disk, log};
use crate::killed::Settled;
use portcullis_client::Control;
use portcullis_protocol::control::RunRecord;
use portcullis_protocol::view::PathState;
use portcullis_tests::deeds::{self, Deed};
use portcullis_tests::faults::Faults;
use portcullis_tests::own;
use portcullis_tests::tree::Tree;
use portcullis_warden::{
    Config, Deadlines, Embedded, GateExecutable, Records, StartError, StateError, StatePlace,
};
use rustix::fs::FlockOperation;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// What a busy machine may take for what is to come at once.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(2);

struct Place {
    directory: tempfile::TempDir,
    faults: Faults,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("portcullis-test-")
            .tempdir()
            .unwrap();
        std::fs::create_dir(directory.path().join("inside")).unwrap();
        Self {
            directory,
            faults: Faults::new(&own!("own-gate")),
        }
    }

    fn inside(&self) -> PathBuf {
        self.directory.path().join("inside")
    }

    fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// A warden in a process of its own, which has minted a session.
    fn start(&self, deed: Deed) -> (Child, BufReader<ChildStdout>) {
        let mut child = Command::new(own!("own-warden"))
            .args([self.faults.gate(), self.state(), self.inside()])
            .arg(deed.name)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "minted\n");
        (child, said)
    }

    /// A successor in this process.
    fn succeed(&self, old_gates: Duration) -> Result<Embedded, StartError> {
        Embedded::start(Config {
            gate: GateExecutable::At(own!("own-gate")),
            state: StatePlace::At(self.state()),
            deadlines: Deadlines {
                old_gates,
                ..Deadlines::default()
            },
            ..Config::default()
        })
    }

    /// The latest run on record.
    fn run(&self) -> Option<RunRecord> {
        let records = Records::open(&self.state()).ok()?;
        let runs = records.runs(None).unwrap().runs.into_vec();
        runs.into_iter().next()
    }
}

fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(PAUSE);
    }
}

/// The calls of an effect after it was begun, as first and last.
fn begun_calls(bench: &mut Bench, deed: Deed) -> (u32, u32) {
    let mut first = None;
    for nth in 1.. {
        let ran = bench.run(deed, Some((nth, "die")));
        if ran.answer.is_ok() {
            return (first.unwrap(), nth - 1);
        }
        if !ran.receipts.is_empty() {
            first.get_or_insert(nth);
        }
    }
    unreachable!("every change ends")
}

/// Kills a warden whose gate waits before this call, starts a successor, and looks.
fn kill_at(place: &Place, deed: Deed, nth: u32, settled: &mut Settled, bench: &mut Bench) {
    deeds::layout(&place.inside());
    let before = Tree::read(&place.inside());
    place.faults.set(nth, "hang");
    let earlier = place.run().map_or(0, |run| run.run.0);
    let (mut child, _said) = place.start(deed);
    let is_begun =
        |run: Option<RunRecord>| run.is_some_and(|run| run.run.0 > earlier && run.open == 1);
    wait_until("the effect begins", || is_begun(place.run()));
    // So that the gate mostly comes to where it waits; killed before is as good.
    std::thread::sleep(10 * PAUSE);
    child.kill().unwrap();
    child.wait().unwrap();
    let run = place.run().unwrap();
    assert_eq!((run.open, run.done + run.failed + run.uncertain), (1, 0));
    let warden = place.succeed(PATIENCE).unwrap();
    wait_until("it is settled", || place.run().unwrap().open == 0);
    let mut control = Control::new(warden.connect().unwrap()).unwrap();
    let receipts = log(&mut control, run.run, 0);
    let after = Tree::read(&place.inside());
    settled.of(&receipts, (&before, &after), &bench.ideal(deed));
    for touched in receipts[0].end.touched.as_slice() {
        let is = after.at(disk(touched));
        assert!(touched.after.agrees(&is), "{touched:#?} is {is:#?}");
        assert_ne!(touched.after, PathState::Unknown);
    }
    let verified = control.verify().unwrap();
    assert_eq!((verified.broken, verified.open), (None, 0));
}

#[test]
fn a_successor_settles_what_a_killed_warden_left() {
    let mut bench = Bench::new();
    let place = Place::new();
    for name in [
        "create",
        "replace",
        "move-onto",
        "delete-tree",
        "mkdir-parents",
        "patch",
    ] {
        let deed = deeds::named(name).unwrap();
        let (first, last) = begun_calls(&mut bench, deed);
        let mut settled = Settled::default();
        // Of the longest ones every third, and the last.
        let step = if last - first > 30 { 3 } else { 1 };
        for nth in (first..last).step_by(step).chain([last]) {
            println!("{name} {nth}");
            kill_at(&place, deed, nth, &mut settled, &mut bench);
        }
        println!("== {name}, warden killed: {settled:?}");
    }
}

/// The lock that every gate holds is what a successor waits for: here this test holds it.
#[test]
fn a_successor_waits_for_the_gates_of_a_killed_warden() {
    let place = Place::new();
    deeds::layout(&place.inside());
    let deed = deeds::named("replace").unwrap();
    place.faults.set(24, "hang");
    let (mut child, _said) = place.start(deed);
    wait_until("the effect begins", || {
        place.run().is_some_and(|run| run.open == 1)
    });
    let lock = hold(&place.state().join("gates.lock"), &mut child);
    let refused = place.succeed(Duration::from_millis(50));
    assert!(
        matches!(refused, Err(StartError::State(StateError::OldGates { .. }))),
        "{refused:?}"
    );
    assert_eq!(place.run().unwrap().open, 1);
    // Settles only as long as it runs.
    let (waits, _successor) = std::thread::scope(|scope| {
        let successor = scope.spawn(|| place.succeed(PATIENCE));
        std::thread::sleep(25 * PAUSE);
        let waits = !successor.is_finished();
        drop(lock);
        (waits, successor.join().unwrap().unwrap())
    });
    assert!(waits);
    wait_until("it is settled", || place.run().unwrap().open == 0);
}

/// Kills the warden and takes the lock of its gates as soon as they are gone.
fn hold(path: &Path, child: &mut Child) -> std::fs::File {
    child.kill().unwrap();
    child.wait().unwrap();
    let lock = std::fs::File::open(path).unwrap();
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).unwrap();
    lock
}
