//! Unified and git diffs.

use super::{read, refused};
use crate::change::Item;
use crate::patch::{Format, parse};
use portcullis_protocol::session::Expect;

/// Patches and what they are.
const TAKEN: &[(&str, &[&str])] = &[
    (
        "--- a/x\n+++ b/x\n@@ -3,2 +3,2 @@ fn f()\n keep\n-a\n+b\n",
        &["edit x None: [3] keep\\na\\n => keep\\nb\\n"],
    ),
    (
        "--- x\t2026-01-01\n+++ x\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n@@ -9 +9,0 @@\n-c\n",
        &["edit x None: [1] a\\n => b\\n; [9] c\\n => "],
    ),
    (
        "--- a/x\n+++ b/x\n@@ -5,0 +6,2 @@\n+a\n+b\n",
        &["edit x None: [6]  => a\\nb\\n"],
    ),
    (
        "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n",
        &["edit x None: [1]  => a\\n"],
    ),
    (
        "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n\\ No newline at end of file\n+c\n",
        &["edit x None: [1] a\\n\\nb => a\\n\\nc\\n"],
    ),
    (
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n\\ No newline at end of file\n",
        &["edit x None: [1] a\\nc => b\\nc"],
    ),
    (
        "--- /dev/null\n+++ b/d/x\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n",
        &["write d/x Absent None: a\\nb"],
    ),
    ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", &["delete x"]),
    (
        "diff --git a/x b/x\nnew file mode 100755\nindex 0000000..e69de29\n",
        &["write x Absent Some(493): "],
    ),
    (
        "diff --git a/l b/l\nnew file mode 120000\nindex 0..1\n--- /dev/null\n+++ b/l\n\
             @@ -0,0 +1 @@\n+../t\n\\ No newline at end of file\n",
        &["link l -> ../t"],
    ),
    (
        "diff --git a/x y b/x y\ndeleted file mode 100644\nindex e69de29..0000000\n",
        &["delete x y"],
    ),
    (
        "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
        &["chmod x 755"],
    ),
    (
        "diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex 1..2\n--- a/x\n+++ b/x\n\
             @@ -1 +1 @@\n-a\n+b\n",
        &["edit x Some(493): [1] a\\n => b\\n"],
    ),
    (
        "diff --git a/x b/d/y\nsimilarity index 100%\nrename from x\nrename to \"d/\\303\\251\"\n",
        &["move x -> d/é Nothing"],
    ),
    (
        "diff --git \"a/\\t\" \"b/\\t\"\nindex 1..2 100644\n--- \"a/\\t\"\n+++ \"b/\\t\"\n\
             @@ -1 +1 @@\n-a\n+b\n",
        &["edit \\x09 None: [1] a\\n => b\\n"],
    ),
    (
        "From 12 Mon\nSubject: [PATCH] x\n\n---\n x | 2 +-\n\ndiff --git a/x b/x\n--- a/x\n\
             +++ b/x\n@@ -1 +1 @@\n-a\n+b\n-- \n2.39\n\nFrom 34 Mon\n\n---\n y | 1 -\n\n\
             diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -2 +1,0 @@\n-c\n",
        &["edit x None: [1] a\\n => b\\n", "edit y None: [2] c\\n => "],
    ),
    (
        "Index: x\n===\n--- x\n+++ x\n@@ -1 +1 @@\n--- a\n+++ b\n\nIndex: y\n===\n\
             --- y\n+++ y\n@@ -1 +1 @@\n-a\n+b\n",
        &[
            "edit x None: [1] -- a\\n => ++ b\\n",
            "edit y None: [1] a\\n => b\\n",
        ],
    ),
    (
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\r\n+b\r\n",
        &["edit x None: [1] a\\r\\n => b\\r\\n"],
    ),
];

#[test]
fn what_is_taken() {
    for (patch, changes) in TAKEN {
        assert_eq!(read(patch), *changes, "{patch}");
    }
}

const X: &str = "--- a/x\n+++ b/x\n";
const GIT: &str = "diff --git a/x b/x\n";

