//! What the tools answer to, and that each answer is given twice as its schema says.

use crate::served::{Served, served};
use serde_json::{Value, json};

const TOOLS: [&str; 14] = [
    "read_file",
    "read_text_file",
    "read_media_file",
    "read_multiple_files",
    "write_file",
    "edit_file",
    "create_directory",
    "list_directory",
    "list_directory_with_sizes",
    "directory_tree",
    "move_file",
    "search_files",
    "get_file_info",
    "list_allowed_directories",
];

#[test]
fn exactly_the_fourteen_tools_with_their_arguments() {
    let mut server = served();
    let listed = server.rpc.call("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, TOOLS);
    let takes = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        let mut names: Vec<&str> = properties.keys().map(String::as_str).collect();
        names.sort_unstable();
        let required = tool["inputSchema"]["required"].as_array().cloned();
        let required = required.unwrap_or_default();
        (
            names.join(" "),
            required
                .iter()
                .map(|r| r.as_str().unwrap())
                .collect::<Vec<_>>()
                .join(" "),
        )
    };
    let expect = |name, all: &str, required: &str| {
        assert_eq!(takes(name), (all.to_owned(), required.to_owned()), "{name}");
    };
    expect("read_file", "head path tail", "path");
    expect("read_text_file", "head path tail", "path");
    expect("read_media_file", "path", "path");
    expect("read_multiple_files", "paths", "paths");
    expect("write_file", "content path", "path content");
    expect("edit_file", "dryRun edits path", "path edits");
    expect("create_directory", "path", "path");
    expect("list_directory", "path", "path");
    expect("list_directory_with_sizes", "path sortBy", "path");
    expect("directory_tree", "excludePatterns path", "path");
    expect("move_file", "destination source", "source destination");
    expect(
        "search_files",
        "excludePatterns path pattern",
        "path pattern",
    );
    expect("get_file_info", "path", "path");
    expect("list_allowed_directories", "", "");
}

#[test]
fn annotations_say_what_a_tool_may_do() {
    let mut server = served();
    let listed = server.rpc.call("tools/list", &json!({}));
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let notes = &tool["annotations"];
        assert_eq!(notes["openWorldHint"], false, "{tool}");
        let hints = (
            &notes["readOnlyHint"],
            &notes["destructiveHint"],
            &notes["idempotentHint"],
        );
        let wanted = match tool["name"].as_str().unwrap() {
            "write_file" => (&json!(false), &json!(true), &json!(true)),
            "edit_file" | "move_file" => (&json!(false), &json!(true), &json!(false)),
            "create_directory" => (&json!(false), &json!(false), &json!(true)),
            _ => (&json!(true), &Value::Null, &Value::Null),
        };
        assert_eq!(hints, wanted, "{tool}");
    }
}

/// Calls a tool and checks that its answer is there twice, as its schema says.
fn twice(server: &mut Served, tool: &str, arguments: &Value) -> Value {
    let said = server.rpc.tool(tool, arguments);
    assert!(!said.failed(), "{tool}: {}", said.result);
    let structured = &said.result["structuredContent"]["content"];
    match structured {
        Value::String(text) => {
            assert_eq!(
                said.result["content"],
                json!([{"type": "text", "text": text}]),
                "{tool}"
            );
        }
        other => assert_eq!(&said.result["content"], other, "{tool}"),
    }
    structured.clone()
}

#[test]
fn every_answer_is_there_twice() {
    let mut server = served();
    let at = |name: &str| server.path(name);
    let (file, below, moved, made) = (at("a.txt"), at("sub"), at("moved.txt"), at("n/m"));
    let calls = [
        ("read_file", json!({"path": file})),
        ("read_text_file", json!({"path": file, "head": 1})),
        ("read_multiple_files", json!({"paths": [file, "nothing"]})),
        ("write_file", json!({"path": file, "content": "one\ntwo\n"})),
        (
            "edit_file",
            json!({"path": file, "edits": [{"oldText": "two", "newText": "2"}]}),
        ),
        ("create_directory", json!({"path": made})),
        ("list_directory", json!({"path": below})),
        ("list_directory_with_sizes", json!({"path": below})),
        ("directory_tree", json!({"path": below})),
        ("move_file", json!({"source": file, "destination": moved})),
        ("search_files", json!({"path": below, "pattern": "**"})),
        ("get_file_info", json!({"path": moved})),
        ("list_allowed_directories", json!({})),
        ("read_media_file", json!({"path": moved})),
    ];
    for (tool, arguments) in calls {
        twice(&mut server, tool, &arguments);
    }
}

#[test]
fn media_come_whole_and_by_their_kind() {
    let mut server = served();
    let media = |server: &mut Served, name: &str| {
        let path = server.path(name);
        twice(server, "read_media_file", &json!({"path": path}))[0].clone()
    };
    server.put("p.PNG", b"\x89PNG");
    server.put("s.mp3", b"ID3");
    server.put("my caf\u{e9}.bin", b"\x00\xff");
    let image = media(&mut server, "p.PNG");
    assert_eq!(
        image,
        json!({"type": "image", "data": "iVBORw==", "mimeType": "image/png"})
    );
    let audio = media(&mut server, "s.mp3");
    assert_eq!(
        audio,
        json!({"type": "audio", "data": "SUQz", "mimeType": "audio/mpeg"})
    );
    let other = media(&mut server, "my caf\u{e9}.bin");
    assert_eq!(other["type"], "resource");
    assert_eq!(other["resource"]["blob"], "AP8=");
    assert_eq!(other["resource"]["mimeType"], "application/octet-stream");
    let address = other["resource"]["uri"].as_str().unwrap();
    assert_eq!(
        address,
        format!("file://{}/my%20caf%C3%A9.bin", server.root())
    );
}

