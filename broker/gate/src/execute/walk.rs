//! Walking below a bound directory, in order, with bounded memory and without open parents.
//!
//! Every directory is opened from the root by its whole path, so one that was moved out or
//! replaced by a link is refused by the kernel and counted as changed. Denials are judged in the
//! walk: hidden names are neither seen nor counted.

mod visit;

pub(super) use visit::{Flow, Interrupt, Met, Visitor, Walked};

use crate::bind::Bound;
use crate::outlet::Gone;
use crate::policy::{Judgement, Place};
use crate::sys::directory::{self, Fetch};
use crate::sys::open::{self, Purpose};
use portcullis_protocol::ledger::Temporary;
use portcullis_protocol::limits::WALK_DEPTH_MAX;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Rule;
use portcullis_protocol::session::CutReason;
use portcullis_protocol::view::Kind;
use rustix::io::Errno;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;

/// Names held in memory by one walk, over all its levels.
const NAMES_MAX: usize = 200_000;
/// Names of one directory held at least, however full the rest is.
const NAMES_MIN: usize = 512;
/// Entries between two looks at the clock and the cancel flag.
const UNIT: u32 = 64;

/// A name waiting in a level, ordered by its bytes.
#[derive(Debug)]
struct Waiting {
    name: Vec<u8>,
    kind: Kind,
    inode: u64,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(&other.name)
    }
}

/// One directory of the walk: some of its names, smallest last, and which come after them.
struct Level {
    path: RelPath,
    place: Place,
    device: u64,
    names: Vec<Waiting>,
    rest: Rest,
}

/// The names of a directory that were not read yet.
#[derive(Debug, PartialEq, Eq)]
enum Rest {
    /// Those at or after this one; the empty name is before all.
    From(Vec<u8>),
    /// Those after this one.
    After(Vec<u8>),
    /// None.
    None,
}

impl Rest {
    fn has(&self, name: &[u8]) -> bool {
        match self {
            Self::From(first) => name >= first.as_slice(),
            Self::After(last) => name > last.as_slice(),
            Self::None => false,
        }
    }
}

/// Walks below `bound`, at most `depth` levels, after `resume` if there is one. Gives why it
/// stopped early, if it did.
pub(super) fn walk(
    bound: &Bound,
    depth: u32,
    resume: Option<&RelPath>,
    walked: &mut Walked<'_>,
    visitor: &mut dyn Visitor,
) -> Result<Option<CutReason>, Gone> {
    let place = walked.session.policy.place(walked.root, bound.path());
    let mut descent = Descent {
        depth,
        resume,
        fetch: Fetch::new(),
        levels: Vec::new(),
        held: 0,
    };
    if descent.enter(walked, bound.path().clone(), place).is_err() {
        return Ok(Some(CutReason::Changed));
    }
    descent.run(walked, visitor)
}

/// A walk under way.
struct Descent<'a> {
    depth: u32,
    resume: Option<&'a RelPath>,
    fetch: Fetch,
    levels: Vec<Level>,
    /// Names in all levels.
    held: usize,
}

/// An object of a level, judged.
struct Found<'a> {
    path: RelPath,
    place: Place,
    kind: Kind,
    denied: Option<&'a Rule>,
    object: (u64, u64),
}

