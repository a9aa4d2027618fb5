//! What users of other editors reported, part C: what a patch means.
//!
//! | row | report | test |
//! |---|---|---|
//! | 35 | adding overwrites a file | `row_35_*` |
//! | 36 | moving overwrites a file | `row_36_*` |
//! | 37 | moving a file to itself deletes it | `row_37_*` |
//! | 38 | a move without edits is refused | `row_38_*` |
//! | 39 | a look-alike in other blanks is edited | `row_39_*` |
//! | 40 | a hunk lands in the wrong place | `row_40_*` |
//! | 41 | line numbers decide when the text does not match | `row_41_*` |
//! | 42 | the first of several matches is taken | `row_42_*` |
//! | 43 | an empty old text inserts everywhere | `row_43_44_*` |
//! | 44 | an empty old text wipes the file | `row_43_44_*` |
//! | 45 | a part of a patch is left behind | `row_45_*` |
//! | 47 | new lines at the margin are indented | `row_47_*` |
//! | 48 | several `@@` lines are refused | `row_48_*` |
//! | 49 | a chunk of new lines alone ignores its `@@` | `row_49_*` |
//! | 50 | deleting and adding one path is refused or done in the wrong order | `row_50_*` |
//! | 51 | counts of a hunk are wrong, `\ No newline` is misplaced | `row_51_*` |
//!
//! The table has no row 46. `v4a_cases` has these and more as a model writes them.

use crate::desk::{Desk, at, edits, not_done, note, one, out, patched, replace, v4a};
use portcullis_client::change::{self, Count};
use portcullis_client::patch;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Tier;

#[test]
fn row_35_adding_a_file_over_another_fails_before_any_change() {
    for changes in [
        v4a("*** Add File: new\n+x\n*** Add File: a\n+new"),
        patched(
            "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+new\n",
        ),
        one(change::create(at("a"), "new\n")),
    ] {
        let mut desk = Desk::new(&[("a", b"old\n")]);
        desk.refused(&changes, Code::Exists);
    }
}

#[test]
fn row_36_moving_a_file_over_another_fails_before_any_change() {
    for changes in [
        v4a("*** Update File: a\n*** Move to: b\n@@\n-a\n+A"),
        v4a("*** Update File: a\n*** Move to: b"),
        patched("diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n"),
        one(change::rename(at("a"), at("b"))),
    ] {
        let mut desk = Desk::new(&[("a", b"a\n"), ("b", b"KEEP\n")]);
        desk.refused(&changes, Code::Exists);
    }
}

#[test]
fn row_37_a_file_moved_to_itself_is_there_and_edited() {
    for name in ["a", "./a", "d/../a", "d//../a"] {
        let mut desk = Desk::new(&[("a", b"a\n"), ("d/x", b"x\n")]);
        desk.set_mode("a", 0o755);
        desk.done(&v4a(&format!(
            "*** Update File: a\n*** Move to: {name}\n@@\n-a\n+A"
        )));
        desk.is("a", "A\n");
        assert_eq!(desk.mode("a"), 0o755, "{name}");
    }
    let mut desk = Desk::new(&[("a", b"a\n")]);
    let before = desk.census();
    // Without an edit there is nothing to do, whatever is said of it.
    let _ = desk.make(&one(change::rename(at("a"), at("./a"))));
    assert_eq!(desk.census(), before);
}

#[test]
fn row_38_a_move_without_edits_is_a_rename() {
    let mut desk = Desk::new(&[("a", b"a\n")]);
    desk.done(&v4a("*** Update File: a\n*** Move to: b"));
    assert!(!desk.path("a").exists());
    desk.is("b", "a\n");
}

#[test]
fn row_39_lines_that_are_alike_but_for_blanks_in_front_are_refused() {
    let file: &[u8] = b"def e(p):\n\tif p:\n\t\tf()\n\t\treturn\n\ndef t(p):\n\tfor i in p:\n\t\tif i:\n\t\t\tf()\n\t\t\treturn\n";
    let patch = v4a("*** Update File: a\n@@\n-    f()\n-    return\n+    g()");
    let mut desk = Desk::new(&[("a", file)]);
    desk.refused(&patch, Code::NotUnique);
    // When shifting is asked for there are two places, and that is said.
    let mut shifting = edits(
        "a",
        vec![replace("f()\nreturn\n", "g()\n", Count::Exactly(1))],
    );
    shifting.tiers = shifting.tiers.with(Tier::Indentation);
    let refusal = desk.refused(&one(shifting), Code::NotUnique);
    let said = note(&refusal);
    assert!(said.contains('3') && said.contains('9'), "{said}");
    // With the line before them they are in one; what comes is shifted as they are.
    let mut shifting = edits(
        "a",
        vec![replace(
            "if i:\n\tf()\n\treturn\n",
            "if i:\n\tg()\n",
            Count::Exactly(1),
        )],
    );
    shifting.tiers = shifting.tiers.with(Tier::Indentation);
    let (matched, _) = desk.plan(&one(shifting.clone()));
    assert_eq!(
        matched.first().map(|matched| matched.tier),
        Some(Tier::Indentation)
    );
    desk.done(&one(shifting));
    desk.is(
        "a",
        "def e(p):\n\tif p:\n\t\tf()\n\t\treturn\n\ndef t(p):\n\tfor i in p:\n\t\tif i:\n\t\t\tg()\n",
    );
}

