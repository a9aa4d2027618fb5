//! A worker that asks for the wrong thing with every verb, and what it must get.
//!
//! [`every`] runs all reading verbs on one selector, checks that `why` foretold each answer, and
//! that nothing from outside the root is in any of them. [`Arena`] watches the directory outside:
//! nothing there may be opened, read or changed while it lives.

mod verbs;

pub use verbs::{All, every, every_at, refusal_of};

use crate::World;
use rustix::fs::inotify;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What files outside the root hold. In no reply.
pub const SECRET: &[u8] = b"outside secret";
/// A name that only exists outside the root. In no reply either.
pub const OUTSIDE_NAME: &[u8] = b"only-outside-name";

/// Names that programs trip over: each is one plain name to the kernel.
pub const NAMES: &[&[u8]] = &[
    b"two\nlines",
    b"carriage\rreturn",
    b"\x1b[2Jcleared",
    b"bell\x07",
    b"tab\there",
    b"delete\x7f",
    b"\x01",
    b"bad-\xff\xfe",
    b"\xff",
    b"cut-\xc3",
    b"over-\xed\xa0\x80",
    b"back\\slash",
    b"\\",
    b"..\\up",
    b"\\x41",
    b"C:",
    b"C:\\con",
    b"con",
    b"nul.txt",
    b"a:b",
    b"a::$DATA",
    b"-rf",
    b"--",
    b"-",
    "gpj.\u{202e}exe".as_bytes(),
    "zero\u{200b}width".as_bytes(),
    "\u{feff}bom".as_bytes(),
    "a\u{202f}PM.png".as_bytes(),
    "nbsp\u{a0}here".as_bytes(),
    "e\u{301}".as_bytes(),
    "\u{e9}".as_bytes(),
    "\u{1f600}".as_bytes(),
    b"trailing.",
    b"trailing ",
    b" leading",
    b" ",
    b"~",
    b"~root",
    b"$(x)",
    b"`x`",
    b"$HOME",
    b"%2e%2e%2f",
    b"...",
    b".. ",
    b"..x",
    b"[a]",
    b"[!a]",
    b"{x}",
    b"{x,y}",
    b"*",
    b"**",
    b"?",
    b"!not",
    b"#hash",
    b"quote\"'",
    b"semi;colon|pipe&and",
    b"(deleted)",
    b"x (deleted)",
    &[b'n'; 255],
];

/// A world whose directory outside is watched.
pub struct Arena {
    world: World,
    before: Vec<String>,
    watch: OwnedFd,
}

impl Arena {
    /// An empty root beside a directory with secrets.
    pub fn new(gate: PathBuf) -> Self {
        let world = World::new(gate);
        let outside = world.outside();
        std::fs::write(outside.join("only-outside-name"), "outside secret\n").unwrap();
        std::fs::create_dir(outside.join("directory")).unwrap();
        std::fs::write(
            outside.join("directory/only-outside-name"),
            "outside secret\n",
        )
        .unwrap();
        let before = census(&outside);
        let watch = watch(&[&outside, &outside.join("directory")]);
        Self {
            world,
            before,
            watch,
        }
    }

    /// Makes a link below the root.
    pub fn link(&self, path: impl AsRef<Path>, to: impl AsRef<Path>) {
        let path = self.inside().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, path).unwrap();
    }

    /// Makes a directory below the root.
    pub fn directory(&self, path: impl AsRef<Path>) {
        std::fs::create_dir_all(self.inside().join(path)).unwrap();
    }
}

impl Deref for Arena {
    type Target = World;
    fn deref(&self) -> &World {
        &self.world
    }
}

impl DerefMut for Arena {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.world
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let touched = events(&self.watch);
        assert_eq!(
            touched,
            Vec::<String>::new(),
            "outside the root was touched"
        );
        assert_eq!(
            census(&self.world.outside()),
            self.before,
            "outside the root has changed"
        );
    }
}

/// A watch on files and directories: every open for reading or writing, read and change.
pub fn watch(paths: &[&Path]) -> OwnedFd {
    use inotify::{CreateFlags, WatchFlags};
    let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
    let watch = inotify::init(flags).unwrap();
    for path in paths {
        // Closing is no event of interest: a child forked by another test holds our own
        // descriptors until it executes, and closes them at any time.
        let closes = WatchFlags::CLOSE_WRITE | WatchFlags::CLOSE_NOWRITE;
        let seen = WatchFlags::ALL_EVENTS.difference(closes);
        inotify::add_watch(&watch, *path, seen).unwrap();
    }
    watch
}

