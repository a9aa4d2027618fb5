//! What is kept of a session for its runtime, and how it is told when the session is over.

use super::Ending;
use portcullis_protocol::bounded::{Few, Text};
use portcullis_protocol::control::{Over, OverCause};
use portcullis_protocol::ledger::{Finished, NOTES_MAX, RefusalNote, SessionEnd, Tally};
use portcullis_protocol::session::SessionId;
use rustix::process::WaitIdStatus;

/// Bytes of refusal notes kept for one session, so that they fit one frame.
const NOTES_BYTES_MAX: usize = 64 * 1024;
/// Bytes a note takes at most beside its object and rule.
const NOTE_FRAME_BYTES: usize = 16;

/// What is kept of a session for its runtime.
#[derive(Default)]
pub(super) struct Record {
    pub(super) notes: Vec<RefusalNote>,
    bytes: usize,
    /// Notes that came.
    pub(super) came: usize,
    /// Those of the kept notes that are in the log of refusals.
    pub(super) logged: usize,
    /// Refusals that the log knows of, one by one or not.
    pub(super) counted: u64,
    /// What else there is to say.
    pub(super) said: Vec<String>,
}

impl Record {
    /// Takes one note; gives how the session ends, if it is one too many.
    pub(super) fn note(&mut self, note: RefusalNote) -> Option<Ending> {
        self.came += 1;
        if self.came > NOTES_MAX {
            return Some(Ending::Died("the gate sent too many notes".to_owned()));
        }
        let object = note.object.as_ref().map_or(0, |o| o.as_slice().len());
        let rule = note.rule.as_ref().map_or(0, |r| r.as_str().len());
        let bytes = object + rule + NOTE_FRAME_BYTES;
        if self.bytes + bytes <= NOTES_BYTES_MAX {
            self.bytes += bytes;
            self.notes.push(note);
        }
        None
    }

    /// The kept notes that are not in the log of refusals.
    pub(super) fn unlogged(&self) -> &[RefusalNote] {
        self.notes.get(self.logged..).unwrap_or_default()
    }

    /// The connection says what it was made within.
    pub(super) fn over(
        self,
        session: SessionId,
        ending: Ending,
        status: Option<&WaitIdStatus>,
    ) -> Over {
        let mut said = self.said;
        let (cause, tally): (OverCause, Option<Tally>) = match ending {
            Ending::Finished(Finished { tally, end }) => match end {
                SessionEnd::WorkerLeft => (OverCause::WorkerLeft, Some(tally)),
                SessionEnd::WorkerMisbehaved => (OverCause::WorkerMisbehaved, Some(tally)),
            },
            Ending::Revoked => (OverCause::Revoked, None),
            Ending::Died(why) => {
                said.push(why);
                said.extend(status.and_then(last_words));
                (OverCause::GateDied, None)
            }
        };
        let left_out = self.came - self.notes.len();
        if left_out > 0 {
            said.push(format!("{left_out} refusals are not told one by one"));
        }
        Over {
            session,
            cause,
            tally,
            refusals: Few::new(self.notes).unwrap_or_default(),
            parent: None,
            note: (!said.is_empty()).then(|| Text::plain(&said.join("; "))),
        }
    }
}

fn last_words(status: &WaitIdStatus) -> Option<String> {
    match (status.terminating_signal(), status.exit_status()) {
        (Some(signal), _) => Some(format!("it ended by signal {signal}")),
        (None, Some(code)) => Some(format!("it ended with status {code}")),
        (None, None) => None,
    }
}
