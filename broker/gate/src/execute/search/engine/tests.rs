//! Files and patterns whose answers are known, and those of the engine alone.

use super::{End, Engine, FileEnd, Go, Nature, Taker};
use crate::execute::search::plan::Plan;
use crate::execute::search::watch::Halt;
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::limits::{
    SEARCH_FILE_BYTES_DEFAULT, SEARCH_HEAP_BYTES_MAX, SEARCH_LINE_BYTES_MAX, WALK_DEPTH_MAX,
};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{
    Binary, Boundaries, Case, CutReason, FoundRef, LineRole, MultiLine, Passing, Search,
    SearchMode, Selector, Sense, Syntax, TextEncoding,
};
use std::cell::Cell;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

mod oracle;
mod table;

pub(super) const CONTENT: SearchMode = SearchMode::Content {
    before: 0,
    after: 0,
};

/// A regex, in lines of text.
pub(in crate::execute::search) fn ask(pattern: &[u8]) -> Search {
    Search {
        selector: Selector {
            root: None,
            path: Bytes::default(),
        },
        pattern: Bytes::new(pattern).unwrap(),
        syntax: Syntax::Regex,
        case: Case::Sensitive,
        boundaries: Boundaries::Anywhere,
        multi_line: MultiLine::Off,
        sense: Sense::Matching,
        binary: Binary::Stop,
        encoding: TextEncoding::Auto,
        mode: CONTENT,
        depth: WALK_DEPTH_MAX,
        passing: Passing::nothing(),
        include: Few::default(),
        types: Few::default(),
        types_not: Few::default(),
        limit: 1000,
        limit_per_file: 1_000_000,
        file_bytes_max: SEARCH_FILE_BYTES_DEFAULT,
        time_ms: 1000,
        cursor: None,
    }
}

/// A line that was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    role: LineRole,
    number: u64,
    offset: u64,
    column: u32,
    text: Vec<u8>,
    cut: (u32, u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    File,
    Line(Told),
    Count(u64),
}

#[derive(Default)]
struct Ear {
    heard: Vec<Heard>,
    /// Stops when so much was heard.
    most: Option<usize>,
}

impl Taker for Ear {
    fn take(&mut self, found: &FoundRef<'_>) -> Go {
        self.heard.push(match found {
            FoundRef::File { path } => {
                assert_eq!(path.as_bytes(), b"a/file");
                Heard::File
            }
            FoundRef::Line(line) => Heard::Line(Told {
                role: line.role,
                number: line.number,
                offset: line.offset,
                column: line.column,
                text: line.text.to_vec(),
                cut: (line.cut_before, line.cut_after),
            }),
            FoundRef::Count { lines, .. } => Heard::Count(*lines),
        });
        match self.most {
            Some(most) if self.heard.len() >= most => Go::Stop,
            Some(_) | None => Go::On,
        }
    }
}

/// Halts when it was asked so often.
struct After {
    times: Cell<u32>,
}

impl Halt for After {
    fn reason(&self) -> Option<CutReason> {
        let left = self.times.get();
        self.times.set(left.saturating_sub(1));
        (left == 0).then_some(CutReason::Cancelled)
    }
}

fn after(times: u32) -> After {
    After {
        times: Cell::new(times),
    }
}

pub(super) fn file(content: &[u8]) -> (File, u64) {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(content, 0).unwrap();
    (file, content.len() as u64)
}

fn run(ask: &Search, (file, size): &(File, u64), halt: &dyn Halt, ear: &mut Ear) -> FileEnd {
    let plan = Arc::new(Plan::new(ask).unwrap());
    let mut engine = Engine::new(&plan);
    let path = RelPath::parse(b"a/file").unwrap();
    engine.search(&path, (file.as_fd(), *size), halt, ear)
}

/// What is heard of a file with this content.
pub(super) fn heard(ask: &Search, content: &[u8]) -> (Vec<Heard>, FileEnd) {
    let mut ear = Ear::default();
    let end = run(ask, &file(content), &after(u32::MAX), &mut ear);
    (ear.heard, end)
}

