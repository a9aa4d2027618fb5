//! One test for each number of an answer, and one for what is in none.

use crate::measure::{listed, search, searched};
use portcullis_client::MintOrder;
use portcullis_client::protocol::bounded::{Bytes, Few};
use portcullis_client::protocol::session::{
    DotNames, Ignored, Passing, Search, SearchMode, Statistics,
};
use portcullis_client::protocol::verb::VerbSet;
use portcullis_tests::{World, anywhere, own};
use rustix::fs::{CWD, FileType, Mode};

const CONTENT: SearchMode = SearchMode::Content {
    before: 0,
    after: 0,
};

/// One number, and what makes it other than zero.
struct Reason {
    make: fn(&World),
    order: fn(MintOrder) -> MintOrder,
    /// What is passed over in both, and what else is asked of the search.
    passing: fn() -> Passing,
    change: fn(&mut Search),
    number: fn(&Statistics) -> u64,
    /// In a listing, and in a search for `fox`.
    wanted: [u64; 2],
}

const PLAIN: Reason = Reason {
    make: |_| {},
    order: |order| order,
    passing: Passing::nothing,
    change: |_| {},
    number: |_| 0,
    wanted: [0, 0],
};

impl Reason {
    fn holds(self) {
        let mut world = World::new(own!("own-gate"));
        world.write("plain/a", "fox\n");
        world.write("plain/b", "x\n");
        (self.make)(&world);
        let mut opened = world.session_with(|order, _| (self.order)(order));
        let session = &mut opened.session;
        let mut list = crate::measure::list(".");
        list.passing = (self.passing)();
        let listing = listed(session, &list).1.statistics;
        let mut wanted = search(".", "fox", CONTENT);
        wanted.passing = (self.passing)();
        (self.change)(&mut wanted);
        let search = searched(session, &wanted).1.statistics;
        let numbers = [(self.number)(&listing), (self.number)(&search)];
        assert_eq!(numbers, self.wanted, "{listing:?} {search:?}");
    }
}

fn globs<const MAX: usize>(globs: &[&str]) -> Few<Bytes<1024>, MAX> {
    let globs = globs.iter().map(|glob| Bytes::new(*glob).unwrap());
    Few::new(globs.collect()).unwrap()
}

/// Passes over nothing but what one field says.
fn only(change: impl FnOnce(&mut Passing)) -> Passing {
    let mut passing = Passing::nothing();
    change(&mut passing);
    passing
}

fn two(world: &World, file: &str, directory: &str) {
    world.write(file, "fox\n");
    world.write(format!("{directory}/a"), "fox\n");
    world.write(format!("{directory}/b"), "fox\n");
}

#[test]
fn directories_are_those_that_were_entered() {
    Reason {
        make: |world| two(world, "a", "d/e"),
        number: |n| n.directories,
        wanted: [4, 4],
        ..PLAIN
    }
    .holds();
}

#[test]
fn files_are_entries_seen_or_files_searched() {
    Reason {
        make: |world| two(world, "a", "d/e"),
        number: |n| n.files,
        wanted: [8, 5],
        ..PLAIN
    }
    .holds();
}

#[test]
fn bytes_are_those_that_were_read() {
    Reason {
        make: |world| world.write("large", "x".repeat(100_000)),
        number: |n| n.bytes,
        wanted: [0, 100_006],
        ..PLAIN
    }
    .holds();
}

#[test]
fn sent_are_entries_or_matching_lines() {
    Reason {
        make: |world| world.write("more", "fox\nx\nfox\n"),
        change: |search| {
            search.mode = SearchMode::Content {
                before: 1,
                after: 1,
            };
        },
        number: |n| n.sent,
        wanted: [4, 3],
        ..PLAIN
    }
    .holds();
}

#[test]
fn over_the_limit_of_a_file_are_lines_that_match_and_are_not_told() {
    Reason {
        make: |world| world.write("more", "fox\nx\nfox\nfox\nx\nfox\n"),
        change: |search| search.limit_per_file = 1,
        number: |n| n.over_file_limit,
        wanted: [0, 3],
        ..PLAIN
    }
    .holds();
}

