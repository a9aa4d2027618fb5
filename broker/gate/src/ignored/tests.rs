//! What rules say, line by line, and the walk around them.

mod files;
mod oracle;
mod words;
mod world;

use super::{Ignores, Present, Rules, Said, Seen};
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

/// What a walk says of a path: the first directory on the way that is ignored has it all.
fn walked(ignores: &Ignores, root: &Path, path: &[u8]) -> Said {
    let mut directory = root.to_owned();
    let mut rules = ignores
        .enter(&ignores.top(), None, present(root), &mut opener(root))
        .0;
    let mut names = path.split(|byte| *byte == b'/').peekable();
    while let Some(name) = names.next() {
        directory.push(std::ffi::OsStr::from_bytes(name));
        let kind = match std::fs::symlink_metadata(&directory) {
            Ok(meta) if meta.is_dir() => Kind::Directory,
            Ok(meta) if meta.is_symlink() => Kind::Link,
            Ok(_) | Err(_) => Kind::File,
        };
        let said = rules.judge(name, kind);
        if said == Said::Ignored || names.peek().is_none() {
            return said;
        }
        rules = ignores
            .enter(
                &rules,
                Some(name),
                present(&directory),
                &mut opener(&directory),
            )
            .0;
    }
    unreachable!("a path has a name")
}

/// What rules of the root say of a path whose last name is of that type.
fn said(rules: &[u8], path: &[u8], kind: Kind) -> Said {
    said_by(&Ignores::new(rules), path, kind)
}

fn said_by(ignores: &Ignores, path: &[u8], kind: Kind) -> Said {
    let mut rules = enter(ignores, &ignores.top(), None);
    let mut names = path.split(|byte| *byte == b'/').peekable();
    while let Some(name) = names.next() {
        if names.peek().is_none() {
            return rules.judge(name, kind);
        }
        match rules.judge(name, Kind::Directory) {
            Said::Ignored => return Said::Ignored,
            Said::Nothing | Said::Included => {}
        }
        rules = enter(ignores, &rules, Some(name));
    }
    unreachable!("a path has a name")
}

/// Enters a directory without ignore files.
fn enter(ignores: &Ignores, above: &Rules, name: Option<&[u8]>) -> Rules {
    let nothing = Present::default();
    let (rules, left_out) = ignores.enter(above, name, nothing, &mut |name| {
        panic!("opens {}", name.escape_ascii())
    });
    assert_eq!(left_out, 0);
    rules
}
