//! The V4A envelope.

use super::{read, refused};

fn wrapped(body: &str) -> String {
    format!("*** Begin Patch\n{body}*** End Patch\n")
}

#[test]
fn what_is_taken() {
    let cases: &[(&str, &[&str])] = &[
        (
            "*** Add File: a b\n+one\n+\n+ two\n",
            &["write a b Absent None: one\\n\\n two\\n"],
        ),
        ("*** Add File: empty\n", &["write empty Absent None: "]),
        ("*** Delete File: x\n", &["delete x"]),
        (
            "*** Update File: x\n-a\n+b\n",
            &["edit x None: [] a\\n => b\\n"],
        ),
        (
            "*** Update File: x\n@@ fn f()\n@@ loop\n keep\n-a\n\n+b\n",
            &["edit x None: [<fn f()><loop>] keep\\na\\n\\n => keep\\n\\nb\\n"],
        ),
        (
            "*** Update File: x\n@@\n-a\n@@ y\n-b\n+c\n*** End of File\n",
            &["edit x None: [] a\\n => ; [<y>] b\\n => c\\n"],
        ),
        (
            "*** Update File: x\n-a\n*** End of File\n@@\n-b\n",
            &["edit x None: [] a\\n => ; [] b\\n => "],
        ),
        (
            "*** Update File: x\n@@ here\n+new\n",
            &["edit x None: [<here>]  => new\\n"],
        ),
        (
            "*** Update File: x\n@@ \n-a\n",
            &["edit x None: [] a\\n => "],
        ),
        (
            "*** Update File: x\n*** Move to: d/y\n",
            &["move x -> d/y Nothing"],
        ),
        (
            "*** Update File: x\n-a\n*** Delete File: y\n*** Update File: x\n-b\n",
            &["edit x None: [] a\\n => ; [] b\\n => ", "delete y"],
        ),
        (
            "*** Environment ID: remote\n*** Delete File: x\n*** Delete File: y\n",
            &["delete x", "delete y"],
        ),
        (
            "*** Update File: x\n-a\r\n+*** End Patch\r\n+--- b\n",
            &["edit x None: [] a\\r\\n => *** End Patch\\r\\n--- b\\n"],
        ),
        (
            "*** Update File: x\n--- old\n+++ new\n",
            &["edit x None: [] -- old\\n => ++ new\\n"],
        ),
    ];
    for (body, changes) in cases {
        assert_eq!(read(&wrapped(body)), *changes, "{body}");
    }
    let blanks = "\n *** Begin Patch\t\n*** Delete File: x\n*** End Patch \n\n";
    assert_eq!(read(blanks), ["delete x"]);
    let no_newline = "*** Begin Patch\n*** Delete File: x\n*** End Patch";
    assert_eq!(read(no_newline), ["delete x"]);
}

/// Bodies, the line of the patch that is refused, and what is said.
const REFUSED: &[(&str, usize, &str)] = &[
    ("", 2, "changes nothing"),
    ("hello\n", 2, "a section begins with"),
    ("*** Rename File: x\n", 2, "a section begins with"),
    ("*** Add File: \n", 2, "no file name"),
    ("*** Add File: x\none\n", 3, "begins with `+`"),
    (
        "*** Add File: x\n+a\n\n+b\n",
        4,
        "an empty one is `+` alone",
    ),
    ("*** Delete File: x\n-a\n", 3, "a section begins with"),
    ("*** Update File: x\n", 2, "no chunk and no `*** Move to:`"),
    (
        "*** Update File: x\n*** Move to: y\n-a\n+b\n",
        4,
        "then another with only the move",
    ),
    (
        "*** Update File: x\n-a\n*** Move to: y\n",
        4,
        "directly after",
    ),
    ("*** Move to: y\n", 2, "directly after"),
    ("*** Update File: x\n@@\n", 3, "no lines"),
    ("*** Update File: x\n keep\n", 3, "neither `-` nor `+`"),
    ("*** Update File: x\n+new\n", 3, "where its lines go"),
    (
        "*** Update File: x\n@@\n+new\n*** End of File\n",
        3,
        "where its lines go",
    ),
    (
        "*** Update File: x\n@@ -1,2 +1,2 @@\n-a\n",
        3,
        "line numbers have no meaning",
    ),
    ("*** Update File: x\n@@here\n-a\n", 3, "followed by a space"),
    (
        "*** Update File: x\n-a\n\\ No newline at end of file\n",
        4,
        "unified diff instead",
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
    ("*** Update File: x\r\n-a\r\n", 2, "plain newlines"),
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
            "*** Begin Patch\n*** End Patch\n*** Delete File: x\n",
            3,
            "text after",
        ),
        ("*** Begin Patch\r\n*** End Patch\r\n", 1, "plain newlines"),
        (
            "```\n*** Begin Patch\n*** End Patch\n```\n",
            1,
            "this is no patch",
        ),
    ] {
        let (at, what) = refused(patch);
        assert!(what.contains(said), "{patch}{what}");
        assert_eq!(at, line, "{patch}{what}");
    }
}
