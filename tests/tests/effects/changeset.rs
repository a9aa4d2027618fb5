//! Row 95 and its like: many changes, all of them or none.

use crate::trial::{
    Unprotected, at, bytes, digest, done, failed, likeness, no_temporaries, refused, set_mode,
};
use portcullis_client::change::Item;
use portcullis_client::{Changes, change};
use portcullis_protocol::limits::CHANGES_MAX;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Deletion, Expect, Onto, Parents};
use portcullis_tests::hostile::{Arena, census};
use portcullis_tests::own;

pub fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    for name in [
        "one", "two", "three", "four", "d/inner", "tree/a/b", "tree/c",
    ] {
        arena.write(name, format!("old content of {name}\nsecond line\n"));
    }
    arena.directory("empty");
    arena.directory("shut");
    arena
}

fn tree(name: &str) -> Item {
    let mut delete = change::delete(at(name));
    delete.what = Deletion::Tree;
    delete.into()
}

pub fn below(name: &str) -> Item {
    let mut create = change::create(at(name), "made\n");
    create.parents = Parents::Make;
    create.into()
}

/// One of everything.
pub fn everything() -> Vec<Item> {
    let mut directory = change::delete(at("empty"));
    directory.what = Deletion::Directory;
    let mut onto = change::rename(at("three"), at("four"));
    onto.onto = Onto::Replace(Expect::Any);
    vec![
        change::create(at("new"), "made\n").into(),
        change::write(at("one"), "written\n").into(),
        change::replace(at("two"), "old", "new").into(),
        change::mkdir(at("made")).into(),
        below("p/q/file"),
        onto.into(),
        change::rename(at("d"), at("moved")).into(),
        tree("tree"),
        directory.into(),
        change::link(at("link"), "one").unwrap().into(),
    ]
}

pub fn set(items: impl IntoIterator<Item = Item>) -> Changes {
    let mut changes = Changes::new();
    items.into_iter().for_each(|item| changes.push(item));
    changes
}

#[test]
fn row_95_a_failure_at_any_place_takes_back_all_that_was_made() {
    let mut arena = arena();
    let inside = arena.inside();
    set_mode(inside.join("shut"), 0o555);
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = likeness(&inside);
    let all = everything();
    for place in 0..=all.len() {
        let mut items = all.clone();
        // Nothing says beforehand that this one cannot be made.
        items.insert(place, change::mkdir(at("shut/x")).into());
        let (code, changed) = failed(session, &set(items));
        assert_eq!(code, Code::Permission, "at {place}");
        assert!(changed.refusal.unwrap().object.is_some());
        assert_eq!(likeness(&inside), before, "at {place}");
        no_temporaries(&inside);
    }
    // Each alone before it, too, in both orders.
    for item in &all {
        for first in [true, false] {
            let mut items = vec![item.clone(), change::mkdir(at("shut/x")).into()];
            if !first {
                items.reverse();
            }
            failed(session, &set(items));
            assert_eq!(likeness(&inside), before, "{item:?}");
        }
    }
    set_mode(inside.join("shut"), 0o755);
    done(session, &set(all));
    no_temporaries(&inside);
    for (name, content) in [
        ("new", "made\n"),
        ("one", "written\n"),
        ("p/q/file", "made\n"),
        ("link", "written\n"),
        ("moved/inner", "old content of d/inner\nsecond line\n"),
        ("four", "old content of three\nsecond line\n"),
        ("two", "new content of two\nsecond line\n"),
    ] {
        assert_eq!(bytes(inside.join(name)), content.as_bytes(), "{name}");
    }
    for gone in ["three", "d", "tree", "empty"] {
        assert!(
            std::fs::symlink_metadata(inside.join(gone)).is_err(),
            "{gone}"
        );
    }
    // The control stops half-way.
    let control = Unprotected::new();
    std::fs::write(control.inside().join("x"), "new\n").unwrap();
    std::fs::create_dir(control.inside().join("spare/x")).unwrap_err();
    assert_eq!(bytes(control.inside().join("x")), b"new\n");
}

#[test]
fn a_refusal_at_any_place_is_before_any_change() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    let all = everything();
    let mut stale = change::write(at("shut/none"), "x");
    stale.expect = Expect::Content(digest("other"));
    let wrong: Vec<(Item, Code)> = vec![
        (
            change::write(at("../outside/new"), "x").into(),
            Code::Escape,
        ),
        (change::write(at(".git/config"), "x").into(), Code::Denied),
        (change::delete(at("none")).into(), Code::NotFound),
        (
            change::replace(at("d/inner"), "no such text", "x").into(),
            Code::NotUnique,
        ),
        (stale.into(), Code::Conflict),
        (
            change::chmod(at("d/inner"), 0o4755).into(),
            Code::OutOfRange,
        ),
        (change::link(at("l"), "/etc").unwrap().into(), Code::Escape),
        (change::mkdir(at("shut/none/x")).into(), Code::NotFound),
    ];
    for (item, code) in wrong {
        for place in [0, all.len() / 2, all.len()] {
            let mut items = all.clone();
            // `d` is moved by the set: what concerns a name below it is alone in its own.
            items.retain(|other| !matches!(other, Item::Move(_)));
            items.insert(place.min(items.len()), item.clone());
            assert_eq!(
                refused(session, &set(items)).code,
                code,
                "{item:?} at {place}"
            );
            assert_eq!(census(&inside), before, "{item:?} at {place}");
        }
    }
    assert!(session.change(&Changes::new()).is_err());
}

