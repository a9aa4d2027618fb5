//! Where the reference server loses or mixes up what it was given, and this one does not.

use crate::served::served;
use serde_json::json;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

#[test]
fn an_edit_changes_the_bytes_it_names_and_no_other() {
    let mut server = served();
    let cases: [(&[u8], &str, &str, &[u8]); 4] = [
        (b"a\r\nb\r\nc\r\n", "b", "B", b"a\r\nB\r\nc\r\n"),
        (
            b"\xef\xbb\xbfx=1\ny=2\n",
            "x=1",
            "x=2",
            b"\xef\xbb\xbfx=2\ny=2\n",
        ),
        (
            b"x = 1;\n// caf\xe9\n",
            "x = 1;",
            "x = 2;",
            b"x = 2;\n// caf\xe9\n",
        ),
        (b"a\nb", "a", "$&$1$$", b"$&$1$$\nb"),
    ];
    for (before, old, new, after) in cases {
        server.put("f", before);
        let edits = json!([{"oldText": old, "newText": new}]);
        server
            .rpc
            .tool("edit_file", &json!({"path": "f", "edits": edits}))
            .done();
        assert_eq!(server.get("f"), after);
    }
}

#[test]
fn a_text_that_is_there_twice_is_not_edited() {
    let mut server = served();
    let two = b"x = 1\nfoo\nx = 1\n";
    server.put("f", two);
    let edit = |old: &str| json!({"path": "f", "edits": [{"oldText": old, "newText": "y"}]});
    let said = server.rpc.tool("edit_file", &edit("x = 1"));
    assert!(said.refused().contains("2 times"), "{}", said.text());
    server.rpc.tool("edit_file", &edit("")).refused();
    // Alike only without the blanks around them.
    let alike = b"def a():\n\tif p:\n\t\tf()\n\ndef b():\n\tif p:\n\t\t\tf()\n";
    server.put("g", alike);
    let edits = json!([{"oldText": "  f()", "newText": "  g()"}]);
    server
        .rpc
        .tool("edit_file", &json!({"path": "g", "edits": edits}))
        .refused();
    assert_eq!(
        (server.get("f"), server.get("g")),
        (two.to_vec(), alike.to_vec())
    );
}

#[test]
fn edits_are_made_one_after_the_other_and_all_or_none() {
    let mut server = served();
    server.put("f", b"one\ntwo\n");
    let chain =
        json!([{"oldText": "one", "newText": "uno"}, {"oldText": "uno", "newText": "eins"}]);
    server
        .rpc
        .tool("edit_file", &json!({"path": "f", "edits": chain}))
        .done();
    assert_eq!(server.get("f"), b"eins\ntwo\n");
    let broken = json!([{"oldText": "two", "newText": "2"}, {"oldText": "gone", "newText": ""}]);
    server
        .rpc
        .tool("edit_file", &json!({"path": "f", "edits": broken}))
        .refused();
    assert_eq!(server.get("f"), b"eins\ntwo\n");
}

#[test]
fn nothing_is_overwritten_by_a_move_and_links_move_as_links() {
    let mut server = served();
    server.put("s", b"S");
    server.put("d", b"KEEP");
    let onto = json!({"source": "s", "destination": "d"});
    assert!(
        server
            .rpc
            .tool("move_file", &onto)
            .refused()
            .starts_with("Destination already exists")
    );
    assert_eq!(
        (server.get("s"), server.get("d")),
        (b"S".to_vec(), b"KEEP".to_vec())
    );
    let link = json!({"source": "link", "destination": "link2"});
    server.rpc.tool("move_file", &link).done();
    let text = std::fs::read_link(server.file("link2")).unwrap();
    assert_eq!(text.to_str(), Some("a.txt"));
    assert!(server.file("a.txt").exists());
}

#[test]
fn a_file_keeps_its_mode_and_attributes_when_it_is_replaced() {
    let mut server = served();
    server.put("x.sh", b"#!/bin/sh\n");
    let path = server.file("x.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    let attributed = rustix::fs::setxattr(&path, "user.k", b"v", rustix::fs::XattrFlags::empty());
    server
        .rpc
        .tool(
            "write_file",
            &json!({"path": "x.sh", "content": "#!/bin/sh\necho\n"}),
        )
        .done();
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o750);
    let mut kept = [0_u8; 8];
    if attributed.is_ok() {
        assert_eq!(rustix::fs::getxattr(&path, "user.k", &mut kept).unwrap(), 1);
    }
}

