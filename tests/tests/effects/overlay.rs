//! Rows 41, 44, 46, 50 and their like: changes of one set that follow each other on one name. Only
//! what all of them leave is made, told and taken back.

mod directories;
mod files;
mod follow;
mod moves;
mod rights;

use crate::changeset::set;
use crate::dry::as_planned;
use crate::trial::{at, no_temporaries, set_mode};
use portcullis_client::change::Item;
use portcullis_client::{Session, change};
use portcullis_protocol::session::{Changed, Deletion, Expect, Onto, Parents};
use portcullis_protocol::view::{Kind, PathState};
use portcullis_tests::hostile::Arena;
use portcullis_tests::tree::{self, kind_of};
use portcullis_tests::{os, own};
use rustix::fs::{XattrFlags, getxattr, setxattr};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Files of three kinds of bits, with an attribute each; directories with and without something.
fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    for (name, mode) in [("a", 0o640), ("b", 0o600), ("c", 0o755)] {
        arena.write(name, format!("one\ntwo\n{name}\n"));
        let path = arena.inside().join(name);
        set_mode(&path, mode);
        setxattr(&path, "user.note", name.as_bytes(), XattrFlags::empty()).unwrap();
    }
    arena.write("d/x", "x\n");
    arena.write("d/y", "y\n");
    arena.write("tree/deep/z", "z\n");
    arena.directory("empty");
    arena
}

/// Does a set, after a dry run that says the same. Every name is told once, and as it is.
#[track_caller]
fn follow(session: &mut Session, inside: &Path, items: Vec<Item>) -> Changed {
    let changes = set(items);
    let before = tree::Tree::read(inside);
    let (_, changed) = as_planned(session, inside, &changes);
    let after = tree::Tree::read(inside);
    let mut told = std::collections::BTreeSet::new();
    for touched in changed.touched.as_slice() {
        let path = Path::new(os(touched.path.as_bytes()));
        assert!(told.insert(path), "told twice: {touched:?}");
        let (was, is) = (before.at(path), after.at(path));
        assert!(touched.before.agrees(&was), "{touched:?} was {was:?}");
        assert!(touched.after.agrees(&is), "{touched:?} is {is:?}");
    }
    for (path, was) in &before.names {
        let is_told = told.iter().any(|top| path.starts_with(top));
        assert!(is_told || after.at(path) == *was, "{path:?} is not told");
    }
    no_temporaries(inside);
    changed
}

/// The names of a receipt.
fn names(changed: &Changed) -> Vec<&str> {
    let all = changed.touched.as_slice().iter();
    all.map(|one| std::str::from_utf8(one.path.as_bytes()).unwrap())
        .collect()
}

/// What a file has beside its content: which it is like.
fn dress(path: impl AsRef<Path>) -> (u32, Option<Vec<u8>>) {
    let path = path.as_ref();
    let mut room = vec![0; 64];
    let note = getxattr(path, "user.note", room.as_mut_slice());
    let mode = std::fs::symlink_metadata(path).unwrap().mode() & 0o7777;
    (mode, note.ok().map(|len| room[..len].to_vec()))
}

fn inode(path: impl AsRef<Path>) -> u64 {
    std::fs::symlink_metadata(path).unwrap().ino()
}

fn is_directory(state: &PathState) -> bool {
    kind_of(state) == Some(Kind::Directory)
}

fn write(name: &str, content: &str) -> Item {
    change::write(at(name), content).into()
}

fn create(name: &str, content: &str) -> Item {
    change::create(at(name), content).into()
}

fn below(name: &str, content: &str) -> Item {
    let mut create = change::create(at(name), content);
    create.parents = Parents::Make;
    create.into()
}

fn edit(name: &str, old: &str, new: &str) -> Item {
    change::replace(at(name), old, new).into()
}

fn rename(from: &str, to: &str) -> Item {
    change::rename(at(from), at(to)).into()
}

fn onto(from: &str, to: &str) -> Item {
    let mut moved = change::rename(at(from), at(to));
    moved.onto = Onto::Replace(Expect::Any);
    moved.into()
}

fn delete(name: &str) -> Item {
    change::delete(at(name)).into()
}

fn remove(name: &str, what: Deletion) -> Item {
    let mut delete = change::delete(at(name));
    delete.what = what;
    delete.into()
}

fn mkdir(name: &str) -> Item {
    change::mkdir(at(name)).into()
}

fn chmod(name: &str, mode: u16) -> Item {
    change::chmod(at(name), mode).into()
}

fn link(name: &str, text: &str) -> Item {
    change::link(at(name), text).unwrap().into()
}
