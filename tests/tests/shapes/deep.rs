//! Deep trees, long paths and links in circles.

use crate::measure::{
    alone, assert_memory, glob, globbed, in_memory, list, listed, name, open, search, searched,
};
use portcullis_client::protocol::session::{Completeness, SearchMode};
use portcullis_tests::World;
use portcullis_tests::hostile::deep_tree;
use rustix::fs::{AtFlags, Mode, OFlags};
use std::os::fd::OwnedFd;

const LEVELS: usize = 6000;
/// Levels that a walk enters: its start, and those whose paths are short enough.
const ENTERED: u64 = 2048;
const LONG_NAMES: u64 = 40_000;

/// Takes a deep tree away from its top: no path leads to its bottom.
fn remove(top: &OwnedFd) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    for _ in 0..LEVELS {
        let at = rustix::fs::openat(top, "d", flags, Mode::empty()).unwrap();
        let further = rustix::fs::renameat(&at, "d", top, "further").is_ok();
        rustix::fs::unlinkat(&at, "bottom", AtFlags::empty()).unwrap_or_default();
        rustix::fs::unlinkat(top, "d", AtFlags::REMOVEDIR).unwrap();
        if !further {
            return;
        }
        rustix::fs::renameat(top, "further", top, "d").unwrap();
    }
}

#[test]
fn six_thousand_levels_are_walked_as_deep_as_paths_go_and_the_rest_is_counted() {
    let _alone = alone();
    let mut world = in_memory();
    world.write("a", "fox\n");
    world.write("z", "fox\n");
    let top = open(&world.inside());
    let bottom = deep_tree(&world.inside(), b"d", LEVELS);
    name((&top, "a"), (&bottom, b"bottom"));
    let mut opened = world.session();
    let session = &mut opened.session;
    let (count, done) = listed(session, &list("."));
    // Every directory that is entered but the start is an entry, and so is the one that is not.
    assert_eq!(
        (count, done.completeness),
        (ENTERED + 2, Completeness::Complete)
    );
    assert_eq!(
        (done.statistics.directories, done.statistics.too_deep),
        (ENTERED, 1)
    );
    let (count, done) = globbed(session, &glob(".", "**/[az]"));
    assert_eq!((count, done.statistics.too_deep), (2, 1));
    let (count, done) = searched(session, &search(".", "fox", SearchMode::Files));
    assert_eq!((count, done.completeness), (2, Completeness::Complete));
    assert_eq!((done.statistics.files, done.statistics.too_deep), (2, 1));
    assert_memory(&mut world, &opened, "6,000 levels");
    remove(&top);
}

#[test]
fn many_names_at_the_end_of_a_long_path_are_told_within_bounds() {
    let _alone = alone();
    let mut world = in_memory();
    world.write("one", "fox\n");
    let top = open(&world.inside());
    // 15 names of 255 bytes, and 14 slashes: what is in there has a path of 4,095 bytes.
    let mut at = open(&world.inside());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o755);
    for level in 0..15 {
        let directory = format!("{level:0255}");
        rustix::fs::mkdirat(&at, &directory, mode).unwrap();
        at = rustix::fs::openat(&at, &directory, flags, Mode::empty()).unwrap();
    }
    for n in 0..LONG_NAMES {
        name((&top, "one"), (&at, format!("{n:0255}").as_bytes()));
    }
    // In a directory there, a path is too long by one byte, or just as long as may be.
    rustix::fs::mkdirat(&at, "e", mode).unwrap();
    let further = rustix::fs::openat(&at, "e", flags, Mode::empty()).unwrap();
    name((&top, "one"), (&further, format!("{:0254}", 1).as_bytes()));
    name((&top, "one"), (&further, format!("{:0253}", 1).as_bytes()));
    let mut opened = world.session();
    let session = &mut opened.session;
    let told = 15 + LONG_NAMES + 1 + 1 + 1;
    let (count, done) = listed(session, &list("."));
    assert_eq!((count, done.completeness), (told, Completeness::Complete));
    assert_eq!(
        (done.statistics.directories, done.statistics.too_deep),
        (17, 1)
    );
    let (count, done) = globbed(session, &glob(".", "**/*7"));
    assert_eq!((count, done.statistics.too_deep), (LONG_NAMES / 10 + 1, 1));
    let content = SearchMode::Content {
        before: 0,
        after: 0,
    };
    let (count, done) = searched(session, &search(".", "fox", content));
    assert_eq!(
        (count, done.completeness),
        (LONG_NAMES + 2, Completeness::Complete)
    );
    assert_eq!(done.statistics.too_deep, 1);
    assert_memory(&mut world, &opened, "names at the end of a long path");
    drop((further, at));
    clear(&world);
}

/// Takes the long paths away: those of the host are longer than it takes.
fn clear(world: &World) {
    let top = open(&world.inside());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut levels = vec![top];
    for level in 0..15 {
        let name = format!("{level:0255}");
        let above = levels.last().unwrap();
        levels.push(rustix::fs::openat(above, &name, flags, Mode::empty()).unwrap());
    }
    let at = levels.pop().unwrap();
    let further = rustix::fs::openat(&at, "e", flags, Mode::empty()).unwrap();
    for name in [format!("{:0254}", 1), format!("{:0253}", 1)] {
        rustix::fs::unlinkat(&further, &name, AtFlags::empty()).unwrap();
    }
    rustix::fs::unlinkat(&at, "e", AtFlags::REMOVEDIR).unwrap();
    for n in 0..LONG_NAMES {
        rustix::fs::unlinkat(&at, format!("{n:0255}"), AtFlags::empty()).unwrap();
    }
    for level in (0..15).rev() {
        let above = levels.pop().unwrap();
        let name = format!("{level:0255}");
        rustix::fs::unlinkat(&above, &name, AtFlags::REMOVEDIR).unwrap();
    }
}

#[test]
fn links_in_circles_are_told_once_and_never_followed() {
    let mut world = in_memory();
    world.write("a/b/file", "fox\n");
    let link = |text: &str, at: &str| {
        std::os::unix::fs::symlink(text, world.inside().join(at)).unwrap();
    };
    link("..", "a/up");
    link("../..", "a/b/top");
    link("loop", "loop");
    link("b", "a/aside");
    link("there", "here");
    link("here", "there");
    link("/", "everything");
    let mut opened = world.session();
    let session = &mut opened.session;
    let (count, done) = listed(session, &list("."));
    assert_eq!((count, done.completeness), (10, Completeness::Complete));
    assert_eq!(done.statistics.directories, 3);
    let (count, done) = globbed(session, &glob(".", "**/file"));
    assert_eq!((count, done.completeness), (1, Completeness::Complete));
    let (count, done) = searched(session, &search(".", "fox", SearchMode::Files));
    assert_eq!((count, done.completeness), (1, Completeness::Complete));
    assert_eq!((done.statistics.not_regular, done.statistics.files), (7, 1));
}
