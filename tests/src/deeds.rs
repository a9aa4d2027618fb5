//! One change set of each kind, on a tree that has something for each.

use portcullis_client::change::Content;
use portcullis_client::{Changes, Error, Session, ask, change};
use portcullis_protocol::session::{Changed, Deletion, Expect, Onto, Parents, Selector};
use rustix::fs::XattrFlags;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// A kind of change, and how it is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Deed {
    /// Its name.
    pub name: &'static str,
    /// Asks for it.
    pub run: fn(&mut Session) -> Result<Changed, Error>,
}

/// Every kind.
pub const ALL: &[Deed] = &[
    deed("create", |s| one(s, change::create(at("new.txt"), "new\n"))),
    deed("create-parents", |s| {
        let mut create = change::create(at("p/q/new.txt"), "new\n");
        create.parents = Parents::Make;
        one(s, create)
    }),
    deed("replace", |s| {
        one(s, change::write(at("file.txt"), "replaced\n"))
    }),
    deed("edit", |s| {
        one(s, change::replace(at("file.txt"), "two", "2"))
    }),
    deed("mkdir", |s| one(s, change::mkdir(at("made")))),
    deed("mkdir-parents", |s| {
        let mut mkdir = change::mkdir(at("p/q/r"));
        mkdir.parents = Parents::Make;
        one(s, mkdir)
    }),
    deed("move", |s| {
        one(s, change::rename(at("file.txt"), at("dir/moved.txt")))
    }),
    deed("move-onto", |s| {
        let mut moved = change::rename(at("file.txt"), at("dir/a.txt"));
        moved.onto = Onto::Replace(Expect::Any);
        one(s, moved)
    }),
    deed("move-directory", |s| {
        one(s, change::rename(at("tree"), at("dir/tree")))
    }),
    deed("delete", |s| one(s, change::delete(at("file.txt")))),
    deed("delete-directory", |s| {
        delete(s, "empty", Deletion::Directory)
    }),
    deed("delete-tree", |s| delete(s, "tree", Deletion::Tree)),
    deed("chmod", |s| one(s, change::chmod(at("file.txt"), 0o600))),
    deed("link", |s| {
        one(s, change::link(at("dir/link"), "../file.txt")?)
    }),
    deed("patch", patch),
    deed("swap", |s| all(s, swapped("file.txt", "other.txt"))),
    deed("swap-edit", |s| {
        let edit = change::replace(at("dir/a.txt"), "two", "2").into();
        all(
            s,
            swapped("file.txt", "dir/a.txt").into_iter().chain([edit]),
        )
    }),
    deed("move-edit", |s| {
        let edit = change::replace(at("dir/moved.txt"), "two", "2");
        all(s, [moved("file.txt", "dir/moved.txt"), edit.into()])
    }),
    deed("delete-create", |s| {
        let gone = change::delete(at("file.txt"));
        all(
            s,
            [
                gone.into(),
                change::create(at("file.txt"), "again\n").into(),
            ],
        )
    }),
    deed("chain", |s| {
        let onto = moved("other.txt", "dir/other.txt");
        let made = change::create(at("file.txt"), "new\n");
        all(s, [onto, moved("file.txt", "other.txt"), made.into()])
    }),
    deed("file-directory", |s| {
        let gone = change::delete(at("file.txt"));
        let below = change::create(at("file.txt/in"), "in\n");
        let directory = change::mkdir(at("file.txt"));
        all(s, [gone.into(), directory.into(), below.into()])
    }),
    deed("emptied", |s| {
        let file = |name| change::delete(at(name)).into();
        let directory = |name| {
            let mut delete = change::delete(at(name));
            delete.what = Deletion::Directory;
            delete.into()
        };
        all(
            s,
            [
                file("dir/sub/b.txt"),
                directory("dir/sub"),
                file("dir/a.txt"),
                directory("dir"),
            ],
        )
    }),
    deed("upload", |s| upload(s, "file.txt", Parents::Exist)),
    deed("upload-parents", |s| upload(s, "p/q/big", Parents::Make)),
];

const fn deed(name: &'static str, run: fn(&mut Session) -> Result<Changed, Error>) -> Deed {
    Deed { name, run }
}

/// The one of this name.
pub fn named(name: &str) -> Option<Deed> {
    ALL.iter().copied().find(|deed| deed.name == name)
}

fn at(path: &str) -> Selector {
    ask::selector(path).unwrap()
}

fn one(session: &mut Session, item: impl Into<change::Item>) -> Result<Changed, Error> {
    Ok(session.change(&Changes::new().with(item))?.changed)
}

/// Changes that follow each other.
fn all(
    session: &mut Session,
    items: impl IntoIterator<Item = change::Item>,
) -> Result<Changed, Error> {
    let mut changes = Changes::new();
    items.into_iter().for_each(|item| changes.push(item));
    Ok(session.change(&changes)?.changed)
}

fn moved(from: &str, to: &str) -> change::Item {
    change::rename(at(from), at(to)).into()
}

/// Two names exchanged by way of a third.
fn swapped(one: &str, other: &str) -> [change::Item; 3] {
    [moved(one, "t"), moved(other, one), moved("t", other)]
}

fn delete(session: &mut Session, path: &str, what: Deletion) -> Result<Changed, Error> {
    let mut delete = change::delete(at(path));
    delete.what = what;
    one(session, delete)
}

/// Six changes of six kinds.
fn patch(session: &mut Session) -> Result<Changed, Error> {
    let changes = Changes::new()
        .with(change::create(at("new.txt"), "new\n"))
        .with(change::replace(at("file.txt"), "two", "2"))
        .with(change::delete(at("dir/a.txt")))
        .with(change::rename(at("other.txt"), at("dir/other.txt")))
        .with(change::chmod(at("dir/sub/b.txt"), 0o600))
        .with(change::link(at("link"), "file.txt")?);
    Ok(session.change(&changes)?.changed)
}

/// A file of more than one part.
fn upload(session: &mut Session, path: &str, parents: Parents) -> Result<Changed, Error> {
    let content = vec![b'u'; 150_000];
    let (upload, _) = session.upload(&at("file.txt"), &mut content.as_slice())?;
    let mut write = change::write(at(path), "");
    write.content = Content::Upload(upload);
    write.parents = parents;
    one(session, write)
}

/// Makes the tree anew: nothing that was below `root` stays.
pub fn layout(root: &Path) {
    for entry in std::fs::read_dir(root).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            std::fs::remove_dir_all(entry.path()).unwrap();
        } else {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    for directory in ["dir/sub", "empty", "tree/a/deep", "tree/hollow"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    for (file, content) in [
        ("file.txt", "one\ntwo\nthree\n"),
        ("other.txt", "other\n"),
        ("kept.txt", "kept\n"),
        ("dir/a.txt", "a\n"),
        ("dir/sub/b.txt", "b\n"),
        ("tree/c.txt", "c\n"),
        ("tree/a/d.txt", "d\n"),
        ("tree/a/deep/e.txt", "e\n"),
    ] {
        std::fs::write(root.join(file), content).unwrap();
    }
    std::os::unix::fs::symlink("../file.txt", root.join("tree/link")).unwrap();
    // So that a replacement has something to carry over.
    let file = root.join("file.txt");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    rustix::fs::setxattr(&file, "user.note", b"kept", XattrFlags::empty()).unwrap();
}
