//! The names of one directory: each is judged, passed over or told, and what is to be done after that
//! is put in order.

use super::board::Outcome;
use super::names::{Names, Rest};
use super::step::Age;
use super::tell::{Ends, Last, Piece, Tell};
use super::{Above, Hold, Hunt, Listed, Listing, Means, Met, Outcomes, Then, Unit, Walk, Wants};
use crate::policy::Judgement;
use crate::sys::open::{self, Purpose};
use portcullis_protocol::ledger::Temporary;
use portcullis_protocol::limits::WALK_DEPTH_MAX;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{Packed, Statistics, Streamed};
use portcullis_protocol::view::Kind;
use rustix::io::Errno;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a directory holds that waits to be entered, with what is told before it.
const WAITING_BYTES: usize = 512;
/// Files worked on together.
const FILES: usize = 32;
/// Names between two looks at the clock and whether the worker still wants an answer.
const NAMES_BETWEEN: usize = 256;

/// Bytes of an encoded entry beside its path.
const ENTRY_BYTES: usize = 8;

/// A directory while its names are looked at.
pub(super) struct Looking<'a> {
    pub(super) above: &'a Arc<Above>,
    /// The name in it that a cursor leads to.
    pub(super) resume: Option<&'a [u8]>,
    pub(super) age: Age,
}

/// A part of what comes of a directory, before all of it is there.
enum Part {
    Items(Range<usize>, Statistics, Last),
    Directory(Box<[u8]>),
    Files(Range<usize>),
}

/// What came of one name.
enum Became {
    Nothing,
    Directory,
    File,
}

/// All parts, in order.
#[derive(Default)]
struct Parts {
    all: Vec<Part>,
    /// Rows of files to be worked on.
    pending: Vec<u32>,
    /// How many items, and how many of those files, are in a part.
    items_done: usize,
    files_done: usize,
}

impl Parts {
    /// What was told since the last part, and counted.
    fn items<T: Streamed>(&mut self, tell: &mut Tell<'_, T>, last: Last) {
        let items = self.items_done..tell.packed.len();
        let statistics = std::mem::take(&mut tell.statistics);
        if items.is_empty() && statistics == Statistics::default() {
            return;
        }
        self.items_done = items.end;
        let last = match last {
            // Nothing of this part was told.
            Last::Item if items.is_empty() => Last::Nothing,
            Last::Nothing | Last::Item | Last::Name(..) => last,
        };
        self.all.push(Part::Items(items, statistics, last));
    }

    /// One of so many rows.
    fn file(&mut self, row: usize, rows: usize) {
        if self.pending.is_empty() {
            self.pending.reserve(rows.saturating_sub(row));
        }
        if let Ok(row) = u32::try_from(row) {
            self.pending.push(row);
        }
    }

    /// The files since the last part.
    fn files(&mut self) {
        let files = self.files_done..self.pending.len();
        if !files.is_empty() {
            self.files_done = files.end;
            self.all.push(Part::Files(files));
        }
    }
}

impl<H: Hunt> Walk<H> {
    /// Judges the names that were read, has them told, and says what is to be done after that.
    pub(super) fn meet_all(
        &self,
        means: &mut Means<H>,
        looking: &Looking<'_>,
        rest: Rest,
        statistics: Statistics,
    ) -> Outcomes<H::Told> {
        let names = std::mem::take(&mut means.names);
        let rows = names.rows().len();
        let each = looking.above.path.as_bytes().len() + ENTRY_BYTES;
        let mut tell = Tell::bounded((rows, names.name_bytes() + rows * each));
        tell.statistics = statistics;
        let mut parts = Parts::default();
        let mut whole = true;
        let mut path = looking.above.path.with_room_for_name();
        for (n, row) in names.rows().iter().enumerate() {
            if n % NAMES_BETWEEN == 0 && self.ground.interrupt.reason().is_some() {
                whole = false;
                break;
            }
            let name = names.name(row);
            if path.push(name).is_err() {
                // Counted, unless it is hidden.
                let policy = &self.ground.session.policy;
                let judged = policy.meet(&looking.above.room, name);
                let verb = self.ground.route.verb;
                if policy.judge_met(&looking.above.room, &judged, verb) != Judgement::Hidden {
                    tell.statistics.too_deep += 1;
                }
                continue;
            }
            let became = self.meet_one(looking, (&path, name), (row.kind, row.inode), &mut tell);
            match became {
                Became::Nothing => {}
                Became::Directory => {
                    parts.items(&mut tell, Last::Item);
                    parts.files();
                    parts.all.push(Part::Directory(name.into()));
                }
                Became::File => parts.file(n, rows),
            }
            path.pop();
        }
        let last = match names.rows().last() {
            Some(row) if whole => Last::Name(Arc::clone(looking.above), names.name(row).into()),
            Some(_) | None => Last::Nothing,
        };
        parts.files();
        if parts.pending.is_empty() {
            parts.items(&mut tell, last);
        } else {
            // The files say what is told whole.
            parts.items(&mut tell, Last::Nothing);
        }
        self.outcomes(means, (looking.above, names, rest), parts, tell.packed)
    }

