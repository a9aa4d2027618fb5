//! Arbitrary words of finding things, that each comes back as it was sent, and the limits of their
//! lists.

use crate::arbitrary::{bytes, comes_back, few, kind, path, selector, text, time};
use crate::{malformed, raw};
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::frame::{RequestId, decode, encode};
use portcullis_protocol::limits::{
    CURSOR_BYTES_MAX, HEADER_BYTES, KINDS_MAX, SEARCH_GLOBS_MAX, SEARCH_LINE_BYTES_MAX,
    SEARCH_TYPE_GLOBS_MAX,
};
use portcullis_protocol::session::{
    Binary, Boundaries, Case, Completeness, CutReason, Detail, Done, DotNames, Entries, Entry,
    EntryDetail, Found, FoundLine, Glob, Ignored, LineRole, List, Matches, MultiLine, Order,
    Passing, Progress, Reply, Request, Search, SearchMode, Sense, Statistics, Syntax, TextEncoding,
    VersionControl,
};
use portcullis_protocol::view::Kind;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

prop_compose! {
    fn passing()(
        ignored in select(vec![Ignored::Skip, Ignored::Include]),
        dot_names in select(vec![DotNames::Skip, DotNames::Include]),
        version_control in select(vec![VersionControl::Skip, VersionControl::Include]),
        exclude in few(bytes()),
    ) -> Passing {
        Passing { ignored, dot_names, version_control, exclude }
    }
}

prop_compose! {
    fn list()(
        selector in selector(),
        (depth, limit) in any::<(u32, u32)>(),
        detail in select(vec![Detail::Names, Detail::Full]),
        passing in passing(),
        kinds in few(kind()),
        order in select(vec![Order::Name, Order::Newest, Order::Oldest]),
        cursor in option::of(bytes()),
    ) -> List {
        List { selector, depth, detail, passing, kinds, order, limit, cursor }
    }
}

fn glob() -> impl Strategy<Value = Glob> {
    (list(), bytes()).prop_map(|(list, pattern)| Glob {
        selector: list.selector,
        pattern,
        depth: list.depth,
        detail: list.detail,
        passing: list.passing,
        kinds: list.kinds,
        order: list.order,
        limit: list.limit,
        cursor: list.cursor,
    })
}

fn mode() -> impl Strategy<Value = SearchMode> {
    prop_oneof![
        any::<(u8, u8)>().prop_map(|(before, after)| SearchMode::Content { before, after }),
        Just(SearchMode::Files),
        Just(SearchMode::Count),
        Just(SearchMode::FilesWithout),
    ]
}

prop_compose! {
    fn search()(
        list in list(),
        pattern in bytes(),
        syntax in select(vec![Syntax::Literal, Syntax::Regex]),
        case in select(vec![Case::Sensitive, Case::Insensitive, Case::Smart]),
        boundaries in select(vec![Boundaries::Anywhere, Boundaries::Word, Boundaries::Line]),
        multi_line in select(vec![MultiLine::Off, MultiLine::On, MultiLine::Dotall]),
        (sense, encoding) in (
            select(vec![Sense::Matching, Sense::Inverted]),
            select(TextEncoding::ALL.to_vec()),
        ),
        binary in select(vec![Binary::Stop, Binary::Search, Binary::Text]),
        mode in mode(),
        include in few(bytes()),
        (types, types_not) in (few(bytes()), few(bytes())),
        (limit_per_file, file_bytes_max, time_ms) in any::<(u32, u64, u32)>(),
    ) -> Search {
        Search {
            selector: list.selector, pattern, syntax, case, boundaries, multi_line, sense, binary,
            encoding, mode, depth: list.depth, passing: list.passing, include, types, types_not,
            limit: list.limit, limit_per_file, file_bytes_max, time_ms, cursor: list.cursor,
        }
    }
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        list().prop_map(Request::List),
        glob().prop_map(Request::Glob),
        search().prop_map(Request::Search),
    ]
}

