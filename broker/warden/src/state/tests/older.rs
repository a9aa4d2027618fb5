//! A state of schema 1, as the version before wrote it, taken to this one.

use super::*;
use portcullis_protocol::refusal::Code;

/// Two ended sessions of two receipts, one with one, and one in another run with a refused effect and
/// an intent that was left open, as they were on the disk.
const SCHEMA_1: &str = include_str!("schema_1.sql");

fn of_version_1(dir: &TempDir) {
    let place = dir.make("state");
    let database = Connection::open(place.join(DATABASE)).unwrap();
    database.pragma_update(None, "foreign_keys", false).unwrap();
    database.execute_batch(SCHEMA_1).unwrap();
}

#[test]
fn a_state_of_schema_1_is_whole_after_it_is_taken_to_this_one_and_goes_on() {
    let dir = TempDir::new();
    of_version_1(&dir);
    let old = Records::open(&dir.path().join("state"));
    assert!(
        matches!(old.unwrap_err(), StateError::Damaged(_)),
        "not yet"
    );
    let state = open(&dir);
    let seen = records(&dir).verify().unwrap();
    assert_eq!(
        (seen.sessions, seen.receipts, seen.open, seen.broken),
        (4, 6, 1, None)
    );
    // What was left open is settled in the encoding that its chain began with.
    let left = state.open_intents().unwrap();
    let [left] = left.as_slice() else {
        panic!("{left:?}");
    };
    assert_eq!(left.begin, begin("unfinished"));
    assert!(left.authority.is_none(), "no older authority is read");
    let settled = state
        .finish(
            left.id,
            &end("unfinished", Outcome::Uncertain),
            &[],
            Witness::Nobody,
        )
        .unwrap();
    state.end_session(left.session).unwrap();
    state.end_left_sessions().unwrap();
    let run = state.begin_run("now", "o").unwrap();
    let row = session(&state, run, 10);
    let now = effect(&state, row, "now", Outcome::Done);
    assert_eq!((settled.number, now.number), (7, 8));
    state.end_session(row).unwrap();
    let seen = records(&dir).verify().unwrap();
    assert_eq!(
        (seen.sessions, seen.receipts, seen.open, seen.broken),
        (5, 8, 0, None)
    );
}

#[test]
fn receipts_of_version_1_say_what_they_said_and_what_their_session_says() {
    let dir = TempDir::new();
    of_version_1(&dir);
    let state = open(&dir);
    let records = records(&dir);
    let run = RunId(1);
    let log = records.log(run, 0).unwrap().receipts.into_vec();
    assert_eq!(log.len(), 5);
    let sessions = records.sessions(run, 0).unwrap().sessions.into_vec();
    for receipt in &log {
        let of = sessions
            .iter()
            .find(|s| s.session == receipt.session)
            .unwrap();
        assert_eq!(receipt.authority, of.authority);
        assert_eq!((receipt.cage, receipt.approval), (Digest([0; 32]), None));
        assert_eq!(receipt.request, Digest([9; 32]));
        assert!(receipt.began_ms > 0 && receipt.began_ms <= receipt.at_ms);
        let mut own = log.iter().filter(|other| other.session == receipt.session);
        let first = own.next().unwrap();
        let previous = match receipt == first {
            true => of.first,
            false => first.id.chain,
        };
        assert_eq!(receipt.previous, previous);
        assert_eq!(of.conversation.as_str(), "");
        assert_eq!((of.parent, of.cage), (None, Digest([0; 32])));
    }
    let refused = records
        .log(RunId(2), 0)
        .unwrap()
        .receipts
        .into_vec()
        .remove(0);
    assert_eq!(refused.end.outcome, Outcome::Failed);
    let refusal = refused.end.refusal.unwrap();
    assert_eq!((refusal.code, refusal.proposal), (Code::Denied, None));
    assert_eq!(refusal.note.unwrap().as_str(), "note");
    assert_eq!(refused.witness, Witness::Observer);
    let (diff, text) = records.diff(refused.id.number).unwrap().unwrap();
    assert_eq!((diff.cut, text), (5, b"-x\n".to_vec()));
    drop(state);
}

#[test]
fn what_is_changed_in_a_chain_of_version_1_is_found() {
    for (change, kind) in [
        (
            "UPDATE receipts SET body = zeroblob(length(body)) WHERE number = 2",
            "changed",
        ),
        (
            "UPDATE receipts SET outcome = 'failed' WHERE number = 1",
            "changed",
        ),
        ("UPDATE sessions SET owner = 'me' WHERE id = 1", "changed"),
        ("UPDATE sessions SET cage = '00' WHERE id = 1", "changed"),
        ("DELETE FROM receipts WHERE number = 1", "missing"),
        ("DELETE FROM receipts WHERE number = 2", "missing"),
        (
            "UPDATE receipts SET number = 99 WHERE number = 1;
             UPDATE receipts SET number = 1 WHERE number = 2;
             UPDATE receipts SET number = 2 WHERE number = 99",
            "reordered",
        ),
        (
            "UPDATE receipts SET session = 2 WHERE number = 2",
            "foreign",
        ),
    ] {
        let dir = TempDir::new();
        of_version_1(&dir);
        let state = open(&dir);
        let tool = Connection::open(dir.path().join("state").join(DATABASE)).unwrap();
        tool.execute_batch(change).unwrap();
        let said = records(&dir).verify().unwrap().broken.unwrap();
        assert!(said.as_str().starts_with(kind), "{change}: {said}");
        drop(state);
    }
}
