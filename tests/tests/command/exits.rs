//! Exit codes of `run`, and signals to it.

use crate::place::{Place, Said};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

const QUIET: [&str; 3] = ["--workspace", "repo", "--quiet"];

#[test]
fn the_commands_own_code_is_passed_through() {
    let place = Place::new();
    for code in [0, 1, 2, 77, 78, 125, 255] {
        let said = place.script(&["--quiet"], &format!("exit {code}"));
        assert_eq!((said.code, said.err.as_str()), (code, ""));
    }
    let direct = Said::of(&mut place.worker(&QUIET, &["portcullis-tool", "read", "none"]));
    assert_eq!(direct.code, 1, "{direct:?}");
}

#[test]
fn a_command_that_a_signal_killed_is_128_and_the_number() {
    let place = Place::new();
    assert_eq!(place.script(&[], "kill -KILL $$").code, 137);
    assert_eq!(place.script(&[], "kill -TERM $$").code, 143);
}

#[test]
fn what_cannot_be_found_is_127_and_what_cannot_be_executed_126() {
    let place = Place::new();
    place.write("plain", "no program");
    for (command, code) in [
        ("no-such-command", 127),
        ("./none", 127),
        ("./plain", 126),
        ("./repo", 126),
    ] {
        let said = Said::of(&mut place.worker(&["--workspace", "repo"], &[command]));
        assert_eq!(said.code, code, "{said:?}");
        assert!(
            said.err.starts_with("portcullis: nothing ran: "),
            "{said:?}"
        );
        assert!(said.err.contains(command), "{said:?}");
    }
}

#[test]
fn what_cannot_be_asked_for_is_125_and_nothing_runs() {
    let place = Place::new();
    for options in [
        &[][..],
        &["--workspace", "none"],
        &["--workspace", "repo/README.md"],
        &["--workspace", "repo", "--gate", "none"],
        &["--workspace", "repo", "--except", "no-such-rule"],
        &["--workspace", "repo", "--runtime", "/"],
        &["--workspace", "repo", "--runtime", "none"],
        &["--workspace", "repo", "--env", "A=b"],
        &["--workspace", "repo", "--no-such-option"],
    ] {
        let said = Said::of(&mut place.worker(options, &["echo", "ran"]));
        assert_eq!(said.code, 125, "{options:?} {said:?}");
        assert_eq!(said.out, "", "{options:?}");
        assert!(!said.err.is_empty(), "{options:?}");
    }
}

#[test]
fn a_broker_that_is_no_gate_is_125_and_nothing_runs() {
    let place = Place::new();
    for gate in ["/usr/bin/true", "/bin/cat", "repo/README.md"] {
        let options = ["--workspace", "repo", "--embedded", "--gate", gate];
        let said = Said::of(&mut place.worker(&options, &["echo", "ran"]));
        assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
        assert!(said.err.contains("nothing"), "{said:?}");
    }
}

/// Starts a worker and waits until it says `ready`.
fn started(place: &Place, script: &str) -> (Child, Pid) {
    let mut child = place
        .worker(&QUIET, &["bash", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut reader = BufReader::with_capacity(1, child.stdout.take().unwrap());
    reader.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child.stdout = Some(reader.into_inner());
    let pid = Pid::from_child(&child);
    (child, pid)
}

#[test]
fn signals_to_the_run_reach_the_command() {
    let place = Place::new();
    for (signal, name) in [
        (Signal::TERM, "TERM"),
        (Signal::INT, "INT"),
        (Signal::HUP, "HUP"),
    ] {
        let script = format!(
            "trap 'portcullis-tool read README.md --head 1; exit 7' {name}; echo ready; \
             while :; do sleep 0.05; done"
        );
        let (child, pid) = started(&place, &script);
        kill_process(pid, signal).unwrap();
        let said = Said::by(child);
        assert_eq!(said.code, 7, "{name} {said:?}");
        assert_eq!(said.out, "# title\n", "the session outlives the signal");
    }
    let (child, pid) = started(&place, "echo ready; exec sleep 1000");
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(Said::by(child).code, 143, "the run ends as its command did");
}

#[test]
fn a_run_that_is_killed_takes_its_command_along() {
    let place = Place::new();
    let (child, pid) = started(&place, "echo ready; exec sleep 1000");
    kill_process(pid, Signal::KILL).unwrap();
    // The command holds the pipe: this returns only when it has ended too.
    let said = Said::by(child);
    assert_eq!((said.code, said.out.as_str()), (-9, ""));
}
