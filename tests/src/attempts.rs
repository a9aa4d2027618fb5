//! What a gate must not be able to do, each as one attempt that succeeds without the cage.
//!
//! Everything an attempt needs is made ready before the cage is closed, so that what is refused
//! is the attempt itself. An attempt says how it went by its exit status alone: 0, or the errno.

use crate::sys;
use portcullis_gate::cage::{Subtree, close};
use portcullis_protocol::verb::{Verb, VerbSet};
use rustix::fs::{
    AtFlags, CWD, FileType, MemfdFlags, Mode, OFlags, RenameFlags, ResolveFlags, Timespec,
    Timestamps,
};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use rustix::process::{Resource, Signal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What a caged process answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// `EACCES` or `EXDEV` by Landlock, or `EPERM` by the filter.
    Refused,
    /// The call does not exist.
    Missing,
    /// It succeeds: the cage does not stand in the way.
    Allowed,
}

/// Which subtrees the cage is closed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Roots {
    /// The root, all verbs.
    Whole,
    /// `--workspace a --read .`: the root, and a subtree of it, as an authority sorts its grants.
    Nested,
    /// The root, for names only.
    Names,
    /// The subtree `a` alone, all verbs.
    Part,
    /// The root, with every verb that changes files.
    Writing,
    /// `--workspace a --read .`: every verb in the subtree `a`, reading in the root around it.
    WritingBelow,
}

/// One attempt.
pub struct Attempt {
    /// What it is, in words.
    pub name: &'static str,
    /// What the cage does about it.
    pub answer: Answer,
    /// The cage.
    pub roots: Roots,
    /// Whether it needs root even without the cage.
    pub privileged: bool,
    run: fn(&Ready) -> Result<(), Errno>,
}

impl std::fmt::Debug for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// What is made ready before the cage is closed.
struct Ready {
    place: PathBuf,
    root: OwnedFd,
    held: OwnedFd,
    other: OwnedFd,
    received: OwnedFd,
    socket: OwnedFd,
    handle: sys::Handle,
    parent: rustix::process::Pid,
    limit: rustix::process::Rlimit,
    outside: OwnedFd,
}

