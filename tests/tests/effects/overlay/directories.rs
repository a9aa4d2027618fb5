//! Directories that are made, emptied and given other names together with what is in them.

use super::{
    arena, below, chmod, create, delete, edit, follow, inode, is_directory, link, mkdir, names,
    remove, rename, write,
};
use crate::changeset::set;
use crate::trial::{at, bytes, mode, refused};
use portcullis_client::change;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Deletion, Parents};
use portcullis_tests::hostile::census;

#[test]
fn row_41_files_are_made_below_a_directory_of_the_same_set() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let items = vec![
        mkdir("n"),
        create("n/one", "1\n"),
        mkdir("n/m"),
        create("n/m/two", "2\n"),
        write("n/three", "3\n"),
        edit("n/m/two", "2", "II"),
        link("n/m/way", "../one"),
        rename("a", "n/m/a"),
        edit("n/m/a", "two", "2"),
        rename("b", "n/b"),
        chmod("n", 0o700),
    ];
    let changed = follow(session, &inside, items);
    assert_eq!(
        names(&changed),
        [
            "n", "n/one", "n/m", "n/m/two", "n/three", "n/m/way", "a", "n/m/a", "b", "n/b"
        ]
    );
    assert_eq!(bytes(inside.join("n/m/two")), b"II\n");
    assert_eq!(bytes(inside.join("n/m/way")), b"1\n");
    assert_eq!(mode(inside.join("n")), 0o700);
    assert_eq!(
        super::dress(inside.join("n/m/a")),
        (0o640, Some(b"a".to_vec()))
    );
    // Directories on the way are made for the first that needs them.
    let mut again = change::mkdir(at("p/q"));
    again.parents = Parents::Make;
    let items = vec![
        below("p/q/one", "1\n"),
        below("p/q/two", "2\n"),
        again.into(),
        rename("p/q/one", "p/one"),
    ];
    let changed = follow(session, &inside, items);
    assert_eq!(names(&changed), ["p", "p/q", "p/q/two", "p/one"]);
    // One that is not there is not made by itself.
    let refusal = refused(session, &set([mkdir("z"), create("z/y/x", "x")]));
    assert_eq!(refusal.code, Code::NotFound);
    let refusal = refused(session, &set([mkdir("z"), mkdir("z")]));
    assert_eq!(refusal.code, Code::Exists);
}

#[test]
fn a_directory_is_deleted_with_the_files_that_were_in_it() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    let directory = || remove("d", Deletion::Directory);
    for items in [
        vec![directory(), delete("d/x"), delete("d/y")],
        vec![delete("d/x"), directory()],
        vec![
            delete("d/x"),
            delete("d/y"),
            create("d/z", "z"),
            directory(),
        ],
    ] {
        let code = refused(session, &set(items)).code;
        assert_eq!(code, Code::NotEmpty);
        assert_eq!(census(&inside), before);
    }
    let items = vec![
        delete("d/x"),
        rename("d/y", "y"),
        directory(),
        delete("tree/deep/z"),
        remove("tree/deep", Deletion::Directory),
        remove("tree", Deletion::Directory),
    ];
    let changed = follow(session, &inside, items);
    assert_eq!(
        names(&changed),
        ["d/x", "d/y", "y", "d", "tree/deep/z", "tree/deep", "tree"]
    );
    assert!(!inside.join("d").exists() && !inside.join("tree").exists());
    assert_eq!(bytes(inside.join("y")), b"y\n");
}

#[test]
fn a_file_gives_way_to_a_directory_of_its_name_and_back() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let items = vec![
        delete("a"),
        mkdir("a"),
        create("a/one", "1\n"),
        below("a/m/two", "2\n"),
    ];
    let changed = follow(session, &inside, items);
    assert_eq!(names(&changed), ["a", "a/one", "a/m", "a/m/two"]);
    assert!(is_directory(&changed.touched.as_slice()[0].after));
    assert_eq!(bytes(inside.join("a/m/two")), b"2\n");
    // The same without a word for the directory.
    follow(session, &inside, vec![delete("b"), below("b/m/one", "1\n")]);
    assert_eq!(bytes(inside.join("b/m/one")), b"1\n");
    let items = vec![
        delete("d/x"),
        delete("d/y"),
        remove("d", Deletion::Directory),
        create("d", "file\n"),
    ];
    let changed = follow(session, &inside, items);
    assert_eq!(names(&changed), ["d/x", "d/y", "d"]);
    assert_eq!(bytes(inside.join("d")), b"file\n");
    follow(
        session,
        &inside,
        vec![remove("tree", Deletion::Tree), link("tree", "d")],
    );
    assert_eq!(bytes(inside.join("tree")), b"file\n");
    // A file moved away for a directory that it goes into: neither can be first.
    let before = census(&inside);
    let knot = set([rename("c", "t"), mkdir("c"), rename("t", "c/old")]);
    assert_eq!(refused(session, &knot).code, Code::Collision);
    assert_eq!(census(&inside), before);
}

#[test]
fn directories_change_names_but_nothing_in_them_does() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for items in [
        vec![rename("d", "n"), edit("d/x", "x", "z")],
        vec![rename("d", "n"), edit("n/x", "x", "z")],
        vec![rename("d", "n"), create("n/z", "z")],
        vec![rename("d", "n"), mkdir("d")],
        vec![rename("d", "n"), below("d/z", "z")],
        vec![edit("d/x", "x", "z"), rename("d", "n")],
        vec![remove("d", Deletion::Tree), below("d/z", "z")],
        vec![edit("d/x", "x", "z"), remove("d", Deletion::Tree)],
        vec![remove("empty", Deletion::Directory), mkdir("empty")],
        vec![mkdir("n"), create("n/x", "x"), rename("n", "m")],
        vec![mkdir("n"), create("n/x", "x"), remove("n", Deletion::Tree)],
    ] {
        let refusal = refused(session, &set(items.clone()));
        assert_eq!(refusal.code, Code::Collision, "{items:?}: {refusal}");
        assert_eq!(census(&inside), before, "{items:?}");
    }
    let objects = || ["d", "tree"].map(|name| inode(inside.join(name)));
    let [d, tree] = objects();
    let items = vec![rename("d", "t"), rename("tree", "d"), rename("t", "tree")];
    assert_eq!(names(&follow(session, &inside, items)), ["d", "tree"]);
    assert_eq!(objects(), [tree, d]);
    let items = vec![
        rename("d", "n"),
        rename("n", "empty/m"),
        chmod("empty/m", 0o700),
    ];
    follow(session, &inside, items);
    assert_eq!(bytes(inside.join("empty/m/deep/z")), b"z\n");
    assert_eq!(mode(inside.join("empty/m")), 0o700);
    // One that was made in the set is no other's to wait for, and yet told as moved.
    follow(session, &inside, vec![mkdir("n"), rename("n", "m")]);
    follow(
        session,
        &inside,
        vec![rename("m", "n"), remove("n", Deletion::Tree)],
    );
    let items = vec![delete("a"), mkdir("a"), remove("a", Deletion::Tree)];
    assert_eq!(names(&follow(session, &inside, items)), ["a"]);
    let items = vec![rename("tree", "n"), remove("n", Deletion::Tree)];
    assert_eq!(names(&follow(session, &inside, items)), ["tree"]);
    assert!(!inside.join("n").exists());
}
