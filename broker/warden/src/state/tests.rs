//! What the journal keeps, and what shows that it was changed.

mod claims;
mod older;
mod refusals;
mod tampering;
mod torn;

use super::*;
use crate::testing::TempDir;
use portcullis_protocol::authority::{Authority, Budgets, Parts};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::ledger::{CageReport, Step, TreeLock};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{Guarantee, Incarnation, Outcome, SessionId, Touched};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Digest, ObjectId, PathState, RootIndex};
use std::os::unix::fs::PermissionsExt;

const SOON: Duration = Duration::from_millis(50);

fn open(dir: &TempDir) -> State {
    try_open(dir).unwrap()
}

fn try_open(dir: &TempDir) -> Result<State, StateError> {
    State::open(&StatePlace::At(dir.path().join("state")), SOON)
}

fn records(dir: &TempDir) -> Records {
    Records::open(&dir.path().join("state")).unwrap()
}

fn authority() -> Authority {
    Authority::seal(Parts {
        request: Text::new("a request").unwrap(),
        owner: Text::new("somebody").unwrap(),
        conversation: Text::default(),
        parent: None,
        roots: Vec::new(),
        grants: Vec::new(),
        asks: Vec::new(),
        denials: Vec::new(),
        budgets: Budgets::UNLIMITED,
        expires_ms: None,
    })
    .unwrap()
}

fn cage() -> CageReport {
    CageReport {
        landlock_abi: 3,
        landlock_handled: 1,
        landlock_rules: 1,
        seccomp_mode: 2,
        seccomp_digest: [4; 32],
        no_new_privs: 1,
        capabilities: 0,
        dumpable: 0,
        user: 1000,
        group: 1000,
        probes_refused: 1,
        probes_made: 1,
    }
}

fn session(state: &State, run: RunId, number: u64) -> SessionRow {
    let authority = authority();
    let encoded = postcard::to_extend(&authority, Vec::new()).unwrap();
    state
        .begin_session(&NewSession {
            run,
            incarnation: Incarnation([3; 16]),
            session: SessionId(number),
            authority: &authority,
            encoded: Some(&encoded),
            cage: &cage(),
        })
        .unwrap()
}

fn touched(name: &str) -> Touched {
    Touched {
        verb: Verb::Delete,
        root: RootIndex(0),
        path: RelPath::parse(name.as_bytes()).unwrap(),
        before: PathState::Unknown,
        after: PathState::Absent,
    }
}

fn begin(name: &str) -> Begin {
    let step = Step {
        parent: ObjectId {
            device: 1,
            inode: 2,
        },
        name: Bytes::new(name).unwrap(),
        touched: touched(name),
        temporary: None,
        deletion: None,
    };
    Begin {
        tree: TreeLock::Exclusive,
        intent: Intent {
            steps: Few::new(vec![step]).unwrap(),
            request: Digest([9; 32]),
        },
    }
}

fn end(name: &str, outcome: Outcome) -> Finish {
    Finish {
        outcome,
        guarantee: Guarantee::Detected,
        touched: Few::new(vec![touched(name)]).unwrap(),
        refusal: None,
        left: 0,
        diff_cut: 5,
    }
}

/// An effect from its begin to its receipt.
fn effect(state: &State, row: SessionRow, name: &str, outcome: Outcome) -> ReceiptId {
    let id = state.begin(row, &begin(name), None).unwrap();
    let diff = format!("-{name}\n");
    let end = end(name, outcome);
    let receipt = state.finish(id, &end, diff.as_bytes(), Witness::Gate);
    receipt.unwrap()
}

