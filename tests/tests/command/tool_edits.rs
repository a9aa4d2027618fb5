//! Edits, patches and whole writes from a worker's shell: what they ask for, say and exit with.

use crate::place::{Place, Said};

fn ask(place: &Place, script: &str) -> Said {
    place.script(&["--quiet"], script)
}

fn readme(place: &Place) -> String {
    std::fs::read_to_string(place.at("repo/README.md")).unwrap()
}

#[test]
fn a_whole_write_replaces_what_was_read_whole_and_is_told_how_to_go_on() {
    let place = Place::new();
    let said = ask(&place, "echo new | portcullis-tool write README.md");
    assert_eq!(said.code, 75, "{said:?}");
    assert!(
        said.err
            .starts_with("portcullis-tool: nothing was changed: "),
        "{said:?}"
    );
    assert!(said.err.contains("--force"), "{said:?}");
    assert!(readme(&place).starts_with("# title\n"));
    let said = ask(
        &place,
        "portcullis-tool read README.md --head 1 >/dev/null
         echo new | portcullis-tool write README.md; echo $?
         portcullis-tool read README.md >/dev/null
         echo new | portcullis-tool write README.md && echo newer | portcullis-tool write README.md",
    );
    assert_eq!(said.lines()[0], "75", "a part is not the whole: {said:?}");
    assert_eq!(
        (said.code, readme(&place).as_str()),
        (0, "newer\n"),
        "{said:?}"
    );
    for flag in ["--force", "--overwrite"] {
        let said = ask(
            &place,
            &format!("echo {flag} | portcullis-tool write README.md {flag}"),
        );
        assert_eq!(
            (said.code, readme(&place)),
            (0, format!("{flag}\n")),
            "{said:?}"
        );
    }
    let said = ask(&place, "echo x | portcullis-tool write new.txt");
    assert_eq!(said.code, 0, "nothing is there to be seen: {said:?}");
}

#[test]
fn how_strictly_texts_match_is_asked_for_and_said() {
    let place = Place::new();
    place.write("repo/f", "  one \r\n  two\r\n");
    let edit = "portcullis-tool edit f --old $'one\\ntwo' --new $'1\\n2'";
    for (more, code) in [
        (" --match exact", 75),
        ("", 75),
        (" --allow punctuation", 75),
    ] {
        let said = ask(&place, &format!("{edit}{more}"));
        assert_eq!(said.code, code, "{more}: {said:?}");
        assert!(
            said.err
                .starts_with("portcullis-tool: nothing was changed: "),
            "{said:?}"
        );
    }
    let said = ask(&place, &format!("{edit} --allow indentation -n"));
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.err.contains("(matched by tier indentation)"),
        "{said:?}"
    );
    let said = ask(&place, &format!("{edit} --allow indentation"));
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.out
            .contains("f: lines 1-2 (matched by tier indentation)"),
        "{said:?}"
    );
    assert!(
        said.out.contains("\n-  two\r\n"),
        "the difference: {said:?}"
    );
    let content = std::fs::read(place.at("repo/f")).unwrap();
    assert_eq!(content, b"  1\r\n  2\r\n");
    let said = ask(
        &place,
        "portcullis-tool edit f --old '  2' --new '  3' --json",
    );
    let document = &said.documents()[0];
    assert_eq!(document["matched"][0]["tier"], "exact", "{said:?}");
    assert_eq!(document["matched"][0]["old"]["first"], 2, "{said:?}");
    assert!(
        document["diff"].as_str().unwrap().contains("+  3\r\n"),
        "{said:?}"
    );
}

