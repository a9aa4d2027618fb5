//! Whatever happens to a file that was exported is found, and the line named.

use super::super::lines::Lines;
use super::*;
use serde_json::Value;

/// An export of a session with two receipts, one without, and a refusal.
fn export(id: u8) -> Vec<u8> {
    let mut lines = Lines::new(Vec::new(), [id; 16]);
    let session = |session: u64, receipts: u64, last: &str| {
        json!({
            "run": 1, "session": session, "receipts": receipts, "first_chain": "a",
            "last_chain": last, "owner": "söme\u{7}body",
        })
    };
    let receipt = |number: u64, previous: &str, chain: &str| {
        json!({
            "run": 1, "session": 1, "receipt": number, "previous_chain": previous,
            "chain": chain, "names": [{"name": "/w/x", "size": 7, "digest": null}],
        })
    };
    let first = json!({"version": VERSION, "digests": "keyed"});
    lines.write("export", first).unwrap();
    lines.write("session", session(1, 2, "c")).unwrap();
    lines.write("session", session(2, 0, "a")).unwrap();
    lines.write("receipt", receipt(1, "a", "b")).unwrap();
    lines.write("receipt", receipt(2, "b", "c")).unwrap();
    lines.write("refusal", json!({"refusal": 1})).unwrap();
    let head = json!({"sessions": 2, "receipts": 2, "refusals": 1});
    lines.write("head", head).unwrap();
    lines.end().unwrap().1
}

fn checked(file: &[u8], head: Option<Digest>) -> Result<Seen, Fault> {
    let mut seen = Seen::default();
    look(&split(file).unwrap(), head, &mut seen).map(|()| seen)
}

/// The kind, and what is said of it.
fn found(file: &[u8]) -> (Kind, String) {
    let fault = checked(file, None).unwrap_err();
    (fault.kind, fault.what)
}

