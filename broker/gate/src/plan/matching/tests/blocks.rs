//! Blocks of whole lines.

use super::{Edges, INDENTATION, Lines, PUNCTUATION, Plan, Tier, Tiers, hunk, lines_of};
use portcullis_protocol::refusal::Code;

fn one(lines: &[&str]) -> Plan {
    Plan::default().hunk(&hunk(lines))
}

#[test]
fn lines_that_stay_are_those_of_the_file() {
    let plan = one(&[" a\n", "-b\n", "+B\n", " c\n"]);
    assert_eq!(plan.on("a\nb\nc\n"), "a\nB\nc\n");
    let old = "a  \nb\t\nc\u{20}\nd\n";
    assert_eq!(plan.on(old), "a  \nB\nc \nd\n");
    let edited = plan.by(Tiers::DEFAULT, old).unwrap();
    assert_eq!(edited.places.len(), 1);
    assert_eq!(edited.places[0].tier, Tier::TrailingBlanks);
    assert_eq!(edited.places[0].old, lines_of(2, 1));
    assert_eq!(edited.places[0].new, lines_of(2, 1));
}

#[test]
fn only_whole_lines_are_found() {
    one(&["-b\n", "+x\n"]).missing(Tiers::DEFAULT, "ab\nbc\n", "not there");
    one(&[" a\n", "-b\n"]).missing(Tiers::DEFAULT, "xa\nb\n", "not there");
}

#[test]
fn lines_that_come_get_the_terminators_of_those_they_replace() {
    let plan = one(&[" a\n", "-b\n", "-c\n", "+x\n", "+y\n", "+z\n", " d\n"]);
    assert_eq!(plan.on("a\r\nb\r\nc\nd\r\n"), "a\r\nx\r\ny\nz\nd\r\n");
    // Put between lines that stay, they are like the one before; first of a block, like the next.
    assert_eq!(
        one(&[" a\n", "+x\n", " b\n"]).on("a\r\nb\n"),
        "a\r\nx\r\nb\n"
    );
    assert_eq!(one(&["+x\n", " b\n"]).on("a\nb\r\n"), "a\nx\r\nb\r\n");
    // With a last line that is not ended bare newlines say nothing; CRLF is meant.
    assert_eq!(one(&["-b", "+x\n", "+y\n"]).on("a\r\nb"), "a\r\nx\r\ny\r\n");
    assert_eq!(one(&["-\r", "+\r\n", "+y\n"]).on("\r"), "\r\ny\n");
    // To the letter where the block is.
    assert_eq!(one(&[" a\n", "+x\r\n"]).on("a\nb\r\n"), "a\nx\r\nb\r\n");
    assert_eq!(plan.text(Tiers::EXACT, "a\nb\nc\nd\n"), "a\nx\ny\nz\nd\n");
    plan.missing(Tiers::EXACT, "a\r\nb\nc\nd\n", "`\\r\\n`");
}

#[test]
fn the_end_of_the_file_stays_unless_lines_say_otherwise() {
    let plan = one(&[" a\n", "-b\n", "+x\n"]);
    assert_eq!(plan.on("a\nb"), "a\nx");
    assert_eq!(plan.on("a\r\nb"), "a\r\nx");
    assert_eq!(one(&["-b\n", "+x\n", "+y\n"]).on("a\r\nb"), "a\r\nx\r\ny");
    assert_eq!(one(&[" b\n", "+x\n"]).on("a\nb"), "a\nb\nx");
    assert_eq!(one(&[" a\n", "-b\n"]).on("a\nb"), "a\n");
    // A last line without a newline says so.
    assert_eq!(one(&["-b", "+x"]).on("a\nb"), "a\nx");
    assert_eq!(one(&["-b", "+b\n"]).on("a\nb"), "a\nb\n");
    assert_eq!(one(&["-b\n", "+b"]).on("a\nb\n"), "a\nb");
    assert_eq!(one(&[" b", "+c"]).on("a\nb"), "a\nb\nc");
    assert_eq!(one(&[" b\n", "+c"]).on("a\nb\n"), "a\nb\nc");
    for tiers in [Tiers::EXACT, Tiers::DEFAULT] {
        assert_eq!(one(&["-b", "+b\n", "+c"]).text(tiers, "a\nb"), "a\nb\nc");
    }
    // It is the end of the file, then.
    one(&["-b", "+x"]).missing(Tiers::DEFAULT, "b\nc\n", "end of the file");
    assert_eq!(one(&["-b", "+x"]).on("b\nb\n"), "b\nx");
    // In the middle of the file it cannot be meant.
    assert_eq!(one(&[" a\n", "+x"]).on("a\nb\n"), "a\nx\nb\n");
    let miss = one(&[" a", "-b\n"]).miss("a\nb\n");
    assert_eq!(miss.code, Code::OutOfRange, "{miss:?}");
}

