//! Ignore files that change, that cannot be read, and that are not below the root.

use crate::measure::list;
use portcullis_client::protocol::session::{Ignored, Passing, Statistics};
use portcullis_client::protocol::verb::VerbSet;
use portcullis_client::{MintOrder, Session};
use portcullis_tests::{World, anywhere, own, rel};
use rustix::fs::{CWD, FileType, Mode};

fn world() -> World {
    World::new(own!("own-gate"))
}

/// Names that a listing tells where ignored ones are passed over, and its numbers.
fn told(session: &mut Session, from: &str) -> (Vec<String>, Statistics) {
    let mut list = list(from);
    list.passing = Passing {
        ignored: Ignored::Skip,
        ..Passing::nothing()
    };
    let mut stream = session.list(&list).unwrap();
    let names = stream.by_ref().map(|entry| entry.unwrap().path.to_string());
    let names = names.filter(|name| !name.contains(".git") && !name.contains(".ignore"));
    let names = names.collect();
    (names, stream.finish().unwrap().statistics)
}

fn names(session: &mut Session, from: &str) -> Vec<String> {
    told(session, from).0
}

#[test]
fn a_change_of_an_ignore_file_is_seen_by_the_next_walk() {
    let mut world = world();
    world.write("a", "");
    world.write("b", "");
    world.write("d/a", "");
    let mut opened = world.session();
    let session = &mut opened.session;
    // The same object, the same size, and often the same time.
    for _ in 0..100 {
        for (rule, left) in [("a\n", vec!["b", "d"]), ("b\n", vec!["a", "d", "d/a"])] {
            world.write(".gitignore", rule);
            assert_eq!(names(session, "."), left);
        }
    }
    // Another object with the same name.
    world.write("new", "d\n");
    std::fs::rename(
        world.inside().join("new"),
        world.inside().join(".gitignore"),
    )
    .unwrap();
    assert_eq!(names(session, "."), ["a", "b"]);
    std::fs::remove_file(world.inside().join(".gitignore")).unwrap();
    assert_eq!(names(session, "."), ["a", "b", "d", "d/a"]);
    for file in [".gitignore", ".ignore"] {
        world.write(format!("d/{file}"), "a\n");
        assert_eq!(names(session, "."), ["a", "b", "d"], "{file}");
        std::fs::remove_file(world.inside().join("d").join(file)).unwrap();
        assert_eq!(names(session, "."), ["a", "b", "d", "d/a"], "{file}");
    }
    world.write(".git/info/exclude", "b\n");
    assert_eq!(names(session, "."), ["a", "d", "d/a"]);
    world.write(".git/info/exclude", "a\n");
    assert_eq!(names(session, "."), ["b", "d"]);
    std::fs::remove_dir_all(world.inside().join(".git")).unwrap();
    assert_eq!(names(session, "."), ["a", "b", "d", "d/a"]);
}

/// A world in which `.gitignore` says that `a` is ignored, made in some other way than usually, and
/// whether that holds and what is counted.
fn made(make: fn(&World), order: fn(MintOrder) -> MintOrder, holds: bool, left_out: u64) {
    let mut world = world();
    world.write("a", "");
    world.write("b", "");
    make(&world);
    let mut opened = world.session_with(|plain, _| order(plain));
    let (names, numbers) = told(&mut opened.session, ".");
    let left: &[&str] = if holds { &["b"] } else { &["a", "b"] };
    assert_eq!(names, left);
    assert_eq!(numbers.rules_left_out, left_out);
    assert_eq!(numbers.ignored, u64::from(holds));
}

fn usual(world: &World) {
    world.write(".gitignore", "a\n");
}

#[test]
fn an_ignore_file_that_is_one_holds() {
    made(usual, |order| order, true, 0);
}

#[test]
fn an_ignore_file_that_is_denied_does_not_hold_and_is_counted() {
    made(
        usual,
        |order| {
            order.deny(
                "rules",
                "not yours",
                VerbSet::READING,
                anywhere(".gitignore"),
            )
        },
        false,
        1,
    );
}

#[test]
fn an_ignore_file_that_is_hidden_does_not_hold_and_is_in_no_number() {
    made(
        usual,
        |order| order.hide("rules", "not there", anywhere(".gitignore")),
        false,
        0,
    );
}

#[test]
fn an_ignore_file_that_is_a_link_or_no_file_does_not_hold() {
    made(
        |world| {
            world.write("rules/file", "a\n");
            std::fs::rename(world.inside().join("rules"), world.outside().join("rules")).unwrap();
            let text = "../outside/rules/file";
            std::os::unix::fs::symlink(text, world.inside().join(".gitignore")).unwrap();
        },
        |order| order,
        false,
        1,
    );
    made(
        |world| {
            let fifo = world.inside().join(".gitignore");
            let mode = Mode::from_raw_mode(0o666);
            rustix::fs::mknodat(CWD, fifo, FileType::Fifo, mode, 0).unwrap();
        },
        |order| order,
        false,
        0,
    );
    made(
        |world| std::fs::create_dir(world.inside().join(".gitignore")).unwrap(),
        |order| order,
        false,
        0,
    );
}

#[test]
fn an_ignore_file_that_is_too_large_or_unreadable_does_not_hold_and_is_counted() {
    made(
        |world| world.write(".gitignore", "a\n".repeat(600_000)),
        |order| order,
        false,
        1,
    );
    made(
        |world| {
            usual(world);
            let file = world.inside().join(".gitignore");
            let nobody = std::os::unix::fs::PermissionsExt::from_mode(0o0);
            std::fs::set_permissions(file, nobody).unwrap();
        },
        |order| order,
        false,
        1,
    );
}

#[test]
fn rules_above_the_start_hold_and_nothing_above_the_root_does() {
    let mut world = world();
    for above in [".gitignore", ".ignore", ".git/info/exclude", ".rgignore"] {
        let at = world.place.path().join(above);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(at, "*\n").unwrap();
    }
    world.write(".gitignore", "*.o\n/sub/x\nsub/deep/y\n");
    world.write("sub/.ignore", "z\n!b.o\n");
    for name in [
        "a", "a.o", "b.o", "x", "z", "deep/y", "deep/x", "deep/z", "deep/a.o",
    ] {
        world.write(format!("sub/{name}"), "");
    }
    let left = ["sub/a", "sub/b.o", "sub/deep", "sub/deep/x"];
    let mut opened = world.session();
    assert_eq!(names(&mut opened.session, "sub"), left);
    assert_eq!(names(&mut opened.session, "sub/deep"), ["sub/deep/x"]);
    let whole = names(&mut opened.session, ".");
    assert_eq!(whole[1..], left);
    // What is not granted is not read.
    let inside = world.inside();
    let root = world.seal(&inside, "part");
    let order =
        MintOrder::new("tester")
            .root(root, None)
            .grant(root, rel("sub/deep"), VerbSet::ALL);
    let (_, mut session) = world.control.mint(&order).unwrap();
    let all = ["sub/deep/a.o", "sub/deep/x", "sub/deep/y", "sub/deep/z"];
    assert_eq!(names(&mut session, "sub/deep"), all);
}

#[test]
fn a_directory_that_is_ignored_is_walked_when_it_is_the_start() {
    let mut world = world();
    world.write(".gitignore", "build\n");
    world.write("build/a", "");
    let mut opened = world.session();
    // Who names it means it.
    assert_eq!(names(&mut opened.session, "build"), ["build/a"]);
    assert_eq!(names(&mut opened.session, "."), Vec::<String>::new());
}
