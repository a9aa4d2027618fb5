//! Texts for texts.

use super::{Count, INDENTATION, PUNCTUATION, Plan, Tier, Tiers, lines_of};
use portcullis_protocol::refusal::Code;

fn one(old: &str, new: &str) -> Plan {
    Plan::default().replace(old, new)
}

#[test]
fn a_text_is_replaced_within_its_line() {
    assert_eq!(one("b", "B").on("a b c\nd\n"), "a B c\nd\n");
    let edited = one("b", "x\ny")
        .by(Tiers::DEFAULT, "a\na b c\nd\n")
        .unwrap();
    assert_eq!(edited.bytes, b"a\na x\ny c\nd\n");
    assert_eq!(edited.places[0].old, lines_of(2, 1));
    assert_eq!(edited.places[0].new, lines_of(2, 2));
}

#[test]
fn what_is_put_is_put_as_it_is() {
    assert_eq!(one("a", "$&$1$$\\1").on("a\n"), "$&$1$$\\1\n");
    assert_eq!(one("a", "“a” ‘b’ &lt;").on("a\n"), "“a” ‘b’ &lt;\n");
    assert_eq!(one("“a”", "“b”").on("x “a” y"), "x “b” y");
    assert_eq!(one("one  \n", "two  \n").on("one  \nx\n"), "two  \nx\n");
}

#[test]
fn terminators_of_the_file_stay() {
    assert_eq!(one("b", "B").on("a\r\nb\r\n"), "a\r\nB\r\n");
    assert_eq!(one("a\nb", "A\nx\nB").on("a\r\nb\r\n"), "A\r\nx\r\nB\r\n");
    assert_eq!(one("a\r\nb", "A\r\nB").on("a\nb\n"), "A\nB\n");
    // Of the lines they replace, one by one.
    assert_eq!(
        one("a\nb\nc", "x\ny\nz").on("a\r\nb\nc\r\n"),
        "x\r\ny\nz\r\n"
    );
    // Bare newlines are those of the line; what is spelled is meant.
    assert_eq!(one("b", "x\ny").on("a\nb\r\nc\n"), "a\nx\r\ny\r\nc\n");
    assert_eq!(one("b", "x\r\ny").on("a\nb\nc\n"), "a\nx\r\ny\nc\n");
    assert_eq!(one("b", "x\ny").on("a\r\nb"), "a\r\nx\r\ny");
}

#[test]
fn a_text_that_begins_with_a_newline_does_not_split_crlf() {
    assert_eq!(one("\nb", "\nx\nb").on("a\r\nb\r\n"), "a\r\nx\r\nb\r\n");
    assert_eq!(
        one("\nb", "\nx\nb").text(Tiers::EXACT, "a\r\nb\r\n"),
        "a\r\nx\nb\r\n"
    );
    let all = Plan::default().replace_some("\n", "\r\n", Count::All);
    assert_eq!(all.on("a\nb\r\nc\n"), "a\r\nb\r\nc\r\n");
    let all = Plan::default().replace_some("\r\n", "\n", Count::All);
    assert_eq!(all.on("a\nb\r\nc\r\n"), "a\nb\nc\n");
}

#[test]
fn the_end_of_the_file_stays() {
    assert_eq!(one("a", "A").on("a\nb"), "A\nb");
    assert_eq!(one("b\n", "B\n").on("a\nb"), "a\nB");
    assert_eq!(one("b\n", "B\nC\n").on("a\r\nb"), "a\r\nB\r\nC");
    assert_eq!(one("b\n", "").on("a\nb"), "a\n");
    // Said to the letter, it is meant.
    assert_eq!(one("b", "B\n").on("a\nb"), "a\nB\n");
    assert_eq!(one("b\n", "B").on("a\nb\n"), "a\nB");
}

#[test]
fn a_byte_order_mark_stays_where_it_is() {
    assert_eq!(one("x=1\n", "x=2\n").on("\u{feff}x=1\n"), "\u{feff}x=2\n");
    assert_eq!(one("\u{feff}x=1\n", "x=2\n").on("\u{feff}x=1\n"), "x=2\n");
    assert_eq!(
        one("\u{feff}x=1\ny", "\u{feff}x=2\ny").on("\u{feff}x=1\r\ny\r\n"),
        "\u{feff}x=2\r\ny\r\n"
    );
    // A text with a mark is at the beginning of the file, whether that has one or not.
    assert_eq!(one("\u{feff}x", "\u{feff}y").on("x\nx\n"), "y\nx\n");
    one("\u{feff}x", "y").missing(Tiers::DEFAULT, "a\nx\n", "not there");
}

