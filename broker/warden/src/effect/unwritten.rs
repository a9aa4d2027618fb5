//! Why the journal takes no effect, for a worker: the journal's own words may name host paths.

use crate::state::StateError;
use portcullis_protocol::refusal::{Code, Refusal};

/// Why an approval could not be used, or an intent not be written.
pub(crate) fn unclaimed(error: &StateError) -> Refusal {
    match error {
        StateError::NotApproved { proposal } => {
            let note = format!("proposal {proposal} is not approved any more: ask for it anew");
            Refusal::new(Code::NeedsApproval).noting(&note)
        }
        StateError::Files { .. }
        | StateError::Foreign { .. }
        | StateError::InUse { .. }
        | StateError::OldGates { .. }
        | StateError::Missing { .. }
        | StateError::Newer { .. }
        | StateError::Database(_)
        | StateError::Damaged(_) => no_ledger(error),
    }
}

pub(crate) fn no_ledger(error: &StateError) -> Refusal {
    // Its words may name host paths, which a gate hands on to its worker.
    let note = match error {
        StateError::Files { .. } => "there is no room for the receipt",
        StateError::Database(_) => "its database refuses",
        StateError::Foreign { .. }
        | StateError::InUse { .. }
        | StateError::OldGates { .. }
        | StateError::Missing { .. }
        | StateError::Newer { .. }
        | StateError::NotApproved { .. }
        | StateError::Damaged(_) => "its records are damaged",
    };
    Refusal::new(Code::NoLedger).noting(note)
}