#[test]
fn a_byte_order_mark_stays_first() {
    let old = "\u{feff}a\nb\n";
    assert_eq!(one(&["-a\n", "+x\n", " b\n"]).on(old), "\u{feff}x\nb\n");
    assert_eq!(one(&["+x\n", " a\n"]).on(old), "\u{feff}x\na\nb\n");
    assert_eq!(
        one(&["-a\n", "+\u{feff}x\n", " b\n"]).on(old),
        "\u{feff}x\nb\n"
    );
    assert_eq!(one(&["-\u{feff}a\n", "+x\n", " b\n"]).on(old), "x\nb\n");
    assert_eq!(
        one(&["-\u{feff}a\n", "+\u{feff}x\n", " b\n"]).on("a\r\nb\r\n"),
        "x\r\nb\r\n"
    );
    one(&["-\u{feff}a\n"]).missing(Tiers::DEFAULT, "b\na\n", "not there");
    assert_eq!(
        Plan::default().insert(0, "x\n").on(old),
        "\u{feff}x\na\nb\n"
    );
    assert_eq!(
        Plan::default().insert(0, "x\n").text(Tiers::EXACT, old),
        "x\n\u{feff}a\nb\n"
    );
    assert_eq!(
        Plan::default().insert(0, "x\n").on("\u{feff}"),
        "\u{feff}x\n"
    );
}

#[test]
fn lines_may_be_further_in_or_out_only_when_asked() {
    let old = "fn f() {\n\tif a {\n\t\tb();\n\n\t\tc();\n\t}\n}\n";
    let plan = one(&[" b();\n", " \n", "-c();\n", "+c(1);\n", "+\n", "+\td();\n"]);
    plan.missing(Tiers::DEFAULT, old, "nearest is line 3");
    assert_eq!(
        plan.text(INDENTATION, old),
        "fn f() {\n\tif a {\n\t\tb();\n\n\t\tc(1);\n\n\t\t\td();\n\t}\n}\n"
    );
    let out = one(&["-        b\n", "+        B\n", "+            c\n"]);
    assert_eq!(out.text(INDENTATION, "a\n    b\n"), "a\n    B\n        c\n");
    one(&["-    b\n", "+B\n"]).missing(INDENTATION, "b\n", "not there");
    one(&["-  a\n", "-  b\n"]).missing(INDENTATION, "a\n  b\n", "nearest is line 1");
    // What comes flush left, where nothing is shifted, stays so.
    assert_eq!(one(&["-  a\n", "+b\n"]).text(INDENTATION, "  a\n"), "b\n");
}

#[test]
fn punctuation_is_of_one_kind_only_when_asked() {
    let old = "it\u{2019}s\u{3000}a \u{2212} b\nc\n";
    let plan = one(&[" it's a - b\n", "-c\n", "+d\n"]);
    plan.missing(Tiers::DEFAULT, old, "column 3, the file has `U+2019s");
    assert_eq!(
        plan.text(PUNCTUATION, old),
        "it\u{2019}s\u{3000}a \u{2212} b\nd\n"
    );
}

