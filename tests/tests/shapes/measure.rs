//! A root in memory, and what a gate needs for its answers.

use portcullis_client::protocol::bounded::Bytes;
use portcullis_client::protocol::session::{
    Done, Entry, Found, Glob, List, Passing, Search, SearchMode,
};
use portcullis_client::{Part, Session, Stream, ask};
use portcullis_tests::{Opened, World, own};
use rustix::fs::{Mode, OFlags};
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// What a gate may need at most, whatever it walks.
const MEMORY_MAX: u64 = 64 * 1024 * 1024;
/// The deepest a walk goes.
pub(crate) const DEEP: u32 = 2048;

/// Large shapes are made one after the other.
static ALONE: Mutex<()> = Mutex::new(());

pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ALONE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A world whose root is in memory where the machine has such a place: a million names take long
/// elsewhere.
pub(crate) fn in_memory() -> World {
    let mut world = World::new(own!("own-gate"));
    let mut builder = tempfile::Builder::new();
    if let Ok(place) = builder.prefix("portcullis-shape-").tempdir_in("/dev/shm") {
        std::fs::create_dir(place.path().join("inside")).unwrap();
        std::fs::create_dir(place.path().join("outside")).unwrap();
        world.place = place;
    }
    world
}

/// An open directory.
pub(crate) fn open(path: &Path) -> OwnedFd {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).unwrap()
}

/// Gives a file a further name.
pub(crate) fn name(file: (&OwnedFd, &str), to: (&OwnedFd, &[u8])) {
    let flags = rustix::fs::AtFlags::empty();
    rustix::fs::linkat(file.0, file.1, to.0, to.1, flags).unwrap();
}

pub(crate) fn list(path: &str) -> List {
    let mut list = ask::list(ask::selector(path).unwrap());
    list.depth = DEEP;
    list
}

pub(crate) fn glob(path: &str, pattern: &str) -> Glob {
    let mut glob = ask::glob(ask::selector(path).unwrap(), pattern).unwrap();
    glob.passing = Passing::nothing();
    glob
}

pub(crate) fn search(path: &str, pattern: &str, mode: SearchMode) -> Search {
    let mut search = ask::search(ask::selector(path).unwrap(), "").unwrap();
    search.pattern = Bytes::new(pattern).unwrap();
    search.passing = Passing::nothing();
    search.mode = mode;
    search
}

/// Takes an answer without keeping it.
pub(crate) fn drain<T: portcullis_client::StreamItem>(
    mut stream: Stream<'_, T>,
    mut each: impl FnMut(T),
) -> Done {
    while let Some(part) = stream.next_part() {
        match part.unwrap() {
            Part::Items(items) => items.into_iter().for_each(&mut each),
            Part::Progress(_) => {}
        }
    }
    stream.finish().unwrap()
}

/// How many entries a listing has, and how it ended.
pub(crate) fn listed(session: &mut Session, list: &List) -> (u64, Done) {
    let mut count = 0;
    let done = drain(session.list(list).unwrap(), |_: Entry| count += 1);
    (count, done)
}

pub(crate) fn globbed(session: &mut Session, glob: &Glob) -> (u64, Done) {
    let mut count = 0;
    let done = drain(session.glob(glob).unwrap(), |_: Entry| count += 1);
    (count, done)
}

/// How many things a search found; the names of files before their lines do not count.
pub(crate) fn searched(session: &mut Session, search: &Search) -> (u64, Done) {
    let mut count = 0;
    let content = matches!(search.mode, SearchMode::Content { .. });
    let done = drain(session.search(search).unwrap(), |found| match found {
        Found::File { .. } if content => {}
        Found::File { .. } | Found::Count { .. } | Found::Line(_) => count += 1,
    });
    (count, done)
}

/// The most memory the gate of a session has had is not more than it may be.
pub(crate) fn assert_memory(world: &mut World, opened: &Opened, what: &str) {
    let report = world.control.status().unwrap();
    let gate = report.sessions.as_slice().iter();
    let gate = gate.clone().find(|r| r.session == opened.id).unwrap().gate;
    let status = std::fs::read_to_string(format!("/proc/{gate}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    let told = format!("shapes: {what}: the gate had {} MiB at most\n", kib / 1024);
    std::io::stderr().write_all(told.as_bytes()).unwrap();
    assert!(kib * 1024 <= MEMORY_MAX, "{what}: {line}");
}
