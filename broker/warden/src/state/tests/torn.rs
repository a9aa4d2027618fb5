//! What a crash of the disk leaves at the end, and how it is brought in order.

use super::*;

/// A session that runs, with three receipts of which its row knows `known`, and the next effect
/// begun when it has all.
fn behind(known: i64) -> TempDir {
    let dir = TempDir::new();
    let state = open(&dir);
    let run = state.begin_run("r", "o").unwrap();
    let row = session(&state, run, 1);
    let tool = Connection::open(dir.path().join("state").join(DATABASE)).unwrap();
    let page = |row: SessionRow| -> (i64, String, i64, i64, i64, Option<i64>, Option<Vec<u8>>) {
        tool.query_row(
            "SELECT last, head, done, failed, uncertain, intent_ms, intent FROM sessions
             WHERE id = ?1",
            (row.0,),
            |row| {
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get(3)?,
                    row.get(4)?,
                    row.get(5)?,
                    row.get(6)?,
                ))
            },
        )
        .unwrap()
    };
    let mut old = None;
    for n in 0..3 {
        let id = state.begin(row, &begin(&format!("{n}")), None).unwrap();
        if n == known {
            old = Some(page(row));
        }
        let outcome = if n == 1 {
            Outcome::Failed
        } else {
            Outcome::Done
        };
        state
            .finish(id, &end(&format!("{n}"), outcome), b"-\n", Witness::Gate)
            .unwrap();
    }
    drop(state);
    if let Some(old) = old {
        tool.execute(
            "UPDATE sessions SET last = ?1, head = ?2, done = ?3, failed = ?4, uncertain = ?5,
             intent_ms = ?6, intent = ?7",
            old,
        )
        .unwrap();
    }
    dir
}

fn change(dir: &TempDir, sql: &str) {
    let tool = Connection::open(dir.path().join("state").join(DATABASE)).unwrap();
    tool.pragma_update(None, "foreign_keys", false).unwrap();
    tool.execute_batch(sql).unwrap();
}

fn said(dir: &TempDir) -> Option<String> {
    let broken = records(dir).verify().unwrap().broken;
    broken.map(|broken| broken.as_str().to_owned())
}

fn mended(dir: &TempDir) -> Result<Repaired, RepairError> {
    repair(&dir.path().join("state"))
}

#[test]
fn a_row_behind_its_receipts_is_a_torn_tail_and_is_brought_up_to_them() {
    for known in 0..3 {
        let dir = behind(known);
        let told = said(&dir).unwrap();
        assert!(
            told.starts_with("torn tail: the row of session 1"),
            "{told}"
        );
        // A warden would write a second receipt after the same link.
        let error = try_open(&dir).unwrap_err();
        assert!(error.to_string().contains("log repair"), "{error}");
        let done = mended(&dir).unwrap();
        assert_eq!((done.sessions, done.removed), (1, 0));
        assert_eq!(said(&dir), None);
        let evidence = done.evidence.unwrap();
        let mode = std::fs::metadata(&evidence).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let kept = Connection::open(&evidence).unwrap();
        let told = verify::verify(&kept).unwrap().broken.unwrap();
        assert!(told.as_str().starts_with("torn tail"), "as it was: {told}");
        let run = records(&dir).runs(None).unwrap().runs.into_vec().remove(0);
        assert_eq!(
            (run.done, run.failed, run.uncertain, run.open),
            (2, 1, 0, 0)
        );
        let state = open(&dir);
        state.end_left_sessions().unwrap();
        assert_eq!(said(&dir), None);
    }
}

