//! How much a session may do in all.

use serde::{Deserialize, Serialize};

/// Most of each that a session may use, over its whole life; none is without a limit. What is given
/// to a delegated session is used by the one that gave it, spent or not, so that delegation never
/// makes more of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Budgets {
    /// Requests that were admitted, refused ones included; hello, ping, cancel and whoami are not
    /// counted.
    pub operations: Option<u64>,
    /// Bytes of content shown: reads, lines of searches, and what differences and conflicts show of
    /// files as they were; those are left out where it is not enough.
    pub read_bytes: Option<u64>,
    /// Bytes of new content of files, whole files counted.
    pub written_bytes: Option<u64>,
    /// Names that come to be: files, directories, links.
    pub creates: Option<u64>,
    /// Names that go: files, directories, links; a tree counts as one name for each change.
    pub deletes: Option<u64>,
}

/// One kind of budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Budget {
    /// [`Budgets::operations`].
    Operations,
    /// [`Budgets::read_bytes`].
    ReadBytes,
    /// [`Budgets::written_bytes`].
    WrittenBytes,
    /// [`Budgets::creates`].
    Creates,
    /// [`Budgets::deletes`].
    Deletes,
}

impl Budget {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Operations,
        Self::ReadBytes,
        Self::WrittenBytes,
        Self::Creates,
        Self::Deletes,
    ];

    /// Its name, as commands, policies and messages spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::ReadBytes => "read-bytes",
            Self::WrittenBytes => "written-bytes",
            Self::Creates => "creates",
            Self::Deletes => "deletes",
        }
    }
}

impl Budgets {
    /// Without any limit.
    pub const UNLIMITED: Self = Self {
        operations: None,
        read_bytes: None,
        written_bytes: None,
        creates: None,
        deletes: None,
    };

    /// The limit of one kind.
    pub const fn of(&self, budget: Budget) -> Option<u64> {
        match budget {
            Budget::Operations => self.operations,
            Budget::ReadBytes => self.read_bytes,
            Budget::WrittenBytes => self.written_bytes,
            Budget::Creates => self.creates,
            Budget::Deletes => self.deletes,
        }
    }

    /// The same with another limit of one kind.
    #[must_use]
    pub const fn with(mut self, budget: Budget, limit: Option<u64>) -> Self {
        match budget {
            Budget::Operations => self.operations = limit,
            Budget::ReadBytes => self.read_bytes = limit,
            Budget::WrittenBytes => self.written_bytes = limit,
            Budget::Creates => self.creates = limit,
            Budget::Deletes => self.deletes = limit,
        }
        self
    }

    /// The smaller of both, kind by kind.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        let mut both = Self::UNLIMITED;
        for budget in Budget::ALL {
            let less = match (self.of(budget), other.of(budget)) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (one, None) | (None, one) => one,
            };
            both = both.with(budget, less);
        }
        both
    }

    /// Whether no kind allows more than `other` does.
    pub fn within(&self, other: &Self) -> bool {
        self.meet(other) == *self
    }
}
