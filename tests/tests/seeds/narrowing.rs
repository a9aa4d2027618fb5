//! Children have less than their parents, and no child renews what its parent has lost.

use crate::scene::{Seat, at, done, one, refused, roots, seat, unread, world};
use portcullis_client::{Delegation, MintOrder, Session, Wishes, Words, change};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::{World, rel};
use std::fs;

fn tree() -> World {
    let world = world();
    for name in ["a/in", "a/deep/in", "ab/in", "b/in"] {
        world.write(name, "content\n");
    }
    world
}

/// On `a`, with every verb.
fn parent(world: &mut World) -> Seat {
    let inside = world.inside();
    let root = world.seal(&inside, "workspace");
    let order = MintOrder::new("tester")
        .root(root, None)
        .grant(root, rel("a"), VerbSet::ALL);
    seat(&mut world.control, &order, root)
}

fn wishes(subtree: &str) -> Wishes {
    Wishes::new("narrower").grant(Words::verbs(VerbSet::ALL), at(subtree))
}

fn delegate(session: &mut Session, subtree: &str) -> Delegation {
    session.delegate(&wishes(subtree)).unwrap()
}

/// What a child may read, of all there is.
fn reads(session: &mut Session) -> Vec<&'static str> {
    let all = ["a/in", "a/deep/in", "ab/in", "b/in"];
    let read = |name: &&str| portcullis_tests::read(session, name).is_ok();
    all.into_iter().filter(read).collect()
}

/// What was there is put away, and the same is made anew at its place.
fn replace_root(world: &World) {
    let inside = world.inside();
    fs::rename(&inside, world.place.path().join("away")).unwrap();
    for name in ["a/in", "a/deep/in", "ab/in", "b/in"] {
        world.write(name, "new\n");
    }
}

#[test]
fn a_child_narrows_to_a_descendant() {
    let mut world = tree();
    let mut parent = parent(&mut world);
    assert_eq!(reads(&mut parent.session), ["a/in", "a/deep/in"]);
    let mut child = delegate(&mut parent.session, "a/deep").session;
    assert_eq!(reads(&mut child), ["a/deep/in"]);
    assert_eq!(refused(&mut child, &written("a/in")).code, Code::NotGranted);
    done(&mut child, &written("a/deep/in"));
    let mut grandchild = delegate(&mut child, "a").session;
    assert_eq!(reads(&mut grandchild), ["a/deep/in"]);
    let within = MintOrder::new("tester")
        .root(parent.root, None)
        .grant(parent.root, rel("a/deep"), VerbSet::ALL)
        .within(parent.id);
    let mut child = seat(&mut world.control, &within, parent.root);
    assert_eq!(reads(&mut child.session), ["a/deep/in"]);
}

#[test]
fn a_child_narrows_to_one_file() {
    let mut world = tree();
    let mut parent = parent(&mut world);
    let mut child = delegate(&mut parent.session, "a/in").session;
    assert_eq!(reads(&mut child), ["a/in"]);
    done(&mut child, &written("a/in"));
    for name in ["a/deep/in", "a/new", "a"] {
        let refusal = refused(&mut child, &written(name));
        assert_eq!(refusal.code, Code::NotGranted, "{refusal}");
    }
    let reading = Wishes::new("reading").grant(Words::verbs(VerbSet::READING), at("a/in"));
    let mut reading = parent.session.delegate(&reading).unwrap().session;
    assert_eq!(reads(&mut reading), ["a/in"]);
}

fn written(name: &str) -> portcullis_client::Changes {
    one(change::write(at(name), "new\n"))
}

#[test]
fn a_child_that_wishes_for_more_has_no_more_than_its_parent() {
    let mut world = tree();
    let mut parent = parent(&mut world);
    for subtree in [".", "a"] {
        let mut child = delegate(&mut parent.session, subtree).session;
        assert_eq!(reads(&mut child), ["a/in", "a/deep/in"]);
    }
    for subtree in ["b", "ab"] {
        let mut child = delegate(&mut parent.session, subtree).session;
        assert_eq!(reads(&mut child), [""; 0]);
    }
    let whole = MintOrder::new("tester")
        .root(parent.root, None)
        .grant(parent.root, RelPath::root(), VerbSet::ALL)
        .within(parent.id);
    let mut child = seat(&mut world.control, &whole, parent.root);
    assert_eq!(reads(&mut child.session), ["a/in", "a/deep/in"]);
}

