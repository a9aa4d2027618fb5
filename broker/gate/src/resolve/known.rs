//! What is known of names while a set is planned: directories that are open already, and what the
//! changes before this one leave where that is not what the file system says.

use super::SharedDirectory;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::view::RootIndex;
use std::collections::HashMap;
use std::rc::Rc;

/// What the changes so far leave at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Now {
    /// Nothing.
    Nothing,
    /// Nothing; a directory had the name, and what is below went with it.
    Left,
    /// A directory that is to be made. Nothing of the file system is below it.
    Made,
    /// A directory that has another name in the file system.
    Moved,
    /// A symbolic link.
    Link,
    /// Anything else.
    Other,
}

/// What is known of names. Whether a path still leads to its directory is for `confirm` to see.
#[derive(Debug, Default)]
pub(crate) struct Known {
    directories: HashMap<(RootIndex, RelPath), SharedDirectory>,
    names: HashMap<(RootIndex, RelPath), Now>,
}

impl Known {
    /// A directory that is open already.
    pub(super) fn directory(&self, key: &(RootIndex, RelPath)) -> Option<SharedDirectory> {
        self.directories.get(key).map(Rc::clone)
    }

    /// Keeps a directory, and gives the one that is kept for its path.
    pub(crate) fn keep(&mut self, directory: SharedDirectory) -> SharedDirectory {
        let key = (directory.root, directory.path.clone());
        Rc::clone(self.directories.entry(key).or_insert(directory))
    }

    /// Says what is left at a name; none where it is what the file system says.
    pub(crate) fn leave(&mut self, root: RootIndex, path: &RelPath, now: Option<Now>) {
        let key = (root, path.clone());
        match now {
            Some(now) => {
                self.names.insert(key, now);
            }
            None => {
                self.names.remove(&key);
            }
        }
    }

    /// What is left at a name, where it is not what the file system says.
    pub(crate) fn now(&self, root: RootIndex, path: &RelPath) -> Option<Now> {
        if self.names.is_empty() {
            return None;
        }
        self.names.get(&(root, path.clone())).copied()
    }

    /// Whether a name, or one above it, is not as the file system says.
    pub(crate) fn covers(&self, root: RootIndex, path: &RelPath) -> bool {
        if self.names.is_empty() {
            return false;
        }
        let mut key = (root, path.clone());
        while !key.1.is_root() {
            if self.names.contains_key(&key) {
                return true;
            }
            key.1.pop();
        }
        false
    }
}
