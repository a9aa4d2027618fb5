//! Rows 35 to 37, 55 and 70: what happens to a root itself, and what cannot be one.

use portcullis_client::{Control, MintOrder, ask};
use portcullis_protocol::authority::{RootId, Scope};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::hostile::{Arena, every};
use portcullis_tests::{code, names, own};
use std::path::Path;

#[test]
fn row_35_a_root_that_is_renamed_stays_the_same_object() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("a/b", "the sealed one\n");
    let inside = arena.inside();
    arena.link("home", inside.canonicalize().unwrap().join("a/b"));
    let mut opened = arena.session();
    let session = &mut opened.session;
    every(session, "a/b").is_file("a/b", "the sealed one\n");
    std::fs::rename(&inside, arena.place.path().join("moved")).unwrap();
    std::fs::create_dir_all(inside.join("a")).unwrap();
    std::fs::write(inside.join("a/b"), "an impostor\n").unwrap();
    every(session, "a/b").is_file("a/b", "the sealed one\n");
    every(session, "../inside/a/b").refused_even_as_link(Code::Escape);
    // The place where it was sealed still means the root, never what lies there now.
    every(session, "home").is_file("a/b", "the sealed one\n");
    assert_eq!(names(session, ".", 3), [&b"a"[..], b"a/b", b"home"]);
}

#[test]
fn row_36_a_root_that_was_deleted_is_gone_and_does_not_come_back() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("a", "content\n");
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    every(session, "a").is_file("a", "content\n");
    std::fs::remove_dir_all(&inside).unwrap();
    every(session, "a").refused_even_as_link(Code::RootGone);
    every(session, "a/b/../c").refused_even_as_link(Code::RootGone);
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(inside.join("a"), "an impostor\n").unwrap();
    every(session, "a").refused_even_as_link(Code::RootGone);
    let root = opened.root;
    let order = MintOrder::new("tester").root(root, None);
    assert_eq!(
        code(&arena.control.mint(&order).unwrap_err()),
        Code::RootGone
    );
}

#[test]
fn row_37_a_directory_moved_out_of_the_root_cannot_be_reached_any_more() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("moving/file", "inside\n");
    arena.link("in", "moving/file");
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    every(session, "in").is_file("moving/file", "inside\n");
    std::fs::rename(inside.join("moving"), arena.place.path().join("moved")).unwrap();
    for path in ["moving", "moving/file", "in"] {
        every(session, path).refused(Code::NotFound);
    }
    assert_eq!(every(session, ".").listed(), [b"in"]);
}

#[test]
fn row_55_proc_sys_and_the_whole_tree_cannot_be_roots() {
    let mut arena = Arena::new(own!("own-gate"));
    let file = arena.outside().join("secret");
    for path in [
        "/",
        "/proc",
        "/proc/self",
        "/proc/self/root",
        "/proc/self/fd",
        "/sys",
    ] {
        let label = Label::new("r").unwrap();
        let refused = arena
            .control
            .seal_path(Path::new(path), label, Scope::External);
        assert_eq!(code(&refused.unwrap_err()), Code::CannotSeal, "{path}");
    }
    let label = Label::new("r").unwrap();
    let at_file = arena
        .control
        .seal_path(&file, label, Scope::External)
        .unwrap_err();
    assert_eq!(at_file.code_name(), "cannot_open");
}

#[test]
fn row_70_forged_revoked_and_foreign_ids_are_refused() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("a", "content\n");
    let inside = arena.inside();
    let root = arena.seal(&inside, "workspace");
    let whole = |root: RootId| {
        MintOrder::new("tester")
            .root(root, None)
            .grant(root, RelPath::root(), VerbSet::READING)
    };
    // Ids of one connection mean nothing on another.
    let mut other = Control::new(arena.warden.connect().unwrap()).unwrap();
    assert_eq!(
        code(&other.mint(&whole(root)).unwrap_err()),
        Code::UnknownRoot
    );
    for forged in [0, 2, 3, u64::MAX] {
        let forged = RootId(forged);
        if forged != root {
            let refused = arena.control.mint(&whole(forged)).unwrap_err();
            assert_eq!(code(&refused), Code::UnknownRoot);
        }
    }
    let (minted, mut session) = arena.control.mint(&whole(root)).unwrap();
    assert_eq!(
        code(&other.end(minted.session).unwrap_err()),
        Code::UnknownSession
    );
    assert_eq!(
        code(&other.mint(&whole(root).within(minted.session)).unwrap_err()),
        Code::UnknownSession
    );
    every(&mut session, "a").is_file("a", "content\n");
    // A grant on a root that is not of the order grants nothing and makes no session.
    let order = MintOrder::new("tester").root(root, None).grant(
        RootId(root.0 + 1),
        RelPath::root(),
        VerbSet::READING,
    );
    assert_eq!(
        code(&arena.control.mint(&order).unwrap_err()),
        Code::BadAuthority
    );
    // Forgotten: no new session, the running one keeps it. Ended: over at once.
    arena.control.unseal(root).unwrap();
    assert_eq!(
        code(&arena.control.mint(&whole(root)).unwrap_err()),
        Code::UnknownRoot
    );
    every(&mut session, "a").is_file("a", "content\n");
    arena.control.end(minted.session).unwrap();
    let over = session
        .stat(&ask::stat(ask::selector("a").unwrap()))
        .unwrap_err();
    assert_eq!(over.code_name(), "connection_closed");
}