fn open_path(path: &Path) -> OwnedFd {
    rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

/// A descriptor after it went through a socket.
fn through_a_socket(descriptor: &OwnedFd) -> OwnedFd {
    use portcullis_protocol::control::{Order, Status};
    use portcullis_protocol::frame::RequestId;
    use portcullis_transport::{Buffer, ControlSide, Endpoint, RuntimeSide, pair};
    let (a, b) = pair().unwrap();
    let sender = Endpoint::<RuntimeSide>::new(a).unwrap();
    let receiver = Endpoint::<ControlSide>::new(b).unwrap();
    let status = Order::Status(Status {});
    sender
        .send_with(RequestId(1), &status, &[descriptor.as_fd()])
        .unwrap();
    let mut buffer = Buffer::new();
    let (_, mut descriptors) = receiver.receive(&mut buffer).unwrap().decode().unwrap();
    descriptors.remove(0)
}

impl Ready {
    fn new(place: &Path) -> Self {
        let other = open_path(&place.join("other"));
        let outside = std::fs::File::open(place.join("outside")).unwrap().into();
        Self {
            parent: rustix::process::getppid().unwrap(),
            limit: rustix::process::getrlimit(Resource::Nofile),
            place: place.to_owned(),
            root: open_path(&place.join("inside")),
            held: open_path(&place.join("inside/held")),
            received: through_a_socket(&other),
            other,
            socket: rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap(),
            handle: sys::handle_of(OwnedFd::as_fd(&outside), c"secret").unwrap(),
            outside,
        }
    }

    fn subtrees(&self, roots: Roots) -> Vec<Subtree> {
        let root = |verbs| Subtree {
            directory: open_path(&self.place.join("inside")),
            verbs,
        };
        let part = || Subtree {
            directory: open_path(&self.place.join("inside/a")),
            verbs: VerbSet::READING,
        };
        match roots {
            Roots::Whole => vec![root(VerbSet::READING)],
            Roots::Nested => vec![root(VerbSet::READING), part()],
            Roots::Names => vec![root(VerbSet::of(&[Verb::Stat, Verb::List]))],
            Roots::Part => vec![part()],
            Roots::Writing => vec![root(VerbSet::ALL)],
            Roots::WritingBelow => vec![
                root(VerbSet::READING),
                Subtree {
                    directory: open_path(&self.place.join("inside/a")),
                    verbs: VerbSet::ALL,
                },
            ],
        }
    }
}

/// The body of an attempt's own process, which must have one thread: makes ready, closes the cage
/// if it is to be `caged`, says so by a file, tries, and gives the exit status.
pub fn child(caged: bool, place: &Path, name: &str) -> u8 {
    let attempt = ALL.iter().find(|attempt| attempt.name == name).unwrap();
    let ready = Ready::new(place);
    if name == MOUNT {
        // A mount namespace of its own, and for an ordinary user the right to mount in it.
        let user = if crate::privileged() {
            0
        } else {
            libc::CLONE_NEWUSER
        };
        sys::unshare(user | libc::CLONE_NEWNS).unwrap();
        use rustix::mount::{MountPropagationFlags, mount_change};
        mount_change(
            "/",
            MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
        )
        .unwrap();
    }
    std::fs::write(place.join("ready"), "").unwrap();
    let cage = caged.then(|| close(&ready.subtrees(attempt.roots)).unwrap());
    assert!(cage.is_none_or(|cage| cage.report().is_whole()));
    match (attempt.run)(&ready) {
        Ok(()) => 0,
        Err(errno) => u8::try_from(errno.raw_os_error()).unwrap(),
    }
}

/// Opens without asking the kernel to stay anywhere.
fn open(at: impl AsFd, path: impl rustix::path::Arg, flags: OFlags) -> Result<OwnedFd, Errno> {
    let creates = flags.contains(OFlags::CREATE) || flags.contains(OFlags::TMPFILE);
    let mode = if creates { Mode::RUSR } else { Mode::empty() };
    rustix::fs::openat2(
        at,
        path,
        flags | OFlags::CLOEXEC,
        mode,
        ResolveFlags::empty(),
    )
}

fn read(at: BorrowedFd<'_>, path: &str) -> Result<(), Errno> {
    let file = open(at, path, OFlags::RDONLY)?;
    let mut bytes = [0; 8];
    match rustix::io::pread(&file, &mut bytes, 0)? {
        0 => Err(Errno::NODATA),
        _ => Ok(()),
    }
}

/// Makes a file.
fn create(at: impl AsFd, path: &str) -> Result<(), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
    open(at, path, flags).map(drop)
}

fn remove(at: impl AsFd, path: &str) -> Result<(), Errno> {
    rustix::fs::unlinkat(at, path, AtFlags::empty())
}

/// Renames as a gate does: its filter knows the one call.
fn rename(from: impl AsFd, name: &str, to: impl AsFd, new: &str) -> Result<(), Errno> {
    rustix::fs::renameat_with(from, name, to, new, RenameFlags::NOREPLACE)
}

fn exchange(a: impl AsFd, name: &str, b: impl AsFd, other: &str) -> Result<(), Errno> {
    rustix::fs::renameat_with(a, name, b, other, RenameFlags::EXCHANGE)
}

/// Gives a file that was made without a name, in the root, a name elsewhere.
fn name_outside(ready: &Ready, outside: &OwnedFd) -> Result<(), Errno> {
    let made = open(&ready.root, ".", OFlags::TMPFILE | OFlags::WRONLY)?;
    rustix::fs::linkat(&made, "", outside, "new", AtFlags::EMPTY_PATH)
}

const NOW: Timestamps = Timestamps {
    last_access: Timespec {
        tv_sec: 0,
        tv_nsec: rustix::fs::UTIME_NOW as _,
    },
    last_modification: Timespec {
        tv_sec: 0,
        tv_nsec: rustix::fs::UTIME_NOW as _,
    },
};

