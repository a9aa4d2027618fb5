//! What each tool does to files and says of it.

use crate::client::Client;
use portcullis_tests::{World, own};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;

fn world() -> World {
    World::new(own!("own-gate"))
}

/// Whether a value is as a schema says, as far as the server's own schemas go.
fn fits(schema: &Value, value: &Value) -> bool {
    if let Some(words) = schema["enum"].as_array() {
        return words.contains(value);
    }
    match schema["type"].as_str().unwrap() {
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value
            .as_array()
            .is_some_and(|all| all.iter().all(|one| fits(&schema["items"], one))),
        "object" => {
            let Some(fields) = value.as_object() else {
                return false;
            };
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let known = schema["properties"]
                .as_object()
                .cloned()
                .unwrap_or_default();
            required
                .iter()
                .all(|name| fields.contains_key(name.as_str().unwrap()))
                && known
                    .iter()
                    .all(|(name, one)| fields.get(name).is_none_or(|value| fits(one, value)))
        }
        other => panic!("{other}"),
    }
}

#[test]
fn every_tool_does_what_it_says_and_answers_as_its_schema_says() {
    let mut world = world();
    world.write("src/main.rs", "fn main() {\n    old();\n}\n");
    world.write("src/lib.rs", "pub fn old() {}\n");
    world.write("pixel.png", [0x89, b'P', b'N', b'G', 0]);
    let session = world.session().session;
    let mut client = Client::start(session);
    let tools = client.ask("tools/list", json!({}))["result"]["tools"].take();
    let schemas: BTreeMap<String, Value> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            (
                tool["name"].as_str().unwrap().to_owned(),
                tool["outputSchema"].clone(),
            )
        })
        .collect();
    let mut used = BTreeMap::new();
    let mut done = |client: &mut Client, tool: &str, arguments: Value| {
        let (text, facts) = client.done(tool, &arguments);
        assert!(
            fits(&schemas[tool], &facts),
            "{tool}: {facts} is not {}",
            schemas[tool]
        );
        *used.entry(tool.to_owned()).or_insert(0) += 1;
        (text, facts)
    };
    let (text, facts) = done(
        &mut client,
        "read_text_file",
        json!({"path": "src/main.rs"}),
    );
    assert_eq!(text, "fn main() {\n    old();\n}\n");
    assert_eq!(
        (&facts["totalLines"], &facts["complete"]),
        (&json!(3), &json!(true))
    );
    let (text, facts) = done(
        &mut client,
        "read_text_file",
        json!({"path": "/workspace/src/main.rs", "startLine": 2, "endLine": 2}),
    );
    assert_eq!(
        (text.as_str(), &facts["startLine"]),
        ("    old();\n", &json!(2))
    );
    let (text, _) = done(&mut client, "list_directory", json!({"path": "."}));
    assert_eq!(text, "pixel.png\nsrc/\n");
    let (text, _) = done(&mut client, "list_directory", json!({"path": "/"}));
    assert_eq!(text, "/workspace/");
    let (text, _) = done(&mut client, "directory_tree", json!({"path": "."}));
    assert_eq!(text, "pixel.png\nsrc/\n  lib.rs\n  main.rs\n");
    let (text, _) = done(
        &mut client,
        "search_files",
        json!({"path": ".", "pattern": "*.rs"}),
    );
    assert_eq!(text, "src/lib.rs\nsrc/main.rs\n");
    let (text, facts) = done(&mut client, "search_content", json!({"pattern": "old"}));
    assert_eq!(
        text,
        "src/lib.rs\n1:pub fn old() {}\nsrc/main.rs\n2:    old();\n"
    );
    assert_eq!((&facts["found"], &facts["files"]), (&json!(2), &json!(2)));
    let (_, facts) = done(
        &mut client,
        "edit_file",
        json!({"path": "src/main.rs", "dryRun": true, "edits": [{"oldText": "old()", "newText": "new()"}]}),
    );
    assert_eq!(facts["changed"], false);
    assert!(
        std::fs::read_to_string(world.inside().join("src/main.rs"))
            .unwrap()
            .contains("old")
    );
    let (text, facts) = done(
        &mut client,
        "edit_file",
        json!({"path": "src/main.rs", "edits": [
            {"oldText": "old()", "newText": "new()"},
            {"oldText": "new()", "newText": "newer()"},
        ]}),
    );
    assert!(text.contains("-    old();\n+    newer();\n"), "{text}");
    assert_eq!(facts["changed"], true);
    let patch = "*** Begin Patch\n*** Update File: src/lib.rs\n@@\n-pub fn old() {}\n+pub fn newer() {}\n*** Add File: NEWS\n+none\n*** End Patch\n";
    let (_, facts) = done(&mut client, "apply_patch", json!({"patch": patch}));
    assert_eq!(facts["files"].as_array().unwrap().len(), 2);
    done(
        &mut client,
        "write_file",
        json!({"path": "deep/er/x.txt", "content": "x"}),
    );
    done(
        &mut client,
        "write_file",
        json!({"path": "raw", "content": "AP8=", "encoding": "base64"}),
    );
    done(&mut client, "create_directory", json!({"path": "a/b"}));
    done(
        &mut client,
        "move_file",
        json!({"source": "NEWS", "destination": "a/b/NEWS"}),
    );
    done(
        &mut client,
        "delete_file",
        json!({"path": "deep", "recursive": true}),
    );
    done(&mut client, "delete_file", json!({"path": "a/b/NEWS"}));
    done(&mut client, "delete_file", json!({"path": "a/b"}));
    let (text, _) = done(&mut client, "get_file_info", json!({"path": "raw"}));
    assert!(
        text.contains("file, 2 bytes") && text.contains("write: allowed"),
        "{text}"
    );
    let (text, _) = done(
        &mut client,
        "get_file_info",
        json!({"path": ".git/config", "why": "write"}),
    );
    assert!(text.contains("builtin:git"), "{text}");
    let inside = world.inside();
    assert_eq!(std::fs::read(inside.join("raw")).unwrap(), [0, 0xff]);
    assert_eq!(
        std::fs::read_to_string(inside.join("src/main.rs")).unwrap(),
        "fn main() {\n    newer();\n}\n"
    );
    assert_eq!(
        std::fs::read_to_string(inside.join("src/lib.rs")).unwrap(),
        "pub fn newer() {}\n"
    );
    assert!(
        inside.join("a").is_dir() && !inside.join("a/b").exists() && !inside.join("deep").exists()
    );
    assert_eq!(used.len(), schemas.len(), "every tool was used: {used:?}");
}

