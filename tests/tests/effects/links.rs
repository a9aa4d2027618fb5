//! Rows 16 to 29, for what changes files: links are changed as links, or followed inside the root.

use crate::deeds::Deed;
use crate::trial::{Unprotected, at, bytes, code, done, likeness, mode, one, refused, set_mode};
use portcullis_client::change;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Deletion, Expect, Onto, Parents};
use portcullis_tests::hostile::{Arena, as_root_with_own_mounts, census, mounting_is_refused};
use portcullis_tests::own;
use std::os::unix::fs::symlink;
use std::path::Path;

fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    arena.write("real/file", "old content\n");
    arena.write("spare", "old content\n");
    arena
}

#[test]
fn row_16_26_a_write_through_a_link_inside_changes_its_target_and_keeps_the_link() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.link("last", "real/file");
    arena.link("directory", "real");
    let mut opened = arena.session();
    let session = &mut opened.session;
    let changed = done(session, &one(change::write(at("last"), "1 old\n")));
    assert_eq!(changed.touched.as_slice()[0].path.as_bytes(), b"real/file");
    assert_eq!(bytes(inside.join("real/file")), b"1 old\n");
    done(session, &Deed::Edit.changes("directory/file"));
    done(session, &Deed::Chmod.changes("last"));
    assert_eq!(bytes(inside.join("real/file")), b"1 new\n");
    assert_eq!(mode(inside.join("real/file")), 0o600);
    done(session, &Deed::Create.changes("directory/new"));
    assert!(inside.join("real/new").exists());
    for link in ["last", "directory"] {
        assert!(inside.join(link).is_symlink());
    }
    // As an object a link is replaced only where that is asked for.
    assert_eq!(
        code(session, change::rename(at("spare"), at("last"))),
        Code::Exists
    );
    let mut onto = change::rename(at("spare"), at("last"));
    onto.onto = Onto::Replace(Expect::Any);
    done(session, &one(onto));
    assert_eq!(bytes(inside.join("last")), b"old content\n");
    assert_eq!(bytes(inside.join("real/file")), b"1 new\n");
    // The control replaces the link, and what it leads to stays as it was.
    let control = Unprotected::new();
    symlink("x", control.inside().join("link")).unwrap();
    std::fs::write(control.inside().join("temporary"), "new\n").unwrap();
    std::fs::rename(
        control.inside().join("temporary"),
        control.inside().join("link"),
    )
    .unwrap();
    assert!(!control.inside().join("link").is_symlink());
    assert_eq!(bytes(control.inside().join("x")), b"old content\n");
}

#[test]
fn row_17_18_19_a_link_that_leads_out_is_followed_by_no_verb() {
    let mut arena = arena();
    let inside = arena.inside();
    let outside = arena.outside().canonicalize().unwrap();
    arena.link("file", "../outside/secret");
    arena.link("absolute", outside.join("secret"));
    arena.link("up", "..");
    arena.link("directory", &outside);
    arena.link("etc", "/etc");
    arena.link("twice", "directory");
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for name in [
        "directory/secret",
        "directory/new",
        "directory/directory",
        "directory/directory/only-outside-name",
        "up/outside/secret",
        "up/outside/new/deep/er",
        "up/new",
        "twice/secret",
        "twice/new",
        "etc/passwd",
        "etc/portcullis-new",
        "file/x",
    ] {
        for deed in Deed::ALL {
            let refusal = refused(session, &deed.changes(name));
            assert_eq!(refusal.code, Code::Escape, "{deed:?} {name}: {refusal}");
            assert_eq!(census(&inside), before, "{deed:?} {name}");
        }
    }
    for name in ["file", "absolute", "twice", "etc"] {
        for deed in [Deed::Write, Deed::Edit, Deed::Chmod] {
            let refusal = refused(session, &deed.changes(name));
            assert_eq!(refusal.code, Code::Escape, "{deed:?} {name}: {refusal}");
        }
        for deed in [
            Deed::Create,
            Deed::CreateBelow,
            Deed::Mkdir,
            Deed::MkdirBelow,
            Deed::MoveTo,
            Deed::Link,
        ] {
            let refusal = refused(session, &deed.changes(name));
            assert_eq!(refusal.code, Code::Exists, "{deed:?} {name}: {refusal}");
        }
        for deed in [Deed::DeleteTree, Deed::DeleteDirectory] {
            let refusal = refused(session, &deed.changes(name));
            assert_eq!(
                refusal.code,
                Code::NotADirectory,
                "{deed:?} {name}: {refusal}"
            );
        }
    }
    assert_eq!(census(&inside), before);
    // The control: the same links, and every deed that follows one.
    for deed in [
        Deed::Write,
        Deed::Create,
        Deed::Edit,
        Deed::Chmod,
        Deed::Delete,
        Deed::MoveFrom,
        Deed::DeleteTree,
        Deed::Mkdir,
        Deed::MoveTo,
        Deed::Link,
    ] {
        let name = match deed {
            Deed::DeleteTree => "directory/directory",
            Deed::Mkdir | Deed::MoveTo | Deed::Link => "directory/new",
            _ => "directory/secret",
        };
        let control = Unprotected::new();
        symlink("../outside", control.inside().join("directory")).unwrap();
        let before = control.census();
        deed.naive(&control.inside(), name).unwrap();
        assert_ne!(
            control.census(),
            before,
            "the control holds against {deed:?}"
        );
    }
}

