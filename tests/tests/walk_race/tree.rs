//! The tree that is walked, and what of it is attacked.

use std::path::Path;

/// Files in a directory that is attacked.
const FILES: usize = 150;
/// Content of what may be told.
pub(crate) const INSIDE: &str = "INSIDE\n";
/// Content of what may not.
pub(crate) const OUTSIDE: &str = "OUTSIDE\n";

/// A directory of files that are named after where they are.
pub(crate) fn fill(at: &Path, prefix: &str, content: &str) {
    std::fs::create_dir_all(at).unwrap();
    for n in 0..FILES {
        std::fs::write(at.join(format!("{prefix}{n:03}")), content).unwrap();
    }
}

/// Directories that no attack touches, before, beside and behind what it does.
pub(crate) fn keep(inside: &Path) {
    for at in [
        "a-keep",
        "a-keep/deep/er",
        "m/a-keep",
        "m/z-keep/deep",
        "z-keep",
    ] {
        let at = inside.join(at);
        std::fs::create_dir_all(&at).unwrap();
        for n in 0..12 {
            std::fs::write(at.join(format!("keep-{n:02}")), INSIDE).unwrap();
        }
    }
}
