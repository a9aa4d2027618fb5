//! The plain system calls a gate makes for each call, with the gate's own flags.

use crate::subject::{Call, Opening};
use portcullis_gate::sys::open::{self, Purpose};
use portcullis_protocol::path::RelPath;
use rustix::fs::Statx;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// Room for the largest file, touched before it is measured.
pub fn room() -> Vec<u8> {
    vec![1; Call::Large.bytes()]
}

/// A path of four names.
pub fn path(call: Call) -> RelPath {
    RelPath::parse(call.path().as_bytes()).unwrap()
}

/// Does the call once, and looks at what came back.
pub fn once(root: BorrowedFd<'_>, path: &RelPath, opening: Opening, call: Call, room: &mut [u8]) {
    if call == Call::Stat {
        let (object, seen) = opened(root, path, Purpose::Look);
        assert_eq!(usize::try_from(seen.stx_size).unwrap(), Call::Small.bytes());
        drop(object);
        return;
    }
    let looked_at = match opening {
        Opening::Direct => None,
        Opening::LookFirst => Some(opened(root, path, Purpose::Look)),
    };
    let (object, before) = opened(root, path, Purpose::Content);
    // One call, as many bytes as there are: the least a reader can do.
    let read = rustix::io::pread(&object, &mut room[..call.bytes()], 0).unwrap();
    let after = open::observe(object.as_fd()).unwrap();
    assert_eq!((read, before.stx_ctime.tv_nsec), (call.bytes(), after.stx_ctime.tv_nsec));
    drop((object, looked_at));
}

fn opened(root: BorrowedFd<'_>, path: &RelPath, purpose: Purpose) -> (OwnedFd, Statx) {
    let object = open::below(root, path, purpose).unwrap();
    let seen = open::observe(object.as_fd()).unwrap();
    (object, seen)
}
