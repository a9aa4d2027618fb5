//! The plain system calls a gate makes for each call, with the gate's own flags.

use crate::subject::{Call, Opening};
use portcullis_gate::sys::open::{self, Purpose};
use portcullis_protocol::path::RelPath;
use rustix::fs::Statx;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// A page, in bytes.
const PAGE: usize = 4096;

/// Room for the largest file, touched before it is measured, from the start of a page on: some
/// processors copy several times slower to a place shortly after one, where large allocations
/// begin.
pub struct Room {
    bytes: Vec<u8>,
    skip: usize,
}

impl Room {
    pub fn new() -> Self {
        let bytes = vec![1; Call::Large.bytes() + PAGE];
        let skip = bytes.as_ptr().align_offset(PAGE);
        Self { bytes, skip }
    }

    fn part(&mut self, length: usize) -> &mut [u8] {
        &mut self.bytes[self.skip..][..length]
    }
}

/// A path of four names.
pub fn path(call: Call) -> RelPath {
    RelPath::parse(call.path().as_bytes()).unwrap()
}

/// Does the call once, and looks at what came back.
pub fn once(root: BorrowedFd<'_>, path: &RelPath, opening: Opening, call: Call, room: &mut Room) {
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
    let read = rustix::io::pread(&object, room.part(call.bytes()), 0).unwrap();
    let after = open::observe(object.as_fd()).unwrap();
    assert_eq!(
        (read, before.stx_ctime.tv_nsec),
        (call.bytes(), after.stx_ctime.tv_nsec)
    );
    drop((object, looked_at));
}

fn opened(root: BorrowedFd<'_>, path: &RelPath, purpose: Purpose) -> (OwnedFd, Statx) {
    let object = open::below(root, path, purpose).unwrap();
    let seen = open::observe(object.as_fd()).unwrap();
    (object, seen)
}