impl Descent<'_> {
    fn run(
        &mut self,
        walked: &mut Walked<'_>,
        visitor: &mut dyn Visitor,
    ) -> Result<Option<CutReason>, Gone> {
        let mut unit = 0;
        while let Some(level) = self.levels.last_mut() {
            let Some(waiting) = level.names.pop() else {
                if let Some(cut) = self.refill(walked) {
                    return Ok(Some(cut));
                }
                continue;
            };
            self.held = self.held.saturating_sub(1);
            unit += 1;
            if unit % UNIT == 0
                && let Some(cut) = walked.interrupt.reason()
            {
                return Ok(Some(cut));
            }
            let Some(found) = meet(walked, level, &waiting) else {
                continue;
            };
            let Found {
                path,
                place,
                kind,
                denied,
                object,
            } = found;
            // The object a cursor names and the directories it lies in were sent before.
            let sent = self
                .resume
                .is_some_and(|resume| resume.below(&path).is_some());
            let flow = if sent {
                Flow::On
            } else {
                visitor.visit(
                    &Met {
                        path: &path,
                        kind,
                        denied,
                        place: &place,
                        object,
                    },
                    walked,
                )?
            };
            match flow {
                Flow::Stop(cut) => return Ok(Some(cut)),
                Flow::On if kind == Kind::Directory && denied.is_none() => {
                    self.descend(walked, path, place);
                }
                Flow::On | Flow::Past => {}
            }
        }
        Ok(None)
    }

    /// Goes into a directory, or counts why not.
    fn descend(&mut self, walked: &mut Walked<'_>, path: RelPath, place: Place) {
        let depth = u32::try_from(self.levels.len()).unwrap_or(u32::MAX);
        if depth >= WALK_DEPTH_MAX {
            walked.statistics.too_deep += 1;
        } else if depth < self.depth
            && let Err(errno) = self.enter(walked, path, place)
        {
            walked.count(errno);
        }
    }

    /// Opens a directory and reads its first names, from the cursor's place if it lies below.
    fn enter(&mut self, walked: &mut Walked<'_>, path: RelPath, place: Place) -> Result<(), Errno> {
        let first = self
            .resume
            .and_then(|resume| resume.below(&path))
            .and_then(|rest| rest.split(|b| *b == b'/').next())
            .unwrap_or_default();
        let rest = Rest::From(first.to_vec());
        let mut level = Level {
            path,
            place,
            device: 0,
            names: Vec::new(),
            rest,
        };
        read_names(walked, &mut self.fetch, &mut level, self.held)?;
        walked.statistics.directories += 1;
        self.held += level.names.len();
        self.levels.push(level);
        Ok(())
    }

    /// Reads on in the last level, or leaves it. The start going away ends the walk.
    fn refill(&mut self, walked: &mut Walked<'_>) -> Option<CutReason> {
        let level = self.levels.last_mut()?;
        if level.rest == Rest::None {
            self.levels.pop();
            return None;
        }
        match read_names(walked, &mut self.fetch, level, self.held) {
            Ok(()) => {
                self.held += level.names.len();
                None
            }
            Err(errno) => {
                walked.count(errno);
                self.levels.pop();
                self.levels.is_empty().then_some(CutReason::Changed)
            }
        }
    }
}

/// Judges a waiting name; none when it is hidden, too long or gone. Judged first, so that a hidden
/// name is in no number, whatever else is true of it.
fn meet<'a>(walked: &mut Walked<'a>, level: &Level, waiting: &Waiting) -> Option<Found<'a>> {
    let policy = &walked.session.policy;
    let place = policy.enter(&level.place, &waiting.name);
    let object = (level.device, waiting.inode);
    let by_name = policy.judge_place(&place, walked.verb);
    let denied = match by_name.or(policy.judge_object(object, walked.verb)) {
        Judgement::Hidden => return None,
        // Nobody is asked for each name of a walk.
        Judgement::Denied(rule) | Judgement::Asks(rule) => Some(rule),
        Judgement::Clear => None,
    };
    if Temporary::is_one(&waiting.name) {
        walked.statistics.temporaries += 1;
        return None;
    }
    let Ok(path) = level.path.join(&waiting.name) else {
        walked.statistics.too_deep += 1;
        return None;
    };
    let mut kind = waiting.kind;
    if kind == Kind::Unknown {
        let looked = walked
            .root_fd()
            .and_then(|root| open::below(root, &path, Purpose::LookAtLink))
            .and_then(open::observation);
        match looked {
            Ok(observed) => kind = observed.kind,
            Err(errno) => {
                walked.count(errno);
                return None;
            }
        }
    }
    Some(Found {
        path,
        place,
        kind,
        denied,
        object,
    })
}

/// Reads the smallest names after the level's place, as many as may be held.
fn read_names(
    walked: &mut Walked<'_>,
    fetch: &mut Fetch,
    level: &mut Level,
    held: usize,
) -> Result<(), Errno> {
    let wanted = std::mem::replace(&mut level.rest, Rest::None);
    let room = NAMES_MAX.saturating_sub(held).max(NAMES_MIN);
    let directory = open::below(walked.root_fd()?, &level.path, Purpose::Entries)?;
    level.device = open::observation(&directory)?.stamp.device;
    if walked
        .session
        .sole_device(walked.root)
        .is_some_and(|device| device != level.device)
    {
        return Err(Errno::XDEV);
    }
    let mut smallest: BinaryHeap<Waiting> = BinaryHeap::new();
    let mut left_out = false;
    directory::each(directory.as_fd(), fetch, |named| {
        if wanted.has(named.name) {
            let larger = smallest
                .peek()
                .is_some_and(|max| named.name >= max.name.as_slice());
            if smallest.len() < room || !larger {
                smallest.push(Waiting {
                    name: named.name.to_vec(),
                    kind: named.kind,
                    inode: named.inode,
                });
                if smallest.len() > room {
                    smallest.pop();
                    left_out = true;
                }
            } else {
                left_out = true;
            }
        }
        ControlFlow::Continue(())
    })?;
    let mut names = smallest.into_sorted_vec();
    // A name renamed during the listing can come twice.
    names.dedup_by(|a, b| a.name == b.name);
    if left_out && let Some(last) = names.last() {
        level.rest = Rest::After(last.name.clone());
    }
    names.reverse();
    level.names = names;
    Ok(())
}
