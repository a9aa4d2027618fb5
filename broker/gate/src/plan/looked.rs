//! What is at a name: what the kernel said of it, and the digest of its content.

use super::content::{PIECE, digest, read_all};
use crate::resolve::Held;
use crate::sys::{file, open};
use portcullis_protocol::limits::SCAN_BYTES_MAX;
use portcullis_protocol::view::{Digest, Kind, Observation, PathState, Present};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;

/// What is at a name, with the digest of its content where it has one and it can be read.
pub(crate) fn look(held: &Held) -> Result<PathState, Errno> {
    look_at(held.fd(), &held.observation)
}

/// The same, with the bytes of a file of at most `room` bytes, where it still has as many as it had.
pub(super) fn look_into(held: &Held, room: usize) -> Result<(PathState, Option<Vec<u8>>), Errno> {
    let room = u64::try_from(room).unwrap_or(u64::MAX);
    let read = match held.observation.kind {
        Kind::File => whole(held, room),
        Kind::Directory | Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
            Ok(None)
        }
    };
    let known = usize::try_from(held.observation.stamp.size).unwrap_or(usize::MAX);
    match read {
        Ok(Some(bytes)) if bytes.len() == known => {
            Ok((present(held, Some(digest(&bytes))), Some(bytes)))
        }
        // Too large, changed meanwhile, no file, or open as a mere path.
        Ok(Some(_) | None) | Err(Errno::BADF) => look(held).map(|state| (state, None)),
        Err(errno) => Err(errno),
    }
}

/// The same of an open object.
pub(crate) fn look_at(
    object: BorrowedFd<'_>,
    observation: &Observation,
) -> Result<PathState, Errno> {
    let digest = match observation.kind {
        Kind::File => digest_of(object, observation.stamp.size)?,
        Kind::Link => Some(digest(&open::link_text(object)?)),
        Kind::Directory | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => None,
    };
    Ok(state(observation, digest))
}

/// The state of a held object whose digest is known.
pub(crate) fn present(held: &Held, digest: Option<Digest>) -> PathState {
    state(&held.observation, digest)
}

fn state(observation: &Observation, digest: Option<Digest>) -> PathState {
    PathState::Present(Present {
        kind: observation.kind,
        mode: observation.mode,
        size: match observation.kind {
            Kind::Directory => 0,
            Kind::File | Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
                observation.stamp.size
            }
        },
        digest,
        stamp: Some(observation.stamp),
    })
}

/// The digest of a file's content; none when it is too large, or held without a right to read.
fn digest_of(object: BorrowedFd<'_>, size: u64) -> Result<Option<Digest>, Errno> {
    if size > SCAN_BYTES_MAX {
        return Ok(None);
    }
    let mut hasher = blake3::Hasher::new();
    let mut room = vec![0; PIECE.min(usize::try_from(size).unwrap_or(PIECE) + 1)];
    let mut at = 0;
    loop {
        let n = match file::read_at(object, &mut room, at) {
            Ok(n) => n,
            // Open as a mere path.
            Err(Errno::BADF) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        hasher.update(room.get(..n).unwrap_or_default());
        at += u64::try_from(n).unwrap_or(u64::MAX);
        if n < room.len() || at > SCAN_BYTES_MAX {
            return Ok(Some(Digest(*hasher.finalize().as_bytes())));
        }
    }
}

/// Reads a whole file of at most `max` bytes; none when it is larger.
pub(crate) fn whole(held: &Held, max: u64) -> Result<Option<Vec<u8>>, Errno> {
    read_all(held.fd(), held.observation.stamp.size, max)
}
