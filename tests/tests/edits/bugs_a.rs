//! What users of other editors reported, part A: line ends, byte order marks, encodings, exact
//! bytes. Rows bear the numbers of the table of reports.
//!
//! | row | report | test |
//! |---|---|---|
//! | 1 | mixed line ends after edits of a CRLF file | `row_01_*` |
//! | 2 | a new file with the line ends somebody wants | `row_02_*`: bytes are taken as they are given, or with the ends that `--eol` names; lines put into a file take that file's ends |
//! | 3 | mixed line ends break the application's undo | `row_03_*`: the difference, turned round, restores every byte |
//! | 4 | an edit gives mixed line ends | `row_04_*` |
//! | 5 | CRLF text is not found, or converted | `row_05_*` |
//! | 6 | a byte order mark stops a match on line 1 | `row_06_*` |
//! | 8 | a foreign byte becomes U+FFFD | `row_08_*` |
//! | 9 | a Shift-JIS file is destroyed | `row_09_*` |
//! | 11 | curly quotes are replaced by straight ones | `row_11_*` |
//! | 12 | `&lt;` is decoded in written text | `row_12_*` |
//! | 13 | two trailing blanks are stripped | `row_13_*` |
//! | 14 | `$` patterns in new text are expanded | `row_14_*` |
//! | 15 | a last newline is forced | `row_15_*` |
//! | 17 | one loose match normalises the whole file, and the difference hides it | `row_17_*` |
//! | 18 | a file is reformatted though the edit failed | `row_18_*` |
//!
//! The table has no rows 7, 10 and 16.

use crate::desk::{Desk, at, edits, not_done, one, out, patched, replace, v4a};
use portcullis_client::change::{self, Count, TextEdit};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Tier;

/// The same change of one line, `old` to `new`, in each way there is to say it.
fn ways(old: &str, new: &str) -> Vec<(&'static str, portcullis_client::Changes)> {
    let lines = |text: &str| format!("{text}\n");
    vec![
        ("replace", one(change::replace(at("f"), old, new))),
        (
            "replace the line",
            one(change::replace(at("f"), lines(old), lines(new))),
        ),
        (
            "v4a",
            v4a(&format!("*** Update File: f\n@@\n-{old}\n+{new}")),
        ),
        (
            "unified",
            patched(format!(
                "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-{old}\n+{new}\n"
            )),
        ),
    ]
}

/// One line of a file is changed, in each way, and nothing else of it.
#[track_caller]
fn every_way(before: &[u8], (old, new): (&str, &str), after: &[u8]) {
    for (way, changes) in ways(old, new) {
        let mut desk = Desk::new(&[("f", before)]);
        desk.done(&changes);
        let is = desk.bytes("f").escape_ascii().to_string();
        assert_eq!(is, after.escape_ascii().to_string(), "{way}");
    }
}

#[test]
fn row_01_one_line_of_a_crlf_file_is_changed_and_every_terminator_kept() {
    every_way(b"a\r\nb\r\n", ("b", "B"), b"a\r\nB\r\n");
    every_way(b"a\r\nb\r\nc", ("a", "A"), b"A\r\nb\r\nc");
    // In a file that is mixed already, the line keeps its own.
    every_way(b"a\nb\r\nc\n", ("b", "B"), b"a\nB\r\nc\n");
    every_way(b"a\r\nb\nc\r\n", ("b", "B"), b"a\r\nB\nc\r\n");
}

#[test]
fn row_02_a_new_file_is_the_bytes_that_were_given_and_new_lines_take_the_ends_of_their_file() {
    let mut desk = Desk::new(&[("old.bat", b"@echo off\r\n")]);
    desk.done(&one(change::create(at("x.bat"), "@echo off\r\nrem\r\n")));
    desk.is("x.bat", "@echo off\r\nrem\r\n");
    desk.done(&one(change::create(at("x.sh"), "#!/bin/sh\n:\n")));
    desk.is("x.sh", "#!/bin/sh\n:\n");
    desk.done(&v4a("*** Update File: old.bat\n@@\n @echo off\n+rem"));
    desk.is("old.bat", "@echo off\r\nrem\r\n");
    let insert = TextEdit::Insert {
        line: 1,
        text: b"echo 1\necho 2\n".to_vec(),
    };
    desk.done(&one(edits("old.bat", vec![insert])));
    desk.is("old.bat", "@echo off\r\necho 1\r\necho 2\r\nrem\r\n");
    // A file that is written whole is not the file it was: its bytes are those that were given.
    desk.done(&one(change::write(at("old.bat"), "rem\n")));
    desk.is("old.bat", "rem\n");
}