#[test]
fn binary_are_files_given_up_at_a_zero_byte() {
    Reason {
        make: |world| {
            world.write("zero", "fox\0fox\n");
            world.write("late", "fox\n".repeat(100_000) + "\0");
        },
        number: |n| n.binary,
        wanted: [0, 2],
        ..PLAIN
    }
    .holds();
}

#[test]
fn too_large_are_files_over_the_size() {
    Reason {
        make: |world| world.write("large", "x".repeat(101)),
        change: |search| search.file_bytes_max = 100,
        number: |n| n.too_large,
        wanted: [0, 1],
        ..PLAIN
    }
    .holds();
}

#[test]
fn unreadable_are_those_whose_permissions_say_so() {
    use std::os::unix::fs::PermissionsExt as _;
    Reason {
        make: |world| {
            two(world, "a", "d");
            for name in ["a", "d"] {
                let nobody = std::fs::Permissions::from_mode(0o0);
                std::fs::set_permissions(world.inside().join(name), nobody).unwrap();
            }
        },
        number: |n| n.unreadable,
        wanted: [1, 2],
        ..PLAIN
    }
    .holds();
}

#[test]
fn denied_are_what_a_denial_covers_and_what_is_only_to_be_asked_for() {
    let make = |world: &World| two(world, "secret", "private");
    Reason {
        make,
        order: |order| {
            let order = order.deny("a", "no", VerbSet::READING, anywhere("secret"));
            order.deny("b", "no", VerbSet::READING, anywhere("private"))
        },
        number: |n| n.denied,
        wanted: [2, 2],
        ..PLAIN
    }
    .holds();
    Reason {
        make,
        order: |order| order.ask_pattern("a", "ask", VerbSet::READING, anywhere("private")),
        number: |n| n.denied,
        wanted: [1, 1],
        ..PLAIN
    }
    .holds();
}

#[test]
fn not_regular_are_what_is_no_file_where_one_is_wanted() {
    Reason {
        make: |world| {
            let at = |name: &str| world.inside().join(name);
            std::os::unix::fs::symlink("plain/a", at("link")).unwrap();
            std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
            for (name, kind) in [("fifo", FileType::Fifo), ("socket", FileType::Socket)] {
                let mode = Mode::from_raw_mode(0o666);
                rustix::fs::mknodat(CWD, at(name), kind, mode, 0).unwrap();
            }
        },
        number: |n| n.not_regular,
        wanted: [0, 4],
        ..PLAIN
    }
    .holds();
}

#[test]
fn version_control_are_its_directories() {
    Reason {
        make: |world| {
            for name in [".git", ".hg", "plain/.svn", "plain/.jj"] {
                world.write(format!("{name}/config"), "fox\n");
            }
            world.write("plain/deep/.git", "gitdir: elsewhere\n");
        },
        passing: || Passing {
            dot_names: DotNames::Include,
            ..Passing::usual()
        },
        number: |n| n.version_control,
        wanted: [4, 4],
        ..PLAIN
    }
    .holds();
}

#[test]
fn excluded_are_what_the_globs_of_the_request_leave_out() {
    let make = |world: &World| {
        two(world, "a.o", "build");
        world.write("a.rs", "fox\n");
    };
    Reason {
        make,
        passing: || only(|passing| passing.exclude = globs(&["*.o", "build"])),
        number: |n| n.excluded,
        wanted: [2, 2],
        ..PLAIN
    }
    .holds();
    // What `include` and the types do not take, too: all but one file.
    Reason {
        make,
        change: |search| (search.include, search.types_not) = (globs(&["*.*"]), globs(&["*.o"])),
        number: |n| n.excluded,
        wanted: [0, 5],
        ..PLAIN
    }
    .holds();
}

#[test]
fn temporaries_are_those_of_the_broker() {
    Reason {
        make: |world| world.write(format!(".portcullis-{}", "a".repeat(32)), "fox\n"),
        number: |n| n.temporaries,
        wanted: [1, 1],
        ..PLAIN
    }
    .holds();
}

