//! A directory of this process, and what is in it.

use portcullis_protocol::ledger::Temporary;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// What a name leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    File { content: Vec<u8>, mode: u16 },
    Directory { mode: u16 },
    Link(Vec<u8>),
}

/// Names below the directory, each behind the one above it.
pub type Tree = BTreeMap<String, Node>;

/// What shows that a file was left alone: its number, and when it was last written or changed.
pub type Identity = (u64, (i64, i64), (i64, i64));

/// The directory. It goes with the process only where the process ends in order.
#[derive(Debug)]
pub struct Disk {
    inside: PathBuf,
}

impl Disk {
    /// An empty one, in memory where `TMPDIR` is.
    pub fn new() -> Self {
        let name = format!("portcullis-commit-{}", std::process::id());
        let inside = std::env::temp_dir().join(name);
        fs::create_dir_all(&inside).unwrap();
        Self { inside }
    }

    pub fn inside(&self) -> &Path {
        &self.inside
    }

    /// Makes it hold this tree and nothing else.
    pub fn lay_out(&self, tree: &Tree) {
        for entry in fs::read_dir(&self.inside).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                fs::remove_dir_all(entry.path()).unwrap();
            } else {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        for (name, node) in tree {
            self.make(name, node);
        }
    }

    /// Makes one name, or a file anew in the place of another.
    pub fn make(&self, name: &str, node: &Node) {
        let path = self.inside.join(name);
        match node {
            Node::Directory { mode } => {
                fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
                set_mode(&path, *mode);
            }
            Node::Link(text) => {
                let text = std::ffi::OsString::from_vec(text.clone());
                std::os::unix::fs::symlink(text, path).unwrap();
            }
            Node::File { content, mode } => {
                // Complete before it has the name, as careful programs do it.
                let beside = self.inside.join("beside");
                fs::write(&beside, content).unwrap();
                set_mode(&beside, *mode);
                fs::rename(beside, path).unwrap();
            }
        }
    }

    /// Adds to a file, in place.
    pub fn append(&self, name: &str, more: &[u8]) {
        use std::io::Write as _;
        let path = self.inside.join(name);
        let mut file = fs::File::options().append(true).open(path).unwrap();
        file.write_all(more).unwrap();
    }

    /// Removes a file or a link.
    pub fn remove(&self, name: &str) {
        fs::remove_file(self.inside.join(name)).unwrap();
    }

    /// Removes temporaries; gives how many there were.
    pub fn clean(&self) -> u32 {
        let is_one = |name: &String| {
            let own = name.rsplit('/').next().unwrap_or(name);
            Temporary::is_one(own.as_bytes())
        };
        let left: Vec<String> = self.read().into_keys().filter(is_one).collect();
        for name in &left {
            let path = self.inside.join(name);
            let metadata = fs::symlink_metadata(&path);
            if metadata.is_ok_and(|metadata| metadata.is_dir()) {
                fs::remove_dir_all(path).unwrap();
            } else {
                fs::remove_file(path).unwrap();
            }
        }
        u32::try_from(left.len()).unwrap()
    }

    /// What is there, temporaries included.
    pub fn read(&self) -> Tree {
        let mut tree = Tree::new();
        self.walk("", &mut |name, path, metadata| {
            let mode = u16::try_from(metadata.mode() & 0o7777).unwrap();
            let node = if metadata.is_dir() {
                Node::Directory { mode }
            } else if metadata.is_symlink() {
                Node::Link(fs::read_link(path).unwrap().into_os_string().into_vec())
            } else {
                let content = fs::read(path).unwrap();
                Node::File { content, mode }
            };
            tree.insert(name, node);
        });
        tree
    }

    /// Which object each file and link is.
    pub fn identities(&self) -> BTreeMap<String, Identity> {
        let mut all = BTreeMap::new();
        self.walk("", &mut |name, _, of| {
            if !of.is_dir() {
                let written = (of.mtime(), of.mtime_nsec());
                let changed = (of.ctime(), of.ctime_nsec());
                all.insert(name, (of.ino(), written, changed));
            }
        });
        all
    }

    fn walk(&self, below: &str, meet: &mut dyn FnMut(String, &Path, &fs::Metadata)) {
        for entry in fs::read_dir(self.inside.join(below)).unwrap() {
            let path = entry.unwrap().path();
            let own = path.file_name().unwrap().to_string_lossy();
            let name = if below.is_empty() {
                own.into_owned()
            } else {
                format!("{below}/{own}")
            };
            let metadata = fs::symlink_metadata(&path).unwrap();
            meet(name.clone(), &path, &metadata);
            if metadata.is_dir() {
                self.walk(&name, meet);
            }
        }
    }
}

impl Default for Disk {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.inside).unwrap_or_default();
    }
}

fn set_mode(path: &Path, mode: u16) {
    let permissions = fs::Permissions::from_mode(mode.into());
    fs::set_permissions(path, permissions).unwrap();
}