#[test]
fn several_places_are_refused_with_their_lines() {
    let plan = one(&["-x = 1\n", "+x = 2\n"]);
    plan.missing(
        Tiers::DEFAULT,
        "x = 1\nfoo\nx = 1\n",
        "2 times (exact), and must be once: lines 1 and 3",
    );
    plan.missing(
        Tiers::DEFAULT,
        "x = 1 \nx = 1\t\n",
        "2 times (trailing-blanks)",
    );
    plan.missing(INDENTATION, "  x = 1\n    x = 1\n", "2 times (indentation)");
    let many = "x = 1\n".repeat(12);
    plan.missing(
        Tiers::DEFAULT,
        many,
        "12 times (exact), and must be once: lines 1, 2, 3, 4, 5, 6, 7, 8, …",
    );
    // Lines that overlap are two places too.
    one(&["-x\n", "-x\n"]).missing(Tiers::DEFAULT, "x\nx\nx\n", "lines 1 and 2");
    // Two look-alikes after a first tier that misses are no reason to take either.
    one(&["-a\n", "+b\n"]).missing(Tiers::DEFAULT, "a \r\na\t\n", "lines 1 and 2");
    // The first tier decides, though the next would have but one.
    one(&["-a\n"]).missing(
        Tiers::DEFAULT,
        "a\na\na\r\n",
        "(exact), and must be once: lines 1 and 2",
    );
    let miss = plan.miss("b\nx = 1\nx = 1\n");
    assert_eq!(miss.near, Some(lines_of(1, 3)));
}

#[test]
fn leads_narrow() {
    let old = "class A:\n  def f():\n    x\nclass B:\n  def f():\n    x\n";
    let lines = ["-    x\n", "+    y\n"];
    let mut order = hunk(&lines);
    order.after = &["class B:"];
    let plan = Plan::default().hunk(&order);
    assert_eq!(
        plan.on(old),
        old.replace("B:\n  def f():\n    x", "B:\n  def f():\n    y")
    );
    // Blanks around them and terminators do not count.
    order.after = &["class B:", "def f():  "];
    let plan = Plan::default().hunk(&order);
    assert_eq!(
        plan.on(old.replace('\n', "\r\n")).matches("y\r\n").count(),
        1
    );
    order.after = &["class A:"];
    Plan::default()
        .hunk(&order)
        .missing(Tiers::DEFAULT, old, "lines 3 and 6");
    order.after = &["class C:"];
    Plan::default()
        .hunk(&order)
        .missing(Tiers::DEFAULT, old, "`class C:`, is not there");
    order.after = &["class B:", "class A:"];
    Plan::default()
        .hunk(&order)
        .missing(Tiers::DEFAULT, old, "`class A:`, is not after line 4");
    let lines = ["-class A:\n"];
    let mut order = hunk(&lines);
    order.after = &["class B:"];
    Plan::default()
        .hunk(&order)
        .missing(Tiers::DEFAULT, old, "it is at line 1 (exact), not after");
}

#[test]
fn edges_narrow() {
    let lines = ["-a\n", "+b\n"];
    let with = |edges| {
        let mut order = hunk(&lines);
        order.edges = edges;
        Plan::default().hunk(&order)
    };
    let old = "a\nx\na\n";
    assert_eq!(with(Edges::Start).on(old), "b\nx\na\n");
    assert_eq!(with(Edges::End).on(old), "a\nx\nb\n");
    assert_eq!(with(Edges::Both).on("a\n"), "b\n");
    with(Edges::Both).missing(Tiers::DEFAULT, old, "not the whole file");
    with(Edges::Start).missing(
        Tiers::DEFAULT,
        "x\na\n",
        "line 2 (exact), not at the beginning",
    );
    with(Edges::End).missing(Tiers::DEFAULT, "a\nx\n", "not at the end");
    with(Edges::Free).missing(Tiers::DEFAULT, old, "2 times");
}

