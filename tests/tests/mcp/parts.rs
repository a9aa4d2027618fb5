//! Parts of files at their edges: what comes after a part that was cut, what is behind the end, and
//! what is no text.

use crate::client::Client;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portcullis_tests::{World, own};
use serde_json::{Value, json};

/// All that comes where an answer's `next` is asked for until there is none, and in how many parts.
fn all(client: &mut Client, path: &str, part: &Value) -> (String, usize) {
    let (mut arguments, mut came, mut parts) = (part.clone(), String::new(), 0);
    loop {
        arguments["path"] = path.into();
        let (text, facts) = client.done("read_text_file", &arguments);
        came.push_str(&text);
        parts += 1;
        if facts["complete"] == true {
            return (came, parts);
        }
        arguments = facts["next"].clone();
    }
}

#[test]
fn what_comes_after_a_cut_ends_where_the_part_does() {
    let mut world = World::new(own!("own-gate"));
    let lines: Vec<String> = (1..=90_000).map(|n| format!("line {n}\n")).collect();
    world.write("f", lines.concat());
    let mut client = Client::start(world.session().session);
    for (part, wanted) in [
        (json!({"head": 70_000}), &lines[..70_000]),
        (json!({"tail": 70_000}), &lines[20_000..]),
        (
            json!({"startLine": 5, "endLine": 60_000}),
            &lines[4..60_000],
        ),
        (json!({"startLine": 30_000}), &lines[29_999..]),
    ] {
        let (came, parts) = all(&mut client, "f", &part);
        assert!(parts > 1, "{part}: {parts}");
        assert_eq!(came.len(), wanted.concat().len(), "{part}");
        assert!(came == wanted.concat(), "{part}");
    }
}

#[test]
fn a_cut_breaks_no_character_even_where_others_are_broken() {
    let mut world = World::new(own!("own-gate"));
    let rest = "\u{e4}".repeat(300_000);
    world.write("f", [&b"\xff"[..], rest.as_bytes()].concat());
    let mut client = Client::start(world.session().session);
    let (came, parts) = all(&mut client, "f", &json!({}));
    assert!(parts > 1);
    assert!(
        came == format!("\u{fffd}{rest}"),
        "{}",
        came.matches('\u{fffd}').count()
    );
}

#[test]
fn bytes_come_in_parts_and_what_comes_only_whole_is_refused_where_it_is_too_large() {
    let mut world = World::new(own!("own-gate"));
    let bytes: Vec<u8> = (0..1_500_000_u32).map(|n| (n % 251) as u8).collect();
    world.write("f", &bytes);
    world.write("pixel.png", vec![0; 8 * 1024 * 1024]);
    world.write("large.png", vec![0; 8 * 1024 * 1024 + 1]);
    world.write("wide.txt", format!("{0}\n{0}\n", "x".repeat(200_000)));
    let mut client = Client::start(world.session().session);
    let (mut arguments, mut came, mut parts) = (json!({"as": "base64"}), Vec::new(), 0);
    loop {
        arguments["path"] = "f".into();
        let (text, facts) = client.done("read_text_file", &arguments);
        assert_eq!(facts["encoding"], "base64", "{facts}");
        came.extend(STANDARD.decode(text).unwrap());
        parts += 1;
        if facts["complete"] == true {
            break;
        }
        arguments = facts["next"].clone();
    }
    assert_eq!(parts, 2);
    assert!(came == bytes);
    client.done(
        "read_text_file",
        &json!({"path": "pixel.png", "as": "media"}),
    );
    for arguments in [
        json!({"path": "large.png", "as": "media"}),
        json!({"path": "wide.txt", "labels": true, "startLine": 1}),
    ] {
        let said = client.refused("read_text_file", &arguments);
        assert!(said.contains("code: too_large"), "{said}");
    }
    let one = json!({"path": "wide.txt", "labels": true, "startLine": 2});
    client.done("read_text_file", &one);
}

