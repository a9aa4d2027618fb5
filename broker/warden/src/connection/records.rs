//! What a connection has to do with the records: its run, and questions about all runs.

use super::{Closed, Connection, DEADLINE};
use crate::lookup::{Found, Question};
use portcullis_protocol::authority::Parts;
use portcullis_protocol::control::RunId;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::refusal::{Code, Refusal};

impl Connection {
    /// Answered when the records have been looked at.
    pub(super) async fn look(&self, id: RequestId, question: Question) -> Result<(), Closed> {
        let directory = self.shared.state.directory().to_owned();
        match self.lookups.start(id, directory, question) {
            Ok(()) => Ok(()),
            Err(refusal) => self.refuse(id, refusal).await,
        }
    }

    pub(super) async fn tell(&self, found: &Found) -> Result<(), Closed> {
        let Found {
            id,
            answer,
            content,
            ..
        } = found;
        let sent = self.socket.send_content(*id, answer, content, DEADLINE);
        sent.await.map_err(|_| Closed)
    }

    /// The run its sessions belong to; the first of them begins it.
    pub(super) fn run(&mut self, first: &Parts) -> Result<RunId, Refusal> {
        if let Some(run) = self.run {
            return Ok(run);
        }
        let state = &self.shared.state;
        let run = state.begin_run(first.request.as_str(), first.owner.as_str());
        let run = run.map_err(|e| Refusal::new(Code::NoLedger).noting(&e.to_string()))?;
        self.run = Some(run);
        Ok(run)
    }

    /// The connection has closed.
    pub(super) fn end_run(&self) {
        if let Some(run) = self.run {
            // Without it the run counts as one whose broker died.
            self.shared.state.end_run(run).ok();
        }
    }
}
