//! Rows 44, 47 and 98 to 101: objects given other names.

use crate::deeds::Deed;
use crate::trial::{
    Unprotected, at, bytes, code, digest, done, likeness, no_temporaries, one, refused, stamp,
};
use portcullis_client::{MintOrder, ask, change};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Expect, Onto, Parents};
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::hostile::{Arena, as_root_with_own_mounts, census, mounting_is_refused};
use portcullis_tests::own;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};

fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    arena.write("file", "old content\n");
    arena.write("spare", "spare content\n");
    arena.write("d/e/inner", "old content\n");
    arena
}

#[test]
fn row_98_a_move_never_replaces_unless_told_what() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.directory("empty");
    arena.link("link", "spare");
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for (from, to) in [
        ("file", "spare"),
        ("file", "empty"),
        ("file", "d"),
        ("file", "link"),
        ("link", "file"),
        ("d", "empty"),
        ("d", "file"),
        ("empty", "d/e"),
        ("file", "file"),
        ("d", "d"),
    ] {
        let refusal = refused(session, &one(change::rename(at(from), at(to))));
        assert_eq!(refusal.code, Code::Exists, "{from} to {to}: {refusal}");
        assert!(refusal.current.is_some());
        // A directory is never replaced, and no directory replaces anything.
        if [from, to]
            .iter()
            .any(|name| ["d", "empty", "d/e"].contains(name))
        {
            let mut onto = change::rename(at(from), at(to));
            onto.onto = Onto::Replace(Expect::Any);
            let codes = [Code::Exists, Code::HardLinked, Code::OutOfRange];
            let refusal = refused(session, &one(onto));
            assert!(codes.contains(&refusal.code), "{from} onto {to}: {refusal}");
        }
        assert_eq!(census(&inside), before, "{from} to {to}");
    }
    for expect in [
        Expect::Absent,
        Expect::Content(digest("other")),
        Expect::Version(stamp(session, "file")),
    ] {
        let mut onto = change::rename(at("file"), at("spare"));
        onto.onto = Onto::Replace(expect);
        let refusal = refused(session, &one(onto));
        let codes = [Code::Conflict, Code::Exists];
        assert!(codes.contains(&refusal.code), "{expect:?}: {refusal}");
        assert_eq!(
            refusal.current.as_deref().copied(),
            Some(stamp(session, "spare"))
        );
    }
    let mut onto = change::rename(at("file"), at("gone"));
    onto.onto = Onto::Replace(Expect::Content(digest("other")));
    assert_eq!(code(session, onto), Code::Conflict);
    assert_eq!(census(&inside), before);
    let mut onto = change::rename(at("file"), at("spare"));
    onto.onto = Onto::Replace(Expect::Content(digest("spare content\n")));
    done(session, &one(onto));
    assert_eq!(bytes(inside.join("spare")), b"old content\n");
    assert!(!inside.join("file").exists());
    no_temporaries(&inside);
    // The control replaces whatever is there.
    let control = Unprotected::new();
    std::fs::rename(control.inside().join("spare"), control.inside().join("x")).unwrap();
    assert!(!control.inside().join("spare").exists());
}

#[test]
fn row_99_a_directory_is_not_moved_into_itself() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.link("way", "d/e");
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for to in [
        "d/x",
        "d/e/x",
        "d/e/inner/x",
        "d/none/x",
        "way/x",
        "./d/../d/x",
    ] {
        let mut rename = change::rename(at("d"), at(to));
        for parents in [Parents::Exist, Parents::Make] {
            rename.parents = parents;
            let refusal = refused(session, &one(rename.clone()));
            let codes = [Code::OutOfRange, Code::NotADirectory, Code::NotFound];
            assert!(codes.contains(&refusal.code), "d to {to}: {refusal}");
            assert_eq!(census(&inside), before, "d to {to}");
        }
    }
    // The control: copied and deleted, as a move between file systems is, the tree is gone.
    let control = Unprotected::new();
    let (from, to) = (control.inside().join("a"), control.inside().join("a/copy"));
    std::fs::create_dir(&to).unwrap();
    std::fs::copy(from.join("b"), to.join("b")).unwrap();
    std::fs::remove_dir_all(&from).unwrap();
    assert!(!control.inside().join("a").exists());
}

#[test]
fn row_100_a_move_onto_another_name_of_one_file_is_refused_and_said() {
    let mut arena = arena();
    let inside = arena.inside();
    std::fs::hard_link(inside.join("file"), inside.join("d/alias")).unwrap();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for (from, to) in [("file", "d/alias"), ("d/alias", "file"), ("file", "file")] {
        let mut onto = change::rename(at(from), at(to));
        onto.onto = Onto::Replace(Expect::Any);
        assert_eq!(code(session, onto), Code::HardLinked, "{from} onto {to}");
    }
    assert_eq!(census(&inside), before);
    // The control: the kernel says it is done, and both names are there.
    std::fs::rename(inside.join("file"), inside.join("d/alias")).unwrap();
    assert!(inside.join("file").exists() && inside.join("d/alias").exists());
}

