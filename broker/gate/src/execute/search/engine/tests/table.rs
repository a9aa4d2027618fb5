//! What is asked, and what is told of it.

use super::{CONTENT, Heard, ask, filler, heard, lines};
use crate::execute::search::engine::{End, Nature};
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::session::{
    Binary, Boundaries, Case, LineRole, MultiLine, Search, SearchMode, Sense, Syntax, TextEncoding,
};

fn with(pattern: &str, change: impl FnOnce(&mut Search)) -> Search {
    let mut ask = ask(pattern.as_bytes());
    change(&mut ask);
    ask
}

#[test]
fn patterns_are_read_as_asked() {
    let content = b"fn main() {\n  Foo.bar\n  foo_bar\n  foo\n  FOO\n".as_slice();
    let table: [(Search, &[&str]); 10] = [
        (with("foo", |_| ()), &["=3:3:  foo_bar", "=4:3:  foo"]),
        (with("o.b", |_| ()), &["=2:5:  Foo.bar", "=3:5:  foo_bar"]),
        (
            with("o.b", |ask| ask.syntax = Syntax::Literal),
            &["=2:5:  Foo.bar"],
        ),
        (
            with("() {", |ask| ask.syntax = Syntax::Literal),
            &["=1:8:fn main() {"],
        ),
        (
            with("foo", |ask| ask.boundaries = Boundaries::Word),
            &["=4:3:  foo"],
        ),
        (
            with("  foo", |ask| ask.boundaries = Boundaries::Line),
            &["=4:1:  foo"],
        ),
        (
            with("foo", |ask| ask.case = Case::Insensitive),
            &[
                "=2:3:  Foo.bar",
                "=3:3:  foo_bar",
                "=4:3:  foo",
                "=5:3:  FOO",
            ],
        ),
        (
            with("foo$", |ask| ask.case = Case::Smart),
            &["=4:3:  foo", "=5:3:  FOO"],
        ),
        (with("FOO", |ask| ask.case = Case::Smart), &["=5:3:  FOO"]),
        (with("(?i)oo$", |_| ()), &["=4:4:  foo", "=5:4:  FOO"]),
    ];
    for (ask, told) in table {
        assert_eq!(lines(&ask, content), told, "{:?}", ask.pattern);
    }
}

#[test]
fn literals_that_are_not_utf8_are_found() {
    let content = b"a\xE4A\n\xE4a\xFF\n".as_slice();
    let found = |pattern: &[u8], case| {
        let mut ask = ask(pattern);
        ask.syntax = Syntax::Literal;
        ask.case = case;
        heard(&ask, content).1.lines
    };
    assert_eq!(found(b"\xE4a", Case::Sensitive), 1);
    assert_eq!(found(b"\xE4a", Case::Insensitive), 2);
    assert_eq!(found(b"\xE4a", Case::Smart), 2);
    assert_eq!(found(b"\xE4A", Case::Smart), 1);
    assert_eq!(found(b"\xFF", Case::Smart), 1);
}

#[test]
fn anchors_of_the_text_hold_for_each_line() {
    // As in `rg`, which strips each line and matches it alone.
    assert_eq!(lines(&ask(br"\Ab"), b"a\nb\nb\n"), ["=2:1:b", "=3:1:b"]);
    assert_eq!(lines(&ask(br"b\z"), b"a\nb\nb\n"), ["=2:1:b", "=3:1:b"]);
    assert_eq!(lines(&ask(b"^$"), b"a\n\nb\n\n"), ["=2:1:", "=4:1:"]);
}

#[test]
fn context_is_told_once_and_in_order() {
    let content = b"1\n2\nhit 3\n4\nhit 5\n6\n7\n8\nhit 9".as_slice();
    let near = |before, after| {
        let mut ask = ask(b"hit");
        ask.mode = SearchMode::Content { before, after };
        lines(&ask, content)
    };
    assert_eq!(near(0, 0), ["=3:1:hit 3", "=5:1:hit 5", "=9:1:hit 9"]);
    let told = [
        "-2:0:2",
        "=3:1:hit 3",
        "-4:0:4",
        "=5:1:hit 5",
        "-6:0:6",
        "-8:0:8",
        "=9:1:hit 9",
    ];
    assert_eq!(near(1, 1), told);
    assert_eq!(near(50, 50).len(), 9);
}

#[test]
fn lines_over_the_limit_of_a_file_are_counted() {
    let content = b"hit 1\n2\nhit 3\nhit 4\n5\n6\nhit 7\n".as_slice();
    let told = |limit, before, after| {
        let mut ask = ask(b"hit");
        ask.limit_per_file = limit;
        ask.mode = SearchMode::Content { before, after };
        let over = heard(&ask, content).1.over_file_limit;
        (lines(&ask, content), over)
    };
    assert_eq!(told(4, 0, 0).1, 0);
    assert_eq!(told(1, 0, 0), (vec!["=1:1:hit 1".to_owned()], 3));
    // Context after the last is told, and what matches among it as context with its column.
    let (lines, over) = told(1, 2, 3);
    assert_eq!(lines, ["=1:1:hit 1", "-2:0:2", "-3:1:hit 3", "-4:1:hit 4"]);
    assert_eq!(over, 3);
    let (lines, over) = told(3, 1, 1);
    assert_eq!(lines.len(), 5);
    assert_eq!(over, 1);
}

