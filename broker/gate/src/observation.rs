//! What the kernel said of an object, in the protocol's words.

use crate::sys::directory::kind;
use portcullis_protocol::view::{Observation, Stamp, Timestamp};
use rustix::fs::{FileType, Statx, StatxFlags, StatxTimestamp};

/// Our record of what the kernel said.
pub(crate) fn observation(statx: &Statx) -> Observation {
    let born =
        (statx.stx_mask & StatxFlags::BTIME.bits() != 0).then(|| timestamp(&statx.stx_btime));
    Observation {
        kind: kind(FileType::from_raw_mode(statx.stx_mode.into())),
        mode: statx.stx_mode & 0o7777,
        links: statx.stx_nlink,
        modified: timestamp(&statx.stx_mtime),
        stamp: Stamp {
            device: rustix::fs::makedev(statx.stx_dev_major, statx.stx_dev_minor),
            inode: statx.stx_ino,
            changed: timestamp(&statx.stx_ctime),
            born,
            size: statx.stx_size,
        },
    }
}

fn timestamp(time: &StatxTimestamp) -> Timestamp {
    Timestamp {
        seconds: time.tv_sec,
        nanos: time.tv_nsec,
    }
}
