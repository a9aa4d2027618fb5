//! Files that get other names, before and after other changes.

use super::{arena, chmod, create, delete, dress, edit, follow, inode, names, onto, rename, write};
use crate::changeset::set;
use crate::trial::{at, bytes, refused, surest};
use portcullis_client::change;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Expect, Onto};
use portcullis_protocol::verb::Verb;
use portcullis_tests::hostile::{Arena, census};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The content of files of an arena, by name.
fn has(arena: &Arena, files: &[(&str, &str)]) {
    for (name, content) in files {
        assert_eq!(
            bytes(arena.inside().join(name)),
            content.as_bytes(),
            "{name}"
        );
    }
}

#[test]
fn row_44_a_file_is_moved_with_edits_before_and_after() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let (had, owner) = (
        dress(inside.join("a")),
        std::fs::metadata(inside.join("a")).unwrap().gid(),
    );
    let items = vec![
        edit("a", "one", "1"),
        rename("a", "d/n"),
        edit("d/n", "two", "2"),
    ];
    let changed = follow(session, &inside, items);
    assert_eq!(names(&changed), ["a", "d/n"]);
    // As sure as an edit: its writers were held off too.
    assert_eq!(changed.guarantee, surest(&inside));
    has(&arena, &[("d/n", "1\n2\na\n")]);
    assert!(!inside.join("a").exists());
    assert_eq!(dress(inside.join("d/n")), had);
    assert_eq!(std::fs::metadata(inside.join("d/n")).unwrap().gid(), owner);
    // Without an edit it is the object itself that moves.
    let (object, had) = (inode(inside.join("b")), dress(inside.join("b")));
    follow(session, &inside, vec![rename("b", "d/m")]);
    assert_eq!(
        (inode(inside.join("d/m")), dress(inside.join("d/m"))),
        (object, had)
    );
    // Onto another one.
    let items = vec![onto("c", "d/m"), edit("d/m", "two", "2")];
    let had = dress(inside.join("c"));
    follow(session, &inside, items);
    has(&arena, &[("d/m", "one\n2\nc\n")]);
    assert_eq!(dress(inside.join("d/m")), had);
}

#[test]
fn row_44_the_difference_of_a_file_that_is_moved_and_edited_is_one() {
    let mut arena = arena();
    let mut opened = arena.session();
    let items = [rename("a", "n"), edit("n", "two", "2")];
    let plan = opened.session.plan(&set(items)).unwrap();
    let diff = String::from_utf8(plan.diff).unwrap();
    assert_eq!(
        diff,
        "diff --git a/a b/n\nrename from a\nrename to n\n--- a/a\n+++ b/n\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n a\n"
    );
}

#[test]
fn a_moved_and_edited_file_that_somebody_writes_is_left_to_him() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let before = census(&inside);
    let writer = std::fs::File::options()
        .append(true)
        .open(inside.join("a"))
        .unwrap();
    let items = [rename("a", "n"), edit("n", "two", "2")];
    let error = opened.session.change(&set(items)).unwrap_err();
    assert_eq!(portcullis_tests::code(&error), Code::Busy);
    assert_eq!(census(&inside), before);
    drop(writer);
}

#[test]
fn a_name_that_was_moved_away_is_free() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let object = inode(inside.join("a"));
    let changed = follow(
        session,
        &inside,
        vec![rename("a", "n"), write("a", "new\n")],
    );
    assert_eq!(names(&changed), ["a", "n"]);
    has(&arena, &[("a", "new\n"), ("n", "one\ntwo\na\n")]);
    assert_eq!(inode(inside.join("n")), object);
    // A chain, and each moves on in turn; what its end has gives way.
    let objects = ["a", "b"].map(|name| inode(inside.join(name)));
    let items = vec![onto("b", "c"), rename("a", "b"), create("a", "newer\n")];
    follow(session, &inside, items);
    has(
        &arena,
        &[("a", "newer\n"), ("b", "new\n"), ("c", "one\ntwo\nb\n")],
    );
    assert_eq!(["b", "c"].map(|name| inode(inside.join(name))), objects);
    // One object on its way through many names.
    let items = vec![rename("a", "p"), rename("p", "q"), rename("q", "r")];
    let changed = follow(session, &inside, items);
    assert_eq!(names(&changed), ["a", "r"]);
    has(&arena, &[("r", "newer\n")]);
}

#[test]
fn row_44_a_move_to_itself_is_none() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let had = dress(inside.join("a"));
    for own in ["a", "./a", "d/../a"] {
        let before = census(&inside);
        let mut moved = change::rename(at("a"), at(own));
        assert_eq!(
            refused(session, &set([moved.clone().into()])).code,
            Code::Exists
        );
        moved.onto = Onto::Replace(Expect::Any);
        assert_eq!(
            refused(session, &set([moved.into()])).code,
            Code::HardLinked
        );
        assert_eq!(census(&inside), before);
    }
    let items = vec![rename("a", "./a"), edit("a", "two", "2")];
    let changed = follow(session, &inside, items);
    assert_eq!(names(&changed), ["a"]);
    assert_eq!(changed.touched.as_slice()[0].verb, Verb::Edit);
    has(&arena, &[("a", "one\n2\na\n")]);
    assert_eq!(dress(inside.join("a")), had);
}