    /// What comes of a directory, in order.
    fn outcomes(
        &self,
        means: &mut Means<H>,
        (above, mut names, rest): (&Arc<Above>, Names, Rest),
        parts: Parts,
        packed: Packed<H::Told>,
    ) -> Outcomes<H::Told> {
        let packed = Arc::new(packed);
        let held = &self.ground.names_held;
        let listed = if parts.pending.is_empty() {
            names.clear();
            means.names = names;
            None
        } else {
            means.names = means.spare.pop().unwrap_or_default();
            Some(Arc::new(Listed {
                above: Arc::clone(above),
                _hold: Hold::new(held, names.cost()),
                names,
                files: parts.pending,
            }))
        };
        let mut outcomes = Vec::with_capacity(parts.all.len() + 1);
        for part in parts.all {
            match part {
                Part::Items(items, statistics, last) => {
                    self.count_seen(&statistics);
                    let piece = Piece::new(&packed, items, statistics, last);
                    outcomes.push(Outcome::Ready(piece));
                }
                Part::Directory(name) => outcomes.push(Outcome::Waiting(Unit::Directory {
                    above: Arc::clone(above),
                    _hold: Hold::new(held, WAITING_BYTES),
                    name,
                })),
                Part::Files(range) => {
                    let Some(listed) = &listed else { continue };
                    outcomes.extend(range.clone().step_by(FILES).map(|from| {
                        Outcome::Waiting(Unit::Files {
                            listed: Arc::clone(listed),
                            from,
                            to: range.end.min(from + FILES),
                        })
                    }));
                }
            }
        }
        if rest != Rest::None {
            let of = Arc::clone(above);
            outcomes.push(Outcome::Waiting(Unit::Rest { of, rest }));
        }
        if outcomes.is_empty() {
            // A unit always becomes something.
            let piece = Piece::counting(Statistics::default(), Ends::No);
            outcomes.push(Outcome::Ready(piece));
        }
        outcomes
    }

    /// Judges one name and has it told. Judged first, so that a hidden name is in no number, whatever
    /// else is true of it.
    fn meet_one(
        &self,
        looking: &Looking<'_>,
        (path, name): (&RelPath, &[u8]),
        (kind, inode): (Kind, u64),
        tell: &mut Tell<'_, H::Told>,
    ) -> Became {
        let ground = &self.ground;
        let (policy, above) = (&ground.session.policy, looking.above);
        let (verb, object) = (ground.route.verb, (above.object.0, inode));
        let judged = policy.meet(&above.room, name);
        let by_name = policy.judge_met(&above.room, &judged, verb);
        let denied = match by_name.or(policy.judge_object(object, verb)) {
            Judgement::Hidden => return Became::Nothing,
            // Nobody is asked for each name of a walk.
            Judgement::Denied(rule) | Judgement::Asks(rule) => Some(rule),
            Judgement::Clear => None,
        };
        if Temporary::is_one(name) {
            tell.statistics.temporaries += 1;
            return Became::Nothing;
        }
        let there = self.is_at_its_place(looking, path);
        let kind = match there.and_then(|()| self.kind_of(path, kind)) {
            Ok(kind) => kind,
            Err(errno) => {
                tell.count(errno);
                return Became::Nothing;
            }
        };
        let met = Met {
            path,
            name,
            kind,
            denied,
            room: &above.room,
            judged: &judged,
            object,
        };
        if !self.is_wanted(&met, &mut tell.statistics) {
            return Became::Nothing;
        }
        let takes = || self.hunt.takes(&met);
        let over = ground
            .route
            .passes
            .over(&met, takes, || above.rules.judge(name, kind));
        match (denied, over) {
            (Some(_), over) => {
                tell.statistics.denied += 1;
                if over.is_some() {
                    return Became::Nothing;
                }
            }
            (None, Some(over)) => {
                over.count(&mut tell.statistics);
                return Became::Nothing;
            }
            (None, None) => {}
        }
        self.meet_taken(looking, &met, tell)
    }

