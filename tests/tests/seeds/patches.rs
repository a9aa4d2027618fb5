//! Sets of changes: every target is bound before the first is written, no two names of a set reach
//! one object, and a move binds two.

use crate::scene::{Seat, asking, at, done, one, receipts, refused, seat, world};
use portcullis_client::change::Item;
use portcullis_client::{Changes, MintOrder, change};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Expect, Onto};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_protocol::view::{PathState, Role};
use portcullis_tests::hostile::census;
use portcullis_tests::{World, rel};
use std::fs;
use std::os::unix::fs::symlink;

fn tree() -> World {
    let world = world();
    for name in [
        "one.txt",
        "two.txt",
        "three.txt",
        "closed/file.txt",
        "kept/denied.txt",
    ] {
        world.write(name, "content\n");
    }
    let inside = world.inside();
    symlink(world.outside(), inside.join("out")).unwrap();
    symlink("one.txt", inside.join("alias")).unwrap();
    symlink(".", inside.join("here")).unwrap();
    fs::hard_link(inside.join("two.txt"), inside.join("hard.txt")).unwrap();
    world
}

/// With every verb everywhere but below `closed`, and a denial.
fn free(world: &mut World) -> Seat {
    let inside = world.inside();
    let root = world.seal(&inside, "workspace");
    let mut order = MintOrder::new("tester").root(root, None);
    for name in [
        "one.txt",
        "two.txt",
        "three.txt",
        "hard.txt",
        "alias",
        "here",
        "out",
        "kept",
    ] {
        order = order.grant(root, rel(name), VerbSet::ALL);
    }
    for name in ["new.txt", "moved.txt", "dir"] {
        order = order.grant(root, rel(name), VerbSet::ALL);
    }
    let order = order.deny(
        "mine",
        "r",
        VerbSet::WRITING,
        portcullis_tests::anywhere("denied.txt"),
    );
    seat(&mut world.control, &order, root)
}

/// Changes that would all be made.
fn good() -> Vec<Item> {
    vec![
        change::create(at("new.txt"), "new\n").into(),
        change::replace(at("one.txt"), "content", "edited").into(),
        change::rename(at("three.txt"), at("moved.txt")).into(),
        change::mkdir(at("dir")).into(),
    ]
}

/// One more that cannot be: what it is, and why.
fn bad() -> Vec<(&'static str, Item, &'static [Code])> {
    vec![
        (
            "not granted",
            change::write(at("closed/file.txt"), "x").into(),
            &[Code::NotGranted],
        ),
        (
            "denied",
            change::write(at("kept/denied.txt"), "x").into(),
            &[Code::Denied],
        ),
        (
            "missing",
            change::delete(at("kept/none.txt")).into(),
            &[Code::NotFound],
        ),
        (
            "no parent",
            change::create(at("kept/none/new.txt"), "x").into(),
            &[Code::NotFound],
        ),
        (
            "out of the root",
            change::write(at("out/secret"), "x").into(),
            &[Code::Escape],
        ),
        (
            "no such text",
            change::replace(at("./two.txt"), "nowhere", "x").into(),
            &[Code::NotUnique, Code::HardLinked],
        ),
        (
            "already there",
            change::create(at("hard.txt"), "x").into(),
            &[Code::Exists, Code::HardLinked],
        ),
    ]
}

#[test]
fn every_target_binds_before_any_is_written() {
    let mut world = tree();
    let mut seat = free(&mut world);
    let before = census(world.place.path());
    for (what, item, codes) in bad() {
        for place in 0..=good().len() {
            let mut items = good();
            items.insert(place, item.clone());
            let mut changes = Changes::new();
            items.into_iter().for_each(|item| changes.push(item));
            let refusal = refused(&mut seat.session, &changes);
            assert!(
                codes.contains(&refusal.code),
                "{what} at {place}: {refusal}"
            );
            assert_eq!(census(world.place.path()), before, "{what} at {place}");
        }
    }
    assert_eq!(receipts(&mut world.control, seat.run), []);
    // The control: the others alone are made, all of them.
    let mut changes = Changes::new();
    good().into_iter().for_each(|item| changes.push(item));
    done(&mut seat.session, &changes);
    let inside = world.inside();
    assert_eq!(fs::read(inside.join("one.txt")).unwrap(), b"edited\n");
    assert!(inside.join("new.txt").exists() && inside.join("moved.txt").exists());
    assert!(inside.join("dir").is_dir() && !inside.join("three.txt").exists());
    assert_eq!(receipts(&mut world.control, seat.run).len(), 1);
}

