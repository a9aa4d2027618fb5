//! Change sets, uploads and what is composed, on a session.

use super::Changes;
use super::pack::{self, Needed, Way};
use super::pipe::{COMPOSE_OVERHEAD, Kept, Part, Pipe, overhead};
use crate::error::{Error, ErrorCode, Violation};
use crate::label::Excerpt;
use crate::session::Session;
use crate::wire::{OFFERED, match_reply};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::session::{
    Changed, Compose, Composed, Deed, DropUpload, Limits, Outcome, Planned, Reply, Request,
    Selector, Upload, UploadId, Uploaded, input_digest,
};
use portcullis_protocol::view::Digest;
use std::io::Read;

/// A change set that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Its receipt: every name it touched, and where its edits matched.
    pub changed: Changed,
    /// The difference, as a unified diff of what the session may read.
    pub diff: Vec<u8>,
}

/// What a change set would do. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Every name it would touch, and how much of the difference did not fit.
    pub planned: Planned,
    /// The difference, as a unified diff of what the session may read.
    pub diff: Vec<u8>,
}

impl Changes {
    /// The digest by which a grant or an ask of exactly these changes knows them
    /// ([`Only::of_inputs`](crate::Only::of_inputs)): that of the request that
    /// [`Session::change`] sends for them. The names must be written as the worker writes them.
    /// Changes that travel in more than one request have none.
    pub fn input(&self) -> Result<Digest, Error> {
        let packed = pack::pack(self, Deed::Commit, &OFFERED, &mut || UploadId(0))?;
        let digest = match packed.way {
            Way::OneFrame { set, content } => input_digest(&Request::Change(set), &content),
            Way::Composed { .. } => None,
        };
        let none = "changes that do not travel in one request cannot be named by their input";
        digest.ok_or_else(|| Error::invalid(none))
    }
}

impl Session {
    /// Makes the changes, all of them or none.
    ///
    /// What does not fit one request is composed in the gate's memory, and the content of large
    /// files uploaded before; an upload that was made here and is not used up is dropped again.
    /// What comes back says [`Outcome::Done`]. An error whose [`changed`](Error::changed) is
    /// `Unchanged` changed nothing, and may have the part of a file that decided
    /// ([`Error::region`]); one that is `Unknown` (the connection ended before the answer, or the
    /// effect is uncertain) leaves a doubt that the log of the broker settles.
    pub fn change(&mut self, changes: &Changes) -> Result<Made, Error> {
        let (sent, before) = self.send_set(changes, Deed::Commit)?;
        let answered = match self.wire.answer(&mut self.buffer, sent) {
            Ok((reply, content)) => {
                let behind = content.to_vec();
                let changed = match_reply!(self.wire, reply, Changed).map_err(unanswered);
                changed.map(|changed| (changed, behind))
            }
            Err(error) => Err(unanswered(error)),
        };
        let ended = answered.and_then(|(changed, behind)| judged(changed, behind));
        if ended.is_err() {
            self.forget(&before);
        }
        ended
    }

    /// Works out what the changes would do, and changes nothing.
    pub fn plan(&mut self, changes: &Changes) -> Result<Plan, Error> {
        let (sent, before) = self.send_set(changes, Deed::DryRun)?;
        let plan = match self.wire.answer(&mut self.buffer, sent) {
            Ok((reply, content)) => {
                let diff = content.to_vec();
                match_reply!(self.wire, reply, Planned).map(|planned| Plan { planned, diff })
            }
            Err(error) => Err(error),
        };
        self.forget(&before);
        plan
    }

    /// Uploads the content of a file that a later change set writes ([`super::Content::Upload`]),
    /// in parts, and says how many bytes it has. The gate keeps it where no name leads to it until
    /// it is used or dropped, or the session ends.
    pub fn upload(
        &mut self,
        selector: &Selector,
        content: &mut dyn Read,
    ) -> Result<(UploadId, u64), Error> {
        let upload = self.fresh_upload();
        let mut pipe = Pipe::new(self.limits()?);
        let sent = self.upload_parts(&mut pipe, upload, selector, content);
        match self.settle(pipe, sent) {
            Ok(bytes) => Ok((upload, bytes)),
            Err(error) => {
                self.drop_all(&[upload]);
                Err(error)
            }
        }
    }

