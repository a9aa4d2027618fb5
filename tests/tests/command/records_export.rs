//! Records taken elsewhere, and records that are torn.

use crate::place::{Place, Said};
use rusqlite::Connection;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

/// A run that writes the same short content twice, deletes one, and is refused once; another that
/// writes it again. No broker serves afterwards.
fn written() -> Place {
    let place = Place::new();
    let script =
        "printf secret | portcullis-tool write a && printf secret | portcullis-tool write b
                  portcullis-tool delete b; portcullis-tool read ../outside/secret; true";
    assert_eq!(place.script(&[], script).code, 0);
    let again = place.script(&[], "printf secret | portcullis-tool write c");
    assert_eq!(again.code, 0, "{again:?}");
    place
}

fn lines(said: &Said) -> Vec<Value> {
    assert_eq!(said.code, 0, "{said:?}");
    said.documents()
}

fn of<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["kind"] == kind).collect()
}

fn checked(place: &Place, file: &str, more: &[&str]) -> (i32, Value) {
    let words = [&["log", "verify", file, "--json"], more].concat();
    let said = place.portcullis(&words);
    (said.code, said.documents().remove(0))
}

#[test]
fn an_export_is_checked_with_no_records_and_says_all_that_receipts_do() {
    let place = written();
    let told = place.portcullis(&["log", "export", "--refusals", "--output", "all.jsonl"]);
    assert_eq!(told.code, 0, "{told:?}");
    let mode = std::fs::metadata(place.at("all.jsonl"))
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    let again = place.portcullis(&["log", "export", "--output", "all.jsonl"]);
    assert_eq!(again.code, 1, "nothing that is there is overwritten");
    let text = std::fs::read_to_string(place.at("all.jsonl")).unwrap();
    let all: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = all
        .iter()
        .map(|line| line["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "export", "session", "receipt", "receipt", "receipt", "refusal", "session", "receipt",
            "head"
        ]
    );
    let first = &all[2];
    assert_eq!(first["names"][0]["name"], "/workspace/a");
    assert_eq!(first["names"][0]["role"], "target");
    assert_eq!(first["names"][0]["before"]["state"], "absent");
    assert!(
        first["names"][0]["after"]["object"]["inode"]
            .as_u64()
            .unwrap()
            > 0
    );
    assert_eq!(first["authority"], all[1]["authority"]);
    assert_eq!(
        (&first["cage"], &first["approval"]),
        (&all[1]["cage"], &Value::Null)
    );
    assert_eq!(first["previous_chain"], all[1]["first_chain"]);
    assert_eq!(all[4]["chain"], all[1]["last_chain"]);
    assert_eq!(all[5]["code"], "escape");
    assert_eq!(all[5]["object"], "../outside/secret");
    let head = &all.last().unwrap();
    assert_eq!(
        (&head["receipts"], &head["refusals"]),
        (&4.into(), &1.into())
    );
    // Elsewhere: no state, no broker.
    let other = Place::new();
    other.write("all.jsonl", &text);
    let (code, seen) = checked(&other, "all.jsonl", &[]);
    assert_eq!((code, &seen["broken"]), (0, &Value::Null), "{seen}");
    assert_eq!((&seen["lines"], &seen["receipts"]), (&9.into(), &4.into()));
    let link = seen["head"].as_str().unwrap();
    assert!(told.out.contains(link), "{told:?}");
    assert_eq!(checked(&other, "all.jsonl", &["--head", link]).0, 0);
    let other_head = "0".repeat(64);
    assert_eq!(checked(&other, "all.jsonl", &["--head", &other_head]).0, 1);
    assert!(
        !other.at("state/portcullis").exists(),
        "nothing was made for it"
    );
}

