//! Where a user's warden is met, and where it keeps its records.
//!
//! | place | where |
//! |---|---|
//! | runtime directory | as named, else `$XDG_RUNTIME_DIR/portcullis`, else `/run/user/UID/portcullis`, else, for root, `/run/portcullis` |
//! | state directory | as named, else `$XDG_STATE_HOME/portcullis`, else `~/.local/state/portcullis`, for root `/var/lib/portcullis` |
//!
//! The runtime directory is the user's own and closed to everyone else; that is what lets only
//! its user reach the socket in it. It is checked by its open descriptor, and everything in it is
//! reached through that descriptor, so that neither a link nor a long path matters.

mod error;
mod rules;

pub use error::{PlaceError, Unfit};

use rules::{look_at, runtime_of, state_of};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The control socket, in the runtime directory.
pub const SOCKET_NAME: &str = "control.sock";
/// Held by a warden while it takes the socket: one at a time.
pub const WARDEN_LOCK: &str = "warden.lock";
/// Held by a runtime while it starts a warden: one at a time.
pub const START_LOCK: &str = "start.lock";
/// What a warden that a runtime started writes, in the state directory.
pub const LOG_NAME: &str = "warden.log";

/// How long a lock is waited for between two tries.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The directory where a user's warden is met. Holding one means: when it was opened, it was a
/// directory of this user that nobody else may use.
#[derive(Debug)]
pub struct RuntimeDirectory {
    directory: OwnedFd,
    path: PathBuf,
}

/// What answered at the socket.
#[derive(Debug)]
pub enum Knock {
    /// A process of the same user listens: a connected socket, with room for frames.
    Answered(OwnedFd),
    /// Nobody does: there is no socket, or the one there is was left behind.
    Nobody,
}

/// A lock, held until it is dropped or its process ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held, not used")] OwnedFd);

impl RuntimeDirectory {
    /// Opens it, and makes it when it is not there.
    pub fn open(named: Option<&Path>) -> Result<Self, PlaceError> {
        let path = runtime_path(named)?;
        match rustix::fs::mkdirat(CWD, &path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(system(&path, errno)),
        }
        Self::checked(path)
    }

    /// Opens it where it is there already.
    pub fn find(named: Option<&Path>) -> Result<Option<Self>, PlaceError> {
        let path = runtime_path(named)?;
        match Self::checked(path) {
            Ok(found) => Ok(Some(found)),
            Err(PlaceError::System { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn checked(path: PathBuf) -> Result<Self, PlaceError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(directory) => directory,
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(unfit(&path, Unfit::NotADirectory)),
            Err(errno) => return Err(system(&path, errno)),
        };
        let stat = rustix::fs::fstat(&directory).map_err(|errno| system(&path, errno))?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(unfit(&path, Unfit::Foreign(stat.st_uid)));
        }
        if stat.st_mode & 0o077 != 0 {
            return Err(unfit(&path, Unfit::Open(stat.st_mode & 0o7777)));
        }
        Ok(Self { directory, path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the socket is, for people.
    pub fn socket_path(&self) -> PathBuf {
        self.path.join(SOCKET_NAME)
    }

    /// Takes a lock in it, waiting until `deadline`.
    pub fn lock(&self, name: &'static str, deadline: Instant) -> Result<Lock, PlaceError> {
        let path = self.path.join(name);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.directory, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| system(&path, errno))?;
        loop {
            match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Lock(file)),
                Err(Errno::AGAIN) if Instant::now() < deadline => std::thread::sleep(LOCK_PAUSE),
                Err(Errno::AGAIN) => return Err(PlaceError::Locked(path)),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(system(&path, errno)),
            }
        }
    }

    /// Connects to whoever listens.
    pub fn knock(&self) -> Result<Knock, PlaceError> {
        let path = self.socket_path();
        match self.at_the_socket()? {
            Found::Nothing => return Ok(Knock::Nobody),
            Found::Socket => {}
        }
        let system = |errno| system(&path, errno);
        let socket = fresh_socket().map_err(system)?;
        match rustix::net::connect(&socket, &self.address().map_err(system)?) {
            Ok(()) => {}
            Err(Errno::NOENT | Errno::CONNREFUSED) => return Ok(Knock::Nobody),
            Err(errno) => return Err(system(errno)),
        }
        let peer = rustix::net::sockopt::socket_peercred(&socket).map_err(system)?;
        if peer.uid != rustix::process::geteuid() {
            return Err(unfit(&path, Unfit::Foreign(peer.uid.as_raw())));
        }
        Ok(Knock::Answered(socket))
    }

    /// Listens at the socket, in place of one that was left behind. `lock` is [`WARDEN_LOCK`], so
    /// that no other warden does the same; whether one listens must have been found out under it.
    pub fn listen(&self, lock: &Lock) -> Result<Listening, PlaceError> {
        let path = self.socket_path();
        let system = |errno| system(&path, errno);
        match self.at_the_socket()? {
            Found::Nothing => {}
            Found::Socket => {
                rustix::fs::unlinkat(&self.directory, SOCKET_NAME, AtFlags::empty())
                    .map_err(system)?;
            }
        }
        let socket = fresh_socket().map_err(system)?;
        rustix::net::bind(&socket, &self.address().map_err(system)?).map_err(system)?;
        let made = self.stat().map_err(system)?;
        rustix::fs::chmodat(
            &self.directory,
            SOCKET_NAME,
            Mode::RUSR | Mode::WUSR,
            AtFlags::empty(),
        )
        .map_err(system)?;
        rustix::net::listen(&socket, BACKLOG).map_err(system)?;
        // The lock has been held until here.
        let _: &Lock = lock;
        Ok(Listening {
            socket,
            name: SocketFile {
                directory: rustix::io::fcntl_dupfd_cloexec(&self.directory, 3).map_err(system)?,
                identity: (made.st_dev, made.st_ino),
            },
        })
    }

    /// What has the name of the socket. A socket of another user is an error: only root could have
    /// put it here, or whoever owned the directory before.
    fn at_the_socket(&self) -> Result<Found, PlaceError> {
        let path = self.socket_path();
        let stat = match self.stat() {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(Found::Nothing),
            Err(errno) => return Err(system(&path, errno)),
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
            return Err(unfit(&path, Unfit::NotASocket));
        }
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(unfit(&path, Unfit::Foreign(stat.st_uid)));
        }
        Ok(Found::Socket)
    }