#[test]
fn row_20_21_long_chains_and_circles_of_links_are_refused() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.link("self", "self");
    arena.link("two/a", "b");
    arena.link("two/b", "a");
    arena.link("l0", "real/file");
    for n in 1..=40 {
        arena.link(format!("l{n}"), format!("l{}", n - 1));
    }
    let mut opened = arena.session();
    let session = &mut opened.session;
    // 40 links are followed, as in the kernel; 41 are too many.
    done(session, &one(change::write(at("l39"), "through forty\n")));
    assert_eq!(bytes(inside.join("real/file")), b"through forty\n");
    let before = census(&inside);
    for name in ["self", "two/a", "two/b", "l40"] {
        for deed in [Deed::Write, Deed::Edit, Deed::Chmod] {
            let refusal = refused(session, &deed.changes(name));
            assert_eq!(refusal.code, Code::LinkLoop, "{deed:?} {name}");
        }
        for deed in Deed::ALL {
            let refusal = refused(session, &deed.changes(format!("{name}/x")));
            let codes = [Code::LinkLoop, Code::NotADirectory];
            assert!(
                codes.contains(&refusal.code),
                "{deed:?} {name}/x: {refusal}"
            );
        }
    }
    assert_eq!(census(&inside), before);
}

#[test]
fn row_22_23_nothing_is_made_through_a_dangling_link() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.link("dangling", "missing");
    arena.link("out", "../outside/new");
    arena.link("below", "missing/../../outside/new");
    arena.link("tree", "missing/deep");
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for name in ["dangling", "out", "below", "tree"] {
        for deed in [
            Deed::Create,
            Deed::CreateBelow,
            Deed::Mkdir,
            Deed::MkdirBelow,
            Deed::MoveTo,
            Deed::Link,
        ] {
            let refusal = refused(session, &deed.changes(name));
            assert_eq!(refusal.code, Code::Exists, "{deed:?} {name}: {refusal}");
        }
        for deed in [Deed::Write, Deed::Edit, Deed::Chmod] {
            let refusal = refused(session, &deed.changes(name));
            let codes = [Code::NotFound, Code::Escape, Code::Exists];
            assert!(codes.contains(&refusal.code), "{deed:?} {name}: {refusal}");
        }
        // `..` behind what is missing is never taken back by text; nothing is made on the way.
        for path in [
            format!("{name}/x"),
            format!("{name}/../x"),
            format!("{name}/x/../y"),
        ] {
            for deed in Deed::MAKING {
                refused(session, &deed.changes(&path));
                assert_eq!(census(&inside), before, "{deed:?} {path}");
            }
        }
    }
    for path in ["none/../x", "none/x/../../y", "none/../../outside/new"] {
        for deed in Deed::MAKING {
            refused(session, &deed.changes(path));
            assert_eq!(census(&inside), before, "{deed:?} {path}");
        }
    }
    // The control makes the target outside.
    let control = Unprotected::new();
    symlink("../outside/new", control.inside().join("out")).unwrap();
    Deed::Create.naive(&control.inside(), "out").unwrap();
    assert!(control.outside().join("new").exists());
}

#[test]
fn row_27_a_link_is_deleted_and_moved_as_a_link() {
    let mut arena = arena();
    let inside = arena.inside();
    let outside = arena.outside().canonicalize().unwrap();
    let targets = [
        Path::new("real/file").to_path_buf(),
        Path::new("real").to_path_buf(),
        outside.clone(),
        Path::new("../outside/secret").to_path_buf(),
        Path::new("missing").to_path_buf(),
    ];
    let before = likeness(&inside);
    let mut opened = arena.session();
    for target in &targets {
        symlink(target, inside.join("link")).unwrap();
        let session = &mut opened.session;
        for what in [Deletion::Directory, Deletion::Tree] {
            let mut delete = change::delete(at("link"));
            delete.what = what;
            assert_eq!(code(session, delete), Code::NotADirectory, "{target:?}");
        }
        done(session, &one(change::rename(at("link"), at("real/moved"))));
        assert_eq!(
            std::fs::read_link(inside.join("real/moved")).unwrap(),
            *target
        );
        done(session, &one(change::delete(at("real/moved"))));
        assert_eq!(likeness(&inside), before, "{target:?}");
    }
    // In a tree that goes, links go and what they lead to stays.
    for (n, target) in targets.iter().enumerate() {
        arena.link(format!("tree/l{n}"), target);
    }
    done(&mut opened.session, &Deed::DeleteTree.changes("tree"));
    assert_eq!(likeness(&inside), before);
    // The control empties a directory through a link.
    let control = Unprotected::new();
    symlink("../outside/directory", control.inside().join("link")).unwrap();
    for entry in std::fs::read_dir(control.inside().join("link")).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    assert!(!control.outside().join("directory/file").exists());
}