#[test]
fn one_target_that_cannot_be_bound_makes_no_proposal_of_the_others() {
    let mut world = tree();
    let mut seat = asking(&mut world);
    let before = census(world.place.path());
    let mut changes = Changes::new();
    good().into_iter().for_each(|item| changes.push(item));
    changes.push(change::write(at("out/secret"), "x"));
    let refusal = refused(&mut seat.session, &changes);
    assert_eq!(
        (refusal.code, refusal.proposal),
        (Code::Escape, None),
        "{refusal}"
    );
    let waiting = world
        .control
        .proposals(portcullis_protocol::control::Whose::Own, 0)
        .unwrap();
    assert_eq!(waiting, []);
    assert_eq!(census(world.place.path()), before);
}

#[test]
fn two_names_of_one_object_in_one_set_are_refused() {
    let mut world = tree();
    let inside = world.inside();
    let mut opened = world.session();
    let before = census(world.place.path());
    let both = |a: &str, b: &str| {
        Changes::new()
            .with(change::chmod(at(a), 0o600))
            .with(change::chmod(at(b), 0o640))
    };
    let refusal = refused(&mut opened.session, &both("two.txt", "hard.txt"));
    assert!(
        matches!(refusal.code, Code::Collision | Code::HardLinked),
        "{refusal}"
    );
    assert_eq!(census(world.place.path()), before);
    // The control: two names of two objects.
    done(&mut opened.session, &both("one.txt", "three.txt"));
    assert!(inside.join("hard.txt").exists());
}

#[test]
fn a_move_binds_two_distinct_resources() {
    let mut world = tree();
    let mut seat = free(&mut world);
    let changed = done(
        &mut seat.session,
        &one(change::rename(
            at("./three.txt"),
            at("/workspace/moved.txt"),
        )),
    );
    let all = receipts(&mut world.control, seat.run);
    let [receipt] = all.as_slice() else {
        panic!("{all:?}");
    };
    let [source, destination] = receipt.end.touched.as_slice() else {
        panic!("{receipt:?}");
    };
    assert_eq!(changed.touched, receipt.end.touched);
    assert_eq!((source.verb, destination.verb), (Verb::Move, Verb::Move));
    assert_eq!(
        (source.role(), destination.role()),
        (Role::Source, Role::Destination)
    );
    assert_eq!(source.path, rel("three.txt"));
    assert_eq!(destination.path, rel("moved.txt"));
    let (PathState::Present(was), PathState::Present(is)) = (source.before, destination.after)
    else {
        panic!("{receipt:?}");
    };
    assert_eq!(was.stamp.unwrap().object(), is.stamp.unwrap().object());
    assert_eq!(
        (destination.before, source.after),
        (PathState::Absent, PathState::Absent)
    );
}

#[test]
fn a_move_of_an_object_onto_itself_is_refused_under_every_name() {
    let mut world = tree();
    let mut opened = world.session();
    let before = census(world.place.path());
    for (from, to) in [
        ("one.txt", "one.txt"),
        ("one.txt", "./one.txt"),
        ("one.txt", "/workspace/one.txt"),
        ("one.txt", "here/one.txt"),
        ("two.txt", "hard.txt"),
    ] {
        for onto in [Onto::Nothing, Onto::Replace(Expect::Any)] {
            let mut moved = change::rename(at(from), at(to));
            moved.onto = onto;
            let refusal = refused(&mut opened.session, &one(moved));
            assert!(
                matches!(
                    refusal.code,
                    Code::Collision | Code::Exists | Code::HardLinked
                ),
                "{from} {to} {onto:?}: {refusal}"
            );
            assert_eq!(census(world.place.path()), before, "{from} {to} {onto:?}");
        }
    }
}

#[test]
fn both_ends_of_a_move_are_to_be_granted_and_bound() {
    let mut world = tree();
    let mut seat = free(&mut world);
    let before = census(world.place.path());
    for (from, to, code) in [
        ("one.txt", "closed/moved.txt", Code::NotGranted),
        ("closed/file.txt", "moved.txt", Code::NotGranted),
        ("one.txt", "out/moved.txt", Code::Escape),
        ("kept/denied.txt", "moved.txt", Code::Denied),
        ("one.txt", "kept/none/moved.txt", Code::NotFound),
        ("kept/none.txt", "moved.txt", Code::NotFound),
    ] {
        let refusal = refused(&mut seat.session, &one(change::rename(at(from), at(to))));
        assert_eq!(refusal.code, code, "{from} {to}: {refusal}");
        assert_eq!(census(world.place.path()), before, "{from} {to}");
    }
    done(
        &mut seat.session,
        &one(change::rename(at("one.txt"), at("kept/moved.txt"))),
    );
}