/// The lines that are told of it, each `role number:column:text`.
pub(super) fn lines(ask: &Search, content: &[u8]) -> Vec<String> {
    let (heard, end) = heard(ask, content);
    assert_eq!(end.end, End::Whole);
    let mut heard = heard.into_iter();
    match heard.next() {
        None => return Vec::new(),
        Some(first) => assert_eq!(first, Heard::File),
    }
    heard
        .map(|heard| match heard {
            Heard::Line(line) => {
                let role = match line.role {
                    LineRole::Match => '=',
                    LineRole::Context => '-',
                    LineRole::Binary => '0',
                };
                let (number, column) = (line.number, line.column);
                let text = String::from_utf8_lossy(&line.text).into_owned();
                format!("{role}{number}:{column}:{text}")
            }
            Heard::File | Heard::Count(_) => panic!("{heard:?} among lines"),
        })
        .collect()
}

/// Fills with lines that match nothing that tests look for.
pub(super) fn filler(bytes: usize) -> Vec<u8> {
    b"-------- --------\n"
        .iter()
        .copied()
        .cycle()
        .take(bytes)
        .collect()
}

#[test]
fn a_taker_that_has_enough_ends_the_file() {
    let mut ear = Ear {
        most: Some(3),
        ..Ear::default()
    };
    let end = run(
        &ask(b"a"),
        &file(b"a\nb\na\na\na\n"),
        &after(u32::MAX),
        &mut ear,
    );
    assert_eq!(ear.heard.len(), 3);
    assert_eq!((end.end, end.lines), (End::Stopped, 2));
}

#[test]
fn a_large_file_is_cut_between_reads_whether_it_matches_or_not() {
    let plain = file(&filler(10 << 20));
    for (halts, most) in [(1, 3), (10, 12)] {
        let mut ear = Ear::default();
        let end = run(&ask(b"needle"), &plain, &after(halts), &mut ear);
        assert_eq!(end.end, End::Cut(CutReason::Cancelled));
        assert!(end.bytes <= most * 64 * 1024, "{end:?}");
        assert!(ear.heard.is_empty());
    }
    for mode in [CONTENT, SearchMode::Count] {
        let mut dashes = ask(b"--");
        dashes.mode = mode;
        let end = run(&dashes, &plain, &after(10), &mut Ear::default());
        assert_eq!(end.end, End::Cut(CutReason::Cancelled));
        assert!(end.lines > 0 && end.bytes < 12 * 64 * 1024, "{end:?}");
    }
}

#[test]
fn one_buffer_full_of_matches_is_cut_too() {
    // One match after the other on the same line: the searcher joins them and tells nothing.
    let mut joined = ask(b"a");
    joined.multi_line = MultiLine::On;
    joined.pattern = Bytes::new(b"a|\n".to_vec()).unwrap();
    let end = run(
        &joined,
        &file(&vec![b'a'; 60_000]),
        &after(3),
        &mut Ear::default(),
    );
    assert_eq!(end.end, End::Cut(CutReason::Cancelled));
    // Short lines, all of them told.
    let short = file(&b"a\n".repeat(30_000));
    for sense in [Sense::Matching, Sense::Inverted] {
        let mut each = ask(if sense == Sense::Matching { b"a" } else { b"b" });
        each.sense = sense;
        let end = run(&each, &short, &after(1), &mut Ear::default());
        assert_eq!(end.end, End::Cut(CutReason::Cancelled));
        assert!(end.lines < 10_000, "{end:?}");
    }
}

#[test]
fn a_count_that_is_not_whole_is_not_told() {
    let mut count = ask(b"--");
    count.mode = SearchMode::Count;
    let mut ear = Ear::default();
    let end = run(&count, &file(&filler(1 << 20)), &after(5), &mut ear);
    assert_eq!(end.end, End::Cut(CutReason::Cancelled));
    assert!(ear.heard.is_empty());
}

