//! `portcullis doctor` on this host, which runs these tests and so can confine.

use crate::place::Place;

#[test]
fn it_says_in_words_that_this_host_can_confine() {
    let place = Place::new();
    let said = place.portcullis(&["doctor"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    for row in ["openat2", "landlock", "seccomp", "session", "worker"] {
        let found = said.lines().into_iter().find(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some("ok") && words.next() == Some(row)
        });
        assert!(found.is_some(), "{row}: {said:?}");
    }
    assert!(
        said.out
            .ends_with("Sessions and workers can be confined on this host.\n"),
        "{said:?}"
    );
}

#[test]
fn it_says_the_same_to_programs() {
    let place = Place::new();
    let said = place.portcullis(&["doctor", "--json"]);
    assert_eq!(said.code, 0);
    let [document] = &said.documents()[..] else {
        panic!("not one document: {said:?}");
    };
    assert_eq!(document["can_confine"], true);
    let findings = document["findings"].as_array().unwrap();
    let session = findings.iter().find(|row| row["name"] == "session");
    assert_eq!(session.unwrap()["state"], "ok");
    assert!(findings.iter().all(|row| row["state"] != "missing"));
}

#[test]
fn without_a_gate_it_fails_and_says_which_part() {
    let place = Place::new();
    let said = place.portcullis(&["doctor", "--gate", "/none"]);
    assert_eq!(said.code, 1);
    let row = said
        .lines()
        .into_iter()
        .find(|line| line.starts_with("missing session"));
    assert!(row.is_some_and(|row| row.contains("/none")), "{said:?}");
    assert!(
        said.out.contains("`portcullis run` will refuse"),
        "{said:?}"
    );
}
