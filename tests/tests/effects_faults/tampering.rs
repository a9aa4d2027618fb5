//! Records that somebody changed: the check says which is broken.

use portcullis_client::{Changes, Control, MintOrder, ask, change};
use portcullis_protocol::authority::Scope;
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::own;
use portcullis_warden::{Config, Embedded, GateExecutable, Records, StatePlace};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// Receipts of each session.
const EACH: u64 = 5;

/// A state with three sessions, each with some receipts, and no warden on it.
fn written(place: &Path) -> PathBuf {
    let (state, inside) = (place.join("state"), place.join("inside"));
    std::fs::create_dir(&inside).unwrap();
    let warden = Embedded::start(Config {
        gate: GateExecutable::At(own!("own-gate")),
        state: StatePlace::At(state.clone()),
        ..Config::default()
    })
    .unwrap();
    let mut control = Control::new(warden.connect().unwrap()).unwrap();
    let label = Label::new("workspace").unwrap();
    let root = control.seal_path(&inside, label, Scope::Workspace).unwrap();
    for session_number in 0..3 {
        let order = MintOrder::new("tester").root(root.root, None).grant(
            root.root,
            RelPath::root(),
            VerbSet::ALL,
        );
        let (minted, mut session) = control.mint(&order).unwrap();
        for n in 0..EACH {
            let path = ask::selector(format!("{session_number}.{n}")).unwrap();
            let changes = Changes::new().with(change::create(path, "x\n"));
            session.change(&changes).unwrap();
        }
        drop(session);
        control.wait_over(minted.session, None).unwrap().unwrap();
    }
    drop((control, warden));
    state
}

/// What a check of a copy says after these statements.
fn tampered(state: &Path, statements: &str) -> Option<String> {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(state).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    let database = Connection::open(copy.path().join("state.db")).unwrap();
    database.pragma_update(None, "foreign_keys", false).unwrap();
    database.execute_batch(statements).unwrap();
    drop(database);
    let said = |broken: Option<String>| broken;
    let alone = Records::open(copy.path()).unwrap().verify().unwrap();
    let alone = said(alone.broken.map(|text| text.as_str().to_owned()));
    // A warden on it says the same.
    let warden = Embedded::start(Config {
        gate: GateExecutable::At(own!("own-gate")),
        state: StatePlace::At(copy.path().to_owned()),
        ..Config::default()
    })
    .unwrap();
    let mut control = Control::new(warden.connect().unwrap()).unwrap();
    let by_warden = control.verify().unwrap();
    assert_eq!(by_warden.broken.map(|text| text.as_str().to_owned()), alone);
    alone
}

#[test]
fn a_check_says_which_record_was_tampered_with() {
    let place = tempfile::tempdir().unwrap();
    let state = written(place.path());
    let database = Connection::open(state.join("state.db")).unwrap();
    let bytes: i64 = database
        .query_row(
            "SELECT length(body) FROM receipts WHERE number = 7",
            (),
            |row| row.get(0),
        )
        .unwrap();
    drop(database);
    assert_eq!(tampered(&state, "SELECT 1;"), None);
    let mut found = 0;
    // Every byte of one receipt's body, in steps.
    for at in (1..=bytes).step_by(5) {
        let flip = format!(
            "UPDATE receipts SET body = cast(substr(body, 1, {at} - 1) || CASE substr(body, {at}, 1)
               WHEN x'00' THEN x'01' ELSE x'00' END || substr(body, {at} + 1) AS BLOB)
             WHERE number = 7;"
        );
        let said = tampered(&state, &flip).expect("a flipped byte is found");
        let named = "changed: receipt 7 of session 2 of run 1 ";
        assert!(said.starts_with(named), "byte {at}: {said}");
        found += 1;
    }
    for (statements, says) in CASES {
        let said = tampered(&state, statements);
        assert_eq!(said.as_deref(), Some(*says), "{statements}");
        found += 1;
    }
    println!("== {found} ways to tamper, all found");
}

/// What is done, and what is said of it.
const CASES: &[(&str, &str)] = &[
    (
        "DELETE FROM receipts WHERE number = 7;",
        "missing: what came before receipt 8 of session 2 of run 1",
    ),
    (
        "DELETE FROM receipts WHERE number = 10;",
        "missing: receipts of session 2 of run 1 after 9, up to 10",
    ),
    (
        "UPDATE receipts SET number = 1000 WHERE number = 7;
         UPDATE receipts SET number = 7 WHERE number = 8;
         UPDATE receipts SET number = 8 WHERE number = 1000;",
        "reordered: receipt 7 of session 2 of run 1 is receipt 8 by what it hashes",
    ),
    (
        "UPDATE receipts SET session = 1 WHERE number = 7;",
        "foreign: receipt 7 of session 1 of run 1 is of another session",
    ),
    (
        "UPDATE receipts SET session = 99 WHERE number = 7;",
        "foreign: receipt 7 belongs to no session",
    ),
    (
        "UPDATE receipts SET outcome = 'failed' WHERE number = 7;",
        "changed: receipt 7 of session 2 of run 1 does not say what it hashes",
    ),
    (
        "UPDATE receipts SET touched = 'nothing' WHERE number = 7;",
        "changed: receipt 7 of session 2 of run 1 does not say what it hashes",
    ),
    (
        "UPDATE receipts SET at_ms = at_ms + 1 WHERE number = 7;",
        "changed: receipt 7 of session 2 of run 1 does not say what it hashes",
    ),
    (
        "UPDATE receipts SET diff = x'00' WHERE number = 7;",
        "changed: the difference of receipt 7 of session 2 of run 1 is another",
    ),
    (
        "UPDATE sessions SET owner = 'mallory' WHERE id = 2;",
        "changed: the row of session 2 of run 1 is not what receipt 6 of session 2 of run 1 was \
         linked to",
    ),
    (
        "UPDATE sessions SET done = done - 1 WHERE id = 2;",
        "changed: the row of session 2 of run 1 is not what its receipts come to",
    ),
    (
        "UPDATE heads SET receipts = receipts - 1 WHERE session = 2;",
        "changed: head 2, of session 2 of run 1, is not what its session came to",
    ),
    (
        "DELETE FROM heads WHERE session = 2;",
        "missing: row 2 of the heads",
    ),
    (
        "DELETE FROM heads WHERE session = 3;",
        "missing: row 3 of the heads",
    ),
    // A whole session taken away with all its receipts leaves a gap.
    (
        "DELETE FROM receipts WHERE session = 2; DELETE FROM heads WHERE session = 2;
         DELETE FROM sessions WHERE id = 2;",
        "missing: row 2 of the sessions",
    ),
];
