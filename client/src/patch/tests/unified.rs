//! Unified and git diffs.

use super::{read, refused};
use crate::change::Item;
use crate::patch::{Format, parse};
use portcullis_protocol::session::Expect;

/// Patches and what they are.
const TAKEN: &[(&str, &[&str])] = &[
    (
        "--- a/x\n+++ b/x\n@@ -3,2 +3,2 @@ fn f()\n keep\n-a\n+b\n",
        &["edit x None: [3] =keep\\n -a\\n +b\\n"],
    ),
    (
        "--- x\t2026-01-01\n+++ x\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n@@ -9 +9,0 @@\n-c\n",
        &["edit x None: [1] -a\\n +b\\n; [9] -c\\n"],
    ),
    (
        "--- a/x\n+++ b/x\n@@ -5,0 +6,2 @@\n+a\n+b\n",
        &["edit x None: [6] +a\\nb\\n"],
    ),
    (
        "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n",
        &["edit x None: [1] +a\\n"],
    ),
    (
        "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n\\ No newline at end of file\n+c\n",
        &["edit x None: [1] =a\\n\\n -b +c\\n"],
    ),
    (
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n\\ No newline at end of file\n",
        &["edit x None: [1] -a\\n +b\\n =c"],
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
        &["edit x Some(493): [1] -a\\n +b\\n"],
    ),
    (
        "diff --git a/x b/d/y\nsimilarity index 100%\nrename from x\nrename to \"d/\\303\\251\"\n",
        &["move x -> d/é Nothing"],
    ),
    (
        "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n\
             index 1234567..89abcde 100644\n--- a/x\n+++ b/y\n@@ -2,2 +2,2 @@\n-a\n+b\n c\n",
        &["move x -> y Nothing", "edit y None: [2] -a\\n +b\\n =c\\n"],
    ),
    (
        "diff --git a/x b/y\nold mode 100644\nnew mode 100755\nsimilarity index 100%\n\
             rename from x\nrename to y\n",
        &["move x -> y Nothing", "chmod y 755"],
    ),
    (
        "diff --git \"a/\\t\" \"b/\\t\"\nindex 1..2 100644\n--- \"a/\\t\"\n+++ \"b/\\t\"\n\
             @@ -1 +1 @@\n-a\n+b\n",
        &["edit \\x09 None: [1] -a\\n +b\\n"],
    ),
    (
        "From 12 Mon\nSubject: [PATCH] x\n\n---\n x | 2 +-\n\ndiff --git a/x b/x\n--- a/x\n\
             +++ b/x\n@@ -1 +1 @@\n-a\n+b\n-- \n2.39\n\nFrom 34 Mon\n\n---\n y | 1 -\n\n\
             diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -2 +1,0 @@\n-c\n",
        &["edit x None: [1] -a\\n +b\\n", "edit y None: [2] -c\\n"],
    ),
    (
        "Index: x\n===\n--- x\n+++ x\n@@ -1 +1 @@\n--- a\n+++ b\n\nIndex: y\n===\n\
             --- y\n+++ y\n@@ -1 +1 @@\n-a\n+b\n",
        &[
            "edit x None: [1] --- a\\n +++ b\\n",
            "edit y None: [1] -a\\n +b\\n",
        ],
    ),
    (
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\r\n+b\r\n",
        &["edit x None: [1] -a\\r\\n +b\\r\\n"],
    ),
    // A patch with Windows line ends as a whole: its headers lose them, the texts do not.
    (
        "diff --git a/x b/x\r\nold mode 100644\r\nnew mode 100755\r\n--- a/x\r\n+++ b/x\r\n\
             @@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+c\r\n",
        &["edit x Some(493): [1] =a\\r\\n -b\\r\\n +c\\r\\n"],
    ),
    // A link that leads elsewhere, and a link that becomes a file.
    (
        "diff --git a/l b/l\nindex 1910281..ba0e162 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n\
             -foo\n\\ No newline at end of file\n+bar\n\\ No newline at end of file\n",
        &["delete l", "link l -> bar"],
    ),
    (
        "diff --git a/t b/t\ndeleted file mode 120000\nindex 1910281..0000000\n--- a/t\n\
             +++ /dev/null\n@@ -1 +0,0 @@\n-foo\n\\ No newline at end of file\n\
             diff --git a/t b/t\nnew file mode 100644\nindex 0000000..f73f309\n--- /dev/null\n\
             +++ b/t\n@@ -0,0 +1 @@\n+file\n",
        &["delete t", "write t Absent None: file\\n"],
    ),
    // Times of `diff -N`: the one at the beginning of time is of a file that is not there.
    (
        "--- a/x\t1970-01-01 01:00:00.000000000 +0100\n\
             +++ b/x\t2026-11-30 16:46:53.028735185 +0000\n@@ -0,0 +1 @@\n+a\n",
        &["write x Absent None: a\\n"],
    ),
    (
        "--- a/x\t2026-11-30 16:46:53.028735185 +0000\n\
             +++ b/x\t1970-01-01 00:00:00.000000000 +0000\n@@ -1 +0,0 @@\n-a\n",
        &["delete x"],
    ),
    // Prefixes: of a difference that was made backwards, of `diff.mnemonicPrefix`, of neither.
    (
        "--- b/x\n+++ a/x\n@@ -1 +1 @@\n-a\n+b\n",
        &["edit x None: [1] -a\\n +b\\n"],
    ),
    (
        "diff --git i/x w/x\nold mode 100644\nnew mode 100755\n",
        &["chmod x 755"],
    ),
    (
        "diff --git a/x a/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        &["delete a/x"],
    ),
    (
        "--- x.orig\n+++ x\n@@ -1 +1 @@\n-a\n+b\n",
        &["edit x None: [1] -a\\n +b\\n"],
    ),
    // What a program wrote has the edges of `git apply`.
    (
        "diff --git a/x b/x\nindex 1234567..89abcde 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n\
             +b\n c\n@@ -8,2 +8,2 @@\n h\n-i\n+j\n",
        &["edit x None: [1^] -a\\n +b\\n =c\\n; [8$] =h\\n -i\\n +j\\n"],
    ),
    (
        "diff --git a/x b/x\nindex e69de29..89abcde 100644\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n",
        &["edit x None: [1^$] +a\\n"],
    ),
    (
        "diff --git a/x b/x\nindex 1234567..89abcde 100644\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n\
             @@ -1 +2 @@\n-b\n+c\n",
        &["edit x None: [1^] +a\\n; [1] -b\\n +c\\n"],
    ),
    // A rename gives a name away before another section takes it.
    (
        "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n\
             diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
        &["move x -> y Nothing", "write x Absent None: a\\n"],
    ),
    (
        "diff --git a/a b/b\nrename from a\nrename to b\ndiff --git a/b b/c\nrename from b\n\
             rename to c\n",
        &["move b -> c Nothing", "move a -> b Nothing"],
    ),
    (
        "diff --git a/a b/b\nrename from a\nrename to b\ndiff --git a/b b/a\nrename from b\n\
             rename to a\n",
        &[
            "move a -> b.swapped Nothing",
            "move b -> a Nothing",
            "move b.swapped -> b Nothing",
        ],
    ),
];

