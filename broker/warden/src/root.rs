//! Sealing: from a descriptor a runtime passed to a root with an identity.

use crate::sys;
use portcullis_protocol::authority::{
    Durable, DurableField, FileSystem, Root, RootId, RootIdentity, Scope,
};
use portcullis_protocol::bounded::Text;
use portcullis_protocol::limits::REASON_BYTES_MAX;
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::view::Timestamp;
use rustix::fs::{AtFlags, CWD, FileType, FsWord, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

/// `STATX_MNT_ID_UNIQUE` (Linux 6.8), which rustix does not name.
const MNT_ID_UNIQUE: StatxFlags = StatxFlags::from_bits_retain(0x4000);
/// `FS_CASEFOLD_FL`, which rustix does not name.
const CASEFOLD_FLAG: u32 = 0x4000_0000;
/// What the kernel puts after the location of a deleted object.
const DELETED: &[u8] = b" (deleted)";

/// Holding one means: when it was sealed, its runtime held a readable descriptor of this
/// directory, which is on a file system the broker knows and is not the whole file tree.
#[derive(Debug)]
pub(crate) struct SealedRoot {
    root: Root,
    directory: OwnedFd,
    /// Of a private one: whose sessions have it, since the first of them.
    owner: OnceLock<Text<REASON_BYTES_MAX>>,
}

/// Why a directory cannot become a root. For the runtime: may name host things.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SealError {
    #[error("an order to seal comes with one descriptor, not {0}")]
    Descriptors(usize),
    #[error("the descriptor is not opened for reading, so it shows no right to read")]
    NotReadable,
    #[error("not a directory")]
    NotADirectory,
    #[error("the whole file tree cannot be a root; seal a directory below it")]
    WholeTree,
    #[error("deleted, or its name ends in ` (deleted)`, which cannot be told from that")]
    Deleted,
    #[error("it cannot be reached from where the broker is: {0}")]
    Unreachable(String),
    #[error("its path is over 4095 bytes")]
    LongLocation,
    #[error("file system {0} is not one whose names and types are known")]
    FileSystem(String),
    #[error("names in it are not told apart by case")]
    CaseFolding,
    #[error("the broker may not search it")]
    NotSearchable,
    #[error("it was exchanged while it was sealed")]
    Exchanged,
    #[error("another directory is there now; its {} differs", .0.name())]
    Another(DurableField),
    #[error("{call}: {errno}")]
    Kernel { call: &'static str, errno: Errno },
}

impl SealedRoot {
    /// Seals the directory of the descriptors that came with an order. They are closed; what is
    /// kept can name the directory and cannot read it.
    pub(crate) fn seal(
        id: RootId,
        label: Label,
        scope: Scope,
        descriptors: Vec<OwnedFd>,
    ) -> Result<Self, SealError> {
        let [readable] = <[OwnedFd; 1]>::try_from(descriptors)
            .map_err(|wrong| SealError::Descriptors(wrong.len()))?;
        let readable = readable.as_fd();
        check_opened_for_reading(readable)?;
        let file_system = check_directory(readable)?;
        let identity = observe(readable)?;
        let location = locate(readable)?;
        let directory = rustix::fs::openat(readable, ".", PATH_ONLY, Mode::empty()).map_err(
            |errno| match errno {
                Errno::ACCESS => SealError::NotSearchable,
                errno => at("openat")(errno),
            },
        )?;
        if observe(directory.as_fd())? != identity {
            return Err(SealError::Exchanged);
        }
        Ok(Self {
            root: Root {
                id,
                label,
                scope,
                location,
                identity,
                durable: durable(directory.as_fd(), &identity)?,
                file_system,
            },
            directory,
            owner: OnceLock::new(),
        })
    }

    /// Finds a root that was sealed in an earlier life of the broker: the directory at its sealed
    /// location, reached through no link, if it is the same by what lasts. Device and mount are as
    /// they are now: their numbers change when the system starts anew.
    pub(crate) fn again(root: &Root) -> Result<Self, SealError> {
        let directory = at_place(root)?;
        let identity = observe(directory.as_fd())?;
        let found = durable(directory.as_fd(), &identity)?;
        if let Some(field) = found.difference(&root.durable) {
            return Err(SealError::Another(field));
        }
        Ok(Self {
            root: Root {
                identity,
                ..root.clone()
            },
            directory,
            owner: OnceLock::new(),
        })
    }

    /// Whether its directory is deleted.
    pub(crate) fn is_gone(&self) -> bool {
        rustix::fs::fstat(&self.directory).map_or(true, |stat| stat.st_nlink == 0)
    }

    /// Whether its place still leads to it, through no link. Where that cannot be seen it counts as
    /// replaced.
    pub(crate) fn stands(&self) -> bool {
        at_place(&self.root)
            .and_then(|there| observe(there.as_fd()))
            .is_ok_and(|there| there == self.root.identity)
    }

    /// Whether a session of this owner may have it. A private one is for the owner that it was given to
    /// first, who has a name.
    pub(crate) fn is_for(&self, owner: &Text<REASON_BYTES_MAX>) -> bool {
        match self.root.scope {
            Scope::Private => {
                let named = !owner.as_str().is_empty();
                named && self.owner.get_or_init(|| owner.clone()) == owner
            }
            Scope::Workspace | Scope::Scratch | Scope::External => true,
        }
    }

    /// What an authority says of it.
    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    /// The directory itself, as an `O_PATH` descriptor.
    pub(crate) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

/// What is at the place where a root was sealed, reached through no link.
fn at_place(root: &Root) -> Result<OwnedFd, SealError> {
    let place = [b"/", root.location.as_bytes()].concat();
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(CWD, place, PATH_ONLY, Mode::empty(), resolve).map_err(at("openat2"))
}

/// How directories are opened when they are only named, not read.
pub(crate) const PATH_ONLY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

fn at(call: &'static str) -> impl Fn(Errno) -> SealError {
    move |errno| SealError::Kernel { call, errno }
}

fn check_opened_for_reading(fd: BorrowedFd<'_>) -> Result<(), SealError> {
    let flags = rustix::fs::fcntl_getfl(fd).map_err(at("fcntl"))?;
    let read_only = flags.intersection(OFlags::RWMODE) == OFlags::RDONLY;
    if flags.contains(OFlags::PATH) || !read_only {
        return Err(SealError::NotReadable);
    }
    Ok(())
}

/// What must be true of the directory's type and file system.
fn check_directory(fd: BorrowedFd<'_>) -> Result<FileSystem, SealError> {
    let stat = rustix::fs::fstat(fd).map_err(at("fstat"))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Err(SealError::NotADirectory);
    }
    if stat.st_nlink == 0 {
        return Err(SealError::Deleted);
    }
    let magic = rustix::fs::fstatfs(fd).map_err(at("fstatfs"))?.f_type;
    let file_system = known(magic).map_err(SealError::FileSystem)?;
    if file_system == FileSystem::Tmpfs {
        check_is_plain_tmpfs(fd)?;
    }
    match rustix::fs::ioctl_getflags(fd) {
        Ok(flags) if flags.bits() & CASEFOLD_FLAG != 0 => Err(SealError::CaseFolding),
        // A file system without such flags has no case folding either.
        Ok(_) | Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::INVAL) => Ok(file_system),
        Err(errno) => Err(at("FS_IOC_GETFLAGS")(errno)),
    }
}