#[test]
fn inverted_lines_have_no_column() {
    let content = b"a\nb\na\n".as_slice();
    let mut ask = with("a", |ask| ask.sense = Sense::Inverted);
    assert_eq!(lines(&ask, content), ["=2:0:b"]);
    ask.mode = SearchMode::Content {
        before: 1,
        after: 0,
    };
    assert_eq!(lines(&ask, content), ["-1:1:a", "=2:0:b"]);
    ask.mode = SearchMode::FilesWithout;
    assert_eq!(heard(&ask, b"a\na").0, [Heard::File]);
}

#[test]
fn files_are_named_and_counted() {
    let in_mode = |mode, content: &[u8]| heard(&with("a", |ask| ask.mode = mode), content).0;
    for filling in [0, 200_000] {
        let mut content = filler(filling);
        assert_eq!(in_mode(SearchMode::FilesWithout, &content), [Heard::File]);
        assert_eq!(in_mode(SearchMode::Files, &content), []);
        assert_eq!(in_mode(SearchMode::Count, &content), []);
        content.extend_from_slice(b"\na a\nb\na");
        assert_eq!(in_mode(SearchMode::FilesWithout, &content), []);
        assert_eq!(in_mode(SearchMode::Files, &content), [Heard::File]);
        assert_eq!(in_mode(SearchMode::Count, &content), [Heard::Count(2)]);
    }
}

#[test]
fn a_match_over_lines_is_told_line_by_line() {
    let over = |pattern: &str, multi_line| with(pattern, |ask| ask.multi_line = multi_line);
    let content = b"a\nfoo\r\nbar foo\nbar\nb\n".as_slice();
    assert_eq!(
        lines(&over(r"foo\r?\nbar", MultiLine::On), content),
        ["=2:1:foo", "=3:5:bar foo", "=4:0:bar"]
    );
    assert_eq!(
        lines(&over("foo.*bar", MultiLine::On), content),
        [] as [&str; 0]
    );
    assert_eq!(
        lines(&over("r foo.*r", MultiLine::Dotall), content),
        ["=3:3:bar foo", "=4:0:bar"]
    );
    // Nothing in this pattern reaches over a line: it is told as in a search by lines.
    assert_eq!(
        lines(&over("ba.", MultiLine::On), content),
        ["=3:1:bar foo", "=4:1:bar"]
    );
    let mut counted = over(r"foo\s+bar", MultiLine::On);
    counted.mode = SearchMode::Count;
    assert_eq!(heard(&counted, content).0, [Heard::Count(3)]);
    let literal = with("foo\nbar", |ask| {
        ask.multi_line = MultiLine::On;
        ask.syntax = Syntax::Literal;
    });
    assert_eq!(lines(&literal, content), ["=3:5:bar foo", "=4:0:bar"]);
    let offsets = heard(&literal, content).0;
    let offsets: Vec<u64> = offsets
        .iter()
        .filter_map(|heard| match heard {
            Heard::Line(line) => Some(line.offset),
            Heard::File | Heard::Count(_) => None,
        })
        .collect();
    assert_eq!(offsets, [7, 15]);
    let mut limited = over(r"foo\s+bar", MultiLine::On);
    limited.limit_per_file = 2;
    assert_eq!(lines(&limited, content).len(), 2);
    assert_eq!(heard(&limited, content).1.over_file_limit, 1);
}

#[test]
fn a_file_with_a_zero_byte_is_given_up() {
    let told = |content: &[u8]| {
        let (heard, end) = heard(&ask(b"hit"), content);
        assert_eq!(end.end, End::Whole);
        (heard.len(), end.nature)
    };
    assert_eq!(told(b"a hit\na\0b\n"), (0, Nature::Binary));
    assert_eq!(told(b"a\0b\nhit\n"), (0, Nature::Binary));
    // Nothing was passed over that could match.
    assert_eq!(told(b"a\0b\n"), (0, Nature::Text));
    let mut late = b"hit\n".to_vec();
    late.extend_from_slice(&filler(100_000));
    late.extend_from_slice(b"\0\nhit\n");
    assert_eq!(told(&late), (2, Nature::Binary));
    let in_mode = |mode, content: &[u8]| heard(&with("hit", |ask| ask.mode = mode), content).0;
    // A number of only some lines is not told, and that nothing matches is not known.
    assert_eq!(in_mode(SearchMode::Count, &late), []);
    assert_eq!(in_mode(SearchMode::Files, &late), [Heard::File]);
    assert_eq!(in_mode(SearchMode::FilesWithout, b"a\0"), []);
    let text = with("hit", |ask| ask.binary = Binary::Text);
    assert_eq!(lines(&text, b"a\0hit\nhit\n"), ["=1:3:a\0hit", "=2:1:hit"]);
}

