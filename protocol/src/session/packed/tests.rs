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
        packed.push(&entry_ref(entry)).unwrap();
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
        packed.push(&found_ref(found)).unwrap();
    }
    packed.encode(0..4, id, None, &mut ours).unwrap();
    let whole = Matches {
        start: None,
        found: found(),
    };
    encode(id, &Reply::Matches(whole), 0, &mut theirs).unwrap();
    assert_eq!(ours, theirs);
}

#[test]
fn items_are_counted_cut_and_named() {
    let mut packed = Packed::<Matches>::default();
    assert!(packed.is_empty());
    for found in &found() {
        packed.push(&found_ref(found)).unwrap();
    }
    let all = packed.bytes();
    assert_eq!(packed.fitting(0, all), 4);
    assert_eq!(
        packed.fitting(1, 1),
        1,
        "one goes even where it does not fit"
    );
    assert_eq!(packed.last_path(3).unwrap().as_bytes(), b"src/caf\xe9");
    let mut twice = Packed::<Matches>::default();
    twice.append(&packed);
    twice.append(&packed);
    assert_eq!((twice.len(), twice.bytes()), (8, 2 * all));
    twice.truncate(4);
    assert_eq!((twice.len(), twice.bytes()), (4, all));
    twice.clear();
    assert_eq!(twice.bytes(), 0);
}