#[test]
fn changes_of_one_set_may_not_meet() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.link("way", "d");
    std::fs::hard_link(inside.join("three"), inside.join("alias")).unwrap();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    let edit = |name: &str| Item::from(change::replace(at(name), "old", "new"));
    let delete = |name: &str| Item::from(change::delete(at(name)));
    let rename = |from: &str, to: &str| Item::from(change::rename(at(from), at(to)));
    let pairs: Vec<(&str, Item, Item)> = vec![
        (
            "one new name",
            change::create(at("n"), "x").into(),
            change::mkdir(at("n")).into(),
        ),
        (
            "one new name",
            change::create(at("n"), "x").into(),
            rename("one", "n"),
        ),
        (
            "one new name",
            change::mkdir(at("n")).into(),
            change::link(at("n"), "one").unwrap().into(),
        ),
        ("source and target", rename("one", "n"), edit("one")),
        ("two sources", rename("one", "n"), rename("one", "m")),
        ("two destinations", rename("one", "n"), rename("two", "n")),
        ("there and back", rename("one", "n"), rename("n", "one")),
        (
            "made and taken back",
            change::create(at("n"), "x").into(),
            delete("n"),
        ),
        (
            "an object by a hard link",
            rename("three", "n"),
            delete("alias"),
        ),
        ("an object by a hard link", delete("three"), delete("alias")),
        ("below what is moved", rename("d", "n"), edit("d/inner")),
        ("below what is moved", edit("d/inner"), rename("d", "n")),
        (
            "below what is moved",
            rename("d", "n"),
            change::create(at("d/x"), "x").into(),
        ),
        (
            "below what is moved, by a link",
            rename("d", "n"),
            edit("way/inner"),
        ),
        ("below what is removed", tree("tree"), edit("tree/c")),
        ("below what is removed", delete("tree/c"), tree("tree")),
        (
            "out of what is removed",
            tree("tree"),
            rename("tree/c", "n"),
        ),
        (
            "into what is removed",
            tree("tree"),
            rename("one", "tree/n"),
        ),
        (
            "into what is moved",
            rename("tree", "n"),
            rename("one", "tree/a/n"),
        ),
        (
            "one in the other",
            rename("tree", "n"),
            rename("tree/a", "m"),
        ),
        ("one in the other", tree("tree"), tree("tree/a")),
    ];
    for (why, a, b) in pairs {
        let refusal = refused(session, &set([a.clone(), b.clone()]));
        // Each is judged by what the one before it leaves.
        let codes = match why {
            "one new name" | "two destinations" => &[Code::Exists][..],
            "source and target" | "two sources" => &[Code::NotFound],
            _ => &[Code::Collision],
        };
        assert!(
            codes.contains(&refusal.code),
            "{why}: {a:?} {b:?}: {refusal}"
        );
        assert_eq!(census(&inside), before, "{why}");
    }
    // The control: what comes second wins, and the first is lost.
    let control = Unprotected::new();
    for content in ["first\n", "second\n"] {
        std::fs::write(control.inside().join("x"), content).unwrap();
    }
    assert_eq!(bytes(control.inside().join("x")), b"second\n");
}

#[test]
fn the_largest_set_is_made_whole_and_a_larger_one_is_none() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let many = |n: usize| set((0..n).map(|n| change::create(at(format!("d/{n}")), "x").into()));
    let before = census(&inside);
    let over = session.change(&many(CHANGES_MAX + 1)).unwrap_err();
    assert_eq!(over.changed(), portcullis_client::Changed::Unchanged);
    assert_eq!(census(&inside), before);
    let changed = done(session, &many(CHANGES_MAX));
    assert_eq!(changed.touched.as_slice().len(), CHANGES_MAX);
    assert_eq!(
        std::fs::read_dir(inside.join("d")).unwrap().count(),
        CHANGES_MAX + 1
    );
    // The last of them cannot be made: none is.
    let before = likeness(&inside);
    set_mode(inside.join("shut"), 0o555);
    let mut items: Vec<Item> = (0..CHANGES_MAX - 1)
        .map(|n| change::write(at(format!("d/{n}")), "y").into())
        .collect();
    items.push(change::mkdir(at("shut/x")).into());
    failed(session, &set(items));
    set_mode(inside.join("shut"), 0o755);
    assert_eq!(likeness(&inside), before);
    no_temporaries(&inside);
}