#[test]
fn a_line_number_takes_one_of_several_and_is_never_more() {
    let lines = ["-a\n", "+b\n"];
    let at = |line| {
        let mut order = hunk(&lines);
        order.line = Some(line);
        Plan::default().hunk(&order)
    };
    assert_eq!(at(3).on("a\nx\na\n"), "a\nx\nb\n");
    at(2).missing(Tiers::DEFAULT, "a\nx\na\n", "2 times");
    assert_eq!(at(9).on("x\na\n"), "x\nb\n");
    at(1).missing(Tiers::DEFAULT, "x\n", "not there");
    at(0).missing(Tiers::DEFAULT, "a\na\n", "2 times");
    at(u64::MAX).missing(Tiers::DEFAULT, "a\na\n", "2 times");
    // Only among places of the first tier.
    at(2).missing(Tiers::DEFAULT, "a\na \na\n", "lines 1 and 3");
}

#[test]
fn the_order_of_blocks_narrows() {
    let first = ["-m\n", "+n\n", " a\n"];
    let second = ["-a\n", "+b\n"];
    let plan = Plan::default().hunk(&hunk(&first)).hunk(&hunk(&second));
    let old = "a\nm\na\n";
    assert_eq!(plan.on(old), "a\nn\nb\n");
    plan.missing(
        Tiers::DEFAULT,
        "a\nm\na\na\n",
        "edit 2: it is there 3 times",
    );
    // One place is meant, wherever it is.
    assert_eq!(plan.on("m\na\n"), "n\nb\n");
    let back = Plan::default()
        .hunk(&hunk(&second))
        .hunk(&hunk(&["-m\n", "+n\n"]));
    assert_eq!(back.on("m\na\n"), "n\nb\n");
}

#[test]
fn lines_that_only_come_need_a_place() {
    let lines = ["+x\n"];
    let with = |after, line, edges| {
        let order = Lines {
            after,
            line,
            edges,
            lines: &lines,
        };
        Plan::default().hunk(&order)
    };
    let old = "a\nb\na\nc\n";
    with(&[], None, Edges::Free).missing(Tiers::DEFAULT, old, "nothing says where");
    assert_eq!(with(&[], None, Edges::Start).on(old), "x\na\nb\na\nc\n");
    assert_eq!(with(&[], None, Edges::End).on(old), "a\nb\na\nc\nx\n");
    assert_eq!(with(&[], None, Edges::End).on("a\r\nb"), "a\r\nb\r\nx");
    assert_eq!(with(&[], None, Edges::Both).on(""), "x\n");
    with(&[], None, Edges::Both).missing(Tiers::DEFAULT, old, "not empty");
    assert_eq!(with(&[], Some(2), Edges::Free).on(old), "a\nx\nb\na\nc\n");
    assert_eq!(with(&[], Some(5), Edges::End).on(old), "a\nb\na\nc\nx\n");
    with(&[], Some(2), Edges::End).missing(Tiers::DEFAULT, old, "not the end");
    for line in [0, 6, u64::MAX] {
        let miss = with(&[], Some(line), Edges::Free).miss(old);
        assert_eq!(miss.code, Code::OutOfRange);
        assert!(miss.note.contains("has 4 lines"), "{miss:?}");
    }
    assert_eq!(with(&["b"], None, Edges::Free).on(old), "a\nb\nx\na\nc\n");
    assert_eq!(
        with(&["b", "a"], None, Edges::Free).on(old),
        "a\nb\na\nx\nc\n"
    );
    with(&["a"], None, Edges::Free).missing(
        Tiers::DEFAULT,
        old,
        "2 times, and must be once: lines 1 and 3",
    );
    with(&["b"], None, Edges::End).missing(Tiers::DEFAULT, old, "not the end");
}