/// Patches in two parts, the line that is refused, and what is said.
const REFUSED: &[(&str, &str, usize, &str)] = &[
    (
        X,
        "@@ -1,2 +1,1 @@\n-a\n",
        3,
        "counts 2 old and 1 new lines, but 1 and 0",
    ),
    (X, "@@ -1,1 +1,1 @@\n-a\n-b\n+c\n", 3, "but 2 and 0"),
    (X, "@@ -1 +1 @@\n-a\n+b\n+c\n", 6, "one line more"),
    (X, "@@ -1 +1 @@\n-a\n+b\nc\n", 6, "one line more"),
    (X, "@@ -1 +1 @@\n-a\n+b\n\n+c\n", 7, "one line more"),
    (
        X,
        "@@ -1,2 +1,2 @@\n-a\n+b\n@@ -5 +5 @@\n-c\n+d\n",
        3,
        "counts 2 old",
    ),
    (X, "@@ -1,2 +1,2 @@\n-a\nb\n", 3, "begin every line with"),
    (X, "@@ -1,1 +1,1 @@\n a\n", 3, "changes nothing"),
    (X, "@@ -1 +1\n-a\n+b\n", 3, "a hunk header is"),
    (X, "@@ -0,1 +1 @@\n-a\n+b\n", 3, "with lines from 1"),
    (X, "@@ -1,0 +1,0 @@\n", 3, "a hunk header is"),
    (
        X,
        "@@ -1 +1 @@\n\\ No newline\n-a\n+b\n",
        4,
        "behind the line",
    ),
    (
        X,
        "@@ -1,2 +1 @@\n-a\n\\ No newline\n-b\n+c\n",
        6,
        "which is said of the last one",
    ),
    (X, "", 1, "no hunk"),
    ("", "@@ -1 +1 @@\n-a\n+b\n", 1, "without its `--- NAME`"),
    (
        "",
        "--- a/x\n@@ -1 +1 @@\n-a\n+b\n",
        1,
        "the `+++ NAME` line is missing",
    ),
    (
        GIT,
        "+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        2,
        "the `--- NAME` line is missing",
    ),
    (
        "",
        "--- x.orig\n+++ x\n@@ -1 +1 @@\n-a\n+b\n",
        1,
        "names after",
    ),
    (
        "",
        "--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+b\n",
        1,
        "both sides",
    ),
    (
        "",
        "--- \"a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        1,
        "quoted name is damaged",
    ),
    (
        "",
        "--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n",
        1,
        "plain newlines",
    ),
    (
        GIT,
        "similarity index 90%\nrename from x\nrename to y\n--- a/x\n+++ b/y\n\
                     @@ -1 +1 @@\n-a\n+b\n",
        1,
        "not renamed and changed",
    ),
    (
        GIT,
        "old mode 100644\nnew mode 100755\nrename from x\nrename to y\n",
        1,
        "not renamed and changed",
    ),
    (
        GIT,
        "similarity index 90%\nrename from x\nrename to y\n",
        1,
        "hunks are missing",
    ),
    (GIT, "rename from x\n", 1, "both a `rename from`"),
    (
        GIT,
        "similarity index 100%\ncopy from x\ncopy to y\n",
        3,
        "without copies",
    ),
    (
        GIT,
        "index 1..2 100644\nGIT binary patch\nliteral 1\n",
        3,
        "write the whole file",
    ),
    (
        GIT,
        "Binary files a/x and b/x differ\n",
        2,
        "write the whole file",
    ),
    (
        "",
        "diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n",
        1,
        "combined diff",
    ),
    (GIT, "index 1..2 160000\n", 2, "a submodule"),
    (GIT, "new mode 100999\n", 2, "a mode is"),
    (GIT, "new mode 104755\n", 2, "a mode is"),
    (
        GIT,
        "index 1..2 120000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        1,
        "what a link says",
    ),
    (GIT, "index 1..2\n", 1, "nothing that could be done"),
    (
        "",
        "diff --git a/x b/y\nold mode 100644\nnew mode 100755\n",
        1,
        "told apart",
    ),
    (
        GIT,
        "new file mode 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        1,
        "says otherwise",
    ),
    (
        GIT,
        "new file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+t\n",
        1,
        "the text of a link",
    ),
    (
        "",
        "--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        3,
        "only `+` lines",
    ),
    (
        "",
        "--- a/x\n+++ /dev/null\n@@ -1,2 +1 @@\n a\n-b\n",
        3,
        "only `-` lines",
    ),
    (
        "",
        "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n@@ -3 +0,0 @@\n-b\n",
        5,
        "one hunk",
    ),
];

#[test]
fn what_is_refused_and_what_it_teaches() {
    for (head, rest, line, said) in REFUSED {
        let patch = format!("{head}{rest}");
        let (at, what) = refused(&patch);
        assert!(what.contains(said), "{patch}{what}");
        assert_eq!(at, *line, "{patch}{what}");
    }
}

#[test]
fn a_deletion_expects_the_text_it_shows() {
    for (patch, content) in [
        ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", &b"a\n"[..]),
        ("diff --git a/x b/x\ndeleted file mode 100644\n", b""),
    ] {
        let changes = parse(patch.as_bytes(), Format::Unified, None).unwrap();
        let [Item::Delete(gone)] = changes.items() else {
            panic!("{changes:?}");
        };
        let Expect::Content(digest) = gone.expect else {
            panic!("{gone:?}");
        };
        assert_eq!(digest.0, *blake3::hash(content).as_bytes());
    }
}
