//! What is asked for, decided, used or void. That an approval is spent with an effect, and given back with
//! a failed one, is where effects begin and end.

use super::effect::spend;
use super::{Journal, SessionRow};
use crate::state::chain::{approver_text, hex};
use crate::state::step::Step;
use crate::state::{StateError, now_ms, sql};
use portcullis_protocol::approval::{Approval, Approver, ProposalId, ProposalState};
use portcullis_protocol::view::Digest;
use rusqlite::OptionalExtension;

/// A proposal that begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewProposal {
    pub(crate) session: SessionRow,
    /// The digest of the whole operation.
    pub(crate) input: Digest,
    /// The digest of what it is bound to.
    pub(crate) bound: Digest,
    pub(crate) at_ms: u64,
    pub(crate) expires_ms: u64,
}

/// A decision, as it goes on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decided {
    Approved(Approver),
    Refused(Approver),
}

impl Decided {
    pub(crate) const fn state(self) -> ProposalState {
        match self {
            Self::Approved(_) => ProposalState::Approved,
            Self::Refused(_) => ProposalState::Refused,
        }
    }

    pub(crate) const fn approver(self) -> Approver {
        match self {
            Self::Approved(approver) | Self::Refused(approver) => approver,
        }
    }
}

impl Journal {
    pub(in crate::state) fn propose(
        &mut self,
        new: &NewProposal,
    ) -> Result<ProposalId, StateError> {
        self.session(new.session)?;
        self.database
            .prepare_cached(
                "INSERT INTO proposals (session, input, bound, state, at_ms, expires_ms)
                 VALUES (?1, ?2, ?3, 'pending', ?4, ?5)",
            )?
            .execute((
                new.session.0,
                hex(&new.input.0),
                hex(&new.bound.0),
                sql(new.at_ms),
                sql(new.expires_ms),
            ))?;
        self.checkpoints.committed();
        let id = self.database.last_insert_rowid();
        Ok(ProposalId(u64::try_from(id).unwrap_or(0)))
    }

    /// Only what is pending, and not past its time, is decided about. Gives what became of it.
    pub(in crate::state) fn decide(
        &mut self,
        id: ProposalId,
        decided: Decided,
    ) -> Result<Option<ProposalState>, StateError> {
        self.database
            .prepare_cached(
                "UPDATE proposals SET state = ?2, approver = ?3, decided_ms = ?4
                 WHERE id = ?1 AND state = 'pending' AND expires_ms > ?4",
            )?
            .execute((
                sql(id.0),
                decided.state().name(),
                approver_text(decided.approver()),
                sql(now_ms()),
            ))?;
        self.checkpoints.committed();
        self.proposal(id)
    }

    /// What waits for a decision or for its use does so no longer.
    pub(in crate::state) fn void(&mut self, id: ProposalId) -> Result<(), StateError> {
        self.database
            .prepare_cached(
                "UPDATE proposals SET state = 'void'
                 WHERE id = ?1 AND state IN ('pending', 'approved')",
            )?
            .execute((sql(id.0),))?;
        self.checkpoints.committed();
        Ok(())
    }

    /// What earlier wardens held is held by nobody: none of it can be decided about or used.
    pub(in crate::state) fn void_waiting(&mut self) -> Result<(), StateError> {
        self.database.execute(
            "UPDATE proposals SET state = 'void' WHERE state IN ('pending', 'approved')",
            (),
        )?;
        self.checkpoints.committed();
        Ok(())
    }

    /// Uses an approval for what only shows.
    pub(in crate::state) fn spend_shown(
        &mut self,
        session: SessionRow,
        approval: &Approval,
    ) -> Result<(), StateError> {
        let step = Step::begin(&mut self.database)?;
        spend(&step, session, approval, sql(now_ms()))?;
        step.commit()?;
        self.checkpoints.committed();
        Ok(())
    }

    /// What has become of a proposal, if there is one.
    pub(in crate::state) fn proposal(
        &self,
        id: ProposalId,
    ) -> Result<Option<ProposalState>, StateError> {
        let name: Option<String> = self
            .database
            .prepare_cached("SELECT state FROM proposals WHERE id = ?1")?
            .query_row((sql(id.0),), |row| row.get(0))
            .optional()?;
        let Some(name) = name else { return Ok(None) };
        let known = ProposalState::ALL.into_iter();
        let found = known.into_iter().find(|state| state.name() == name);
        let none = || StateError::Damaged(format!("proposal {} is in no known state", id.0));
        found.ok_or_else(none).map(Some)
    }
}
