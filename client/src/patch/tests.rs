//! What is taken as a patch, what is not, and that a patch means what its maker meant.

mod apply;
mod blocks;
mod round;
mod unified;
mod v4a;
mod wrapper;

use super::*;
use crate::change::{Edges, Item, Part, TextEdit};
use proptest::prelude::*;

/// The changes of a patch, one line each.
fn read(patch: &str) -> Vec<String> {
    let changes = parse_any(patch.as_bytes(), None).unwrap_or_else(|e| panic!("{e}\n{patch}"));
    changes.items().iter().map(line).collect()
}

/// Why a patch is refused: the line, and what is said.
fn refused(patch: &str) -> (usize, String) {
    match parse_any(patch.as_bytes(), None) {
        Ok(changes) => panic!("taken: {changes:?}\n{patch}"),
        Err(error) => (error.line(), error.what),
    }
}

fn line(item: &Item) -> String {
    use crate::change::Content;
    let name = |s: &Selector| escape(s.path.as_slice());
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    match item {
        Item::Write(write) => {
            let Content::Bytes(bytes) = &write.content else {
                panic!("{write:?}");
            };
            let (file, mode, expect) = (name(&write.selector), write.mode, write.expect);
            format!("write {file} {expect:?} {mode:?}: {}", text(bytes))
        }
        Item::Edit(edit) => {
            let edits: Vec<String> = edit.edits.iter().map(one).collect();
            let (file, mode) = (name(&edit.selector), edit.mode);
            format!("edit {file} {mode:?}: {}", edits.join("; "))
        }
        Item::Move(moved) => format!(
            "move {} -> {} {:?}",
            name(&moved.source),
            name(&moved.destination),
            moved.onto
        ),
        Item::Delete(gone) => format!("delete {}", name(&gone.selector)),
        Item::Chmod(chmod) => format!("chmod {} {:o}", name(&chmod.selector), chmod.mode),
        Item::Link(link) => format!(
            "link {} -> {}",
            name(&link.selector),
            text(link.text.as_slice())
        ),
        Item::Mkdir(_) => panic!("{item:?}"),
    }
}

/// A hunk: what leads to it, its line and its edges in brackets, then what stays (`=`), goes (`-`)
/// and comes (`+`).
fn one(edit: &TextEdit) -> String {
    let TextEdit::Hunk(hunk) = edit else {
        panic!("{edit:?}");
    };
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    let leads = hunk.after.iter().map(|l| format!("<{}>", text(l)));
    let line = hunk.line.map(|line| line.to_string());
    let edges = match hunk.edges {
        Edges::Free => None,
        Edges::Start => Some("^".to_owned()),
        Edges::End => Some("$".to_owned()),
        Edges::Both => Some("^$".to_owned()),
    };
    let at: String = leads.chain(line).chain(edges).collect();
    let parts = hunk.parts.iter().map(|part| match part {
        Part::Keep(run) => format!(" ={}", text(run)),
        Part::Remove(run) => format!(" -{}", text(run)),
        Part::Insert(run) => format!(" +{}", text(run)),
    });
    format!("[{at}]{}", parts.collect::<String>())
}

#[test]
fn the_format_is_found_by_its_first_lines() {
    for (patch, format) in [
        ("*** Begin Patch\n", Some(Format::V4a)),
        ("\n  *** Begin Patch \n", Some(Format::V4a)),
        ("--- a\n+++ b\n", Some(Format::Unified)),
        ("diff --git a/x b/x\n", Some(Format::Unified)),
        ("Subject: x\n\n--- a\n", Some(Format::Unified)),
        ("@@ -1 +1 @@\n", Some(Format::Unified)),
        ("diff --cc x\n", Some(Format::Unified)),
        ("*** Update File: x\n", Some(Format::V4a)),
        ("Words.\n```\n*** Begin Patch\n", Some(Format::V4a)),
        ("*** Begin Patch\n--- a\n", Some(Format::V4a)),
        ("*** End Patch\n", None),
        ("\u{feff}--- a\n+++ b\n", Some(Format::Unified)),
        ("x\n<<<<< SEARCH\n", Some(Format::Blocks)),
        ("------- SEARCH\r\n", Some(Format::Blocks)),
        ("x\n<<<<<<< SEARCH\n--- a\n", Some(Format::Blocks)),
        ("--- a\n<<<<<<< SEARCH\n", Some(Format::Unified)),
        ("* x\n  <<<<<<< SEARCH\n", Some(Format::Blocks)),
        ("x\n<<<<<<< HEAD\n=======\n", None),
        ("hello\n", None),
        ("", None),
    ] {
        assert_eq!(detect(patch.as_bytes()), format, "{patch}");
    }
    let error = parse_any(b"hello", None).unwrap_err();
    assert!(error.to_string().contains("this is no patch"), "{error}");
    let error = Error::from(error).to_string();
    assert!(
        error.starts_with("nothing was changed: line 1 of the patch"),
        "{error}"
    );
}

#[test]
fn names_are_in_the_root_that_is_given() {
    let label = Label::new("docs").unwrap();
    let patch = b"*** Begin Patch\n*** Delete File: a\n*** End Patch\n";
    let changes = parse(patch, Format::V4a, Some(&label)).unwrap();
    let [Item::Delete(gone)] = changes.items() else {
        panic!("{changes:?}");
    };
    assert_eq!(gone.selector.root, Some(label));
}

/// Pieces of which hostile patches are made.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "*** Begin Patch\n",
        "*** End Patch\n",
        "*** Add File: a\n",
        "*** Update File: a\n",
        "*** Delete File: b\n",
        "*** Move to: c\n",
        "*** End of File\n",
        "*** \n",
        "@@\n",
        "@@ x\n",
        "@@ -1 +1 @@\n",
        "@@ -1,2 +1,0 @@ f\n",
        "@@ -0,0 +1,99999999999999999999 @@\n",
        "@@ -18446744073709551615,0 +1 @@\n",
        "--- a/x\n",
        "+++ b/x\n",
        "--- /dev/null\n",
        "+++ /dev/null\n",
        "diff --git a/x b/x\n",
        "diff --git \"a/\\",
        "old mode 100644\n",
        "new mode 100755\n",
        "new file mode 120000\n",
        "rename from \"\n",
        "rename to x\n",
        "index 1..2 160000\n",
        "\\ No newline at end of file\n",
        "<<<<<<< SEARCH\n",
        "<<<<< SEARCH>\r\n",
        "------- SEARCH\n",
        ":start_line:1\n",
        "-------\n",
        "=======\n",
        "=====\n",
        "\\=======\n",
        ">>>>>>> REPLACE\n",
        "+++++++ REPLACE\n",
        "# `x`:\n",
        "```d/x\n",
        "```\n",
        "cd a && apply_patch <<EOF\n",
        "<<'EOF'\n",
        "EOF\n",
        "-",
        "+",
        " ",
        "\n",
        "\r\n",
        "\0",
    ]);
    prop_oneof![
        4 => known.prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..12),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn no_bytes_make_it_panic(pieces in prop::collection::vec(piece(), 0..24)) {
        let patch = pieces.concat();
        let lines = patch.iter().filter(|b| **b == b'\n').count() + 1;
        for format in [Format::V4a, Format::Unified, Format::Blocks] {
            match parse(&patch, format, None) {
                Ok(changes) => prop_assert!(!changes.items().is_empty()),
                Err(error) => prop_assert!((1..=lines).contains(&error.line()), "{}", error),
            }
        }
    }
}
