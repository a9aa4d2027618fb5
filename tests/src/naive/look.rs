//! Looking by path, and what was seen in the words of the protocol.

use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::view::{Binding, Kind, Observation, Role, RootIndex, Stamp, Timestamp};
use std::fs::{self, FileType, Metadata};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

/// Walks by path: what the listing calls a directory is opened by its name.
pub(super) fn each(
    host: &Path,
    below: &[u8],
    depth: u32,
    meet: &mut dyn FnMut(&Path, &[u8], FileType),
) -> Result<(), Code> {
    for entry in fs::read_dir(host).map_err(code)? {
        let Ok(entry) = entry else { continue };
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let mut path = below.to_vec();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend(entry.file_name().into_vec());
        meet(&entry.path(), &path, kind);
        if kind.is_dir() && depth > 1 {
            // A directory that is gone by now is passed over.
            each(&entry.path(), &path, depth - 1, meet).unwrap_or_default();
        }
    }
    Ok(())
}

pub(super) fn kind_of(kind: FileType) -> Kind {
    if kind.is_file() {
        Kind::File
    } else if kind.is_dir() {
        Kind::Directory
    } else if kind.is_symlink() {
        Kind::Link
    } else if kind.is_fifo() {
        Kind::Fifo
    } else {
        Kind::Unknown
    }
}

pub(super) fn binding(seen: &Metadata) -> Binding {
    let time = |seconds, nanos| Timestamp {
        seconds,
        nanos: u32::try_from(nanos).unwrap_or(0),
    };
    Binding {
        role: Role::Source,
        root: RootIndex(0),
        path: RelPath::root(),
        observation: Observation {
            kind: kind_of(seen.file_type()),
            mode: 0,
            links: u32::try_from(seen.nlink()).unwrap_or(u32::MAX),
            modified: time(seen.mtime(), seen.mtime_nsec()),
            stamp: Stamp {
                device: seen.dev(),
                inode: seen.ino(),
                changed: time(seen.ctime(), seen.ctime_nsec()),
                born: None,
                size: seen.size(),
            },
        },
        link: None,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape of map_err")]
pub(super) fn code(error: std::io::Error) -> Code {
    errno(rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO))
}

pub(super) fn errno(errno: rustix::io::Errno) -> Code {
    match errno {
        rustix::io::Errno::NOENT => Code::NotFound,
        rustix::io::Errno::NOTDIR => Code::NotADirectory,
        rustix::io::Errno::LOOP => Code::LinkLoop,
        rustix::io::Errno::ACCESS | rustix::io::Errno::PERM => Code::Permission,
        _ => Code::Io,
    }
}
