//! The user's one broker, as runs and their records show it.

use crate::place::{Place, Said};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::process::Stdio;

fn status(place: &Place) -> Value {
    let said = place.portcullis(&["status", "--json"]);
    said.documents().pop().unwrap()
}

fn runs(place: &Place) -> Vec<Value> {
    let said = place.portcullis(&["log", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let document = said.documents().pop().unwrap();
    assert_eq!(document["version"], 1);
    document["runs"].as_array().unwrap().clone()
}

#[test]
fn runs_share_one_and_each_is_on_record() {
    let place = Place::new();
    assert_eq!(place.portcullis(&["status"]).code, 1);
    assert_eq!(runs(&place), Vec::<Value>::new());
    assert_eq!(place.script(&[], "portcullis-tool list").code, 0);
    let first = status(&place);
    assert_eq!(place.script(&[], "portcullis-tool list").code, 0);
    let second = status(&place);
    let process = &first["serving"]["process"];
    assert!(process.as_i64().unwrap() > 1);
    assert_eq!(process, &second["serving"]["process"]);
    let runs = runs(&place);
    let numbers: Vec<&Value> = runs.iter().map(|run| &run["run"]).collect();
    assert_eq!(numbers, [2, 1]);
    for run in &runs {
        assert_eq!(run["request"], "portcullis run");
        assert_eq!(run["sessions"], 1);
        assert_eq!(run["done"], 0);
        assert!(run["ended"].as_str().unwrap().ends_with('Z'), "{run}");
    }
    let said = place.portcullis(&["log", "last"]);
    assert!(said.out.contains("run 2: portcullis run"), "{said:?}");
    assert!(said.out.contains("nothing was changed"), "{said:?}");
    assert_eq!(place.portcullis(&["log", "verify"]).code, 0);
    let none = place.portcullis(&["log", "3"]);
    assert_eq!(none.code, 1);
    assert!(none.err.contains("there is no run 3"), "{none:?}");
}

#[test]
fn a_run_ends_by_saying_what_it_changed_and_the_records_show_it() {
    let place = Place::new();
    place.write("repo/gone", "old\n");
    let said = place.script(
        &[],
        "echo made | portcullis-tool write made.txt >/dev/null
         echo again | portcullis-tool write --force README.md >/dev/null
         portcullis-tool move src/lib.rs src/moved.rs >/dev/null
         portcullis-tool delete gone >/dev/null
         portcullis-tool chmod 600 src/main.rs >/dev/null
         portcullis-tool chmod 600 none 2>/dev/null; true",
    );
    assert_eq!(said.code, 0, "{said:?}");
    let lines: Vec<&str> = said.err.lines().collect();
    assert!(
        lines[0].starts_with(
            "portcullis: changed: 1 created, 1 replaced, 1 moved, 1 mode changed, 1 deleted; 6 \
             requests (6 change), "
        ),
        "{said:?}"
    );
    assert_eq!(
        lines[1..7],
        [
            "portcullis:   moved /workspace/src/lib.rs → /workspace/src/moved.rs",
            "portcullis:   replaced /workspace/README.md",
            "portcullis:   deleted /workspace/gone",
            "portcullis:   created /workspace/made.txt",
            "portcullis:   mode changed /workspace/src/main.rs",
            "portcullis: see `portcullis log 1`, `portcullis diff 1`",
        ]
    );
    let log = place.portcullis(&["log", "1"]);
    assert!(log.out.contains("done, exact, by gate"), "{log:?}");
    assert!(
        log.out
            .contains("write /workspace/made.txt: nothing → file 0644, 5 bytes"),
        "{log:?}"
    );
    let diff = place.portcullis(&["diff", "last"]);
    for wanted in [
        "+++ b/made.txt\n",
        "\n+made\n",
        "\n-# title\n",
        "\n+again\n",
    ] {
        assert!(diff.out.contains(wanted), "{wanted}: {diff:?}");
    }
    let one = place.portcullis(&["diff", "--receipt", "1", "--json"]);
    let document = &one.documents()[0];
    assert_eq!(document["diffs"].as_array().unwrap().len(), 1);
    assert_eq!(document["diffs"][0]["cut"], 0);
    let mut exported = place.portcullis(&["log", "last", "export"]).documents();
    exported.retain(|line| line["kind"] == "receipt");
    assert_eq!(exported.len(), 5);
    assert_eq!(exported[0]["names"][0]["before"]["state"], "absent");
    assert_eq!(exported[4]["names"][0]["after"]["mode"], "0600");
    assert_eq!(place.portcullis(&["log", "verify"]).code, 0);
}

#[test]
fn what_is_read_only_is_not_changed() {
    let place = Place::new();
    let mut run = place.worker(
        &["--read", "repo", "--json"],
        &[
            "bash",
            "-c",
            "echo x | portcullis-tool write README.md; echo $?",
        ],
    );
    let said = Said::of(&mut run);
    assert_eq!(said.lines(), ["77"], "{said:?}");
    let document = said.document();
    assert_eq!(document["changed"], "unchanged");
    assert_eq!(document["refusals"][0]["code"], "not_granted");
}

#[test]
fn records_that_were_tampered_with_are_found_out() {
    let place = Place::new();
    let said = place.script(
        &["--embedded", "--state", "named"],
        "echo x | portcullis-tool write a",
    );
    assert_eq!(said.code, 0, "{said:?}");
    let verify = ["log", "verify", "--state", "named"];
    assert_eq!(place.portcullis(&verify).code, 0);
    // A receipt is blake3-chained: one byte of it is enough.
    let file = place.at("named/state.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let name = b"workspace";
    let at: Vec<usize> = (0..bytes.len() - name.len())
        .filter(|at| bytes[*at..].starts_with(name))
        .collect();
    assert!(!at.is_empty());
    for at in at {
        bytes[at] = b'W';
    }
    std::fs::write(&file, bytes).unwrap();
    let broken = place.portcullis(&verify);
    assert_eq!(broken.code, 1, "{broken:?}");
}

#[test]
fn runs_at_the_same_time_share_one_too() {
    let place = Place::new();
    let children: Vec<_> = (0..8)
        .map(|_| {
            let mut run = place.worker(
                &["--workspace", "repo", "--json"],
                &["portcullis-tool", "read", "README.md"],
            );
            run.stdout(Stdio::piped()).stderr(Stdio::piped());
            run.spawn().unwrap()
        })
        .collect();
    let mut numbers: Vec<u64> = Vec::new();
    for child in children {
        let said = Said::by(child);
        assert_eq!(said.code, 0, "{said:?}");
        let document = said.document();
        assert_eq!(document["changed"], "unchanged");
        numbers.push(document["changes"]["run"].as_u64().unwrap());
    }
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn the_records_are_read_without_a_broker() {
    let place = Place::new();
    assert_eq!(place.script(&[], "true").code, 0);
    let process = status(&place)["serving"]["process"].as_i64().unwrap();
    let process = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    rustix::process::kill_process(process, Signal::KILL).unwrap();
    while place.portcullis(&["status"]).code == 0 {}
    assert_eq!(runs(&place).len(), 1);
    assert_eq!(place.portcullis(&["log", "verify"]).code, 0);
    // The next run finds the socket that was left behind, and the records.
    assert_eq!(place.script(&[], "true").code, 0);
    assert_eq!(runs(&place).len(), 2);
}

#[test]
fn an_embedded_one_has_records_of_its_own_which_are_found() {
    let place = Place::new();
    let said = place.script(&["--embedded", "--json"], "portcullis-tool list");
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(place.portcullis(&["status"]).code, 1, "none was started");
    let listed = place.portcullis(&["log"]);
    let line = listed.lines().pop().unwrap().to_owned();
    let state = line
        .strip_prefix("embedded: portcullis log --state ")
        .unwrap();
    assert!(state.starts_with(place.at("state/portcullis/embedded").to_str().unwrap()));
    let own = place.portcullis(&["log", "last", "--state", state]);
    assert!(own.out.contains("run 1: portcullis run"), "{own:?}");
    let named = place.script(&["--embedded", "--state", "named", "--json"], "true");
    let records = named.document()["changes"]["records"].clone();
    let place_named = place.at("named");
    assert_eq!(records, format!("--state {}", place_named.display()));
    let named = place.portcullis(&["log", "1", "--state", "named"]);
    assert_eq!(named.code, 0, "{named:?}");
}

#[test]
fn a_broker_that_dies_takes_the_session_along_and_what_is_not_known_is_said() {
    let place = Place::new();
    let mut run = place.worker(
        &["--workspace", "repo", "--json"],
        &[
            "bash",
            "-c",
            "portcullis-tool list >/dev/null; echo; sleep 2; portcullis-tool list",
        ],
    );
    run.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = run.spawn().unwrap();
    let mut one = [0; 1];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut one).unwrap();
    let process = status(&place)["serving"]["process"].as_i64().unwrap();
    let process = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    rustix::process::kill_process(process, Signal::KILL).unwrap();
    let said = Said::by(child);
    assert_ne!(said.code, 0, "{said:?}");
    let document = said.document();
    assert_eq!(document["changed"], "unknown", "{said:?}");
}
