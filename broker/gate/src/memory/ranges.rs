//! Byte ranges of a file: a union, in few pieces.

use std::ops::Range;

/// Pieces kept; of more the shortest is forgotten, so that least is.
const RANGES_MAX: usize = 64;

/// Ranges in order that neither overlap nor touch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Ranges(Vec<Range<u64>>);

impl Ranges {
    /// Adds one; an empty one adds nothing.
    pub(super) fn add(&mut self, new: Range<u64>) {
        if new.is_empty() {
            return;
        }
        let first = self.0.partition_point(|range| range.end < new.start);
        let after = self.0.partition_point(|range| range.start <= new.end);
        let met = self.0.get(first..after).unwrap_or_default();
        let start = met
            .first()
            .map_or(new.start, |range| range.start.min(new.start));
        let end = met.last().map_or(new.end, |range| range.end.max(new.end));
        self.0
            .splice(first..after.max(first), std::iter::once(start..end));
        if self.0.len() > RANGES_MAX {
            let lengths = self.0.iter().map(|range| range.end - range.start);
            if let Some((shortest, _)) = lengths.enumerate().min_by_key(|(_, length)| *length) {
                self.0.remove(shortest);
            }
        }
    }

    /// Whether they are all of a file of this many bytes.
    pub(super) fn cover(&self, size: u64) -> bool {
        size == 0
            || self
                .0
                .first()
                .is_some_and(|range| range.start == 0 && range.end >= size)
    }

    /// The ranges.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Range<u64>> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn pairs(ranges: &Ranges) -> Vec<(u64, u64)> {
        ranges
            .iter()
            .map(|range| (range.start, range.end))
            .collect()
    }

    fn union(ranges: &[Range<u64>]) -> Ranges {
        let mut all = Ranges::default();
        ranges.iter().for_each(|range| all.add(range.clone()));
        all
    }

    #[test]
    fn what_touches_is_one_and_what_does_not_is_not() {
        for (parts, wanted) in [
            (vec![0..5, 5..9], vec![(0, 9)]),
            (vec![5..9, 0..5], vec![(0, 9)]),
            (vec![0..4, 5..9], vec![(0, 4), (5, 9)]),
            (vec![0..2, 4..6, 8..9, 1..8], vec![(0, 9)]),
            (vec![4..6, 0..2], vec![(0, 2), (4, 6)]),
            (vec![0..9, 2..3], vec![(0, 9)]),
            (vec![3..3, 7..7], vec![]),
        ] {
            assert_eq!(pairs(&union(&parts)), wanted, "{parts:?}");
        }
    }

    #[test]
    fn a_file_is_covered_by_all_of_it_and_nothing_less() {
        assert!(union(&[0..5, 5..9]).cover(9));
        assert!(!union(&[0..5, 6..9]).cover(9));
        assert!(!union(&[1..2, 3..9]).cover(9));
        assert!(!union(&[0..7, 7..8]).cover(9));
        assert!(Ranges::default().cover(0));
        assert!(!Ranges::default().cover(1));
    }

    #[test]
    fn of_too_many_the_shortest_goes() {
        let mut all = Ranges::default();
        for n in 0..1000 {
            all.add(n * 10..n * 10 + 1 + n % 7);
            assert!(all.0.len() <= RANGES_MAX);
        }
        all.add(20_000..30_000);
        assert_eq!(all.0.len(), RANGES_MAX);
        assert!(all.0.contains(&(20_000..30_000)));
        assert!(all.0.iter().all(|range| range.end - range.start > 1));
    }

    proptest! {
        #[test]
        fn a_union_has_what_its_parts_have(parts in prop::collection::vec((0_u64..60, 0_u64..9), 0..20)) {
            let ranges: Vec<_> = parts.iter().map(|(start, len)| *start..start + len).collect();
            let all = union(&ranges);
            let bytes = |ranges: &[Range<u64>]| ranges.iter().cloned().flatten().collect::<BTreeSet<_>>();
            prop_assert_eq!(bytes(&all.0), bytes(&ranges));
            for pair in all.0.windows(2) {
                prop_assert!(pair[0].end < pair[1].start);
            }
        }
    }
}