#[test]
fn row_40_a_hunk_that_fits_in_several_places_is_refused_with_their_lines() {
    let file: &[u8] = b"begin\n  x\nend\nbegin\n  x\nend\nbegin\n  x\nend\n";
    let mut desk = Desk::new(&[("a", file)]);
    for changes in [
        v4a("*** Update File: a\n@@\n begin\n-  x\n+  y\n end"),
        patched("--- a/a\n+++ b/a\n@@ -3,3 +3,3 @@\n begin\n-  x\n+  y\n end\n"),
    ] {
        let refusal = desk.refused(&changes, Code::NotUnique);
        for line in ["1", "4", "7"] {
            assert!(note(&refusal).contains(line), "{refusal}");
        }
    }
    // A number that is exactly one of them says which.
    desk.done(&patched(
        "--- a/a\n+++ b/a\n@@ -4,3 +4,3 @@\n begin\n-  x\n+  y\n end\n",
    ));
    desk.is("a", "begin\n  x\nend\nbegin\n  y\nend\nbegin\n  x\nend\n");
}

#[test]
fn row_41_where_the_text_does_not_match_no_number_decides() {
    let mut desk = Desk::new(&[("a", b"one\nanother\nthree\n")]);
    for changes in [
        patched("--- a/a\n+++ b/a\n@@ -2 +2 @@\n-two\n+2\n"),
        patched("--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"),
        v4a("*** Update File: a\n@@ -2,1 +2,1 @@\n-two\n+2"),
    ] {
        desk.refused(&changes, Code::NotUnique);
    }
    // Where it drifted, the text decides.
    desk.write_outside("a", "zero\nhalf\none\ntwo\nthree\n");
    desk.done(&patched(
        "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
    ));
    desk.is("a", "zero\nhalf\none\n2\nthree\n");
}

#[test]
fn row_42_of_several_places_none_is_taken_unless_their_number_is_said() {
    let file: &[u8] = b"x = 1\nfoo\nx = 1\n";
    let mut desk = Desk::new(&[("a", file)]);
    let refusal = desk.refused(
        &one(change::replace(at("a"), "x = 1", "x = 2")),
        Code::NotUnique,
    );
    assert!(
        note(&refusal).contains('1') && note(&refusal).contains('3'),
        "{refusal}"
    );
    let often = |count| one(edits("a", vec![replace("x = 1", "x = 2", count)]));
    for wrong in [1, 3, u32::MAX] {
        desk.refused(&often(Count::Exactly(wrong)), Code::NotUnique);
    }
    desk.done(&often(Count::Exactly(2)));
    desk.is("a", "x = 2\nfoo\nx = 2\n");
    desk.done(&one(edits("a", vec![replace("x = 2", "y", Count::All)])));
    desk.is("a", "y\nfoo\ny\n");
    desk.refused(
        &one(edits("a", vec![replace("x = 2", "y", Count::All)])),
        Code::NotUnique,
    );
    // The tool says the same, with the lines.
    desk.write_outside("a", file);
    let (status, said) = not_done(&desk.tool("\"$T\" edit a --old 'x = 1' --new 'x = 2'", b""));
    assert_eq!(status, 75, "{said}");
    out(&desk.tool("\"$T\" edit a --old 'x = 1' --new 'x = 2' --count 2", b""));
    desk.is("a", "x = 2\nfoo\nx = 2\n");
}

#[test]
fn row_43_44_an_empty_old_text_is_refused() {
    let mut desk = Desk::new(&[("a", b"one\ntwo\n"), ("empty", b"")]);
    for name in ["a", "empty"] {
        for count in [Count::Exactly(1), Count::Exactly(3), Count::All] {
            let before = desk.census();
            let empty = one(edits(name, vec![replace("", "x", count)]));
            let error = desk.session.change(&empty).map(drop).unwrap_err();
            assert_eq!(error.changed(), portcullis_client::Changed::Unchanged);
            assert!(
                error.to_string().starts_with("nothing was changed: "),
                "{error}"
            );
            assert_eq!(desk.census(), before);
        }
    }
    let before = desk.census();
    let (_, said) = not_done(&desk.tool("\"$T\" edit a --old '' --new x", b""));
    assert!(said.contains("empty"), "{said}");
    assert_eq!(desk.census(), before);
}