fn lines(file: &[u8]) -> Vec<Vec<u8>> {
    file.split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

#[test]
fn an_export_holds_together_and_its_head_is_known() {
    let file = export(1);
    let seen = checked(&file, None).unwrap();
    assert_eq!(
        (seen.lines, seen.sessions, seen.receipts, seen.refusals),
        (7, 2, 2, 1)
    );
    let head = seen.head.unwrap();
    checked(&file, Some(head)).unwrap();
    let other = checked(&file, Some(Digest([1; 32]))).unwrap_err();
    assert_eq!(other.kind, Kind::Changed);
    assert!(
        found(b"").1.contains("line 0"),
        "an empty file is no export"
    );
}

/// The least an export with a receipt has.
fn small() -> Vec<u8> {
    let mut lines = Lines::new(Vec::new(), [3; 16]);
    let ids = |fields: Value| {
        let mut fields = fields;
        fields["run"] = json!(1);
        fields["session"] = json!(1);
        fields
    };
    let session = json!({"receipts": 1, "first_chain": "a", "last_chain": "b"});
    let receipt = json!({"previous_chain": "a", "chain": "b", "x": "\u{7}é", "y": [null, {}]});
    let head = json!({"sessions": 1, "receipts": 1, "refusals": 0});
    lines.write("export", json!({"version": VERSION})).unwrap();
    lines.write("session", ids(session)).unwrap();
    lines.write("receipt", ids(receipt)).unwrap();
    lines.write("head", head).unwrap();
    lines.end().unwrap().1
}

#[test]
fn every_change_of_a_single_byte_is_found() {
    let file = small();
    checked(&file, None).unwrap();
    let mut changed = file.clone();
    for place in 0..file.len() {
        let was = file[place];
        for byte in 0..=u8::MAX {
            if byte != was {
                changed[place] = byte;
                assert!(checked(&changed, None).is_err(), "byte {place} as {byte}");
            }
        }
        changed[place] = was;
    }
}

#[test]
fn every_byte_taken_out_or_put_in_is_found() {
    let file = export(1);
    for place in 0..file.len() {
        let mut shorter = file.clone();
        shorter.remove(place);
        assert!(checked(&shorter, None).is_err(), "without byte {place}");
        for byte in [b' ', b'\n', b'0', b'"', b'\r', b',', file[place]] {
            let mut longer = file.clone();
            longer.insert(place, byte);
            assert!(checked(&longer, None).is_err(), "{byte} at {place}");
        }
    }
    let mut longer = file.clone();
    longer.push(b'\n');
    assert_eq!(found(&longer).0, Kind::Foreign);
}

#[test]
fn a_changed_line_is_named() {
    let file = lines(&export(1));
    for changed in 0..file.len() {
        let mut file = file.clone();
        let at = file[changed].len() / 2;
        file[changed][at] ^= 1;
        let (kind, what) = found(&file.concat());
        assert_eq!(
            (kind, what),
            (Kind::Changed, format!("line {}", changed + 1))
        );
    }
}

#[test]
fn a_missing_line_is_named() {
    let file = lines(&export(1));
    for missing in 0..file.len() - 1 {
        let mut file = file.clone();
        file.remove(missing);
        let (kind, what) = found(&file.concat());
        assert_eq!(
            (kind, what),
            (Kind::Missing, format!("line {}", missing + 1))
        );
    }
    let mut two = file;
    two.drain(2..4);
    assert_eq!(
        found(&two.concat()),
        (Kind::Missing, "lines 3 to 4".to_owned())
    );
}

#[test]
fn lines_in_another_order_are_named() {
    let file = lines(&export(1));
    for place in 0..file.len() - 2 {
        let mut file = file.clone();
        file.swap(place, place + 1);
        let (kind, what) = found(&file.concat());
        assert_eq!(kind, Kind::Reordered);
        assert_eq!(
            what,
            format!(
                "line {} was line {} when it was written",
                place + 1,
                place + 2
            )
        );
    }
    let mut twice = file.clone();
    twice.insert(4, file[3].clone());
    assert_eq!(found(&twice.concat()).0, Kind::Reordered);
}

#[test]
fn a_line_of_another_export_is_named() {
    let (file, other) = (lines(&export(1)), lines(&export(2)));
    for place in 1..file.len() - 1 {
        let mut inserted = file.clone();
        inserted.insert(place, other[place].clone());
        let mut instead = file.clone();
        instead[place].clone_from(&other[place]);
        for file in [inserted, instead] {
            let (kind, what) = found(&file.concat());
            assert_eq!(kind, Kind::Foreign);
            assert_eq!(what, format!("line {} is of another export", place + 1));
        }
    }
    let mut after = file;
    after.extend(other);
    assert_eq!(
        found(&after.concat()),
        (Kind::Foreign, "line 8 is after the head".to_owned())
    );
}

#[test]
fn a_torn_end_is_told_from_tampering() {
    let file = export(1);
    let whole = lines(&file);
    let mut before = 0;
    for (line, bytes) in whole.iter().enumerate() {
        for cut in 1..bytes.len() {
            let (kind, what) = found(&file[..before + cut]);
            assert_eq!(kind, Kind::Torn);
            assert!(
                what.starts_with(&format!("line {} is cut short", line + 1)),
                "{what}"
            );
        }
        before += bytes.len();
        if line + 1 < whole.len() {
            let (kind, what) = found(&file[..before]);
            assert_eq!(kind, Kind::Torn);
            assert!(
                what.contains(&format!("after line {}, without", line + 1)),
                "{what}"
            );
        }
    }
}

/// Somebody who links all lines anew has to say something that holds together, and another head.
#[test]
fn lines_that_were_linked_anew_are_found_by_what_they_say_or_by_the_head() {
    type Change<'a> = &'a dyn Fn(&mut Vec<(String, Value)>);
    let forged = |change: Change<'_>| {
        let read = lines(&export(1));
        let mut all: Vec<(String, Value)> = read
            .iter()
            .map(|line| {
                let line = Line::read(line.strip_suffix(b"\n").unwrap()).unwrap();
                (line.kind.clone(), Value::Object(line.fields))
            })
            .collect();
        change(&mut all);
        let mut lines = Lines::new(Vec::new(), [1; 16]);
        for (kind, fields) in all {
            lines.write(&kind, fields).unwrap();
        }
        lines.end().unwrap().1
    };
    let head = checked(&export(1), None).unwrap().head;
    assert_eq!(forged(&|_| {}), export(1));
    let said: Change<'_> = &|all| all[3].1["names"][0]["name"] = json!("/w/y");
    checked(&forged(said), None).unwrap();
    assert_eq!(
        checked(&forged(said), head).unwrap_err().kind,
        Kind::Changed
    );
    let changes: [Change<'_>; 8] = [
        &|all| drop(all.remove(3)),
        &|all| all.swap(3, 4),
        &|all| drop(all.remove(1)),
        &|all| all[4].1["chain"] = json!("x"),
        &|all| all[1].1["receipts"] = json!(3),
        &|all| all[6].1["receipts"] = json!(3),
        &|all| all[0].1["version"] = json!(VERSION + 1),
        &|all| all[2].1["session"] = json!(1),
    ];
    for (n, change) in changes.iter().enumerate() {
        assert!(checked(&forged(*change), None).is_err(), "change {n}");
    }
}

#[test]
fn lines_have_one_form() {
    let lines = lines(&export(1));
    let line = lines[1].strip_suffix(b"\n").unwrap();
    let text = std::str::from_utf8(line).unwrap();
    assert!(text.contains("söme\\u0007body"), "{text}");
    let keys: Vec<&str> = text
        .split(",\"")
        .map(|part| part.trim_start_matches("{\"").split('"').next().unwrap())
        .collect();
    assert!(keys.is_sorted(), "{keys:?}");
    assert!(Line::read(line).is_some());
    for other in [
        text.replacen(",", ", ", 1),
        text.replace("söme", "s\\u00f6me"),
        text.replacen("{", "{\"run\":1,", 1),
        format!(" {text}"),
    ] {
        assert!(Line::read(other.as_bytes()).is_none(), "{other}");
    }
}
