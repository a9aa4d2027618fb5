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
            std::fs::set_permissions(inside.join(name), PermissionsExt::from_mode(0)).unwrap();
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
