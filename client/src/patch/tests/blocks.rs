//! SEARCH/REPLACE blocks.

use super::{read, refused};

/// Patches and what they are.
const TAKEN: &[(&str, &[&str])] = &[
    (
        "src/x.rs\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
        &["edit src/x.rs None: [] -a\\n +b\\n"],
    ),
    // What Markdown puts around names, and fences around blocks.
    (
        "Some words.\n\n## `x y`:\n\n```rust\n<<<<<<< SEARCH\na\n=======\n>>>>>>> REPLACE\n```\n\
         \nMore words\n**z**\n~~~\n<<<<< SEARCH \nc\n=====\nd\n>>>>> REPLACE\t\n~~~\nThat is all.\n",
        &["edit x y None: [] -a\\n", "edit z None: [] -c\\n +d\\n"],
    ),
    (
        "```python\nx\n<<<<<<< SEARCH>\na\n=======\nb\n>>>>>>> REPLACE>\n```\n",
        &["edit x None: [] -a\\n +b\\n"],
    ),
    (
        "```d/x\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```\n",
        &["edit d/x None: [] -a\\n +b\\n"],
    ),
    (
        "**`x`:**\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
        &["edit x None: [] -a\\n +b\\n"],
    ),
    (
        "x\n------- SEARCH\na\n=======\nb\n+++++++ REPLACE\n",
        &["edit x None: [] -a\\n +b\\n"],
    ),
    // The name is remembered; blocks that do not repeat it are found in the file as it was.
    (
        "x\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```\n\n```\n\
         <<<<<<< SEARCH\nc\n=======\nd\n>>>>>>> REPLACE\n",
        &["edit x None: [] -a\\n +b\\n; [] -c\\n +d\\n"],
    ),
    (
        "x\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n\
         x\n<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE\n",
        &["edit x None: [] -a\\n +b\\n", "edit x None: [] -b\\n +c\\n"],
    ),
    // Lines it is said to be at are those of the file as it was, whether it is named again or not.
    (
        "x\n<<<<<<< SEARCH\n:start_line:12\n-------\na\n=======\nb\n>>>>>>> REPLACE\n\
         x\n<<<<<<< SEARCH\n:start_line: 3\n:end_line: 4\nc\n=======\nd\n>>>>>>> REPLACE\n",
        &["edit x None: [12] -a\\n +b\\n; [3] -c\\n +d\\n"],
    ),
    (
        "x\n<<<<<<< SEARCH\n-------\na\n=======\nb\n>>>>>>> REPLACE\n",
        &["edit x None: [] --------\\na\\n +b\\n"],
    ),
    // Nothing looked for makes a file, which later blocks may change.
    (
        "d/x\n<<<<<<< SEARCH\n=======\na\n\n>>>>>>> REPLACE\n\
         <<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
        &[
            "write d/x Absent None: a\\n\\n",
            "edit d/x None: [] -a\\n +b\\n",
        ],
    ),
    (
        "x\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n",
        &["write x Absent None: "],
    ),
    // Lines of both parts stay as the file has them.
    (
        "x\n<<<<<<< SEARCH\na\nb\nc\nd\ne\n=======\na\nB\nc\nD1\nD2\ne\nf\n>>>>>>> REPLACE\n",
        &["edit x None: [] =a\\n -b\\n +B\\n =c\\n -d\\n +D1\\nD2\\n =e\\n +f\\n"],
    ),
    (
        "x\n<<<<<<< SEARCH\na\na\n=======\na\na\na\n>>>>>>> REPLACE\n",
        &["edit x None: [] =a\\na\\n +a\\n"],
    ),
    // Lines that look like marks: escaped, or in wider marks.
    (
        "x\n<<<<<<< SEARCH\n\\<<<<<<< SEARCH\n\\=======\n\\\\>>>>>>> REPLACE\n\\n\n\\:start_line:1\n\
         =======\n\\-------\n>>>>>>> REPLACE\n",
        &[
            "edit x None: [] -<<<<<<< SEARCH\\n=======\\n\\\\>>>>>>> REPLACE\\n\\\\n\\n:start_line:1\\n \
             +-------\\n",
        ],
    ),
    (
        "x\n<<<<<<<<< SEARCH\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n=========\nb\n\
         >>>>>>>>> REPLACE\n",
        &["edit x None: [] -<<<<<<< SEARCH\\n=======\\n>>>>>>> REPLACE\\n +b\\n"],
    ),
    (
        "x\n<<<<<<< SEARCH\nTitle\n=====\n=======\nb\n>>>>>>> REPLACE\n",
        &["edit x None: [] -Title\\n=====\\n +b\\n"],
    ),
    (
        "x\n<<<<<<< SEARCH\n<<<<<<< HEAD\n>>>>>>> branch\n==========\n=======\nb\n>>>>>>> REPLACE\n",
        &["edit x None: [] -<<<<<<< HEAD\\n>>>>>>> branch\\n==========\\n +b\\n"],
    ),
    // Marks of unequal width, where nothing else can be meant.
    (
        "x\n<<<<<<< SEARCH\na\n======\nb\n>>>>>>>> REPLACE\n\
         <<<<<<< SEARCH\nc\n=======\nd\n>>>>>>> REPLACE\n",
        &["edit x None: [] -a\\n +b\\n; [] -c\\n +d\\n"],
    ),
    // Three dots are three dots.
    (
        "x\n<<<<<<< SEARCH\n    ...\n=======\n    pass\n>>>>>>> REPLACE\n",
        &["edit x None: [] -    ...\\n +    pass\\n"],
    ),
    // Text that another format would take.
    (
        "x\n<<<<<<< SEARCH\n--- a/x\n=======\n*** Begin Patch\n>>>>>>> REPLACE\n",
        &["edit x None: [] ---- a/x\\n +*** Begin Patch\\n"],
    ),
];