#[test]
fn a_file_that_is_searched_though_binary_is_told_to_match() {
    let search = |pattern: &str| with(pattern, |ask| ask.binary = Binary::Search);
    assert_eq!(lines(&search("hit"), b"hello\na\0a hit\nhit\n"), ["0:0:"]);
    let (found, end) = heard(&search("^hit"), b"hello\na\0hit\n");
    let Some(Heard::Line(line)) = found.get(1) else {
        panic!("{found:?}");
    };
    assert_eq!((line.role, line.offset), (LineRole::Binary, 8));
    assert_eq!((end.nature, end.end), (Nature::Binary, End::Whole));
    assert_eq!(heard(&search("miss"), b"a\0b").1.nature, Nature::Text);
    assert_eq!(lines(&search("hit"), b"a hit\n"), ["=1:3:a hit"]);
    let mut counted = search("hit");
    counted.mode = SearchMode::Count;
    assert_eq!(heard(&counted, b"hit\0hit\nhit").0, [Heard::Count(3)]);
}

#[test]
fn files_are_decoded() {
    let wide = |text: &str, order: fn(u16) -> [u8; 2]| -> Vec<u8> {
        text.encode_utf16().flat_map(order).collect()
    };
    let little = wide("\u{FEFF}eins\nzwölf hit\n", u16::to_le_bytes);
    let big = wide("\u{FEFF}eins\nzwölf hit\n", u16::to_be_bytes);
    assert_eq!(lines(&ask(b"hit"), &little), ["=2:8:zwölf hit"]);
    assert_eq!(lines(&ask(b"hit"), &big), ["=2:8:zwölf hit"]);
    assert_eq!(lines(&ask(b"^eins"), b"\xEF\xBB\xBFeins\n"), ["=1:1:eins"]);
    let raw = |ask: &mut Search| ask.encoding = TextEncoding::Raw;
    assert_eq!(
        lines(&with("^eins", raw), b"\xEF\xBB\xBFeins\n"),
        [] as [&str; 0]
    );
    assert_eq!(heard(&with("i", raw), &little).1.nature, Nature::Binary);
    let table: [(TextEncoding, &str, &[u8]); 10] = [
        (TextEncoding::Utf8, "ö", "ö".as_bytes()),
        (TextEncoding::Utf16Le, "ö", b"\xF6\x00"),
        (TextEncoding::Utf16Be, "ö", b"\x00\xF6"),
        (TextEncoding::Latin1, "ö€", b"\xF6\x80"),
        (TextEncoding::ShiftJis, "日本", b"\x93\xFA\x96\x7B"),
        (TextEncoding::EucJp, "日本", b"\xC6\xFC\xCB\xDC"),
        (TextEncoding::EucKr, "한", b"\xC7\xD1"),
        (TextEncoding::Gb18030, "中文", b"\xD6\xD0\xCE\xC4"),
        (TextEncoding::Big5, "中文", b"\xA4\xA4\xA4\xE5"),
        (TextEncoding::Auto, "ö", "ö".as_bytes()),
    ];
    for (encoding, text, bytes) in table {
        let ask = with(text, |ask| ask.encoding = encoding);
        assert_eq!(lines(&ask, bytes), [format!("=1:1:{text}")], "{encoding:?}");
    }
}

#[test]
fn lines_are_told_without_their_ends() {
    assert_eq!(
        lines(&ask(b"a"), b"a\r\nba\n\ra\r"),
        ["=1:1:a", "=2:2:ba", "=3:2:\ra\r"]
    );
    // As in `rg` without `--crlf`: a line ends at its line feed alone.
    assert_eq!(lines(&ask(b"a$"), b"a\r\na\n"), ["=2:1:a"]);
    assert_eq!(lines(&ask(b"z"), b""), [] as [&str; 0]);
}

#[test]
fn bounds_are_checked() {
    use crate::execute::search::plan::Plan;
    let refused = |change: fn(&mut Search)| Plan::new(&with("a", change)).is_err();
    assert!(!refused(|_| ()));
    assert!(refused(|ask| ask.limit = 0));
    assert!(refused(|ask| ask.limit_per_file = 0));
    assert!(refused(|ask| ask.file_bytes_max = u64::MAX));
    assert!(refused(|ask| {
        ask.mode = SearchMode::Content {
            before: 0,
            after: 51,
        };
    }));
    assert!(refused(|ask| ask.pattern = Bytes::default()));
    assert!(!refused(|ask| ask.mode = CONTENT));
}
