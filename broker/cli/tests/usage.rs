//! The command line, as far as it goes without a gate.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test that calls them"
)]

use std::process::{Command, Output};

fn portcullis(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    // Places of nobody, so that no broker of whoever runs this is met.
    command.env("XDG_RUNTIME_DIR", "/nonexistent");
    command.env("XDG_STATE_HOME", std::env::temp_dir());
    command.args(arguments).output().unwrap()
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_run_without_a_root_teaches_and_runs_nothing() {
    let output = portcullis(&["run", "--", "true"]);
    assert_eq!(output.status.code(), Some(125));
    let text = said(&output.stderr);
    assert!(
        text.contains("nothing was changed") && text.contains("--workspace ."),
        "{text}"
    );
}

#[test]
fn a_wrong_option_of_run_is_not_taken_for_the_commands_own_code() {
    assert_eq!(portcullis(&["run", "--wrong"]).status.code(), Some(125));
    assert_eq!(portcullis(&["why", "--wrong"]).status.code(), Some(2));
    let verb = portcullis(&["why", "rename", "a", "--workspace", "."]);
    assert!(said(&verb.stderr).contains("stat, read, list, glob, search, write, edit"));
}

#[test]
fn a_variable_with_a_value_is_refused() {
    let output = portcullis(&["run", "--workspace", ".", "--env", "A=b", "--", "true"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(said(&output.stderr).contains("NAME=VALUE portcullis run"));
}

#[test]
fn a_missing_gate_is_named_and_nothing_runs() {
    let arguments = [
        "run",
        "--workspace",
        ".",
        "--embedded",
        "--gate",
        "/no/gate",
        "--json",
        "--",
        "true",
    ];
    let output = portcullis(&arguments);
    assert_eq!(output.status.code(), Some(125));
    let text = said(&output.stderr);
    let last = text.lines().last().unwrap_or_default();
    let document: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!(document["changed"], "unchanged");
    assert!(
        document["error"].as_str().unwrap().contains("/no/gate"),
        "{text}"
    );
    let doctor = portcullis(&["doctor", "--gate", "/no/gate", "--json"]);
    assert_eq!(doctor.status.code(), Some(1));
    let document: serde_json::Value = serde_json::from_slice(&doctor.stdout).unwrap();
    assert_eq!(document["can_confine"], false);
}

#[test]
fn an_ignore_file_that_is_missing_or_too_large_is_named_and_nothing_runs() {
    let run = |file: &str| {
        let output = portcullis(&[
            "run",
            "--workspace",
            ".",
            "--ignore-file",
            file,
            "--",
            "true",
        ]);
        assert_eq!(output.status.code(), Some(125), "{file}");
        said(&output.stderr)
    };
    let text = run("/nonexistent/ignore");
    assert!(
        text.contains("nothing was changed: ignore file /nonexistent/ignore: No such file"),
        "{text}"
    );
    let large = tempfile::NamedTempFile::new().unwrap();
    large.as_file().set_len(16 * 1024 + 1).unwrap();
    let text = run(large.path().to_str().unwrap());
    assert!(text.contains("16385 bytes, at most 16384"), "{text}");
}

/// What belongs to a broker of its own cannot be asked of the user's.
#[test]
fn options_of_an_embedded_broker_want_one() {
    for option in ["--gate", "--state"] {
        let output = portcullis(&["run", "--workspace", ".", option, "/x", "--", "true"]);
        assert_eq!(output.status.code(), Some(125), "{option}");
        assert!(said(&output.stderr).contains("--embedded"), "{option}");
    }
}

#[test]
fn a_runtime_directory_that_is_not_there_is_named_with_what_to_do() {
    let output = portcullis(&["run", "--workspace", ".", "--", "true"]);
    assert_eq!(output.status.code(), Some(125));
    let text = said(&output.stderr);
    assert!(
        text.contains("nothing was changed: XDG_RUNTIME_DIR is /nonexistent"),
        "{text}"
    );
    assert!(text.contains("--embedded"), "{text}");
}

#[test]
fn the_help_teaches_by_example() {
    for arguments in [
        &["--help"][..],
        &["run", "--help"],
        &["why", "--help"],
        &["doctor", "--help"],
        &["serve", "--help"],
        &["status", "--help"],
        &["log", "--help"],
        &["diff", "--help"],
    ] {
        let output = portcullis(arguments);
        assert_eq!(output.status.code(), Some(0));
        assert!(said(&output.stdout).contains("Examples:"), "{arguments:?}");
    }
    assert!(said(&portcullis(&["--version"]).stdout).starts_with("portcullis 0."));
}
