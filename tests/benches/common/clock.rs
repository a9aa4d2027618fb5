//! Times: medians of batches, in nanoseconds for one operation.

use std::time::Instant;

/// Runs `operation` `times` times in batches of `batch`; gives the median batch's time for one
/// operation. A batch is long against reading the clock, short against a time slice.
pub fn median_of_batches(times: usize, batch: usize, mut operation: impl FnMut()) -> f64 {
    let mut batches: Vec<f64> = Vec::with_capacity(times / batch);
    for _ in 0..(times / batch).max(1) {
        let start = Instant::now();
        for _ in 0..batch {
            operation();
        }
        batches.push(start.elapsed().as_nanos() as f64 / batch as f64);
    }
    median(&mut batches)
}

/// The median; the lower one of two.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) / 2]
}

/// The smallest.
pub fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}