#[test]
fn a_receipt_beyond_the_row_that_is_not_whole_goes_and_its_intent_is_settled() {
    for damage in [
        "UPDATE receipts SET body = zeroblob(length(body)) WHERE number = 2",
        "UPDATE receipts SET link = '' WHERE number = 2",
        "UPDATE receipts SET diff = x'' WHERE number = 2",
        "DELETE FROM receipts WHERE number = 2",
    ] {
        let dir = behind(1);
        change(&dir, damage);
        let told = said(&dir).unwrap();
        assert!(told.starts_with("torn tail"), "{damage}: {told}");
        let gone = if damage.starts_with("DELETE") { 1 } else { 2 };
        assert_eq!(mended(&dir).unwrap().removed, gone, "{damage}");
        assert_eq!(said(&dir), None);
        let state = open(&dir);
        let left = state.open_intents().unwrap();
        assert_eq!(left[0].begin, begin("1"), "what has no receipt is open");
    }
}

#[test]
fn an_end_that_only_the_heads_know_is_a_torn_tail() {
    let dir = TempDir::new();
    drop(filled(&dir));
    change(&dir, "UPDATE sessions SET ended_ms = NULL WHERE id = 2");
    let told = said(&dir).unwrap();
    assert!(
        told.starts_with("torn tail: the row of session 2"),
        "{told}"
    );
    assert_eq!(mended(&dir).unwrap().sessions, 1);
    assert_eq!(said(&dir), None);
    let ended = records(&dir).sessions(RunId(1), 0).unwrap().sessions;
    assert!(ended.as_slice()[1].ended_ms.is_some());
}

#[test]
fn nothing_is_repaired_that_is_no_torn_tail() {
    for tampering in [
        "UPDATE receipts SET outcome = 'uncertain' WHERE number = 1",
        "DELETE FROM receipts WHERE number = 1",
        "UPDATE sessions SET owner = 'me'",
        "UPDATE sessions SET done = 7",
        "INSERT INTO receipts SELECT run, 9, session, at_ms, outcome, witness, guarantee, touched,
         link, body, diff FROM receipts WHERE number = 3",
    ] {
        let dir = behind(1);
        change(&dir, tampering);
        let before = said(&dir).unwrap();
        assert!(!before.starts_with("torn"), "{tampering}: {before}");
        match mended(&dir) {
            Err(RepairError::Tampered(what)) => assert_eq!(what, before),
            other => panic!("{other:?}"),
        }
        assert_eq!(said(&dir), Some(before));
        let files = std::fs::read_dir(dir.path().join("state")).unwrap();
        let evidence = files
            .flatten()
            .filter(|file| file.file_name().to_string_lossy().starts_with("evidence"));
        assert_eq!(evidence.count(), 0, "nothing was done");
    }
}

#[test]
fn a_whole_state_is_left_alone_and_one_in_use_is_not_touched() {
    let dir = TempDir::new();
    let state = filled(&dir);
    let error = mended(&dir).unwrap_err();
    assert!(
        matches!(error, RepairError::State(StateError::InUse { .. })),
        "{error:?}"
    );
    drop(state);
    let done = mended(&dir).unwrap();
    assert_eq!((done.sessions, done.evidence), (0, None));
    let nowhere = repair(&dir.path().join("nowhere")).unwrap_err();
    assert!(matches!(
        nowhere,
        RepairError::State(StateError::Missing { .. })
    ));
    assert!(!dir.path().join("nowhere").exists());
}

#[test]
fn the_key_of_exports_is_made_once_and_nobody_else_reads_it() {
    let dir = TempDir::new();
    drop(open(&dir));
    let key = records(&dir).export_key().unwrap();
    let again = records(&dir).export_key().unwrap();
    let digest = Digest([7; 32]);
    assert_eq!(key.digest(&digest), again.digest(&digest));
    assert_eq!(key.state(), again.state());
    assert_ne!(key.digest(&digest), digest);
    let place = dir.path().join("state");
    let file = std::fs::metadata(place.join("export.key")).unwrap();
    assert_eq!((file.permissions().mode() & 0o777, file.len()), (0o600, 32));
    let other = TempDir::new();
    drop(open(&other));
    let other = records(&other).export_key().unwrap();
    assert_ne!(other.digest(&digest), key.digest(&digest));
    assert_ne!(other.state(), key.state());
    // A key that was cut short is none.
    std::fs::write(place.join("export.key"), b"short").unwrap();
    assert!(records(&dir).export_key().is_err());
}
