//! The least a search can do: names listed, every file opened, looked at, read once and gone
//! through for a text that is in none, by two threads. With the gate's guards, or some of them.

use portcullis_gate::cage::{self, Subtree};
use portcullis_gate::sys::open::{self, RESOLVE};
use portcullis_protocol::ledger::RunAs;
use portcullis_protocol::verb::VerbSet;
use rustix::fs::{FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads that walk, as many as the gate has.
const THREADS: usize = 2;
/// Bytes of a buffer.
const BUFFER: usize = 64 * 1024;

/// What stands between the loop and the rest of the machine. Each has one less than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guards {
    /// The cage of a gate, as the gate closes it, and `openat2`.
    All,
    /// Landlock and `openat2`; no filter of system calls.
    NoFilter,
    /// `openat2`, with the flags that keep it below the root.
    NoLandlock,
    /// `openat` by name: what anyone does.
    None,
}

impl Guards {
    pub const ALL: [Self; 4] = [Self::All, Self::NoFilter, Self::NoLandlock, Self::None];

    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "--guards-all",
            Self::NoFilter => "--guards-no-filter",
            Self::NoLandlock => "--guards-no-landlock",
            Self::None => "--guards-none",
        }
    }

    /// Closes them around this process, for good.
    pub fn close(self, root: &OwnedFd) {
        let (user, group) = open::owner(root).unwrap();
        if rustix::process::geteuid().is_root() && user != 0 {
            cage::become_user(RunAs { user, group }).unwrap();
        }
        match self {
            Self::All => {
                let subtree = Subtree {
                    directory: root.try_clone().unwrap(),
                    verbs: VerbSet::READING,
                };
                cage::close(&[subtree]).unwrap();
            }
            Self::NoFilter => landlock_alone(root),
            Self::NoLandlock | Self::None => {}
        }
    }

    fn open(
        self,
        directory: BorrowedFd<'_>,
        name: &[u8],
        purpose: OFlags,
    ) -> Result<OwnedFd, Errno> {
        let flags = purpose
            | OFlags::RDONLY
            | OFlags::NONBLOCK
            | OFlags::NOCTTY
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC;
        match self {
            Self::All | Self::NoFilter | Self::NoLandlock => {
                rustix::fs::openat2(directory, name, flags, Mode::empty(), RESOLVE)
            }
            Self::None => rustix::fs::openat(directory, name, flags, Mode::empty()),
        }
    }
}

/// The same rules as a gate's of a root that may only be looked at.
fn landlock_alone(root: &OwnedFd) {
    use landlock::{
        ABI, Access as _, AccessFs, PathBeneath, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
    };
    let handled = AccessFs::from_all(ABI::V3);
    Ruleset::default()
        .handle_access(handled)
        .unwrap()
        .create()
        .unwrap()
        .add_rule(PathBeneath::new(
            root,
            AccessFs::ReadFile | AccessFs::ReadDir,
        ))
        .unwrap()
        .restrict_self()
        .unwrap();
}

/// Opens the root of the loop.
pub fn root(path: &Path) -> OwnedFd {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).unwrap()
}

/// Goes through the whole tree once; gives the files read.
pub fn walk(root: BorrowedFd<'_>, guards: Guards, text: &[u8]) -> usize {
    let queue = Queue {
        pending: Mutex::new(vec![b".".to_vec()]),
        unfinished: AtomicUsize::new(1),
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(|| work(root, guards, text, &queue)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    })
}

/// Directories that are known and not gone through.
struct Queue {
    pending: Mutex<Vec<Vec<u8>>>,
    unfinished: AtomicUsize,
}

impl Queue {
    fn take(&self) -> Option<Vec<u8>> {
        self.pending.lock().unwrap().pop()
    }

    fn add(&self, path: Vec<u8>) {
        self.unfinished.fetch_add(1, Ordering::SeqCst);
        self.pending.lock().unwrap().push(path);
    }
}

fn work(root: BorrowedFd<'_>, guards: Guards, text: &[u8], queue: &Queue) -> usize {
    let finder = memchr::memmem::Finder::new(text);
    let mut buffer = vec![0; BUFFER];
    let mut names: Vec<MaybeUninit<u8>> = vec![MaybeUninit::uninit(); BUFFER];
    let mut files = 0;
    while queue.unfinished.load(Ordering::SeqCst) > 0 {
        let Some(path) = queue.take() else {
            std::thread::yield_now();
            continue;
        };
        let opened = guards.open(root, &path, OFlags::DIRECTORY);
        if let Ok(directory) = opened {
            let mut entries = RawDir::new(&directory, &mut names);
            while let Some(entry) = entries.next() {
                let entry = entry.unwrap();
                let name = entry.file_name().to_bytes();
                match entry.file_type() {
                    FileType::Directory if name != b"." && name != b".." => {
                        queue.add([&path, &b"/"[..], name].concat());
                    }
                    FileType::RegularFile => {
                        files += usize::from(read(
                            directory.as_fd(),
                            guards,
                            name,
                            &mut buffer,
                            &finder,
                        ));
                    }
                    _ => {}
                }
            }
        }
        queue.unfinished.fetch_sub(1, Ordering::SeqCst);
    }
    files
}

/// Reads a file to its end; whether it could be opened.
fn read(
    directory: BorrowedFd<'_>,
    guards: Guards,
    name: &[u8],
    buffer: &mut [u8],
    finder: &memchr::memmem::Finder<'_>,
) -> bool {
    let Ok(file) = guards.open(directory, name, OFlags::empty()) else {
        return false;
    };
    let size = open::observe(file.as_fd()).unwrap().stx_size;
    let mut left = size;
    loop {
        let n = rustix::io::read(&file, &mut *buffer).unwrap();
        assert!(finder.find(&buffer[..n]).is_none(), "it is nowhere");
        left = left.saturating_sub(n as u64);
        if n == 0 || left == 0 {
            return true;
        }
    }
}
