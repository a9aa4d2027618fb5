//! The V4A envelope.

use super::{read, refused};

fn wrapped(body: &str) -> String {
    format!("*** Begin Patch\n{body}*** End Patch\n")
}

/// Bodies and what they are.
const TAKEN: &[(&str, &[&str])] = &[
    (
        "*** Add File: a b\n+one\n+\n+ two\n",
        &["write a b Absent None: one\\n\\n two\\n"],
    ),
    ("*** Add File: empty\n", &["write empty Absent None: "]),
    (
        "*** Add File: x\n+a\n+b\n\\ No newline at end of file\n\n*** Delete File: y\n",
        &["write x Absent None: a\\nb", "delete y"],
    ),
    ("*** Delete File: x\n", &["delete x"]),
    // Blanks around a name, and none before it.
    ("*** Delete File:\t x y \t\n", &["delete x y"]),
    ("*** Delete File:x\n", &["delete x"]),
    // Where a header must come, blanks before it do no harm.
    (
        "  *** Add File: x\n+a\n  *** Delete File: y\n",
        &["write x Absent None: a\\n", "delete y"],
    ),
    (
        "*** Update File: x\n-a\n+b\n",
        &["edit x None: [] -a\\n +b\\n"],
    ),
    (
        "*** Update File: x\n@@ fn f()\n@@   loop \n keep\n-a\n\n+b\n",
        &["edit x None: [<fn f()><  loop>] =keep\\n -a\\n =\\n +b\\n"],
    ),
    (
        "*** Update File: x\n@@\n-a\n@@ y\n-b\n+c\n*** End of File\n",
        &["edit x None: [] -a\\n; [<y>$] -b\\n +c\\n"],
    ),
    (
        "*** Update File: x\n-a\n*** End of File\n\n@@\n-b\n",
        &["edit x None: [$] -a\\n; [] -b\\n"],
    ),
    // Lines without any place go to the end; after a lead they go there.
    ("*** Update File: x\n+new\n", &["edit x None: [$] +new\\n"]),
    (
        "*** Update File: x\n@@\n+new\n*** End of File\n",
        &["edit x None: [$] +new\\n"],
    ),
    (
        "*** Update File: x\n@@ here\n+new\n",
        &["edit x None: [<here>] +new\\n"],
    ),
    ("*** Update File: x\n@@ \n-a\n", &["edit x None: [] -a\\n"]),
    // Numbers are a hint, and what is written behind them is none.
    (
        "*** Update File: x\n@@ -7,2 +9,3 @@ fn f()\n a\n+b\n",
        &["edit x None: [7] =a\\n +b\\n"],
    ),
    (
        "*** Update File: x\n@@ class A\n@@ -7 +9 @@\n-b\n@@ -0,0 +1 @@\n+c\n@@ -4,0 +5 @@\n+d\n",
        &["edit x None: [<class A>7] -b\\n; [1] +c\\n; [5] +d\\n"],
    ),
    (
        "*** Update File: x\n@@ -0,1 +1 @@\n-b\n@@ -1 +1\n-c\n",
        &["edit x None: [] -b\\n; [<-1 +1>] -c\\n"],
    ),
    // An empty line is a line that stays when more of the chunk follows, else it is none.
    (
        "*** Update File: x\n\n@@\n\n-a\n\n\n@@\n-b\n\n*** Delete File: y\n\n",
        &["edit x None: [] =\\n -a\\n; [] -b\\n", "delete y"],
    ),
    (
        "*** Update File: x\n\n-a\n\n*** End of File\n",
        &["edit x None: [$] -a\\n =\\n"],
    ),
    (
        "*** Update File: x\n@@ a\n\n@@ b\n-c\n",
        &["edit x None: [<a><b>] -c\\n"],
    ),
    // Where the file ends without a newline.
    (
        "*** Update File: x\n-a\n+b\n\\ No newline at end of file\n",
        &["edit x None: [$] -a\\n +b"],
    ),
    (
        "*** Update File: x\n-a\n\\ No newline at end of file\n+b\n+c\n",
        &["edit x None: [$] -a +b\\nc\\n"],
    ),
    (
        "*** Update File: x\n-a\n+b\n c\n\\ No newline at end of file\n\n*** End of File\n",
        &["edit x None: [$] -a\\n +b\\n =c"],
    ),
    (
        "*** Update File: x\n-a\n\\ No newline\n+b\n\\ No newline\n\\ No newline\n",
        &["edit x None: [$] -a +b"],
    ),
    (
        "*** Update File: x\n*** Move to: d/y \n",
        &["move x -> d/y Nothing"],
    ),
    (
        "*** Update File: x\n*** Move to: y\n@@\n-a\n+b\n",
        &["edit x None: [] -a\\n +b\\n", "move x -> y Nothing"],
    ),
    // Sections follow each other, also those of one file.
    (
        "*** Update File: x\n-a\n*** Delete File: y\n*** Update File: x\n-b\n",
        &["edit x None: [] -a\\n", "delete y", "edit x None: [] -b\\n"],
    ),
    (
        "*** Delete File: x\n*** Add File: x\n+b\n",
        &["delete x", "write x Absent None: b\\n"],
    ),
    (
        "*** Environment ID: remote\n\n*** Delete File: /x\n*** Delete File: ../x\n",
        &["delete /x", "delete ../x"],
    ),
    // What only looks like something else.
    (
        "*** Update File: x\n-a\r\n+*** End Patch\r\n+--- b\n *** Delete File: z\n",
        &["edit x None: [] -a\\r\\n +*** End Patch\\r\\n--- b\\n =*** Delete File: z\\n"],
    ),
    (
        "*** Update File: x\n--- old\n+++ new\n",
        &["edit x None: [] --- old\\n +++ new\\n"],
    ),
];

