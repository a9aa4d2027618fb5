//! `docs/PROTOCOL.md` names the fields of every message and struct, in wire order.

use crate::document::rows;
use crate::values::Case;
use crate::{replies, requests, trusted};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// Every struct that `shown`, the debug form of a value, holds: its name and its fields.
fn structs(shown: &str, found: &mut BTreeMap<String, Vec<String>>) {
    let mut open: Vec<(String, Vec<String>)> = Vec::new();
    let mut word = String::new();
    let mut last = String::new();
    let mut chars = shown.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                // A string ends at the first quote that no backslash stands before.
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    if c == '\\' {
                        chars.next();
                    }
                }
            }
            c if c.is_alphanumeric() || c == '_' => word.push(c),
            ':' => {
                let (_, fields) = open.last_mut().expect("a field is in a struct");
                fields.push(std::mem::take(&mut word));
            }
            ' ' => last = std::mem::take(&mut word),
            '{' => open.push((std::mem::take(&mut last), Vec::new())),
            '}' => {
                let (name, fields) = open.pop().expect("a brace was opened");
                found.insert(name, fields);
                word.clear();
            }
            _ => word.clear(),
        }
    }
    assert!(open.is_empty(), "{shown}");
}

/// Fields as a table tells them: `a: T, b: Few<T, N>` or `a, b: T each`.
fn told(cell: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let mut flat = String::new();
    for c in cell.chars() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            c if depth == 0 => flat.push(c),
            _ => {}
        }
    }
    flat.split(", ")
        .flat_map(|field| {
            let names = field.split(':').next().unwrap_or_default();
            names.split(" and ")
        })
        .map(|name| name.trim().to_owned())
        .collect()
}

/// Adds the structs of these messages to `found`, and gives each message's name and body: the
/// name of a struct, or of an arm.
fn bodies<M: Debug>(
    cases: &[Case<M>],
    found: &mut BTreeMap<String, Vec<String>>,
) -> BTreeSet<(String, String)> {
    let mut bodies = BTreeSet::new();
    for case in cases {
        let shown = format!("{:?}", case.message);
        structs(&shown, found);
        let mut words = shown.split(|c: char| !c.is_alphanumeric());
        let [message, body] = [words.next().unwrap(), words.next().unwrap()];
        bodies.insert((message.to_owned(), body.to_owned()));
    }
    bodies
}

/// Checks one direction, and gives how many messages have told fields.
fn check<M: Debug>(tag: &str, cases: &[Case<M>]) -> usize {
    let mut found = BTreeMap::new();
    let bodies = bodies(cases, &mut found);
    let mut checked = 0;
    for row in rows().iter().filter(|row| row.len() == 6 && row[0] == tag) {
        let body = |cell: &str| bodies.contains(&(row[2].clone(), cell.to_owned()));
        match row[3].as_str() {
            "nothing" => {
                let name = bodies.iter().find(|(message, _)| *message == row[2]);
                let (_, body) = name.expect("a message with a golden frame");
                assert!(!found.contains_key(body), "{row:?} has fields");
            }
            cell if cell.contains(':') => {
                let fields = told(cell);
                let real = found
                    .iter()
                    .any(|(name, real)| body(name) && *real == fields);
                assert!(real, "{row:?}");
            }
            cell if found.contains_key(cell) => assert!(body(cell), "{row:?}"),
            cell => {
                let known = rows().iter().any(|row| row.len() == 2 && row[0] == cell);
                assert!(known, "{row:?}: {cell} is told nowhere");
            }
        }
        checked += 1;
    }
    checked
}

#[test]
fn message_tables_name_the_fields() {
    let checked = [
        check("0x51", &requests::cases()),
        check("0x52", &replies::cases()),
        check("0x43", &trusted::orders()),
        check("0x44", &trusted::answers()),
        check("0x4c", &trusted::commands()),
        check("0x4d", &trusted::events()),
    ];
    assert_eq!(checked, [18, 19, 20, 19, 8, 15]);
}

#[test]
fn the_table_of_structs_names_the_fields() {
    let mut found = BTreeMap::new();
    bodies(&requests::cases(), &mut found);
    bodies(&replies::cases(), &mut found);
    bodies(&trusted::orders(), &mut found);
    bodies(&trusted::answers(), &mut found);
    bodies(&trusted::commands(), &mut found);
    bodies(&trusted::events(), &mut found);
    let start = rows()
        .iter()
        .position(|row| row[..] == ["struct", "fields"])
        .unwrap()
        + 1;
    let mut checked = BTreeSet::new();
    for row in rows().iter().skip(start).take_while(|row| row.len() == 2) {
        let Some(real) = found.get(&row[0]) else {
            assert!(
                row[1].contains(" bytes"),
                "{row:?}: no golden frame holds one"
            );
            continue;
        };
        assert_eq!(told(&row[1]), *real, "{row:?}");
        checked.insert(row[0].clone());
    }
    assert!(checked.len() >= 42, "only {checked:?}");
}
