//! What a thread of a walk found, on its way into the answer.

use super::Above;
use super::board::Held;
use crate::execute::frames::{Frames, Stop};
use portcullis_protocol::session::{Packed, Statistics, Streamed, Weight};
use rustix::io::Errno;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of one unit's results that are handed over before its end.
const PART_BYTES: usize = 256 * 1024;

/// A result: some items of what one thread encoded.
#[derive(Debug)]
pub(in crate::execute) struct Piece<T> {
    packed: Arc<Packed<T>>,
    items: Range<usize>,
    /// What most results count, and the rest where there is any: as many of them wait as a tree has
    /// directories beside one another.
    files: u64,
    further: Option<Box<Statistics>>,
    pub(in crate::execute) last: Last,
    pub(super) end: Ends,
}

/// Whether the walk ends with a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    No,
    /// The directory where it began is not there any more.
    StartGone,
}

/// The last object that a result tells whole.
#[derive(Debug)]
pub(in crate::execute) enum Last {
    /// Not known: the same as before it.
    Nothing,
    /// What its last item is about.
    Item,
    /// A name in a directory.
    Name(Arc<Above>, Box<[u8]>),
}

impl<T> Piece<T> {
    pub(in crate::execute) fn packed(&self) -> &Packed<T> {
        &self.packed
    }

    pub(in crate::execute) fn items(&self) -> Range<usize> {
        self.items.clone()
    }
}

impl<T: Streamed> Piece<T> {
    pub(super) fn new(
        packed: &Arc<Packed<T>>,
        items: Range<usize>,
        statistics: Statistics,
        last: Last,
    ) -> Self {
        let further = Statistics {
            files: 0,
            ..statistics
        };
        Self {
            packed: Arc::clone(packed),
            items,
            files: statistics.files,
            further: (further != Statistics::default()).then(|| Box::new(further)),
            last,
            end: Ends::No,
        }
    }

    /// Adds what it counts.
    pub(in crate::execute) fn count_into(&self, statistics: &mut Statistics) {
        statistics.files = statistics.files.saturating_add(self.files);
        if let Some(further) = &self.further {
            statistics.add(further);
        }
    }

    /// All that was found.
    pub(in crate::execute) fn whole(packed: Packed<T>, statistics: Statistics) -> Self {
        let items = 0..packed.len();
        Self::new(&Arc::new(packed), items, statistics, Last::Nothing)
    }

    /// A result that only counts.
    pub(super) fn counting(statistics: Statistics, end: Ends) -> Self {
        Self {
            end,
            ..Self::new(&Arc::default(), 0..0, statistics, Last::Nothing)
        }
    }
}

impl<T: Streamed> Held for Piece<T> {
    fn held(&self) -> usize {
        self.packed.bytes_of(self.items.clone()) + size_of::<Self>()
    }
}

/// Who a thread is in a walk.
pub(super) enum Role<'r, 'o, T> {
    /// It answers the request, and works meanwhile.
    Lead(&'r mut Frames<'o, T>),
    /// It helps.
    Help,
}

/// Takes results that are too many to keep until their unit ends.
pub(in crate::execute) trait Relief<T> {
    /// Hands them over, and waits where too much waits already.
    fn hand_over(&mut self, packed: Packed<T>, statistics: Statistics) -> Result<(), Stop>;
}

/// Whether more is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::execute) enum Go {
    On,
    Stop,
}

/// What one unit of work found so far.
pub(in crate::execute) struct Tell<'t, T> {
    pub(super) packed: Packed<T>,
    pub(in crate::execute) statistics: Statistics,
    relief: Option<&'t mut dyn Relief<T>>,
    stopped: Option<Stop>,
    /// Items and bytes that are likely to come, as soon as one does.
    likely: (usize, usize),
}

impl<'t, T: Streamed> Tell<'t, T> {
    /// For a unit whose results are bounded by what it looks at: so many items and bytes are likely.
    pub(super) fn bounded(likely: (usize, usize)) -> Self {
        Self {
            packed: Packed::default(),
            statistics: Statistics::default(),
            relief: None,
            stopped: None,
            likely,
        }
    }

    /// For one that may find any amount; `packed` is empty and may have room.
    pub(in crate::execute) fn relieved(packed: Packed<T>, relief: &'t mut dyn Relief<T>) -> Self {
        Self {
            packed,
            relief: Some(relief),
            ..Self::bounded((0, 0))
        }
    }

    /// Adds an item.
    pub(in crate::execute) fn push(&mut self, item: &T::Item<'_>, weight: Weight) -> Go {
        if self.stopped.is_some() {
            return Go::Stop;
        }
        if self.packed.is_empty() {
            let (items, bytes) = self.likely;
            self.packed.reserve(items, bytes);
        }
        // Not encoded is what has more than 4 GiB before it, which is handed over long before.
        if self.packed.push(item, weight).is_err() {
            return Go::Stop;
        }
        if self.packed.bytes() < PART_BYTES {
            return Go::On;
        }
        let Some(relief) = self.relief.as_mut() else {
            return Go::On;
        };
        let packed = std::mem::take(&mut self.packed);
        let statistics = std::mem::take(&mut self.statistics);
        match relief.hand_over(packed, statistics) {
            Ok(()) => Go::On,
            Err(stop) => {
                self.stopped = Some(stop);
                Go::Stop
            }
        }
    }

    /// Whether nothing more is wanted.
    pub(super) fn is_over(&self) -> bool {
        self.stopped.is_some()
    }

    /// What was found, or why no more is wanted.
    pub(in crate::execute) fn end(self) -> Result<(Packed<T>, Statistics), Stop> {
        match self.stopped {
            None => Ok((self.packed, self.statistics)),
            Some(stop) => Err(stop),
        }
    }

    /// Counts an object that could not be opened.
    pub(in crate::execute) fn count(&mut self, errno: Errno) {
        count(&mut self.statistics, errno);
    }
}

/// Counts an object that could not be opened.
pub(super) fn count(statistics: &mut Statistics, errno: Errno) {
    let counter = match errno {
        // The answer is cut, and says so.
        Errno::CANCELED => return,
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::STALE | Errno::NXIO => {
            &mut statistics.changed
        }
        Errno::XDEV => &mut statistics.mounts,
        Errno::NAMETOOLONG => &mut statistics.too_deep,
        _ => &mut statistics.unreadable,
    };
    *counter += 1;
}
