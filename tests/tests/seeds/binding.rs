//! What an approval is bound to: the object, or that there is none, and the directories it is in.
//! Whatever of that is another thing when it is to happen, it does not, and is never spent.

use crate::scene::{Seat, approved, asking, at, becomes, done, one, receipts, refused, world};
use portcullis_client::{Changes, change};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Parents;
use portcullis_protocol::view::{PathState, Role};
use portcullis_tests::{World, rel};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Approved, and then `happens` to the tree: refused, nothing is changed, and nothing is spent.
#[track_caller]
fn never_happens(changes: &Changes, happens: impl FnOnce(&Path), why: &str) -> (World, Seat) {
    let mut world = made();
    let mut seat = asking(&mut world);
    let id = approved(&mut world.control, &mut seat.session, changes);
    happens(&world.inside());
    let before = portcullis_tests::hostile::census(world.place.path());
    let refusal = refused(&mut seat.session, changes);
    assert_eq!(refusal.code, Code::Conflict, "{refusal}");
    let note = refusal.note.as_ref().unwrap().as_str();
    let said = note.strip_prefix("what was approved has changed since: ");
    assert!(said.unwrap().contains(why), "{note}");
    becomes(&mut world.control, id, "void");
    assert_eq!(receipts(&mut world.control, seat.run), []);
    let after = portcullis_tests::hostile::census(world.place.path());
    assert_eq!(before, after);
    (world, seat)
}

fn made() -> World {
    let world = world();
    world.write("a/b/file.txt", "content\n");
    world.write("a/b/other.txt", "other\n");
    symlink("file.txt", world.inside().join("a/b/alias")).unwrap();
    world
}

fn written() -> Changes {
    one(change::write(at("a/b/file.txt"), "new\n"))
}

fn created() -> Changes {
    one(change::create(at("a/b/new.txt"), "new\n"))
}

/// The same names with the same content, all of it other objects.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy(&path, &to);
        } else if kind.is_symlink() {
            symlink(fs::read_link(&path).unwrap(), &to).unwrap();
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

/// Something else with all the same names below it.
fn replaced(path: &Path) {
    let mut away = path.as_os_str().to_owned();
    away.push(".away");
    fs::rename(path, &away).unwrap();
    copy(Path::new(&away), path);
}

#[test]
fn what_stays_as_it_was_bound_happens() {
    for changes in [written(), created()] {
        let mut world = made();
        let mut seat = asking(&mut world);
        let id = approved(&mut world.control, &mut seat.session, &changes);
        // Neighbours are nobody's business.
        fs::write(world.inside().join("a/b/neighbour"), "new\n").unwrap();
        done(&mut seat.session, &changes);
        becomes(&mut world.control, id, "spent");
        assert_eq!(receipts(&mut world.control, seat.run).len(), 1);
    }
}

#[test]
fn a_destination_binds_absence_and_its_nearest_ancestor() {
    let mut world = made();
    let mut seat = asking(&mut world);
    let mut create = change::create(at("a/b/c/d/new.txt"), "new\n");
    create.parents = Parents::Make;
    let id = crate::scene::proposed(&mut seat.session, &one(create));
    let record = world.control.proposal(id).unwrap().record;
    let touched = record.touched.as_slice();
    let paths: Vec<_> = touched.iter().map(|t| t.path.clone()).collect();
    assert_eq!(paths, ["a/b/c", "a/b/c/d", "a/b/c/d/new.txt"].map(rel));
    for name in touched {
        assert_eq!(name.before, PathState::Absent, "{name:?}");
        assert_eq!(name.role(), Role::Target, "{name:?}");
        assert!(matches!(name.after, PathState::Present(_)), "{name:?}");
    }
}

#[test]
fn an_ancestor_that_appears_where_its_absence_was_bound_invalidates() {
    let mut create = change::create(at("a/b/c/d/new.txt"), "new\n");
    create.parents = Parents::Make;
    never_happens(
        &one(create),
        |inside| fs::create_dir(inside.join("a/b/c")).unwrap(),
        "other names",
    );
}

#[test]
fn replacing_the_root_invalidates() {
    never_happens(&written(), replaced, "root");
    never_happens(&created(), replaced, "root");
}

#[test]
fn replacing_the_target_invalidates() {
    let (world, _) = never_happens(
        &written(),
        |inside| {
            let file = inside.join("a/b/file.txt");
            fs::rename(&file, inside.join("a/b/away.txt")).unwrap();
            fs::copy(inside.join("a/b/away.txt"), &file).unwrap();
        },
        "another object",
    );
    let content = fs::read(world.inside().join("a/b/file.txt")).unwrap();
    assert_eq!(content, b"content\n");
}

#[test]
fn another_content_of_the_target_invalidates() {
    never_happens(
        &written(),
        |inside| fs::write(inside.join("a/b/file.txt"), "changed\n").unwrap(),
        "another version",
    );
}

#[test]
fn a_target_that_is_gone_invalidates() {
    let gone = |inside: &Path| fs::remove_file(inside.join("a/b/file.txt")).unwrap();
    never_happens(&written(), gone, "it is gone");
}

#[test]
fn replacing_the_parent_invalidates() {
    let parent = |inside: &Path| replaced(&inside.join("a/b"));
    never_happens(&written(), parent, "the directory it is in is another one");
    never_happens(&created(), parent, "the directory it is in is another one");
}

#[test]
fn replacing_an_ancestor_invalidates() {
    let ancestor = |inside: &Path| replaced(&inside.join("a"));
    never_happens(
        &written(),
        ancestor,
        "the directory it is in is another one",
    );
    never_happens(
        &created(),
        ancestor,
        "the directory it is in is another one",
    );
}

#[test]
fn a_new_target_where_absence_was_bound_invalidates() {
    // Written over if it were there: only the binding refuses.
    let changes = one(change::write(at("a/b/new.txt"), "new\n"));
    let (world, _) = never_happens(
        &changes,
        |inside| fs::write(inside.join("a/b/new.txt"), "theirs\n").unwrap(),
        "something of that name has appeared",
    );
    let content = fs::read(world.inside().join("a/b/new.txt")).unwrap();
    assert_eq!(content, b"theirs\n");
}

#[test]
fn retargeting_an_alias_invalidates() {
    let changes = one(change::write(at("a/b/alias"), "new\n"));
    let (world, _) = never_happens(
        &changes,
        |inside| {
            fs::remove_file(inside.join("a/b/alias")).unwrap();
            symlink("other.txt", inside.join("a/b/alias")).unwrap();
        },
        "other names",
    );
    let content = fs::read(world.inside().join("a/b/other.txt")).unwrap();
    assert_eq!(content, b"other\n");
}
