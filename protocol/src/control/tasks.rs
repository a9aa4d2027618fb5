//! Authorities kept for later: for a task that runs on a schedule, for a background job, for a
//! conversation that goes on.

use super::RootOrder;
use crate::bounded::{Bytes, Few, Text};
use crate::limits::{IGNORE_BYTES_MAX, REASON_BYTES_MAX, ROOTS_MAX};
use crate::session::SessionId;
use crate::view::Digest;
use serde::{Deserialize, Serialize};

/// A task on record: 128 random bits. Knowing one restores nothing by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskId(pub [u8; 16]);

/// Keeps the authority of a session for a task. What a worker asks for is sealed from its own
/// session, so that it never has more than that; so is a background job, which only the session that
/// launched it can seal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealTask {
    /// A session of this connection that runs.
    pub session: SessionId,
    /// blake3 of the task's input, as the runtime has it. Restored only with the same.
    pub input: Digest,
}

/// It is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSealed {
    /// By this it is asked for.
    pub task: TaskId,
}

/// Makes a session of an authority that was kept. Its roots are those of these sealed roots of this
/// connection that are the same directories by their durable identity; roots that are not passed
/// are not there. What was denied, and what limits there were, holds whatever is passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    /// The task.
    pub task: TaskId,
    /// blake3 of its input.
    pub input: Digest,
    /// For whom it was sealed.
    pub owner: Text<REASON_BYTES_MAX>,
    /// In which conversation it was sealed.
    pub conversation: Text<REASON_BYTES_MAX>,
    /// The conversation it goes on in; none is the same.
    pub rebind: Option<Text<REASON_BYTES_MAX>>,
    /// Sealed roots of this connection, by the labels they had.
    pub roots: Few<RootOrder, ROOTS_MAX>,
    /// A session of this connection that the new one must stay within.
    pub within: Option<SessionId>,
    /// Rules of ignore files, as in an order to mint.
    pub ignore: Bytes<IGNORE_BYTES_MAX>,
}

/// Makes a session with the authority of one of this connection that runs, for another conversation
/// of the same owner: roots and limits stay, budgets are halved between both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continue {
    /// The session.
    pub session: SessionId,
    /// The conversation it goes on in.
    pub conversation: Text<REASON_BYTES_MAX>,
}
