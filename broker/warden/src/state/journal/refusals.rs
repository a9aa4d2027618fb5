//! What was refused: a log of its own, bounded, with no chain. It says what was asked for, not what
//! was done.

use super::{Journal, SessionRow};
use crate::state::chain::encode;
use crate::state::step::Step;
use crate::state::{StateError, now_ms, sql};
use portcullis_protocol::ledger::RefusalNote;
use portcullis_protocol::limits::REFUSALS_KEPT;

/// First byte of a refusal as it is kept.
pub(in crate::state) const REFUSAL: u8 = 1;

impl Journal {
    /// Writes notes, and how many requests of the session were refused until now.
    pub(in crate::state) fn refused(
        &mut self,
        row: SessionRow,
        notes: &[RefusalNote],
        refused: u64,
    ) -> Result<(), StateError> {
        let run = sql(self.session(row)?.run.0);
        let at_ms = sql(now_ms());
        let step = Step::begin(&mut self.database)?;
        for note in notes {
            step.prepare_cached(
                "INSERT INTO refusals (run, session, at_ms, body) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((run, row.0, at_ms, encode(&(REFUSAL, note))?))?;
        }
        step.prepare_cached(
            "DELETE FROM refusals WHERE number <= (SELECT max(number) FROM refusals) - ?1",
        )?
        .execute((sql(REFUSALS_KEPT),))?;
        step.prepare_cached("UPDATE sessions SET refused = max(refused, ?2) WHERE id = ?1")?
            .execute((row.0, sql(refused)))?;
        step.commit()?;
        self.checkpoints.committed();
        Ok(())
    }
}