#[test]
fn what_changes_may_not_overlap_and_what_stays_may() {
    let plan = one(&[" a\n", "-b\n", "+B\n", " c\n"]).hunk(&hunk(&[" c\n", "-d\n", "+D\n"]));
    assert_eq!(plan.on("a\nb\nc\nd\n"), "a\nB\nc\nD\n");
    let plan = one(&[" a\n", "-b\n"]).hunk(&hunk(&["-a\n", " b\n"]));
    assert_eq!(plan.on("a\nb\nc\n"), "c\n");
    let miss = one(&["-a\n", "-b\n"])
        .hunk(&hunk(&["-b\n", "-c\n"]))
        .miss("a\nb\nc\n");
    assert_eq!(miss.code, Code::Collision);
    assert!(
        miss.note.contains("edit 2") && miss.note.contains("edit 1"),
        "{miss:?}"
    );
    assert_eq!(miss.edit, 1);
    // What changes nothing is in nobody's way.
    let plan = one(&["-a\n", "-b\n"]).hunk(&hunk(&[" b\n", " c\n"]));
    assert_eq!(plan.on("a\nb\nc\n"), "c\n");
    // Into the middle of what goes.
    let miss = one(&["-a\n", "-b\n"]).insert(1, "x\n").miss("a\nb\nc\n");
    assert_eq!(miss.code, Code::Collision);
    // At its edges is beside it.
    let plan = one(&["-b\n", "+B\n"]).insert(1, "x\n").insert(2, "y\n");
    assert_eq!(plan.on("a\nb\nc\n"), "a\nx\nB\ny\nc\n");
    // Several at one place keep their order.
    let plan = Plan::default()
        .insert(1, "x\n")
        .insert(1, "y\n")
        .insert(1, "z\n");
    assert_eq!(plan.on("a\nb\n"), "a\nx\ny\nz\nb\n");
    assert_eq!(plan.on("a"), "a\nx\ny\nz");
}

#[test]
fn each_run_of_changes_is_told() {
    let plan = one(&[
        "-a\n", " b\n", "+x\n", "+y\n", " c\n", "-d\n", "-e\n", "+z\n",
    ]);
    let edited = plan.by(Tiers::DEFAULT, "0\na\nb\nc\nd\ne\n").unwrap();
    assert_eq!(edited.bytes, b"0\nb\nx\ny\nc\nz\n");
    let lines: Vec<_> = edited.places.iter().map(|p| (p.old, p.new)).collect();
    assert_eq!(
        lines,
        [
            (lines_of(2, 1), lines_of(2, 0)),
            (lines_of(4, 0), lines_of(3, 2)),
            (lines_of(5, 2), lines_of(6, 1)),
        ]
    );
    // What changes nothing is told where it is.
    let edited = one(&[" b\n"]).by(Tiers::DEFAULT, "a\nb\n").unwrap();
    assert_eq!(edited.bytes, b"a\nb\n");
    assert_eq!(edited.places[0].old, lines_of(2, 0));
    let miss = one(&[]).miss("a\n");
    assert_eq!(miss.code, Code::OutOfRange);
}

#[test]
fn the_nearest_place_is_told() {
    let old = "a\nb\nc\n\na\nb\nx\n";
    let plan = one(&[" a\n", " b\n", "-d\n"]);
    plan.missing(
        Tiers::DEFAULT,
        old,
        "nearest is line 1, but at line 3, column 1, the file has `c` and the edit `d`",
    );
    one(&[" a\n", " b\n", " x\n", "-d\n"]).missing(
        Tiers::DEFAULT,
        old,
        "nearest is line 5, but the file ends before its line 4",
    );
    one(&["-secrets\n"]).missing(Tiers::DEFAULT, old, "nor is its first line: `secrets`");
    let miss = plan.miss(old);
    assert_eq!(miss.near, Some(lines_of(1, 7)));
    // And by which tier it would be there.
    assert!(!miss.note.contains("it is there"), "{miss:?}");
    one(&["-  a\n"]).missing(Tiers::DEFAULT, "a\n", "; by `indentation` it is there");
    one(&["-'\n"]).missing(
        Tiers::DEFAULT,
        "\u{2019}\n",
        "; by `punctuation` it is there",
    );
    one(&["-a\n"]).missing(Tiers::EXACT, "a \n", "; by `trailing-blanks` it is there");
    let long = format!("-{}x\n", "\u{2019}".repeat(60));
    let short = format!("{}x\n", "'".repeat(60));
    let plan = one(&["-nowhere\n"; 2]).hunk(&hunk(&[&long]));
    plan.missing(Tiers::DEFAULT, &short, "edit 1: ");
    let plan = one(&["+x\n", " '\n"]).hunk(&hunk(&[&long]));
    plan.missing(
        Tiers::DEFAULT,
        format!("'\n{short}"),
        "; by `punctuation` it is there",
    );
}