/// Patches that were written by hand, with what is wrong in them, and what they are.
const BY_HAND: &[(&str, &[&str])] = &[
    // Wrong counts.
    (
        "--- a/x\n+++ b/x\n@@ -1,9 +1,2 @@\n a\n-b\n+c\n",
        &["edit x None: [1] =a\\n -b\\n +c\\n"],
    ),
    (
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n+c\n d\n",
        &["edit x None: [1] -a\\n +b\\nc\\n =d\\n"],
    ),
    (
        "--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n-a\n+b\n\n@@ -5 +5 @@\n-c\n+d\n",
        &["edit x None: [1] -a\\n +b\\n; [5] -c\\n +d\\n"],
    ),
    // A line of context that is empty, in the middle and at the end.
    (
        "--- a/x\n+++ b/x\n@@ -1,7 +1,7 @@\n-a\n+b\n\n c\n\n\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
        &[
            "edit x None: [1] -a\\n +b\\n =\\nc\\n",
            "edit y None: [1] -a\\n +b\\n",
        ],
    ),
    // Text after the patch.
    (
        "--- a/x\n+++ b/x\n@@ -1,7 +1,7 @@\n-a\n+b\n\nThat is all.\n",
        &["edit x None: [1] -a\\n +b\\n"],
    ),
    (
        "```diff\n--- a/x\n+++ b/x\n@@ -1,7 +1,7 @@\n-a\n+b\n```\n",
        &["edit x None: [1] -a\\n +b\\n"],
    ),
    // No numbers, or a line instead of them.
    (
        "--- a/x\n+++ b/x\n@@ ... @@\n-a\n+b\n@@\n-c\n+d\n@@ fn f() {\n-e\n+f\n",
        &["edit x None: [] -a\\n +b\\n; [] -c\\n +d\\n; [<fn f() {>] -e\\n +f\\n"],
    ),
    // No newline at the end of the patch.
    (
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b",
        &["edit x None: [1] -a\\n +b\\n"],
    ),
    // Hunks that are not in order, and lines that look like headers.
    (
        "--- a/x\n+++ b/x\n@@ -9 +9 @@\n-a\n+b\n@@ -1 +1 @@\n-c\n+d\n",
        &["edit x None: [9] -a\\n +b\\n; [1] -c\\n +d\\n"],
    ),
    (
        "--- a/x\n+++ b/x\n@@ -1,4 +1 @@\n--- a\n-b\n+++ c\n",
        &["edit x None: [1] --- a\\nb\\n +++ c\\n"],
    ),
];