#[test]
fn pictures_and_bytes_come_as_they_are_and_text_does_not_lie() {
    let mut world = world();
    world.write("pixel.png", [0x89, b'P', b'N', b'G', 0]);
    world.write("data.bin", [0, 1, 2]);
    world.write("latin.txt", b"caf\xe9\nplain\n");
    let mut client = Client::start(world.session().session);
    let result = client.call(
        "read_text_file",
        &json!({"path": "pixel.png", "as": "media"}),
    );
    assert_eq!(result["content"][1]["type"], "image");
    assert_eq!(result["content"][1]["mimeType"], "image/png");
    assert_eq!(result["content"][1]["data"], "iVBORwA=");
    let result = client.call(
        "read_text_file",
        &json!({"path": "data.bin", "as": "media"}),
    );
    assert_eq!(result["content"][1]["resource"]["blob"], "AAEC");
    let (text, _) = client.done(
        "read_text_file",
        &json!({"path": "data.bin", "as": "base64"}),
    );
    assert_eq!(text, "AAEC");
    let said = client.refused("read_text_file", &json!({"path": "data.bin"}));
    assert!(
        said.starts_with("nothing was changed: it is binary"),
        "{said}"
    );
    assert!(said.ends_with("code: not_text"), "{said}");
    let result = client.call("read_text_file", &json!({"path": "latin.txt"}));
    assert_eq!(result["content"][0]["text"], "caf\u{fffd}\nplain\n");
    assert_eq!(result["structuredContent"]["notUtf8"], 1);
    assert!(
        result["content"][1]["text"]
            .as_str()
            .unwrap()
            .contains("not UTF-8")
    );
    // An edit of another place keeps the byte.
    let edits = json!([{"oldText": "plain", "newText": "simple"}]);
    client.done("edit_file", &json!({"path": "latin.txt", "edits": edits}));
    assert_eq!(
        std::fs::read(world.inside().join("latin.txt")).unwrap(),
        b"caf\xe9\nsimple\n"
    );
}

#[test]
fn an_edit_lands_in_one_place_or_nowhere_and_labels_name_lines() {
    let mut world = world();
    world.write("x", "same\nother\nsame\n");
    let path = world.inside().join("x");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    let mut client = Client::start(world.session().session);
    let twice = json!({"path": "x", "edits": [{"oldText": "same", "newText": "new"}]});
    let said = client.refused("edit_file", &twice);
    assert!(
        said.contains("code: not_unique") && said.contains("count"),
        "{said}"
    );
    let said = client.refused(
        "edit_file",
        &json!({"path": "x", "edits": [{"oldText": "", "newText": "y"}]}),
    );
    assert!(said.contains("oldText is empty"), "{said}");
    let all = json!({"path": "x", "edits": [
        {"oldText": "other", "newText": "gone"},
        {"oldText": "no such line", "newText": "y"},
    ]});
    client.refused("edit_file", &all);
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "same\nother\nsame\n",
        "all or none"
    );
    let (text, _) = client.done("read_text_file", &json!({"path": "x", "labels": true}));
    let label = text
        .lines()
        .nth(2)
        .unwrap()
        .split('|')
        .next()
        .unwrap()
        .to_owned();
    assert!(label.starts_with("3:"), "{text}");
    let by_label = json!({"path": "x", "edits": [{"lines": label, "newText": "third\n"}]});
    client.done("edit_file", &by_label);
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "same\nother\nthird\n"
    );
    let said = client.refused("edit_file", &by_label);
    assert!(
        said.contains("code: stale_anchor") && said.contains("as they are now"),
        "{said}"
    );
    let both = json!({"path": "x", "edits": [{"oldText": "same", "newText": "one", "count": 1}]});
    client.done("edit_file", &both);
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "one\nother\nthird\n"
    );
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
}

