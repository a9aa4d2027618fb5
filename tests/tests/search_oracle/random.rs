//! Numbers that are the same for the same seed.

use std::io::Write as _;

/// A stream of numbers.
pub(crate) struct Random(u64);

impl Random {
    /// What `PORTCULLIS_ORACLE_SEED` says, or always the same; printed, past the test runner's
    /// capture.
    pub(crate) fn seeded(what: &str) -> Self {
        let seed = std::env::var("PORTCULLIS_ORACLE_SEED").map_or(20_261_201, |seed| {
            seed.parse().expect("PORTCULLIS_ORACLE_SEED is a number")
        });
        say(&format!("{what}: PORTCULLIS_ORACLE_SEED={seed}"));
        Self(seed)
    }

    /// One of its own for a part, so that parts can be run by themselves.
    pub(crate) fn part(&self, part: usize) -> Self {
        let mut random = Self(self.0 ^ (part as u64).wrapping_mul(0xd134_2543_de82_ef95));
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }

    /// Once in `n` times.
    pub(crate) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// A few of these, in their order.
    pub(crate) fn some<T: Copy>(&mut self, all: &[T], most: usize) -> Vec<T> {
        let wanted = self.below(most + 1);
        let mut some: Vec<usize> = (0..wanted).map(|_| self.below(all.len())).collect();
        some.sort_unstable();
        some.dedup();
        some.into_iter().map(|n| all[n]).collect()
    }
}

/// A number from the environment, or this one.
pub(crate) fn number(name: &str, otherwise: usize) -> usize {
    std::env::var(name).map_or(otherwise, |n| {
        n.parse()
            .unwrap_or_else(|_| panic!("{name} is not a number"))
    })
}

/// Prints past the test runner's capture: a run's numbers are its result.
pub(crate) fn say(text: &str) {
    std::io::stderr()
        .write_all(format!("\noracle: {text}\n").as_bytes())
        .unwrap();
}
