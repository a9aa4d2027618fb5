//! What the gate is not: a walk by path that checks each name, and then uses it. It believes what a
//! directory says of its names, as fast walks do.

use crate::judge::{Rules, Tally, Walked};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A walk by path.
#[derive(Debug)]
pub(crate) struct ByPath {
    /// Its root.
    pub(crate) root: PathBuf,
    /// A name that it does not enter.
    pub(crate) denied: Option<&'static str>,
    /// A file that it does not read.
    pub(crate) object: Option<u64>,
}

/// What a control reads of one file at most: one of those that are swapped in never ends.
const MOST: u64 = 256 * 1024;

impl ByPath {
    /// One round, judged by the same rules.
    pub(crate) fn round(&self, rules: &Rules, tally: &mut Tally) {
        for verb in ["list", "search"] {
            let mut walked = Walked::default();
            self.enter(&self.root, verb, &mut walked);
            walked.end = "complete".to_owned();
            tally.judge(rules, (verb, "."), &walked);
        }
    }

    fn enter(&self, at: &Path, verb: &str, walked: &mut Walked) {
        let Ok(entries) = std::fs::read_dir(at) else {
            return;
        };
        for entry in entries {
            let Ok(entry) = entry else { continue };
            let name = entry.file_name();
            if self.denied.is_some_and(|denied| name == denied) {
                continue;
            }
            let path = entry.path();
            let below = path.strip_prefix(&self.root).unwrap();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() {
                self.enter(&path, verb, walked);
                continue;
            }
            if verb == "list" {
                walked.paths.push(below.as_os_str().as_bytes().to_vec());
                continue;
            }
            let Ok(seen) = std::fs::symlink_metadata(&path) else {
                continue;
            };
            if seen.is_file() && self.object != Some(seen.ino()) && seen.len() < MOST {
                let Ok(file) = std::fs::File::open(&path) else {
                    continue;
                };
                let mut text = Vec::new();
                if file.take(MOST).read_to_end(&mut text).is_ok() && !text.is_empty() {
                    walked.paths.push(below.as_os_str().as_bytes().to_vec());
                    walked.texts.push(text);
                }
            }
        }
    }
}
