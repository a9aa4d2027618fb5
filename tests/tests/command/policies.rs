//! Policy files and decisions, as a person meets them.

use crate::place::{Place, Said};
use std::process::Stdio;
use std::time::{Duration, Instant};

const POLICY: &str = r#"
version = 1
[[root]]
path = "repo"
label = "workspace"
[[grant]]
verbs = ["reading", "write:new"]
[[ask]]
path = "src"
verbs = ["writing"]
[[rule]]
name = "hidden"
effect = "hide"
pattern = "hidden.txt"
[[test]]
verb = "read"
path = "README.md"
expect = "granted"
[[test]]
verb = "write"
path = "src/lib.rs"
expect = "ask"
[[test]]
verb = "write"
path = "README.md"
expect = "refused"
[[test]]
verb = "read"
path = ".env"
expect = "refused"
rule = "builtin:env"
[[test]]
verb = "read"
path = "hidden.txt"
expect = "refused"
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("p.toml", POLICY);
    place
}

#[test]
fn a_policy_is_checked_shown_and_tested_by_a_real_session() {
    let place = place();
    let said = place.portcullis(&["policy", "check", "p.toml"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.out, "it holds: 1 root, 1 grant, 1 ask, 5 tests\n");
    let said = place.portcullis(&["policy", "test", "p.toml"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.ends_with("5 tests, 0 failed\n"), "{said:?}");
    let said = place.portcullis(&["policy", "show", "p.toml"]);
    for line in [
        "grant /workspace: stat, read, list, glob, search, write:new",
        "ask /workspace/src: write, edit",
        "hide `hidden.txt`",
        "(rule builtin:env: ",
    ] {
        assert!(said.out.contains(line), "{line}: {said:?}");
    }
    place.write(
        "wrong.toml",
        POLICY.replace("expect = \"ask\"", "expect = \"granted\""),
    );
    let said = place.portcullis(&["policy", "test", "wrong.toml", "--json"]);
    assert_eq!(said.code, 1, "{said:?}");
    let document = said.documents().pop().unwrap();
    assert_eq!(document["failed"], 1, "{document}");
    assert_eq!(document["tests"][1]["instead"], "ask", "{document}");
    place.write("unknown.toml", POLICY.replace("label", "lable"));
    for command in ["check", "show", "test"] {
        let said = place.portcullis(&["policy", command, "unknown.toml"]);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.err.contains("lable"), "{said:?}");
    }
}

#[test]
fn what_a_run_was_refused_is_suggested_and_allows_it_when_it_is_taken() {
    let place = place();
    let run = |policy: &str| {
        let script = "echo x | portcullis-tool write --force README.md; echo code $?; \
                      portcullis-tool read .env; true";
        let options = ["--policy", policy];
        Said::of(&mut place.worker(&options, &["bash", "-c", script]))
    };
    let said = run("p.toml");
    assert!(said.out.contains("code 77"), "{said:?}");
    let said = place.portcullis(&["policy", "suggest", "last"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.out.contains("# read `.env`: rule builtin:env"),
        "{said:?}"
    );
    place.write("more.toml", format!("{POLICY}\n{}", said.out));
    let said = run("more.toml");
    assert!(said.out.contains("code 0"), "{said:?}");
    assert_eq!(std::fs::read(place.at("repo/README.md")).unwrap(), b"x\n");
}

/// What waits for a decision, once something does.
fn waiting(place: &Place) -> serde_json::Value {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let said = place.portcullis(&["review", "--json"]);
        let all = said.documents().pop().unwrap();
        if let Some(one) = all["proposals"].as_array().unwrap().first() {
            return one.clone();
        }
        assert!(Instant::now() < deadline, "nothing waits");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A worker that asks until it is answered, at most 30 seconds.
const ASKS: &str = "for n in $(seq 300); do \
     echo new | portcullis-tool write --force src/lib.rs 2>err; code=$?; \
     [ $code = 76 ] || break; sleep 0.1; done; cat err; echo code $code";

#[test]
fn a_person_sees_what_would_happen_and_it_happens_once_when_it_is_approved() {
    let place = place();
    let mut run = place.worker(&["--policy", "p.toml"], &["bash", "-c", ASKS]);
    let run = run
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let id = waiting(&place)["proposal"].to_string();
    let shown = place.portcullis(&["review", "show", &id]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let object = format!("write {}/repo/src/lib.rs (target)", place.host());
    for part in [&object, "lost: 1 file and 0 directories with", "│ +new"] {
        assert!(shown.out.contains(part), "{part}: {shown:?}");
    }
    let asked = place.portcullis(&["review", "approve", &id]);
    assert_eq!(asked.code, 1, "no terminal: {asked:?}");
    let other = "00".repeat(32);
    let other = place.portcullis(&["review", "approve", &id, "--yes", "--input", &other]);
    assert_eq!(other.code, 75, "{other:?}");
    let approved = place.portcullis(&["review", "approve", &id, "--yes"]);
    assert_eq!(approved.code, 0, "{approved:?}");
    assert!(
        approved.out.contains("approved by same-uid"),
        "{approved:?}"
    );
    let said = Said::by(run);
    assert!(said.out.contains("code 0"), "{said:?}");
    assert!(said.err.contains("approver: same-uid"), "{said:?}");
    assert_eq!(
        std::fs::read(place.at("repo/src/lib.rs")).unwrap(),
        b"new\n"
    );
    let again = place.portcullis(&["review", "approve", &id, "--yes"]);
    assert_eq!(again.code, 75, "{again:?}");
}

#[test]
fn what_is_refused_does_not_happen_and_the_worker_is_told_by_whom() {
    let place = place();
    let mut run = place.worker(&["--policy", "p.toml"], &["bash", "-c", ASKS]);
    let run = run
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let id = waiting(&place)["proposal"].to_string();
    assert_eq!(
        place.portcullis(&["review", "refuse", &id, "--yes"]).code,
        0
    );
    let said = Said::by(run);
    assert!(said.out.contains("code 77"), "{said:?}");
    assert!(said.out.contains("refused by whoever decides"), "{said:?}");
    let kept = std::fs::read(place.at("repo/src/lib.rs")).unwrap();
    assert_eq!(kept, b"pub fn needle() {}\n");
}

#[test]
fn what_nobody_could_decide_about_does_not_start() {
    let place = place();
    place.write(
        "d.toml",
        POLICY.replace("version = 1", "version = 1\ndeciding = \"decider\""),
    );
    for options in [
        &["--policy", "d.toml"][..],
        &["--policy", "p.toml", "--embedded"],
        &["--workspace", "repo", "--ask", "*.rs", "--embedded"],
    ] {
        let said = Said::of(&mut place.worker(options, &["true"]));
        assert_eq!(said.code, 125, "{said:?}");
        assert!(said.err.contains("nobody could decide"), "{said:?}");
    }
}