#[test]
fn bytes_that_are_no_utf8_stay() {
    let old = b"const x = 1;\n// caf\xe9 note\n";
    assert_eq!(one("1", "2").on(old), "const x = 2;\n// caf\\xE9 note\n");
    let old = b"# \x83\x5c\x83\x8a\nname = 1\r\n\x95\x5c\n";
    let plan = Plan::default().replace("name = 1\n", "name = 2\n");
    assert_eq!(
        plan.by(Tiers::DEFAULT, old).unwrap().bytes,
        b"# \x83\x5c\x83\x8a\nname = 2\r\n\x95\x5c\n"
    );
    let plan = Plan::default().replace(b"caf\xe9", b"th\xe9");
    assert_eq!(plan.on(b"a caf\xe9\n"), "a th\\xE9\n");
}

#[test]
fn blanks_at_the_ends_of_lines_do_not_count() {
    let old = "untouched   \nreplace me   \nafter\t\nlast  \n";
    let plan = one("replace me\nafter", "done\nAFTER");
    assert_eq!(plan.tier(Tiers::DEFAULT, old), Tier::TrailingBlanks);
    assert_eq!(plan.on(old), "untouched   \ndone\nAFTER\t\nlast  \n");
    // Nor those of the text.
    assert_eq!(one("a  \nb", "A\nB").on("a\nb\n"), "A\nB\n");
    assert_eq!(one("x = 1;  ", "x = 2;").on("x = 1;\t\ny\n"), "x = 2;\ny\n");
    assert_eq!(one("b  ", "B").on("a\nb"), "a\nB");
    // Blanks that begin a line are no end of one.
    assert_eq!(one("a\n  ", "A\n    ").on("a \n  b\n"), "A\n    b\n");
    // What is nothing but blanks is not everywhere.
    one("  \n", "x").missing(Tiers::DEFAULT, "a\nb\n", "not there");
}

#[test]
fn lines_may_be_further_in_or_out_only_when_asked() {
    let old = "if a:\n    b()\n    if c:\n        d()\n";
    let plan = one("b()\nif c:\n    d()\n", "B()\nif C:\n    D()\n\n");
    plan.missing(Tiers::DEFAULT, old, "nearest is line 2");
    assert_eq!(plan.tier(INDENTATION, old), Tier::Indentation);
    assert_eq!(
        plan.text(INDENTATION, old),
        "if a:\n    B()\n    if C:\n        D()\n\n"
    );
    let out = one("\t\tx\n\t\ty", "\t\tX\n\t\t\tz\n\t\tY");
    assert_eq!(
        out.text(INDENTATION, "a\n\tx\n\ty  \n"),
        "a\n\tX\n\t\tz\n\tY  \n"
    );
    // A line that comes cannot be further out than the edge.
    one("\t\tx\n\t\ty", "\t\tX\nY").missing(INDENTATION, "a\n\tx\n\ty\n", "not there");
    // Two shifts are none.
    one("x\ny", "X\nY").missing(INDENTATION, "  x\n    y\n", "nearest is line 1");
    // Nor are blanks of two kinds.
    one("    x\n    y", "X").missing(INDENTATION, "\tx\n\ty\n", "`\\tx`");
}

#[test]
fn punctuation_is_of_one_kind_only_when_asked() {
    let old = "a\u{a0}= \u{2018}b\u{2019} \u{2014} c;  \nd\n";
    let plan = one("= 'b' - c;\nd", "= 1;\nD");
    plan.missing(Tiers::DEFAULT, old, "nearest is line 1");
    assert_eq!(plan.tier(PUNCTUATION, old), Tier::Punctuation);
    assert_eq!(plan.text(PUNCTUATION, old), "a\u{a0}= 1;\nD\n");
    let plan = one("\u{201c}x\u{201d}", "\u{201c}y\u{201d}");
    assert_eq!(
        plan.text(PUNCTUATION, "say \"x\"\n"),
        "say \u{201c}y\u{201d}\n"
    );
}

#[test]
fn a_text_must_be_as_often_there_as_it_is_said() {
    one("x = 1", "y").missing(
        Tiers::DEFAULT,
        "x = 1\nfoo\nx = 1\n",
        "2 times (exact), and must be once: lines 1 and 3",
    );
    let two = Plan::default().replace_some("x", "y", Count::Exactly(2));
    assert_eq!(two.on("x x\n"), "y y\n");
    two.missing(
        Tiers::DEFAULT,
        "x\n",
        "once (exact), and must be 2 times: line 1",
    );
    two.missing(Tiers::DEFAULT, "x x x\n", "3 times");
    let all = Plan::default().replace_some("aa", "b", Count::All);
    assert_eq!(all.on("aaa aaaa\n"), "ba bb\n");
    all.missing(Tiers::DEFAULT, "x\n", "not there");
    // Which of two that overlap is meant would be a guess.
    one("aa", "b").missing(Tiers::DEFAULT, "aaa\n", "overlap");
    one("x\nx\n", "y\n").missing(Tiers::DEFAULT, "x\nx\nx\n", "overlap");
}

