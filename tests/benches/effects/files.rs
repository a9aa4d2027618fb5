//! Names and contents: the same for every way.

use std::fmt::Write as _;
use std::path::Path;

/// Where the files are, three names below the root.
pub const DIRECTORY: &str = "one/two/three";
/// Bytes of a file.
pub const BYTES: usize = 4096;
/// Lines of a file, and how far apart those are in which two versions differ.
const LINES: usize = 64;
const APART: usize = 8;

/// A text of [`BYTES`], in lines; versions differ in every eighth.
pub fn content(version: usize) -> Vec<u8> {
    let mut text = String::with_capacity(BYTES);
    for line in 0..LINES {
        let of = if line % APART == 3 { version } else { 0 };
        let begin = format!("line {line:02} version {of:010} ");
        // Writing to a string does not fail.
        writeln!(text, "{begin:.<63}").unwrap();
    }
    assert_eq!(text.len(), BYTES);
    text.into_bytes()
}

/// The name of a file in its directory.
pub fn name(n: usize) -> String {
    format!("file-{n:03}.txt")
}

/// The path of a file below the root.
pub fn path(n: usize) -> String {
    format!("{DIRECTORY}/{}", name(n))
}

/// Makes the directory below `root`.
pub fn make(root: &Path) {
    std::fs::create_dir_all(root.join(DIRECTORY)).unwrap();
}
