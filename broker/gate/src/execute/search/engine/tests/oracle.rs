//! The engine against the way of `rg`: its builders with its settings, the whole file through one
//! reader, and what its printers make of it. And against a few lines that know neither.

use super::{Heard, Told, ask, heard};
use crate::execute::search::engine::{End, Nature};
use crate::execute::search::lines::without_end;
use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::session::{
    Binary, Boundaries, Case, LineRole, MultiLine, Search, SearchMode, Sense,
};
use proptest::prelude::*;
use std::io;

fn matcher(ask: &Search) -> Option<RegexMatcher> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(ask.case == Case::Insensitive)
        .case_smart(ask.case == Case::Smart)
        .word(ask.boundaries == Boundaries::Word)
        .whole_line(ask.boundaries == Boundaries::Line);
    match ask.multi_line {
        MultiLine::Off => builder.line_terminator(Some(b'\n')),
        MultiLine::On => builder.dot_matches_new_line(false),
        MultiLine::Dotall => builder.dot_matches_new_line(true),
    };
    if ask.binary != Binary::Text {
        builder.ban_byte(Some(0));
    }
    let pattern = std::str::from_utf8(ask.pattern.as_slice()).unwrap();
    builder.build(pattern).ok()
}

fn searcher(ask: &Search) -> Searcher {
    let mut builder = SearcherBuilder::new();
    if let SearchMode::Content { before, after } = ask.mode {
        builder
            .before_context(before.into())
            .after_context(after.into());
    }
    builder
        .invert_match(ask.sense == Sense::Inverted)
        .multi_line(ask.multi_line != MultiLine::Off)
        .binary_detection(match ask.binary {
            Binary::Stop => BinaryDetection::quit(0),
            Binary::Search => BinaryDetection::convert(0),
            Binary::Text => BinaryDetection::none(),
        })
        .build()
}

/// What the printers of `rg` keep of a file.
struct Printer<'a> {
    ask: &'a Search,
    heard: Vec<Heard>,
    lines: u64,
    zero: bool,
    told_binary: bool,
}

impl Printer<'_> {
    fn tell(&mut self, role: LineRole, number: Option<u64>, offset: u64, bytes: &[u8]) {
        self.heard.push(Heard::Line(Told {
            role,
            number: number.unwrap(),
            offset,
            column: 0,
            text: without_end(bytes).to_vec(),
            cut: (0, 0),
        }));
    }

    fn is_suppressed(&self) -> bool {
        self.ask.binary == Binary::Search && self.zero
    }
}

impl Sink for Printer<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        match self.ask.mode {
            SearchMode::Files | SearchMode::FilesWithout => {
                self.lines += 1;
                return Ok(false);
            }
            SearchMode::Count => {
                self.lines += found.lines().count() as u64;
                return Ok(true);
            }
            SearchMode::Content { .. } => {}
        }
        if self.is_suppressed() {
            self.told_binary = true;
            return Ok(false);
        }
        let mut offset = found.absolute_byte_offset();
        for (line, number) in found.lines().zip(found.line_number().unwrap()..) {
            self.tell(LineRole::Match, Some(number), offset, line);
            offset += line.len() as u64;
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, near: &SinkContext<'_>) -> io::Result<bool> {
        if !self.is_suppressed() {
            let (number, offset) = (near.line_number(), near.absolute_byte_offset());
            self.tell(LineRole::Context, number, offset, near.bytes());
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.zero = true;
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.zero = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

fn expected(ask: &Search, matcher: &RegexMatcher, content: &[u8]) -> Vec<Heard> {
    let mut printer = Printer {
        ask,
        heard: Vec::new(),
        lines: 0,
        zero: false,
        told_binary: false,
    };
    searcher(ask)
        .search_reader(matcher, content, &mut printer)
        .unwrap();
    let gave_up = printer.zero && ask.binary == Binary::Stop;
    match ask.mode {
        SearchMode::Content { .. } => printer.heard,
        SearchMode::Files if printer.lines > 0 && !gave_up => vec![Heard::File],
        SearchMode::FilesWithout if printer.lines == 0 && !gave_up => vec![Heard::File],
        SearchMode::Count if printer.lines > 0 && !gave_up => vec![Heard::Count(printer.lines)],
        SearchMode::Files | SearchMode::Count | SearchMode::FilesWithout => Vec::new(),
    }
}

/// Compares, for all but columns and the item that says that a file is binary.
fn compare(ask: &Search, content: &[u8]) -> Result<(), TestCaseError> {
    let Some(matcher) = matcher(ask) else {
        return Ok(());
    };
    let expected = expected(ask, &matcher, content);
    let (heard, end) = heard(ask, content);
    prop_assert_eq!(end.end, End::Whole);
    let mut lines = heard.into_iter().peekable();
    if let SearchMode::Content { .. } = ask.mode
        && let Some(first) = lines.next()
    {
        prop_assert_eq!(first, Heard::File);
        prop_assert!(lines.peek().is_some());
    }
    let mut told_binary = false;
    let mut plain = Vec::new();
    for heard in lines {
        prop_assert!(!told_binary, "more after a binary match");
        match heard {
            Heard::Line(mut line) => {
                told_binary = line.role == LineRole::Binary;
                if told_binary {
                    continue;
                }
                check_column(ask, &matcher, &line)?;
                line.column = 0;
                plain.push(Heard::Line(line));
            }
            Heard::File | Heard::Count(_) => plain.push(heard),
        }
    }
    if told_binary {
        prop_assert_eq!(end.nature, Nature::Binary);
    }
    prop_assert_eq!(plain, expected);
    Ok(())
}

fn check_column(ask: &Search, matcher: &RegexMatcher, line: &Told) -> Result<(), TestCaseError> {
    if ask.multi_line != MultiLine::Off || line.cut != (0, 0) {
        return Ok(());
    }
    let is_hit = (line.role == LineRole::Match) == (ask.sense == Sense::Matching);
    let found = matcher
        .find(&line.text)
        .unwrap()
        .map(|m| m.start() as u32 + 1);
    // A return at the end is not in the text, but may be in the match.
    if is_hit && found.is_some() {
        prop_assert_eq!(Some(line.column), found);
    } else if !is_hit {
        prop_assert_eq!(line.column, 0);
    }
    Ok(())
}

const PATTERNS: [&str; 30] = [
    "foo",
    "fo+",
    "^foo",
    "bar$",
    r"\bfoo\b",
    "(?i)FOO",
    r"\s",
    "o",
    "foo.*bar",
    r"\w+o\w",
    "é",
    "[^a]$",
    r"\Afoo",
    r"foo\z",
    "^$",
    "foo|bar",
    "(?s)o.b",
    "x",
    "FOO",
    "Foo",
    r"foo\nbar",
    r"o\s+b",
    "(?s)foo.*?bar",
    r"^$\n",
    r"\n",
    r"[^x]\n?b",
    "(?-u:\\xFF)",
    r"\r$",
    "a*",
    r"\B",
];

const WORDS: [&[u8]; 12] = [
    b"foo",
    b"bar",
    b"Foo",
    b"FOO",
    "é".as_bytes(),
    b"\r",
    b"\n",
    b"\n",
    b" ",
    b"_",
    b"\xFF",
    b"a",
];

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        60 => proptest::sample::select(&WORDS[..]).prop_map(<[u8]>::to_vec),
        1 => Just(b"\0".to_vec()),
    ]
}