prop_compose! {
    fn entry()(
        path in path(),
        kind in kind(),
        denied in option::of(text()),
        detail in option::of((any::<(u64, u16)>(), time(), option::of(bytes()))),
    ) -> Entry {
        let detail = detail.map(|((size, mode), modified, link)| EntryDetail {
            size, mode, modified, link,
        });
        Entry { path, kind, denied, detail }
    }
}

prop_compose! {
    fn line()(
        role in select(vec![LineRole::Match, LineRole::Context, LineRole::Binary]),
        (number, offset) in any::<(u64, u64)>(),
        [column, cut_before, cut_after] in any::<[u32; 3]>(),
        text in bytes(),
    ) -> FoundLine {
        FoundLine { role, number, offset, column, text, cut_before, cut_after }
    }
}

fn found() -> impl Strategy<Value = Found> {
    prop_oneof![
        path().prop_map(|path| Found::File { path }),
        line().prop_map(Found::Line),
        (path(), any::<u64>()).prop_map(|(path, lines)| Found::Count { path, lines }),
    ]
}

/// Numbers of one byte on the wire and of many.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..300, any::<u64>()]
}

/// How many numbers there are in statistics. Each of them is a zero byte while it is 0.
fn numbers() -> usize {
    encoded(&Statistics::default()).len()
}

fn encoded(statistics: &Statistics) -> Vec<u8> {
    postcard::to_extend(statistics, Vec::new()).unwrap()
}

fn of_numbers(numbers: &[u64]) -> Statistics {
    let bytes = numbers.iter().fold(Vec::new(), |bytes, number| {
        postcard::to_extend(number, bytes).unwrap()
    });
    postcard::from_bytes(&bytes).unwrap()
}

fn statistics() -> impl Strategy<Value = Statistics> {
    vec(number(), numbers()).prop_map(|numbers| of_numbers(&numbers))
}

