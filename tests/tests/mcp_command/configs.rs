//! What `--print-config` writes is what its client reads, and starts the command from anywhere.

use crate::client::server;
use crate::place::{Place, Said};
use serde_json::{Value, json};
use std::process::Stdio;

const ALL: [&str; 9] = [
    "claude-code",
    "claude-desktop",
    "codex",
    "cursor",
    "vscode",
    "gemini-cli",
    "zed",
    "goose",
    "json",
];

fn printed(place: &Place, client: &str, options: &[&str]) -> Said {
    let all = [&["mcp", "--print-config", client], options].concat();
    place.portcullis(&all)
}

/// The command and arguments that a configuration starts.
fn entry(client: &str, text: &str) -> (String, Vec<String>) {
    let entry: Value = match client {
        "codex" => {
            let table: toml::Table = text.parse().unwrap();
            json!(table["mcp_servers"]["portcullis"])
        }
        "goose" => {
            assert!(text.starts_with("extensions:\n  portcullis:\n    type: stdio\n"));
            let value = |key: &str| -> Value {
                let start = format!("    {key}: ");
                let line = text.lines().find_map(|line| line.strip_prefix(&start));
                serde_json::from_str(line.unwrap()).unwrap()
            };
            json!({"command": value("cmd"), "args": value("args")})
        }
        _ => {
            let document: Value = serde_json::from_str(text).unwrap();
            let servers = match client {
                "vscode" => &document["servers"],
                "zed" => &document["context_servers"],
                _ => &document["mcpServers"],
            };
            servers["portcullis"].clone()
        }
    };
    let words = entry["args"].as_array().unwrap().iter();
    (
        entry["command"].as_str().unwrap().to_owned(),
        words
            .map(|word| word.as_str().unwrap().to_owned())
            .collect(),
    )
}

#[test]
fn what_is_written_starts_the_command_from_any_directory() {
    let place = Place::new();
    let odd = "od\"d \\ 'näme'";
    place.write(format!("{odd}/file"), "x");
    let server = server();
    let options = [
        "repo",
        "--read",
        odd,
        "--hide",
        "*.key",
        "--embedded",
        &server,
    ];
    for client in ALL {
        let said = printed(&place, client, &options);
        assert_eq!(said.code, 0, "{said:?}");
        let (command, words) = entry(client, &said.out);
        let mut start = std::process::Command::new(command);
        for (name, value) in place.command("portcullis").get_envs() {
            start.env(name, value.unwrap());
        }
        start.args(words).arg("--json").current_dir("/");
        let ran = Said::of(start.stdin(Stdio::null()));
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{client} {ran:?}");
        let document = ran.document();
        let roots = document["roots"].as_array().unwrap();
        let given: Vec<&str> = roots.iter().map(|r| r["label"].as_str().unwrap()).collect();
        assert_eq!(given.len(), 2, "{client} {document}");
        assert_eq!(given[0], "workspace", "{client} {document}");
    }
}

#[test]
fn every_client_is_told_what_stays_outside() {
    let place = Place::new();
    let listed = printed(&place, "list", &[]);
    let names: Vec<&str> = listed
        .lines()
        .iter()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(names, ALL);
    for client in ALL {
        let said = printed(&place, client, &["repo"]);
        assert!(said.err.contains("NOT HELD by Portcullis: "), "{said:?}");
        assert!(said.err.contains("Outside in any case: "), "{said:?}");
        // There is no server beside this copy.
        assert!(said.err.contains("nothing will serve"), "{said:?}");
        let document = &printed(&place, client, &["repo", "--json"]).documents()[0];
        assert_eq!(document["client"], client);
        assert_eq!(
            entry(client, document["config"].as_str().unwrap()),
            entry(client, &said.out)
        );
        assert!(!document["outside"].as_str().unwrap().is_empty());
    }
    let claude = printed(&place, "claude-code", &["repo"]);
    assert!(
        claude.err.contains("\"Bash\"") && claude.err.contains("deny"),
        "{claude:?}"
    );
}

#[test]
fn what_cannot_be_written_down_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = Place::new();
    let said = printed(&place, "json", &[]);
    assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
    let foreign = std::ffi::OsStr::from_bytes(b"not-\xff-text");
    let mut command = place.command("portcullis");
    let said = Said::of(command.args(["mcp", "--print-config=json"]).arg(foreign));
    assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
    assert!(said.err.contains("not-\\xff-text"), "{said:?}");
    let said = printed(&place, "json", &["none", "$HOME"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("none is no directory"), "{said:?}");
    assert!(said.err.contains("`$`"), "{said:?}");
}
