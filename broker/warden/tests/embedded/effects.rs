//! Effects, as a warden sees them: locks, journal, receipts, and gates that die in between.

use crate::runtime::{self, Runtime, is_alive};
use portcullis_protocol::control::{
    Answer, Diff, Log, Minted, Order, OverCause, Receipt, RunId, Runs, Verified, Verify, Witness,
};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Outcome;
use portcullis_protocol::verb::VerbSet;
use portcullis_protocol::view::PathState;
use portcullis_warden::{Config, Deadlines, Embedded, GateExecutable, Records, StatePlace};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) fn config(state: StatePlace) -> Config {
    Config {
        gate: GateExecutable::At(std::env::current_exe().unwrap()),
        mint_deadline: Duration::from_secs(2),
        state,
        deadlines: Deadlines {
            lock_wait: Duration::from_millis(400),
            lock_hold: Duration::from_millis(900),
            finish: Duration::from_millis(600),
            settle: Duration::from_secs(2),
            propose: Duration::from_secs(2),
            old_gates: Duration::from_secs(5),
        },
        ..Config::default()
    }
}

fn start() -> Embedded {
    Embedded::start(config(StatePlace::Private)).unwrap()
}

/// A session whose gate does what it is told.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) worker: OwnedFd,
    pub(crate) run: RunId,
    pub(crate) id: portcullis_protocol::session::SessionId,
}

impl Session {
    pub(crate) fn new(runtime: &mut Runtime, request: &str) -> Self {
        Self::of(runtime.mint_for(request, VerbSet::ALL).unwrap())
    }

    pub(crate) fn of((minted, worker): (Minted, OwnedFd)) -> Self {
        Self {
            worker,
            run: minted.run,
            id: minted.session,
        }
    }

    pub(crate) fn send(&self, words: &str) {
        let flags = rustix::net::SendFlags::NOSIGNAL;
        rustix::net::send(&self.worker, words.as_bytes(), flags).unwrap();
    }

    /// The gate's answer; none when it is gone.
    pub(crate) fn reply(&self) -> Option<String> {
        let mut bytes = [0; 512];
        let got = rustix::net::recv(&self.worker, &mut bytes, rustix::net::RecvFlags::empty());
        let (_, len) = got.ok()?;
        (len > 0).then(|| String::from_utf8(bytes[..len].to_vec()).unwrap())
    }

    pub(crate) fn tell(&self, words: &str) -> String {
        self.send(words);
        self.reply()
            .unwrap_or_else(|| panic!("the gate is gone after: {words}"))
    }

    /// Tells it, and what the warden answered.
    pub(crate) fn ask(&self, words: &str) -> String {
        self.tell(words);
        self.tell("hear")
    }
}

pub(crate) struct TempDir(pub(crate) PathBuf);