#[test]
fn row_101_a_source_that_is_another_by_now_is_a_conflict() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let seen = stamp(session, "file");
    std::fs::rename(inside.join("spare"), inside.join("file")).unwrap();
    let before = census(&inside);
    let mut rename = change::rename(at("file"), at("free"));
    rename.expect = Expect::Version(seen);
    let refusal = refused(session, &one(rename));
    assert_eq!(refusal.code, Code::Conflict);
    assert_eq!(
        refusal.current.as_deref().copied(),
        Some(stamp(session, "file"))
    );
    assert_eq!(census(&inside), before);
    // The control moves what it never saw.
    std::fs::rename(inside.join("file"), inside.join("free")).unwrap();
    assert_eq!(bytes(inside.join("free")), b"spare content\n");
}

#[test]
fn row_47_66_nothing_is_moved_or_linked_between_roots() {
    let mut arena = arena();
    let inside = arena.inside();
    std::fs::create_dir_all(arena.place.path().join("second/d")).unwrap();
    let second = arena.place.path().join("second");
    std::fs::write(second.join("theirs"), "old content\n").unwrap();
    let (first_id, second_id) = (arena.seal(&inside, "first"), arena.seal(&second, "second"));
    for verbs in [VerbSet::ALL, VerbSet::READING] {
        let order = MintOrder::new("t")
            .root(first_id, None)
            .root(second_id, None)
            .grant(first_id, RelPath::root(), VerbSet::ALL)
            .grant(second_id, RelPath::root(), verbs);
        let (_, mut session) = arena.control.mint(&order).unwrap();
        let before = (census(&inside), census(&second));
        let other = |path: &str| ask::selector_in(Label::new("second").unwrap(), path).unwrap();
        let expected: &[Code] = if verbs == VerbSet::ALL {
            &[Code::Unsupported]
        } else {
            &[Code::NotGranted]
        };
        for (from, to) in [
            (at("file"), other("new")),
            (other("theirs"), at("new")),
            (at("d"), other("new")),
            (other("d"), at("new")),
            (at("/first/file"), at("/second/new")),
        ] {
            let refusal = refused(&mut session, &one(change::rename(from, to)));
            assert!(expected.contains(&refusal.code), "{refusal}");
        }
        let absolute = second.canonicalize().unwrap().join("theirs");
        let text = portcullis_tests::hostile::bytes(&absolute).to_vec();
        assert_eq!(
            code(&mut session, change::link(at("l"), text).unwrap()),
            Code::Escape
        );
        assert_eq!(
            code(
                &mut session,
                change::link(at("l"), "../second/theirs").unwrap()
            ),
            Code::Escape
        );
        assert_eq!((census(&inside), census(&second)), before);
    }
    // The control.
    std::fs::rename(second.join("theirs"), inside.join("naive")).unwrap();
    assert!(inside.join("naive").exists());
}

#[test]
fn row_44_a_mount_point_is_neither_moved_nor_removed() {
    let test = "rename::row_44_a_mount_point_is_neither_moved_nor_removed";
    as_root_with_own_mounts(test, mounting_is_refused, || {
        let mut arena = arena();
        let inside = arena.inside();
        arena.directory("mounted");
        arena.directory("d/deep");
        let mut opened = arena.session();
        let session = &mut opened.session;
        let at_once = [inside.join("mounted"), inside.join("d/deep")];
        for place in &at_once {
            mount(
                "tmpfs",
                place,
                "tmpfs",
                MountFlags::empty(),
                None::<&std::ffi::CStr>,
            )
            .unwrap();
            std::fs::write(place.join("file"), "old content\n").unwrap();
        }
        mount_bind(inside.join("spare"), inside.join("file")).unwrap();
        let before = likeness(&inside);
        for name in [
            "mounted",
            "file",
            "mounted/file",
            "mounted/new",
            "mounted/new/deep",
            "d/deep",
        ] {
            for deed in Deed::ALL {
                let refusal = refused(session, &deed.changes(name));
                assert_eq!(
                    refusal.code,
                    Code::MountCrossing,
                    "{deed:?} {name}: {refusal}"
                );
                assert_eq!(likeness(&inside), before, "{deed:?} {name}");
            }
        }
        // A tree that has one below it stays whole: row 45.
        for deed in [Deed::DeleteTree, Deed::MoveFrom] {
            let refusal = refused(session, &deed.changes("d"));
            assert_eq!(refusal.code, Code::MountCrossing, "{deed:?}: {refusal}");
            assert_eq!(likeness(&inside), before, "{deed:?}");
        }
        // The control goes into the mount and deletes what is there.
        std::fs::remove_dir_all(inside.join("d")).unwrap_err();
        assert!(!inside.join("d/deep/file").exists());
        for place in [&at_once[0], &at_once[1], &inside.join("file")] {
            unmount(place, UnmountFlags::DETACH).unwrap();
        }
        no_temporaries(&inside);
    });
}

#[test]
fn a_move_makes_directories_on_the_way_and_takes_them_back() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let mut rename = change::rename(at("file"), at("p/q/file"));
    assert_eq!(code(session, rename.clone()), Code::NotFound);
    rename.parents = Parents::Make;
    let changed = done(session, &one(rename));
    assert_eq!(changed.touched.as_slice().len(), 4, "{changed:?}");
    assert_eq!(bytes(inside.join("p/q/file")), b"old content\n");
    let mut rename = change::rename(at("missing"), at("r/s"));
    rename.parents = Parents::Make;
    assert_eq!(code(session, rename), Code::NotFound);
    assert!(!inside.join("r").exists());
}
