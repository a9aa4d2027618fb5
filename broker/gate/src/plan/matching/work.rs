//! How much work edits may cost: counted in steps, each of a few bytes or one look into a table.

use super::miss::Noted;
use portcullis_protocol::refusal::Code;

/// Steps for every byte of the file and of the edits.
const STEPS_PER_BYTE: u64 = 32;
/// Steps that any edits may take.
const STEPS_FREE: u64 = 1 << 24;
/// Places that are kept at most: four bytes each.
const PLACES_MAX: usize = 16 << 20;

/// What may still be done.
#[derive(Debug)]
pub(super) struct Work {
    most: u64,
    done: u64,
    places: usize,
}

impl Work {
    /// For a file and edits of so many bytes.
    pub(super) fn of(file: usize, edits: usize) -> Self {
        let bytes = u64::try_from(file + edits).unwrap_or(u64::MAX);
        Self {
            most: bytes
                .saturating_mul(STEPS_PER_BYTE)
                .saturating_add(STEPS_FREE),
            done: 0,
            places: 0,
        }
    }

    /// Counts steps.
    pub(super) fn spend(&mut self, steps: usize) -> Result<(), Noted> {
        self.done = self
            .done
            .saturating_add(u64::try_from(steps).unwrap_or(u64::MAX));
        if self.done <= self.most {
            return Ok(());
        }
        Err(Noted::new(
            Code::OutOfBudget,
            "the edits nearly match in so many places that finding them is too much work; \
             longer texts, or fewer edits at once, take less",
        ))
    }

    /// Counts a place that is kept.
    pub(super) fn keep(&mut self) -> Result<(), Noted> {
        self.places += 1;
        if self.places <= PLACES_MAX {
            return Ok(());
        }
        Err(Noted::new(
            Code::OutOfBudget,
            "the texts of the edits are in too many places; longer texts are in fewer",
        ))
    }

    /// Steps so far.
    #[cfg(test)]
    pub(super) fn done(&self) -> u64 {
        self.done
    }
}
