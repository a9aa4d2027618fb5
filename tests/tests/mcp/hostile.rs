//! What broken clients, broken libraries and lying models send.

use crate::client::Client;
use portcullis_tests::{World, own};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Every name below a directory with its content.
fn tree(top: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![top.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let content = if path.is_dir() {
                waiting.push(path.clone());
                Vec::new()
            } else {
                std::fs::read(&path).unwrap()
            };
            all.insert(path.display().to_string(), content);
        }
    }
    all
}

#[test]
fn what_is_no_right_message_reaches_no_file_and_the_next_is_answered() {
    let mut world = World::new(own!("own-gate"));
    world.write("x", "keep\n");
    let before = tree(&world.inside());
    let mut client = Client::start(world.session().session);
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{{"name":"write_file","arguments":{arguments}}}}}"#
        )
    };
    let refused = [
        "{".to_owned(),
        "nonsense".to_owned(),
        "\u{feff}{}".to_owned(),
        call(r#"{"path":"x","path":"y","content":"bad","overwrite":true}"#),
        call(r#"{"path":"y","content":"bad","content":"worse"}"#),
        call(r#"{"path":"y","content":"bad"}"#).replace(r#""id":900"#, r#""id":900,"id":901"#),
        call(r#"{"path":"y","content":"bad"}"#).replace(r#""params""#, r#""params":{},"params""#),
        call(r#"{"path":"y","content":1e999}"#),
        call(r#"{"path":"y","content":NaN}"#),
        call(r#"{"path":"y","content":"\ud800"}"#),
        call(r#"{"path":"y","content":"bad"}"#).replace('}', ""),
        "[".repeat(200_000),
        format!("[{}]", call(r#"{"path":"y","content":"bad"}"#)),
    ];
    for line in &refused {
        client.raw(format!("{line}\n").as_bytes());
        let said = client.next();
        assert!(said["error"]["code"].is_i64(), "{line}: {said}");
    }
    client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":902,\"method\":\"tools/call\",\"params\":{\"name\":\"write_file\",\"arguments\":{\"path\":\"y\xff\",\"content\":\"bad\"}}}\n");
    assert!(client.next()["error"]["code"].is_i64());
    for arguments in [
        json!({"path": "y", "content": "bad", "pathh": "z"}),
        json!({"path": "y"}),
        json!({"path": ["y"], "content": "bad"}),
        json!({"path": "y\u{0}z", "content": "bad"}),
        json!({"path": "y", "content": "bad", "encoding": "utf-7"}),
        json!({"path": "y", "content": "!!", "encoding": "base64"}),
        json!({"path": "x", "content": "bad", "version": "new"}),
    ] {
        let said = client.refused("write_file", &arguments);
        assert!(said.starts_with("nothing was changed: "), "{said}");
    }
    let unknown = client.ask("tools/call", json!({"name": "rm", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    client.done("read_text_file", &json!({"path": "x"}));
    assert_eq!(tree(&world.inside()), before);
    println!("{} lines refused", refused.len() + 1);
}

#[test]
fn a_message_that_is_too_long_is_refused_and_the_next_is_answered() {
    let mut world = World::new(own!("own-gate"));
    world.write("x", "x\n");
    let mut client = Client::start(world.session().session);
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..65 {
        client.raw(&piece);
    }
    client.raw(b"\n");
    let said = client.next();
    assert_eq!(said["error"]["code"], -32600, "{said}");
    client.done("read_text_file", &json!({"path": "x"}));
    let (rest, code) = client.end();
    assert!(rest.is_empty(), "{rest:?}");
    assert_eq!(code, Some(0));
}

#[test]
fn an_id_that_is_used_twice_changes_nothing_the_second_time() {
    let mut world = World::new(own!("own-gate"));
    let text = "the quick brown fox jumps over the lazy dog\n".repeat(20_000);
    for n in 0..16 {
        world.write(format!("heavy/{n}"), &text);
    }
    let mut client = Client::start(world.session().session);
    let call = |id: Value, tool: &str, arguments: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}})
    };
    let search = json!({"pattern": r"(\w+ ){5}\w*zzz", "regex": true});
    let made = |name: &str| json!({"path": name, "content": "x"});
    // In one piece, so that the second comes while the first is worked on.
    let lines = format!(
        "{}\n{}\n{}\n",
        call(json!(500), "search_content", search),
        call(json!(500), "write_file", made("twice")),
        call(json!("500"), "write_file", made("other")),
    );
    client.raw(lines.as_bytes());
    let mut ids = Vec::new();
    for _ in 0..3 {
        let said = client.next();
        if said["id"].is_null() {
            let what = said["error"]["message"].as_str().unwrap();
            assert!(what.starts_with("nothing was done: "), "{said}");
            assert!(what.contains("500"), "{said}");
        } else {
            assert_ne!(said["result"]["isError"], true, "{said}");
        }
        ids.push(said["id"].to_string());
    }
    ids.sort();
    assert_eq!(ids, ["\"500\"", "500", "null"]);
    assert!(!world.inside().join("twice").exists());
    assert!(world.inside().join("other").exists());
    // Once it is answered it can be used again.
    client.say(&call(json!(500), "write_file", made("later")));
    assert_eq!(client.next()["id"], 500);
    assert!(world.inside().join("later").exists());
    let (rest, code) = client.end();
    assert_eq!((rest, code), (Vec::new(), Some(0)));
}

#[test]
fn what_is_not_taken_is_said_by_its_right_name_and_not_given_back_whole() {
    let mut world = World::new(own!("own-gate"));
    world.write("x", "x\n");
    let mut client = Client::start(world.session().session);
    for params in [
        json!({}),
        json!({"name": 7}),
        json!({"name": "read_text_file", "arguments": []}),
    ] {
        let said = client.ask("tools/call", params);
        assert_eq!(said["error"]["code"], -32602, "{said}");
        let what = said["error"]["message"].as_str().unwrap();
        assert!(what.starts_with("nothing was done: "), "{said}");
    }
    assert_eq!(client.ask("no/such", json!({}))["error"]["code"], -32601);
    let long = "y".repeat(3 * 1024 * 1024);
    let mut sizes = vec![client.ask(&long, json!({})).to_string().len()];
    for (tool, arguments) in [
        ("read_text_file", json!({"path": "x", "head": long})),
        ("read_text_file", json!({"path": "x", &long: 1})),
        ("read_text_file", json!({"path": format!("\\{long}")})),
        (
            "write_file",
            json!({"path": "x", "content": "x", "version": long}),
        ),
        (
            "write_file",
            json!({"path": "x", "content": "x", "encoding": long}),
        ),
        (
            "edit_file",
            json!({"path": "x", "edits": [{"lines": long, "newText": "x"}]}),
        ),
        (
            "edit_file",
            json!({"path": "x", "edits": [{"oldText": long, "newText": "x"}]}),
        ),
        ("search_files", json!({"path": ".", "pattern": long})),
        ("list_directory", json!({"path": ".", "cursor": long})),
        ("apply_patch", json!({"patch": long})),
    ] {
        let result = client.call(tool, &arguments);
        assert_eq!(result["isError"], true);
        sizes.push(result.to_string().len());
    }
    println!("{sizes:?}");
    assert!(sizes.iter().all(|size| *size < 16 * 1024), "{sizes:?}");
}

#[test]
fn input_that_is_a_file_is_answered_to_its_end() {
    use std::process::{Command, Stdio};
    let mut world = World::new(own!("own-gate"));
    world.write("x", "x\n");
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "file", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "read_text_file", "arguments": {"path": "x"}}}),
    ];
    let input = world.place.path().join("input");
    // The last line has no newline.
    std::fs::write(&input, lines.map(|line| line.to_string()).join("\n")).unwrap();
    let mut command = Command::new(own!("own-mcp"));
    command.stdin(std::fs::File::open(&input).unwrap());
    command.stdout(Stdio::piped());
    world.session().session.attach(&mut command).unwrap();
    let output = command.output().unwrap();
    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.contains(r#""text":"x\n""#), "{said}");
}

#[test]
fn a_client_that_names_other_directories_gets_no_others() {
    let mut world = World::new(own!("own-gate"));
    world.write("x", "inside\n");
    let outside = world.outside();
    let capabilities = json!({"roots": {"listChanged": true}});
    let session = world.session().session;
    let mut client = Client::start_as(session, crate::client::NOW, "test", &capabilities);
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    client.say(&changed);
    let secret = outside.join("secret");
    let said = client.refused("read_text_file", &json!({"path": secret.to_str().unwrap()}));
    assert!(said.contains("code: no_such_root"), "{said}");
    client.done("read_text_file", &json!({"path": "x"}));
    // It never asked the client for any.
    let (rest, code) = client.end();
    assert!(rest.is_empty(), "{rest:?}");
    assert_eq!(code, Some(0));
}

#[test]
fn the_end_of_input_cuts_no_answer_off() {
    let mut world = World::new(own!("own-gate"));
    world.write("x", "x\n");
    let mut client = Client::start(world.session().session);
    let ids: Vec<u64> = (0..50)
        .map(|n| {
            client.begin_call(
                "write_file",
                &json!({"path": format!("f{n}"), "content": "x"}),
            )
        })
        .collect();
    let (rest, code) = client.end();
    let answered = ids
        .iter()
        .filter(|id| rest.iter().any(|one| one["id"] == **id))
        .count();
    let made = (0..50)
        .filter(|n| world.inside().join(format!("f{n}")).exists())
        .count();
    println!("{answered} answers and {made} files of 50");
    assert_eq!((answered, made, code), (50, 50, Some(0)));
}

#[test]
fn a_session_that_may_only_read_is_offered_nothing_that_changes() {
    use portcullis_client::MintOrder;
    use portcullis_client::protocol::path::RelPath;
    use portcullis_client::protocol::verb::VerbSet;
    let mut world = World::new(own!("own-gate"));
    world.write("x", "x\n");
    let inside = world.inside();
    let root = world.seal(&inside, "workspace");
    let order =
        MintOrder::new("tester")
            .root(root, None)
            .grant(root, RelPath::root(), VerbSet::READING);
    let (_, session) = world.control.mint(&order).unwrap();
    let mut client = Client::start(session);
    let tools = client.ask("tools/list", json!({}))["result"]["tools"].take();
    let names: Vec<&str> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
            tool["name"].as_str().unwrap()
        })
        .collect();
    println!("{names:?}");
    assert_eq!(names.len(), 6);
    let write = json!({"name": "write_file", "arguments": {"path": "y", "content": "y"}});
    assert_eq!(client.ask("tools/call", write)["error"]["code"], -32602);
    assert!(!inside.join("y").exists());
}
