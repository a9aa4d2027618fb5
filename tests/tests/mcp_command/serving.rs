//! It serves what it was told to, says nothing on standard output, and leaves nothing behind.

use crate::client::{ASKS, Client, place, plan, server, states, wanted};
use crate::place::{Place, Said};
use portcullis_tests::own;
use rustix::process::Signal;
use serde_json::json;

/// Nothing of the command is left.
#[track_caller]
fn nothing_is_left(place: &Place) {
    let left: Vec<_> = std::fs::read_dir(place.at("tmp")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    let status = place.portcullis(&["status", "--json"]);
    let serving = &status.documents()[0]["serving"];
    for none in ["gates", "runs"] {
        assert_eq!(serving[none], json!([]), "{status:?}");
    }
}

#[test]
fn standard_output_is_the_protocols_alone() {
    let place = Place::new();
    for options in [&["repo"][..], &["--workspace", "repo", "--verbose"], &ASKS] {
        let mut client = Client::start(&place, options);
        let text = json!({"text": "not even a document\n"});
        client.call("raw", &text);
        assert_eq!(client.line(), "not even a document");
        let said = client.close();
        assert_eq!((said.code, said.out.as_str()), (0, ""), "{said:?}");
        let verbose = options.contains(&"--verbose");
        assert_eq!(said.err.contains("kept out: "), verbose, "{said:?}");
        assert_eq!(said.err.is_empty(), !verbose, "{said:?}");
        nothing_is_left(&place);
    }
}

#[test]
fn the_summary_is_there_as_a_document() {
    let place = Place::new();
    let mut client = Client::start(&place, &["repo", "--json"]);
    let write = json!({"path": "new", "content": "x"});
    client.result("write", &write);
    let said = client.close();
    let document = said.document();
    assert_eq!(document["changed"], "changed", "{said:?}");
    assert_eq!(document["exit_code"], 0);
}

#[test]
fn without_a_directory_nothing_is_served() {
    let place = Place::new();
    for options in [&[][..], &["--read-only"], &["--hide", "x"]] {
        let said = Said::of(place.command("portcullis").arg("mcp").args(options));
        assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
        assert!(said.err.contains("--workspace DIR"), "{said:?}");
    }
    let said = place.portcullis(&["mcp", "none", &server()]);
    assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
    let said = place.portcullis(&["mcp", "--no-such-option"]);
    assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
}

#[test]
fn the_server_is_beside_the_command_or_named() {
    let place = Place::new();
    let said = place.portcullis(&["mcp", "repo"]);
    assert_eq!((said.code, said.out.as_str()), (127, ""), "{said:?}");
    assert!(said.err.contains("portcullis-mcp"), "{said:?}");
    let said = place.portcullis(&["mcp", "repo", "--server", "none"]);
    assert_eq!(said.code, 127, "{said:?}");
    let bin = place.at("bin");
    std::fs::create_dir(&bin).unwrap();
    for (built, name) in [
        (own!("own-portcullis"), "portcullis"),
        (own!("own-gate"), "portcullis-gate"),
        (own!("own-mcp"), "portcullis-mcp"),
    ] {
        std::fs::copy(built, bin.join(name)).unwrap();
    }
    let command = place.command("portcullis");
    let mut beside = std::process::Command::new(bin.join("portcullis"));
    for (name, value) in command.get_envs() {
        beside.env(name, value.unwrap());
    }
    beside.args(["mcp", "repo", "--embedded", "--json"]);
    let said = Said::of(
        beside
            .current_dir(place.at("."))
            .stdin(std::process::Stdio::null()),
    );
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(
        said.document()["command"][0],
        json!(bin.join("portcullis-mcp")),
        "{said:?}"
    );
}

#[test]
fn nothing_can_be_changed_where_only_reading_is_wanted() {
    let place = place();
    let policy = "version = 1\n[[root]]\nlabel = \"workspace\"\npath = \"repo\"\n\
                  [[grant]]\nroot = \"workspace\"\nverbs = [\"all\"]\n\
                  [[ask]]\nroot = \"workspace\"\nverbs = [\"all\"]\n";
    place.write("p.toml", policy);
    let write = wanted("new\n", "elicitation");
    for options in [
        &["repo", "--read-only"][..],
        &["--policy", "p.toml", "--read-only"],
    ] {
        let mut client = Client::start(&place, options);
        let result = client.result("write", &write);
        assert_eq!(result["isError"], true, "{result}");
        assert!(result["_meta"].is_null(), "{result}");
        assert_eq!(plan(&place).unwrap(), "old\n");
        assert_eq!(client.close().code, 0);
    }
    // The control: without it the same is done.
    for options in [&["repo"][..], &["--policy", "p.toml"]] {
        place.write("repo/deploy/plan.txt", "old\n");
        let mut client = Client::start(&place, options);
        let result = client.result("write", &write);
        assert!(result["isError"].is_null(), "{result}");
        assert_eq!(plan(&place).unwrap(), "new\n");
    }
}

#[test]
fn the_server_is_told_what_it_needs_and_no_path_of_the_host() {
    let place = Place::new();
    let told = |options: &[&str]| {
        let mut client = Client::start(&place, options);
        let said = client.result("arguments", &json!({}));
        let said = said["structuredContent"]["said"]
            .as_array()
            .unwrap()
            .clone();
        let words = said[1..]
            .iter()
            .map(|word| word.as_str().unwrap().to_owned());
        words.collect::<Vec<_>>()
    };
    assert_eq!(told(&["repo", "--read", "outside"]), [""; 0]);
    assert_eq!(
        told(&["repo", "--answers", "both", "--read-only"]),
        ["--answers", "both"]
    );
    let real = place.at("repo").canonicalize().unwrap();
    let real = format!("workspace={}", real.display());
    assert_eq!(
        told(&["repo", "--compat", "reference"]),
        ["--compat", "reference", "--root", real.as_str()]
    );
    std::os::unix::fs::symlink("repo", place.at("link")).unwrap();
    let link = format!("workspace={}/link", place.host());
    assert_eq!(
        told(&["./link", "--compat", "reference"]),
        ["--compat", "reference", "--root", &link, "--root", &real]
    );
}

#[test]
fn it_ends_with_a_signal_and_leaves_nothing() {
    let place = Place::new();
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        for options in [&["repo"][..], &ASKS] {
            let mut client = Client::start(&place, options);
            client.result("seen", &json!({}));
            client.signal(signal);
            let said = client.ended();
            assert_eq!((said.code, said.err.as_str()), (code, ""), "{options:?}");
            nothing_is_left(&place);
        }
    }
}

