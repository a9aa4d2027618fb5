//! How files are written without a broker: a temporary and a rename, or simply open, write, close.
//! Nothing is checked, nothing can be undone.

use crate::files;
use crate::subject::{CYCLES, Deed, MANY, Samples, Short, Subject};
use rustix::fs::{AtFlags, Mode, OFlags};
use std::os::fd::{AsFd as _, BorrowedFd};

const MODE: Mode = Mode::from_raw_mode(0o644);

/// All deeds in one way, some times.
pub fn turn(root: BorrowedFd<'_>, (way, round): (Short, usize), samples: &mut Samples) {
    let contents = [0, 1].map(files::content);
    let paths: Vec<String> = (0..MANY).map(|n| files::path(round, n)).collect();
    let parts = |path: &str| -> (String, String) {
        let (directory, name) = path.rsplit_once('/').unwrap();
        (directory.to_owned(), name.to_owned())
    };
    let paths: Vec<(String, String)> = paths.iter().map(|path| parts(path)).collect();
    for _ in 0..CYCLES {
        let path = &paths[0];
        let of = |deed| Subject::Naive(way, deed);
        samples.time(of(Deed::Create), || write(root, path, way, &contents[0]));
        samples.time(of(Deed::Replace), || write(root, path, way, &contents[1]));
        samples.time(of(Deed::Delete), || delete(root, path));
    }
    let many = |version: usize| {
        for path in &paths {
            write(root, path, way, &contents[version]);
        }
    };
    samples.time(Subject::Naive(way, Deed::CreateMany), || many(0));
    samples.time(Subject::Naive(way, Deed::ReplaceMany), || many(1));
    for path in &paths {
        delete(root, path);
    }
}

fn write(root: BorrowedFd<'_>, (directory, name): &(String, String), way: Short, content: &[u8]) {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    match way {
        Short::Direct => {
            let path = format!("{directory}/{name}");
            let file = rustix::fs::openat(root, path, flags | OFlags::TRUNC, MODE).unwrap();
            assert_eq!(rustix::io::write(&file, content).unwrap(), content.len());
        }
        Short::Temporary => {
            let path = format!("{directory}/{name}");
            let beside = format!("{directory}/.{name}.tmp");
            let file = rustix::fs::openat(root, &beside, flags | OFlags::EXCL, MODE).unwrap();
            assert_eq!(rustix::io::write(&file, content).unwrap(), content.len());
            drop(file);
            rustix::fs::renameat(root, &beside, root, path).unwrap();
        }
    }
}

fn delete(root: BorrowedFd<'_>, (directory, name): &(String, String)) {
    let path = format!("{directory}/{name}");
    rustix::fs::unlinkat(root.as_fd(), path, AtFlags::empty()).unwrap();
}
