//! What a gate asks its connection for on behalf of its worker: a session within its own, or the
//! end of one.

use super::Lied;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::Command;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Delegate, Delegated, Noted, SessionId};
use std::future::pending;
use std::os::fd::OwnedFd;
use tokio::sync::oneshot;

/// What is asked for.
pub(crate) enum Asking {
    /// A session within the one that asks.
    Delegate(Box<Delegate>),
    /// The end of a session that was delegated from the one that asks.
    End(SessionId),
}

/// What is given.
pub(crate) enum Given {
    /// The session, and its worker's socket.
    Session(Delegated, OwnedFd),
    /// It is over, with all within it.
    Ended,
}

/// Where the answer goes. The refusal is for a worker: it names nothing of the host.
pub(crate) type Answering = oneshot::Sender<Result<Given, Refusal>>;

/// What one gate has asked for; one thing at a time.
#[derive(Default)]
pub(super) struct Asked(Option<(RequestId, oneshot::Receiver<Result<Given, Refusal>>)>);

impl Asked {
    /// It asks. Gives where the answer goes.
    pub(super) fn ask(&mut self, id: RequestId) -> Result<Answering, Lied> {
        if self.0.is_some() {
            return Err(Lied("the gate asked for a session while it asked for one"));
        }
        let (answering, answer) = oneshot::channel();
        self.0 = Some((id, answer));
        Ok(answering)
    }

    /// Waits for the answer. Nothing is lost when the wait is given up.
    pub(super) async fn next(&mut self) -> (RequestId, Command, Option<OwnedFd>) {
        let Some((id, answer)) = &mut self.0 else {
            return pending().await;
        };
        let (id, answer) = (*id, answer.await);
        self.0 = None;
        let (command, socket) = match answer {
            Ok(Ok(Given::Session(delegated, socket))) => {
                (Command::Delegated(delegated), Some(socket))
            }
            Ok(Ok(Given::Ended)) => (Command::Noted(Noted {}), None),
            Ok(Err(refusal)) => (Command::NotBegun(refusal), None),
            // The connection is gone, and this session is about to be.
            Err(_) => (Command::NotBegun(Refusal::new(Code::Exhausted)), None),
        };
        (id, command, socket)
    }
}