#[test]
fn labels_that_were_copied_into_a_text_or_mixed_with_one_are_refused() {
    let mut world = world();
    world.write("x", "a\nb\n");
    let mut client = Client::start(world.session().session);
    let (text, _) = client.done("read_text_file", &json!({"path": "x", "labels": true}));
    let labelled: Vec<&str> = text.lines().collect();
    let label = labelled[0].split('|').next().unwrap();
    let copied = format!("{}\n", labelled[1]);
    for (edits, why) in [
        (
            json!([{"oldText": "a\n", "newText": copied}]),
            "begins with the label",
        ),
        (
            json!([{"lines": label, "newText": copied}]),
            "begins with the label",
        ),
        (
            json!([{"lines": label, "newText": "c\n"}, {"oldText": "b", "newText": "d"}]),
            "in two calls",
        ),
    ] {
        let said = client.refused("edit_file", &json!({"path": "x", "edits": edits}));
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(std::fs::read(world.inside().join("x")).unwrap(), b"a\nb\n");
}

#[test]
fn what_was_not_read_whole_is_not_replaced_unless_that_is_said() {
    let mut world = world();
    world.write("x", "1\n2\n3\n");
    let path = world.inside().join("x");
    let mut client = Client::start(world.session().session);
    let write = |content: &str| json!({"path": "x", "content": content});
    let said = client.refused("write_file", &write("new"));
    assert!(
        said.contains("code: not_seen") && said.contains("overwrite: true"),
        "{said}"
    );
    client.done("read_text_file", &json!({"path": "x", "head": 1}));
    client.refused("write_file", &write("new"));
    client.done("read_text_file", &json!({"path": "x"}));
    client.done("write_file", &write("new"));
    client.done("write_file", &write("newer"));
    std::fs::write(&path, "somebody else's").unwrap();
    client.refused("write_file", &write("mine"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "somebody else's");
    client.done(
        "write_file",
        &json!({"path": "x", "content": "mine", "overwrite": true}),
    );
    let (_, facts) = client.done("read_text_file", &json!({"path": "x"}));
    let version = facts["version"].as_str().unwrap().to_owned();
    std::fs::write(&path, "changed").unwrap();
    let stale = json!({"path": "x", "content": "late", "version": version});
    let said = client.refused("write_file", &stale);
    assert!(said.contains("code: conflict"), "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "changed");
}

#[test]
fn a_move_never_overwrites_unless_told_and_a_tree_is_not_deleted_by_chance() {
    let mut world = world();
    world.write("a", "a");
    world.write("b", "b");
    world.write("d/x", "x");
    let mut client = Client::start(world.session().session);
    let said = client.refused("move_file", &json!({"source": "a", "destination": "b"}));
    assert!(said.contains("code: exists"), "{said}");
    client.refused("delete_file", &json!({"path": "d"}));
    assert_eq!(
        std::fs::read_to_string(world.inside().join("d/x")).unwrap(),
        "x"
    );
    client.done(
        "move_file",
        &json!({"source": "a", "destination": "b", "overwrite": true}),
    );
    assert_eq!(
        std::fs::read_to_string(world.inside().join("b")).unwrap(),
        "a"
    );
}

#[test]
fn parallel_edits_of_one_file_all_land() {
    let mut world = world();
    let lines: String = (0..1000).map(|n| format!("line {n}\n")).collect();
    world.write("x", &lines);
    let mut client = Client::start(world.session().session);
    let ids: Vec<u64> = (0..20)
        .map(|n| {
            let edit =
                json!({"oldText": format!("line {}\n", n * 37), "newText": format!("EDIT {n}\n")});
            client.begin_call("edit_file", &json!({"path": "x", "edits": [edit]}))
        })
        .collect();
    let done = ids
        .into_iter()
        .filter(|id| client.answer(*id)["result"]["isError"] != true)
        .count();
    let now = std::fs::read_to_string(world.inside().join("x")).unwrap();
    println!(
        "20 edits at once: {done} done, {} on disk",
        now.matches("EDIT").count()
    );
    assert_eq!((done, now.matches("EDIT").count()), (20, 20));
    assert_eq!(now.lines().count(), 1000);
}