#[test]
fn row_02_a_new_file_gets_the_line_ends_that_are_asked_for_and_keeps_them_when_it_is_edited() {
    let mut desk = Desk::new(&[("old.sh", b":\n")]);
    out(&desk.tool("\"$T\" write x.bat --eol crlf", b"@echo off\nrem\r\nend"));
    desk.is("x.bat", "@echo off\r\nrem\r\nend");
    out(&desk.tool("\"$T\" write x.sh --eol lf", b"#!/bin/sh\r\n:\n"));
    desk.is("x.sh", "#!/bin/sh\n:\n");
    // Larger than one request, and asked for by a patch.
    let many = "a line of many\n".repeat(20_000);
    out(&desk.tool("\"$T\" write many.bat --eol crlf", many.as_bytes()));
    desk.is("many.bat", many.replace('\n', "\r\n"));
    let patch = b"*** Begin Patch\n*** Add File: y.bat\n+one\n+two\n*** Update File: old.sh\n@@\n-:\n+true\n*** End Patch\n";
    out(&desk.tool("\"$T\" patch --eol crlf", patch));
    desk.is("y.bat", "one\r\ntwo\r\n");
    desk.is("old.sh", "true\n");
    // Nobody has to say it again.
    desk.done(&v4a("*** Update File: y.bat\n@@\n one\n+more"));
    out(&desk.tool("\"$T\" edit x.bat --old rem --new 'rem 1\nrem 2'", b""));
    desk.is("y.bat", "one\r\nmore\r\ntwo\r\n");
    let before = desk.census();
    let (code, said) = not_done(&desk.tool("\"$T\" write z.bin --eol crlf", b"MZ\n\0"));
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("zero byte at offset 3") && said.contains("--eol"),
        "{said}"
    );
    assert_eq!(desk.census(), before);
}

#[test]
fn row_03_a_difference_turned_round_restores_every_byte() {
    let before: &[u8] = b"one\r\ntwo\nthree\r\nfour";
    for (way, changes) in ways("two", "2") {
        let mut desk = Desk::new(&[("f", before)]);
        let (_, diff) = desk.plan(&changes);
        desk.done(&changes);
        desk.is("f", b"one\r\n2\nthree\r\nfour");
        desk.done(&patched(turned_round(&diff)));
        let is = desk.bytes("f").escape_ascii().to_string();
        assert_eq!(is, before.escape_ascii().to_string(), "{way}");
    }
}

/// A difference from the new version to the old one.
fn turned_round(diff: &[u8]) -> Vec<u8> {
    let mut headers = Vec::new();
    let mut turned = Vec::new();
    for line in diff.split_inclusive(|byte| *byte == b'\n') {
        let with = |first: &[u8], rest: &[u8]| [first, rest].concat();
        if let Some(rest) = line.strip_prefix(b"--- a/") {
            headers.push(with(b"+++ b/", rest));
        } else if let Some(rest) = line.strip_prefix(b"+++ b/") {
            turned.push(with(b"--- a/", rest));
            turned.append(&mut headers);
        } else if let Some(rest) = line.strip_prefix(b"-") {
            turned.push(with(b"+", rest));
        } else if let Some(rest) = line.strip_prefix(b"+") {
            turned.push(with(b"-", rest));
        } else if let Some(rest) = line.strip_prefix(b"@@ -") {
            let text = std::str::from_utf8(rest).unwrap();
            let (old, rest) = text.split_once(" +").unwrap();
            let (new, rest) = rest.split_once(" @@").unwrap();
            turned.push(format!("@@ -{new} +{old} @@{rest}").into_bytes());
        } else {
            turned.push(line.to_vec());
        }
    }
    turned.concat()
}

#[test]
fn row_04_a_word_in_a_crlf_file_is_changed_and_its_line_keeps_its_end() {
    every_way(b"foo\r\nbar\r\n", ("foo", "FOO"), b"FOO\r\nbar\r\n");
    let mut desk = Desk::new(&[("f", b"let foo = 1;\r\nbar\r\n")]);
    desk.done(&one(change::replace(at("f"), "foo", "FOO")));
    desk.is("f", b"let FOO = 1;\r\nbar\r\n");
}

