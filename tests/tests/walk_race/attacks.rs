//! Every attack.

use crate::scenario::{PLAIN, Scenario, alone};
use crate::tree::{FILES, INSIDE, MANY, OUTSIDE, fill};
use portcullis_client::protocol::verb::VerbSet;
use portcullis_tests::attack::{Deed, Swap, directory};
use portcullis_tests::{World, anywhere, own};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn world() -> World {
    World::new(own!("own-gate"))
}

/// A file that is there only while its directory is where nobody may look.
fn leave(directory: &OwnedFd, name: &str) {
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o644);
    let file = rustix::fs::openat(directory, name, flags, mode).unwrap();
    rustix::io::write(file, b"SECRET OUTSIDE\n").unwrap();
}

fn remove(directory: &OwnedFd, name: &str) {
    rustix::fs::unlinkat(directory, name, AtFlags::empty()).unwrap();
}

/// Moves a directory to another name, and leaves a file in `within` while it is there.
fn moved(home: (OwnedFd, &'static str), away: (OwnedFd, &'static str), within: OwnedFd) -> Swap {
    let all = Arc::new((home, away, within));
    let again = Arc::clone(&all);
    let flags = RenameFlags::NOREPLACE;
    Swap::Deed {
        make: Deed::new(move || {
            let (home, away, within) = all.as_ref();
            rustix::fs::renameat_with(&home.0, home.1, &away.0, away.1, flags).unwrap();
            leave(within, "secret-new");
        }),
        back: Deed::new(move || {
            let (home, away, within) = again.as_ref();
            remove(within, "secret-new");
            rustix::fs::renameat_with(&away.0, away.1, &home.0, home.1, flags).unwrap();
        }),
    }
}

#[test]
fn a_directory_exchanged_with_a_link_out_is_never_walked_through_it() {
    let _alone = alone();
    let mut world = world();
    fill(&world.inside().join("m/d"), FILES, "in-", INSIDE);
    fill(&world.outside().join("d"), FILES, "out-", OUTSIDE);
    std::os::unix::fs::symlink("../../outside/d", world.inside().join("m/link")).unwrap();
    Scenario {
        name: "directory <-> link out",
        starts: &[".", "m"],
        attack: |place| {
            vec![Swap::Exchange {
                directory: directory(place.join("inside/m")),
                names: ["d", "link"],
            }]
        },
        wanted: &[
            ("list", "complete, with"),
            ("glob", "complete, with"),
            ("search", "complete + not regular, with"),
        ],
        beaten: &["list", "search"],
        ..PLAIN
    }
    .run(&mut world, |order| order);
}

#[test]
fn a_directory_moved_out_of_the_root_tells_no_name_that_it_got_there() {
    let _alone = alone();
    let mut world = world();
    fill(&world.inside().join("m/d"), MANY, "in-", INSIDE);
    Scenario {
        name: "directory out of the root and in",
        starts: &[".", "m"],
        attack: |place| {
            vec![moved(
                (directory(place.join("inside/m")), "d"),
                (directory(place.join("outside")), "d"),
                directory(place.join("inside/m/d")),
            )]
        },
        wanted: &[
            ("list", "complete"),
            ("list", "complete + changed"),
            ("search", "complete"),
        ],
        beaten: &["list"],
        ..PLAIN
    }
    .run(&mut world, |order| order);
}

/// A directory, or one above it, gets a name that is denied or hidden.
fn to_private(name: &'static str, above: bool, hidden: bool) {
    let _alone = alone();
    let mut world = world();
    let leaf = if above { "m/top/mid/d" } else { "m/top" };
    fill(&world.inside().join(leaf), MANY, "in-", INSIDE);
    Scenario {
        name,
        starts: &[".", "m"],
        attack: if above {
            |place| {
                let here = || directory(place.join("inside/m"));
                let leaf = directory(place.join("inside/m/top/mid/d"));
                vec![moved((here(), "top"), (here(), "private"), leaf)]
            }
        } else {
            |place| {
                let here = || directory(place.join("inside/m"));
                let leaf = directory(place.join("inside/m/top"));
                vec![moved((here(), "top"), (here(), "private"), leaf)]
            }
        },
        denied: (!hidden).then_some("private"),
        hidden: hidden.then_some("private"),
        wanted: &[
            ("list", "complete"),
            ("search", "complete"),
            ("list", "complete + changed"),
        ],
        beaten: &["list"],
        ..PLAIN
    }
    .run(&mut world, |order| match hidden {
        true => order.hide("private", "not there", anywhere("private")),
        false => order.deny(
            "private",
            "not yours",
            VerbSet::READING,
            anywhere("private"),
        ),
    });
}

#[test]
fn a_directory_renamed_to_a_denied_name_tells_no_name_that_it_got_there() {
    to_private("directory to a denied name", false, false);
}

#[test]
fn a_directory_renamed_to_a_hidden_name_tells_no_name_that_it_got_there() {
    to_private("directory to a hidden name", false, true);
}

#[test]
fn a_directory_above_renamed_to_a_denied_name_tells_no_name_from_there() {
    to_private("directory above to a denied name", true, false);
}