fn done() -> impl Strategy<Value = Done> {
    let reason = select(vec![
        CutReason::Limit,
        CutReason::Time,
        CutReason::Cancelled,
        CutReason::Changed,
    ]);
    let completeness = prop_oneof![
        Just(Completeness::Complete),
        (reason, option::of(bytes()))
            .prop_map(|(reason, cursor)| Completeness::Cut { reason, cursor }),
    ];
    (completeness, statistics()).prop_map(|(completeness, statistics)| Done {
        completeness,
        statistics,
    })
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        vec(entry(), 0..4).prop_map(|entries| Reply::Entries(Entries {
            start: None,
            entries,
        })),
        vec(found(), 0..4).prop_map(|found| Reply::Matches(Matches { start: None, found })),
        done().prop_map(Reply::Done),
        any::<[u64; 4]>().prop_map(|[directories, files, bytes, sent]| {
            Reply::Progress(Progress {
                directories,
                files,
                bytes,
                sent,
            })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_said_of_finding_comes_back_as_it_was_sent(
        id in any::<u32>(), request in request(), reply in reply(),
    ) {
        comes_back(id, &request, b"")?;
        comes_back(id, &reply, b"")?;
    }

    #[test]
    fn statistics_are_added_number_by_number(
        parts in vec(vec(number(), numbers()), 0..5)
    ) {
        let mut sum = Statistics::default();
        for part in &parts {
            sum.add(&of_numbers(part));
        }
        let each: Vec<u64> = (0..numbers())
            .map(|n| parts.iter().fold(0, |sum: u64, part| sum.saturating_add(part[n])))
            .collect();
        prop_assert_eq!(encoded(&sum), encoded(&of_numbers(&each)));
    }
}

#[test]
fn every_number_of_the_statistics_is_added() {
    // No two are the same, so that one that is added to another place shows.
    let once: Vec<u64> = (1..).take(numbers()).collect();
    let twice: Vec<u64> = once.iter().map(|n| 2 * n).collect();
    let mut sum = of_numbers(&once);
    sum.add(&of_numbers(&once));
    assert_eq!(sum, of_numbers(&twice));
}

/// The least search, with lists of so many empty globs.
fn search_of(include: usize, exclude: usize, types: usize, types_not: usize) -> Vec<u8> {
    let list = |count: usize| {
        let bytes = postcard::to_extend(&count, Vec::new()).unwrap();
        [bytes, vec![0; count]].concat()
    };
    [
        // Root, path and pattern; seven enums without fields and the mode `Files`; depth.
        &[0, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 0, 1, 1][..],
        // What is passed over.
        &[0, 0, 0],
        &list(exclude),
        &list(include),
        &list(types),
        &list(types_not),
        // Four numbers, no cursor.
        &[1, 1, 1, 1, 0],
    ]
    .concat()
}

#[test]
fn globs_of_a_search_are_as_many_as_their_limits_and_no_more() {
    let taken = |body: &[u8]| decode::<Request>(&raw(0x51, 6, body, b"")).map(drop);
    let (globs, types) = (SEARCH_GLOBS_MAX, SEARCH_TYPE_GLOBS_MAX);
    assert_eq!(taken(&search_of(globs, globs, types, types)), Ok(()));
    for body in [
        search_of(globs + 1, 0, 0, 0),
        search_of(0, globs + 1, 0, 0),
        search_of(0, 0, types + 1, 0),
        search_of(0, 0, 0, types + 1),
    ] {
        assert_eq!(taken(&body).err(), malformed(6));
    }
}

fn least_list() -> List {
    List {
        selector: portcullis_protocol::session::Selector {
            root: None,
            path: Bytes::new(*b"a").unwrap(),
        },
        depth: 1,
        detail: Detail::Names,
        passing: Passing::nothing(),
        kinds: Few::default(),
        order: Order::Name,
        limit: 1,
        cursor: None,
    }
}

/// The body of the least list, with so many kinds and a cursor of so many bytes.
fn list_of(kinds: usize, cursor: usize) -> Vec<u8> {
    let mut frame = Vec::new();
    let least = Request::List(least_list());
    encode(RequestId(1), &least, 0, &mut frame).unwrap();
    // Behind what is passed over: no kinds, order, limit, no cursor.
    let before = frame.len() - 4;
    assert_eq!(frame[before..], [0, 0, 1, 0]);
    let mut body = frame[HEADER_BYTES..before].to_vec();
    body = postcard::to_extend(&vec![Kind::Fifo; kinds], body).unwrap();
    body.extend([0, 1, 1]);
    body = postcard::to_extend(&cursor, body).unwrap();
    body.resize(body.len() + cursor, 7);
    body
}

#[test]
fn kinds_and_cursors_are_as_long_as_their_limits_and_no_longer() {
    let taken = |body: &[u8]| decode::<Request>(&raw(0x51, 4, body, b"")).map(drop);
    assert_eq!(taken(&list_of(KINDS_MAX, CURSOR_BYTES_MAX)), Ok(()));
    assert_eq!(taken(&list_of(KINDS_MAX + 1, 0)).err(), malformed(4));
    assert_eq!(taken(&list_of(0, CURSOR_BYTES_MAX + 1)).err(), malformed(4));
}

#[test]
fn a_line_is_as_long_as_its_limit_and_no_longer() {
    let taken = |len: usize| {
        // No start; one line: its role, number, offset and column.
        let mut body = postcard::to_extend(&len, vec![0, 1, 1, 0, 1, 0, 1]).unwrap();
        body.resize(body.len() + len, b'x');
        body.extend([0, 0]);
        decode::<Reply>(&raw(0x52, 6, &body, b"")).map(drop)
    };
    assert_eq!(taken(SEARCH_LINE_BYTES_MAX), Ok(()));
    assert_eq!(taken(SEARCH_LINE_BYTES_MAX + 1).err(), malformed(6));
}
