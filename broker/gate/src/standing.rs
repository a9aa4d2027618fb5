//! What a gate does for its session: everything else that differs between its duties follows.

use crate::memory::Keeping;
use crate::policy::Asking;
use portcullis_protocol::ledger::Duty;

/// What a gate does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It serves a worker.
    Serves,
    /// It looks at what became of an effect.
    Observes,
    /// It works out one operation and holds what it is about.
    Proposes,
    /// It does one operation that was approved.
    Executes,
}

/// Where new content waits for its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Staging {
    /// In a file without a name, in the directory where it is to have one.
    Beside,
    /// In memory: nothing may be written.
    Memory,
}

/// How often an effect may begin anew when the tree moved under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tries {
    /// Until it holds, within bounds.
    Many,
    /// Not at all: what was approved is what was shown, and an approval is used once.
    One,
}

/// How deep a plan is bound to what it takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binds {
    /// To the names it touches.
    Names,
    /// Of a directory that goes whole, to everything below it too: somebody decided about that.
    Trees,
}

impl Standing {
    pub(crate) const fn of(duty: &Duty) -> Self {
        match duty {
            Duty::Serve => Self::Serves,
            Duty::Observe(_) => Self::Observes,
            Duty::Propose => Self::Proposes,
            Duty::Execute => Self::Executes,
        }
    }

    /// What becomes of that which is only to be asked for.
    pub(crate) const fn asking(self) -> Asking {
        match self {
            Self::Serves => Asking::Refuse,
            Self::Observes | Self::Proposes | Self::Executes => Asking::Granted,
        }
    }

    pub(crate) const fn staging(self) -> Staging {
        match self {
            Self::Serves | Self::Executes => Staging::Beside,
            Self::Observes | Self::Proposes => Staging::Memory,
        }
    }

    pub(crate) const fn binds(self) -> Binds {
        match self {
            Self::Serves | Self::Observes => Binds::Names,
            Self::Proposes | Self::Executes => Binds::Trees,
        }
    }

    pub(crate) const fn tries(self) -> Tries {
        match self {
            Self::Serves => Tries::Many,
            Self::Observes | Self::Proposes | Self::Executes => Tries::One,
        }
    }

    /// What is remembered of what a session saw; `usual` for a worker's own gate.
    pub(crate) const fn keeping(self, usual: Keeping) -> Keeping {
        match self {
            Self::Serves => usual,
            Self::Observes => Keeping::Nothing,
            Self::Proposes | Self::Executes => Keeping::Decided,
        }
    }
}