#[test]
fn the_first_tier_where_it_is_decides() {
    // Twice exactly; once more would be found with other terminators.
    one("a\nb", "x").missing(Tiers::DEFAULT, "a\nb\na\nb\n", "(exact)");
    one("a\nb", "x").missing(
        Tiers::DEFAULT,
        "a\r\nb\na\r\nb\n",
        "(terminators), and must be once: lines 1 and 3",
    );
    one("a\nb", "x").missing(Tiers::DEFAULT, "a \nb\na \nb\n", "(trailing-blanks)");
    one("a\nb\n", "x\n").missing(INDENTATION, " a\n b\n  a\n  b\n", "(indentation)");
    one("'a'", "x").missing(
        PUNCTUATION,
        "\u{2018}a\u{2019} \u{2018}a\u{2019}\n",
        "(punctuation)",
    );
    // Once exactly, however often by a later one.
    assert_eq!(
        one("a\nb", "x").on("a\r\nb\na\nb\na \nb\n"),
        "a\r\nb\nx\na \nb\n"
    );
}

#[test]
fn a_text_that_is_empty_is_refused() {
    let miss = one("", "x").miss("a\n");
    assert_eq!(miss.code, Code::OutOfRange);
    assert!(miss.note.contains("empty"), "{miss:?}");
    assert_eq!(one("", "x").miss("").code, Code::OutOfRange);
}

#[test]
fn edits_are_found_in_the_file_as_it_is() {
    let plan = one("a", "b").replace("b", "a");
    assert_eq!(plan.on("a b\n"), "b a\n");
    let miss = one("a b", "x").replace("b c", "y").miss("a b c\n");
    assert_eq!((miss.code, miss.edit), (Code::Collision, 1));
    assert!(
        miss.note
            .starts_with("edit 2: it changes what edit 1 changes"),
        "{miss:?}"
    );
    // Side by side is not one in the other.
    assert_eq!(one("a ", "x").replace("b", "y").on("a b\n"), "xy\n");
}

#[test]
fn lines_are_told_as_they_were_and_are() {
    let plan = one("b\n", "x\ny\n").replace("d", "").replace("f\ng", "f g");
    let edited = plan.by(Tiers::DEFAULT, "a\nb\nc\nd\ne\nf\ng\nh\n").unwrap();
    assert_eq!(edited.bytes, b"a\nx\ny\nc\n\ne\nf g\nh\n");
    let lines: Vec<_> = edited.places.iter().map(|p| (p.old, p.new)).collect();
    assert_eq!(
        lines,
        [
            (lines_of(2, 1), lines_of(2, 2)),
            (lines_of(4, 1), lines_of(5, 1)),
            (lines_of(6, 2), lines_of(7, 1)),
        ]
    );
    // One that would be joined, but for what is put between.
    let plan = one("\nb\n", "").insert(2, "x\n");
    let edited = plan.by(Tiers::DEFAULT, "a\nb\nc\n").unwrap();
    assert_eq!(edited.bytes, b"a\nx\nc\n");
    let lines: Vec<_> = edited.places.iter().map(|p| (p.old, p.new)).collect();
    assert_eq!(
        lines,
        [
            (lines_of(1, 2), lines_of(1, 1)),
            (lines_of(3, 0), lines_of(2, 1)),
        ]
    );
    // A line that is joined to the next one is told with it.
    let edited = one("\n", " ").by(Tiers::DEFAULT, "a\nb").unwrap();
    assert_eq!(edited.places[0].old, lines_of(1, 2));
    assert_eq!(edited.places[0].new, lines_of(1, 1));
}

#[test]
fn what_differs_is_made_visible() {
    let miss = one("if x:\n    return 1\n", "x").miss("a\nif x:\n\treturn 1\n");
    assert!(miss.note.contains("nearest is line 2"), "{miss:?}");
    assert!(
        miss.note.contains(
            "at line 3, column 1, the file has `\\treturn 1` and the edit `    return 1`"
        ),
        "{miss:?}"
    );
    let near = miss.near.unwrap();
    assert_eq!((near.first, near.count), (1, 3));
    let miss = one("foo(a, b)", "x").miss("y\nz = foo(a,\u{a0}b)\n");
    assert!(
        miss.note
            .contains("line 2, column 11, the file has `U+00A0b)`"),
        "{miss:?}"
    );
    let miss = one("foo(a, b)", "x").miss("y\nz = foo(a,b)\n");
    assert!(
        miss.note
            .contains("column 11, the file has `b)` and the edit ` b)`"),
        "{miss:?}"
    );
    let plan = one("a\nb", "x");
    plan.missing(
        Tiers::EXACT,
        "a\r\nb\r\n",
        "line 1, column 2, the file has `\\r\\n` and the edit `\\n`",
    );
    one("f(“a”)", "x").missing(
        Tiers::DEFAULT,
        "f(\"a\")\n",
        "; by `punctuation` it is there",
    );
    let miss = one("a\nb", "x").replace("q", "r").miss("x\n");
    assert!(miss.note.starts_with("edit 1: it is not there"), "{miss:?}");
    // Nothing of the file is told when nothing of the text is there.
    let miss = one("zzz", "x").miss("secret\n");
    assert!(
        !miss.note.contains("secret") && miss.near.is_none(),
        "{miss:?}"
    );
}
