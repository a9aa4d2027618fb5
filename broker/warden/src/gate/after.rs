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

    /// Puts notes on record, where there are enough that are not yet: a session that is refused much
    /// shall not have the journal write as often.
    pub(super) fn note_refusals(&mut self) {
        if self.record.unlogged().len() >= REFUSALS_AT_ONCE {
            self.log_refusals(self.record.came as u64);
        }
    }

    /// Puts the rest on record, and how many refusals there were in all, where the gate could say.
    pub(super) fn note_last_refusals(&mut self, ending: &Ending) {
        let came = self.record.came as u64;
        let all = match ending {
            Ending::Finished(finished) => finished.tally.refused.max(came),
            Ending::Revoked | Ending::Died(_) => came,
        };
        if all > self.record.counted {
            self.log_refusals(all);
        }
    }

    fn log_refusals(&mut self, all: u64) {
        let (row, record) = (self.effects.session(), &mut self.record);
        if self
            .shared
            .state
            .refused(row, record.unlogged(), all)
            .is_err()
        {
            let word = "refusals are not in their log: the journal does not take them";
            record.said.push(word.to_owned());
        }
        record.logged = record.notes.len();
        record.counted = all;
    }
}