#[test]
fn a_name_that_is_no_text_can_be_given_back_as_it_is_shown() {
    use std::os::unix::ffi::OsStrExt as _;
    let mut server = served();
    let name = std::ffi::OsStr::from_bytes(b"bad-\xff\n");
    std::fs::write(server.file("sub").join(name), "content").unwrap();
    let listed = server.rpc.tool("list_directory", &json!({"path": "sub"}));
    let shown = listed
        .done()
        .lines()
        .next()
        .unwrap()
        .trim_start_matches("[FILE] ")
        .to_owned();
    assert_eq!(shown, "bad-\\xff\\x0a");
    let read = server
        .rpc
        .tool("read_text_file", &json!({"path": format!("sub/{shown}")}));
    assert_eq!(read.done(), "content");
}

#[test]
fn the_last_lines_are_the_last_lines() {
    let mut server = served();
    let mut tail = |count: u64| {
        let said = server
            .rpc
            .tool("read_text_file", &json!({"path": "a.txt", "tail": count}));
        said.done().to_owned()
    };
    assert_eq!(
        (tail(1), tail(2), tail(99)),
        (
            "three".into(),
            "two\nthree".into(),
            "one\ntwo\nthree".into()
        )
    );
}

#[test]
fn no_message_tells_where_a_link_leads() {
    let mut server = served();
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "S").unwrap();
    std::os::unix::fs::symlink(&secret, server.file("out")).unwrap();
    std::os::unix::fs::symlink(outside.path(), server.file("away")).unwrap();
    let place = outside.path().to_str().unwrap();
    for (tool, arguments) in [
        ("read_text_file", json!({"path": "out"})),
        ("write_file", json!({"path": "out", "content": "x"})),
        ("write_file", json!({"path": "away/new", "content": "x"})),
        ("get_file_info", json!({"path": "out"})),
        ("list_directory", json!({"path": "away"})),
    ] {
        let said = server.rpc.tool(tool, &arguments);
        assert!(
            said.refused().starts_with("Access denied"),
            "{tool}: {}",
            said.text()
        );
        assert!(!said.text().contains(place), "{tool}: {}", said.text());
    }
    assert_eq!(std::fs::read(&secret).unwrap(), b"S");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn an_edit_that_changes_nothing_is_done_only_where_it_could_be() {
    let mut server = served();
    let edit = |path: &str, edits: serde_json::Value| json!({"path": path, "edits": edits});
    let same = |text: &str| json!([{"oldText": text, "newText": text}]);
    let said = server.rpc.tool("edit_file", &edit("a.txt", same("two")));
    assert!(
        said.done().ends_with("\tmodified\n```\n\n"),
        "{}",
        said.text()
    );
    let said = server.rpc.tool("edit_file", &edit("a.txt", same("gone")));
    assert!(
        said.refused().starts_with("Could not find exact match"),
        "{}",
        said.text()
    );
    server
        .rpc
        .tool("edit_file", &edit("a.txt", json!([])))
        .done();
    let said = server.rpc.tool("edit_file", &edit("sub", json!([])));
    assert_eq!(
        said.refused(),
        "EISDIR: illegal operation on a directory, read"
    );
    assert_eq!(server.get("a.txt"), b"one\ntwo\nthree\n");
}

#[test]
fn a_directory_of_the_operator_is_there_already() {
    let mut server = served();
    let root = server.root();
    for path in [root.as_str(), "", ".", "sub"] {
        let said = server.rpc.tool("create_directory", &json!({"path": path}));
        assert_eq!(
            said.done(),
            format!("Successfully created directory {path}")
        );
    }
}

#[test]
fn a_pattern_that_nothing_closes_keeps_nobody_waiting() {
    let mut server = served();
    for long in ["[", "{", "?("] {
        let arguments = json!({"path": "", "pattern": long.repeat(1 << 20)});
        let said = server.rpc.tool("search_files", &arguments);
        assert!(
            said.refused().contains("too large"),
            "{}",
            said.text().len()
        );
        assert!(said.text().len() < 8192, "{}", said.text().len());
    }
}

#[test]
fn a_file_that_is_too_large_for_an_answer_is_not_given_in_part() {
    let mut server = served();
    let large = std::fs::File::create(server.file("large")).unwrap();
    large.set_len(257 * 1024 * 1024).unwrap();
    let said = server.rpc.tool("read_text_file", &json!({"path": "large"}));
    let text = said.refused();
    assert!(text.contains("larger than 256 MiB"), "{} bytes", text.len());
}

#[test]
fn a_call_that_is_cancelled_before_its_turn_is_not_done() {
    let mut server = served();
    let call = |id: u64, path: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "write_file", "arguments": {"path": path, "content": "x"}}})
    };
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 500},
    });
    server
        .rpc
        .say(&[call(500, "cancelled"), cancel, call(501, "made")]);
    assert_ne!(server.rpc.wait(501)["result"]["isError"], true);
    assert!(server.file("made").exists());
    assert!(!server.file("cancelled").exists());
}
