//! What the tests of this suite share: how a change ends, what a tree is, and what a file server
//! without protection does with the same words.

use portcullis_client::change::Item;
use portcullis_client::{Changes, Session, ask};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Changed, Guarantee, Outcome, Selector};
use portcullis_protocol::view::{Digest, Stamp};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// A name as a worker writes it.
#[track_caller]
pub fn at(path: impl AsRef<[u8]>) -> Selector {
    ask::selector(path).unwrap()
}

/// One change.
pub fn one(item: impl Into<Item>) -> Changes {
    Changes::new().with(item)
}

/// It is done, with a receipt, and nothing is left of it.
#[track_caller]
pub fn done(session: &mut Session, changes: &Changes) -> Changed {
    let changed = session
        .change(changes)
        .unwrap_or_else(|error| panic!("{error}: {changes:?}"))
        .changed;
    assert_eq!(changed.outcome, Outcome::Done, "{changed:?}");
    assert_eq!(changed.left, 0, "{changed:?}");
    changed
}

/// It is refused before it is begun: no receipt, nothing was changed.
#[track_caller]
pub fn refused(session: &mut Session, changes: &Changes) -> Refusal {
    let error = match session.change(changes) {
        Ok(changed) => panic!("it was done: {changed:?} {changes:?}"),
        Err(error) => error,
    };
    assert!(error.receipt().is_none(), "it was begun: {error:?}");
    assert_eq!(error.changed(), portcullis_client::Changed::Unchanged);
    let refusal = error.refusal().unwrap_or_else(|| panic!("{error}"));
    let note = refusal.note.as_ref().map_or("", |note| note.as_str());
    assert!(!note.contains("portcullis-test-"), "a host path: {refusal}");
    refusal.clone()
}

/// The code of such a refusal.
#[track_caller]
pub fn code(session: &mut Session, item: impl Into<Item>) -> Code {
    refused(session, &one(item)).code
}

/// It was begun and is not done: the receipt says that nothing was changed.
#[track_caller]
pub fn failed(session: &mut Session, changes: &Changes) -> (Code, Changed) {
    let error = match session.change(changes) {
        Ok(changed) => panic!("it was done: {changed:?} {changes:?}"),
        Err(error) => error,
    };
    let changed = error.receipt().unwrap_or_else(|| panic!("{error}")).clone();
    assert_eq!(changed.outcome, Outcome::Failed, "{changed:?}");
    assert_eq!(changed.left, 0, "{changed:?}");
    for touched in changed.touched.as_slice() {
        assert_eq!(touched.before, touched.after, "{touched:?}");
    }
    (changed.refusal.as_ref().unwrap().code, changed)
}

/// The version of an object, as the session sees it.
#[track_caller]
pub fn stamp(session: &mut Session, path: impl AsRef<[u8]>) -> Stamp {
    session
        .stat(&ask::stat(at(path)))
        .unwrap()
        .observation
        .stamp
}

/// blake3 of bytes.
pub fn digest(bytes: impl AsRef<[u8]>) -> Digest {
    Digest(*blake3::hash(bytes.as_ref()).as_bytes())
}

/// Permission bits, set-id bits included.
#[track_caller]
pub fn mode(path: impl AsRef<Path>) -> u32 {
    std::fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

/// Sets them.
#[track_caller]
pub fn set_mode(path: impl AsRef<Path>, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The bytes of a file.
#[track_caller]
pub fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    let path = path.as_ref();
    std::fs::read(path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// A tree but for what an effect that was taken back may leave: the times at which objects were
/// renamed, and at which directories had a name added and taken away.
#[track_caller]
pub fn likeness(tree: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut left = vec![tree.to_path_buf()];
    while let Some(path) = left.pop() {
        let meta = std::fs::symlink_metadata(&path).unwrap();
        let mut line = format!(
            "{path:?} {} {:o} {}:{} links {}",
            meta.ino(),
            meta.mode(),
            meta.uid(),
            meta.gid(),
            meta.nlink()
        );
        if meta.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            left.extend(entries.map(|entry| entry.unwrap().path()));
        } else {
            let (m, n) = (meta.mtime(), meta.mtime_nsec());
            line.push_str(&format!(" size {} m {m}.{n}", meta.size()));
        }
        if meta.is_file() && meta.mode() & 0o400 != 0 {
            line.push_str(&blake3::hash(&std::fs::read(&path).unwrap()).to_string());
        } else if meta.is_symlink() {
            line.push_str(&format!(" {:?}", std::fs::read_link(&path).unwrap()));
        }
        lines.push(line);
    }
    lines.sort();
    lines
}

/// Whether a tree is on overlayfs, where a lease says less: a mapping for writing whose descriptor
/// was closed is not seen.
pub fn on_overlay(tree: &Path) -> bool {
    const OVERLAYFS_SUPER_MAGIC: i64 = 0x794c_7630;
    rustix::fs::statfs(tree).unwrap().f_type == OVERLAYFS_SUPER_MAGIC
}

/// How sure the replacement of a file is at best.
pub fn surest(tree: &Path) -> Guarantee {
    if on_overlay(tree) {
        Guarantee::Detected
    } else {
        Guarantee::Exact
    }
}

/// No name of the broker's own is left anywhere in a tree.
#[track_caller]
pub fn no_temporaries(tree: &Path) {
    let mut left = vec![tree.to_path_buf()];
    while let Some(path) = left.pop() {
        let name = path.file_name().unwrap_or_default().as_bytes();
        assert!(!name.starts_with(b".portcullis-"), "{path:?}");
        if std::fs::symlink_metadata(&path).unwrap().is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            left.extend(entries.map(|entry| entry.unwrap().path()));
        }
    }
}

/// The same tree as an arena's, for the control: what is attacked there has no protection.
pub struct Unprotected {
    place: tempfile::TempDir,
}

impl Unprotected {
    /// A root `inside` with the files that every attempt works on, and a directory `outside`.
    pub fn new() -> Self {
        let place = tempfile::Builder::new()
            .prefix("portcullis-control-")
            .tempdir()
            .unwrap();
        let control = Self { place };
        let (inside, outside) = (control.inside(), control.outside());
        for directory in [
            inside.join("a"),
            outside.join("directory"),
            outside.join("empty"),
        ] {
            std::fs::create_dir_all(directory).unwrap();
        }
        for file in [
            inside.join("spare"),
            inside.join("x"),
            inside.join("a/b"),
            outside.join("secret"),
            outside.join("directory/file"),
        ] {
            std::fs::write(file, "old content\n").unwrap();
        }
        control
    }

    /// Its root.
    pub fn inside(&self) -> PathBuf {
        self.place.path().join("inside")
    }

    /// What no request may reach.
    pub fn outside(&self) -> PathBuf {
        self.place.path().join("outside")
    }

    /// Everything outside the root, as it is now.
    pub fn census(&self) -> Vec<String> {
        portcullis_tests::hostile::census(&self.outside())
    }
}
