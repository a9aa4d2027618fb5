//! The place of an operation that is worked out, and the one use of what was approved.

use super::{Execution, Known, Made, Place, Proposal, Standing};
use crate::state::{State, StateError};
use portcullis_protocol::approval::{Approval, ProposalId, ProposalState};
use portcullis_protocol::ledger::Intent;
use std::sync::Arc;

impl Place {
    /// Puts the proposal that was worked out here on record.
    pub(crate) fn fill(self, state: &State, made: Made) -> Result<ProposalId, StateError> {
        let mut table = self.proposals.table();
        let id = state.propose(&made.new)?;
        let mut record = made.record;
        record.summary.id = id;
        table.waiting.insert(
            id,
            Proposal {
                session: self.session,
                input: self.input,
                reviewing: made.reviewing,
                record,
                intent: Arc::new(made.bound.intent),
                diff: made.diff,
                standing: Standing::Pending,
                holder: Some(made.holder),
            },
        );
        if let Some(of_session) = table.sessions.get_mut(&self.session) {
            of_session.inputs.insert(self.input, Known::Waiting(id));
        }
        Ok(id)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut table = self.proposals.table();
        if let Some(of_session) = table.sessions.get_mut(&self.session)
            && matches!(of_session.inputs.get(&self.input), Some(Known::Binding))
        {
            of_session.inputs.remove(&self.input);
        }
    }
}

/// What became of the one use of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// What was approved is not there any more: it is void, and was never spent.
    Changed,
    /// As it is on record: spent, or approved where nothing was changed.
    OnRecord,
}

impl Execution {
    pub(crate) const fn approval(&self) -> Approval {
        self.approval
    }

    /// What was approved.
    pub(crate) fn intent(&self) -> &Intent {
        &self.intent
    }

    /// The gate is gone and what it did has its receipt.
    pub(crate) fn end(self, state: &State, ended: Ended) {
        let mut table = self.proposals.table();
        let id = self.approval.proposal;
        let held = table.waiting.get(&id).is_some_and(|p| p.holder.is_some());
        if ended == Ended::Changed || !held || table.is_past(id) {
            state.void_proposal(id).ok();
        }
        match state.proposal(id) {
            Ok(Some(ProposalState::Approved)) => {
                if let Some(proposal) = table.waiting.get_mut(&id) {
                    proposal.standing = Standing::Approved(self.approval.approver);
                }
            }
            Ok(Some(
                ProposalState::Pending
                | ProposalState::Refused
                | ProposalState::Spent
                | ProposalState::Void,
            ))
            | Ok(None)
            // What cannot be read is not used again.
            | Err(_) => drop(table.remove(id)),
        }
    }
}
