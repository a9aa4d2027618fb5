//! Small trees: in memory, and on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// What has a name.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Node {
    File { bytes: Vec<u8>, mode: u32 },
    Link(Vec<u8>),
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { bytes, mode } => write!(f, "{mode:o} {}", bytes.escape_ascii()),
            Self::Link(text) => write!(f, "-> {}", text.escape_ascii()),
        }
    }
}

/// Files and links by their names, and directories that hold none.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Tree {
    pub(crate) nodes: BTreeMap<Vec<u8>, Node>,
    pub(crate) empty: BTreeSet<Vec<u8>>,
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, node) in &self.nodes {
            write!(f, "{}: {node:?}; ", name.escape_ascii())?;
        }
        write!(f, "empty: {}", self.empty.len())
    }
}

pub(crate) fn path(top: &Path, name: &[u8]) -> PathBuf {
    top.join(OsStr::from_bytes(name))
}

impl Tree {
    pub(crate) fn file(&self, name: &[u8]) -> Option<&[u8]> {
        match self.nodes.get(name) {
            Some(Node::File { bytes, .. }) => Some(bytes),
            Some(Node::Link(_)) | None => None,
        }
    }

    pub(crate) fn put(&mut self, name: &[u8], bytes: &[u8], mode: u32) {
        let bytes = bytes.to_vec();
        self.nodes.insert(name.to_vec(), Node::File { bytes, mode });
    }

    /// Makes a directory hold this and nothing else.
    pub(crate) fn write(&self, top: &Path) {
        clear(top);
        for (name, node) in &self.nodes {
            let path = path(top, name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match node {
                Node::File { bytes, mode } => {
                    fs::write(&path, bytes).unwrap();
                    if *mode != 0o644 {
                        fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
                    }
                }
                Node::Link(text) => symlink(OsStr::from_bytes(text), &path).unwrap(),
            }
        }
    }

    /// What a directory holds.
    pub(crate) fn read(top: &Path) -> Self {
        let mut tree = Self::default();
        tree.enter(top, &[]);
        tree
    }

    fn enter(&mut self, top: &Path, below: &[u8]) {
        let mut entries = fs::read_dir(path(top, below)).unwrap().peekable();
        if entries.peek().is_none() && !below.is_empty() {
            self.empty.insert(below.to_vec());
        }
        for entry in entries {
            let entry = entry.unwrap();
            let mut name = below.to_vec();
            if !name.is_empty() {
                name.push(b'/');
            }
            name.extend(entry.file_name().into_vec());
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                self.enter(top, &name);
            } else if kind.is_symlink() {
                let text = fs::read_link(entry.path()).unwrap().into_os_string();
                self.nodes.insert(name, Node::Link(text.into_vec()));
            } else {
                let mode = entry.metadata().unwrap().permissions().mode() & 0o7777;
                let bytes = fs::read(entry.path()).unwrap();
                self.nodes.insert(name, Node::File { bytes, mode });
            }
        }
    }
}

/// Removes all that is in a directory.
pub(crate) fn clear(top: &Path) {
    for entry in fs::read_dir(top).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            fs::remove_dir_all(entry.path()).unwrap();
        } else {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

/// The lines of a text, with their terminators.
pub(crate) fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}