#[test]
fn what_is_taken() {
    for (patch, changes) in TAKEN.iter().chain(BY_HAND) {
        assert_eq!(read(patch), *changes, "{patch}");
    }
}

const X: &str = "--- a/x\n+++ b/x\n";
const GIT: &str = "diff --git a/x b/x\n";

const MADE: &str = "diff --git a/x b/x\nindex 1234567..89abcde 100644\n--- a/x\n+++ b/x\n";
const TIMED: &str = "--- x\t2026-11-30 16:46:53.028735185 +0000\n\
                     +++ x\t2026-11-30 16:46:53.000000000 +0000\n";

/// Patches in two parts, the line that is refused, and what is said.
const REFUSED: &[(&str, &str, usize, &str)] = &[
    (
        MADE,
        "@@ -1,2 +1,1 @@\n-a\n",
        5,
        "counts 2 old and 1 new lines, but 1 and 0",
    ),
    (MADE, "@@ -1,1 +1,1 @@\n-a\n-b\n+c\n", 5, "but 2 and 0"),
    (MADE, "@@ -1 +1 @@\n-a\n+b\n+c\n", 8, "one line more"),
    (TIMED, "@@ -1 +1 @@\n-a\n+b\n c\n", 6, "one line more"),
    (
        MADE,
        "@@ -1,2 +1,2 @@\n-a\n+b\n@@ -5 +5 @@\n-c\n+d\n",
        5,
        "counts 2 old",
    ),
    (MADE, "@@ -1,2 +1,2 @@\n-a\nb\n", 5, "begin every line with"),
    (MADE, "@@ -1 +1 @@\n-a\n+b", 7, "in the middle of a line"),
    (MADE, "", 1, "no hunk"),
    (
        "diff --git a/x b/x\nindex 1234567..89abcde 100644\n",
        "",
        1,
        "hunks are missing",
    ),
    (
        "diff --git a/x b/x\nnew file mode 100644\nindex 0000000..89abcde\n",
        "",
        1,
        "hunks are missing",
    ),
    (
        MADE,
        "@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n@@ -3,2 +3,2 @@\n d\n-e\n+f\n",
        10,
        "in line 5 of the patch",
    ),
    (
        X,
        "@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
        7,
        "in line 3 of the patch",
    ),
    (X, "@@ -1,2 +1,2 @@\n-a\nb\n", 5, "begin every line with"),
    (
        X,
        "@@ -1,2 +1,2 @@\n-a\n\nb\n+c\n",
        6,
        "begins with neither",
    ),
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
        "--- old/x\n+++ new/x\n@@ -1 +1 @@\n-a\n+b\n",
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
        "the text of a link",
    ),
    (
        GIT,
        "old mode 120000\nnew mode 100644\n",
        1,
        "a link is not made a file",
    ),
    (
        GIT,
        "new file mode 100644\ndeleted file mode 100644\n",
        1,
        "not made and deleted",
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

#[test]
fn an_empty_line_without_a_newline_is_no_line() {
    for hunk in [
        "@@ -9 +9,2 @@\n-\n\\ No newline\n+z\n+y\n",
        "@@ -1,2 +1 @@\n-a\n-\n\\ No newline\n+z\n",
    ] {
        let patch = format!("--- a/x\n+++ b/x\n{hunk}");
        let error = parse(patch.as_bytes(), Format::Unified, None);
        assert!(error.unwrap_err().to_string().contains("no line"), "{hunk}");
    }
}