#[test]
fn a_directory_above_renamed_to_a_hidden_name_tells_no_name_from_there() {
    to_private("directory above to a hidden name", true, true);
}

#[test]
fn directories_and_files_that_come_and_go_take_nothing_else_with_them() {
    let _alone = alone();
    let mut world = world();
    fill(&world.inside().join("m/d"), FILES, "in-", INSIDE);
    fill(&world.outside().join("d"), FILES, "out-", OUTSIDE);
    std::os::unix::fs::symlink("../outside/d", world.inside().join("link")).unwrap();
    Scenario {
        name: "removals",
        attack: |place| {
            let at = place.join("inside/m/gone");
            let again = at.clone();
            let comes_and_goes = Swap::Deed {
                make: Deed::new(move || fill(&at.join("deep"), FILES, "in-", INSIDE)),
                back: Deed::new(move || std::fs::remove_dir_all(&again).unwrap()),
            };
            let exchange = Swap::Deed {
                make: Deed::new(exchange(place, ("inside/m", "d"), ("inside", "link"))),
                back: Deed::new(exchange(place, ("inside/m", "d"), ("inside", "link"))),
            };
            vec![comes_and_goes, exchange]
        },
        wanted: &[("list", "complete"), ("search", "complete")],
        beaten: &["list", "search"],
        ..PLAIN
    }
    .run(&mut world, |order| order);
}

/// Exchanges two names, each in a directory of its own.
fn exchange(
    place: &Path,
    one: (&str, &'static str),
    other: (&str, &'static str),
) -> impl Fn() + Send + use<> {
    let ends = [one, other].map(|(at, name)| (directory(place.join(at)), name));
    move || {
        let [(one, name), (other, by)] = &ends;
        rustix::fs::renameat_with(one, *name, other, *by, RenameFlags::EXCHANGE).unwrap();
    }
}

fn exchanged(place: &Path, inside: &'static str, outside: &'static str) -> Swap {
    let deed = || exchange(place, ("inside/m/d", inside), ("outside", outside));
    Swap::Deed {
        make: Deed::new(deed()),
        back: Deed::new(deed()),
    }
}

/// Writes into a FIFO as long as somebody reads it.
struct Endless {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Endless {
    fn new(fifo: &Path) -> Self {
        // For both, so that it is never without a reader.
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fifo = rustix::fs::open(fifo, flags, Mode::empty()).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !asked.load(Ordering::Relaxed) {
                if rustix::io::write(&fifo, OUTSIDE.as_bytes()).is_err() {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

#[test]
fn files_exchanged_with_endless_ones_links_and_denied_ones_are_not_told_and_end() {
    let _alone = alone();
    let mut world = world();
    let (inside, outside) = (world.inside(), world.outside());
    fill(&inside.join("m/d"), FILES, "in-", INSIDE);
    std::os::unix::fs::symlink("../../../outside/secret", outside.join("link")).unwrap();
    std::fs::write(outside.join("secret"), OUTSIDE).unwrap();
    std::fs::write(outside.join("denied"), "SECRET\n").unwrap();
    let sparse = std::fs::File::create(outside.join("sparse")).unwrap();
    // Not every file system takes 1 TiB.
    let made = sparse.set_len(1 << 40).or_else(|_| sparse.set_len(1 << 32));
    made.unwrap();
    let mode = Mode::from_raw_mode(0o666);
    rustix::fs::mknodat(CWD, outside.join("fifo"), FileType::Fifo, mode, 0).unwrap();
    let _endless = Endless::new(&outside.join("fifo"));
    let object = directory_or_file(&outside.join("denied"));
    Scenario {
        name: "files <-> FIFO, sparse, link out, denied object",
        starts: &[".", "m/d"],
        attack: |place| {
            vec![
                exchanged(place, "in-010", "link"),
                exchanged(place, "in-050", "fifo"),
                exchanged(place, "in-090", "sparse"),
                exchanged(place, "in-130", "denied"),
            ]
        },
        object: Some("outside/denied"),
        wanted: &[
            ("search", "complete"),
            ("search", "complete + changed"),
            ("search", "complete + denied"),
        ],
        beaten: &["search"],
        ..PLAIN
    }
    .run(&mut world, |order| {
        order.deny_object("secret", "not yours", VerbSet::READING, object)
    });
}

fn directory_or_file(path: &Path) -> OwnedFd {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).unwrap()
}

#[test]
fn a_start_that_is_moved_about_is_told_cut_or_refused_and_shows_nothing() {
    let _alone = alone();
    let mut world = world();
    fill(&world.inside().join("m/top/mid/d"), MANY, "in-", INSIDE);
    Scenario {
        name: "the start itself",
        starts: &["m/top/mid", "m/top/mid/d"],
        attack: |place| {
            let leaf = directory(place.join("inside/m/top/mid/d"));
            vec![moved(
                (directory(place.join("inside/m")), "top"),
                (directory(place.join("outside")), "top"),
                leaf,
            )]
        },
        wanted: &[
            ("list", "complete"),
            ("list", "refused not_found"),
            ("list", "cut: changed"),
        ],
        beaten: &["list"],
        ..PLAIN
    }
    .run(&mut world, |order| order);
}
