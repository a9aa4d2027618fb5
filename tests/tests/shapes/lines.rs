//! Lines without end, and lines without number.

use crate::measure::{alone, assert_memory, in_memory, search, searched};
use portcullis_client::protocol::limits::{SEARCH_FILE_BYTES_MAX, SEARCH_MATCHES_MAX};
use portcullis_client::protocol::session::{
    Binary, Completeness, MultiLine, Search, SearchMode, Sense,
};
use portcullis_tests::World;
use std::io::Write as _;

const MIB: usize = 1024 * 1024;
const CONTENT: SearchMode = SearchMode::Content {
    before: 0,
    after: 0,
};

fn one_line(world: &World, path: &str, mib: usize) {
    let mut file = std::fs::File::create(world.inside().join(path)).unwrap();
    let piece = vec![b'x'; MIB];
    for _ in 0..mib {
        file.write_all(&piece).unwrap();
    }
}

fn whole(pattern: &str, mode: SearchMode) -> Search {
    let mut search = search(".", pattern, mode);
    search.file_bytes_max = SEARCH_FILE_BYTES_MAX;
    search
}

#[test]
fn a_line_without_end_is_given_up_and_counted() {
    let _alone = alone();
    let mut world = in_memory();
    world.write("a", "fox\n");
    one_line(&world, "b300", 300);
    one_line(&world, "c200", 200);
    world.write("z", "fox\n");
    // Zero bytes, where such files are text.
    let sparse = std::fs::File::create(world.inside().join("d-sparse")).unwrap();
    sparse.set_len(200 * MIB as u64).unwrap();
    let mut opened = world.session();
    let session = &mut opened.session;
    for multi_line in [MultiLine::Off, MultiLine::Dotall] {
        for (sense, pattern, found) in [
            (Sense::Matching, "fox", 2),
            (Sense::Matching, "xfox", 0),
            (Sense::Inverted, "x", 0),
        ] {
            for mode in [CONTENT, SearchMode::Files, SearchMode::Count] {
                let mut ask = whole(pattern, mode);
                (ask.multi_line, ask.sense, ask.binary) = (multi_line, sense, Binary::Text);
                let (count, done) = searched(session, &ask);
                assert_eq!(done.completeness, Completeness::Complete, "{ask:?}");
                let numbers = done.statistics;
                // What is over the size is not opened; what is over the memory is, and given up; a
                // file in which one look at a time shows that nothing matches has been searched.
                assert_eq!(numbers.too_large + numbers.files, 5, "{ask:?}: {numbers:?}");
                assert!(numbers.too_large >= 1, "{ask:?}");
                if sense == Sense::Matching {
                    assert_eq!(count, found, "{ask:?}");
                }
            }
        }
    }
    assert_memory(&mut world, &opened, "lines of 200 and 300 MiB");
}

#[test]
fn ten_million_lines_are_told_within_bounds() {
    let _alone = alone();
    let mut world = in_memory();
    let lines = u64::from(SEARCH_MATCHES_MAX);
    world.write("many", "x\n".repeat(usize::try_from(lines).unwrap()));
    let mut opened = world.session();
    let session = &mut opened.session;
    let (count, done) = searched(session, &whole("x", CONTENT));
    assert_eq!((count, done.completeness), (lines, Completeness::Complete));
    assert_eq!(
        (done.statistics.sent, done.statistics.bytes),
        (lines, 2 * lines)
    );
    let mut counted = whole("x", SearchMode::Count);
    counted.sense = Sense::Matching;
    let (count, done) = searched(session, &counted);
    assert_eq!((count, done.statistics.files), (1, 1));
    assert_memory(&mut world, &opened, "ten million lines");
}