impl TempDir {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("warden-effects-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

pub(crate) fn log(runtime: &mut Runtime, run: RunId) -> Vec<Receipt> {
    let answer = runtime.ask(Order::Log(Log { run, after: 0 }));
    let Answer::Log(page) = answer else {
        panic!("{answer:?}");
    };
    page.receipts.into_vec()
}

pub(crate) fn verified(runtime: &mut Runtime) -> Verified {
    let answer = runtime.ask(Order::Verify(Verify {}));
    let Answer::Verified(verified) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(verified.broken, None);
    verified
}

/// The only receipt of a run: how it ended, by whose word, and what is at its name.
fn only(runtime: &mut Runtime, run: RunId) -> (Outcome, Witness, PathState) {
    let receipts = log(runtime, run);
    let [receipt] = receipts.as_slice() else {
        panic!("{receipts:?}");
    };
    let touched = receipt.end.touched.as_slice();
    (receipt.end.outcome, receipt.witness, touched[0].after)
}

pub(crate) fn an_effect_is_begun_ended_and_told() {
    let root = TempDir::new("told");
    let warden = start();
    let mut runtime = Runtime::greeted_in(&warden, &root.0);
    let session = Session::new(&mut runtime, "puppet");
    assert_eq!(session.ask("begin a"), "begun 7");
    assert_eq!(session.ask("finish a"), "receipt 8 1");
    assert_eq!(
        session.ask("begin a"),
        "begun 7",
        "its locks are free again"
    );
    assert_eq!(session.ask("amend a"), "begun 0");
    assert_eq!(session.ask("finish a"), "receipt 8 2");
    let receipts = log(&mut runtime, session.run);
    let numbers: Vec<_> = receipts.iter().map(|r| r.id.number).collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(receipts[0].witness, Witness::Gate);
    let (answer, content) = runtime.ask_content(&Order::Diff(Diff { receipt: 1 }));
    assert!(matches!(answer, Answer::Diff(d) if d.cut == 0));
    assert_eq!(content, b"+new\n");
    let answer = runtime.ask(Order::Diff(Diff { receipt: 9 }));
    assert!(matches!(answer, Answer::Refused(r) if r.code == Code::NotFound));
    let answer = runtime.ask(Order::Runs(Runs { before: None }));
    let Answer::Runs(runs) = answer else {
        panic!("{answer:?}");
    };
    let run = &runs.runs.as_slice()[0];
    assert_eq!(
        (run.run, run.sessions, run.done, run.open),
        (session.run, 1, 2, 0)
    );
    assert_eq!(verified(&mut runtime).receipts, 2);
    let second = Session::new(&mut runtime, "puppet");
    assert_eq!(
        second.run, session.run,
        "all sessions of a connection are one run"
    );
}

pub(crate) fn a_gate_gets_the_lock_of_all_gates_and_its_mark_last() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let session = Session::new(&mut runtime, "puppet");
    assert_eq!(session.tell("descriptors"), "4", "socket, root, lock, mark");
}

pub(crate) fn one_name_is_for_one_at_a_time_and_notes_pass_a_wait() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let one = Session::new(&mut runtime, "puppet");
    let two = Session::new(&mut runtime, "puppet");
    assert_eq!(one.ask("begin a"), "begun 7");
    assert_eq!(two.ask("begin b"), "begun 7");
    assert_eq!(two.ask("finish b"), "receipt 8 1");
    assert_eq!(two.tell("begin a"), "said");
    two.tell("note");
    two.send("hear");
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(one.ask("finish a"), "receipt 8 2");
    assert_eq!(two.reply().unwrap(), "begun 7", "its turn came");
    assert_eq!(
        one.ask("begin a"),
        "not begun 7 contended",
        "nothing is held"
    );
    assert_eq!(one.ask("begin c"), "begun 7");
    drop(two);
    let over = runtime.over();
    assert_eq!(
        over.refusals.as_slice().len(),
        1,
        "a note during a wait is kept"
    );
}

pub(crate) fn a_gate_that_dies_while_it_waits_leaves_its_place() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let one = Session::new(&mut runtime, "puppet");
    let two = Session::new(&mut runtime, "puppet");
    let three = Session::new(&mut runtime, "puppet");
    assert_eq!(one.ask("begin move x alone"), "begun 7");
    two.tell("begin y");
    two.send("die");
    assert_eq!(runtime.over().cause, OverCause::GateDied);
    assert_eq!(one.ask("finish x"), "receipt 8 1");
    assert_eq!(three.ask("begin y"), "begun 7");
    assert_eq!(log(&mut runtime, one.run).len(), 1, "a wait has no receipt");
    assert_eq!(verified(&mut runtime).open, 1);
}

pub(crate) fn what_is_not_granted_is_not_begun_and_lies_end_the_gate() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let only_write = VerbSet::of(&[portcullis_protocol::verb::Verb::Write]);
    let (_minted, worker) = runtime.mint_for("puppet", only_write).unwrap();
    let session = Session {
        worker,
        run: RunId(1),
        id: portcullis_protocol::session::SessionId(1),
    };
    assert_eq!(
        session.ask("begin chmod a shared"),
        "not begun 7 not_granted"
    );
    assert_eq!(
        session.ask("begin read a shared"),
        "not begun 7 not_granted"
    );
    assert_eq!(session.ask("begin a"), "begun 7");
    assert_eq!(session.ask("finish a"), "receipt 8 1");
    for (words, said) in [
        (&["finish a"][..], "was not begun"),
        (&["amend a"], "was not begun"),
        (&["unlock"], "does not hold"),
        (&["begin a", "begin b"], "second effect"),
        (&["begin a", "amend b"], "other names"),
        (&["begin a", "finish b"], "did not announce"),
        (&["begin a", "unlock", "unlock"], "does not hold"),
        (&["begin a", "unlock", "amend a"], "gave back"),
        (&["begin a", "confirm", "amend a"], "had confirmed"),
        (&["begin delete-tree a shared"], "without being alone"),
    ] {
        let session = Session::new(&mut runtime, "puppet");
        let (last, first) = words.split_last().unwrap();
        for words in first {
            session.tell(words);
        }
        // It may be gone before it can reply.
        session.send(last);
        let over = runtime.over();
        assert_eq!(
            (over.session, over.cause),
            (session.id, OverCause::GateDied)
        );
        let note = over.note.unwrap();
        assert!(note.as_str().contains(said), "{words:?}: {note}");
    }
    let (minted, worker) = runtime.mint_for("puppet", VerbSet::READING).unwrap();
    let session = Session {
        worker,
        run: minted.run,
        id: minted.session,
    };
    session.send("begin a");
    assert!(runtime.over().note.unwrap().as_str().contains("only look"));
}

