//! Authorities kept for later, and sessions that go on where others are.

use super::Control;
use crate::error::{Error, Violation};
use crate::session::Session;
use portcullis_protocol::authority::RootId;
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::control::{
    Answer, Continue, Minted, Order, Restore, RootOrder, SealTask, TaskId, TaskSealed,
};
use portcullis_protocol::limits::REASON_BYTES_MAX;
use portcullis_protocol::path::Label;
use portcullis_protocol::session::SessionId;
use portcullis_protocol::view::Digest;

/// The digest of a task's input, as [`Control::seal_task`] and [`RestoreOrder`] take it: blake3 of
/// its bytes.
pub fn task_input(input: &[u8]) -> Digest {
    Digest(*blake3::hash(input).as_bytes())
}

/// What session to make of an authority that was kept.
///
/// A text or a list that is over its limit is an error of [`Control::restore`], before anything is
/// sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreOrder {
    task: TaskId,
    input: Digest,
    owner: String,
    conversation: String,
    rebind: Option<String>,
    roots: Vec<RootOrder>,
    within: Option<SessionId>,
    ignore: Vec<u8>,
}

impl RestoreOrder {
    /// Of this task with this input, for the owner and the conversation it was sealed for. Without
    /// roots; what is not passed again is not there.
    pub fn new(
        task: TaskId,
        input: Digest,
        owner: impl Into<String>,
        conversation: impl Into<String>,
    ) -> Self {
        Self {
            task,
            input,
            owner: owner.into(),
            conversation: conversation.into(),
            rebind: None,
            roots: Vec::new(),
            within: None,
            ignore: Vec::new(),
        }
    }

    /// Goes on in another conversation of the same owner.
    #[must_use]
    pub fn rebind(mut self, conversation: impl Into<String>) -> Self {
        self.rebind = Some(conversation.into());
        self
    }

    /// Passes a sealed root of this connection again, by the label it had in the session. Another
    /// directory than that is refused.
    #[must_use]
    pub fn root(mut self, root: RootId, label: Option<Label>) -> Self {
        self.roots.push(RootOrder { root, label });
        self
    }

    /// Keeps the session within the authority of another one of the same connection.
    #[must_use]
    pub fn within(mut self, session: SessionId) -> Self {
        self.within = Some(session);
        self
    }

    /// Rules of ignore files that hold in every root, as for [`crate::MintOrder::ignore`].
    #[must_use]
    pub fn ignore(mut self, rules: impl Into<Vec<u8>>) -> Self {
        self.ignore = rules.into();
        self
    }

    fn build(&self) -> Result<Restore, Error> {
        let rebind = self.rebind.as_deref();
        Ok(Restore {
            task: self.task,
            input: self.input,
            owner: text("the owner", &self.owner)?,
            conversation: text("the conversation", &self.conversation)?,
            rebind: rebind
                .map(|rebind| text("the conversation", rebind))
                .transpose()?,
            roots: Few::new(self.roots.clone())
                .map_err(|e| Error::invalid(format_args!("roots: {e}")))?,
            within: self.within,
            ignore: Bytes::new(self.ignore.as_slice())
                .map_err(|e| Error::invalid(format_args!("rules of ignore files: {e}")))?,
        })
    }
}

fn text(what: &str, text: &str) -> Result<Text<REASON_BYTES_MAX>, Error> {
    Text::new(text).map_err(|e| Error::invalid(format_args!("{what}: {e}")))
}

impl Control {
    /// Keeps the authority of a session of this connection that runs, for a task with this input.
    /// It is kept over restarts of the broker, until it expires.
    pub fn seal_task(&mut self, session: SessionId, input: Digest) -> Result<TaskId, Error> {
        let answer = self.order_plain(&Order::SealTask(SealTask { session, input }), &[])?;
        let Answer::TaskSealed(TaskSealed { task }) = answer else {
            return Err(self.link.violated(Violation::WrongKind));
        };
        Ok(task)
    }

    /// Makes a session of an authority that was kept. Another input, owner or conversation, and a
    /// task that is not known, restore nothing.
    pub fn restore(&mut self, order: &RestoreOrder) -> Result<(Minted, Session), Error> {
        let restore = order.build()?;
        self.make(&Order::Restore(restore), &[])
    }

    /// Makes a session with the authority of one that runs, for another conversation of the same
    /// owner. Budgets are halved between both.
    pub fn continue_session(
        &mut self,
        session: SessionId,
        conversation: &str,
    ) -> Result<(Minted, Session), Error> {
        let conversation = text("the conversation", conversation)?;
        let order = Order::Continue(Continue {
            session,
            conversation,
        });
        self.make(&order, &[])
    }
}
