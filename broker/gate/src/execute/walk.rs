//! Walking below a bound directory: several threads, one answer in order, bounded memory.
//!
//! Every directory and file is opened from the root by its whole path, so one that was moved out or
//! replaced by a link is refused by the kernel and counted as changed; no directory stays open. Denials
//! are judged in the walk, on each name before anything of it is opened: hidden names are neither seen
//! nor counted.
//!
//! ```text
//! [`Board`] what is done and to be done, in order   [`step`] one directory becomes results and units
//! [`Names`] the names of one directory, bounded      [`Hunt`] what a verb does with what is met
//! ```

mod board;
mod files;
mod interrupt;
mod meet;
mod names;
mod passes;
mod route;
mod rules;
mod step;
mod tell;

pub(super) use interrupt::Interrupt;
pub(super) use passes::Passes;
pub(super) use route::{Length, Listing, Route};
pub(super) use tell::{Go, Last, Piece, Relief, Tell};

use super::frames::{Frames, Stop};
use crate::bind::Bound;
use crate::ignored::Rules;
use crate::policy::{Met as Judged, Room};
use crate::pool::Help;
use crate::session::Session;
use crate::sys::directory::Fetch;
use board::{Board, Outcome, Place};
use names::{Names, Rest};
use portcullis_protocol::path::{NameError, RelPath};
use portcullis_protocol::refusal::Rule;
use portcullis_protocol::session::{CutReason, Packed, Progress, Streamed};
use portcullis_protocol::view::{Kind, RootIndex};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tell::Role;

/// How long a walk goes on alone before it asks for help: small ones are over by then, and waking a
/// thread costs more than they do.
const ALONE: Duration = Duration::from_micros(100);
/// Units taken at once: directories beside one another are looked at together.
const TOGETHER: usize = 8;
/// How long a thread that finds nothing to do waits before it looks at the clock again.
const IDLE: Duration = Duration::from_millis(5);

/// What a verb does with what a walk meets. Several threads call it at once.
pub(super) trait Hunt: Send + Sync + 'static {
    /// What is told.
    type Told: Streamed + Send + Sync + 'static;
    /// What one thread needs for it.
    type Hand: Send;

    /// The means of one thread.
    fn hand(&self) -> Self::Hand;
    /// Whether something that is no directory is asked for at all. Looked at before why it might be
    /// passed over, which costs more.
    fn wants(&self, met: &Met<'_>) -> Wants;
    /// Whether a name that begins with a dot, or is ignored, is taken all the same.
    fn takes(&self, met: &Met<'_>) -> Takes;
    /// One name that is not passed over.
    fn meet(&self, walk: &Ground, met: &Met<'_>, tell: &mut Tell<'_, Self::Told>) -> Then;
    /// One file that was put off by [`Self::meet`].
    fn file(
        &self,
        walk: &Ground,
        hand: &mut Self::Hand,
        path: &RelPath,
        tell: &mut Tell<'_, Self::Told>,
    );
}

/// Whether a name is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    Yes,
    /// It is not, which is no loss.
    No,
    /// It is not, because the request excludes it.
    Excluded,
}

/// Which of the reasons to pass over a name do not hold for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// All hold.
    Usual,
    /// It may begin with a dot.
    Dot,
    /// It may begin with a dot, and may be ignored.
    Ignored,
}

/// What becomes of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// It is done with. A directory is entered.
    Done,
    /// It is a file to be worked on.
    Work,
}

/// One name of a walk, judged.
#[derive(Debug)]
pub(super) struct Met<'a> {
    pub(super) path: &'a RelPath,
    pub(super) name: &'a [u8],
    pub(super) kind: Kind,
    /// The rule that denies the walk's verb here.
    pub(super) denied: Option<&'a Rule>,
    pub(super) room: &'a Room,
    pub(super) judged: &'a Judged,
    /// Device and inode, as the directory gave them.
    pub(super) object: (u64, u64),
}

/// A directory of a walk.
#[derive(Debug)]
pub(super) struct Above {
    path: RelPath,
    room: Room,
    rules: Rules,
    object: (u64, u64),
    /// Levels below the start.
    depth: u32,
}

impl Above {
    /// The path of a name in it.
    pub(super) fn join(&self, name: &[u8]) -> Result<RelPath, NameError> {
        self.path.join(name)
    }
}

/// Names of a directory whose files are still to be worked on.
#[derive(Debug)]
struct Listed {
    above: Arc<Above>,
    names: Names,
    /// Rows of `names`.
    files: Vec<u32>,
    _hold: Hold,
}