#[test]
fn what_was_done_is_told_by_run_in_order_with_its_difference() {
    let dir = TempDir::new();
    let state = open(&dir);
    let first = state.begin_run("first", "o").unwrap();
    let second = state.begin_run("second", "o").unwrap();
    let (a, b) = (session(&state, first, 1), session(&state, second, 2));
    for n in 0..40 {
        effect(&state, a, &format!("a{n}"), Outcome::Done);
    }
    let other = effect(&state, b, "b", Outcome::Failed);
    let open = state.begin(b, &begin("open"), None).unwrap();
    state.end_run(first).unwrap();
    let records = records(&dir);
    let runs = records.runs(None).unwrap().runs.into_vec();
    let counts: Vec<_> = runs
        .iter()
        .map(|r| (r.run, r.done, r.failed, r.uncertain, r.open, r.sessions))
        .collect();
    assert_eq!(counts, [(second, 0, 1, 0, 1, 1), (first, 40, 0, 0, 0, 1)]);
    assert!(runs[0].ended_ms.is_none() && runs[1].ended_ms.is_some());
    assert_eq!(records.runs(Some(second)).unwrap().runs.as_slice().len(), 1);
    let page = records.log(first, 0).unwrap().receipts.into_vec();
    assert_eq!(page.len(), portcullis_protocol::limits::LOG_PAGE_MAX);
    let last = page.last().unwrap().id.number;
    let rest = records.log(first, last).unwrap().receipts.into_vec();
    let names: Vec<_> = page.iter().chain(&rest).collect();
    assert_eq!(names.len(), 40);
    for (n, receipt) in names.iter().enumerate() {
        assert_eq!(receipt.end, end(&format!("a{n}"), Outcome::Done));
        assert_eq!(
            (receipt.witness, receipt.session),
            (Witness::Gate, SessionId(1))
        );
    }
    let (text, diff) = records.diff(other.number).unwrap().unwrap();
    assert_eq!((text.cut, diff), (5, b"-b\n".to_vec()));
    assert!(records.diff(other.number + 1).unwrap().is_none());
    assert_eq!(records.verify().unwrap().broken, None);
    state
        .finish(open, &end("open", Outcome::Done), &[], Witness::Nobody)
        .unwrap();
    assert_eq!(
        records.verify().unwrap().open,
        0,
        "a reader sees what is written"
    );
}

#[test]
fn an_intent_has_one_receipt_and_numbers_are_never_used_again() {
    let dir = TempDir::new();
    let state = open(&dir);
    let run = state.begin_run("r", "o").unwrap();
    let row = session(&state, run, 1);
    let id = state.begin(row, &begin("x"), None).unwrap();
    let done = end("x", Outcome::Done);
    let one = state.finish(id, &done, &[], Witness::Gate).unwrap();
    assert!(state.finish(id, &done, &[], Witness::Gate).is_err());
    drop(state);
    let state = open(&dir);
    let two = effect(&state, session(&state, run, 2), "y", Outcome::Done);
    assert_eq!((one.number, two.number), (1, 2));
}

/// A state with two ended sessions of two receipts each, and one that runs with one.
#[test]
fn an_effect_that_gives_its_names_back_has_its_number_from_then() {
    let dir = TempDir::new();
    let state = open(&dir);
    let run = state.begin_run("r", "o").unwrap();
    let (first, second) = (session(&state, run, 1), session(&state, run, 2));
    let slow = state.begin(first, &begin("a"), None).unwrap();
    state.number(slow);
    let quick = effect(&state, second, "a", Outcome::Done);
    let ended = state.finish(slow, &end("a", Outcome::Done), b"", Witness::Gate);
    assert_eq!((ended.unwrap().number, quick.number), (1, 2));
    assert_eq!(effect(&state, first, "b", Outcome::Done).number, 3);
    assert_eq!(records(&dir).verify().unwrap().broken, None);
    drop(state);
    // A number that was given and not used is not given again to another.
    let state = open(&dir);
    assert_eq!(
        effect(&state, session(&state, run, 3), "c", Outcome::Done).number,
        4
    );
}

fn filled(dir: &TempDir) -> State {
    let state = open(dir);
    let run = state.begin_run("r", "o").unwrap();
    for number in 1..=3 {
        let row = session(&state, run, number);
        effect(&state, row, "x", Outcome::Done);
        if number < 3 {
            effect(&state, row, "y", Outcome::Uncertain);
            state.end_session(row).unwrap();
        }
    }
    state
}

