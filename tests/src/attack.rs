//! An attacker: a thread that changes a tree under its readers as fast as the kernel lets it.
//!
//! It holds descriptors of the directories it works in, so that its own swaps never lead it
//! elsewhere. When it stops, the tree is as it was when it started.

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, renameat_with};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A change that is made and taken back, again and again.
#[derive(Debug)]
pub enum Swap {
    /// Two names of one directory exchange what they name.
    Exchange {
        /// The directory.
        directory: OwnedFd,
        /// The names.
        names: [&'static str; 2],
    },
    /// An object leaves one directory for another, and comes back.
    Shuttle {
        /// Where it is, and its name there.
        home: (OwnedFd, &'static str),
        /// Where it goes, and its name there.
        away: (OwnedFd, &'static str),
    },
    /// A file is rewritten in place, without changing its size.
    Rewrite {
        /// The file, open for writing.
        file: OwnedFd,
        /// What it holds, the version it starts with first.
        versions: [Vec<u8>; 2],
    },
    /// Anything else, with what takes it back.
    Deed {
        /// Makes the change.
        make: Deed,
        /// Takes it back.
        back: Deed,
    },
}

/// What an attacker does.
pub struct Deed(Box<dyn Fn() + Send>);

impl Deed {
    /// Does this.
    pub fn new(deed: impl Fn() + Send + 'static) -> Self {
        Self(Box::new(deed))
    }
}

impl std::fmt::Debug for Deed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Deed")
    }
}

/// Opens a directory for an attack.
pub fn directory(path: impl AsRef<Path>) -> OwnedFd {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path.as_ref(), flags, Mode::empty()).unwrap()
}

impl Swap {
    /// Makes the change, or takes it back.
    fn turn(&self, back: &mut bool) {
        match self {
            Self::Exchange {
                directory,
                names: [a, b],
            } => renameat_with(directory, *a, directory, *b, RenameFlags::EXCHANGE).unwrap(),
            Self::Shuttle { home, away } => {
                let (from, to) = if *back { (away, home) } else { (home, away) };
                let flags = RenameFlags::NOREPLACE;
                renameat_with(&from.0, from.1, &to.0, to.1, flags).unwrap();
            }
            Self::Rewrite { file, versions } => {
                let version = &versions[usize::from(!*back)];
                // In two halves: a torn reader is then the file system's doing as little as ours.
                let (first, second) = version.split_at(version.len() / 2);
                rustix::io::pwrite(file, first, 0).unwrap();
                rustix::io::pwrite(file, second, first.len() as u64).unwrap();
            }
            Self::Deed {
                make,
                back: take_back,
            } => {
                let Deed(deed) = if *back { take_back } else { make };
                deed();
            }
        }
        *back = !*back;
    }
}

/// A running attack.
#[derive(Debug)]
pub struct Attacker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Attacker {
    /// Starts it: one swap after the other, with pauses between none and some dozen
    /// microseconds, so that readers meet every state and every moment between two.
    pub fn start(swaps: Vec<Swap>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut backs = vec![false; swaps.len()];
            let mut turns = 0_u64;
            let mut random = 0x9e37_79b9_7f4a_7c15_u64;
            while !asked.load(Ordering::Relaxed) {
                for (swap, back) in swaps.iter().zip(&mut backs) {
                    swap.turn(back);
                    turns += 1;
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let until = Instant::now() + Duration::from_micros(random % 64);
                    while random & 0x100 != 0 && Instant::now() < until {
                        std::hint::spin_loop();
                    }
                }
            }
            for (swap, back) in swaps.iter().zip(&mut backs).rev() {
                if *back {
                    swap.turn(back);
                }
            }
            turns
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }

    /// Stops it; gives how often it changed something.
    pub fn stop(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread
            .take()
            .map_or(0, |thread| thread.join().unwrap())
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
