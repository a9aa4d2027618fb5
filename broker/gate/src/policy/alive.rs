//! Which nodes of the tree of patterns are alive in one directory.

use super::tree::At;

/// How many nodes are alive without memory of their own.
const FEW: usize = 6;

/// The nodes that are alive in one directory, beside the one that always is.
#[derive(Debug, Clone, Default)]
pub(super) struct Alive {
    few: [At; FEW],
    count: usize,
    more: Vec<At>,
}

impl Alive {
    pub(super) fn add(&mut self, at: At) {
        match self.few.get_mut(self.count) {
            Some(free) => {
                *free = at;
                self.count += 1;
            }
            None => self.more.push(at),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = At> {
        let few = self.few.iter().take(self.count);
        few.chain(&self.more).copied()
    }

    pub(super) fn has(&self, at: At) -> bool {
        self.iter().any(|alive| alive == at)
    }

    pub(super) fn is_many(&self) -> bool {
        !self.more.is_empty()
    }

    /// Makes each of many be there once.
    pub(super) fn settle(&mut self) {
        if self.is_many() {
            let mut all: Vec<At> = self.iter().collect();
            all.sort_unstable();
            all.dedup();
            *self = Self::default();
            all.into_iter().for_each(|at| self.add(at));
        }
    }
}