    fn stat(&self) -> Result<rustix::fs::Stat, Errno> {
        rustix::fs::statat(&self.directory, SOCKET_NAME, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// The socket, below the descriptor: as short as it must be, and wherever the directory is.
    fn address(&self) -> Result<SocketAddrUnix, Errno> {
        let number = self.directory.as_raw_fd();
        SocketAddrUnix::new(format!("/proc/self/fd/{number}/{SOCKET_NAME}"))
    }
}

impl AsFd for RuntimeDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

/// Connections that may wait to be taken.
const BACKLOG: i32 = 128;

enum Found {
    Nothing,
    Socket,
}

/// A listening control socket.
#[derive(Debug)]
pub struct Listening {
    /// The socket.
    pub socket: OwnedFd,
    /// Its file.
    pub name: SocketFile,
}

/// The file of a listening socket.
#[derive(Debug)]
pub struct SocketFile {
    directory: OwnedFd,
    identity: (u64, u64),
}

impl SocketFile {
    /// Removes it, unless another has its name by now.
    pub fn remove(self) -> Result<(), Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let now = rustix::fs::statat(&self.directory, SOCKET_NAME, flags)?;
        if (now.st_dev, now.st_ino) == self.identity {
            rustix::fs::unlinkat(&self.directory, SOCKET_NAME, AtFlags::empty())?;
        }
        Ok(())
    }
}

fn fresh_socket() -> Result<OwnedFd, Errno> {
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    portcullis_transport::make_room(&socket)?;
    Ok(socket)
}

/// The directory where a user's warden keeps its records, made when it is not there, with its
/// parents.
pub fn state_directory(named: Option<&Path>) -> Result<PathBuf, PlaceError> {
    let path = state_path(named)?;
    let mut builder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.recursive(true).create(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(PlaceError::System { path, source }),
    }
}

/// Where [`state_directory`] is, whether it is there or not.
pub fn state_path(named: Option<&Path>) -> Result<PathBuf, PlaceError> {
    if let Some(named) = named {
        return absolute(named);
    }
    state_of(&|name| std::env::var_os(name), user())
}

fn runtime_path(named: Option<&Path>) -> Result<PathBuf, PlaceError> {
    if let Some(named) = named {
        return absolute(named);
    }
    runtime_of(&|name| std::env::var_os(name), user(), &look_at)
}

fn absolute(path: &Path) -> Result<PathBuf, PlaceError> {
    std::path::absolute(path).map_err(|source| PlaceError::System {
        path: path.to_path_buf(),
        source,
    })
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn unfit(path: &Path, unfit: Unfit) -> PlaceError {
    PlaceError::Unfit {
        path: path.to_path_buf(),
        unfit,
    }
}

fn system(path: &Path, errno: Errno) -> PlaceError {
    PlaceError::System {
        path: path.to_path_buf(),
        source: errno.into(),
    }
}

#[cfg(test)]
mod tests;