/// A gate begins, perhaps does its work, and dies.
fn dies(root: &Path, request: &str, words: &[&str]) -> (Outcome, Witness, PathState) {
    let warden = start();
    let mut runtime = Runtime::greeted_in(&warden, root);
    let session = Session::new(&mut runtime, request);
    assert_eq!(session.ask("begin a"), "begun 7");
    for words in words {
        session.tell(words);
    }
    session.send("die");
    let over = runtime.over();
    assert_eq!(
        (over.session, over.cause),
        (session.id, OverCause::GateDied)
    );
    // The session is told to be over only after that.
    let how = only(&mut runtime, session.run);
    assert_eq!(verified(&mut runtime).open, 0);
    let again = Session::new(&mut runtime, "puppet");
    assert_eq!(again.ask("begin a"), "begun 7", "its locks are free");
    how
}

pub(crate) fn an_effect_whose_gate_died_is_settled_by_what_is_there() {
    let root = TempDir::new("settled");
    let settled = |words: &[&str], how, is_there| {
        let (outcome, witness, now) = dies(&root.0, "puppet", words);
        assert_eq!((outcome, witness), (how, Witness::Observer), "{words:?}");
        assert_eq!(now != PathState::Absent, is_there, "{words:?}");
    };
    settled(&["confirm"], Outcome::Failed, false);
    settled(&["confirm", "make a 0"], Outcome::Done, true);
    std::fs::write(root.0.join("a"), "third").unwrap();
    settled(&["confirm"], Outcome::Uncertain, true);
    // It had not looked yet whether what it was to change is there: somebody else made this.
    settled(&[], Outcome::Failed, true);
    // It gave its names back when all stood: what is there now may be another's.
    settled(&["confirm", "unlock"], Outcome::Done, true);
    for request in ["puppet-blind", "puppet-mute"] {
        let ends = [&[][..], &["confirm"]].map(|words| dies(&root.0, request, words));
        let unknown = |how| (how, Witness::Nobody, PathState::Unknown);
        assert_eq!(ends, [Outcome::Failed, Outcome::Uncertain].map(unknown));
    }
}

pub(crate) fn locks_of_a_dead_gate_are_kept_until_it_is_settled() {
    let root = TempDir::new("kept");
    let warden = start();
    let mut runtime = Runtime::greeted_in(&warden, &root.0);
    let dead = Session::new(&mut runtime, "puppet-mute");
    let next = Session::new(&mut runtime, "puppet");
    assert_eq!(dead.ask("begin a"), "begun 7");
    dead.send("die");
    // Its observer says nothing for the two seconds it has.
    assert_eq!(next.ask("begin a"), "not begun 7 contended");
    runtime.over();
    assert_eq!(next.ask("begin a"), "begun 7");
}

pub(crate) fn the_word_of_a_gate_that_died_after_its_end_holds() {
    let root = TempDir::new("word");
    let warden = start();
    let mut runtime = Runtime::greeted_in(&warden, &root.0);
    let session = Session::new(&mut runtime, "puppet");
    assert_eq!(session.ask("begin a"), "begun 7");
    session.tell("finish a");
    session.send("die");
    runtime.over();
    let (outcome, witness, _) = only(&mut runtime, session.run);
    assert_eq!((outcome, witness), (Outcome::Done, Witness::Gate));
}

pub(crate) fn a_gate_that_holds_locks_too_long_is_ended_and_settled() {
    let root = TempDir::new("held");
    let warden = start();
    let mut runtime = Runtime::greeted_in(&warden, &root.0);
    let session = Session::new(&mut runtime, "puppet");
    assert_eq!(session.ask("begin a"), "begun 7");
    let over = runtime.over();
    assert!(over.note.unwrap().as_str().contains("too long"));
    assert_eq!(only(&mut runtime, session.run).0, Outcome::Failed);
    let slow = Session::new(&mut runtime, "puppet");
    assert_eq!(slow.ask("begin a"), "begun 7");
    slow.tell("unlock");
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(
        slow.ask("finish a"),
        "receipt 8 2",
        "without locks it may take its time"
    );
}