#[test]
fn row_28_a_mode_is_never_set_through_a_link_that_leads_out() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.link("out", "../outside/secret");
    arena.link("in", "real/file");
    let mut opened = arena.session();
    let session = &mut opened.session;
    set_mode(inside.join("real/file"), 0o640);
    let before = census(&inside);
    assert_eq!(code(session, change::chmod(at("out"), 0o777)), Code::Escape);
    assert_eq!(census(&inside), before);
    done(session, &one(change::chmod(at("in"), 0o604)));
    assert_eq!(mode(inside.join("real/file")), 0o604);
    let control = Unprotected::new();
    symlink("../outside/secret", control.inside().join("out")).unwrap();
    Deed::Chmod.naive(&control.inside(), "out").unwrap();
    assert_eq!(mode(control.outside().join("secret")), 0o600);
}

#[test]
fn row_29_a_strangers_link_in_a_sticky_directory_is_no_way_out() {
    let test = "links::row_29_a_strangers_link_in_a_sticky_directory_is_no_way_out";
    as_root_with_own_mounts(test, mounting_is_refused, || {
        let mut arena = arena();
        let inside = arena.inside();
        arena.directory("shared");
        set_mode(inside.join("shared"), 0o1777);
        arena.link("shared/theirs", "../../outside/secret");
        std::os::unix::fs::lchown(inside.join("shared/theirs"), Some(4242), Some(4242)).unwrap();
        let mut opened = arena.session();
        let session = &mut opened.session;
        let before = census(&inside);
        for deed in [Deed::Write, Deed::Edit, Deed::Chmod] {
            let refusal = refused(session, &deed.changes("shared/theirs"));
            // As the kernel does with `fs.protected_symlinks`.
            assert_eq!(refusal.code, Code::Permission, "{deed:?}");
        }
        assert_eq!(census(&inside), before);
    });
}

#[test]
fn the_text_of_a_link_leads_below_the_root_whatever_the_tree_becomes() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.directory("d/e");
    arena.link("d/in", "../real");
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    let wrong: &[(&str, &[u8])] = &[
        ("new", b"/etc/passwd"),
        ("new", b"/"),
        ("new", b"//x"),
        ("new", b".."),
        ("new", b"../outside/secret"),
        ("new", b"../inside/real"),
        ("d/new", b"../.."),
        ("d/new", b"../../outside"),
        ("d/e/new", b"../../../outside"),
        // Down and up again is only safe as long as what is gone through is no link.
        ("new", b"d/../real"),
        ("new", b"d/in/../../outside"),
        ("d/new", b"../d/../.."),
        ("new", b"./../outside"),
        ("new", b"zero\0byte"),
        ("new", b"\0"),
        ("new", b""),
    ];
    for (name, text) in wrong {
        let mut link = change::link(at(name), text).unwrap();
        let codes = [Code::Escape, Code::InvalidName];
        let shown = format!("{name} -> {}", text.escape_ascii());
        let refusal = refused(session, &one(link.clone()));
        assert!(codes.contains(&refusal.code), "{shown}: {refusal}");
        link.parents = Parents::Make;
        assert!(
            codes.contains(&refused(session, &one(link)).code),
            "{shown}"
        );
        assert_eq!(census(&inside), before, "{shown}");
    }
    let right: &[(&str, &[u8])] = &[
        ("new", b"missing"),
        ("new", b"real/file"),
        ("new", b"."),
        ("new", b"./real"),
        ("d/new", b"../real/file"),
        ("d/new", b".."),
        ("d/e/new", b"../../spare"),
        ("d/e/new", b"./.././../spare"),
        ("new", b"..x"),
        ("new", b"..."),
    ];
    for (name, text) in right {
        done(session, &one(change::link(at(name), text).unwrap()));
        let made = std::fs::read_link(inside.join(name)).unwrap();
        assert_eq!(portcullis_tests::hostile::bytes(&made), *text);
        done(session, &one(change::delete(at(name))));
    }
    // The control: a link that was made is followed by the next program.
    let control = Unprotected::new();
    symlink("../outside/secret", control.inside().join("new")).unwrap();
    std::fs::write(control.inside().join("new"), "through\n").unwrap();
    assert_eq!(bytes(control.outside().join("secret")), b"through\n");
}

#[test]
fn a_link_that_was_made_below_is_moved_no_higher_than_its_text_allows() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.directory("d/e");
    let mut opened = arena.session();
    let session = &mut opened.session;
    // Legal where it is made; one step up its text leaves the root. Moving does not rewrite it,
    // so it must be refused to follow wherever it is.
    done(
        session,
        &one(change::link(at("d/e/l"), "../../spare").unwrap()),
    );
    done(session, &one(change::rename(at("d/e/l"), at("l"))));
    let before = census(&inside);
    for deed in [Deed::Write, Deed::Edit, Deed::Chmod] {
        assert_eq!(refused(session, &deed.changes("l")).code, Code::Escape);
    }
    assert_eq!(census(&inside), before);
}
