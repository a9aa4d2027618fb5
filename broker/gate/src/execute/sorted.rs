//! Entries in the order of their times: as many as the limit, the first ones, held until the walk is
//! over.

use super::cursor::After;
use super::walk::Piece;
use portcullis_protocol::bounded::Text;
use portcullis_protocol::limits::REASON_BYTES_MAX;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{
    Detail, Entries, EntryDetail, EntryRef, Order, Packed, Statistics, Weight,
};
use portcullis_protocol::view::{Kind, Timestamp};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// An entry that waits for its place.
#[derive(Debug)]
pub(super) struct Timed {
    pub(super) path: RelPath,
    pub(super) kind: Kind,
    pub(super) denied: Option<Text<REASON_BYTES_MAX>>,
    pub(super) detail: Option<EntryDetail>,
}

impl Timed {
    /// Its last change; of what cannot be looked at, the beginning of time.
    fn time(&self) -> Timestamp {
        let never = Timestamp {
            seconds: 0,
            nanos: 0,
        };
        self.detail.as_ref().map_or(never, |detail| detail.modified)
    }
}

/// An entry with the order it is kept in.
#[derive(Debug)]
struct Kept {
    order: Order,
    entry: Timed,
}

impl Kept {
    fn compare(&self, time: Timestamp, path: &RelPath) -> Ordering {
        let ours = self.entry.time();
        let key = |time: Timestamp| (time.seconds, time.nanos);
        let by_time = match self.order {
            Order::Newest => key(time).cmp(&key(ours)),
            Order::Oldest | Order::Name => key(ours).cmp(&key(time)),
        };
        by_time.then_with(|| self.entry.path.cmp(path))
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Kept {}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kept {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(other.entry.time(), &other.entry.path)
    }
}

/// Whether all entries are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Further {
    None,
    Some,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Sorted {
    order: Order,
    most: usize,
    after: Option<After>,
    kept: BTreeSet<Kept>,
    further: Further,
}

impl Sorted {
    /// The first `limit` entries in this order, or those after a cursor.
    pub(super) fn new(order: Order, limit: u32, after: Option<After>) -> Self {
        Self {
            order,
            most: usize::try_from(limit).unwrap_or(usize::MAX),
            after,
            kept: BTreeSet::new(),
            further: Further::None,
        }
    }

    pub(super) fn add(&mut self, entry: Timed) {
        let order = self.order;
        let kept = Kept { order, entry };
        let told_before = match &self.after {
            Some(After::Time(time, path)) => kept.compare(*time, path) != Ordering::Greater,
            Some(After::Name(_)) | None => false,
        };
        if told_before {
            return;
        }
        self.kept.insert(kept);
        if self.kept.len() > self.most {
            self.kept.pop_last();
            self.further = Further::Some;
        }
    }

    /// All of it; nothing is left.
    pub(super) fn take(&mut self) -> Self {
        let empty = Self::new(self.order, 0, None);
        std::mem::replace(self, empty)
    }

    /// The entries, encoded, and where they go on if there are more.
    pub(super) fn piece(self, told: Detail) -> (Piece<Entries>, Option<After>) {
        let mut packed = Packed::default();
        let mut last = None;
        for Kept { entry, .. } in &self.kept {
            let item = EntryRef {
                path: &entry.path,
                kind: entry.kind,
                denied: entry.denied.as_ref(),
                detail: match told {
                    Detail::Names => None,
                    Detail::Full => entry.detail.as_ref(),
                },
            };
            // 10,000 entries of a few KiB fit 4 GiB.
            packed.push(&item, Weight::Counts).unwrap_or_default();
            last = Some(After::Time(entry.time(), entry.path.clone()));
        }
        let last = match self.further {
            Further::None => None,
            Further::Some => last,
        };
        (Piece::whole(packed, Statistics::default()), last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, seconds: i64) -> Timed {
        Timed {
            path: RelPath::parse(path.as_bytes()).unwrap(),
            kind: Kind::File,
            denied: None,
            detail: Some(EntryDetail {
                size: 0,
                mode: 0,
                modified: Timestamp { seconds, nanos: 0 },
                link: None,
            }),
        }
    }

    fn page(order: Order, limit: u32, after: Option<After>) -> (Vec<String>, Option<After>) {
        let mut sorted = Sorted::new(order, limit, after);
        for (path, time) in [("c", 5), ("a", 7), ("e", 5), ("b", 1), ("d", 7)] {
            sorted.add(entry(path, time));
        }
        let paths = |sorted: &Sorted| {
            let paths = sorted
                .kept
                .iter()
                .map(|kept| kept.entry.path.as_bytes().to_vec());
            paths.map(|path| String::from_utf8(path).unwrap()).collect()
        };
        (paths(&sorted), sorted.piece(Detail::Names).1)
    }

    #[test]
    fn pages_in_the_order_of_times_are_the_whole_and_overlap_nowhere() {
        for (order, expected) in [(Order::Newest, "adceb"), (Order::Oldest, "bcead")] {
            for limit in 1..6 {
                let (mut all, mut after) = (String::new(), None);
                loop {
                    let (paths, next) = page(order, limit, after);
                    all.extend(paths);
                    after = next;
                    if after.is_none() {
                        break;
                    }
                }
                assert_eq!(all, expected, "{order:?} by {limit}");
            }
        }
    }
}