/// Lines that match little, as long as a buffer, nearly, or a few.
fn padding() -> impl Strategy<Value = Vec<u8>> {
    let size = prop_oneof![
        6 => Just(0_usize),
        2 => 65_500_usize..65_560,
        1 => 130_000_usize..200_000,
    ];
    (size, 1_usize..300).prop_map(|(size, len)| {
        let line = [vec![b'-'; len], b"\n".to_vec()].concat();
        line.iter().copied().cycle().take(size).collect()
    })
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let text = || proptest::collection::vec(piece(), 0..30).prop_map(|pieces| pieces.concat());
    let start = prop_oneof![
        12 => Just(Vec::new()),
        1 => Just(b"\xEF\xBB\xBF".to_vec()),
        1 => Just(b"\xFF\xFE".to_vec()),
        1 => Just(b"\xFE\xFF".to_vec()),
    ];
    (start, text(), padding(), text(), padding(), text())
        .prop_map(|(start, a, b, c, d, e)| [start, a, b, c, d, e].concat())
}

fn asked() -> impl Strategy<Value = Search> {
    let mode = prop_oneof![
        3 => Just((0, 0)),
        3 => (0_u8..4, 0_u8..4),
    ]
    .prop_map(|(before, after)| SearchMode::Content { before, after });
    let mode = prop_oneof![
        6 => mode,
        1 => Just(SearchMode::Files),
        1 => Just(SearchMode::Count),
        1 => Just(SearchMode::FilesWithout),
    ];
    (
        proptest::sample::select(&PATTERNS[..]),
        proptest::sample::select(vec![Case::Sensitive, Case::Insensitive, Case::Smart]),
        proptest::sample::select(vec![
            Boundaries::Anywhere,
            Boundaries::Anywhere,
            Boundaries::Word,
            Boundaries::Line,
        ]),
        proptest::sample::select(vec![
            MultiLine::Off,
            MultiLine::Off,
            MultiLine::On,
            MultiLine::Dotall,
        ]),
        proptest::sample::select(vec![Sense::Matching, Sense::Matching, Sense::Inverted]),
        proptest::sample::select(vec![Binary::Stop, Binary::Search, Binary::Text]),
        mode,
    )
        .prop_map(
            |(pattern, case, boundaries, multi_line, sense, binary, mode)| Search {
                pattern: Bytes::new(pattern.as_bytes()).unwrap(),
                case,
                boundaries,
                multi_line,
                sense,
                binary,
                mode,
                ..ask(b"")
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_same_is_found_as_by_rg(ask in asked(), content in content()) {
        compare(&ask, &content)?;
    }

    #[test]
    fn lines_are_found_as_one_by_one(ask in asked(), content in content()) {
        let mut ask = ask;
        ask.multi_line = MultiLine::Off;
        ask.binary = Binary::Text;
        ask.encoding = portcullis_protocol::session::TextEncoding::Raw;
        ask.mode = super::CONTENT;
        let Some(matcher) = matcher(&ask) else {
            return Ok(());
        };
        let numbered = content.split_inclusive(|byte| *byte == b'\n').zip(1_u64..);
        let expected: Vec<u64> = numbered
            .filter(|(line, _)| {
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                matcher.is_match(line).unwrap() == (ask.sense == Sense::Matching)
            })
            .map(|(_, number)| number)
            .collect();
        let (heard, _) = heard(&ask, &content);
        let told: Vec<u64> = heard
            .iter()
            .filter_map(|heard| match heard {
                Heard::Line(line) => Some(line.number),
                Heard::File | Heard::Count(_) => None,
            })
            .collect();
        prop_assert_eq!(told, expected);
    }
}
