//! What follows from a match.

use super::Said;
use super::lines::{Covers, Sense};
use std::num::NonZeroU32;

/// A rule by its place in its file, and its sense. Of two, the greater one holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Verdict(u32);

impl Verdict {
    /// No rule.
    pub(super) const NONE: Self = Self(0);

    /// Of the rule that is the `place`th of its file, from 0.
    pub(super) fn new(place: u32, sense: Sense) -> Self {
        let sense = match sense {
            Sense::Ignore => 0,
            Sense::Include => 1,
        };
        Self(place.saturating_add(1).saturating_mul(2) | sense)
    }

    pub(super) fn said(self) -> Said {
        match (self.0, self.0 & 1) {
            (0, _) => Said::Nothing,
            (_, 0) => Said::Ignored,
            (_, _) => Said::Included,
        }
    }
}

/// A state of one file: which of its rules can still match, and what of them is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct State(NonZeroU32);

impl State {
    pub(super) fn at(place: usize) -> Option<Self> {
        NonZeroU32::new(u32::try_from(place).ok()?.checked_add(1)?).map(Self)
    }

    pub(super) fn place(self) -> usize {
        (self.0.get() - 1) as usize
    }
}

/// What a name leads to that is what a rule says at one step.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Outcome {
    /// When it is no directory.
    plain: Verdict,
    /// When it is one.
    directory: Verdict,
    /// In that directory.
    pub(super) next: Option<State>,
}

impl Outcome {
    pub(super) fn of(&self, asked: Covers) -> Verdict {
        match asked {
            Covers::All => self.plain,
            Covers::Directories => self.directory,
        }
    }

    /// Adds a rule that ends here.
    pub(super) fn add(&mut self, verdict: Verdict, covers: Covers) {
        match covers {
            Covers::All => self.plain = self.plain.max(verdict),
            Covers::Directories => {}
        }
        self.directory = self.directory.max(verdict);
    }
}

/// Whoever asks a table.
pub(super) trait Sink {
    /// Whether it would matter.
    fn wants(&self, outcome: &Outcome) -> bool;
    /// It is so.
    fn take(&mut self, outcome: &Outcome);
}

/// Wants the strongest rule.
#[derive(Debug)]
pub(super) struct Strongest {
    pub(super) asked: Covers,
    pub(super) verdict: Verdict,
}

impl Sink for Strongest {
    #[inline]
    fn wants(&self, outcome: &Outcome) -> bool {
        outcome.of(self.asked) > self.verdict
    }

    #[inline]
    fn take(&mut self, outcome: &Outcome) {
        self.verdict = self.verdict.max(outcome.of(self.asked));
    }
}

/// Wants every state that is reached.
#[derive(Debug, Default)]
pub(super) struct Reached(pub(super) Vec<State>);

impl Sink for Reached {
    #[inline]
    fn wants(&self, outcome: &Outcome) -> bool {
        outcome.next.is_some()
    }

    #[inline]
    fn take(&mut self, outcome: &Outcome) {
        self.0.extend(outcome.next);
    }
}