#[test]
fn a_child_of_a_worker_cannot_renew_a_replaced_root() {
    let mut world = tree();
    let mut parent = parent(&mut world);
    let mut before = delegate(&mut parent.session, "a").session;
    assert_eq!(reads(&mut before), ["a/in", "a/deep/in"], "the control");
    replace_root(&world);
    let mut child = delegate(&mut parent.session, "a").session;
    assert!(roots(&mut child).is_empty());
    assert_eq!(unread(&mut child, "a/in"), Code::NoSuchRoot);
    // Not for its child either, although that wishes for what is there now.
    let error = child.delegate(&wishes("a")).unwrap_err();
    assert_eq!(portcullis_tests::code(&error), Code::BadAuthority);
}

#[test]
fn a_child_of_a_runtime_cannot_renew_a_replaced_root_by_sealing_what_is_there_now() {
    let mut world = tree();
    let parent = parent(&mut world);
    replace_root(&world);
    let inside = world.inside();
    let fresh = world.seal(&inside, "workspace");
    let order = |root| {
        MintOrder::new("tester")
            .root(root, None)
            .grant(root, rel("a"), VerbSet::ALL)
    };
    let within = order(fresh).within(parent.id);
    let mut child = seat(&mut world.control, &within, fresh);
    assert!(roots(&mut child.session).is_empty());
    // The control: what the runtime itself seals is there for a session that is within none.
    let mut free = seat(&mut world.control, &order(fresh), fresh);
    assert_eq!(reads(&mut free.session), ["a/in", "a/deep/in"]);
}

#[test]
fn a_fresh_seal_of_the_same_directory_is_another_root() {
    let mut world = tree();
    let parent = parent(&mut world);
    let inside = world.inside();
    let fresh = world.seal(&inside, "workspace");
    let order = MintOrder::new("tester")
        .root(fresh, None)
        .grant(fresh, rel("a"), VerbSet::ALL)
        .within(parent.id);
    let mut child = seat(&mut world.control, &order, fresh);
    assert!(roots(&mut child.session).is_empty());
}

#[test]
fn equal_stale_roots_do_not_intersect() {
    let mut world = tree();
    let parent = parent(&mut world);
    // The very same root on both sides.
    let order = || {
        MintOrder::new("tester")
            .root(parent.root, None)
            .grant(parent.root, rel("a"), VerbSet::ALL)
            .within(parent.id)
    };
    let mut child = seat(&mut world.control, &order(), parent.root);
    assert_eq!(
        reads(&mut child.session),
        ["a/in", "a/deep/in"],
        "the control"
    );
    replace_root(&world);
    let mut child = seat(&mut world.control, &order(), parent.root);
    assert!(roots(&mut child.session).is_empty());
    // Nothing at its place is as much another thing as something else.
    fs::remove_dir_all(world.inside()).unwrap();
    let mut child = seat(&mut world.control, &order(), parent.root);
    assert!(roots(&mut child.session).is_empty());
    // What is put back is what was sealed.
    fs::rename(world.place.path().join("away"), world.inside()).unwrap();
    let mut child = seat(&mut world.control, &order(), parent.root);
    assert_eq!(reads(&mut child.session), ["a/in", "a/deep/in"]);
}

#[test]
fn what_ends_a_session_ends_all_within_it_and_restores_nothing() {
    let mut world = tree();
    let mut parent = parent(&mut world);
    let mut child = delegate(&mut parent.session, "a").session;
    let mut grandchild = delegate(&mut child, "a/deep").session;
    let sibling =
        MintOrder::new("tester")
            .root(parent.root, None)
            .grant(parent.root, rel("a"), VerbSet::ALL);
    let mut sibling = seat(&mut world.control, &sibling, parent.root);
    world.control.end(parent.id).unwrap();
    for session in [&mut parent.session, &mut child, &mut grandchild] {
        let error = session.read_file(at("a/deep/in")).unwrap_err();
        assert!(error.refusal().is_none(), "it is over: {error}");
    }
    assert_eq!(reads(&mut sibling.session), ["a/in", "a/deep/in"]);
    let error = world.control.continue_session(parent.id, "c").unwrap_err();
    assert_eq!(portcullis_tests::code(&error), Code::UnknownSession);
}