#[test]
fn what_is_taken() {
    for (body, changes) in TAKEN {
        assert_eq!(read(&wrapped(body)), *changes, "{body}");
        let windows = wrapped(body).replace('\n', "\r\n");
        if !body.contains('\r') {
            assert_eq!(read(&windows), *changes, "{windows}");
            let open = windows.strip_suffix("\r\n").unwrap();
            assert_eq!(read(open), *changes, "{open}");
        }
    }
}

#[test]
fn markers_may_have_blanks_around_them_or_be_missing() {
    for patch in [
        "\n *** Begin Patch\t\n*** Delete File: x\n*** End Patch \n\n",
        "*** Begin Patch\n*** Delete File: x\n*** End Patch",
        "*** Begin Patch\n*** Delete File: x\n  *** End Patch\n",
        "*** Delete File: x\n*** End Patch\n",
        "\n*** Delete File: x\n",
        "*** Delete File: x",
        "\u{feff}*** Begin Patch\n*** Delete File: x\n*** End Patch\n",
    ] {
        assert_eq!(read(patch), ["delete x"], "{patch}");
    }
    let chunk = "*** Begin Patch\n*** Update File: x\n-a\n *** End Patch\n";
    assert_eq!(read(chunk), ["edit x None: [] -a\\n"]);
}

