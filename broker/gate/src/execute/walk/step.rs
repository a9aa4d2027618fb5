//! One unit of a walk: a directory is opened and read, so that it becomes results and further units.

use super::board::{Outcome, Place};
use super::meet::Looking;
use super::names::Rest;
use super::tell::{Ends, Piece, Role, count};
use super::{Above, Ground, Hunt, Length, Listing, Means, Outcomes, Start, Unit, Walk};
use crate::execute::frames::Stop;
use crate::ignored::{Present, Rules};
use crate::policy::Room;
use crate::sys::open::{self, Purpose};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{Ignored, Statistics, Streamed};
use portcullis_protocol::view::Observation;
use rustix::io::Errno;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bytes of names that a walk holds, and of what is told of them.
const NAMES_MAX: usize = 3 * 1024 * 1024;
/// The same for one directory, however much the others hold.
const NAMES_MIN: usize = 16 * 1024;

/// Names between two looks at whether they are still wanted.
const NAMES_BETWEEN: u32 = 4096;
/// Names of a directory that is listed at once: a second fetch of names from the kernel is the last.
const SHORT_NAMES: u32 = 1024;

/// A directory that was looked at.
struct Looked<T> {
    outcomes: Outcomes<T>,
    /// It itself, where it was read.
    above: Option<Arc<Above>>,
    age: Age,
}

/// Whether a directory may have been renamed, or its names may have changed, since the walk began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Age {
    Older,
    Recent,
}

impl<H: Hunt> Walk<H> {
    /// Does units that go together.
    pub(super) fn work(
        &self,
        means: &mut Means<H>,
        claimed: Vec<(Place, Unit)>,
        role: &mut Role<'_, '_, H::Told>,
    ) -> Result<(), Stop> {
        let mut looked = Vec::with_capacity(claimed.len());
        let mut parent = None;
        for (place, unit) in claimed {
            let found = match unit {
                Unit::Files { listed, from, to } => {
                    self.files(means, place, (&listed, from..to), role)?;
                    means.reuse(listed);
                    continue;
                }
                Unit::Start(start) => self.start(means, *start),
                Unit::Directory { above, name, _hold } => {
                    let found = self.directory(means, &above, &name);
                    parent = Some(above);
                    found
                }
                Unit::Rest { of, rest } => self.rest(means, &of, &rest),
            };
            looked.push((place, found));
        }
        match self.ground.route.listing {
            Listing::Told => self.confirm(parent.as_deref(), &mut looked),
            Listing::Opened => {}
        }
        if !looked.is_empty() {
            self.settle(
                looked
                    .into_iter()
                    .map(|(place, found)| (place, found.outcomes)),
            );
        }
        Ok(())
    }

    /// Makes sure that what was listed was at its place when it was read, and not where its names are
    /// denied: a directory that was open already when it was moved is listed all the same. Where the
    /// one above is at its place afterwards, one in it that was not renamed since before the walk is
    /// too; every other is looked for by itself.
    fn confirm(&self, parent: Option<&Above>, looked: &mut [(Place, Looked<H::Told>)]) {
        let steady = parent.is_some_and(|parent| self.ground.still_at(parent).is_ok());
        for (_, found) in looked {
            let Some(above) = &found.above else { continue };
            if steady && found.age == Age::Older {
                continue;
            }
            let Err(errno) = self.ground.still_at(above) else {
                continue;
            };
            let mut statistics = Statistics::default();
            let ends = match above.depth {
                0 => Ends::StartGone,
                _ => {
                    // Not to be looked at is not the same as gone.
                    count(&mut statistics, errno);
                    Ends::No
                }
            };
            found.outcomes = vec![Outcome::Ready(Piece::counting(statistics, ends))];
        }
    }

    fn start(&self, means: &mut Means<H>, start: Start) -> Looked<H::Told> {
        let Start {
            path,
            room,
            rules,
            left_out,
        } = start;
        let name = path.last().map(<[u8]>::to_vec);
        let mut looked = match self.look(means, (path, room), (name.as_deref(), &rules), 0) {
            Ok(looked) => looked,
            Err(_) => return nothing(Statistics::default(), Ends::StartGone),
        };
        if left_out > 0 {
            let statistics = Statistics {
                rules_left_out: left_out,
                ..Statistics::default()
            };
            let counted = Outcome::Ready(Piece::counting(statistics, Ends::No));
            looked.outcomes.insert(0, counted);
        }
        looked
    }

    fn directory(&self, means: &mut Means<H>, above: &Above, name: &[u8]) -> Looked<H::Told> {
        let policy = &self.ground.session.policy;
        let room = policy.room(&policy.enter(above.room.place(), name));
        let looked = match above.path.join(name) {
            Ok(path) => self.look(
                means,
                (path, room),
                (Some(name), &above.rules),
                above.depth + 1,
            ),
            Err(_) => Err(Errno::NAMETOOLONG),
        };
        looked.unwrap_or_else(|errno| {
            let mut statistics = Statistics::default();
            count(&mut statistics, errno);
            nothing(statistics, Ends::No)
        })
    }