#[test]
fn a_state_has_one_warden_at_a_time_and_the_other_is_told_which() {
    let dir = TempDir::new();
    let state = open(&dir);
    match try_open(&dir) {
        Err(StateError::InUse { holder, .. }) => {
            assert_eq!(holder, std::process::id().to_string());
        }
        other => panic!("{other:?}"),
    }
    drop(state);
    drop(open(&dir));
}

#[test]
fn a_successor_waits_until_the_gates_of_the_warden_before_are_gone() {
    let dir = TempDir::new();
    let state = open(&dir);
    let gate = state.gates().try_clone_to_owned().unwrap();
    drop(state);
    assert!(matches!(try_open(&dir), Err(StateError::OldGates { .. })));
    drop(gate);
    drop(open(&dir));
}

#[test]
fn nobody_else_may_enter_the_directory_or_read_its_files() {
    let dir = TempDir::new();
    let place = dir.make("state");
    std::fs::set_permissions(&place, PermissionsExt::from_mode(0o755)).unwrap();
    let _state = open(&dir);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&place), 0o700);
    let files: Vec<_> = std::fs::read_dir(&place)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let dir = TempDir::new();
    drop(open(&dir));
    let file = dir.path().join("state").join(DATABASE);
    let tool = Connection::open(&file).unwrap();
    let newer = schema::KNOWN + 1;
    tool.execute("INSERT INTO versions VALUES (?1, 0)", (newer,))
        .unwrap();
    drop(tool);
    let is_newer = |error: &StateError| matches!(error, StateError::Newer { found, known } if (*found, *known) == (newer, schema::KNOWN));
    assert!(is_newer(&try_open(&dir).unwrap_err()));
    let read = Records::open(&dir.path().join("state"));
    assert!(is_newer(&read.unwrap_err()));
}

#[test]
fn a_file_that_is_no_database_is_refused_and_kept() {
    let dir = TempDir::new();
    let place = dir.make("state");
    let text = "not a database ".repeat(1000);
    std::fs::write(place.join(DATABASE), &text).unwrap();
    assert!(matches!(try_open(&dir), Err(StateError::Database(_))));
    assert_eq!(std::fs::read_to_string(place.join(DATABASE)).unwrap(), text);
}

/// What a killed warden leaves: its files, with the log not folded in.
fn left_by_a_kill(from: &TempDir) -> TempDir {
    let to = TempDir::new();
    let place = to.make("state");
    for entry in std::fs::read_dir(from.path().join("state")).unwrap() {
        let file = entry.unwrap();
        // The shared memory of a process that is gone is not to be trusted.
        if !file.file_name().to_string_lossy().ends_with("-shm") {
            std::fs::copy(file.path(), place.join(file.file_name())).unwrap();
        }
    }
    to
}

