//! Names that are no text, files that are no files, and what answers never say.

use crate::client::Client;
use portcullis_tests::{World, os, own};
use serde_json::{Value, json};
use std::process::Command;

#[test]
fn names_that_are_no_text_can_be_seen_and_used() {
    let mut world = World::new(own!("own-gate"));
    std::fs::write(world.inside().join(os(b"bad-\xff")), "bytes").unwrap();
    world.write("back\\slash", "slash");
    world.write("caf\u{e9}", "text");
    world.write("zero\u{200b}width", "hidden");
    let mut client = Client::start(world.session().session);
    let (text, _) = client.done("list_directory", &json!({"path": "."}));
    let names: Vec<&str> = text.lines().collect();
    println!("shown: {names:?}");
    assert_eq!(names.len(), 4);
    for (shown, content) in [
        ("bad-\\xff", "bytes"),
        ("back\\\\slash", "slash"),
        ("caf\u{e9}", "text"),
        ("zero\\xe2\\x80\\x8bwidth", "hidden"),
    ] {
        assert!(names.contains(&shown), "{shown}: {names:?}");
        let (text, facts) = client.done("read_text_file", &json!({"path": shown}));
        assert_eq!(
            (text.as_str(), facts["path"].as_str().unwrap()),
            (content, shown)
        );
    }
    client.done(
        "write_file",
        &json!({"path": "new-\\xfe", "content": "made"}),
    );
    assert_eq!(
        std::fs::read(world.inside().join(os(b"new-\xfe"))).unwrap(),
        b"made"
    );
    client.done(
        "move_file",
        &json!({"source": "bad-\\xff", "destination": "good"}),
    );
    assert_eq!(
        std::fs::read(world.inside().join("good")).unwrap(),
        b"bytes"
    );
    let said = client.refused("read_text_file", &json!({"path": "C:\\Users\\x"}));
    assert!(said.contains("backslash"), "{said}");
}

#[test]
fn what_is_no_file_is_answered_at_once_and_nothing_waits_for_it() {
    let mut world = World::new(own!("own-gate"));
    world.write("x", "x");
    for n in 0..8 {
        let made = Command::new("mkfifo")
            .arg(world.inside().join(format!("p{n}")))
            .status();
        assert!(made.unwrap().success());
    }
    std::os::unix::fs::symlink("x", world.inside().join("ln")).unwrap();
    let mut client = Client::start(world.session().session);
    let (text, _) = client.done("list_directory", &json!({"path": "."}));
    assert!(text.starts_with("ln [link]\np0 [fifo]\n"), "{text}");
    let ids: Vec<u64> = (0..8)
        .map(|n| client.begin_call("read_text_file", &json!({"path": format!("p{n}")})))
        .collect();
    for id in ids {
        let answer = client.answer(id);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(
            crate::client::text(&answer["result"]).ends_with("code: not_regular"),
            "{answer}"
        );
    }
    client.done("read_text_file", &json!({"path": "x"}));
}

#[test]
fn what_is_found_in_another_directory_is_named_so_that_it_can_be_read() {
    use portcullis_client::MintOrder;
    use portcullis_client::protocol::path::RelPath;
    use portcullis_client::protocol::verb::VerbSet;
    let mut world = World::new(own!("own-gate"));
    world.write("app/x.rs", "needle in app\n");
    world.write("docs/deep/y.rs", "needle in docs\n");
    let (app, docs) = (world.inside().join("app"), world.inside().join("docs"));
    let (app, docs) = (world.seal(&app, "app"), world.seal(&docs, "docs"));
    let order = MintOrder::new("tester")
        .root(app, None)
        .root(docs, None)
        .grant(app, RelPath::root(), VerbSet::ALL)
        .grant(docs, RelPath::root(), VerbSet::READING);
    let session = world.control.mint(&order).unwrap().1;
    let mut client = Client::start(session);
    let (text, _) = client.done("list_directory", &json!({"path": "/"}));
    assert_eq!(text, "/app/\n/docs/");
    for (path, name, content) in [
        (".", "x.rs", "needle in app\n"),
        ("/docs", "/docs/deep/y.rs", "needle in docs\n"),
    ] {
        let (text, _) = client.done("search_files", &json!({"path": path, "pattern": "*.rs"}));
        assert_eq!(text, format!("{name}\n"));
        let search = json!({"path": path, "pattern": "needle"});
        let (text, _) = client.done("search_content", &search);
        assert_eq!(text, format!("{name}\n1:{content}"));
        let (text, facts) = client.done("read_text_file", &json!({"path": name}));
        assert_eq!(
            (text.as_str(), facts["path"].as_str().unwrap()),
            (content, name)
        );
    }
    let (text, _) = client.done("directory_tree", &json!({"path": "/docs/deep"}));
    assert_eq!(text, "y.rs\n");
    let (text, _) = client.done("list_directory", &json!({"path": "/docs"}));
    assert_eq!(text, "deep/\n");
    let write = json!({"path": "/docs/new", "content": "x"});
    let said = client.refused("write_file", &write);
    assert!(said.contains("code: not_granted"), "{said}");
}

#[test]
fn no_answer_names_a_place_of_the_host_that_the_caller_did_not_write() {
    let mut world = World::new(own!("own-gate"));
    world.write("x", "x");
    std::os::unix::fs::symlink("../outside/secret", world.inside().join("out")).unwrap();
    std::os::unix::fs::symlink(world.outside(), world.inside().join("abs")).unwrap();
    let host = world.place.path().to_str().unwrap().to_owned();
    let mut client = Client::start(world.session().session);
    let mut answers: Vec<Value> = vec![client.ask("tools/list", json!({}))];
    for path in [
        "out",
        "abs/secret",
        "../outside/secret",
        "/etc/passwd",
        "none",
        "x/y",
        "",
        "/",
    ] {
        for (tool, more) in [
            ("read_text_file", json!({})),
            ("list_directory", json!({})),
            ("directory_tree", json!({})),
            ("get_file_info", json!({})),
            ("search_content", json!({"pattern": "secret"})),
            ("search_files", json!({"pattern": "*"})),
            ("write_file", json!({"content": "mine", "overwrite": true})),
            (
                "edit_file",
                json!({"edits": [{"oldText": "outside", "newText": "inside"}]}),
            ),
            ("create_directory", json!({})),
            ("delete_file", json!({"recursive": true, "dryRun": true})),
        ] {
            let mut arguments = more;
            arguments["path"] = path.into();
            answers.push(client.call(tool, &arguments));
        }
    }
    for answer in &answers {
        assert!(!answer.to_string().contains(&host), "{answer}");
        assert!(!answer.to_string().contains("outside secret"), "{answer}");
    }
    assert_eq!(
        std::fs::read_to_string(world.outside().join("secret")).unwrap(),
        "outside secret\n"
    );
    println!("{} answers", answers.len());
}
