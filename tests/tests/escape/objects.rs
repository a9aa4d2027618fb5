//! Denials of objects, where they are easily shed: types and permissions that would tell that a
//! hidden object exists, links as objects, roots sealed below one, and suggestions.

use portcullis_client::{MintOrder, ask};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_tests::hostile::{Arena, every, within_bounds};
use portcullis_tests::own;
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn held(path: &Path) -> OwnedFd {
    rustix::fs::open(
        path,
        OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .unwrap()
}

#[test]
fn no_type_and_no_permission_tells_that_a_hidden_object_exists() {
    within_bounds(|| {
        let mut arena = Arena::new(own!("own-gate"));
        let inside = arena.inside();
        arena.write("closed", "content\n");
        arena.write("tree/file", "content\n");
        arena.write("open", "content\n");
        arena.link("link", "open");
        arena.link("way", "closed");
        arena.link("far", "tree/file");
        mknodat(
            CWD,
            inside.join("pipe"),
            FileType::Fifo,
            Mode::from_raw_mode(0o666),
            0,
        )
        .unwrap();
        let objects = ["closed", "tree", "pipe", "link"].map(|name| held(&inside.join(name)));
        for name in ["closed", "tree"] {
            std::fs::set_permissions(inside.join(name), PermissionsExt::from_mode(0o000)).unwrap();
        }
        let mut opened = arena.session_with(|order, _| {
            objects
                .into_iter()
                .fold(order, |order, object| order.hide_object("h", "r", object))
        });
        let session = &mut opened.session;
        for path in [
            "closed",
            "closed/",
            "closed/x",
            "closed/..",
            "way",
            "tree",
            "tree/",
            "tree/file",
            "tree/missing",
            "tree/..",
            "far",
            "pipe",
            "pipe/",
            "pipe/x",
            "link",
            "link/",
            "link/x",
            "tree/../open",
            "./closed",
            "open/../closed",
        ] {
            let all = every(session, path);
            let not_a_directory = path.starts_with("open/");
            all.refused(if not_a_directory {
                Code::NotADirectory
            } else {
                Code::NotFound
            });
        }
        // As a link too, where the name itself is the object.
        for path in ["closed", "tree", "pipe", "link", "tree/file", "pipe/x"] {
            every(session, path).refused_even_as_link(Code::NotFound);
        }
        let whole = every(session, ".");
        assert_eq!(whole.listed(), [&b"far"[..], b"open", b"way"]);
        assert_eq!(whole.globbed(), whole.listed());
        assert_eq!(whole.found(), [b"open"]);
        let done = whole.search.as_ref().unwrap().1.statistics;
        assert_eq!(
            (
                done.unreadable,
                done.directories,
                done.not_regular,
                done.denied
            ),
            (0, 1, 2, 0)
        );
        std::fs::set_permissions(inside.join("tree"), PermissionsExt::from_mode(0o755)).unwrap();
    });
}

#[test]
fn a_root_sealed_below_a_denied_object_does_not_shed_it() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("vault/a/b/file", "content\n");
    arena.write("ghost/a/file", "content\n");
    let inside = arena.inside();
    for (below, file, hidden) in [
        ("vault", "a/b/file", false),
        ("vault/a/b", "file", false),
        ("ghost/a", "file", true),
    ] {
        let root = arena.seal(&inside.join(below), "narrow");
        let order = MintOrder::new("t")
            .root(root, None)
            .grant(root, RelPath::root(), VerbSet::READING)
            .deny_object("vault", "r", VerbSet::READING, held(&inside.join("vault")))
            .hide_object("ghost", "r", held(&inside.join("ghost")));
        let (_, mut session) = arena.control.mint(&order).unwrap();
        for path in [file, "."] {
            let all = every(&mut session, path);
            if hidden {
                all.refused(Code::NotFound)
            } else {
                all.denied("vault")
            }
        }
    }
}

#[test]
fn an_object_in_two_roots_is_denied_in_both() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("a/file", "content\n");
    arena.directory("b");
    let inside = arena.inside();
    std::fs::hard_link(inside.join("a/file"), inside.join("b/other")).unwrap();
    let (a, b) = (
        arena.seal(&inside.join("a"), "a"),
        arena.seal(&inside.join("b"), "b"),
    );
    let order = MintOrder::new("t")
        .root(a, None)
        .root(b, None)
        .grant(a, RelPath::root(), VerbSet::READING)
        .grant(b, RelPath::root(), VerbSet::READING)
        .deny_object("one", "r", VerbSet::CONTENT, held(&inside.join("a/file")));
    let (minted, mut session) = arena.control.mint(&order).unwrap();
    every(&mut session, "file").content_denied("one");
    every(&mut session, "/b/other").content_denied("one");
    // A session within it keeps the denial, though its order has none.
    let order = MintOrder::new("t")
        .root(b, None)
        .grant(b, RelPath::root(), VerbSet::READING)
        .within(minted.session);
    let (_, mut session) = arena.control.mint(&order).unwrap();
    every(&mut session, "other").content_denied("one");
}

