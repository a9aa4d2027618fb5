//! Authorities that are kept for tasks. What is read is believed only as far as it says the same as
//! the columns beside it, and as its version allows.

mod legacy;

use super::chain::{self, hex, unhex};
use super::{State, StateError, now_ms, sql};
use portcullis_protocol::authority::{Authority, Parts};
use portcullis_protocol::control::{Deciding, TaskId};
use portcullis_protocol::view::Digest;
use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

/// The encoding of this version: its first byte. The one before it is in [`legacy`].
const VERSION: u8 = 2;

/// A task that is to be kept.
#[derive(Debug)]
pub(crate) struct NewTask<'a> {
    pub(crate) task: TaskId,
    pub(crate) input: Digest,
    pub(crate) deciding: Deciding,
    pub(crate) authority: &'a Authority,
}

/// A task that was kept, and is sound.
#[derive(Debug)]
pub(crate) struct KeptTask {
    pub(crate) input: Digest,
    pub(crate) deciding: Deciding,
    pub(crate) authority: Authority,
}

/// Why nothing comes of a task.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskError {
    #[error("it was sealed by another version of the broker (encoding {0})")]
    Version(i64),
    #[error("what was sealed is damaged")]
    Malformed,
    #[error(transparent)]
    State(StateError),
}

/// What is kept, behind the byte of the version.
#[derive(Serialize, Deserialize)]
struct Body {
    deciding: Deciding,
    parts: Parts,
}

/// A row: version, input, owner, conversation, authority, body.
type Row = (i64, String, String, String, String, Vec<u8>);

impl State {
    /// Keeps an authority for a task.
    pub(crate) fn keep_task(&self, new: &NewTask<'_>) -> Result<(), StateError> {
        self.journal().with(|database| keep(database, new))
    }

    /// The authority that was kept for a task; none when there is no such task.
    pub(crate) fn task(&self, task: TaskId) -> Result<Option<KeptTask>, TaskError> {
        let row = self.journal().with(|database| find(database, task));
        row.map_err(TaskError::State)?.map(read).transpose()
    }
}

fn keep(database: &Connection, new: &NewTask<'_>) -> Result<(), StateError> {
    let parts = new.authority.parts();
    let mut body = vec![VERSION];
    body.extend(chain::encode(&Body {
        deciding: new.deciding,
        parts: parts.clone(),
    })?);
    database
        .prepare_cached(
            "INSERT INTO tasks (task, version, input, owner, conversation, authority, sealed_ms,
             body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            hex(&new.task.0),
            i64::from(VERSION),
            hex(&new.input.0),
            parts.owner.as_str(),
            parts.conversation.as_str(),
            hex(&new.authority.id().0),
            sql(now_ms()),
            body,
        ))?;
    Ok(())
}

fn find(database: &Connection, task: TaskId) -> Result<Option<Row>, StateError> {
    let found = database
        .prepare_cached(
            "SELECT version, input, owner, conversation, authority, body FROM tasks
             WHERE task = ?1",
        )?
        .query_row((hex(&task.0),), |row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
            ))
        })
        .optional()?;
    Ok(found)
}

/// Reads a row. Everything it says twice it says alike.
fn read(
    (version, input, owner, conversation, authority, body): Row,
) -> Result<KeptTask, TaskError> {
    let malformed = || TaskError::Malformed;
    let (number, encoded) = body.split_first().ok_or_else(malformed)?;
    if version != i64::from(*number) {
        return Err(TaskError::Malformed);
    }
    let (deciding, parts, id) = match *number {
        VERSION => {
            let (body, rest) =
                postcard::take_from_bytes::<Body>(encoded).map_err(|_| TaskError::Malformed)?;
            if !rest.is_empty() {
                return Err(TaskError::Malformed);
            }
            (body.deciding, body.parts, None)
        }
        legacy::VERSION => {
            let (id, parts) = legacy::read(encoded, &conversation).ok_or_else(malformed)?;
            (Deciding::Anyone, parts, Some(id))
        }
        _ => return Err(TaskError::Version(version)),
    };
    let sealed = Authority::seal(parts).map_err(|_| TaskError::Malformed)?;
    let said: [u8; 32] = unhex(&authority).map_err(|_| TaskError::Malformed)?;
    let parts = sealed.parts();
    if id.unwrap_or(sealed.id().0) != said
        || parts.owner.as_str() != owner
        || parts.conversation.as_str() != conversation
    {
        return Err(TaskError::Malformed);
    }
    Ok(KeptTask {
        input: Digest(unhex(&input).map_err(|_| TaskError::Malformed)?),
        deciding,
        authority: sealed,
    })
}

#[cfg(test)]
mod tests;