#[test]
fn digests_of_an_export_are_keyed_unless_they_are_wanted_plain() {
    let place = written();
    let digest = |line: &Value| {
        line["names"][0]["after"]["digest"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let keyed = lines(&place.portcullis(&["log", "export"]));
    let plain = lines(&place.portcullis(&["log", "export", "--plain"]));
    let again = lines(&place.portcullis(&["log", "2", "export"]));
    let (keyed_all, plain_all) = (of(&keyed, "receipt"), of(&plain, "receipt"));
    assert_eq!(digest(plain_all[0]), blake3_of_secret());
    assert_ne!(digest(keyed_all[0]), digest(plain_all[0]));
    // The same content is known as the same, in every export of this state.
    assert_eq!(digest(keyed_all[0]), digest(keyed_all[1]));
    assert_eq!(digest(keyed_all[0]), digest(of(&again, "receipt")[0]));
    // Nothing that is made of a digest is told as it is.
    let text = |lines: &[Value]| lines.iter().map(ToString::to_string).collect::<String>();
    let keyed_text = text(&keyed);
    for receipt in &plain_all {
        for field in ["request", "chain", "previous_chain"] {
            let told = receipt[field].as_str().unwrap();
            assert!(!keyed_text.contains(told), "{field}");
        }
    }
    assert_eq!(keyed[0]["state"], plain[0]["state"]);
    assert_ne!(keyed[0]["export"], again[0]["export"]);
    let other = written();
    let elsewhere = lines(&other.portcullis(&["log", "export"]));
    assert_ne!(digest(of(&elsewhere, "receipt")[0]), digest(keyed_all[0]));
    let key = other.at("state/portcullis/export.key");
    let mode = std::fs::metadata(key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// blake3 of the six bytes `secret`.
fn blake3_of_secret() -> String {
    blake3::hash(b"secret").to_hex().to_string()
}

#[test]
fn what_happens_to_an_export_is_named_by_its_kind_and_line() {
    let place = written();
    assert_eq!(
        place
            .portcullis(&["log", "export", "--output", "whole"])
            .code,
        0
    );
    assert_eq!(
        place
            .portcullis(&["log", "export", "--output", "other"])
            .code,
        0
    );
    let read = |name: &str| -> Vec<String> {
        let text = std::fs::read_to_string(place.at(name)).unwrap();
        text.split_inclusive('\n').map(str::to_owned).collect()
    };
    let (whole, other) = (read("whole"), read("other"));
    let mut changed = whole.clone();
    changed[3] = changed[3].replace("\"outcome\":\"done\"", "\"outcome\":\"fail\"");
    let mut missing = whole.clone();
    missing.remove(3);
    let mut reordered = whole.clone();
    reordered.swap(2, 3);
    let mut foreign = whole.clone();
    foreign.insert(3, other[3].clone());
    let mut torn = whole.clone();
    torn.last_mut().unwrap().truncate(40);
    for (lines, kind, line) in [
        (changed, "changed", "line 4"),
        (missing, "missing", "line 4"),
        (reordered, "reordered", "line 3"),
        (foreign, "foreign", "line 4"),
        (torn, "torn tail", "line 8"),
    ] {
        place.write("damaged", lines.concat());
        let (code, seen) = checked(&place, "damaged", &[]);
        assert_eq!((code, seen["kind"].as_str()), (1, Some(kind)), "{seen}");
        let said = seen["broken"].as_str().unwrap();
        assert!(said.starts_with(kind) && said.contains(line), "{said}");
    }
    let text = place.portcullis(&["log", "verify", "whole"]);
    assert!(
        text.out
            .starts_with("whole: 4 receipts of 2 sessions\nhead "),
        "{text:?}"
    );
    assert_eq!(place.portcullis(&["log", "verify", "nowhere"]).code, 1);
}

#[test]
fn a_receipt_is_shown_whole_by_its_number_whoever_keeps_the_records() {
    let place = written();
    let said = place.portcullis(&["log", "show", "3"]);
    assert_eq!(said.code, 0, "{said:?}");
    for wanted in [
        "delete /workspace/b",
        "target /workspace/b:",
        "  authority: ",
        "  cage: ",
        "  previous: ",
        "  chain: ",
        "run 1, session 1",
    ] {
        assert!(said.out.contains(wanted), "{wanted}: {said:?}");
    }
    let third = place
        .portcullis(&["log", "show", "3", "--json"])
        .documents()
        .remove(0);
    let fourth = place
        .portcullis(&["log", "show", "4", "--json"])
        .documents()
        .remove(0);
    assert_eq!((&third["run"], &fourth["run"]), (&1.into(), &2.into()));
    assert_eq!(third["receipt"]["names"][0]["verb"], "delete");
    let none = place.portcullis(&["log", "show", "5"]);
    assert_eq!(none.code, 1);
    assert!(none.err.contains("there is no receipt 5"), "{none:?}");
    let state = place.at("state/portcullis");
    let read = [
        "log",
        "show",
        "3",
        "--json",
        "--state",
        state.to_str().unwrap(),
    ];
    assert_eq!(place.portcullis(&read).documents().remove(0), third);
}

#[test]
fn a_head_that_was_seen_is_still_there_or_that_is_said() {
    let place = written();
    let seen = place
        .portcullis(&["log", "verify", "--json"])
        .documents()
        .remove(0);
    let head = seen["head"].as_str().unwrap().to_owned();
    assert_eq!(
        place.script(&[], "printf x | portcullis-tool write d").code,
        0
    );
    let later = place
        .portcullis(&["log", "verify", "--json"])
        .documents()
        .remove(0);
    assert_ne!(later["head"], seen["head"]);
    assert_eq!(
        place.portcullis(&["log", "verify", "--head", &head]).code,
        0
    );
    let never = "a".repeat(64);
    let said = place.portcullis(&["log", "verify", "--head", &never]);
    assert_eq!(said.code, 1);
    assert!(
        said.out.contains("BROKEN: missing: the head that was seen"),
        "{said:?}"
    );
}

#[test]
fn a_torn_tail_is_repaired_with_the_evidence_kept_and_nothing_else_is() {
    let place = Place::new();
    let script = "printf x | portcullis-tool write a; printf y | portcullis-tool write b";
    let options = ["--embedded", "--state", "own"];
    assert_eq!(place.script(&options, script).code, 0);
    let own = |words: &[&str]| place.portcullis(&[words, &["--state", "own"]].concat());
    let whole = own(&["log", "repair"]);
    assert_eq!(whole.code, 0);
    assert!(whole.out.starts_with("nothing was changed"), "{whole:?}");
    // As if the row of the session were on a page that the disk lost.
    let database = Connection::open(place.at("own/state.db")).unwrap();
    database.pragma_update(None, "foreign_keys", false).unwrap();
    database
        .execute_batch(
            "UPDATE sessions SET last = 1, done = 1, ended_ms = NULL,
               head = (SELECT link FROM receipts WHERE number = 1)",
        )
        .unwrap();
    let torn = own(&["log", "verify"]);
    assert_eq!(torn.code, 1);
    assert!(
        torn.out
            .starts_with("BROKEN: torn tail: the row of session 1"),
        "{torn:?}"
    );
    let repaired = own(&["log", "repair", "--json"]).documents().remove(0);
    assert_eq!(
        (&repaired["sessions"], &repaired["removed"]),
        (&1.into(), &0.into())
    );
    let evidence = repaired["evidence"].as_str().unwrap();
    assert!(std::fs::metadata(evidence).unwrap().len() > 0);
    assert_eq!(own(&["log", "verify"]).code, 0);
    assert_eq!(own(&["log", "last"]).code, 0);
    database
        .execute_batch("UPDATE receipts SET outcome = 'failed' WHERE number = 2")
        .unwrap();
    let refused = own(&["log", "repair"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.err.contains("no torn tail") && refused.err.contains("changed: receipt 2"),
        "{refused:?}"
    );
}

#[test]
fn nothing_is_repaired_while_a_broker_has_the_records() {
    let place = written();
    let said = place.portcullis(&["log", "repair"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("is in use by the warden"), "{said:?}");
}
