//! Parts on their way: more than one at a time, and no more than the socket is sure to take.

use crate::error::{Error, Violation};
use crate::link::Expected;
use crate::session::Session;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::limits::{HEADER_BYTES, LABEL_BYTES_MAX};
use portcullis_protocol::session::{Composed, Limits, Reply, Selector, UploadId, Uploaded};
use std::collections::VecDeque;

/// Uploaded parts begin at multiples of this, where the limits leave room for one.
const PART_ALIGNMENT: usize = 4096;

/// More bytes than a part of an upload has on the wire beside its content.
pub(super) fn overhead(selector: &Selector) -> usize {
    HEADER_BYTES + 32 + LABEL_BYTES_MAX + selector.path.as_slice().len()
}

/// More bytes than a part of what is composed has on the wire beside its content.
pub(super) const COMPOSE_OVERHEAD: usize = HEADER_BYTES + 32;

/// What the answer to a part must say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    Uploaded(Uploaded),
    Composed(Composed),
}

/// A part whose answer is still to come.
pub(super) struct Part {
    pub(super) id: RequestId,
    pub(super) end: Kept,
    /// Its size in the socket, at most.
    pub(super) bytes: usize,
}

impl Part {
    /// Whether it is the first of several of this upload.
    pub(super) fn starts(&self, upload: UploadId, part_bytes: usize) -> bool {
        u64::try_from(part_bytes)
            .is_ok_and(|bytes| self.end == Kept::Uploaded(Uploaded { upload, bytes }))
    }
}

/// Parts that were sent and not answered, as many as the socket is sure to take.
pub(super) struct Pipe {
    pub(super) waiting: VecDeque<Part>,
    limits: Limits,
}

impl Pipe {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            waiting: VecDeque::new(),
            limits,
        }
    }

    /// Content of one part: what a frame carries, or less so that the gate writes one while the
    /// next is on its way.
    pub(super) fn part_bytes(&self, overhead: usize) -> usize {
        let usize_of = |limit| usize::try_from(limit).unwrap_or(usize::MAX);
        let half = usize_of(self.limits.in_flight_bytes) / 2;
        let most = usize_of(self.limits.content_bytes)
            .min(half.saturating_sub(overhead))
            .max(1);
        match most / PART_ALIGNMENT {
            0 => most,
            pages => pages * PART_ALIGNMENT,
        }
    }

    /// Whether another part may be sent. One always may.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        let sent: usize = self.waiting.iter().map(|part| part.bytes).sum();
        let most = usize::try_from(self.limits.in_flight_bytes).unwrap_or(usize::MAX);
        self.waiting.is_empty()
            || (self.waiting.len() < usize::from(self.limits.in_flight) && sent + bytes <= most)
    }

    /// Takes one answer.
    pub(super) fn take(&mut self, session: &mut Session) -> Result<(), Error> {
        let Session { wire, buffer, .. } = session;
        let expected = if self.waiting.len() > 1 {
            Expected::Many
        } else {
            Expected::One
        };
        let (from, reply, _) = wire.next(buffer, expected)?;
        let Some(at) = self.waiting.iter().position(|part| part.id == from) else {
            return Err(wire.violated(Violation::UnknownId(from.0)));
        };
        let part = self.waiting.remove(at);
        let kept = match reply {
            Reply::Refused(refusal) => return Err(refusal.into()),
            Reply::Uploaded(uploaded) => Some(Kept::Uploaded(uploaded)),
            Reply::Composed(composed) => Some(Kept::Composed(composed)),
            Reply::Welcome(_)
            | Reply::Whoami(_)
            | Reply::Stat(_)
            | Reply::ReadPart(_)
            | Reply::Entries(_)
            | Reply::Matches(_)
            | Reply::Done(_)
            | Reply::Why(_)
            | Reply::Pong(_)
            | Reply::Closing(_)
            | Reply::Planned(_)
            | Reply::Changed(_)
            | Reply::Conflicted(_)
            | Reply::Delegated(_)
            | Reply::Noted(_)
            | Reply::Progress(_) => None,
        };
        if part.is_some_and(|part| kept == Some(part.end)) {
            Ok(())
        } else {
            Err(wire.violated(Violation::WrongKind))
        }
    }
}
