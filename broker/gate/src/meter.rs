//! What a session has used of its budgets. Counted from several threads without a lock: an admitted
//! read pays for it with a few additions. Operations and bytes shown are refused here; what effects
//! use the warden refuses, and here it is only counted, for `whoami`.

use portcullis_protocol::authority::{Budget, Budgets};
use portcullis_protocol::ledger::Intent;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Request, Used};
use portcullis_protocol::view::{Kind, PathState, Present};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

/// The budgets of one session, and what is used of them.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Budgets,
    operations: AtomicU64,
    read_bytes: AtomicU64,
    written_bytes: AtomicU64,
    creates: AtomicU64,
    deletes: AtomicU64,
}

impl Meter {
    pub(crate) fn new(limits: Budgets) -> Self {
        Self {
            limits,
            operations: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            creates: AtomicU64::new(0),
            deletes: AtomicU64::new(0),
        }
    }

    const fn counter(&self, budget: Budget) -> &AtomicU64 {
        match budget {
            Budget::Operations => &self.operations,
            Budget::ReadBytes => &self.read_bytes,
            Budget::WrittenBytes => &self.written_bytes,
            Budget::Creates => &self.creates,
            Budget::Deletes => &self.deletes,
        }
    }

    /// Uses as much of a budget, all of it or nothing. The refusal names the budget, its limit and
    /// what is left.
    pub(crate) fn spend(&self, budget: Budget, amount: u64) -> Result<(), Refusal> {
        let counter = self.counter(budget);
        let Some(limit) = self.limits.of(budget) else {
            counter.fetch_add(amount, Ordering::Relaxed);
            return Ok(());
        };
        let within = |used: u64| used.checked_add(amount).filter(|used| *used <= limit);
        match counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within) {
            Ok(_) => Ok(()),
            Err(used) => {
                let (name, left) = (budget.name(), limit.saturating_sub(used));
                let note = format!("{name}: {limit} in all, {left} left, {amount} needed");
                Err(Refusal::new(Code::OutOfBudget).noting(&note))
            }
        }
    }

    /// Uses one operation, where a request is one. What only gives something back is never refused.
    pub(crate) fn operation(&self, request: &Request) -> Result<(), Refusal> {
        match request {
            Request::Hello(_) | Request::Ping(_) | Request::Cancel(_) | Request::Whoami(_) => {
                Ok(())
            }
            Request::DropUpload(_) | Request::Acknowledge(_) | Request::EndDelegated(_) => {
                self.spend(Budget::Operations, 1).or(Ok(()))
            }
            Request::Stat(_)
            | Request::Read(_)
            | Request::List(_)
            | Request::Glob(_)
            | Request::Search(_)
            | Request::Why(_)
            | Request::Change(_)
            | Request::Upload(_)
            | Request::Compose(_)
            | Request::ChangeComposed(_)
            | Request::Delegate(_) => self.spend(Budget::Operations, 1),
        }
    }

    /// Bytes of content that are about to be shown.
    pub(crate) fn show(&self, bytes: usize) -> Result<(), Refusal> {
        self.spend(Budget::ReadBytes, u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// Counts what an effect used, which was allowed already.
    pub(crate) fn count(&self, cost: Cost) {
        for (budget, amount) in cost.kinds() {
            self.add(budget, amount);
        }
    }

    fn add(&self, budget: Budget, amount: u64) {
        self.counter(budget).fetch_add(amount, Ordering::Relaxed);
    }

    /// Takes the budgets of a session within this one: what is wished for, as far as it is there;
    /// where there is a limit and no wish, half of what is left. They are used up by this, unless
    /// they are given back.
    pub(crate) fn share(&self, wished: &Budgets) -> Share {
        let mut given = Budgets::UNLIMITED;
        for budget in Budget::ALL {
            let wish = wished.of(budget);
            let share = match self.limits.of(budget) {
                // Nothing of what has no end is used up.
                None => wish,
                Some(limit) => Some(self.part(budget, limit, wish)),
            };
            given = given.with(budget, share);
        }
        Share { given }
    }

    fn part(&self, budget: Budget, limit: u64, wish: Option<u64>) -> u64 {
        let part = |used: u64| {
            let left = limit.saturating_sub(used);
            wish.map_or(left / 2, |wish| wish.min(left))
        };
        let counter = self.counter(budget);
        let took = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            Some(used.saturating_add(part(used)))
        });
        // It always gives a value, so that nothing is left to fail.
        part(took.unwrap_or(limit))
    }

    /// Undoes [`Self::share`]: there is no such session.
    pub(crate) fn give_back(&self, Share { given }: Share) {
        for budget in Budget::ALL {
            if let (Some(_), Some(amount)) = (self.limits.of(budget), given.of(budget)) {
                self.counter(budget).fetch_sub(amount, Ordering::Relaxed);
            }
        }
    }

    /// What is used, or given away.
    pub(crate) fn used(&self) -> Used {
        let of = |budget| self.counter(budget).load(Ordering::Relaxed);
        Used {
            operations: of(Budget::Operations),
            read_bytes: of(Budget::ReadBytes),
            written_bytes: of(Budget::WrittenBytes),
            creates: of(Budget::Creates),
            deletes: of(Budget::Deletes),
        }
    }
}

