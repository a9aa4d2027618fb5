//! Which documents are taken, as what, and what is said of the others.

use super::super::{Format, detect, parse_any};
use super::*;
use crate::change::{AnchoredDeed, Content, Item};
use proptest::prelude::*;

fn read(text: &str) -> Vec<String> {
    assert_eq!(detect(text.as_bytes()), Some(Format::Edits), "{text}");
    let changes = parse_any(text.as_bytes(), None).unwrap_or_else(|e| panic!("{e}\n{text}"));
    changes.items().iter().map(line).collect()
}

fn refused(text: &str) -> (usize, String) {
    match parse_any(text.as_bytes(), None) {
        Ok(changes) => panic!("taken: {changes:?}\n{text}"),
        Err(error) => (error.line(), error.to_string()),
    }
}

fn line(item: &Item) -> String {
    let name = |selector: &Selector| String::from_utf8_lossy(selector.path.as_slice()).into_owned();
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    match item {
        Item::Write(write) => {
            let Content::Bytes(bytes) = &write.content else {
                panic!("{write:?}");
            };
            let (expect, parents) = (write.expect, write.parents);
            format!(
                "write {} {expect:?} {parents:?} {}",
                name(&write.selector),
                text(bytes)
            )
        }
        Item::Edit(edit) => {
            assert_eq!((edit.tiers, edit.expect), (Tiers::DEFAULT, Expect::Any));
            let edits = edit.edits.iter().map(|edit| match edit {
                TextEdit::Replace(Replace { old, new, count }) => {
                    format!("{} => {} {count:?}", text(old), text(new))
                }
                TextEdit::Insert { line, text: new } => format!("after {line}: {}", text(new)),
                TextEdit::Anchored { first, last, deed } => match deed {
                    AnchoredDeed::Replace(new) => format!("{first}..{last} => {}", text(new)),
                    AnchoredDeed::Before(new) => format!("before {first}: {}", text(new)),
                    AnchoredDeed::After(new) => format!("after {last}: {}", text(new)),
                },
                TextEdit::Hunk(_) => panic!("{edit:?}"),
            });
            format!(
                "edit {} {}",
                name(&edit.selector),
                edits.collect::<Vec<_>>().join("; ")
            )
        }
        Item::Mkdir(_) | Item::Move(_) | Item::Delete(_) | Item::Chmod(_) | Item::Link(_) => {
            panic!("{item:?}")
        }
    }
}

