//! What rules say, line by line, and the walk around them.

mod files;
mod limits;
mod oracle;
mod same;
mod words;
mod world;

use super::{Ignores, Present, Rules, Said};
use portcullis_protocol::view::Kind;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Opens below a directory, through no link in the last name.
fn opener(directory: &Path) -> impl FnMut(&[u8]) -> Result<OwnedFd, Errno> {
    move |name| {
        let path = directory.join(std::ffi::OsStr::from_bytes(name));
        rustix::fs::open(
            path,
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )
    }
}

/// What a directory has, by looking.
fn present(directory: &Path) -> Present {
    let mut present = Present::default();
    for entry in std::fs::read_dir(directory).unwrap() {
        present.see(entry.unwrap().file_name().as_bytes());
    }
    present
}

/// What rules of the root say of a path whose last name is of that type.
fn said(rules: &[u8], path: &[u8], kind: Kind) -> Said {
    let ignores = Ignores::new(rules);
    let mut rules = enter(&ignores, &ignores.top(), None);
    let (above, last) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"".as_slice(), path),
    };
    for name in above
        .split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
    {
        if rules.judge(name, Kind::Directory) == Said::Ignored {
            return Said::Ignored;
        }
        rules = enter(&ignores, &rules, Some(name));
    }
    rules.judge(last, kind)
}

/// Enters a directory without ignore files.
fn enter(ignores: &Ignores, above: &Rules, name: Option<&[u8]>) -> Rules {
    let mut open = |name: &[u8]| panic!("opens {}", name.escape_ascii());
    let (rules, left_out) = ignores.enter(above, name, Present::default(), &mut open);
    assert_eq!(left_out, 0);
    rules
}
