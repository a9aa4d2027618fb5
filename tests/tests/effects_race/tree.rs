//! What is in a directory, so that it can be told whether anything changed.

use portcullis_client::protocol::ledger::Temporary;
use portcullis_client::protocol::path::escape;
use portcullis_client::protocol::view::Digest;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Everything below a directory by its path, with what a change of it would change. Not the number
/// of names: a name inside the root may be one of them.
pub(crate) fn snapshot(directory: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    each(directory, &mut |path| {
        let Ok(seen) = path.symlink_metadata() else {
            return;
        };
        let content = if seen.is_file() {
            escape(&std::fs::read(path).unwrap())
        } else if seen.is_symlink() {
            std::fs::read_link(path).unwrap().display().to_string()
        } else {
            String::new()
        };
        let is = format!(
            "{} {:o} {} {} {content}",
            seen.ino(),
            seen.mode(),
            seen.uid(),
            seen.gid()
        );
        let name = path.strip_prefix(directory).unwrap();
        all.insert(name.display().to_string(), is);
    });
    all
}

/// The contents of all files below a directory, with where each is, and the broker's temporaries.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) files: BTreeMap<Digest, String>,
    pub(crate) temporaries: Vec<std::path::PathBuf>,
}

pub(crate) fn contents(directory: &Path) -> Contents {
    let mut found = Contents::default();
    each(directory, &mut |path| {
        let name = path.file_name().unwrap();
        if Temporary::is_one(name.as_bytes()) {
            found.temporaries.push(path.to_owned());
        }
        let Ok(seen) = path.symlink_metadata() else {
            return;
        };
        if seen.is_file() {
            let place = path.strip_prefix(directory).unwrap();
            let digest = digest(&std::fs::read(path).unwrap());
            found.files.insert(digest, place.display().to_string());
        }
    });
    found
}

pub(crate) fn digest(bytes: &[u8]) -> Digest {
    Digest(*blake3::hash(bytes).as_bytes())
}

fn each(directory: &Path, meet: &mut dyn FnMut(&Path)) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        meet(&path);
        if path.symlink_metadata().is_ok_and(|seen| seen.is_dir()) {
            each(&path, meet);
        }
    }
}

/// Removes whatever has a name.
pub(crate) fn clear(path: &Path) {
    match path.symlink_metadata() {
        Ok(seen) if seen.is_dir() => std::fs::remove_dir_all(path).unwrap(),
        Ok(_) => std::fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}