    /// Opens a directory for the first time, and looks at its names.
    fn look(
        &self,
        means: &mut Means<H>,
        (path, room): (RelPath, Room),
        (name, rules): (Option<&[u8]>, &Rules),
        depth: u32,
    ) -> Result<Looked<H::Told>, Errno> {
        let ground = &self.ground;
        let resume = first_name(ground.route.resume.as_ref(), &path);
        let wanted = Rest::From(resume.unwrap_or_default().into());
        let (rest, present, seen) = self.read(means, &path, &wanted)?;
        let mut statistics = Statistics {
            directories: 1,
            ..Statistics::default()
        };
        ground.seen.directories.fetch_add(1, Ordering::Relaxed);
        let rules = match ground.route.passes.ignored {
            Ignored::Skip => {
                let (rules, left_out) = ground.enter_rules(rules, name, present, (&path, &room));
                statistics.rules_left_out = left_out;
                rules
            }
            Ignored::Include => rules.clone(),
        };
        let above = Arc::new(Above {
            object: (seen.stamp.device, seen.stamp.inode),
            path,
            room,
            rules,
            depth,
        });
        let resume = first_name(ground.route.resume.as_ref(), &above.path);
        let age = ground.age(&seen);
        let looking = Looking {
            above: &above,
            resume,
            age,
        };
        Ok(Looked {
            outcomes: self.meet_all(means, &looking, rest, statistics),
            age,
            above: Some(above),
        })
    }

    /// Reads on in a directory with more names than may be held.
    fn rest(&self, means: &mut Means<H>, above: &Arc<Above>, rest: &Rest) -> Looked<H::Told> {
        match self.read(means, &above.path, rest) {
            // Another one is there by now.
            Ok((_, _, seen)) if (seen.stamp.device, seen.stamp.inode) != above.object => {
                let mut statistics = Statistics::default();
                count(&mut statistics, Errno::STALE);
                nothing(statistics, Ends::No)
            }
            Ok((rest, _, seen)) => {
                let age = self.ground.age(&seen);
                let looking = Looking {
                    above,
                    resume: None,
                    age,
                };
                Looked {
                    outcomes: self.meet_all(means, &looking, rest, Statistics::default()),
                    above: Some(Arc::clone(above)),
                    age,
                }
            }
            Err(errno) => {
                let mut statistics = Statistics::default();
                count(&mut statistics, errno);
                nothing(statistics, Ends::No)
            }
        }
    }

    /// Reads names of the directory at `path`, and looks at it after that: a change of its own name
    /// before it was read is seen.
    fn read(
        &self,
        means: &mut Means<H>,
        path: &RelPath,
        wanted: &Rest,
    ) -> Result<(Rest, Present, Observation), Errno> {
        let ground = &self.ground;
        let directory = open::below(ground.root_fd()?, path, Purpose::Entries)?;
        let held = ground.names_held.load(Ordering::Relaxed);
        let room = NAMES_MAX.saturating_sub(held).max(NAMES_MIN);
        // What is told of each name has its whole path in it.
        let each = path.as_bytes().len();
        let fetch = &mut means.fetch;
        let is_over = |seen: u32| match ground.route.length {
            Length::Short => {
                let long = seen > SHORT_NAMES;
                if long {
                    ground.long.store(true, Ordering::Relaxed);
                }
                long
            }
            Length::Any => {
                seen.is_multiple_of(NAMES_BETWEEN) && ground.interrupt.reason().is_some()
            }
        };
        let names = &mut means.names;
        let (rest, present) =
            names.read((directory.as_fd(), fetch), wanted, (room, each), &is_over)?;
        let seen = open::observation(&directory)?;
        let device = seen.stamp.device;
        let sole = ground.session.sole_device(ground.root);
        if sole.is_some_and(|sole| sole != device) {
            return Err(Errno::XDEV);
        }
        Ok((rest, present, seen))
    }
}

impl Ground {
    /// Makes sure that a directory is at its place now.
    pub(super) fn still_at(&self, above: &Above) -> Result<(), Errno> {
        let seen =
            open::below(self.root_fd()?, &above.path, Purpose::Look).and_then(open::observation)?;
        match (seen.stamp.device, seen.stamp.inode) == above.object {
            true => Ok(()),
            false => Err(Errno::STALE),
        }
    }

    /// Whether what was seen of a directory says that it was not renamed since the walk began.
    fn age(&self, seen: &Observation) -> Age {
        if seen.stamp.changed.seconds < self.began_at {
            Age::Older
        } else {
            Age::Recent
        }
    }
}

/// The name in the directory `path` that leads to where an answer goes on.
fn first_name<'r>(resume: Option<&'r RelPath>, path: &RelPath) -> Option<&'r [u8]> {
    let below = resume?.below(path)?;
    below
        .split(|b| *b == b'/')
        .next()
        .filter(|name| !name.is_empty())
}

/// What comes of a directory that is not looked at.
fn nothing<T: Streamed>(statistics: Statistics, ends: Ends) -> Looked<T> {
    Looked {
        outcomes: vec![Outcome::Ready(Piece::counting(statistics, ends))],
        above: None,
        age: Age::Older,
    }
}