    /// Forgets an upload.
    pub fn drop_upload(&mut self, upload: UploadId) -> Result<(), Error> {
        let id = self.ask(&Request::DropUpload(DropUpload { upload }), &[])?;
        let (reply, _) = self.wire.answer(&mut self.buffer, id)?;
        match_reply!(self.wire, reply, Uploaded).map(|_| ())
    }

    /// Uploads and composes what has to be, and sends the change set.
    fn send_set(&mut self, changes: &Changes, deed: Deed) -> Result<(RequestId, Before), Error> {
        let limits = self.limits()?;
        let packed = pack::pack(changes, deed, &limits, &mut || self.fresh_upload())?;
        let before = Before {
            uploads: packed.uploads.iter().map(|one| one.upload).collect(),
            composed: packed.way.is_composed(),
        };
        let sent = self
            .upload_all(&packed.uploads, limits)
            .and_then(|()| match packed.way {
                Way::OneFrame { set, content } => self.ask(&Request::Change(set), &content),
                Way::Composed { bytes, ask } => {
                    self.compose(&bytes, limits)?;
                    self.ask(&Request::ChangeComposed(ask), &[])
                }
            });
        match sent {
            Ok(id) => Ok((id, before)),
            Err(error) => {
                self.forget(&before);
                Err(error)
            }
        }
    }

    /// Composes these bytes, in parts: the first of them forgets what was there.
    fn compose(&mut self, bytes: &[u8], limits: Limits) -> Result<(), Error> {
        let mut pipe = Pipe::new(limits);
        let sent = self.compose_parts(&mut pipe, bytes);
        self.settle(pipe, sent)
    }

    fn compose_parts(&mut self, pipe: &mut Pipe, bytes: &[u8]) -> Result<(), Error> {
        let mut offset = 0;
        for part in bytes.chunks(pipe.part_bytes(COMPOSE_OVERHEAD)) {
            let on_wire = COMPOSE_OVERHEAD + part.len();
            while !pipe.has_room(on_wire) {
                pipe.take(self)?;
            }
            let id = self.ask(&Request::Compose(Compose { offset }), part)?;
            offset += u64::try_from(part.len()).unwrap_or(u64::MAX);
            pipe.waiting.push_back(Part {
                id,
                end: Kept::Composed(Composed { bytes: offset }),
                bytes: on_wire,
            });
        }
        Ok(())
    }