#[test]
fn what_is_taken() {
    for (patch, changes) in TAKEN {
        assert_eq!(read(patch), *changes, "{patch}");
        let windows = patch.replace('\n', "\r\n");
        assert_eq!(read(&windows), *changes, "{windows}");
        let open = patch.strip_suffix('\n').unwrap();
        assert_eq!(read(open), *changes, "{open}");
    }
}

const BLOCK: &str = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";

/// Patches, the line that is refused, and what is said.
const REFUSED: &[(&str, usize, &str)] = &[
    (BLOCK, 1, "names no file"),
    (
        "x\n<<<<<<< SEARCH\na\n=======\nb\n",
        2,
        "is not closed before",
    ),
    (
        "x\n<<<<<<< SEARCH\na\n=======\nb\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
        2,
        "is not closed before",
    ),
    (
        "x\n<<<<<<< SEARCH\na\n=======\nb\n+++++++ REPLACE\n",
        2,
        "is not closed before",
    ),
    (
        "x\n<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n",
        2,
        "`=======` is missing",
    ),
    (
        "x\n<<<<<<< SEARCH\nTitle\n=======\n=======\nb\n>>>>>>> REPLACE\n",
        5,
        "this one or line 4",
    ),
    (
        "x\n<<<<<<<< SEARCH\nTitle\n=====\n=======\nb\n>>>>>>>> REPLACE\n",
        5,
        "this one or line 4",
    ),
    (
        "x\n<<<<<<< SEARCH\na\n<<<<<<<< SEARCH\n=======\nb\n>>>>>>> REPLACE\n",
        4,
        "not wider",
    ),
    (
        "x\n<<<<<<< SEARCH\na\n=======\na\n>>>>>>> REPLACE\n",
        2,
        "changes nothing",
    ),
    (
        "x\n<<<<<<< SEARCH\n\n \n=======\na\n>>>>>>> REPLACE\n",
        2,
        "blank lines only",
    ),
    (
        "x\n<<<<<<< SEARCH\n:start_line:1\n-------\n=======\na\n>>>>>>> REPLACE\n",
        2,
        "which has no line yet",
    ),
    (
        "x\n<<<<<<< SEARCH\n:start_line:\na\n=======\nb\n>>>>>>> REPLACE\n",
        3,
        "from 1",
    ),
    (
        "x\n<<<<<<< SEARCH\n:start_line:1\n:end_line:0\na\n=======\nb\n>>>>>>> REPLACE\n",
        4,
        "from 1",
    ),
    (
        "x\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n>>>>>>> REPLACE\n",
        7,
        "stands outside of a block",
    ),
    (
        "x\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n=======\n",
        7,
        "stands outside of a block",
    ),
    (
        "x\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n  <<<<<<< SEARCH\n",
        7,
        "first column",
    ),
    (
        "Change this file:\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
        1,
        "`Change this file:` stands where the name",
    ),
    (
        "a`b\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
        1,
        "stands where the name",
    ),
    (
        "``\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
        1,
        "stands where the name",
    ),
    (
        "```x.py\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
        1,
        "behind the fence",
    ),
    (
        "```js:d/x.js\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
        1,
        "behind the fence",
    ),
];

#[test]
fn what_is_refused_and_what_it_teaches() {
    for (patch, line, said) in REFUSED {
        let (at, what) = refused(patch);
        assert!(what.contains(said), "{patch}{what}");
        assert_eq!(at, *line, "{patch}{what}");
    }
    let none = super::super::parse(b"words\n", super::Format::Blocks, None).unwrap_err();
    assert!(none.to_string().contains("changes nothing"), "{none}");
}

#[test]
fn a_block_too_large_to_compare_is_replaced_from_its_first_difference_to_its_last() {
    let lines = |word: &str| -> String { (0..2000).map(|n| format!("{word} {n}\n")).collect() };
    let patch = format!(
        "x\n<<<<<<< SEARCH\nfirst\n{}same\n{}last\n=======\nfirst\n{}same\n{}last\n>>>>>>> REPLACE\n",
        lines("a"),
        lines("b"),
        lines("c"),
        lines("d")
    );
    let changes = read(&patch);
    let [edit] = changes.as_slice() else {
        panic!("{changes:?}");
    };
    let parts: Vec<&str> = edit.split(" =").collect();
    assert_eq!(parts.len(), 3, "{parts:?}");
    assert!(parts[1].starts_with("first\\n -a 0\\n"), "{}", parts[1]);
    assert_eq!(parts[2], "last\\n");
}