#[test]
fn row_05_several_lines_with_plain_newlines_match_a_crlf_file_and_become_crlf() {
    let before: &[u8] = b"a\r\nb\r\nc\r\nd\r\n";
    let after: &[u8] = b"a\r\nB\r\nBB\r\nC\r\nd\r\n";
    for changes in [
        one(change::replace(at("f"), "b\nc", "B\nBB\nC")),
        one(change::replace(at("f"), "b\nc\n", "B\nBB\nC\n")),
        v4a("*** Update File: f\n@@\n a\n-b\n-c\n+B\n+BB\n+C\n d"),
        patched("--- a/f\n+++ b/f\n@@ -2,2 +2,3 @@\n-b\n-c\n+B\n+BB\n+C\n"),
    ] {
        let mut desk = Desk::new(&[("f", before)]);
        let (matched, diff) = desk.plan(&changes);
        let tiers: Vec<_> = matched.iter().map(|matched| matched.tier).collect();
        assert_eq!(tiers, [Tier::Terminators], "{changes:?}");
        // A preview is of what will be there, carriage returns and all.
        let shown = diff.escape_ascii().to_string();
        assert!(shown.contains(r"+BB\r\n"), "{shown}");
        desk.done(&changes);
        desk.is("f", after);
    }
    // And the other way round: the text has carriage returns that the file has not.
    let mut desk = Desk::new(&[("f", b"a\nb\nc\n")]);
    desk.done(&one(change::replace(at("f"), "b\r\nc", "B\r\nC")));
    desk.is("f", b"a\nB\nC\n");
}

#[test]
fn row_06_a_byte_order_mark_stops_no_match_and_stays() {
    every_way(b"\xef\xbb\xbfx=1\n", ("x=1", "x=2"), b"\xef\xbb\xbfx=2\n");
    every_way(
        b"\xef\xbb\xbfx=1\r\ny\r\n",
        ("x=1", "x=2"),
        b"\xef\xbb\xbfx=2\r\ny\r\n",
    );
    // A line put before the first one comes after the mark.
    let mut desk = Desk::new(&[("f", b"\xef\xbb\xbfx\n")]);
    let insert = TextEdit::Insert {
        line: 0,
        text: b"w\n".to_vec(),
    };
    desk.done(&one(edits("f", vec![insert])));
    desk.is("f", b"\xef\xbb\xbfw\nx\n");
}

#[test]
fn row_08_a_byte_that_is_no_text_stays_as_it_is() {
    every_way(
        b"const x = 1;\n// caf\xe9 note\n",
        ("const x = 1;", "const x = 2;"),
        b"const x = 2;\n// caf\xe9 note\n",
    );
    // In the very line: what is changed is beside it.
    let mut desk = Desk::new(&[("f", b"caf\xe9 = 1 \xff\n")]);
    desk.done(&one(change::replace(at("f"), "= 1", "= 2")));
    desk.is("f", b"caf\xe9 = 2 \xff\n");
}

#[test]
fn row_09_shift_jis_outside_an_edit_is_unchanged() {
    // Its second bytes are also letters, backslashes and braces.
    let [first, last]: [&[u8]; 2] = [
        b"// \x95\x5c\x8e\xa6 \x83\x7b \x83\x7d\r\n",
        b"// \x94\x5c\x97\xcd\r\n",
    ];
    let text = [first, b"limit = 10\r\n", last].concat();
    let after = [first, b"limit = 11\r\n", last].concat();
    every_way(&text, ("limit = 10", "limit = 11"), &after);
}

#[test]
fn row_11_curly_quotes_stay_curly_and_are_not_straight_ones() {
    every_way(
        "say “a”\n".as_bytes(),
        ("say “a”", "say “b”"),
        "say “b”\n".as_bytes(),
    );
    let straight = one(change::replace(at("f"), "\"a\"", "\"b\""));
    let mut desk = Desk::new(&[("f", "say “a”\n".as_bytes())]);
    desk.refused(&straight, Code::NotUnique);
    // Taken for each other when that is asked for by name; what is put there is as it is given.
    let mut folding = change::replace(at("f"), "\"a\"", "\"b\"");
    folding.tiers = folding.tiers.with(Tier::Punctuation);
    desk.done(&one(folding));
    desk.is("f", "say \"b\"\n");
    desk.done(&one(change::write(at("f"), "‘c’ – d\n")));
    desk.is("f", "‘c’ – d\n");
}

#[test]
fn row_12_what_looks_like_markup_is_written_as_it_is() {
    let mut desk = Desk::new(&[("f", b"x\n")]);
    let text = b"&lt;b&gt; &amp; &#39; %20 \\n\n";
    out(&desk.tool("\"$T\" write g", text));
    desk.is("g", text);
    every_way(b"x\n", ("x", "&lt;b&gt;"), b"&lt;b&gt;\n");
    every_way(b"&lt;b&gt;\n", ("&lt;b&gt;", "<b>"), b"<b>\n");
    // One is not taken for the other.
    desk.write_outside("f", "<b>\n");
    desk.refused(
        &one(change::replace(at("f"), "&lt;b&gt;", "y")),
        Code::NotUnique,
    );
}