    /// Whether a name is asked for, or may lead to one that is; counts it if not.
    fn is_wanted(&self, met: &Met<'_>, statistics: &mut Statistics) -> bool {
        if met.denied.is_some() || met.kind == Kind::Directory {
            return true;
        }
        match self.hunt.wants(met) {
            Wants::Yes => return true,
            Wants::No => statistics.files += 1,
            Wants::Excluded => statistics.excluded += 1,
        }
        false
    }

    /// Has a name told that is not passed over, unless it was before, and says what comes of it.
    fn meet_taken(
        &self,
        looking: &Looking<'_>,
        met: &Met<'_>,
        tell: &mut Tell<'_, H::Told>,
    ) -> Became {
        let then = if looking.resume == Some(met.name) {
            Then::Done
        } else {
            self.hunt.meet(&self.ground, met, tell)
        };
        match (met.kind, then) {
            (_, Then::Work) => Became::File,
            (Kind::Directory, Then::Done) if met.denied.is_none() => {
                self.enters(looking.above, tell)
            }
            (_, Then::Done) => Became::Nothing,
        }
    }

    /// The type of what was listed, looked at where the file system does not say.
    fn kind_of(&self, path: &RelPath, listed: Kind) -> Result<Kind, Errno> {
        match listed {
            Kind::Unknown => {
                let object = open::below(self.ground.root_fd()?, path, Purpose::LookAtLink)?;
                open::observation(object).map(|seen| seen.kind)
            }
            Kind::File
            | Kind::Directory
            | Kind::Link
            | Kind::Fifo
            | Kind::Socket
            | Kind::Device => Ok(listed),
        }
    }

    /// Makes sure that a name that is told was at this path at some moment. A directory whose names
    /// did not change since the walk began had them when it was opened by its path. Into any other
    /// one they may have come while it, or one above it, was moved to where they are denied.
    fn is_at_its_place(&self, looking: &Looking<'_>, path: &RelPath) -> Result<(), Errno> {
        match (self.ground.route.listing, looking.age) {
            (Listing::Told, Age::Recent) => {}
            (Listing::Opened, _) | (Listing::Told, Age::Older) => return Ok(()),
        }
        match open::below(self.ground.root_fd()?, path, Purpose::LookAtLink) {
            // Something is mounted there.
            Ok(_) | Err(Errno::XDEV) => Ok(()),
            // Names of a directory that may be listed and not entered cannot be looked up by anybody.
            Err(Errno::ACCESS) if self.ground.still_at(looking.above).is_ok() => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Whether a directory in `above` is entered.
    fn enters(&self, above: &Above, tell: &mut Tell<'_, H::Told>) -> Became {
        let depth = above.depth + 1;
        if depth >= WALK_DEPTH_MAX {
            tell.statistics.too_deep += 1;
            Became::Nothing
        } else if depth < self.ground.route.depth {
            Became::Directory
        } else {
            Became::Nothing
        }
    }

    pub(super) fn count_seen(&self, statistics: &Statistics) {
        let seen = &self.ground.seen;
        seen.files.fetch_add(statistics.files, Ordering::Relaxed);
        seen.bytes.fetch_add(statistics.bytes, Ordering::Relaxed);
    }
}