#[test]
fn listings_and_trees_have_the_known_form() {
    let mut server = served();
    let root = server.path("");
    let listed = twice(&mut server, "list_directory", &json!({"path": root}));
    assert_eq!(listed, "[FILE] a.txt\n[FILE] link\n[DIR] sub");
    let sizes = twice(
        &mut server,
        "list_directory_with_sizes",
        &json!({"path": root}),
    );
    let line = |name: &str, size: &str| format!("[FILE] {name:30} {size:>10}");
    let dir = format!("[DIR] {:30} ", "sub");
    let wanted = [
        line("a.txt", "14 B"),
        line("link", "14 B"),
        dir,
        String::new(),
    ]
    .join("\n");
    assert_eq!(
        sizes,
        format!("{wanted}\nTotal: 2 files, 1 directories\nCombined size: 28 B")
    );
    let tree = twice(
        &mut server,
        "directory_tree",
        &json!({"path": root, "excludePatterns": ["deep"]}),
    );
    let tree: Value = serde_json::from_str(tree.as_str().unwrap()).unwrap();
    let file = |name| json!({"name": name, "type": "file"});
    let sub = json!({"name": "sub", "type": "directory", "children": [file("y.ts")]});
    assert_eq!(tree, json!([file("a.txt"), file("link"), sub]));
    let found = twice(
        &mut server,
        "search_files",
        &json!({"path": root, "pattern": "**/*.ts"}),
    );
    assert_eq!(found, format!("{root}/sub/deep/x.ts\n{root}/sub/y.ts"));
    let none = twice(
        &mut server,
        "search_files",
        &json!({"path": root, "pattern": "*.ts"}),
    );
    assert_eq!(none, "No matches found");
    let above = json!({"path": root, "pattern": "**/*.ts", "excludePatterns": ["sub/deep"]});
    assert_eq!(
        twice(&mut server, "search_files", &above),
        format!("{root}/sub/y.ts")
    );
    let allowed = twice(&mut server, "list_allowed_directories", &json!({}));
    assert_eq!(allowed, format!("Allowed directories:\n{root}"));
}

#[test]
fn an_edit_shows_its_difference_in_a_fence() {
    let mut server = served();
    let path = server.path("a.txt");
    let edits = json!([{"oldText": "two", "newText": "2 ```"}]);
    let dry = json!({"path": path, "edits": edits, "dryRun": true});
    let shown = twice(&mut server, "edit_file", &dry);
    assert_eq!(server.get("a.txt"), b"one\ntwo\nthree\n");
    let text = shown.as_str().unwrap();
    assert!(
        text.starts_with(&format!("````diff\nIndex: {path}\n{}\n", "=".repeat(67))),
        "{text}"
    );
    assert!(
        text.contains(&format!(
            "--- {path}\toriginal\n+++ {path}\tmodified\n@@ -1,3 +1,3 @@\n"
        )),
        "{text}"
    );
    assert!(
        text.ends_with("\n one\n-two\n+2 ```\n three\n````\n\n"),
        "{text}"
    );
    let done = twice(
        &mut server,
        "edit_file",
        &json!({"path": path, "edits": edits}),
    );
    assert_eq!(done, shown);
    assert_eq!(server.get("a.txt"), b"one\n2 ```\nthree\n");
}

#[test]
fn errors_are_results_in_the_known_words() {
    let mut server = served();
    let root = server.path("");
    let cases = [
        ("read_text_file", json!({"path": "gone"}), format!("ENOENT: no such file or directory, open '{root}/gone'")),
        ("read_text_file", json!({"path": "sub"}), "EISDIR: illegal operation on a directory, read".to_owned()),
        ("list_directory", json!({"path": "a.txt"}), format!("ENOTDIR: not a directory, scandir '{root}/a.txt'")),
        ("read_text_file", json!({"path": "/etc/passwd"}), format!("Access denied - path outside allowed directories: /etc/passwd not in {root}")),
        ("read_text_file", json!({"path": "a.txt", "head": 1, "tail": 1}), "Cannot specify both head and tail parameters simultaneously".to_owned()),
        ("move_file", json!({"source": "a.txt", "destination": "link"}), format!("Destination already exists: {root}/link")),
        ("create_directory", json!({"path": "a.txt"}), format!("EEXIST: file already exists, mkdir '{root}/a.txt'")),
        ("read_file", json!({}), "MCP error -32602: Input validation error: Invalid arguments for tool read_file: Invalid input: expected string, received undefined at path".to_owned()),
        ("no_such_tool", json!({}), "MCP error -32602: Tool no_such_tool not found".to_owned()),
    ];
    for (tool, arguments, wanted) in cases {
        let said = server.rpc.tool(tool, &arguments);
        assert_eq!(said.refused(), wanted);
        assert_eq!(said.result.get("structuredContent"), None);
    }
}
