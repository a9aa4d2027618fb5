//! For tests: directories that are removed when dropped, and roots sealed from them.

use crate::root::SealedRoot;
use portcullis_protocol::authority::{RootId, Scope};
use portcullis_protocol::path::Label;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("warden-test-{}-{n}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn make(&self, below: &str) -> PathBuf {
        let path = self.0.join(below);
        std::fs::create_dir_all(&path).unwrap();
        path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

pub(crate) fn sealed(id: u64, path: &Path) -> SealedRoot {
    let readable = std::fs::File::open(path).unwrap().into();
    let label = Label::new(format!("r{id}")).unwrap();
    SealedRoot::seal(RootId(id), label, Scope::External, vec![readable]).unwrap()
}