#[test]
fn row_45_a_patch_that_fails_anywhere_leaves_nothing_behind() {
    let parts = [
        "*** Add File: new/deep\n+1",
        "*** Delete File: k",
        "*** Update File: m\n*** Move to: n",
        "*** Update File: z\n@@\n-z\n+Z",
    ];
    let bad = "*** Update File: y\n@@\n-missing\n+q";
    for place in 0..=parts.len() {
        let mut sections = parts.to_vec();
        sections.insert(place, bad);
        let mut desk = Desk::new(&[("k", b"k\n"), ("m", b"m\n"), ("z", b"z\n"), ("y", b"y\n")]);
        desk.refused(&v4a(&sections.join("\n")), Code::NotUnique);
        sections.remove(place);
        desk.done(&v4a(&sections.join("\n")));
        desk.is("z", "Z\n");
    }
}

#[test]
fn row_47_new_lines_at_the_margin_stay_there() {
    let mut desk = Desk::new(&[("a", b"if x:\n    y\n    z\n")]);
    desk.done(&one(change::replace(
        at("a"),
        "    y\n",
        "#if 0\n    y\n#endif\n",
    )));
    desk.is("a", "if x:\n#if 0\n    y\n#endif\n    z\n");
    desk.done(&v4a("*** Update File: a\n@@\n     z\n+label:"));
    desk.is("a", "if x:\n#if 0\n    y\n#endif\n    z\nlabel:\n");
}

#[test]
fn row_48_several_context_lines_narrow_one_after_the_other() {
    let file: &[u8] =
        b"class A:\n  def t:\n    x\n  def u:\n    x\nclass B:\n  def t:\n    x\n  def u:\n    x\n";
    let mut desk = Desk::new(&[("a", file)]);
    desk.done(&v4a(
        "*** Update File: a\n@@ class B:\n@@   def t:\n-    x\n+    y\n   def u:",
    ));
    desk.is(
        "a",
        "class A:\n  def t:\n    x\n  def u:\n    x\nclass B:\n  def t:\n    y\n  def u:\n    x\n",
    );
}

#[test]
fn row_49_new_lines_come_after_the_line_that_was_named() {
    let mut desk = Desk::new(&[("f", b"a\nb\na2\n")]);
    desk.done(&v4a("*** Update File: f\n@@ a\n+new"));
    desk.is("f", "a\nnew\nb\na2\n");
    desk.done(&v4a("*** Update File: f\n@@ b\n+one\n+two\n@@ a2\n+end"));
    desk.is("f", "a\nnew\nb\none\ntwo\na2\nend\n");
    // Which of two is meant is not known.
    desk.write_outside("f", "a\nb\na\n");
    desk.refused(&v4a("*** Update File: f\n@@ a\n+new"), Code::NotUnique);
}

#[test]
fn row_50_deleting_and_adding_one_path_replaces_it_and_adding_and_deleting_leaves_none() {
    let mut desk = Desk::new(&[("a", b"old\n")]);
    desk.set_mode("a", 0o640);
    desk.done(&v4a("*** Delete File: a\n*** Add File: a\n+new"));
    desk.is("a", "new\n");
    assert_eq!(desk.mode("a"), 0o640);
    let before = desk.census();
    let _ = desk.make(&v4a("*** Add File: b\n+x\n*** Delete File: b"));
    assert_eq!(desk.census(), before);
    // In the other order it is there when it is added.
    desk.refused(
        &v4a("*** Add File: a\n+new\n*** Delete File: a"),
        Code::Exists,
    );
}

#[test]
fn row_51_counts_are_worked_out_and_a_missing_newline_is_honoured_where_it_stands() {
    let mut desk = Desk::new(&[("a", b"a\nb\nc\n")]);
    desk.done(&patched("--- a/a\n+++ b/a\n@@ -1,9 +1,2 @@\n-a\n+A\n b\n"));
    desk.is("a", "A\nb\nc\n");
    desk.done(&patched(
        "--- a/a\n+++ b/a\n@@ -1,1 +1,7 @@\n A\n-b\n+B\n+BB\n c\n",
    ));
    desk.is("a", "A\nB\nBB\nc\n");
    // Not counted as a line, wherever it is: here the new end alone lacks its newline.
    desk.done(&patched(
        "--- a/a\n+++ b/a\n@@ -3,2 +3,2 @@\n BB\n-c\n+C\n\\ No newline at end of file\n",
    ));
    desk.is("a", "A\nB\nBB\nC");
    // Before a line of the same side it is a contradiction, and says which line of the patch.
    let torn = "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-A\n\\ No newline at end of file\n-B\n+x\n";
    let before = desk.census();
    match patch::parse_any(torn.as_bytes(), None) {
        Ok(changes) => {
            desk.refused(&changes, Code::NotUnique);
        }
        Err(error) => assert!(error.line() >= 5, "{error}"),
    }
    assert_eq!(desk.census(), before);
}