#[test]
fn a_server_that_stays_when_the_client_is_gone_is_killed() {
    let place = Place::new();
    let clients: Vec<Client> = [&["repo"][..], &ASKS]
        .iter()
        .map(|options| {
            let mut client = Client::start(&place, options);
            client.call("deaf", &json!({}));
            client
        })
        .collect();
    for client in clients {
        let said = client.close();
        assert_eq!(said.code, 137, "{said:?}");
        assert!(said.err.contains("was killed"), "{said:?}");
    }
    nothing_is_left(&place);
}

#[test]
fn its_code_is_the_servers() {
    let place = Place::new();
    for options in [&["repo"][..], &ASKS, &["repo", "--embedded"]] {
        let mut client = Client::start(&place, options);
        client.call("end", &json!({"code": 7}));
        assert_eq!(client.ended().code, 7, "{options:?}");
    }
}

#[test]
fn an_approval_that_nobody_could_give_is_no_start() {
    let place = place();
    let options = ["repo", "--ask", "x", "--decide=review", "--embedded"];
    let mut command = place.command("portcullis");
    let said = Said::of(command.arg("mcp").arg(server()).args(options));
    assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
    assert!(said.err.contains("nobody could decide"), "{said:?}");
    assert_eq!(states(&place), [""; 0]);
}
