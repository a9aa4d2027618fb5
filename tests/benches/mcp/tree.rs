//! The tree every server gets for itself: 20,000 small files in 200 directories, and beside them what
//! single calls are about.

use std::fs;
use std::path::Path;
use tempfile::TempDir;

pub const FILES: usize = 20_000;
const EACH: usize = 100;
/// What one of the files has alone.
pub const NEEDLE: &str = "needle12345";

pub fn make() -> TempDir {
    let place = tempfile::Builder::new()
        .prefix("bench-mcp-")
        .tempdir()
        .unwrap();
    fill(place.path());
    place
}

fn fill(root: &Path) {
    for number in 0..FILES {
        let directory = root.join(format!("t/{}", number / EACH));
        if number.is_multiple_of(EACH) {
            fs::create_dir_all(&directory).unwrap();
        }
        let text = format!("line {number}\nneedle{number}\n");
        fs::write(directory.join(format!("f{number}.txt")), text).unwrap();
    }
    fs::create_dir(root.join("list")).unwrap();
    for number in 0..200 {
        fs::write(root.join(format!("list/entry-{number}.txt")), "x").unwrap();
    }
    fs::write(root.join("read.txt"), lines()).unwrap();
    // `write.txt` is made by the servers: some replace only what they have written or shown.
    fs::write(root.join("edit.txt"), format!("state 0\n{}", lines())).unwrap();
}

/// 4 KiB of lines.
pub fn lines() -> String {
    let mut text = String::new();
    while text.len() < 4096 {
        text.push_str("a line of thirty-two bytes, here\n");
    }
    text.truncate(4095);
    text.push('\n');
    text
}
