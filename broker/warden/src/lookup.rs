//! Orders that only read the records, answered beside the event loop: a page is bounded, but the
//! disk may be slow, and `verify` reads everything.

use crate::state::{Records, StateError};
use portcullis_protocol::control::{self, Answer};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::refusal::{Code, Refusal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Lookups of one connection at once.
const AT_ONCE: usize = 4;

/// What is asked of the records.
#[derive(Debug)]
pub(crate) enum Question {
    Runs(control::Runs),
    Log(control::Log),
    Diff(control::Diff),
    Refusals(control::Refusals),
    Sessions(control::Sessions),
    Verify,
}

/// What a lookup found, with the content behind the answer.
pub(crate) struct Found {
    pub(crate) id: RequestId,
    pub(crate) answer: Answer,
    pub(crate) content: Vec<u8>,
    /// Another may begin once this is told.
    _place: OwnedSemaphorePermit,
}

/// The lookups of one connection.
pub(crate) struct Lookups {
    places: Arc<Semaphore>,
    found: mpsc::UnboundedSender<Found>,
}

impl Lookups {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Found>) {
        let (found, comes) = mpsc::unbounded_channel();
        let places = Arc::new(Semaphore::new(AT_ONCE));
        (Self { places, found }, comes)
    }

    fn place(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let places = Arc::clone(&self.places);
        places.try_acquire_owned().map_err(|_| {
            Refusal::new(Code::TooManyInFlight)
                .noting(&format!("{AT_ONCE} questions about the records are open"))
        })
    }

    /// Has an order answered when its answer is known, in a place of a lookup.
    pub(crate) fn later(
        &self,
        id: RequestId,
        answer: impl Future<Output = Answer> + Send + 'static,
    ) -> Result<(), Refusal> {
        let place = self.place()?;
        let found = self.found.clone();
        // As with the others, nobody waits for it once the connection is gone.
        drop(tokio::spawn(async move {
            let answer = answer.await;
            drop(found.send(Found {
                id,
                answer,
                content: Vec::new(),
                _place: place,
            }));
        }));
        Ok(())
    }

    /// Starts one; what it finds comes over the channel.
    pub(crate) fn start(
        &self,
        id: RequestId,
        directory: PathBuf,
        question: Question,
    ) -> Result<(), Refusal> {
        let place = self.place()?;
        let found = self.found.clone();
        // Detached: its connection waits for it only as long as it lives.
        drop(tokio::task::spawn_blocking(move || {
            let (answer, content) = match look(&directory, &question) {
                Ok(Some(answer)) => answer,
                Ok(None) => {
                    let note = "no receipt has this number";
                    let refusal = Refusal::new(Code::NotFound).noting(note);
                    (Answer::Refused(refusal), Vec::new())
                }
                Err(error) => {
                    let refusal = Refusal::new(Code::NoLedger).noting(&error.to_string());
                    (Answer::Refused(refusal), Vec::new())
                }
            };
            drop(found.send(Found {
                id,
                answer,
                content,
                _place: place,
            }));
        }));
        Ok(())
    }
}

fn look(directory: &Path, question: &Question) -> Result<Option<(Answer, Vec<u8>)>, StateError> {
    let records = Records::open(directory)?;
    let bare = |answer| Ok(Some((answer, Vec::new())));
    match question {
        Question::Runs(order) => bare(Answer::Runs(records.runs(order.before)?)),
        Question::Log(order) => bare(Answer::Log(records.log(order.run, order.after)?)),
        Question::Diff(order) => {
            let found = records.diff(order.receipt)?;
            Ok(found.map(|(diff, text)| (Answer::Diff(diff), text)))
        }
        Question::Refusals(order) => {
            bare(Answer::Refusals(records.refusals(order.run, order.after)?))
        }
        Question::Sessions(order) => {
            bare(Answer::Sessions(records.sessions(order.run, order.after)?))
        }
        Question::Verify => bare(Answer::Verified(records.verify()?)),
    }
}
