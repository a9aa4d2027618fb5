//! A change set that one frame does not hold: its encoding, then the content it speaks of.

use super::{ChangeComposed, ChangeSet};
use crate::frame::Expected;
use crate::limits::{COMPOSED_BYTES_MAX, SET_BYTES_MAX};

/// Why bytes are no composed change set, or a change set cannot be composed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ComposedError {
    /// More bytes than may be composed.
    #[error("{0} bytes, at most {SET_BYTES_MAX} of changes and {COMPOSED_BYTES_MAX} in all")]
    TooLarge(usize),
    /// The first bytes are no change set, or not its only encoding.
    #[error("no change set")]
    Malformed,
}

/// Writes a change set and its content as they are composed, and says how they are asked for.
pub fn encode_composed(
    set: &ChangeSet,
    content: &[u8],
) -> Result<(Vec<u8>, ChangeComposed), ComposedError> {
    let mut out = postcard::to_extend(set, Vec::new()).map_err(|_| ComposedError::Malformed)?;
    let len = out.len();
    out.extend_from_slice(content);
    if len > SET_BYTES_MAX || out.len() > COMPOSED_BYTES_MAX {
        return Err(ComposedError::TooLarge(out.len()));
    }
    let set = u32::try_from(len).map_err(|_| ComposedError::TooLarge(len))?;
    Ok((out, ChangeComposed { set }))
}

/// Reads what was composed. Total: any bytes give a change set and its content, or an error.
pub fn decode_composed(
    composed: &[u8],
    ask: ChangeComposed,
) -> Result<(ChangeSet, &[u8]), ComposedError> {
    let len = usize::try_from(ask.set).unwrap_or(usize::MAX);
    if len > SET_BYTES_MAX || composed.len() > COMPOSED_BYTES_MAX {
        return Err(ComposedError::TooLarge(composed.len()));
    }
    let (body, content) = composed
        .split_at_checked(len)
        .ok_or(ComposedError::Malformed)?;
    let (set, left): (ChangeSet, &[u8]) =
        postcard::take_from_bytes(body).map_err(|_| ComposedError::Malformed)?;
    let canonical = postcard::serialize_with_flavor(&set, Expected(body)).unwrap_or(false);
    if left.is_empty() && canonical {
        Ok((set, content))
    } else {
        Err(ComposedError::Malformed)
    }
}
