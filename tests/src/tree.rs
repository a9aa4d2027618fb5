//! A tree as it is on disk, read by its names from outside of any broker.

use portcullis_protocol::ledger::Temporary;
use portcullis_protocol::view::{Digest, Kind, PathState, Present, Stamp, Timestamp};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What is below a directory: every name but temporaries, and those apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    /// By path below the top.
    pub names: BTreeMap<PathBuf, PathState>,
    /// Temporaries of a broker, not entered.
    pub temporaries: Vec<PathBuf>,
}

impl Tree {
    /// Reads everything.
    pub fn read(top: &Path) -> Self {
        let mut tree = Self::default();
        tree.enter(top, Path::new(""));
        tree
    }

    fn enter(&mut self, top: &Path, below: &Path) {
        for entry in std::fs::read_dir(top.join(below)).unwrap() {
            let name = entry.unwrap().file_name();
            let path = below.join(&name);
            if Temporary::is_one(name.as_bytes()) {
                self.temporaries.push(path);
                continue;
            }
            let state = state(&top.join(&path));
            let is_directory = kind_of(&state) == Some(Kind::Directory);
            self.names.insert(path.clone(), state);
            if is_directory {
                self.enter(top, &path);
            }
        }
    }

    /// What is at a path.
    pub fn at(&self, path: &Path) -> PathState {
        self.names.get(path).copied().unwrap_or(PathState::Absent)
    }

    /// Kinds, modes and contents without which object it is.
    pub fn plain(&self) -> BTreeMap<PathBuf, PathState> {
        let plain = |state: &PathState| match state {
            PathState::Present(present) => PathState::Present(Present {
                stamp: None,
                ..*present
            }),
            other @ (PathState::Absent | PathState::Unknown) => *other,
        };
        self.names
            .iter()
            .map(|(path, state)| (path.clone(), plain(state)))
            .collect()
    }
}

/// The kind of what is there.
pub fn kind_of(state: &PathState) -> Option<Kind> {
    match state {
        PathState::Present(present) => Some(present.kind),
        PathState::Absent | PathState::Unknown => None,
    }
}

/// What is at a name. Of its version only which object it is: what is left out never differs.
pub fn state(path: &Path) -> PathState {
    let seen = match std::fs::symlink_metadata(path) {
        Ok(seen) => seen,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return PathState::Absent;
        }
        Err(error) => panic!("{}: {error}", path.display()),
    };
    let digest = |bytes: &[u8]| Some(Digest(*blake3::hash(bytes).as_bytes()));
    let (kind, digest) = if seen.is_dir() {
        (Kind::Directory, None)
    } else if seen.is_symlink() {
        let text = std::fs::read_link(path).unwrap();
        (Kind::Link, digest(text.as_os_str().as_bytes()))
    } else {
        (Kind::File, digest(&std::fs::read(path).unwrap()))
    };
    PathState::Present(Present {
        kind,
        mode: u16::try_from(seen.mode() & 0o7777).unwrap(),
        size: if seen.is_dir() { 0 } else { seen.len() },
        digest,
        stamp: Some(Stamp {
            device: seen.dev(),
            inode: seen.ino(),
            changed: Timestamp {
                seconds: 0,
                nanos: 0,
            },
            born: None,
            size: 0,
        }),
    })
}