#[test]
fn arguments_of_editing_tools_are_a_patch() {
    let place = Place::new();
    let said = ask(
        &place,
        r#"portcullis-tool patch <<'EOF'
[{"command": "create", "path": "docs/new.md", "file_text": "x\n"},
 {"path": "README.md", "edits": [{"oldText": "second", "newText": "2nd"},
                                 {"oldText": "2nd line", "newText": "line 2"}]},
 {"file_path": "src/main.rs", "old_string": "needle", "new_string": "thread", "expected_replacements": 1}]
EOF"#,
    );
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(readme(&place), "# title\nline 2\nthird line\n");
    let main = std::fs::read_to_string(place.at("repo/src/main.rs")).unwrap();
    assert_eq!(main, "fn main() {\n    thread();\n}\n");
    let new = std::fs::read_to_string(place.at("repo/docs/new.md")).unwrap();
    assert_eq!(new, "x\n");
    let before = readme(&place);
    for (text, part) in [
        (
            r#"{"command":"view","path":"README.md"}"#,
            "portcullis-tool read",
        ),
        (
            r#"{"path":"README.md","path":"x","content":""}"#,
            "there twice",
        ),
        (
            r#"{"path":"README.md","old_string":"line","new_string":"x"}"#,
            "README.md",
        ),
    ] {
        let said = ask(
            &place,
            &format!("portcullis-tool patch <<'EOF'\n{text}\nEOF"),
        );
        assert_ne!(said.code, 0, "{said:?}");
        assert!(
            said.err
                .starts_with("portcullis-tool: nothing was changed: "),
            "{said:?}"
        );
        assert!(said.err.contains(part), "{said:?}");
        assert_eq!(readme(&place), before);
    }
}

#[test]
fn a_patch_larger_than_any_request_is_one_change() {
    let place = Place::new();
    let old: String = (0..20_000)
        .map(|n| format!("line {n} of a long file\n"))
        .collect();
    place.write("repo/long", &old);
    let new: String = (0..20_000)
        .map(|n| format!("LINE {n} of a long file\n"))
        .collect();
    let removed: String = old.lines().map(|line| format!("-{line}\n")).collect();
    let added: String = new.lines().map(|line| format!("+{line}\n")).collect();
    place.write(
        "repo/fix",
        format!("--- a/long\n+++ b/long\n@@ -1,20000 +1,20000 @@\n{removed}{added}"),
    );
    let said = ask(
        &place,
        "portcullis-tool read fix | portcullis-tool patch | head -1; exit ${PIPESTATUS[1]}",
    );
    assert_eq!(
        (said.code, said.out.as_str()),
        (0, "edited long\n"),
        "{said:?}"
    );
    assert!(std::fs::read_to_string(place.at("repo/long")).unwrap() == new);
}

#[test]
fn labels_can_be_copied_from_what_is_shown() {
    let place = Place::new();
    let said = ask(
        &place,
        "label=$(portcullis-tool read README.md --anchors | sed -n '2s/|.*//p')
         portcullis-tool edit README.md --lines $label --new '2nd line' | grep -A9 fresh
         portcullis-tool edit README.md --lines $label --new again 2>err; echo $?; head -1 err
         portcullis-tool edit README.md --lines \"$label|text\" --new x 2>err; echo $?",
    );
    let lines = said.lines();
    assert_eq!(lines[0], "with fresh labels:", "{said:?}");
    let labels: Vec<&str> = lines[1..4]
        .iter()
        .filter_map(|line| line.split('|').nth(1))
        .collect();
    assert_eq!(labels, ["# title", "2nd line", "third line"], "{said:?}");
    assert_eq!(lines[4], "75", "{said:?}");
    assert!(
        lines[5].starts_with("portcullis-tool: nothing was changed: "),
        "{said:?}"
    );
    assert_eq!(lines[6], "2", "the text is no part of the label: {said:?}");
    assert_eq!(readme(&place), "# title\n2nd line\nthird line\n");
}

#[test]
fn a_command_may_write_what_another_one_of_the_same_session_reads() {
    let place = Place::new();
    place.write("repo/big", "0123456789abcdef".repeat(1 << 15));
    let said = ask(
        &place,
        "set -e -o pipefail
         portcullis-tool read README.md | sed s/second/2nd/ | portcullis-tool write README.md
         portcullis-tool read big | portcullis-tool write copy
         { portcullis-tool read src/lib.rs; portcullis-tool read src/main.rs; } |
             portcullis-tool edit hidden.txt --old hidden-value --new-file -",
    );
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(readme(&place), "# title\n2nd line\nthird line\n");
    let read = |name| std::fs::read(place.at(name)).unwrap();
    assert!(read("repo/big") == read("repo/copy"));
    let both = [
        read("repo/src/lib.rs"),
        read("repo/src/main.rs"),
        b"\n".to_vec(),
    ]
    .concat();
    assert_eq!(read("repo/hidden.txt"), both);
}
