//! What changes files, from outside: every verb does what it says, once, with a receipt.

mod changeset;
mod composed;
mod create;
mod deeds;
mod delete;
mod denied;
mod dry;
mod limits;
mod links;
mod metadata;
mod mkdir;
mod names;
mod overlay;
mod policy;
mod raw;
mod rename;
mod replace;
mod seen;
mod trial;
mod types;
mod untold;
mod uploads;

use portcullis_client::{Changes, ask, change};
use portcullis_protocol::session::{Deletion, Outcome, Parents};
use portcullis_tests::{World, own};
use std::os::unix::fs::PermissionsExt as _;

fn at(path: &str) -> portcullis_protocol::session::Selector {
    ask::selector(path).unwrap()
}

#[test]
fn every_verb_does_what_it_says() {
    let mut world = World::new(own!("own-gate"));
    world.write("old.txt", "one\ntwo\nthree\n");
    world.write("tree/a/b.txt", "x");
    world.write("tree/c.txt", "y");
    std::fs::create_dir(world.inside().join("empty")).unwrap();
    let inside = world.inside();
    let mut opened = world.session();
    let session = &mut opened.session;
    let mut run = |changes: Changes| {
        let changed = session
            .change(&changes)
            .unwrap_or_else(|e| panic!("{e:?} {changes:?}"))
            .changed;
        assert_eq!(changed.outcome, Outcome::Done, "{changed:?}");
        assert_eq!(changed.left, 0);
        changed
    };
    let changed = run(Changes::new().with(change::create(at("new.txt"), "hello\n")));
    assert_eq!(changed.receipt.number, 1);
    assert_eq!(std::fs::read(inside.join("new.txt")).unwrap(), b"hello\n");
    let mode = |path: &str| {
        std::fs::metadata(inside.join(path))
            .unwrap()
            .permissions()
            .mode()
            & 0o7777
    };
    assert_eq!(mode("new.txt"), 0o644);
    std::fs::set_permissions(
        inside.join("old.txt"),
        std::fs::Permissions::from_mode(0o750),
    )
    .unwrap();
    let changed = run(Changes::new().with(change::write(at("old.txt"), "four\n")));
    assert_eq!(changed.guarantee, trial::surest(&inside));
    assert_eq!(std::fs::read(inside.join("old.txt")).unwrap(), b"four\n");
    assert_eq!(mode("old.txt"), 0o750);
    run(Changes::new().with(change::replace(at("old.txt"), "four", "five")));
    assert_eq!(std::fs::read(inside.join("old.txt")).unwrap(), b"five\n");
    run(Changes::new().with(change::mkdir(at("made"))));
    let mut deep = change::mkdir(at("made/x/y/z"));
    deep.parents = Parents::Make;
    run(Changes::new().with(deep));
    assert!(inside.join("made/x/y/z").is_dir());
    run(Changes::new().with(change::rename(at("old.txt"), at("made/x/moved.txt"))));
    assert!(!inside.join("old.txt").exists());
    run(Changes::new().with(change::rename(at("made/x"), at("moved"))));
    assert_eq!(
        std::fs::read(inside.join("moved/moved.txt")).unwrap(),
        b"five\n"
    );
    run(Changes::new().with(change::delete(at("new.txt"))));
    assert!(!inside.join("new.txt").exists());
    let mut empty = change::delete(at("empty"));
    empty.what = Deletion::Directory;
    run(Changes::new().with(empty));
    let mut tree = change::delete(at("tree"));
    tree.what = Deletion::Tree;
    run(Changes::new().with(tree));
    assert!(!inside.join("tree").exists());
    run(Changes::new().with(change::chmod(at("moved/moved.txt"), 0o600)));
    assert_eq!(mode("moved/moved.txt"), 0o600);
    run(Changes::new().with(change::link(at("link"), "moved/moved.txt").unwrap()));
    assert_eq!(std::fs::read(inside.join("link")).unwrap(), b"five\n");
    let mut big = change::create(at("p/q/big"), vec![7; 300_000]);
    big.parents = Parents::Make;
    run(Changes::new()
        .with(big)
        .with(change::replace(at("moved/moved.txt"), "five", "six")));
    assert_eq!(
        std::fs::read(inside.join("p/q/big")).unwrap(),
        vec![7; 300_000]
    );
    let leftovers: Vec<_> = std::fs::read_dir(&inside)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert!(
        leftovers
            .iter()
            .all(|n| !n.to_str().unwrap().starts_with(".portcullis-")),
        "{leftovers:?}"
    );
}
