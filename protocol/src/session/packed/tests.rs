//! What is packed is what the replies are encoded to.

use super::*;
use crate::bounded::Bytes;
use crate::frame::encode;
use crate::session::FoundLine;
use crate::view::Timestamp;

fn entries() -> Vec<Entry> {
    let detail = EntryDetail {
        size: 300,
        mode: 0o640,
        modified: Timestamp {
            seconds: -1,
            nanos: 9,
        },
        link: Some(Bytes::new(b"../caf\xe9".to_vec()).unwrap()),
    };
    ["a", "b/caf\u{e9}", "b/c"]
        .into_iter()
        .enumerate()
        .map(|(n, path)| Entry {
            path: RelPath::parse(path.as_bytes()).unwrap(),
            kind: [Kind::File, Kind::Link, Kind::Directory][n],
            denied: (n == 1).then(|| Text::new("builtin:env").unwrap()),
            detail: (n > 0).then(|| detail.clone()),
        })
        .collect()
}

fn found() -> Vec<Found> {
    let path = RelPath::parse(b"src/caf\xe9").unwrap();
    let line = |text: &[u8], role| {
        Found::Line(FoundLine {
            role,
            number: 300,
            offset: 9_000_000_000,
            column: 1,
            text: Bytes::cut(text),
            cut_before: 0,
            cut_after: 70_000,
        })
    };
    vec![
        Found::File { path: path.clone() },
        line(b"one\xff", LineRole::Match),
        line(&[b'x'; 1024], LineRole::Context),
        Found::Count {
            path,
            lines: u64::MAX,
        },
    ]
}

fn entry_ref(entry: &Entry) -> EntryRef<'_> {
    EntryRef {
        path: &entry.path,
        kind: entry.kind,
        denied: entry.denied.as_ref(),
        detail: entry.detail.as_ref(),
    }
}

fn found_ref(found: &Found) -> FoundRef<'_> {
    match found {
        Found::File { path } => FoundRef::File { path },
        Found::Count { path, lines } => FoundRef::Count {
            path,
            lines: *lines,
        },
        Found::Line(line) => FoundRef::Line(LineRef {
            role: line.role,
            number: line.number,
            offset: line.offset,
            column: line.column,
            text: line.text.as_slice(),
            cut_before: line.cut_before,
            cut_after: line.cut_after,
        }),
    }
}

#[test]
fn packed_items_are_encoded_as_the_replies_they_stand_for() {
    let (id, mut ours, mut theirs) = (RequestId(7), Vec::new(), Vec::new());
    let mut packed = Packed::<Entries>::default();
    for entry in &entries() {
        packed.push(&entry_ref(entry), Weight::Counts).unwrap();
    }
    for range in [0..3, 1..2, 0..0, 2..3] {
        packed.encode(range.clone(), id, None, &mut ours).unwrap();
        let whole = Entries {
            start: None,
            entries: entries()[range].to_vec(),
        };
        encode(id, &Reply::Entries(whole), 0, &mut theirs).unwrap();
        assert_eq!(ours, theirs);
    }
    let mut packed = Packed::<Matches>::default();
    for found in &found() {
        packed.push(&found_ref(found), weight(found)).unwrap();
    }
    packed.encode(0..4, id, None, &mut ours).unwrap();
    let whole = Matches {
        start: None,
        found: found(),
    };
    encode(id, &Reply::Matches(whole), 0, &mut theirs).unwrap();
    assert_eq!(ours, theirs);
}

fn weight(found: &Found) -> Weight {
    match found {
        Found::File { .. } => Weight::Heads,
        Found::Line(line) if line.role == LineRole::Context => Weight::Free,
        Found::Line(_) | Found::Count { .. } => Weight::Counts,
    }
}

#[test]
fn items_are_counted_cut_and_named() {
    let mut packed = Packed::<Matches>::default();
    assert!(packed.is_empty());
    for found in &found() {
        packed.push(&found_ref(found), weight(found)).unwrap();
    }
    let all = packed.bytes();
    assert_eq!((packed.counted(0..4), packed.shown(0..4)), (2, 4 + 1024));
    assert_eq!(packed.fitting(0..4, all), 4);
    assert_eq!(
        packed.fitting(1..4, 1),
        1,
        "one goes even where it does not fit"
    );
    assert_eq!(packed.last_path(3).unwrap().as_bytes(), b"src/caf\xe9");
    let mut twice = Packed::<Matches>::default();
    twice.append(&packed, 0..4);
    twice.append(&packed, 1..4);
    assert_eq!(
        (twice.len(), twice.bytes()),
        (7, all + packed.bytes_of(1..4))
    );
    assert_eq!(twice.slice(4..7), packed.slice(1..4));
    let taken = twice.take_all();
    assert_eq!((taken.len(), twice.len(), twice.bytes()), (7, 0, 0));
    assert_eq!(taken.slice(0..4), packed.slice(0..4));
    assert!(taken.bytes.capacity() == taken.bytes() && twice.bytes.capacity() >= taken.bytes());
}

#[test]
fn a_limit_cuts_before_what_is_too_much_and_tells_what_was_whole() {
    let paths = ["a", "b", "c"].map(|path| RelPath::parse(path.as_bytes()).unwrap());
    let mut packed = Packed::<Matches>::default();
    for path in &paths {
        packed
            .push(&FoundRef::File { path }, Weight::Heads)
            .unwrap();
        for role in [LineRole::Match, LineRole::Match, LineRole::Context] {
            let line = LineRef {
                role,
                number: 1,
                offset: 0,
                column: 1,
                text: b"x",
                cut_before: 0,
                cut_after: 0,
            };
            let weight = if role == LineRole::Match {
                Weight::Counts
            } else {
                Weight::Free
            };
            packed.push(&FoundRef::Line(line), weight).unwrap();
        }
    }
    let whole = |left: u64| {
        let end = packed.over(0..12, left)?;
        Some((
            end,
            packed
                .last_whole(0..end)
                .map(|path| path.as_bytes().to_vec()),
        ))
    };
    assert_eq!(whole(0), Some((0, None)));
    assert_eq!(whole(1), Some((2, None)), "the first file is not whole");
    assert_eq!(whole(2), Some((4, Some(b"a".to_vec()))));
    assert_eq!(whole(3), Some((6, Some(b"a".to_vec()))));
    assert_eq!(whole(4), Some((8, Some(b"b".to_vec()))));
    assert_eq!(whole(6), None);
}
