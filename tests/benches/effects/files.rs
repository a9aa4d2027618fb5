//! Names and contents: the same for every way.

use rustix::fs::IFlags;
use rustix::io::Errno;
use std::fmt::Write as _;
use std::path::Path;

/// Where the files of a round are, three names below the root: in another place each time, so that
/// the inodes a round frees are not searched through by the next ones. An ext4 without a journal
/// does not give a freed inode again for a minute, and looks at each.
pub fn directory(round: usize) -> String {
    format!("round-{round:03}/two/three")
}

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
pub fn path(round: usize, n: usize) -> String {
    format!("{}/{}", directory(round), name(n))
}

/// Makes a root whose directories are spread over the file system, where it can be told to.
pub fn make_root(root: &Path) {
    std::fs::create_dir(root).unwrap();
    let opened = std::fs::File::open(root).unwrap();
    let flags = rustix::fs::ioctl_getflags(&opened).unwrap_or(IFlags::empty());
    match rustix::fs::ioctl_setflags(&opened, flags | IFlags::TOPDIR) {
        Ok(()) | Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::INVAL) => {}
        Err(error) => panic!("the flags of {}: {error}", root.display()),
    }
}

/// Makes the directory of a round.
pub fn make(root: &Path, round: usize) {
    std::fs::create_dir_all(root.join(directory(round))).unwrap();
}
