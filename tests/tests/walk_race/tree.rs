//! The tree that is walked, and what of it is attacked.

use std::path::Path;

/// Files in a directory that is attacked.
pub(crate) const FILES: usize = 150;
/// The same where it is the listing itself that is attacked: so many that the kernel gives their names
/// in several parts, between which there is time for anything.
pub(crate) const MANY: usize = 1800;
/// Content of what may be told.
pub(crate) const INSIDE: &str = "INSIDE\n";
/// Content of what may not.
pub(crate) const OUTSIDE: &str = "OUTSIDE\n";

/// A directory of files that are named after where they are.
pub(crate) fn fill(at: &Path, files: usize, prefix: &str, content: &str) {
    std::fs::create_dir_all(at).unwrap();
    for n in 0..files {
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