/// The known list, or the name of what is not on it.
fn known(magic: FsWord) -> Result<FileSystem, String> {
    let name = match magic {
        0xef53 => return Ok(FileSystem::Ext),
        0x5846_5342 => return Ok(FileSystem::Xfs),
        0x9123_683e => return Ok(FileSystem::Btrfs),
        0x0102_1994 => return Ok(FileSystem::Tmpfs),
        0x794c_7630 => return Ok(FileSystem::Overlay),
        0xf2f5_2010 => return Ok(FileSystem::F2fs),
        0x9fa0 => "proc",
        0x6265_6572 => "sysfs",
        0x6969 => "nfs",
        0xfe53_4d42 => "smb2",
        0xff53_4d42 => "cifs",
        0x0102_1997 => "9p",
        0x6573_5546 => "fuse",
        0x1cd1 => "devpts",
        0x8584_58f6 => "ramfs",
        0x0027_e0eb => "cgroup",
        0x6367_7270 => "cgroup2",
        0x4d44 => "vfat",
        0x2011_bab0 => "exfat",
        0x2fc1_2fc1 => "zfs",
        0xca45_1a4e => "bcachefs",
        0xe0f5_e1e2 => "erofs",
        0x7371_7368 => "squashfs",
        other => return Err(format!("of type {other:#x}")),
    };
    Err(name.to_owned())
}

