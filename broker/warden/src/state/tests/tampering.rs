//! Whatever is changed, taken away, moved or added in the records is found, and the row named.

use super::*;

/// A state with two ended sessions of two receipts each, one that runs with one, and one with a
/// receipt that was approved.
fn full(dir: &TempDir) -> State {
    let state = filled(dir);
    let run = state.begin_run("approved", "o").unwrap();
    let row = session(&state, run, 4);
    claims::approved(dir, row, 1);
    claims::approved_effect(&state, row, 1, Outcome::Done).unwrap();
    state
}

fn tool(dir: &TempDir) -> Connection {
    let tool = Connection::open(dir.path().join("state").join(DATABASE)).unwrap();
    tool.pragma_update(None, "foreign_keys", false).unwrap();
    tool
}

/// What verify says after this change.
fn found(change: &str) -> String {
    let dir = TempDir::new();
    let state = full(&dir);
    assert_eq!(records(&dir).verify().unwrap().broken, None);
    tool(&dir).execute_batch(change).unwrap();
    let seen = records(&dir).verify().unwrap();
    drop(state);
    let broken = seen.broken.unwrap_or_else(|| panic!("not found: {change}"));
    broken.as_str().to_owned()
}

fn each_is_found(kind: &str, changes: &[(&str, &str)]) {
    for (change, row) in changes {
        let said = found(change);
        let named = said
            .strip_prefix(kind)
            .and_then(|said| said.strip_prefix(": "));
        assert!(
            named.is_some_and(|named| named.contains(row)),
            "{change}\nsaid: {said}\nwanted: {kind}, {row}"
        );
    }
}

#[test]
fn a_changed_row_is_named() {
    each_is_found("changed", CHANGED);
}

/// What is done, and what is named.
const CHANGED: &[(&str, &str)] = &[
    (
        "UPDATE receipts SET body = zeroblob(length(body)) WHERE number = 2",
        "receipt 2 of session 1 of run 1",
    ),
    (
        "UPDATE receipts SET body = cast(body || x'00' AS BLOB) WHERE number = 2",
        "receipt 2",
    ),
    (
        "UPDATE receipts SET outcome = 'failed' WHERE number = 1",
        "receipt 1",
    ),
    (
        "UPDATE receipts SET witness = 'nobody' WHERE number = 1",
        "receipt 1",
    ),
    (
        "UPDATE receipts SET guarantee = 'exact' WHERE number = 1",
        "receipt 1",
    ),
    (
        "UPDATE receipts SET touched = 'delete /w/z' WHERE number = 1",
        "receipt 1",
    ),
    (
        "UPDATE receipts SET at_ms = at_ms + 1 WHERE number = 1",
        "receipt 1",
    ),
    (
        "UPDATE receipts SET link = (SELECT link FROM receipts WHERE number = 2)
                 WHERE number = 1",
        "receipt 1",
    ),
    (
        "UPDATE receipts SET diff = x'00' WHERE number = 1",
        "the difference of receipt 1",
    ),
    (
        "UPDATE sessions SET owner = 'me' WHERE id = 1",
        "session 1 of run 1",
    ),
    (
        "UPDATE sessions SET conversation = 'x' WHERE id = 4",
        "session 4 of run 2",
    ),
    (
        "UPDATE sessions SET parent = authority WHERE id = 2",
        "session 2 of run 1",
    ),
    (
        "UPDATE sessions SET authority = authority || '00' WHERE id = 1",
        "row 1",
    ),
    (
        "UPDATE sessions SET request = 'x' WHERE id = 1",
        "session 1",
    ),
    ("UPDATE sessions SET began_ms = 1 WHERE id = 1", "session 1"),
    ("UPDATE sessions SET roots = 'x' WHERE id = 1", "session 1"),
    ("UPDATE sessions SET chain = 1 WHERE id = 1", "session 1"),
    (
        "UPDATE sessions SET chain = 9 WHERE id = 1",
        "row 1 of the sessions",
    ),
    ("UPDATE sessions SET last = 1 WHERE id = 1", "session 1"),
    ("UPDATE sessions SET head = '00' WHERE id = 1", "session 1"),
    (
        "UPDATE sessions SET done = done + 1, uncertain = uncertain - 1 WHERE id = 1",
        "session 1",
    ),
    ("UPDATE heads SET at_ms = 0 WHERE position = 1", "head 1"),
    ("UPDATE heads SET receipts = 1 WHERE position = 1", "head 1"),
    ("UPDATE heads SET link = head WHERE position = 2", "head 2"),
    (
        "UPDATE proposals SET approver = 'runtime' WHERE id = 1",
        "proposal 1",
    ),
    (
        "UPDATE proposals SET state = 'approved' WHERE id = 1",
        "proposal 1",
    ),
];

#[test]
fn a_missing_row_is_named() {
    each_is_found("missing", MISSING);
}

