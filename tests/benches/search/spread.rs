//! How times lie.

use std::fmt;
use std::time::Duration;

/// Times in order, in milliseconds.
pub struct Spread(Vec<f64>);

impl Spread {
    pub fn of(times: Vec<Duration>) -> Self {
        let mut times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
        times.sort_by(f64::total_cmp);
        Self(times)
    }

    /// The one that so many of a hundred do not exceed.
    pub fn part(&self, of_a_hundred: usize) -> f64 {
        let at = (self.0.len() * of_a_hundred).div_ceil(100).max(1) - 1;
        self.0[at.min(self.0.len() - 1)]
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "median {:.3} ms, p99 {:.3}, most {:.3}, of {}",
            self.part(50),
            self.part(99),
            self.part(100),
            self.0.len()
        )
    }
}
