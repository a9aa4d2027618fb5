//! Finding which bytes of a file a range means, by looking at the file in pieces.

use super::super::survey::Surveyor;
use crate::bind::Bound;
use crate::outlet::Outlet;
use crate::sys::file;
use portcullis_protocol::limits::{CONTENT_BYTES_MAX, SCAN_BYTES_MAX};
use portcullis_protocol::refusal::Refusal;
use portcullis_protocol::session::{Range, Rest, TextSurvey};
use portcullis_transport::Buffer;
use rustix::io::Errno;

/// The bytes to send of one file.
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) first_line: u64,
    pub(super) rest: Rest,
}

/// Why a pass over a file stopped.
pub(super) enum Broken {
    Errno(Errno),
    /// More would be shown than may be.
    Budget(Refusal),
    Cancelled,
    Gone,
}

/// Room for `want` bytes, at most one frame's content.
pub(super) fn fit(room: &mut Buffer, want: u64) -> &mut [u8] {
    room.room(
        usize::try_from(want)
            .unwrap_or(usize::MAX)
            .min(CONTENT_BYTES_MAX),
    )
}

/// Surveys the whole file.
pub(super) fn whole(
    bound: &Bound,
    room: &mut Buffer,
    outlet: &Outlet,
    mut hasher: Option<&mut blake3::Hasher>,
) -> Result<TextSurvey, Broken> {
    let mut surveyor = Surveyor::default();
    pieces(bound, 0, room, outlet, |piece, _| {
        surveyor.take(piece);
        if let Some(hasher) = hasher.as_deref_mut() {
            hasher.update(piece);
        }
        Walk::On
    })?;
    Ok(surveyor.finish())
}

enum Walk {
    On,
    Enough,
}

/// Calls `take` with each piece of the file from `start` and its offset, up to the scan limit.
/// Gives true when the file ended.
fn pieces(
    bound: &Bound,
    start: u64,
    room: &mut Buffer,
    outlet: &Outlet,
    mut take: impl FnMut(&[u8], u64) -> Walk,
) -> Result<Ended, Broken> {
    let room = fit(room, u64::MAX);
    let mut at = start;
    while at.saturating_sub(start) < SCAN_BYTES_MAX {
        if outlet.is_cancelled() {
            return Err(Broken::Cancelled);
        }
        let n = file::read_at(bound.object(), room, at).map_err(Broken::Errno)?;
        if let Walk::Enough = take(room.get(..n).unwrap_or_default(), at) {
            return Ok(Ended::No);
        }
        if n < room.len() {
            return Ok(Ended::Yes);
        }
        at = at.saturating_add(u64::try_from(n).unwrap_or(u64::MAX));
    }
    Ok(Ended::No)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Yes,
    No,
}

/// Which bytes a range means in this file.
pub(super) fn span(
    bound: &Bound,
    range: Range,
    room: &mut Buffer,
    outlet: &Outlet,
) -> Result<Span, Broken> {
    let size = bound.observation().stamp.size;
    match range {
        Range::Bytes { offset, length } => {
            let capped = length.min(SCAN_BYTES_MAX);
            let end = offset.saturating_add(capped);
            let rest = if capped < length && end < size {
                Rest::CutAtScanLimit
            } else {
                Rest::End
            };
            Ok(Span {
                start: offset,
                end,
                first_line: 0,
                rest,
            })
        }
        Range::Head { count } => lines(bound, 1, count, room, outlet),
        Range::Lines { first, count } => lines(bound, first.max(1), count, room, outlet),
        Range::Tail { count } => tail(bound, count, room, outlet),
    }
}

fn lines(
    bound: &Bound,
    first: u64,
    count: u64,
    room: &mut Buffer,
    outlet: &Outlet,
) -> Result<Span, Broken> {
    let mut line = 1;
    let mut span = Span {
        start: 0,
        end: 0,
        first_line: first,
        rest: Rest::End,
    };
    let mut started = first == 1;
    let after = first.saturating_add(count);
    let mut done = count == 0;
    let mut end = 0;
    let ended = pieces(bound, 0, room, outlet, |piece, offset| {
        let next = |n: usize| offset.saturating_add(u64::try_from(n).unwrap_or(u64::MAX));
        end = next(piece.len());
        if done {
            return Walk::Enough;
        }
        for at in memchr::memchr_iter(b'\n', piece) {
            line += 1;
            if line == first {
                started = true;
                span.start = next(at + 1);
            }
            if line == after {
                span.end = next(at + 1);
                done = true;
                return Walk::Enough;
            }
        }
        Walk::On
    })?;
    if !done {
        span.start = if started { span.start } else { end };
        span.end = end;
        if ended == Ended::No {
            span.rest = Rest::CutAtScanLimit;
        }
    } else if count == 0 {
        span.end = span.start;
    }
    Ok(span)
}

/// Walks back from the end, one piece at a time. A final newline starts no further line.
fn tail(bound: &Bound, count: u64, room: &mut Buffer, outlet: &Outlet) -> Result<Span, Broken> {
    let size = bound.observation().stamp.size;
    let mut span = Span {
        start: size,
        end: size,
        first_line: 0,
        rest: Rest::End,
    };
    if count == 0 {
        return Ok(span);
    }
    let room = fit(room, u64::MAX);
    let step = u64::try_from(room.len()).unwrap_or(u64::MAX);
    let mut wanted = count;
    let mut at = size;
    while at > 0 && size - at < SCAN_BYTES_MAX {
        if outlet.is_cancelled() {
            return Err(Broken::Cancelled);
        }
        let from = at.saturating_sub(step);
        let len = usize::try_from(at - from).unwrap_or(usize::MAX);
        let piece = room.get_mut(..len).unwrap_or_default();
        let n = file::read_at(bound.object(), piece, from).map_err(Broken::Errno)?;
        let piece = piece.get(..n).unwrap_or_default();
        for found in memchr::memrchr_iter(b'\n', piece) {
            let line_start = from + u64::try_from(found).unwrap_or(u64::MAX) + 1;
            if line_start >= size {
                continue;
            }
            wanted -= 1;
            if wanted == 0 {
                span.start = line_start;
                return Ok(span);
            }
        }
        at = from;
    }
    span.start = at;
    if at > 0 {
        span.rest = Rest::CutAtScanLimit;
    }
    if at == 0 {
        span.first_line = 1;
    }
    Ok(span)
}

/// The number of the first line of a tail, when the lines of the whole file are known.
pub(super) fn first_of_tail(
    bound: &Bound,
    span: &Span,
    text: &TextSurvey,
    room: &mut Buffer,
) -> Result<u64, Errno> {
    let mut surveyor = Surveyor::default();
    let room = fit(room, u64::MAX);
    let mut at = span.start;
    while at < span.end {
        let n = file::read_at(bound.object(), room, at)?;
        if n == 0 {
            break;
        }
        surveyor.take(room.get(..n).unwrap_or_default());
        at = at.saturating_add(u64::try_from(n).unwrap_or(u64::MAX));
    }
    Ok(text.lines.saturating_sub(surveyor.finish().lines) + 1)
}
