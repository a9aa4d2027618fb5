//! Rows 56 to 60: files and trees too large to hold, and files that change while they are read.

use portcullis_client::ask;
use portcullis_protocol::limits::{PATH_BYTES_MAX, SCAN_BYTES_MAX};
use portcullis_protocol::session::{
    Completeness, CutReason, Detail, Range, ReadTail, Rest, Steadiness, Survey,
};
use portcullis_tests::hostile::{Arena, deep_tree, not_forever};
use portcullis_tests::own;
use std::io::{Seek as _, Write as _};

const TIB: u64 = 1 << 40;

/// The most memory a gate has had, in bytes.
fn peak(arena: &mut Arena) -> u64 {
    let gate = arena.control.status().unwrap().sessions.as_slice()[0].gate;
    let status = std::fs::read_to_string(format!("/proc/{gate}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

#[test]
fn row_56_a_sparse_file_of_8_tib_is_read_in_part_searched_not_and_digested_not() {
    not_forever(|| {
        let mut arena = Arena::new(own!("own-gate"));
        let file = std::fs::File::create(arena.inside().join("huge")).unwrap();
        // Not every file system takes 8 TiB; each takes more than is scanned.
        let size = [8 * TIB, TIB, 2 * SCAN_BYTES_MAX]
            .into_iter()
            .find(|size| file.set_len(*size).is_ok())
            .unwrap();
        let mut opened = arena.session();
        let session = &mut opened.session;
        let huge = || ask::selector("huge").unwrap();
        assert_eq!(
            session
                .stat(&ask::stat(huge()))
                .unwrap()
                .observation
                .stamp
                .size,
            size
        );
        let mut read = ask::read(huge());
        let part = |session: &mut portcullis_client::Session, read: &_| {
            session.read(read).unwrap().pop().unwrap().unwrap()
        };
        // A part of it, with everything computed: what is over the limit is absent, not wrong.
        read.range = Range::Bytes {
            offset: size - 5,
            length: u64::MAX,
        };
        read.survey = Survey::TextAndDigest;
        let end = part(session, &read);
        assert_eq!((end.bytes.len(), end.end.rest), (5, Rest::End));
        assert_eq!((end.end.text, end.end.digest), (None, None));
        // Lines that are nowhere: the scan is cut, and says so.
        read.survey = Survey::None;
        read.range = Range::Lines { first: 2, count: 1 };
        let lines = part(session, &read);
        assert_eq!(
            (lines.bytes.len(), lines.end.rest),
            (0, Rest::CutAtScanLimit)
        );
        read.range = Range::Tail { count: 1 };
        let tail = part(session, &read);
        assert!(u64::try_from(tail.bytes.len()).unwrap() <= SCAN_BYTES_MAX);
        // The whole of it can be begun and given up.
        read.range = ask::WHOLE;
        let mut stream = session.read_stream(&read).unwrap();
        assert!(stream.next_part().unwrap().is_some());
        drop(stream);
        // A search passes it over, and counts it.
        for selector in [huge(), ask::selector(".").unwrap()] {
            let mut found = session
                .search(&ask::search(selector, "x").unwrap())
                .unwrap();
            assert!(found.next().is_none());
            let done = found.finish().unwrap();
            assert_eq!(done.statistics.too_large, 1);
            assert_eq!(done.statistics.bytes, 0);
        }
        assert!(peak(&mut arena) < 64 << 20, "{} bytes", peak(&mut arena));
    });
}

#[test]
fn row_57_a_file_that_grows_during_a_read_is_bounded_and_torn() {
    not_forever(|| {
        let mut arena = Arena::new(own!("own-gate"));
        arena.write("log", vec![b'a'; 8 << 20]);
        let at = arena.inside().join("log");
        let mut opened = arena.session();
        let mut stream = opened
            .session
            .read_stream(&ask::read(ask::selector("log").unwrap()))
            .unwrap();
        let mut total = 0;
        let mut tail = None;
        let mut grown = 0_u32;
        while let Some((part, bytes)) = stream.next_part().unwrap() {
            total += bytes.len();
            if grown < 4 {
                grown += 1;
                let mut file = std::fs::File::options().append(true).open(&at).unwrap();
                file.write_all(&[b'b'; 1 << 20]).unwrap();
            }
            tail = part.tail.or(tail);
        }
        let Some(ReadTail::Read(end)) = tail else {
            panic!("no end: {tail:?}")
        };
        assert_eq!(end.steadiness, Steadiness::Torn);
        assert!((8 << 20..=12 << 20).contains(&total), "{total}");
    });
}

#[test]
fn row_57_a_file_that_never_stops_growing_ends_with_its_reader() {
    not_forever(|| {
        let mut arena = Arena::new(own!("own-gate"));
        arena.write("log", vec![b'a'; 8 << 20]);
        let at = arena.inside().join("log");
        let mut opened = arena.session();
        let session = &mut opened.session;
        let mut file = std::fs::File::options().append(true).open(&at).unwrap();
        let mut stream = session
            .read_stream(&ask::read(ask::selector("log").unwrap()))
            .unwrap();
        let (mut parts, mut total) = (0_u32, 0);
        while let Some((_, bytes)) = stream.next_part().unwrap() {
            total += bytes.len();
            parts += 1;
            // For a long while the end is always further away than the reader is.
            if parts < 2000 {
                file.write_all(&[b'b'; 128 << 10]).unwrap();
            }
        }
        assert!(
            total <= 9 << 20,
            "it runs after the end: {total} bytes in {parts} parts"
        );
        drop(stream);
        session.ping(b"still there").unwrap();
    });
}

#[test]
fn row_58_a_file_cut_during_a_read_ends_early_and_is_torn() {
    not_forever(|| {
        let mut arena = Arena::new(own!("own-gate"));
        arena.write("log", vec![b'a'; 8 << 20]);
        let at = arena.inside().join("log");
        let mut opened = arena.session();
        let session = &mut opened.session;
        let mut stream = session
            .read_stream(&ask::read(ask::selector("log").unwrap()))
            .unwrap();
        let mut total = stream.next_part().unwrap().unwrap().1.len();
        let mut file = std::fs::File::options().write(true).open(&at).unwrap();
        file.set_len(10).unwrap();
        file.seek(std::io::SeekFrom::Start(0)).unwrap();
        file.write_all(b"0123456789").unwrap();
        let mut tail = None;
        while let Some((part, bytes)) = stream.next_part().unwrap() {
            total += bytes.len();
            tail = part.tail.or(tail);
        }
        let Some(ReadTail::Read(end)) = tail else {
            panic!("no end: {tail:?}")
        };
        assert_eq!(end.steadiness, Steadiness::Torn);
        assert!(total < 8 << 20, "{total}");
        drop(stream);
        // The gate is alive: it maps no file, so a file that shrinks raises no SIGBUS.
        session.ping(b"still there").unwrap();
    });
}

/// More names than a walk holds in memory, and than one page holds.
const CROWD: usize = 210_000;

#[test]
fn row_59_a_crowded_directory_is_listed_whole_in_bounded_memory_and_can_be_cancelled() {
    let mut arena = Arena::new(own!("own-gate"));
    let crowd = arena.inside().join("crowd");
    std::fs::create_dir(&crowd).unwrap();
    let names = rustix::fs::open(
        &crowd,
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    for n in 0..CROWD {
        let file = rustix::fs::FileType::RegularFile;
        rustix::fs::mknodat(&names, format!("name-{n:09}"), file, mode, 0).unwrap();
    }
    let mut opened = arena.session();
    let session = &mut opened.session;
    let mut list = ask::list(ask::selector("crowd").unwrap());
    list.limit = 10_000;
    let (mut seen, mut pages) = (0, 0);
    loop {
        let mut page = session.list(&list).unwrap();
        for entry in page.by_ref() {
            let expected = format!("crowd/name-{seen:09}");
            assert_eq!(entry.unwrap().path.as_bytes(), expected.as_bytes());
            seen += 1;
        }
        pages += 1;
        match page.finish().unwrap().completeness {
            Completeness::Complete => break,
            Completeness::Cut { reason, cursor } => {
                assert_eq!(reason, CutReason::Limit);
                list.cursor = Some(cursor.unwrap());
            }
        }
        // Each page reads the whole directory again; two of them and the last show enough.
        if pages == 2 {
            let mut bytes = list.cursor.take().unwrap().as_slice().to_vec();
            seen = CROWD - 500;
            let last = format!("crowd/name-{:09}", seen - 1);
            bytes.truncate(bytes.len() - last.len());
            bytes.extend_from_slice(last.as_bytes());
            list.cursor = Some(portcullis_protocol::bounded::Bytes::new(bytes).unwrap());
        }
    }
    assert_eq!((seen, pages), (CROWD, 3));
    // A search sees every file; a part of it is enough when the worker says so.
    let search = ask::search(ask::selector("crowd").unwrap(), "x").unwrap();
    let done = session.search(&search).unwrap().finish().unwrap();
    let cut = matches!(
        done.completeness,
        Completeness::Cut {
            reason: CutReason::Cancelled,
            ..
        }
    );
    assert!(cut || done.statistics.files == u64::try_from(CROWD).unwrap());
    let mut search = search;
    search.time_ms = 1;
    let mut found = session.search(&search).unwrap();
    assert!(found.next().is_none());
    let done = found.finish().unwrap();
    assert!(matches!(
        done.completeness,
        Completeness::Cut {
            reason: CutReason::Time,
            ..
        }
    ));
    session.ping(b"still there").unwrap();
    let peak = peak(&mut arena);
    assert!(peak < 96 << 20, "{peak} bytes");
}

#[test]
fn row_60_a_tree_6000_levels_deep_is_walked_to_the_limit_and_the_rest_is_counted() {
    not_forever(|| {
        let mut arena = Arena::new(own!("own-gate"));
        let top = arena.inside().join("deep");
        std::fs::create_dir(&top).unwrap();
        drop(deep_tree(&top, b"d", 6000));
        let mut opened = arena.session();
        let gate = arena.control.status().unwrap().sessions.as_slice()[0].gate;
        portcullis_tests::hostile::limit_descriptors(gate, 64);
        let session = &mut opened.session;
        for selector in ["deep", "."] {
            let mut list = ask::list(ask::selector(selector).unwrap());
            (list.depth, list.detail) = (u32::MAX, Detail::Full);
            let mut stream = session.list(&list).unwrap();
            let listed = stream.by_ref().map(Result::unwrap).count();
            let done = stream.finish().unwrap();
            assert_eq!(done.completeness, Completeness::Complete);
            assert_eq!(done.statistics.too_deep, 1, "{done:?}");
            // As deep as a path goes: `deep`, and `/d` for each further level.
            let below = (PATH_BYTES_MAX - b"deep".len()) / b"/d".len();
            let above = usize::from(selector == ".");
            assert_eq!(listed, below + above);
            let mut found = session
                .search(&ask::search(ask::selector(selector).unwrap(), "x").unwrap())
                .unwrap();
            assert!(found.next().is_none());
            assert_eq!(found.finish().unwrap().statistics.too_deep, 1);
        }
        // What no path reaches is removed the hard way.
        let removed = std::process::Command::new("rm")
            .arg("-rf")
            .arg(&top)
            .status()
            .unwrap();
        assert!(removed.success());
    });
}