/// Bodies, the line of the patch that is refused, and what is said.
const REFUSED: &[(&str, usize, &str)] = &[
    ("", 1, "changes nothing"),
    ("hello\n", 2, "a section begins with"),
    ("*** Rename File: x\n", 2, "a section begins with"),
    ("--- a/x\n+++ b/x\n", 2, "a unified diff stands alone"),
    ("*** Add File: \n", 2, "no file name"),
    ("*** Add File: x\none\n", 3, "begins with `+`"),
    (
        "*** Add File: x\n+a\n\n+b\n",
        4,
        "an empty one is `+` alone",
    ),
    ("*** Add File: x\n\\ No newline\n", 3, "begins with `+`"),
    // An empty line without a newline is no line.
    ("*** Add File: x\n+\n\\ No newline\n", 4, "no line"),
    ("*** Add File: x\n+a\n+\n\\ No newline\n", 5, "no line"),
    ("*** Update File: x\n-\n\\ No newline\n+a\n", 4, "no line"),
    ("*** Update File: x\n-a\n+\n\\ No newline\n", 5, "no line"),
    (
        "*** Update File: x\n-a\n b\n \n\\ No newline\n",
        6,
        "no line",
    ),
    ("*** Update File: x\n-a\n\n\\ No newline\n", 5, "no line"),
    (
        "*** Add File: x\n+a\n\\ No newline\n+b\n",
        5,
        "said of the last one",
    ),
    ("*** Delete File: x\n-a\n", 3, "a section begins with"),
    ("*** Update File: x\n", 2, "no chunk and no `*** Move to:`"),
    (
        "*** Update File: x\n-a\n*** Move to: y\n",
        4,
        "directly after",
    ),
    ("*** Move to: y\n", 2, "directly after"),
    (
        "*** Update File: x\n*** Move to: y\n*** Move to: z\n",
        4,
        "directly after",
    ),
    ("*** Update File: x\n@@\n", 3, "no lines"),
    ("*** Update File: x\n@@ y\n\n", 3, "no lines"),
    ("*** Update File: x\n keep\n", 3, "neither `-` nor `+`"),
    (
        "*** Update File: x\n keep\n*** End of File\n",
        3,
        "neither `-` nor `+`",
    ),
    ("*** Update File: x\n@@ y\n+new\n\n", 3, "an empty line"),
    (
        "*** Update File: x\n@@\n+new\n\n@@\n-a\n",
        3,
        "an empty line",
    ),
    (
        "*** Update File: x\n@@ -1,2 +1,3 @@\n+new\n",
        3,
        "its header counts lines",
    ),
    ("*** Update File: x\n@@here\n-a\n", 3, "followed by a space"),
    (
        "*** Update File: x\n@@ class A @@\n-a\n",
        3,
        "leave the `@@`",
    ),
    (
        "*** Update File: x\n@@ 1\n@@ 2\n@@ 3\n@@ 4\n@@ 5\n@@ 6\n@@ 7\n@@ 8\n@@ 9\n-a\n",
        11,
        "more than 8 lines",
    ),
    (
        "*** Update File: x\n\\ No newline at end of file\n",
        3,
        "behind the line",
    ),
    (
        "*** Update File: x\n-a\n\\ No newline at end of file\n-b\n",
        5,
        "said of the last one",
    ),
    (
        "*** Update File: x\n+a\n\\ No newline at end of file\n b\n",
        5,
        "said of the last one",
    ),
    (
        "*** Update File: x\n-a\nb\n",
        4,
        "`b` is no line of a chunk",
    ),
    (
        "*** Update File: x\n-a\n*** End of File\n-b\n",
        5,
        "another `@@`",
    ),
    (
        "*** Update File: x\n*** End of File\n",
        3,
        "a section begins with",
    ),
    (
        "*** Update File: x\n-a\n*** Section\n",
        4,
        "a section begins with",
    ),
    ("*** Update File: x\r\n-a\r\n", 2, "plain newlines"),
    (
        "*** Update File: x\n*** Move to: y\r\n",
        3,
        "plain newlines",
    ),
    ("*** Begin Patch\n", 2, "a section begins with"),
    (
        "*** Delete File: x\n*** Environment ID: r\n",
        3,
        "a section begins with",
    ),
];

#[test]
fn what_is_refused_and_what_it_teaches() {
    for (body, line, said) in REFUSED {
        let (at, what) = refused(&wrapped(body));
        assert!(what.contains(said), "{body}{what}");
        assert_eq!(at, *line, "{body}{what}");
    }
    for (patch, line, said) in [
        (
            "*** Begin Patch\n*** Delete File: x\n",
            2,
            "was the patch cut off",
        ),
        (
            "*** Begin Patch\n*** Add File: x\n+a\n",
            3,
            "was the patch cut off",
        ),
        (
            "*** Begin Patch\n*** End Patch\n*** Delete File: x\n",
            3,
            "text after",
        ),
        (
            "*** Begin Patch\n*** Delete File: x\n*** End Patch\n\nDone.\n",
            5,
            "text after",
        ),
        ("*** Begin Patch\n", 1, "was the patch cut off"),
        ("*** Begin Patch\n*** End Patch\n", 1, "changes nothing"),
        (
            "Here it is:\n*** Begin Patch\n*** End Patch\n",
            1,
            "without words before it",
        ),
    ] {
        let (at, what) = refused(patch);
        assert!(what.contains(said), "{patch}{what}");
        assert_eq!(at, line, "{patch}{what}");
    }
}
