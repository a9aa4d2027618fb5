//! Every verb, on one hostile name in each place that a request has for a name; and what a file
//! server that joins strings makes of the same.

use crate::trial::{at, one};
use portcullis_client::{Changes, change};
use portcullis_protocol::session::{Deletion, Expect, Onto, Parents};
use portcullis_tests::os;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What is done with the name. The tree has a file `spare`, and nothing is called `free`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Written, whatever is there.
    Write,
    /// Made.
    Create,
    /// Made, with the directories on the way.
    CreateBelow,
    /// Edited: `old` becomes `new`.
    Edit,
    /// Made as a directory.
    Mkdir,
    /// Made as a directory, with those on the way.
    MkdirBelow,
    /// Moved to `free`.
    MoveFrom,
    /// The new name of `spare`.
    MoveTo,
    /// The new name of `spare`, whatever has it.
    MoveOnto,
    /// Deleted as a file.
    Delete,
    /// Deleted as an empty directory.
    DeleteDirectory,
    /// Deleted with all below it.
    DeleteTree,
    /// Given mode 600.
    Chmod,
    /// Made as a link to `spare`.
    Link,
}

impl Deed {
    /// Every one.
    pub const ALL: [Self; 14] = [
        Self::Write,
        Self::Create,
        Self::CreateBelow,
        Self::Edit,
        Self::Mkdir,
        Self::MkdirBelow,
        Self::MoveFrom,
        Self::MoveTo,
        Self::MoveOnto,
        Self::Delete,
        Self::DeleteDirectory,
        Self::DeleteTree,
        Self::Chmod,
        Self::Link,
    ];

    /// Those that make the name.
    pub const MAKING: [Self; 7] = [
        Self::Write,
        Self::Create,
        Self::CreateBelow,
        Self::Mkdir,
        Self::MkdirBelow,
        Self::MoveTo,
        Self::Link,
    ];

    /// The request.
    pub fn changes(self, name: impl AsRef<[u8]>) -> Changes {
        let name = at(name);
        match self {
            Self::Write => one(change::write(name, "new content\n")),
            Self::Create => one(change::create(name, "new content\n")),
            Self::CreateBelow => {
                let mut create = change::create(name, "new content\n");
                create.parents = Parents::Make;
                one(create)
            }
            Self::Edit => one(change::replace(name, "old", "new")),
            Self::Mkdir => one(change::mkdir(name)),
            Self::MkdirBelow => {
                let mut mkdir = change::mkdir(name);
                mkdir.parents = Parents::Make;
                one(mkdir)
            }
            Self::MoveFrom => one(change::rename(name, at("free"))),
            Self::MoveTo => one(change::rename(at("spare"), name)),
            Self::MoveOnto => {
                let mut onto = change::rename(at("spare"), name);
                onto.onto = Onto::Replace(Expect::Any);
                one(onto)
            }
            Self::Delete => one(change::delete(name)),
            Self::DeleteDirectory | Self::DeleteTree => {
                let mut delete = change::delete(name);
                delete.what = if self == Self::DeleteTree {
                    Deletion::Tree
                } else {
                    Deletion::Directory
                };
                one(delete)
            }
            Self::Chmod => one(change::chmod(name, 0o600)),
            Self::Link => one(change::link(name, "spare").unwrap()),
        }
    }

    /// The same by strings and the standard library, below `root`.
    pub fn naive(self, root: &Path, name: impl AsRef<[u8]>) -> io::Result<()> {
        let path: PathBuf = root.join(os(name.as_ref()));
        let above = || path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let spare = root.join("spare");
        match self {
            Self::Write | Self::Create => std::fs::write(&path, "new content\n"),
            Self::CreateBelow => {
                above()?;
                std::fs::write(&path, "new content\n")
            }
            Self::Edit => {
                let old = std::fs::read_to_string(&path)?;
                std::fs::write(&path, old.replace("old", "new"))
            }
            Self::Mkdir => std::fs::create_dir(&path),
            Self::MkdirBelow => std::fs::create_dir_all(&path),
            Self::MoveFrom => std::fs::rename(&path, root.join("free")),
            Self::MoveTo | Self::MoveOnto => std::fs::rename(&spare, &path),
            Self::Delete => std::fs::remove_file(&path),
            Self::DeleteDirectory => std::fs::remove_dir(&path),
            Self::DeleteTree => std::fs::remove_dir_all(&path),
            Self::Chmod => std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)),
            Self::Link => std::os::unix::fs::symlink("spare", &path),
        }
    }
}
