//! Answers of many items, on their way from the gate to the output: what came together is written
//! together, never item by item.

use super::out::Gone;
use super::report::Report;
use crate::error::Error;
use crate::stream::{Part, Stream, StreamItem};

/// Bytes written for one item, usually; only a guess for the room.
const ITEM_BYTES: usize = 64;

/// Whether anything came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// Nothing.
    Nothing,
    /// Something.
    Something,
}

/// Writes an answer as it comes, then how it ended. When nobody reads any more, the gate is told to
/// stop.
pub(super) fn flow<T: StreamItem>(
    mut stream: Stream<'_, T>,
    report: &Report,
    mut write: impl FnMut(&T, &mut Vec<u8>),
) -> Result<Came, Error> {
    let mut came = Came::Nothing;
    while let Some(part) = stream.next_part() {
        let items = match part? {
            Part::Items(items) => items,
            Part::Progress(progress) => {
                if report.progress(&progress) == Err(Gone) {
                    return Ok(came);
                }
                continue;
            }
        };
        if !items.is_empty() {
            came = Came::Something;
        }
        let mut chunk = Vec::with_capacity(items.len().saturating_mul(ITEM_BYTES));
        for item in &items {
            write(item, &mut chunk);
        }
        if report.put(chunk) == Err(Gone) {
            return Ok(came);
        }
    }
    let start = stream.start().cloned();
    report.done(&stream.finish()?, start.as_ref());
    Ok(came)
}