/// Budgets that were taken for a session within this one.
#[derive(Debug)]
#[must_use = "what is not used is given back"]
pub(crate) struct Share {
    given: Budgets,
}

impl Share {
    pub(crate) const fn budgets(&self) -> Budgets {
        self.given
    }
}

/// What one effect uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cost {
    written_bytes: u64,
    creates: u64,
    deletes: u64,
}

impl Cost {
    /// As the warden works it out.
    pub(crate) fn of(intent: &Intent) -> Self {
        let touched = || intent.steps.as_slice().iter().map(|step| &step.touched);
        // Content that only gets another name or other permission bits is not new.
        let content = |present: &Present| (present.size, present.digest, present.stamp);
        let there: HashSet<_> = touched()
            .filter_map(|name| match &name.before {
                PathState::Present(was) => Some(content(was)),
                PathState::Absent | PathState::Unknown => None,
            })
            .collect();
        let mut cost = Self::default();
        for name in touched() {
            match (&name.before, &name.after) {
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
            if let PathState::Present(new) = &name.after
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
mod tests {
    use super::*;
    use portcullis_protocol::session::{Compose, EndDelegated, SessionId, Whoami};
    use proptest::prelude::*;

    fn limited(operations: u64) -> Meter {
        Meter::new(Budgets {
            operations: Some(operations),
            ..Budgets::UNLIMITED
        })
    }

    #[test]
    fn a_budget_is_used_whole_and_never_over() {
        let meter = limited(10);
        meter.spend(Budget::Operations, 7).unwrap();
        let refused = meter.spend(Budget::Operations, 4).unwrap_err();
        assert_eq!(refused.code, Code::OutOfBudget);
        let note = refused.note.unwrap();
        assert_eq!(note.as_str(), "operations: 10 in all, 3 left, 4 needed");
        meter.spend(Budget::Operations, 3).unwrap();
        assert!(meter.spend(Budget::Operations, u64::MAX).is_err());
        meter.spend(Budget::Operations, 0).unwrap();
        assert_eq!(meter.used().operations, 10);
    }

    #[test]
    fn without_operations_left_only_what_gives_something_back_is_answered() {
        let meter = limited(1);
        let whoami = Request::Whoami(Whoami {});
        let end = Request::EndDelegated(EndDelegated {
            session: SessionId(1),
        });
        let part = Request::Compose(Compose { offset: 0 });
        meter.operation(&whoami).unwrap();
        assert_eq!(meter.used().operations, 0);
        meter.operation(&part).unwrap();
        assert!(meter.operation(&part).is_err());
        meter.operation(&end).unwrap();
        meter.operation(&whoami).unwrap();
        assert_eq!(meter.used().operations, 1);
    }

    #[test]
    fn what_has_no_limit_is_counted_all_the_same() {
        let meter = limited(0);
        meter.show(5).unwrap();
        meter.show(6).unwrap();
        assert_eq!(meter.used().read_bytes, 11);
    }

    #[test]
    fn threads_together_never_use_more_than_there_is() {
        let meter = limited(1000);
        let spent: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    let spend = || meter.spend(Budget::Operations, 3).is_ok();
                    scope.spawn(move || (0..400).filter(|_| spend()).count())
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).sum()
        });
        assert_eq!(spent, 333);
        assert_eq!(meter.used().operations, 999);
    }

    #[test]
    fn what_is_given_of_no_limit_uses_up_nothing() {
        let meter = limited(0);
        let wished = Budgets {
            read_bytes: Some(u64::MAX),
            ..Budgets::UNLIMITED
        };
        meter.show(5).unwrap();
        let share = meter.share(&wished);
        assert_eq!(share.budgets().read_bytes, Some(u64::MAX));
        assert_eq!(meter.used().read_bytes, 5);
        meter.give_back(share);
        assert_eq!(meter.used().read_bytes, 5);
    }

    #[test]
    fn a_share_that_is_not_wished_for_is_half() {
        let meter = limited(9);
        meter.spend(Budget::Operations, 2).unwrap();
        let share = meter.share(&Budgets::UNLIMITED);
        assert_eq!(
            share.budgets(),
            Budgets {
                operations: Some(3),
                ..Budgets::UNLIMITED
            }
        );
        assert_eq!(meter.used().operations, 5);
        meter.give_back(share);
        assert_eq!(meter.used().operations, 2);
    }

    proptest! {
        /// Whatever is wished for, both together have what there was.
        #[test]
        fn a_share_makes_no_more_of_a_budget(
            limit in 0_u64..1000,
            used in 0_u64..1000,
            wish in prop::option::of(0_u64..2000),
        ) {
            let meter = limited(limit);
            let spent = meter.spend(Budget::Operations, used).is_ok();
            let left = limit - if spent { used } else { 0 };
            let share = meter.share(&Budgets { operations: wish, ..Budgets::UNLIMITED });
            let given = share.budgets().operations.unwrap();
            prop_assert!(given <= left && wish.is_none_or(|wish| given <= wish));
            prop_assert!(meter.spend(Budget::Operations, left - given).is_ok());
            prop_assert!(meter.spend(Budget::Operations, 1).is_err());
        }
    }
}