/// A part of the memory that a walk may hold for names, given back when it is dropped.
#[derive(Debug)]
struct Hold {
    of: Arc<AtomicUsize>,
    bytes: usize,
}

impl Hold {
    fn new(of: &Arc<AtomicUsize>, bytes: usize) -> Self {
        of.fetch_add(bytes, Ordering::Relaxed);
        Self {
            of: Arc::clone(of),
            bytes,
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.of.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Something to do.
#[derive(Debug)]
enum Unit {
    /// The directory where the walk begins.
    Start(Box<Start>),
    /// A directory that was met.
    Directory {
        above: Arc<Above>,
        name: Box<[u8]>,
        _hold: Hold,
    },
    /// Names of a directory that were too many before.
    Rest { of: Arc<Above>, rest: Rest },
    /// Files of a directory.
    Files {
        listed: Arc<Listed>,
        from: usize,
        to: usize,
    },
}

#[derive(Debug)]
struct Start {
    path: RelPath,
    room: Room,
    rules: Rules,
    /// Rules of the directories above that do not hold.
    left_out: u64,
}

impl board::Together for Unit {
    fn goes_with(&self, first: &Self) -> bool {
        match (self, first) {
            (Self::Directory { above, .. }, Self::Directory { above: of, .. }) => {
                Arc::ptr_eq(above, of)
            }
            (
                Self::Start(_) | Self::Directory { .. } | Self::Rest { .. } | Self::Files { .. },
                Self::Start(_) | Self::Directory { .. } | Self::Rest { .. } | Self::Files { .. },
            ) => false,
        }
    }
}

/// Where a walk is, for all its threads.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) session: Arc<Session>,
    pub(super) root: RootIndex,
    pub(super) route: Route,
    pub(super) interrupt: Interrupt,
    /// Seconds since 1970, a little before the walk began.
    began_at: i64,
    /// Bytes of names held by directories that are not done with.
    names_held: Arc<AtomicUsize>,
    seen: Seen,
    /// Whether a walk that was to be short is not.
    long: AtomicBool,
}

/// How far all threads are, whatever is told by now.
#[derive(Debug, Default)]
struct Seen {
    directories: AtomicU64,
    files: AtomicU64,
    bytes: AtomicU64,
}

impl Ground {
    /// The root's descriptor.
    pub(super) fn root_fd(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.session.root(self.root).ok_or(Errno::BADF)
    }

    fn progress(&self) -> Progress {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Progress {
            directories: of(&self.seen.directories),
            files: of(&self.seen.files),
            bytes: of(&self.seen.bytes),
            sent: 0,
        }
    }
}

/// What comes of one unit, in order.
type Outcomes<T> = Vec<Outcome<Unit, Piece<T>>>;

type Work<H> = Board<Unit, Piece<<H as Hunt>::Told>>;

/// A walk, shared by its threads.
pub(super) struct Walk<H: Hunt> {
    ground: Ground,
    hunt: H,
    board: Mutex<Work<H>>,
    /// Signalled when the board changed and somebody waits for that.
    changed: Condvar,
    idle: AtomicUsize,
}

/// What one thread works with.
struct Means<H: Hunt> {
    fetch: Fetch,
    names: Names,
    /// Room for names that nothing holds any more.
    spare: Vec<Names>,
    /// Room for what one unit finds.
    packed: Packed<H::Told>,
    hand: H::Hand,
}

impl<H: Hunt> Means<H> {
    /// Keeps the room of a directory whose files are all done.
    fn reuse(&mut self, listed: Arc<Listed>) {
        if let Some(mut names) = Arc::into_inner(listed).map(|listed| listed.names)
            && self.spare.len() < TOGETHER
        {
            names.clear();
            self.spare.push(names);
        }
    }
}

impl<H: Hunt> Walk<H> {
    /// A walk below `bound`.
    pub(super) fn new(
        session: &Arc<Session>,
        bound: &Bound,
        route: Route,
        interrupt: Interrupt,
        hunt: H,
    ) -> Arc<Self> {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        let ground = Ground {
            session: Arc::clone(session),
            root: bound.root(),
            route,
            interrupt,
            began_at: now.tv_sec.saturating_sub(1),
            names_held: Arc::default(),
            seen: Seen::default(),
            long: AtomicBool::new(false),
        };
        let start = ground.start(bound.path());
        Arc::new(Self {
            ground,
            hunt,
            board: Mutex::new(Board::new(Unit::Start(Box::new(start)))),
            changed: Condvar::new(),
            idle: AtomicUsize::new(0),
        })
    }

    /// What is done with what is met.
    pub(super) fn hunt(&self) -> &H {
        &self.hunt
    }

    /// Whether it was to be short and is not: it was given up, and nothing was told.
    pub(super) fn is_long(&self) -> bool {
        self.ground.long.load(Ordering::Relaxed)
    }

    /// Walks to the end; gives why it stopped early, if it did.
    pub(super) fn run(
        self: &Arc<Self>,
        frames: &mut Frames<'_, H::Told>,
    ) -> Result<Option<CutReason>, Stop> {
        let ended = self.lead(frames);
        // Those who help leave too.
        self.ground.interrupt.end();
        self.changed.notify_all();
        ended
    }

    fn lead(self: &Arc<Self>, frames: &mut Frames<'_, H::Told>) -> Result<Option<CutReason>, Stop> {
        let began = Instant::now();
        let mut means = self.means();
        let mut alone = true;
        loop {
            self.drain(frames)?;
            // After that: what was ready may have been left untold.
            if let Some(cut) = self.ground.interrupt.reason() {
                return Ok(Some(cut));
            }
            frames.breathe(|| self.ground.progress())?;
            let Some(claimed) = self.claim() else {
                return Ok(None);
            };
            if alone && began.elapsed() >= ALONE {
                alone = false;
                self.ground.session.pool.ask(self);
            }
            let role = &mut Role::Lead(frames);
            self.work(&mut means, claimed, role)?;
        }
    }

    /// Sends all results that are in front.
    fn drain(&self, frames: &mut Frames<'_, H::Told>) -> Result<(), Stop> {
        loop {
            let ready = {
                let mut board = self.board();
                let ready: Vec<_> = std::iter::from_fn(|| board.pop()).take(64).collect();
                if ready.is_empty() {
                    return Ok(());
                }
                // There may be room again.
                self.changed_now();
                ready
            };
            for piece in &ready {
                // What is ready is much where a worker is slow, and nothing of it is wanted any more.
                if self.ground.interrupt.reason().is_some() {
                    return Ok(());
                }
                frames.take(piece)?;
                match piece.end {
                    tell::Ends::No => {}
                    tell::Ends::StartGone => return Err(Stop::StartGone),
                }
            }
        }
    }

    /// Takes what is to be done next; nothing for now when others do all there is, none when all is
    /// done.
    fn claim(&self) -> Option<Vec<(Place, Unit)>> {
        let mut board = self.board();
        if board.is_empty() {
            return None;
        }
        let claimed = board.claim(TOGETHER);
        if claimed.is_empty() {
            drop(self.wait(board));
        }
        Some(claimed)
    }

    /// Waits until the board changes, for a while.
    fn wait<'b>(&self, board: MutexGuard<'b, Work<H>>) -> MutexGuard<'b, Work<H>> {
        self.idle.fetch_add(1, Ordering::Relaxed);
        let waited = self.changed.wait_timeout(board, IDLE);
        self.idle.fetch_sub(1, Ordering::Relaxed);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Says that the board changed. Called with the board locked.
    fn changed_now(&self) {
        if self.idle.load(Ordering::Relaxed) > 0 {
            self.changed.notify_all();
        }
    }

    fn board(&self) -> MutexGuard<'_, Work<H>> {
        // Nobody panics while the board is locked; were it so, its list is whole all the same.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, settled: impl IntoIterator<Item = (Place, Outcomes<H::Told>)>) {
        let mut board = self.board();
        for (place, outcomes) in settled {
            board.settle(place, outcomes);
        }
        self.changed_now();
    }

    fn means(&self) -> Means<H> {
        Means {
            fetch: Fetch::new(),
            names: Names::default(),
            spare: Vec::new(),
            packed: Packed::default(),
            hand: self.hunt.hand(),
        }
    }
}

impl<H: Hunt> Help for Walk<H> {
    fn help(&self) {
        if self.ground.interrupt.reason().is_some() {
            return;
        }
        let mut means = self.means();
        while self.ground.interrupt.reason().is_none() {
            let Some(claimed) = self.claim() else { return };
            // Only who leads can be stopped by what it sends.
            if self.work(&mut means, claimed, &mut Role::Help).is_err() {
                return;
            }
        }
    }
}