#[test]
fn row_13_two_blanks_at_the_end_of_a_line_are_kept_where_they_are_and_where_they_come() {
    every_way(b"one  \ntwo\n", ("two", "two  "), b"one  \ntwo  \n");
    every_way(b"one  \ntwo\n", ("one  ", "1  "), b"1  \ntwo\n");
    let mut desk = Desk::new(&[("f", b"one  \ntwo\t \n")]);
    desk.done(&v4a("*** Update File: f\n@@\n one\n-two\n+2  "));
    desk.is("f", b"one  \n2  \n");
    desk.done(&one(change::create(at("g"), "a  \n\t\n")));
    desk.is("g", "a  \n\t\n");
}

#[test]
fn row_14_new_text_is_no_pattern() {
    for new in ["$&$1$$$`$'", "\\1\\0\\n", "${x}%s{}"] {
        every_way(b"a\nx\n", ("x", new), format!("a\n{new}\n").as_bytes());
    }
    // Nor is old text.
    every_way(b"a.c\nabc\n", ("a.c", "1"), b"1\nabc\n");
    let mut desk = Desk::new(&[("f", b"abc\n")]);
    desk.refused(&one(change::replace(at("f"), "a.c", "x")), Code::NotUnique);
}

#[test]
fn row_15_a_file_without_a_last_newline_stays_without() {
    every_way(b"a\nb", ("a", "A"), b"A\nb");
    every_way(b"a\nb\n", ("b", "B"), b"a\nB\n");
    // The last line itself, by the ways that name it without its end.
    for changes in [
        one(change::replace(at("f"), "b", "B")),
        v4a("*** Update File: f\n@@\n-b\n+B"),
        patched("--- a/f\n+++ b/f\n@@ -2 +2 @@\n-b\n+B\n"),
        patched(
            "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+B\n\\ No newline at end of file\n",
        ),
    ] {
        let mut desk = Desk::new(&[("f", b"a\nb")]);
        desk.done(&changes);
        desk.is("f", b"a\nB");
    }
    // One that is put behind it ends as it did; the one before it is ended.
    let mut desk = Desk::new(&[("f", b"a\r\nb")]);
    desk.done(&v4a("*** Update File: f\n@@\n b\n+c"));
    desk.is("f", b"a\r\nb\r\nc");
    // It goes or comes where the patch says so.
    let mut desk = Desk::new(&[("f", b"a\nb")]);
    desk.done(&patched(
        "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+b\n",
    ));
    desk.is("f", b"a\nb\n");
    desk.done(&patched(
        "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-b\n+b\n\\ No newline at end of file\n",
    ));
    desk.is("f", b"a\nb");
}

#[test]
fn row_17_a_loose_match_changes_the_matched_lines_alone_and_the_difference_shows_it() {
    let before = "untouched   \n“q”\u{a0}\n\tx \nreplace me   \nafter\n";
    let after = "untouched   \n“q”\u{a0}\n\tx \ndone\nafter\n";
    for changes in [
        one(change::replace(at("f"), "replace me\nafter", "done\nafter")),
        v4a("*** Update File: f\n@@\n-replace me\n+done\n after"),
    ] {
        let mut desk = Desk::new(&[("f", before.as_bytes())]);
        let (matched, diff) = desk.plan(&changes);
        let tiers: Vec<_> = matched.iter().map(|matched| matched.tier).collect();
        assert_eq!(tiers, [Tier::TrailingBlanks], "{changes:?}");
        let diff = String::from_utf8(diff).unwrap();
        let changed: Vec<&str> = diff
            .lines()
            .filter(|line| line.starts_with(['-', '+']))
            .filter(|line| !line.starts_with("---") && !line.starts_with("+++"))
            .collect();
        assert_eq!(changed, ["-replace me   ", "+done"], "{diff}");
        desk.done(&changes);
        desk.is("f", after);
    }
}

#[test]
fn row_18_an_edit_that_fails_changes_no_byte_and_no_time() {
    let mut desk = Desk::new(&[("f", b"a  \r\nb\n\n\n\tc"), ("g", b"a\n")]);
    let missing = replace("missing", "x", Count::Exactly(1));
    let good = replace("a", "A", Count::Exactly(1));
    // `refused` compares all there is to say of the tree, times included.
    desk.refused(&one(edits("f", vec![missing.clone()])), Code::NotUnique);
    desk.refused(&one(edits("f", vec![good, missing])), Code::NotUnique);
    desk.refused(
        &v4a("*** Update File: g\n@@\n-a\n+A\n*** Update File: f\n@@\n-zz\n+y"),
        Code::NotUnique,
    );
}
