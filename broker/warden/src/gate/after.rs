//! What is left of a gate's words: those it said before it was gone, and its refusals on record.

use super::{Ending, Life};
use portcullis_protocol::ledger::Event;

/// Refusals that are put on record in one step while the session runs.
pub(super) const REFUSALS_AT_ONCE: usize = 16;

impl Life<'_> {
    /// Takes what a gate that is gone had said before. Its last word holds over a revocation
    /// that came after it, and the end of its effect over what an observer would see.
    pub(super) fn drain(&mut self, ending: Ending) -> Ending {
        while let Ok(event) = self.ledger.receive_now(&self.shared.buffer) {
            let goes_on = match (event.message, &ending) {
                (Event::Finish(end), _) => self.effects.finish(&end, &event.content).is_ok(),
                (Event::Confirmed(_), _) => self.effects.confirmed().is_ok(),
                (Event::Refused(note), _) => self.record.note(note).is_none(),
                (Event::Finished(finished), Ending::Revoked) => return Ending::Finished(finished),
                // It asked, and has had no answer: nothing was done.
                (
                    Event::Begin(_)
                    | Event::Amend(_)
                    | Event::Unlock(_)
                    | Event::Delegate(_)
                    | Event::EndDelegated(_)
                    | Event::Propose(_)
                    | Event::Claim(_),
                    _,
                ) => true,
                (
                    Event::Finished(_)
                    | Event::Ready(_)
                    | Event::Fault(_)
                    | Event::Seen(_)
                    | Event::Bound(_)
                    | Event::Unbound(_),
                    _,
                ) => false,
            };
            if !goes_on {
                break;
            }
        }
        ending
    }

    /// Puts notes on record that are not yet, where there are so many of them: a session that is
    /// refused much shall not have the journal write as often. `refused` is how many there were in
    /// all, where the gate could say.
    pub(super) fn note_refusals(&mut self, enough: usize, refused: Option<u64>) {
        let record = &mut self.record;
        let new = record.notes.get(record.logged..).unwrap_or_default();
        let all = refused.unwrap_or(0).max(record.came as u64);
        let more = refused.is_some() && all > record.came as u64;
        if new.len() < enough && !more {
            return;
        }
        let row = self.effects.session();
        if self.shared.state.refused(row, new, all).is_err() {
            let word = "refusals are not in their log: the journal does not take them";
            record.said.push(word.to_owned());
        }
        record.logged = record.notes.len();
    }
}
