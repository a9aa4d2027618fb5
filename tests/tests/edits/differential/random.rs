//! Numbers that are random and the same on every run of one seed.

/// SplitMix64.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// Those of one case: no case changes with the number of cases before it.
    pub(super) fn of_case(seed: u64, case: u64) -> Self {
        let mut mixed = Self(seed ^ case.wrapping_mul(0xd134_2543_de82_ef95));
        Self(mixed.next())
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Less than `end`, which is not 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    /// Whether it is the case so many times of a thousand.
    pub(super) fn in_thousand(&mut self, times: u64) -> bool {
        self.next() % 1000 < times
    }

    pub(super) fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }
}
