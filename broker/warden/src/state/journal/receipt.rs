//! The end of an effect: its receipt, written together with the end of its intent.

use super::effect::no_intent;
use super::{IntentId, Journal, Life};
use crate::state::chain::{self, Body, hex};
use crate::state::step::Step;
use crate::state::{DATABASE, StateError, now_ms, sql};
use portcullis_protocol::approval::{Approval, ProposalState};
use portcullis_protocol::control::Witness;
use portcullis_protocol::ledger::{Finish, ReceiptId};
use portcullis_protocol::session::Outcome;

impl Journal {
    pub(in crate::state) fn finish(
        &mut self,
        id: IntentId,
        end: &Finish,
        diff: &[u8],
        witness: Witness,
    ) -> Result<ReceiptId, StateError> {
        match self.write_receipt(id, end, diff, witness) {
            Err(StateError::Database(error)) if is_full(&error) => {
                self.reserve.release().map_err(|source| StateError::Files {
                    path: DATABASE.into(),
                    what: "room kept for receipts",
                    source,
                })?;
                self.write_receipt(id, end, diff, witness)
            }
            other => other,
        }
    }

    fn write_receipt(
        &mut self,
        id: IntentId,
        end: &Finish,
        diff: &[u8],
        witness: Witness,
    ) -> Result<ReceiptId, StateError> {
        let IntentId(row) = id;
        let session = self.session(row)?;
        let open = session.open.ok_or_else(no_intent)?;
        let number = open.number.unwrap_or(self.last + 1);
        let at_ms = now_ms();
        let body = Body {
            number,
            incarnation: session.incarnation,
            session: session.number,
            run: session.run,
            authority: session.authority,
            previous: session.head,
            cage: open.cage.unwrap_or(session.cage),
            approval: open.approval,
            began_ms: open.began_ms,
            at_ms,
            witness,
            request: open.request,
            end: end.clone(),
            diff: chain::kept(diff),
        };
        let (body, life) = (body.write(session.version)?, session.life);
        let link = chain::link(session.head, &body);
        let touched = chain::touched_text(end, &session.roots);
        let (run, head) = (sql(session.run.0), hex(&link.0));
        let step = Step::begin(&mut self.database)?;
        step.prepare_cached(
            "INSERT INTO receipts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute((
            run,
            sql(number),
            row.0,
            sql(at_ms),
            end.outcome.name(),
            witness.name(),
            end.guarantee.name(),
            touched,
            &head,
            body,
            diff,
        ))?;
        step.prepare_cached(tally(end.outcome))?
            .execute((row.0, sql(number), &head))?;
        if let (Outcome::Failed, Some(approval)) = (end.outcome, &open.approval) {
            give_back(&step, approval, life, at_ms)?;
        }
        step.commit()?;
        self.last = self.last.max(number);
        self.open = self.open.saturating_sub(1);
        if let Some(session) = self.sessions.get_mut(&row) {
            session.receipts += 1;
            session.head = link;
            session.open = None;
        }
        self.checkpoints.committed();
        Ok(ReceiptId {
            number,
            chain: link,
        })
    }
}

/// Nothing was changed: the approval may be used again, where it still stands.
fn give_back(
    step: &Step<'_>,
    approval: &Approval,
    life: Life,
    at_ms: u64,
) -> Result<(), StateError> {
    let state = match life {
        Life::Now => ProposalState::Approved,
        // What it was bound to is held by nobody any more.
        Life::Earlier => ProposalState::Void,
    };
    step.prepare_cached(
        "UPDATE proposals SET spent_ms = NULL, state = iif(expires_ms > ?2, ?3, 'void')
         WHERE id = ?1 AND state = 'spent'",
    )?
    .execute((sql(approval.proposal.0), sql(at_ms), state.name()))?;
    Ok(())
}

/// Whether a statement failed because there was no room.
fn is_full(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DiskFull | rusqlite::ErrorCode::SystemIoFailure)
    )
}

const fn tally(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => {
            "UPDATE sessions SET intent = NULL, intent_ms = NULL, claim = NULL, done = done + 1,
             last = ?2, head = ?3 WHERE id = ?1"
        }
        Outcome::Failed => {
            "UPDATE sessions SET intent = NULL, intent_ms = NULL, claim = NULL,
             failed = failed + 1, last = ?2, head = ?3 WHERE id = ?1"
        }
        Outcome::Uncertain => {
            "UPDATE sessions SET intent = NULL, intent_ms = NULL, claim = NULL,
             uncertain = uncertain + 1, last = ?2, head = ?3 WHERE id = ?1"
        }
    }
}