/// Opens below a directory that was moved out of the root after the cage was closed.
fn below_moved(ready: &Ready) -> Result<(), Errno> {
    let until = Instant::now() + Duration::from_secs(20);
    while open(&ready.root, "held", OFlags::PATH).is_ok() {
        if Instant::now() > until {
            return Err(Errno::TIME);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    read(ready.held.as_fd(), "f")
}

/// The attempt that the parent helps by moving `inside/held` to `outside/held`.
pub const MOVED: &str = "open below a held directory that was moved out";
const MOUNT: &str = "mount";

macro_rules! attempts {
    ($($name:expr, $answer:ident, $roots:ident, $privileged:literal, $run:expr;)*) => {
        /// Every attempt.
        pub const ALL: &[Attempt] = &[$(Attempt {
            name: $name,
            answer: Answer::$answer,
            roots: Roots::$roots,
            privileged: $privileged,
            run: $run,
        }),*];
    };
}

attempts! {
    // What stays allowed: a cage in which nothing works shows nothing.
    "read a file of the root", Allowed, Whole, false, |r| read(r.root.as_fd(), "f");
    "list the root", Allowed, Whole, false, |r| open(&r.root, ".", OFlags::RDONLY).map(drop);
    "read a file of the granted subtree", Allowed, Part, false, |r| read(r.root.as_fd(), "a/f");
    "read in the subtree of --workspace a --read .", Allowed, Nested, false, |r| read(r.root.as_fd(), "a/f");
    "read beside the subtree of --workspace a --read .", Allowed, Nested, false, |r| read(r.root.as_fd(), "f");
    "list where only names are granted", Allowed, Names, false, |r| open(&r.root, ".", OFlags::RDONLY).map(drop);
    // A slip in the gate's own opens.
    "open `../outside/secret` without RESOLVE flags", Refused, Whole, false, |r| read(r.root.as_fd(), "../outside/secret");
    "open an absolute path", Refused, Whole, false, |r| open(CWD, r.place.join("outside/secret"), OFlags::RDONLY).map(drop);
    "open the parent of the root", Refused, Whole, false, |r| open(&r.root, "..", OFlags::RDONLY | OFlags::DIRECTORY).map(drop);
    "open through a link that leads out", Refused, Whole, false, |r| read(r.root.as_fd(), "link");
    "open with openat", Refused, Whole, false, |r| rustix::fs::openat(&r.root, "f", OFlags::RDONLY, Mode::empty()).map(drop);
    "list /proc/self/fd", Refused, Whole, false, |_| open(CWD, "/proc/self/fd", OFlags::RDONLY).map(drop);
    MOVED, Refused, Whole, false, below_moved;
    "open below another root's descriptor, opened before", Refused, Whole, false, |r| read(r.other.as_fd(), "f");
    "open below another root's descriptor, received before", Refused, Whole, false, |r| read(r.received.as_fd(), "f");
    "list another root", Refused, Whole, false, |r| open(&r.other, ".", OFlags::RDONLY).map(drop);
    "read where only names are granted", Refused, Names, false, |r| read(r.root.as_fd(), "f");
    "read beside the granted subtree", Refused, Part, false, |r| read(r.root.as_fd(), "f");
    // No verb changes a file.
    "create a file in the root", Refused, Whole, false, |r| open(&r.root, "new", OFlags::CREATE | OFlags::WRONLY).map(drop);
    "truncate a file of the root", Refused, Whole, false, |r| open(&r.root, "f", OFlags::WRONLY | OFlags::TRUNC).map(drop);
    "truncate a file of the root, opened for reading", Refused, Whole, false, |r| open(&r.root, "f", OFlags::RDONLY | OFlags::TRUNC).map(drop);
    "open a file of the root for writing", Refused, Whole, false, |r| open(&r.root, "f", OFlags::WRONLY).map(drop);
    "open a file of the root for both", Refused, Whole, false, |r| open(&r.root, "f", OFlags::RDWR).map(drop);
    "make a nameless file in the root", Refused, Whole, false, |r| open(&r.root, ".", OFlags::TMPFILE | OFlags::WRONLY).map(drop);
    "write in the subtree of --workspace a --read .", Refused, Nested, false, |r| open(&r.root, "a/f", OFlags::WRONLY).map(drop);
    "write beside the subtree of --workspace a --read .", Refused, Nested, false, |r| open(&r.root, "f", OFlags::WRONLY).map(drop);
    "create beside the subtree of --workspace a --read .", Refused, Nested, false, |r| open(&r.root, "new", OFlags::CREATE | OFlags::WRONLY).map(drop);
    "write outside the roots", Refused, Nested, false, |r| open(&r.outside, "secret", OFlags::WRONLY).map(drop);
    "make a directory", Refused, Whole, false, |r| rustix::fs::mkdirat(&r.root, "new", Mode::RWXU);
    "remove a file", Refused, Whole, false, |r| rustix::fs::unlinkat(&r.root, "f", AtFlags::empty());
    "rename a file", Refused, Whole, false, |r| rustix::fs::renameat(&r.root, "f", &r.root, "g");
    "link a file", Refused, Whole, false, |r| rustix::fs::linkat(&r.root, "f", &r.root, "g", AtFlags::empty());
    "make a symbolic link", Refused, Whole, false, |r| rustix::fs::symlinkat("f", &r.root, "g");
    "change a mode", Refused, Whole, false, |r| rustix::fs::chmodat(&r.root, "f", Mode::RWXU, AtFlags::empty());
    // With verbs that change files: in the root, and nowhere else.
    "create a file in a root that is written", Allowed, Writing, false, |r| create(&r.root, "new");
    "write a file of a root that is written", Allowed, Writing, false, |r| open(&r.root, "f", OFlags::WRONLY).map(drop);
    "make a nameless file in a root that is written", Allowed, Writing, false, |r| open(&r.root, ".", OFlags::TMPFILE | OFlags::WRONLY).map(drop);
    "rename in a root that is written", Allowed, Writing, false, |r| rename(&r.root, "f", &r.root, "a/g");
    "remove a file of a root that is written", Allowed, Writing, false, |r| remove(&r.root, "f");
    "make a directory in a root that is written", Allowed, Writing, false, |r| rustix::fs::mkdirat(&r.root, "new", Mode::RWXU);
    "make a link in a root that is written", Allowed, Writing, false, |r| rustix::fs::symlinkat("f", &r.root, "new");
    "create in the subtree that is written", Allowed, WritingBelow, false, |r| create(&r.root, "a/new");
    "write outside while a root is written", Refused, Writing, false, |r| open(&r.outside, "secret", OFlags::WRONLY).map(drop);
    "truncate outside while a root is written", Refused, Writing, false, |r| open(&r.outside, "secret", OFlags::RDWR | OFlags::TRUNC).map(drop);
    "append outside while a root is written", Refused, Writing, false, |r| open(&r.outside, "secret", OFlags::WRONLY | OFlags::APPEND).map(drop);
    "write outside by an absolute path", Refused, Writing, false, |r| open(CWD, r.place.join("outside/secret"), OFlags::WRONLY).map(drop);
    "write outside through a link of the root", Refused, Writing, false, |r| open(&r.root, "link", OFlags::WRONLY).map(drop);
    "write above the root", Refused, Writing, false, |r| open(&r.root, "../outside/secret", OFlags::WRONLY).map(drop);
    "create outside while a root is written", Refused, Writing, false, |r| create(&r.outside, "new");
    "create above the root", Refused, Writing, false, |r| create(&r.root, "../new");
    "create in another root while a root is written", Refused, Writing, false, |r| create(&r.other, "new");
    "create in another root, received before", Refused, Writing, false, |r| create(&r.received, "new");
    "make a nameless file outside", Refused, Writing, false, |r| open(&r.outside, ".", OFlags::TMPFILE | OFlags::WRONLY).map(drop);
    "give a nameless file a name outside", Refused, Writing, false, |r| name_outside(r, &r.outside);
    "remove outside while a root is written", Refused, Writing, false, |r| remove(&r.outside, "secret");
    "remove a directory outside", Refused, Writing, false, |r| rustix::fs::unlinkat(&r.root, "../empty", AtFlags::REMOVEDIR);
    "make a directory outside", Refused, Writing, false, |r| rustix::fs::mkdirat(&r.outside, "new", Mode::RWXU);
    "make a directory above the root", Refused, Writing, false, |r| rustix::fs::mkdirat(&r.root, "../new", Mode::RWXU);
    "make a symbolic link outside", Refused, Writing, false, |r| rustix::fs::symlinkat("secret", &r.outside, "new");
    "rename out of the root", Refused, Writing, false, |r| rename(&r.root, "f", &r.outside, "new");
    "rename into the root from outside", Refused, Writing, false, |r| rename(&r.outside, "secret", &r.root, "new");
    "rename outside", Refused, Writing, false, |r| rename(&r.outside, "secret", &r.outside, "new");
    "exchange with a file outside", Refused, Writing, false, |r| exchange(&r.root, "f", &r.outside, "secret");
    "rename a directory out of the root", Refused, Writing, false, |r| rename(&r.root, "a", &r.outside, "new");
    "link a file of the root outside", Refused, Writing, false, |r| rustix::fs::linkat(&r.root, "f", &r.outside, "new", AtFlags::empty());
    "link a file from outside into the root", Refused, Writing, false, |r| rustix::fs::linkat(&r.outside, "secret", &r.root, "new", AtFlags::empty());
    "make a FIFO in a root that is written", Refused, Writing, false, |r| rustix::fs::mknodat(&r.root, "new", FileType::Fifo, Mode::RWXU, 0);
    "make a device in a root that is written", Refused, Writing, true, |r| rustix::fs::mknodat(&r.root, "new", FileType::CharacterDevice, Mode::RWXU, rustix::fs::makedev(1, 3));
    "change a mode by a path outside", Refused, Writing, false, |r| rustix::fs::chmodat(&r.outside, "secret", Mode::RWXU, AtFlags::empty());
    "change an owner by a path outside", Refused, Writing, false, |r| rustix::fs::chownat(&r.outside, "secret", None, Some(rustix::process::getgid()), AtFlags::empty());
    "change times by a path outside", Refused, Writing, false, |r| rustix::fs::utimensat(&r.outside, "secret", &NOW, AtFlags::empty());
    "create beside the subtree that is written", Refused, WritingBelow, false, |r| create(&r.root, "new");
    "write beside the subtree that is written", Refused, WritingBelow, false, |r| open(&r.root, "f", OFlags::WRONLY).map(drop);
    "remove beside the subtree that is written", Refused, WritingBelow, false, |r| remove(&r.root, "f");
    "rename out of the subtree that is written", Refused, WritingBelow, false, |r| rename(&r.root, "a/f", &r.root, "new");
    "rename into the subtree that is written", Refused, WritingBelow, false, |r| rename(&r.root, "f", &r.root, "a/new");
    "make a directory beside the subtree that is written", Refused, WritingBelow, false, |r| rustix::fs::mkdirat(&r.root, "new", Mode::RWXU);
    "make a memory file", Refused, Whole, false, |_| rustix::fs::memfd_create("m", MemfdFlags::CLOEXEC).map(drop);
    "open by file handle", Refused, Whole, true, |r| sys::open_by_handle(r.outside.as_fd(), &r.handle);
    // Other ways out of the process.
    "execute a program", Refused, Whole, false, |_| Err(sys::exec(c"/bin/true"));
    "make a socket", Refused, Whole, false, |_| rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).map(drop);
    "make an internet socket", Refused, Whole, false, |_| rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).map(drop);
    "connect", Refused, Whole, false, |r| rustix::net::connect(&r.socket, &SocketAddrUnix::new(r.place.join("listening"))?);
    "be traced", Refused, Whole, false, |_| sys::trace_me();
    "fork", Refused, Whole, false, |_| sys::fork();
    "fork by clone3", Missing, Whole, false, |_| sys::clone3();
    "make a user namespace", Refused, Whole, false, |_| sys::unshare(libc::CLONE_NEWUSER);
    MOUNT, Refused, Whole, false, |r| rustix::mount::mount_bind(r.place.join("outside"), r.place.join("inside/held"));
    "make memory executable", Refused, Whole, false, |_| sys::executable_page(true);
    "map executable memory", Refused, Whole, false, |_| sys::executable_page(false);
    "set up an io_uring", Refused, Whole, false, |_| sys::io_uring();
    "signal the parent", Refused, Whole, false, |r| rustix::process::kill_process(r.parent, Signal::WINCH);
    "set a resource limit", Refused, Whole, false, |r| rustix::process::setrlimit(Resource::Nofile, rustix::process::Rlimit { current: r.limit.maximum, ..r.limit });
    "become dumpable", Refused, Whole, false, |_| sys::set_dumpable();
}