#[test]
fn every_kind_of_call_is_one_change() {
    for (text, wanted) in [
        (
            r#"{"command":"str_replace","path":"a","old_str":"x\n","new_str":"y\n"}"#,
            r"edit a x\n => y\n Exactly(1)",
        ),
        (
            r#"{"command":"str_replace","path":"a","old_str":"x"}"#,
            "edit a x =>  Exactly(1)",
        ),
        (
            r#"{"command":"create","path":"d/a","file_text":"x\n"}"#,
            r"write d/a Absent Make x\n",
        ),
        (
            r#"{"command":"insert","path":"a","insert_line":0,"new_str":"x"}"#,
            r"edit a after 0: x\n",
        ),
        (
            r#"{"command":"insert","path":"a","insert_line":7,"insert_text":"x\ny\n"}"#,
            r"edit a after 7: x\ny\n",
        ),
        (
            r#"{"file_path":"a","old_string":"x","new_string":"y"}"#,
            "edit a x => y Exactly(1)",
        ),
        (
            r#"{"file_path":"a","old_string":"x","new_string":"","replace_all":true}"#,
            "edit a x =>  All",
        ),
        (
            r#"{"file_path":"a","old_string":"x","new_string":"y","replace_all":false}"#,
            "edit a x => y Exactly(1)",
        ),
        (
            r#"{"file_path":"a","old_string":"x","new_string":"y","expected_replacements":3}"#,
            "edit a x => y Exactly(3)",
        ),
        (r#"{"file_path":"a","content":"x"}"#, "write a Seen Make x"),
        (
            r#"{"path":"a","edits":[{"op":"replace","first":"1:00000","last":"3:zzzzz","text":"x\ny"}]}"#,
            r"edit a 1:00000..3:zzzzz => x\ny",
        ),
        (
            r#"{"path":"a","edits":[{"op":"delete","at":"2:k3f9q"},{"op":"insert_before","at":"4:k3f9q","lines":["x",""]},{"op":"insert_after","at":"9:k3f9q","text":"z"}]}"#,
            r"edit a 2:k3f9q..2:k3f9q => ; before 4:k3f9q: x\n\n; after 9:k3f9q: z",
        ),
    ] {
        assert_eq!(read(text), [wanted], "{text}");
        assert_eq!(read(&format!(" [\n{text}]\n")), [wanted], "{text}");
    }
}

#[test]
fn a_fence_around_it_is_none_of_it() {
    let inside = r#"{"path":"a","content":"```\n"}"#;
    assert_eq!(
        read(&format!("```json\n{inside}\n```\n")),
        [r"write a Seen Make ```\n"]
    );
    let (line, _) = refused("\n```\n{\"path\":\"a\",\n\"content\":7,}\n```");
    assert_eq!(line, 4);
}

#[test]
fn texts_are_literal() {
    assert_eq!(
        read(
            r#"{"path":"a\"\\b","old_string":"\u00a0\ud83d\ude00\t&lt;","new_string":"$&$1\r\n"}"#
        ),
        [r#"edit a"\b \xc2\xa0\xf0\x9f\x98\x80\t&lt; => $&$1\r\n Exactly(1)"#]
    );
}

#[test]
fn edits_of_texts_follow_each_other_and_edits_of_labels_are_of_one_version() {
    let mcp = r#"{"path":"a","dryRun":false,"edits":[{"oldText":"x","newText":"y"},{"oldText":"y","newText":"z"}]}"#;
    assert_eq!(
        read(mcp),
        ["edit a x => y Exactly(1)", "edit a y => z Exactly(1)"]
    );
    let claude =
        r#"{"file_path":"a","edits":[{"old_string":"x","new_string":"y","replace_all":true}]}"#;
    assert_eq!(read(claude), ["edit a x => y All"]);
    let list = r#"[{"path":"a","edits":[{"op":"delete","at":"2:k3f9q"}]},
        {"path":"b","edits":[{"op":"delete","at":"2:k3f9q"}]},
        {"path":"a","edits":[{"op":"delete","at":"7:k3f9q"}]},
        {"path":"a","content":"x"},
        {"path":"a","edits":[{"op":"delete","at":"8:k3f9q"}]}]"#;
    assert_eq!(
        read(list),
        [
            "edit a 2:k3f9q..2:k3f9q => ; 7:k3f9q..7:k3f9q => ",
            "edit b 2:k3f9q..2:k3f9q => ",
            "write a Seen Make x",
            "edit a 8:k3f9q..8:k3f9q => ",
        ]
    );
}

/// Documents, the line that is wrong, and a part of what is said of it.
const REFUSED: &[(&str, usize, &str)] = &[
    (
        "{\"path\":\"a\",\n\"path\":\"b\"}",
        2,
        "the key `path` is there twice",
    ),
    (
        "{\"path\":\"a\",\"content\":\"x\"}\n{}",
        2,
        "several edits are one list",
    ),
    ("{\"path\":\"a\",", 1, "was it cut off?"),
    ("{\"path\":\"a\",\"old_string\":NaN}", 1, "no JSON"),
    (
        "{\"path\":\"a\",\"insert_line\":1e999}",
        1,
        "number out of range",
    ),
    ("{\"content\":\"x\"}", 1, "there is no file name"),
    (
        "{\"path\":\"a\",\"file_path\":\"a\",\"content\":\"x\"}",
        1,
        "give one",
    ),
    (
        "{\"path\":\"\",\"content\":\"x\"}",
        1,
        "there is no file name",
    ),
    ("{\"path\":\"a\"}", 1, "`content`, or `command`"),
    (
        "{\"path\":\"a\",\"content\":\"x\",\"mode\":1}",
        1,
        "`mode` is not known",
    ),
    (
        "{\"path\":\"a\",\"content\":7}",
        1,
        "`content` is a text and here it is a number",
    ),
    (
        "{\"path\":\"a\",\"old_string\":\"x\"}",
        1,
        "`new_string` is missing",
    ),
    (
        "{\"path\":\"a\",\"new_string\":\"x\"}",
        1,
        "`old_string` is missing",
    ),
    (
        "{\"path\":\"a\",\"old_string\":\"\",\"new_string\":\"x\"}",
        1,
        "`old_string` is empty",
    ),
    (
        "{\"path\":\"a\",\"old_string\":\"x\",\"new_string\":\"y\",\"replace_all\":\"true\"}",
        1,
        "`replace_all` is true or false, without quotes,",
    ),
    (
        "{\"path\":\"a\",\"old_string\":\"x\",\"new_string\":\"y\",\"expected_replacements\":0}",
        1,
        "a number from 1",
    ),
    (
        "{\"path\":\"a\",\"old_string\":\"x\",\"new_string\":\"y\",\"expected_replacements\":1.5}",
        1,
        "a whole number",
    ),
    (
        "{\"path\":\"a\",\"old_string\":\"x\",\"new_string\":\"y\",\"expected_replacements\":2,\"replace_all\":true}",
        1,
        "give one of them",
    ),
    (
        "{\"command\":\"view\",\"path\":\"a\"}",
        1,
        "`portcullis-tool read`",
    ),
    (
        "{\"command\":\"undo_edit\",\"path\":\"a\"}",
        1,
        "a worker cannot undo",
    ),
    (
        "{\"command\":\"frobnicate\",\"path\":\"a\"}",
        1,
        "`frobnicate` is no command",
    ),
    (
        "{\"command\":\"insert\",\"path\":\"a\",\"new_str\":\"x\"}",
        1,
        "`insert_line` is missing",
    ),
    (
        "{\"command\":\"insert\",\"path\":\"a\",\"insert_line\":-1,\"new_str\":\"x\"}",
        1,
        "not negative",
    ),
    (
        "{\"command\":\"insert\",\"path\":\"a\",\"insert_line\":1,\"new_str\":\"\"}",
        1,
        "nothing to insert",
    ),
    (
        "{\"path\":\"a\",\"edits\":[],\"dryRun\":true}",
        1,
        "--dry-run",
    ),
    ("{\"path\":\"a\",\"edits\":[]}", 1, "`edits` is empty"),
    (
        "{\"path\":\"a\",\"edits\":[{\"op\":\"delete\"}]}",
        1,
        "item 1 of `edits`: `at` is missing",
    ),
    (
        "{\"path\":\"a\",\"edits\":[{\"op\":\"delete\",\"at\":\"12\"}]}",
        1,
        "no label of a line",
    ),
    (
        "{\"path\":\"a\",\"edits\":[{\"op\":\"delete\",\"at\":\"12:k3f9q|x\"}]}",
        1,
        "before the bar",
    ),
    (
        "{\"path\":\"a\",\"edits\":[{\"op\":\"delete\",\"at\":\"2:k3f9q\",\"last\":\"1:k3f9q\"}]}",
        1,
        "`last` comes before `first`",
    ),
    (
        "{\"path\":\"a\",\"edits\":[{\"op\":\"replace\",\"at\":\"2:k3f9q\",\"text\":\"2:k3f9q|x\"}]}",
        1,
        "line 1 of the new text begins with the label",
    ),
    (
        "{\"path\":\"a\",\"edits\":[{\"op\":\"replace\",\"at\":\"2:k3f9q\",\"lines\":[\"x\\ny\"]}]}",
        1,
        "without a newline",
    ),
    (
        "{\"path\":\"a\",\"edits\":[{\"op\":\"delete\",\"at\":\"2:k3f9q\"},{\"oldText\":\"a\",\"newText\":\"b\"}]}",
        1,
        "not of both",
    ),
    (
        "[{\"path\":\"a\",\"content\":\"{\"},\n\n{\"path\":\"b\",\n\"content\":null}]",
        3,
        "edit 2: `content` is a text",
    ),
    ("[]", 1, "the patch changes nothing"),
    (
        "[{\"path\":\"a\",\"content\":\"x\"},7]",
        1,
        "edit 2: an edit is an object",
    ),
];

#[test]
fn what_is_not_taken_is_said_with_its_line_and_what_to_write() {
    for (text, at, said) in REFUSED.iter().copied() {
        let (line, what) = refused(text);
        assert!(what.contains(said), "{text}: {what}");
        assert_eq!(line, at, "{text}: {what}");
    }
}

#[test]
fn depth_and_keys_are_bounded() {
    let deep = format!("{{\"path\":{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(refused(&deep).1.contains("recursion limit"));
    let keys: Vec<String> = (0..10_000).map(|n| format!("\"{n}\":0")).collect();
    assert!(
        refused(&format!("{{{}}}", keys.join(",")))
            .1
            .contains("more than 32 keys")
    );
}

#[test]
fn other_texts_are_not_taken_for_documents() {
    for text in ["{", "[PATCH] x", "[1]", "{ x }", "", "[", "\"{\""] {
        assert!(!is_start(text.as_bytes()), "{text}");
    }
    assert!(is_start(b"\xef\xbb\xbf \n[ {\n\"path\": 1"));
}

proptest! {
    #[test]
    fn any_texts_come_back_as_they_were(path in "[^\0]{1,20}", old in ".{1,40}", new in ".{0,40}") {
        prop_assume!(label::copied(new.as_bytes()).is_none());
        let text = serde_json::json!({ "path": path, "old_string": old, "new_string": new });
        let changes = parse_any(text.to_string().as_bytes(), None).unwrap();
        let [Item::Edit(edit)] = changes.items() else {
            panic!("{changes:?}");
        };
        prop_assert_eq!(edit.selector.path.as_slice(), path.as_bytes());
        let wanted = Replace { old: old.into_bytes(), new: new.into_bytes(), count: Count::Exactly(1) };
        prop_assert_eq!(&edit.edits, &[TextEdit::Replace(wanted)]);
    }

    #[test]
    fn no_bytes_make_it_fail(text in prop::collection::vec(any::<u8>(), 0..200)) {
        let names = Names::of(None);
        // Either way; it must come back.
        drop(parse(&text, names));
    }
}
