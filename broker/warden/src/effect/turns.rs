//! Whose turn it is among the gates of one session.

use portcullis_protocol::refusal::{Code, Refusal};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// One effect at a time, of a session's own gate and of those that do what was approved for it.
#[derive(Debug, Clone)]
pub(crate) struct Turns(Arc<Semaphore>);

/// Holding one means: no other gate of its session has an effect.
#[derive(Debug)]
pub(crate) struct Turn {
    _permit: OwnedSemaphorePermit,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }

    pub(super) fn now(&self) -> Result<Turn, Refusal> {
        let permit = Arc::clone(&self.0).try_acquire_owned();
        permit.map(|permit| Turn { _permit: permit }).map_err(|_| {
            let note = "an approved operation of this session is being done; ask again after it";
            Refusal::new(Code::TooManyInFlight).noting(note)
        })
    }

    /// Waits for it, at most so long. Nothing is lost when the wait is given up.
    pub(crate) async fn wait(&self, most: Duration) -> Result<Turn, Refusal> {
        let permit = timeout(most, Arc::clone(&self.0).acquire_owned()).await;
        match permit {
            Ok(Ok(permit)) => Ok(Turn { _permit: permit }),
            Ok(Err(_)) | Err(_) => {
                let note = "another effect of this session is not over";
                Err(Refusal::new(Code::Contended).noting(note))
            }
        }
    }
}