#[test]
fn a_suggestion_shows_nothing_that_a_listing_would_not() {
    let mut arena = Arena::new(own!("own-gate"));
    for path in [
        "object/a\u{a0}b",
        "unlisted/a\u{a0}b",
        "shown/a\u{a0}b",
        "vault/a\u{a0}b",
    ] {
        arena.write(path, "content\n");
    }
    let inside = arena.inside();
    let object = held(&inside.join("object/a\u{a0}b"));
    let listing = VerbSet::of(&[Verb::List, Verb::Glob]);
    let mut opened = arena.session_with(|order, root| {
        order
            .hide_object("h", "r", object)
            .deny(
                "no-list",
                "r",
                listing,
                portcullis_client::Pattern::below(root, "unlisted"),
            )
            .deny(
                "no-names",
                "r",
                listing,
                portcullis_client::Pattern::below(root, "vault/**"),
            )
    });
    let mut note = |path: &str| {
        let refused = opened
            .session
            .read_file(ask::selector(path).unwrap())
            .unwrap_err();
        let refusal = refused.refusal().unwrap();
        (refusal.code, refusal.note.clone())
    };
    assert!(note("shown/a b").1.is_some());
    for path in ["object/a b", "unlisted/a b"] {
        assert_eq!(note(path), (Code::NotFound, None), "{path}");
    }
}

#[test]
fn a_denied_object_is_denied_under_every_name_it_has() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("a/original", "content\n");
    arena.write("a/other", "content\n");
    arena.directory("b");
    let inside = arena.inside();
    std::fs::hard_link(inside.join("a/original"), inside.join("b/alias")).unwrap();
    arena.link("c", "b/alias");
    let object = held(&inside.join("a/original"));
    let mut opened =
        arena.session_with(|order, _| order.deny_object("that-one", "r", VerbSet::CONTENT, object));
    let session = &mut opened.session;
    for path in ["a/original", "b/alias", "c"] {
        every(session, path).content_denied("that-one");
    }
    every(session, "a/other").is_file("a/other", "content\n");
    // A name given to it later is one of its names too.
    std::fs::hard_link(inside.join("a/original"), inside.join("later")).unwrap();
    every(session, "later").content_denied("that-one");
    let whole = every(session, ".");
    assert_eq!(whole.found(), [b"a/other"]);
    assert_eq!(whole.search.as_ref().unwrap().1.statistics.denied, 3);
    for path in ["a/original", "b/alias", "later"] {
        let said = whole.entry(path).denied.as_ref().map(|rule| rule.as_str());
        assert_eq!(said, Some("that-one"), "{path}");
    }
}

#[test]
fn a_hidden_object_is_absent_under_every_name_it_has() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("a/original", "content\n");
    arena.write("a/other", "content\n");
    arena.write("a/tree/deep/file", "content\n");
    let inside = arena.inside();
    std::fs::hard_link(inside.join("a/original"), inside.join("alias")).unwrap();
    arena.link("way", "a/tree");
    let (file, tree) = (
        held(&inside.join("a/original")),
        held(&inside.join("a/tree")),
    );
    let mut opened = arena.session_with(|order, _| {
        order
            .hide_object("f", "r", file)
            .hide_object("t", "r", tree)
    });
    let session = &mut opened.session;
    for path in [
        "a/original",
        "alias",
        "a/original/x",
        "a/original/",
        "a/tree",
        "a/tree/",
        "way",
    ] {
        every(session, path).refused(Code::NotFound);
    }
    let whole = every(session, ".");
    assert_eq!(whole.listed(), [&b"a"[..], b"a/other", b"way"]);
    assert_eq!(whole.found(), [b"a/other"]);
}

#[test]
fn what_is_below_a_denied_or_hidden_directory_object_is_so_too() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("denied/deep/file", "content\n");
    arena.write("hidden/deep/file", "content\n");
    arena.link("way", "denied/deep");
    let inside = arena.inside();
    let objects = ["denied", "hidden"].map(|name| held(&inside.join(name)));
    let [denied, hidden] = objects;
    let mut opened = arena.session_with(|order, _| {
        order
            .deny_object("d", "r", VerbSet::READING, denied)
            .hide_object("h", "r", hidden)
    });
    let session = &mut opened.session;
    for path in [
        "denied",
        "denied/deep",
        "denied/deep/file",
        "way/file",
        "denied/../way/file",
    ] {
        every(session, path).denied("d");
    }
    for path in [
        "hidden",
        "hidden/deep",
        "hidden/deep/file",
        "hidden/missing",
        "hidden/../way",
    ] {
        every(session, path).refused(Code::NotFound);
    }
    // Under another name too: it is the object that is denied.
    std::fs::rename(inside.join("denied"), inside.join("renamed")).unwrap();
    every(session, "renamed/deep/file").denied("d");
    let whole = every(session, ".");
    assert_eq!(whole.listed(), [&b"renamed"[..], b"way"]);
    assert_eq!(whole.found(), Vec::<&[u8]>::new());
}