/// Everything that a result says in texts.
fn texts(result: &Value) -> String {
    let blocks = result["content"].as_array().unwrap().iter();
    let texts = blocks.map(|block| block["text"].as_str().unwrap_or_default());
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn where_there_is_no_line_none_is_numbered() {
    let mut world = World::new(own!("own-gate"));
    world.write("f", "a\nb\nc\n");
    world.write("empty", "");
    let mut client = Client::start(world.session().session);
    for (path, part, missing) in [
        ("f", json!({"startLine": 4}), Some(4)),
        ("f", json!({"startLine": 4, "labels": true}), Some(4)),
        ("f", json!({"startLine": u64::MAX}), Some(u64::MAX)),
        ("empty", json!({"startLine": 1}), Some(1)),
        ("empty", json!({}), None),
        ("f", json!({"head": 0}), None),
        ("f", json!({"tail": 0}), None),
        ("f", json!({"offset": 100}), None),
    ] {
        let mut arguments = part.clone();
        arguments["path"] = path.into();
        let result = client.call("read_text_file", &arguments);
        let facts = &result["structuredContent"];
        assert_eq!(facts["complete"], true, "{part}: {facts}");
        assert!(
            facts["startLine"].is_null() && facts["endLine"].is_null(),
            "{part}: {facts}"
        );
        let said = texts(&result);
        match missing {
            Some(line) => assert!(
                said.contains(&format!("there is no line {line}: the file has")),
                "{said}"
            ),
            None => assert_eq!(said, "", "{part}"),
        }
    }
    // The control: the last line is there.
    let (text, facts) = client.done("read_text_file", &json!({"path": "f", "startLine": 3}));
    assert_eq!(
        (text.as_str(), &facts["startLine"], &facts["endLine"]),
        ("c\n", &json!(3), &json!(3))
    );
}

#[test]
fn labels_are_for_lines_of_text() {
    let mut world = World::new(own!("own-gate"));
    world.write("wide", b"\xff\xfea\0\n\0");
    world.write("zeros", b"a\0b\n");
    world.write("latin", b"caf\xe9\nx\n");
    let mut client = Client::start(world.session().session);
    for path in ["wide", "zeros"] {
        let said = client.refused("read_text_file", &json!({"path": path, "labels": true}));
        assert!(
            said.contains("code: not_text") && said.contains("as: base64"),
            "{said}"
        );
    }
    let (text, facts) = client.done("read_text_file", &json!({"path": "latin", "labels": true}));
    assert!(text.contains("|caf\u{fffd}\n"), "{text}");
    assert_eq!(facts["notUtf8"], 1, "{facts}");
    for shape in ["media", "base64"] {
        let arguments = json!({"path": "latin", "as": shape, "labels": true});
        let said = client.refused("read_text_file", &arguments);
        assert!(said.contains("code: invalid_argument"), "{said}");
    }
}

#[test]
fn a_search_that_no_cursor_leads_on_from_says_so() {
    let mut world = World::new(own!("own-gate"));
    world.write("f", "x\n".repeat(5));
    let mut client = Client::start(world.session().session);
    let search = |limit: u64| json!({"path": "f", "pattern": "x", "limit": limit});
    let result = client.call("search_content", &search(3));
    let facts = &result["structuredContent"];
    assert_eq!(
        (&facts["complete"], &facts["found"]),
        (&json!(false), &json!(3))
    );
    assert!(facts["cursor"].is_null(), "{facts}");
    assert!(texts(&result).contains("take a larger limit"), "{result}");
    let (_, facts) = client.done("search_content", &search(5));
    assert_eq!(
        (&facts["complete"], &facts["found"]),
        (&json!(true), &json!(5))
    );
    for wrong in [
        json!({"path": ".", "limit": 0}),
        json!({"path": ".", "depth": 0}),
    ] {
        let said = client.refused("directory_tree", &wrong);
        assert!(said.contains("it is at least 1"), "{said}");
    }
}

#[test]
fn a_directory_that_is_there_is_not_made_or_replaced() {
    let mut world = World::new(own!("own-gate"));
    world.write("d/f", "x");
    let mut client = Client::start(world.session().session);
    for (path, shown) in [("d", "d/"), (".", "./")] {
        let arguments = json!({"path": path});
        let (text, facts) = client.done("create_directory", &arguments);
        assert_eq!(text, format!("unchanged {shown}"));
        assert_eq!(facts["changed"], false, "{facts}");
    }
    let (text, facts) = client.done("create_directory", &json!({"path": "d/e"}));
    assert_eq!(
        (text.as_str(), &facts["changed"]),
        ("created d/e/", &json!(true))
    );
    let said = client.refused("create_directory", &json!({"path": "d/f"}));
    assert!(said.contains("code: exists"), "{said}");
}

#[test]
fn why_does_not_say_that_what_is_to_be_made_would_be_refused() {
    let mut world = World::new(own!("own-gate"));
    world.write("f", "x");
    let mut client = Client::start(world.session().session);
    let why = |path: &str, verb: &str| json!({"path": path, "why": verb});
    for verb in ["write", "mkdir"] {
        let (text, facts) = client.done("get_file_info", &why("new", verb));
        assert!(text.contains("nothing of that name is there yet"), "{text}");
        assert!(!text.contains("would be refused"), "{text}");
        assert!(facts["access"][verb].is_string(), "{facts}");
    }
    let (text, _) = client.done("get_file_info", &why("new", "read"));
    assert!(text.contains("would be refused"), "{text}");
    let (text, _) = client.done("get_file_info", &why(".env", "write"));
    println!("{text}");
    client.done("write_file", &json!({"path": "new", "content": "x"}));
}