/// What a watch saw.
pub fn events(watch: &OwnedFd) -> Vec<String> {
    let mut room = [MaybeUninit::uninit(); 8192];
    let mut reader = inotify::Reader::new(watch, &mut room);
    let mut seen = Vec::new();
    loop {
        match reader.next() {
            Ok(event) => seen.push(format!("{:?} {:?}", event.events(), event.file_name())),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => return seen,
            Err(error) => panic!("inotify: {error}"),
        }
    }
}

/// Everything there is to say of a tree, but for the times of access.
pub fn census(tree: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut left = vec![tree.to_path_buf()];
    while let Some(path) = left.pop() {
        let meta = std::fs::symlink_metadata(&path).unwrap();
        let content = if meta.is_file() {
            blake3::hash(&std::fs::read(&path).unwrap()).to_string()
        } else if meta.is_dir() {
            left.extend(
                std::fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            "directory".to_owned()
        } else {
            format!("{:?}", std::fs::read_link(&path))
        };
        lines.push(format!(
            "{path:?} {} {:o} {}:{} links {} size {} m {}.{} c {}.{} {content}",
            meta.ino(),
            meta.mode(),
            meta.uid(),
            meta.gid(),
            meta.nlink(),
            meta.size(),
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
        ));
    }
    lines.sort();
    lines
}

/// Runs `body` and fails when it takes longer than 20 seconds: a hang, not a measurement.
#[track_caller]
pub fn within_bounds(body: impl FnOnce() + Send + 'static) {
    within(Duration::from_secs(20), body);
}

/// The same for what is much work: it may take three minutes on a busy machine.
#[track_caller]
pub fn not_forever(body: impl FnOnce() + Send + 'static) {
    within(Duration::from_secs(180), body);
}

#[track_caller]
fn within(bound: Duration, body: impl FnOnce() + Send + 'static) {
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    let running = std::thread::spawn(move || {
        let _held = done;
        body();
    });
    // The sender is dropped when the body ends, however it ends.
    match waiting.recv_timeout(bound) {
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        Ok(()) | Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {}
    }
    if let Err(panic) = running.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Runs `body` in a mount namespace of its own, as root: the test binary runs this one test again
/// under `unshare`. For an ordinary user `absent` must show that the privilege is absent.
#[track_caller]
pub fn as_root_with_own_mounts(test: &str, absent: impl FnOnce(), body: impl FnOnce()) {
    const INSIDE: &str = "PORTCULLIS_TEST_OWN_MOUNTS";
    let row = test.rsplit("::").next().unwrap_or(test);
    if !crate::privileged() {
        absent();
        println!("{row} needs root: proven in the run as root");
        return;
    }
    if std::env::var(INSIDE).is_ok_and(|inside| inside == test) {
        body();
        println!("{row} ran to its end");
        return;
    }
    let output = std::process::Command::new("unshare")
        .args(["--mount", "--propagation", "private"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads", "1"])
        .env(INSIDE, test)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "in its own mounts:\n{said}\n{complained}"
    );
    assert!(
        said.contains(&format!("{row} ran to its end")),
        "it did not run: {said}"
    );
}

/// An ordinary user cannot mount: that is why a row about mounts is proven as root only.
#[track_caller]
pub fn mounting_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let mounted = rustix::mount::mount(
        "tmpfs",
        place.path(),
        "tmpfs",
        rustix::mount::MountFlags::empty(),
        None::<&std::ffi::CStr>,
    );
    assert_eq!(mounted, Err(rustix::io::Errno::PERM));
}

/// A tree of one name, `depth` levels deep, however long its path becomes. Gives the deepest
/// directory.
pub fn deep_tree(top: &Path, name: &[u8], depth: usize) -> OwnedFd {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut here = rustix::fs::open(top, flags, Mode::empty()).unwrap();
    for _ in 0..depth {
        rustix::fs::mkdirat(&here, name, Mode::from_raw_mode(0o755)).unwrap();
        here = rustix::fs::openat(&here, name, flags, Mode::empty()).unwrap();
    }
    here
}

/// The bytes of a path of the operating system.
pub fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// Lowers how many descriptors a gate may have open; gives what it was. The hard limit stays, so
/// that it can be raised again.
pub fn limit_descriptors(gate: u32, most: u64) -> u64 {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let pid = Pid::from_raw(i32::try_from(gate).unwrap());
    let old = prlimit(
        pid,
        Resource::Nofile,
        Rlimit {
            current: Some(most),
            maximum: Some(portcullis_protocol::limits::GATE_DESCRIPTORS),
        },
    );
    old.unwrap().current.unwrap_or(u64::MAX)
}
