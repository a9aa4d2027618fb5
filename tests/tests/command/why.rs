//! `portcullis why`: what a worker would be told, and the truth.

use crate::place::{Place, Said};
use serde_json::Value;

fn why(place: &Place, arguments: &[&str]) -> Said {
    place.portcullis(&[&["why"], arguments, &["--workspace", "repo"]].concat())
}

#[test]
fn what_is_allowed_names_the_object_and_the_grant() {
    let place = Place::new();
    let said = why(&place, &["read", "src/../README.md"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    assert_eq!(
        said.out,
        "allowed: read `src/../README.md`\n  object: /workspace/README.md (file)\n  by: the grant \
         of every verb on /workspace\n"
    );
    let said = place.portcullis(&["why", "read", "README.md", "--read", "repo"]);
    assert!(
        said.out
            .ends_with("the grant of stat, read, list, glob, search on /repo\n"),
        "{said:?}"
    );
    let said = place.portcullis(&["why", "write", "README.md", "--read", "repo"]);
    assert_eq!(said.code, 77, "{said:?}");
}

#[test]
fn what_is_denied_names_the_rule_and_an_exception_allows_it() {
    let place = Place::new();
    let said = why(&place, &["read", ".env", "--json"]);
    assert_eq!(said.code, 77, "{said:?}");
    let document = &said.documents()[0];
    let told = &document["worker_is_told"];
    assert_eq!(told["code"], "denied");
    assert_eq!(document["hidden_by"], Value::Null);
    let rule = told["rule"]["name"].as_str().unwrap();
    let text = why(&place, &["read", ".env"]);
    assert!(text.out.contains(rule), "{text:?}");
    let said = why(&place, &["read", ".env", "--except", rule]);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn what_is_hidden_is_told_to_the_person_only() {
    let place = Place::new();
    let options = ["read", "hidden.txt", "--hide", "hidden.*"];
    let said = why(&place, &options);
    assert_eq!(said.code, 77, "{said:?}");
    let lines = said.lines();
    assert!(lines[0].starts_with("a worker is told: "), "{said:?}");
    assert!(
        lines[0].ends_with("there is nothing of that name"),
        "{said:?}"
    );
    assert_eq!(lines[1], "in truth: it is hidden by --hide hidden.*");
    let said = why(&place, &[&options[..], &["--json"]].concat());
    let document = &said.documents()[0];
    assert_eq!(document["worker_is_told"]["code"], "not_found");
    assert_eq!(document["hidden_by"], "--hide hidden.*");
}

#[test]
fn what_is_not_there_is_told_as_it_is() {
    let place = Place::new();
    let said = why(&place, &["read", "none", "--hide", "hidden.txt"]);
    assert_eq!(said.code, 77);
    assert!(!said.out.contains("in truth"), "{said:?}");
    let said = why(&place, &["read", "../outside/secret"]);
    assert_eq!(said.code, 77);
    assert!(said.out.contains("leads out of the root"), "{said:?}");
}

#[test]
fn what_cannot_be_asked_is_1() {
    let place = Place::new();
    let said = place.portcullis(&["why", "read", "x"]);
    assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
    assert!(said.err.contains("--workspace ."), "{said:?}");
    let said = place.portcullis(&["why", "read", "x", "--workspace", "none", "--json"]);
    assert_eq!(said.code, 1);
    assert!(said.documents()[0]["error"].is_string(), "{said:?}");
}