/// devtmpfs has tmpfs's number; only its name in the mount table differs.
fn check_is_plain_tmpfs(fd: BorrowedFd<'_>) -> Result<(), SealError> {
    let stat =
        rustix::fs::statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).map_err(at("statx"))?;
    let table = std::fs::read("/proc/self/mountinfo").map_err(|error| SealError::Kernel {
        call: "/proc/self/mountinfo",
        errno: Errno::from_io_error(&error).unwrap_or(Errno::IO),
    })?;
    match mount_type(&table, stat.stx_mnt_id) {
        Some(b"tmpfs") => Ok(()),
        Some(other) => Err(SealError::FileSystem(
            String::from_utf8_lossy(other).into_owned(),
        )),
        None => Err(SealError::Unreachable(
            "its mount is not in the mount table".to_owned(),
        )),
    }
}

/// The type of mount `id`: the first word after the lone dash.
fn mount_type(table: &[u8], id: u64) -> Option<&[u8]> {
    let id = id.to_string();
    table.split(|b| *b == b'\n').find_map(|line| {
        let mut words = line.split(|b| *b == b' ');
        if words.next() != Some(id.as_bytes()) {
            return None;
        }
        words.find(|word| *word == b"-")?;
        words.next()
    })
}

/// Where the kernel says it is.
fn locate(fd: BorrowedFd<'_>) -> Result<RelPath, SealError> {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let text = rustix::fs::readlinkat(CWD, link, Vec::new()).map_err(at("/proc/self/fd"))?;
    let text = text.as_bytes();
    if text.ends_with(DELETED) {
        return Err(SealError::Deleted);
    }
    match text {
        [b'/'] => Err(SealError::WholeTree),
        [b'/', rest @ ..] => RelPath::parse(rest).map_err(|_| SealError::LongLocation),
        other => Err(SealError::Unreachable(
            String::from_utf8_lossy(other).into_owned(),
        )),
    }
}

/// What the kernel says of an open directory.
pub(crate) fn observe(fd: BorrowedFd<'_>) -> Result<RootIdentity, SealError> {
    let asked = StatxFlags::BASIC_STATS
        .union(StatxFlags::BTIME)
        .union(StatxFlags::MNT_ID)
        .union(MNT_ID_UNIQUE);
    let stat = rustix::fs::statx(fd, "", AtFlags::EMPTY_PATH, asked).map_err(at("statx"))?;
    let has = StatxFlags::from_bits_retain(stat.stx_mask);
    if !has.intersects(StatxFlags::MNT_ID.union(MNT_ID_UNIQUE)) {
        return Err(at("statx without a mount id")(Errno::NOSYS));
    }
    Ok(RootIdentity {
        device: rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
        inode: stat.stx_ino,
        born: has.contains(StatxFlags::BTIME).then_some(Timestamp {
            seconds: stat.stx_btime.tv_sec,
            nanos: stat.stx_btime.tv_nsec,
        }),
        mount: stat.stx_mnt_id,
    })
}

/// What an open directory is known by for good.
fn durable(fd: BorrowedFd<'_>, identity: &RootIdentity) -> Result<Durable, SealError> {
    let file_system = rustix::fs::fstatvfs(fd).map_err(at("fstatvfs"))?.f_fsid;
    Ok(Durable {
        file_system,
        inode: identity.inode,
        born: identity.born,
        handle: sys::file_handle(fd).map_err(at("name_to_handle_at"))?,
    })
}

#[cfg(test)]
mod tests;