    fn upload_all(&mut self, needed: &[Needed<'_>], limits: Limits) -> Result<(), Error> {
        let mut pipe = Pipe::new(limits);
        let mut sent = Ok(0);
        for one in needed {
            sent = self.upload_parts(&mut pipe, one.upload, one.selector, &mut &*one.bytes);
            if sent.is_err() {
                break;
            }
        }
        self.settle(pipe, sent).map(|_| ())
    }

    /// Sends the parts of one upload, at least one, and takes answers where there is no room for
    /// the next. Gives the size.
    fn upload_parts(
        &mut self,
        pipe: &mut Pipe,
        upload: UploadId,
        selector: &Selector,
        content: &mut dyn Read,
    ) -> Result<u64, Error> {
        let size = pipe.part_bytes(overhead(selector));
        let mut part = vec![0; size];
        let mut offset = 0;
        loop {
            let length = fill(content, &mut part)?;
            let bytes = part.get(..length).unwrap_or_default();
            if length == 0 && offset > 0 {
                return Ok(offset);
            }
            let request = Request::Upload(Upload {
                upload,
                selector: selector.clone(),
                offset,
            });
            // A refused upload is refused at its first part; no other is sent for nothing.
            while !pipe.has_room(overhead(selector) + length)
                || pipe.waiting.iter().any(|part| part.starts(upload, size))
            {
                pipe.take(self)?;
            }
            let id = self.ask(&request, bytes)?;
            offset += u64::try_from(length).unwrap_or(u64::MAX);
            pipe.waiting.push_back(Part {
                id,
                end: Kept::Uploaded(Uploaded {
                    upload,
                    bytes: offset,
                }),
                bytes: overhead(selector) + length,
            });
            if length < size {
                return Ok(offset);
            }
        }
    }

    /// Takes the answers that are still to come; the first error counts.
    fn settle<T>(&mut self, mut pipe: Pipe, sent: Result<T, Error>) -> Result<T, Error> {
        let mut ended = sent;
        while !pipe.waiting.is_empty() && !self.wire.is_over() {
            if let Err(error) = pipe.take(self)
                && ended.is_ok()
            {
                ended = Err(error);
            }
        }
        ended
    }

    /// Gives back what was sent before a change set that did not use it up: an effect that was
    /// begun has used what was composed.
    fn forget(&mut self, before: &Before) {
        self.drop_all(&before.uploads);
        if before.composed && !self.wire.is_over() {
            // An empty first part. An error has ended the connection, and what was composed with it.
            let id = self.ask(&Request::Compose(Compose { offset: 0 }), &[]);
            if let Ok(id) = id {
                self.wire.answer(&mut self.buffer, id).ok();
            }
        }
    }

    /// Drops what is left of these uploads. One that is gone already is as wanted, and a
    /// connection that is over has dropped them all.
    fn drop_all(&mut self, uploads: &[UploadId]) {
        for upload in uploads {
            if self.wire.is_over() {
                return;
            }
            self.drop_upload(*upload).ok();
        }
    }

    /// The number of the next upload. Counted from 1 by every process that takes its turn on the
    /// socket: what one that was killed left behind is replaced, not added to.
    fn fresh_upload(&mut self) -> UploadId {
        self.last_upload = self.last_upload.wrapping_add(1);
        UploadId(self.last_upload)
    }
}

/// What was sent before a change set.
struct Before {
    uploads: Vec<UploadId>,
    /// Whether the set itself was composed.
    composed: bool,
}

/// What the loss of an answer means for a change. A refusal is an answer.
fn unanswered(error: Error) -> Error {
    match error.code() {
        ErrorCode::Refused(_) => error,
        ErrorCode::Closed(_)
        | ErrorCode::Protocol(_)
        | ErrorCode::Stalled
        | ErrorCode::Io(_)
        | ErrorCode::TooLarge(_)
        | ErrorCode::Invalid(_)
        | ErrorCode::CannotOpen(..)
        | ErrorCode::NoSession(_)
        | ErrorCode::Failed(_)
        | ErrorCode::Uncertain(_)
        | ErrorCode::Unanswered(_) => Error::new(ErrorCode::Unanswered(error)),
    }
}

/// What is not done is an error. `behind` is the difference of what is done, and what the object
/// has become of what failed for that.
fn judged(changed: Changed, behind: Vec<u8>) -> Result<Made, Error> {
    let region = changed.region;
    let error = match changed.outcome {
        Outcome::Done => {
            return Ok(Made {
                changed,
                diff: behind,
            });
        }
        Outcome::Failed => Error::new(ErrorCode::Failed(Box::new(changed))),
        Outcome::Uncertain => Error::new(ErrorCode::Uncertain(Box::new(changed))),
    };
    Err(match region {
        Some(region) => error.showing(Excerpt::new(region, &behind)),
        None => error,
    })
}

/// Reads until the buffer is full or the content ends.
fn fill(content: &mut dyn Read, buffer: &mut [u8]) -> Result<usize, Error> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..)
        && !rest.is_empty()
    {
        match content.read(rest) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(Error::invalid(format_args!(
                    "cannot read the content: {error}"
                )));
            }
        }
    }
    Ok(filled)
}
