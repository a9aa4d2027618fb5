//! What a session has left of its budgets, as far as the warden counts: what effects use, and what
//! was given to sessions within it. Operations and bytes shown are counted by the gate.

use portcullis_protocol::authority::{Budget, Budgets};
use portcullis_protocol::ledger::{Intent, Step};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::view::{Kind, PathState, Present};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The budgets of one session, shared by its life and its connection.
#[derive(Debug)]
pub(crate) struct Purse {
    limits: Budgets,
    /// None where there is no limit.
    left: Mutex<Budgets>,
}

/// What one effect uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cost {
    written_bytes: u64,
    creates: u64,
    deletes: u64,
}

impl Purse {
    pub(crate) fn of(limits: Budgets) -> Arc<Self> {
        Arc::new(Self {
            limits,
            left: Mutex::new(limits),
        })
    }

    // Each change is one assignment, so that a panic leaves none half made.
    fn lock(&self) -> MutexGuard<'_, Budgets> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is left.
    pub(crate) fn left(&self) -> Budgets {
        *self.lock()
    }

    /// Whether there is enough for an effect. Takes nothing.
    pub(crate) fn has(&self, cost: Cost) -> Result<(), Refusal> {
        self.enough(&self.left(), cost)
    }

    /// Takes what an effect uses, all of it or nothing.
    pub(crate) fn charge(&self, cost: Cost) -> Result<(), Refusal> {
        self.exchange(Cost::default(), cost)
    }

    /// Takes what an effect uses instead of what it was thought to use, or leaves it at that.
    pub(crate) fn exchange(&self, old: Cost, new: Cost) -> Result<(), Refusal> {
        let mut left = self.lock();
        let mut rest = *left;
        for (budget, used) in old.kinds() {
            rest = rest.with(budget, rest.of(budget).map(|has| has.saturating_add(used)));
        }
        self.enough(&rest, new)?;
        for (budget, used) in new.kinds() {
            rest = rest.with(budget, rest.of(budget).map(|has| has.saturating_sub(used)));
        }
        *left = rest;
        Ok(())
    }

    /// Gives back what an effect did not use after all.
    pub(crate) fn give_back(&self, cost: Cost) {
        for (budget, used) in cost.kinds() {
            self.put(budget, used);
        }
    }

    fn put(&self, budget: Budget, amount: u64) {
        let mut left = self.lock();
        let more = left.of(budget).map(|has| has.saturating_add(amount));
        *left = left.with(budget, more);
    }

    fn enough(&self, left: &Budgets, cost: Cost) -> Result<(), Refusal> {
        for (budget, needed) in cost.kinds() {
            if let (Some(limit), Some(left)) = (self.limits.of(budget), left.of(budget))
                && needed > left
            {
                let name = budget.name();
                let note = format!("{name}: {limit} in all, {left} left, {needed} needed");
                return Err(Refusal::new(Code::OutOfBudget).noting(&note));
            }
        }
        Ok(())
    }

    /// Takes the budgets of a session within this one: what is wished for, as far as it is there;
    /// where there is a limit and no wish, half of what is left.
    pub(crate) fn take(self: &Arc<Self>, wished: &Budgets) -> Taken {
        let (mut given, mut left) = (*wished, self.lock());
        for budget in Budget::ALL {
            let Some(has) = left.of(budget) else {
                continue;
            };
            let gets = wished.of(budget).map_or(has / 2, |wish| wish.min(has));
            given = given.with(budget, Some(gets));
            *left = left.with(budget, Some(has - gets));
        }
        drop(left);
        Taken {
            from: Some(Arc::clone(self)),
            given,
        }
    }
}

/// Budgets of a session that is made. Unless it is made they go back where they came from.
#[derive(Debug)]
#[must_use = "dropped, it is given back"]
pub(crate) struct Taken {
    from: Option<Arc<Purse>>,
    given: Budgets,
}

impl Taken {
    /// Of a session that is within no other one.
    pub(crate) const fn from_nobody(given: Budgets) -> Self {
        Self { from: None, given }
    }

    pub(crate) const fn given(&self) -> Budgets {
        self.given
    }

    /// The session is made, and what it has does not come back.
    pub(crate) fn for_good(mut self) {
        self.from = None;
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let Some(from) = self.from.take() else {
            return;
        };
        for budget in Budget::ALL {
            if let Some(amount) = self.given.of(budget) {
                from.put(budget, amount);
            }
        }
    }
}

impl Cost {
    pub(crate) fn of(intent: &Intent) -> Self {
        let steps = intent.steps.as_slice();
        // Content that only gets another name or other permission bits is not new.
        let content = |present: &Present| (present.size, present.digest, present.stamp);
        let there: HashSet<_> = steps
            .iter()
            .filter_map(|step| match &step.touched.before {
                PathState::Present(was) => Some(content(was)),
                PathState::Absent | PathState::Unknown => None,
            })
            .collect();
        let mut cost = Self::default();
        for Step { touched, .. } in steps {
            match (&touched.before, &touched.after) {
                // What is not known to be there counts as new, and as gone.
                (PathState::Absent | PathState::Unknown, PathState::Present(_)) => {
                    cost.creates += 1;
                }
                (PathState::Present(_) | PathState::Unknown, PathState::Absent) => {
                    cost.deletes += 1;
                }
                (PathState::Present(_), PathState::Present(_))
                | (PathState::Absent, PathState::Absent)
                | (_, PathState::Unknown) => {}
            }
            if let PathState::Present(new) = &touched.after
                && new.kind == Kind::File
                && !there.contains(&content(new))
            {
                cost.written_bytes = cost.written_bytes.saturating_add(new.size);
            }
        }
        cost
    }

    const fn kinds(&self) -> [(Budget, u64); 3] {
        [
            (Budget::WrittenBytes, self.written_bytes),
            (Budget::Creates, self.creates),
            (Budget::Deletes, self.deletes),
        ]
    }
}

#[cfg(test)]
mod tests;
