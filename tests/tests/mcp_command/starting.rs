//! With `--compat reference` it starts as the reference filesystem server does.

use crate::client::{Client, server};
use crate::place::{Place, Said};
use serde_json::json;

const RUNNING: &str = "Secure MCP Filesystem Server running on stdio\n";

/// What is said on standard error until the client leaves.
fn started(place: &Place, directories: &[&str]) -> Said {
    let mut client = Client::start(place, &[&["--compat", "reference"], directories].concat());
    client.call("seen", &json!({}));
    client.close()
}

#[test]
fn it_says_that_it_runs() {
    let place = Place::new();
    let said = started(&place, &["repo", "outside"]);
    assert_eq!((said.code, said.err.as_str()), (0, RUNNING), "{said:?}");
}

#[test]
fn what_cannot_be_used_is_warned_about_and_left_out() {
    let place = Place::new();
    let said = started(&place, &["none", "repo/README.md", "repo", "./repo"]);
    let host = place.host();
    let expected = format!(
        "Warning: Cannot access directory {host}/none, skipping\n\
         Warning: {host}/repo/README.md is not a directory, skipping\n{RUNNING}"
    );
    assert_eq!((said.code, said.err), (0, expected));
}

#[test]
fn where_nothing_can_be_used_it_ends_with_1() {
    let place = Place::new();
    for (directories, last) in [
        (&["none", "other"][..], "None of the specified directories"),
        (&["repo/README.md"], "None of the specified directories"),
        (&[], "No directory was specified"),
    ] {
        let mut command = place.command("portcullis");
        command.args(["mcp", "--compat=reference", &server()]);
        let said = Said::of(command.args(directories));
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
        let last = format!("Error: {last}");
        assert!(
            said.err.lines().last().unwrap().starts_with(&last),
            "{said:?}"
        );
    }
}

#[test]
fn a_directory_of_the_home_is_found_without_a_shell() {
    let place = Place::new();
    let mut command = place.command("portcullis");
    command.env("HOME", place.at("repo"));
    let said = Said::of(command.args(["mcp", "--compat=reference", &server(), "~/src", "~/none"]));
    let host = place.host();
    let expected =
        format!("Warning: Cannot access directory {host}/repo/none, skipping\n{RUNNING}");
    assert_eq!((said.code, said.err), (0, expected));
}