#[test]
fn a_file_that_is_too_large_or_grew_so_is_not_read_on() {
    let mut small = ask(b"needle");
    small.file_bytes_max = 100_000;
    let told = file(&filler(100_001));
    let end = run(&small, &told, &after(u32::MAX), &mut Ear::default());
    assert_eq!((end.end, end.bytes), (End::TooLarge, 0));
    for (pattern, binary) in [
        (b"needle".as_slice(), Binary::Stop),
        (b"--", Binary::Stop),
        (b"needle", Binary::Search),
    ] {
        small.pattern = Bytes::new(pattern).unwrap();
        small.binary = binary;
        for told in [0, 10, 70_000] {
            let grown = (file(&filler(1 << 20)).0, told);
            let end = run(&small, &grown, &after(u32::MAX), &mut Ear::default());
            assert_eq!(end.end, End::TooLarge);
            assert!(end.bytes < 100_000 + 64 * 1024 + 1, "{end:?}");
        }
    }
    // All of it in the first buffer.
    small.file_bytes_max = 9;
    let end = run(
        &small,
        &(file(&filler(10)).0, 9),
        &after(u32::MAX),
        &mut Ear::default(),
    );
    assert_eq!(end.end, End::TooLarge);
    small.file_bytes_max = 10;
    let end = run(
        &small,
        &(file(&filler(10)).0, 9),
        &after(u32::MAX),
        &mut Ear::default(),
    );
    assert_eq!(end.end, End::Whole);
}

#[test]
fn a_file_that_shrank_is_searched_to_its_end() {
    let shrunk = (file(b"needle").0, 70_000);
    let mut ear = Ear::default();
    let end = run(&ask(b"needle"), &shrunk, &after(u32::MAX), &mut ear);
    assert_eq!((end.end, end.lines, end.bytes), (End::Whole, 1, 6));
}

#[test]
fn a_descriptor_that_cannot_be_read_is_told() {
    let directory = (File::open(std::env::temp_dir()).unwrap(), 10);
    let end = run(
        &ask(b"a"),
        &directory,
        &after(u32::MAX),
        &mut Ear::default(),
    );
    assert_eq!(end.end, End::Unreadable(rustix::io::Errno::ISDIR));
}

#[test]
fn what_does_not_fit_in_memory_is_told_and_the_next_file_is_searched() {
    let plan = Arc::new(Plan::new(&ask(b"needle")).unwrap());
    let mut engine = Engine::new(&plan);
    let path = RelPath::parse(b"a/file").unwrap();
    let mut content = vec![b'-'; SEARCH_HEAP_BYTES_MAX + 100];
    content.extend_from_slice(b"\nneedle\n");
    let (long, size) = file(&content);
    let mut ear = Ear::default();
    let end = engine.search(&path, (long.as_fd(), size), &after(u32::MAX), &mut ear);
    assert_eq!((end.end, ear.heard.len()), (End::OverHeap, 0));
    let (short, size) = file(b"needle");
    let end = engine.search(&path, (short.as_fd(), size), &after(u32::MAX), &mut ear);
    assert_eq!((end.end, ear.heard.len()), (End::Whole, 2));

    let mut over_lines = ask(b"a\nb");
    over_lines.multi_line = MultiLine::On;
    let end = run(
        &over_lines,
        &(long, content.len() as u64),
        &after(u32::MAX),
        &mut ear,
    );
    assert_eq!((end.end, end.bytes), (End::OverHeap, 0));
}

#[test]
fn long_lines_are_told_around_the_match() {
    let mut content = vec![b'.'; 5000];
    content.splice(3000..3006, *b"needle");
    let (heard, _) = heard(&ask(b"needle"), &content);
    let Some(Heard::Line(line)) = heard.get(1) else {
        panic!("{heard:?}");
    };
    assert_eq!(line.column, 3001);
    assert_eq!(line.text.len(), SEARCH_LINE_BYTES_MAX);
    let (before, behind) = line.cut;
    assert_eq!(before as usize + line.text.len() + behind as usize, 5000);
    let at = 3000 - before as usize;
    assert_eq!(&line.text[at..at + 6], b"needle");
}

#[test]
fn bytes_are_counted_once() {
    for (pattern, len) in [
        (b"needle".as_slice(), 50_000),
        (b"needle", 300_000),
        (b"--", 300_000),
        (b"--", 50),
    ] {
        let (_, end) = heard(&ask(pattern), &filler(len));
        assert_eq!((end.end, end.bytes), (End::Whole, len as u64));
        assert_eq!(end.nature, Nature::Text);
    }
    // A match behind what one look could pass over: the file is read again from its start.
    let mut late = filler(300_000);
    late.extend_from_slice(b"needle\n");
    let (heard, end) = heard(&ask(b"needle"), &late);
    assert_eq!((heard.len(), end.bytes), (2, late.len() as u64));
}