#[test]
fn ignored_are_what_the_rules_cover() {
    Reason {
        make: |world| {
            two(world, "a.o", "build");
            world.write(".gitignore", "*.o\nbuild/\n");
        },
        passing: || only(|passing| passing.ignored = Ignored::Skip),
        number: |n| n.ignored,
        wanted: [2, 2],
        ..PLAIN
    }
    .holds();
}

#[test]
fn dot_names_are_those_with_a_dot() {
    Reason {
        make: |world| {
            two(world, ".a", ".d");
            world.write(".git/a", "fox\n");
        },
        passing: || only(|passing| passing.dot_names = DotNames::Skip),
        number: |n| n.dot_names,
        wanted: [3, 3],
        ..PLAIN
    }
    .holds();
}

#[test]
fn rules_left_out_are_those_of_files_that_are_too_large() {
    Reason {
        make: |world| world.write("plain/.ignore", "x\n".repeat(600_000)),
        passing: || only(|passing| passing.ignored = Ignored::Skip),
        number: |n| n.rules_left_out,
        wanted: [1, 1],
        ..PLAIN
    }
    .holds();
}

#[test]
fn the_first_of_several_reasons_counts() {
    let make = |world: &World| {
        world.write(".secret.o", "fox\n");
        world.write(".gitignore", "*.o\n");
    };
    let passing = || Passing {
        exclude: globs(&["*.o"]),
        ..Passing::usual()
    };
    for (number, wanted) in [
        ((|n| n.excluded) as fn(&Statistics) -> u64, 1),
        (|n| n.ignored, 0),
        (|n| n.dot_names, 1),
    ] {
        Reason {
            make,
            passing,
            number,
            wanted: [wanted, wanted],
            ..PLAIN
        }
        .holds();
    }
    Reason {
        make,
        passing: Passing::usual,
        number: |n| n.ignored,
        wanted: [1, 1],
        ..PLAIN
    }
    .holds();
}

/// Every answer there is, with its numbers.
fn answers(world: &mut World, order: fn(MintOrder) -> MintOrder) -> Vec<(u64, Statistics)> {
    let mut opened = world.session_with(|plain, _| order(plain));
    let session = &mut opened.session;
    let mut answers = Vec::new();
    for passing in [Passing::nothing(), Passing::usual()] {
        let mut list = crate::measure::list(".");
        list.passing = passing.clone();
        answers.push(listed(session, &list));
        for mode in [
            CONTENT,
            SearchMode::Files,
            SearchMode::FilesWithout,
            SearchMode::Count,
        ] {
            let mut search = search(".", "fox", mode);
            search.passing = passing.clone();
            answers.push(searched(session, &search));
        }
    }
    let answers = answers.into_iter();
    answers
        .map(|(count, done)| (count, done.statistics))
        .collect()
}

#[test]
fn what_is_hidden_is_in_no_number() {
    let hide: fn(MintOrder) -> MintOrder = |order| {
        order.hide("a", "not there", anywhere("*.secret")).hide(
            "b",
            "not there",
            anywhere("hidden"),
        )
    };
    let mut with = World::new(own!("own-gate"));
    let mut without = World::new(own!("own-gate"));
    for world in [&with, &without] {
        two(world, "a", "d/e");
        world.write(".dot", "fox\n");
        world.write("b.o", "fox\n");
        world.write(".gitignore", "*.o\n");
    }
    two(&with, "b.secret", "hidden");
    with.write("d/.c.secret", "fox\n");
    with.write("d/e/hidden/f.o", "fox\0\n");
    with.write("zero.secret", "fox\0\n");
    with.write("large.secret", "x".repeat(100_000));
    let mode = Mode::from_raw_mode(0o666);
    let at = with.inside().join("fifo.secret");
    rustix::fs::mknodat(CWD, at, FileType::Fifo, mode, 0).unwrap();
    std::os::unix::fs::symlink("a", with.inside().join("d/hidden")).unwrap();
    assert_eq!(answers(&mut with, hide), answers(&mut without, hide));
    // The control: without the denials the numbers are others.
    assert_ne!(
        answers(&mut with, |order| order),
        answers(&mut without, hide)
    );
}