#[test]
fn a_move_onto_another_name_of_one_file_is_refused_in_a_set() {
    let mut arena = arena();
    let inside = arena.inside();
    std::fs::hard_link(inside.join("a"), inside.join("alias")).unwrap();
    let mut opened = arena.session();
    let before = census(&inside);
    for items in [
        vec![rename("a", "n"), onto("n", "alias")],
        vec![onto("alias", "a"), edit("b", "one", "1")],
    ] {
        assert_eq!(
            refused(&mut opened.session, &set(items)).code,
            Code::HardLinked
        );
    }
    assert_eq!(census(&inside), before);
}

#[test]
fn a_move_may_change_letter_case_alone() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let object = inode(inside.join("a"));
    let items = vec![rename("a", "A"), edit("b", "one", "1")];
    assert_eq!(names(&follow(session, &inside, items)), ["a", "A", "b"]);
    assert_eq!(inode(inside.join("A")), object);
    assert!(!inside.join("a").exists());
    let items = vec![rename("A", "a"), edit("a", "two", "2")];
    follow(session, &inside, items);
    has(&arena, &[("a", "one\n2\na\n")]);
}

#[test]
fn names_are_swapped_and_turned_and_never_missing() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let objects = || ["a", "b", "c"].map(|name| inode(inside.join(name)));
    let swap = || vec![rename("a", "t"), rename("b", "a"), rename("t", "b")];
    let turn = || {
        vec![
            rename("a", "t"),
            rename("c", "a"),
            rename("b", "c"),
            rename("t", "b"),
        ]
    };
    let [a, b, c] = objects();
    assert_eq!(names(&follow(session, &inside, swap())), ["a", "b"]);
    assert_eq!(objects(), [b, a, c]);
    follow(session, &inside, turn());
    assert_eq!(objects(), [c, b, a]);
    // With an edit of one that is swapped, which keeps what it had.
    let had = dress(inside.join("a"));
    let mut edited = swap();
    edited.push(edit("b", "two", "2"));
    follow(session, &inside, edited.clone());
    assert_eq!(dress(inside.join("b")), had);
    has(&arena, &[("b", "one\n2\nc\n")]);
    // Between directories.
    let items = vec![rename("a", "t"), rename("d/x", "a"), rename("t", "d/x")];
    follow(session, &inside, items);
    has(&arena, &[("a", "x\n")]);
    // Somebody who looks all the time always finds each name.
    let (stop, looks) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let look = || {
            let directory = std::fs::File::open(&inside).unwrap();
            while !stop.load(Ordering::Relaxed) {
                for name in ["a", "b", "c"] {
                    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
                    rustix::fs::statat(directory.as_fd(), name, flags)
                        .unwrap_or_else(|error| panic!("{name}: {error}"));
                    looks.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        let looking = scope.spawn(look);
        for _ in 0..50 {
            crate::trial::done(session, &set(swap()));
            crate::trial::done(session, &set(turn()));
            let odd = [
                rename("a", "t"),
                rename("b", "a"),
                rename("t", "b"),
                edit("b", "\n", "\n"),
            ];
            let mut odd: Vec<_> = odd.into();
            odd.truncate(3);
            odd.push(write("b", "new\n"));
            crate::trial::done(session, &set(odd));
        }
        stop.store(true, Ordering::Relaxed);
        looking.join().unwrap();
    });
    assert!(looks.load(Ordering::Relaxed) > 100);
}

#[test]
fn bits_and_other_changes_of_one_object_go_together() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let items = vec![
        chmod("a", 0o700),
        edit("a", "two", "2"),
        chmod("b", 0o644),
        rename("b", "n"),
    ];
    let object = inode(inside.join("b"));
    assert_eq!(names(&follow(session, &inside, items)), ["a", "b", "n"]);
    assert_eq!(dress(inside.join("a")), (0o700, Some(b"a".to_vec())));
    assert_eq!(dress(inside.join("n")), (0o644, Some(b"b".to_vec())));
    assert_eq!(inode(inside.join("n")), object);
    // Of an object that is swapped, in either order.
    let items = vec![
        rename("a", "t"),
        rename("c", "a"),
        rename("t", "c"),
        chmod("a", 0o500),
        delete("n"),
    ];
    follow(session, &inside, items);
    assert_eq!(dress(inside.join("a")), (0o500, Some(b"c".to_vec())));
    assert_eq!(dress(inside.join("c")), (0o700, Some(b"a".to_vec())));
}