/// What is done, and what is named.
const MISSING: &[(&str, &str)] = &[
    (
        "DELETE FROM receipts WHERE number = 1",
        "before receipt 2 of session 1",
    ),
    (
        "DELETE FROM receipts WHERE number = 2",
        "of session 1 of run 1 after 1, up to 2",
    ),
    (
        "DELETE FROM receipts WHERE number = 5",
        "of session 3 of run 1, the last of them 5",
    ),
    ("DELETE FROM heads WHERE position = 1", "row 1 of the heads"),
    ("DELETE FROM heads WHERE position = 2", "row 2 of the heads"),
    (
        "DELETE FROM receipts WHERE session = 1; DELETE FROM heads WHERE session = 1;
                 DELETE FROM sessions WHERE id = 1",
        "row 1 of the sessions",
    ),
    (
        "DELETE FROM receipts WHERE session = 4; DELETE FROM sessions WHERE id = 4",
        "row 4 of the sessions",
    ),
    (
        "DELETE FROM receipts WHERE session = 2; DELETE FROM heads WHERE position = 2",
        "receipts of session 2",
    ),
    ("DELETE FROM proposals", "proposal 1, by which receipt 6"),
    ("DELETE FROM runs WHERE run = 1", "row 1 of the runs"),
];

#[test]
fn rows_in_another_order_are_named() {
    each_is_found(
        "reordered",
        &[
            (
                "UPDATE receipts SET number = 99 WHERE number = 1;
                 UPDATE receipts SET number = 1 WHERE number = 2;
                 UPDATE receipts SET number = 2 WHERE number = 99",
                "receipt 1 of session 1 of run 1 is receipt 2",
            ),
            (
                "UPDATE receipts SET number = 99 WHERE number = 1",
                "receipt 99",
            ),
            (
                "UPDATE heads SET position = 9 WHERE position = 1;
                 UPDATE heads SET position = 1 WHERE position = 2;
                 UPDATE heads SET position = 2 WHERE position = 9",
                "head 1, of session 2",
            ),
        ],
    );
}

#[test]
fn a_row_of_another_session_is_named() {
    let copy = |number: u64, session: u64| {
        format!(
            "INSERT INTO receipts SELECT run, {number}, {session}, at_ms, outcome, witness,
             guarantee, touched, link, body, diff FROM receipts WHERE number = 1"
        )
    };
    each_is_found(
        "foreign",
        &[
            (
                "UPDATE receipts SET session = 2 WHERE number = 2",
                "receipt 2 of session 2 of run 1 is of another session",
            ),
            // At the end of one that is over, and of one that runs.
            (&copy(99, 2), "receipt 99 of session 2"),
            (&copy(99, 3), "receipt 99 of session 3"),
            (
                "UPDATE receipts SET session = 77 WHERE number = 2",
                "receipt 2 belongs to no session",
            ),
            (
                "UPDATE heads SET session = 77 WHERE position = 1",
                "head 1 belongs to no session",
            ),
        ],
    );
    let told = found("UPDATE receipts SET run = 2 WHERE number = 1");
    assert!(
        told.starts_with("foreign: ") && told.contains("run 2"),
        "{told}"
    );
}

/// A receipt that is whole in itself and comes after nothing that is there.
#[test]
fn a_receipt_with_two_before_it_gone_is_not_taken_for_changed() {
    let dir = TempDir::new();
    let state = open(&dir);
    let row = session(&state, state.begin_run("r", "o").unwrap(), 1);
    for n in 0..4 {
        effect(&state, row, &format!("{n}"), Outcome::Done);
    }
    let gone = "DELETE FROM receipts WHERE number IN (2, 3)";
    tool(&dir).execute_batch(gone).unwrap();
    let said = records(&dir).verify().unwrap();
    assert_eq!(said.receipts, 1);
    let said = said.broken.unwrap();
    assert_eq!(
        said.as_str(),
        "missing: what came before receipt 4 of session 1 of run 1"
    );
}

#[test]
fn an_approval_that_two_receipts_name_is_found() {
    let dir = TempDir::new();
    let state = open(&dir);
    let row = session(&state, state.begin_run("r", "o").unwrap(), 1);
    claims::approved(&dir, row, 1);
    claims::approved_effect(&state, row, 1, Outcome::Done).unwrap();
    assert!(claims::approved_effect(&state, row, 1, Outcome::Done).is_err());
    tool(&dir)
        .execute_batch("UPDATE proposals SET state = 'approved'")
        .unwrap();
    claims::approved_effect(&state, row, 1, Outcome::Uncertain).unwrap();
    let said = records(&dir).verify().unwrap().broken.unwrap();
    assert!(
        said.as_str()
            .contains("proposal 1 was used by receipt 1 and by receipt 2")
    );
}

#[test]
fn a_head_that_was_is_known_for_ever() {
    let dir = TempDir::new();
    let state = full(&dir);
    let records = records(&dir);
    let head = records.head().unwrap().unwrap();
    let run = state.begin_run("more", "o").unwrap();
    let row = session(&state, run, 5);
    effect(&state, row, "z", Outcome::Done);
    state.end_session(row).unwrap();
    let later = records.head().unwrap().unwrap();
    assert_ne!(head, later);
    assert!(records.had_head(head).unwrap() && records.had_head(later).unwrap());
    // The last head taken away without a trace, but for who knows it.
    tool(&dir)
        .execute_batch(
            "DELETE FROM heads WHERE position = 3; DELETE FROM receipts WHERE session = 5;
             DELETE FROM sessions WHERE id = 5; DELETE FROM runs WHERE run = 3;
             UPDATE sqlite_sequence SET seq = seq - 1 WHERE name IN ('heads', 'sessions', 'runs')",
        )
        .unwrap();
    assert_eq!(records.verify().unwrap().broken, None);
    assert!(!records.had_head(later).unwrap());
}
