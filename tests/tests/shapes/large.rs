//! Many names, and many directories.

use crate::measure::{
    alone, assert_memory, drain, glob, globbed, in_memory, list, listed, name, open, search,
    searched,
};
use portcullis_client::protocol::session::Order;
use portcullis_client::protocol::session::{Completeness, CutReason, Entry, SearchMode};
use portcullis_tests::World;
use rustix::fs::{Mode, OFlags};

const MILLION: u64 = 1_000_000;
const DIRECTORIES: u64 = 200_000;
/// The same one below the other: levels, and directories in each.
const LEVELS: u64 = 500;
const BESIDE: u64 = 100;

/// A directory of a million names of one file.
fn million(world: &World) {
    world.write("one", "fox\n");
    std::fs::create_dir(world.inside().join("million")).unwrap();
    let (top, at) = (open(&world.inside()), open(&world.inside().join("million")));
    for n in 0..MILLION {
        name((&top, "one"), (&at, format!("n{n:07}").as_bytes()));
    }
}

/// Checks that paths are those of the million, in order.
struct Next(u64);

impl Next {
    fn is(&mut self, path: &[u8]) {
        let Self(n) = self;
        assert_eq!(path, format!("million/n{n:07}").as_bytes());
        *n += 1;
    }
}

#[test]
fn a_million_names_in_one_directory_are_told_in_order_within_bounds() {
    let _alone = alone();
    let mut world = in_memory();
    million(&world);
    let mut opened = world.session();
    let session = &mut opened.session;
    let mut next = Next(0);
    let stream = session.list(&list("million")).unwrap();
    let done = drain(stream, |entry: Entry| next.is(entry.path.as_bytes()));
    assert_eq!(
        (next.0, done.completeness),
        (MILLION, Completeness::Complete)
    );
    let numbers = done.statistics;
    assert_eq!(
        (numbers.directories, numbers.files, numbers.sent),
        (1, MILLION, MILLION)
    );
    // A glob sees them all, and tells some.
    let (count, done) = globbed(session, &glob("million", "*5"));
    assert_eq!(
        (count, done.completeness),
        (MILLION / 10, Completeness::Complete)
    );
    assert_eq!(done.statistics.files, MILLION);
    // A search opens each.
    let (count, done) = searched(session, &search("million", "fox", SearchMode::Files));
    assert_eq!(
        (count, done.completeness),
        (MILLION, Completeness::Complete)
    );
    assert_eq!(
        (done.statistics.files, done.statistics.bytes),
        (MILLION, 4 * MILLION)
    );
    // One more than may be told at once.
    world.write("million/o", "");
    let (count, done) = listed(session, &list("million"));
    assert_eq!(count, MILLION);
    let Completeness::Cut { reason, cursor } = done.completeness else {
        panic!("complete")
    };
    assert_eq!((reason, cursor.is_some()), (CutReason::Limit, true));
    std::fs::remove_file(world.inside().join("million/o")).unwrap();
    pages(&mut world, &mut opened);
    assert_memory(&mut world, &opened, "a million names");
}

/// Pages of names and of results join to the whole; by time as many as may be held are held.
fn pages(world: &mut World, opened: &mut portcullis_tests::Opened) {
    let session = &mut opened.session;
    let mut next = Next(0);
    let mut by_pages = list("million");
    by_pages.limit = 230_000;
    let mut pages = session.pages(&by_pages).unwrap();
    for entry in &mut pages {
        next.is(entry.unwrap().path.as_bytes());
    }
    let done = pages.finish().unwrap();
    assert_eq!(
        (next.0, done.completeness),
        (MILLION, Completeness::Complete)
    );
    assert_eq!(done.statistics.directories, 5, "one for each page");
    let mut by_time = list("million");
    (by_time.order, by_time.limit) = (Order::Newest, 10_000);
    let (count, done) = listed(session, &by_time);
    assert_eq!(count, 10_000);
    assert_eq!(done.statistics.files, MILLION, "all are looked at");
    let _ = world;
}

#[test]
fn two_hundred_thousand_directories_are_entered_within_bounds() {
    let _alone = alone();
    let mut world = in_memory();
    world.write("one", "fox\n");
    let top = open(&world.inside());
    for n in 0..DIRECTORIES {
        let directory = format!("d{n:06}");
        rustix::fs::mkdirat(&top, &directory, Mode::from_raw_mode(0o755)).unwrap();
        if n % 1000 == 0 {
            let at = open(&world.inside().join(&directory));
            name((&top, "one"), (&at, b"file"));
        }
    }
    let mut opened = world.session();
    let session = &mut opened.session;
    let files = DIRECTORIES / 1000;
    let (count, done) = listed(session, &list("."));
    assert_eq!(
        (count, done.completeness),
        (DIRECTORIES + files + 1, Completeness::Complete)
    );
    assert_eq!(done.statistics.directories, DIRECTORIES + 1);
    let (count, done) = globbed(session, &glob(".", "*/file"));
    assert_eq!((count, done.completeness), (files, Completeness::Complete));
    let (count, done) = searched(session, &search(".", "fox", SearchMode::Count));
    assert_eq!(
        (count, done.completeness),
        (files + 1, Completeness::Complete)
    );
    assert_eq!(
        (done.statistics.directories, done.statistics.files),
        (DIRECTORIES + 1, files + 1)
    );
    assert_memory(&mut world, &opened, "200,000 directories");
}

#[test]
fn directories_that_wait_at_every_level_are_held_within_bounds() {
    let _alone = alone();
    let mut world = in_memory();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o755);
    let mut at = open(&world.inside());
    for _ in 0..LEVELS {
        for n in 0..BESIDE {
            rustix::fs::mkdirat(&at, format!("z{n:03}"), mode).unwrap();
        }
        rustix::fs::mkdirat(&at, "a", mode).unwrap();
        at = rustix::fs::openat(&at, "a", flags, Mode::empty()).unwrap();
    }
    drop(at);
    let mut opened = world.session();
    let session = &mut opened.session;
    let all = LEVELS * (BESIDE + 1);
    let (count, done) = listed(session, &list("."));
    assert_eq!((count, done.completeness), (all, Completeness::Complete));
    assert_eq!(done.statistics.directories, all + 1);
    let (count, done) = searched(session, &search(".", "fox", SearchMode::Files));
    assert_eq!((count, done.completeness), (0, Completeness::Complete));
    assert_memory(&mut world, &opened, "directories that wait at every level");
}