#[test]
fn a_killed_wardens_intents_and_sessions_are_found_and_anchored() {
    let dir = TempDir::new();
    let state = filled(&dir);
    let run = state.begin_run("later", "o").unwrap();
    let row = session(&state, run, 4);
    effect(&state, row, "z", Outcome::Done);
    let begun = begin("unfinished");
    let id = state.begin(row, &begun, None).unwrap();
    let left = left_by_a_kill(&dir);
    let seen = records(&left).verify().unwrap();
    assert_eq!((seen.open, seen.receipts, seen.broken), (1, 6, None));
    let state = open(&left);
    let found = state.open_intents().unwrap();
    let [found] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!((found.id, &found.begin), (id, &begun));
    assert_eq!(found.authority.as_ref().unwrap(), &authority());
    assert_eq!(
        (found.incarnation, found.number),
        (Incarnation([3; 16]), SessionId(4))
    );
    state.end_left_sessions().unwrap();
    let over = |wanted: i64| {
        let path = left.path().join("state").join(DATABASE);
        let tool = Connection::open(path).unwrap();
        let sql = "SELECT count(*) FROM heads JOIN sessions ON sessions.id = heads.session
                   WHERE sessions.session = ?1 AND ended_ms IS NOT NULL";
        tool.query_row(sql, (wanted,), |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!((over(3), over(4)), (1, 0), "one has an open intent");
    let uncertain = end("unfinished", Outcome::Uncertain);
    state
        .finish(found.id, &uncertain, &[], Witness::Nobody)
        .unwrap();
    state.end_session(found.session).unwrap();
    assert_eq!(over(4), 1);
    let seen = records(&left).verify().unwrap();
    assert_eq!((seen.open, seen.receipts, seen.broken), (0, 7, None));
    drop(state);
    assert_eq!(
        records(&left).verify().unwrap().receipts,
        7,
        "read with nobody there"
    );
}

#[test]
fn an_amended_intent_is_the_one_that_is_found() {
    let dir = TempDir::new();
    let state = open(&dir);
    let row = session(&state, state.begin_run("r", "o").unwrap(), 1);
    let id = state.begin(row, &begin("x"), None).unwrap();
    let mut amended = begin("x");
    amended.intent.request = Digest([1; 32]);
    state.amend(id, &amended.intent).unwrap();
    assert_eq!(state.open_intents().unwrap()[0].begin, amended);
}

#[test]
fn a_full_database_begins_nothing_and_what_was_begun_stays_open() {
    let dir = TempDir::new();
    let state = open(&dir);
    let row = session(&state, state.begin_run("r", "o").unwrap(), 1);
    state.journal().forbid_growth();
    let long: Vec<Step> = (0..400)
        .map(|n| {
            begin(&format!("{n:0200}"))
                .intent
                .steps
                .into_vec()
                .remove(0)
        })
        .collect();
    let mut large = begin("x");
    large.intent.steps = Few::new(long).unwrap();
    let refused = state.begin(row, &large, None).unwrap_err();
    assert!(matches!(refused, StateError::Database(_)), "{refused:?}");
    assert!(state.open_intents().unwrap().is_empty());
    assert_eq!(records(&dir).verify().unwrap().open, 0);
    let id = state.begin(row, &begin("x"), None).unwrap();
    let mut large = end("x", Outcome::Done);
    large.touched = Few::new(vec![touched(&"x".repeat(200)); 400]).unwrap();
    assert!(state.finish(id, &large, &[], Witness::Gate).is_err());
    let told = records(&dir).verify().unwrap();
    assert_eq!((told.open, told.receipts, told.broken), (1, 0, None));
    assert_eq!(state.open_intents().unwrap()[0].id, id);
}

#[test]
fn a_private_state_leaves_nothing() {
    let state = State::open(&StatePlace::Private, SOON).unwrap();
    let place = state.directory().to_owned();
    assert!(place.join(DATABASE).exists());
    drop(state);
    assert!(!place.exists());
}

/// Prints what a begin and a finish cost; `--ignored --nocapture`, in release.
#[test]
#[ignore = "a measurement"]
fn what_begin_and_finish_cost() {
    let dir = TempDir::new();
    let state = open(&dir);
    let row = session(&state, state.begin_run("r", "o").unwrap(), 1);
    let (mut begins, mut finishes) = (Vec::new(), Vec::new());
    for n in 0..20_000 {
        let begun = begin(&format!("file-{n}"));
        let start = std::time::Instant::now();
        let id = state.begin(row, &begun, None).unwrap();
        begins.push(start.elapsed());
        let end = end(&format!("file-{n}"), Outcome::Done);
        let start = std::time::Instant::now();
        state.finish(id, &end, &[b'-'; 200], Witness::Gate).unwrap();
        finishes.push(start.elapsed());
    }
    for (what, mut all) in [("begin", begins), ("finish", finishes)] {
        all.sort_unstable();
        let at = |n: usize| all[all.len() * n / 1000];
        println!(
            "{what}: median {:?}, p99 {:?}, p99.9 {:?}, worst {:?}",
            at(500),
            at(990),
            at(999),
            all[all.len() - 1]
        );
    }
    let mut mints = Vec::new();
    let run = state.begin_run("r", "o").unwrap();
    for n in 2..2002 {
        let start = std::time::Instant::now();
        session(&state, run, n);
        mints.push(start.elapsed());
    }
    mints.sort_unstable();
    println!("session: median {:?}", mints[mints.len() / 2]);
}