pub(crate) fn an_ended_session_may_finish_what_it_began_within_a_bound() {
    let root = TempDir::new("bound");
    let warden = start();
    let mut runtime = Runtime::greeted_in(&warden, &root.0);
    let session = Session::new(&mut runtime, "puppet");
    assert_eq!(session.ask("begin a"), "begun 7");
    runtime.send_end(session.id);
    std::thread::sleep(Duration::from_millis(100));
    session.send("finish a");
    assert_eq!(runtime.over().cause, OverCause::Revoked);
    let (outcome, witness, _) = only(&mut runtime, session.run);
    assert_eq!((outcome, witness), (Outcome::Done, Witness::Gate));
    let slow = Session::new(&mut runtime, "puppet");
    assert_eq!(slow.ask("begin a"), "begun 7");
    let asked = Instant::now();
    runtime.send_end(slow.id);
    assert_eq!(runtime.over().cause, OverCause::Revoked);
    assert!(asked.elapsed() >= Duration::from_millis(500), "it had time");
    let last = log(&mut runtime, slow.run).pop().unwrap();
    assert_eq!(
        (last.end.outcome, last.witness),
        (Outcome::Failed, Witness::Observer)
    );
    let waits = Session::new(&mut runtime, "puppet");
    let asked = Instant::now();
    runtime.send_end(waits.id);
    runtime.over();
    assert!(
        asked.elapsed() < Duration::from_millis(400),
        "nothing is waited for"
    );
}

pub(crate) fn a_closed_connection_leaves_no_effect_open() {
    let root = TempDir::new("closed");
    let state = TempDir::new("closed-state");
    let warden = Embedded::start(config(StatePlace::At(state.0.clone()))).unwrap();
    let mut runtime = Runtime::greeted_in(&warden, &root.0);
    let session = Session::new(&mut runtime, "puppet");
    assert_eq!(session.ask("begin a"), "begun 7");
    drop((session, runtime));
    drop(warden);
    let records = Records::open(&state.0).unwrap();
    let seen = records.verify().unwrap();
    assert_eq!((seen.open, seen.receipts, seen.broken), (0, 1, None));
    let run = &records.runs(None).unwrap().runs.into_vec()[0];
    assert!(run.ended_ms.is_some());
}

/// The warden of another process, which dies in the middle of an effect.
pub(crate) fn play_doomed_warden(state: &str, root: &str, request: &str) {
    let place = StatePlace::At(PathBuf::from(state));
    let warden = Embedded::start(config(place)).unwrap();
    let mut runtime = Runtime::greeted_in(&warden, Path::new(root));
    let session = Session::new(&mut runtime, request);
    assert_eq!(session.ask("begin a"), "begun 7");
    session.tell("make a 0");
    let gate = runtime.status().sessions.as_slice()[0].gate;
    println!("{gate}");
    std::io::stdout().flush().unwrap();
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}

/// Lets a warden die in the middle of an effect; the process id of its gate.
fn doomed(state: &Path, root: &Path, request: &str) -> u32 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg("doomed-warden")
        .args([state, root])
        .arg(request)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    said.read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    line.trim().parse().unwrap()
}

pub(crate) fn a_successor_settles_what_a_dead_warden_began() {
    let cases = [
        ("puppet", Outcome::Done, Witness::Observer),
        // Its gate does not die with it, but a while later.
        ("puppet-tough", Outcome::Done, Witness::Observer),
        ("puppet-moved", Outcome::Uncertain, Witness::Nobody),
    ];
    for (request, outcome, witness) in cases {
        let root = TempDir::new("successor");
        let state = TempDir::new("successor-state");
        let gate = doomed(&state.0, &root.0, request);
        if request == "puppet-moved" {
            std::fs::rename(&root.0, state.0.join("elsewhere")).unwrap();
            std::fs::create_dir(&root.0).unwrap();
        }
        let warden = Embedded::start(config(StatePlace::At(state.0.clone()))).unwrap();
        assert!(
            !is_alive(gate) || runtime::is_zombie(gate),
            "the old gate is gone first"
        );
        let mut runtime = Runtime::greeted_in(&warden, &state.0);
        let session = Session::new(&mut runtime, "puppet");
        assert_eq!(session.ask("begin b"), "begun 7");
        let end = Instant::now() + Duration::from_secs(5);
        while verified(&mut runtime).open > 1 {
            assert!(Instant::now() < end, "not settled");
            std::thread::sleep(Duration::from_millis(10));
        }
        let how = only(&mut runtime, RunId(1));
        assert_eq!((how.0, how.1), (outcome, witness), "{request}");
    }
}
