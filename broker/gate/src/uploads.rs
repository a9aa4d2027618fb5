//! Content uploaded ahead of a change, each in a file without a name. What is not used goes with
//! the session.

use crate::errors::code_of;
use crate::resolve::Directory;
use crate::sys::change;
use portcullis_protocol::limits::{UPLOADS_MAX, WRITE_BYTES_MAX};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Change, ChangeSet, Source, UploadId};
use portcullis_protocol::view::{Digest, ObjectId};
use rustix::io::Errno;
use std::cell::Cell;
use std::collections::HashMap;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// The open uploads of one session.
#[derive(Debug, Default)]
pub(crate) struct Uploads(HashMap<UploadId, Upload>);

/// One upload.
#[derive(Debug)]
pub(crate) struct Upload {
    /// Where it was made, and where its file is to be.
    pub(crate) directory: ObjectId,
    file: Rc<OwnedFd>,
    bytes: u64,
    hasher: blake3::Hasher,
    /// Whether a plan gave the file more than content: what another file has, or a mode.
    dressed: Cell<bool>,
}

/// Whether a plan gives an upload's file more than its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dresses {
    No,
    Yes,
}

/// Why a part was not kept.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NotKept {
    /// More uploads or more bytes than a session may have.
    Budget,
    /// It does not go on where the upload ended, or there is none.
    Order,
    /// The kernel. The upload is gone.
    Kernel(Errno),
}

impl NotKept {
    /// What a worker is told.
    pub(crate) const fn code(self) -> Code {
        match self {
            Self::Budget => Code::OutOfBudget,
            Self::Order => Code::UnknownUpload,
            Self::Kernel(errno) => code_of(errno),
        }
    }
}

impl Upload {
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// The file, shared with a plan.
    pub(crate) fn share(&self) -> Rc<OwnedFd> {
        Rc::clone(&self.file)
    }

    /// Whether the file itself can be the new one: only until it was given what another file has,
    /// which a second plan would not take away. A plan may be a dry run, or made again.
    pub(crate) fn take(&self, dresses: Dresses) -> bool {
        match dresses {
            Dresses::No => !self.dressed.get(),
            Dresses::Yes => !self.dressed.replace(true),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest(*self.hasher.finalize().as_bytes())
    }
}

impl Uploads {
    pub(crate) fn get(&self, id: UploadId) -> Option<&Upload> {
        self.0.get(&id)
    }

    /// Starts an upload in `directory`; one of this id that is open is forgotten.
    pub(crate) fn start(&mut self, id: UploadId, directory: &Directory) -> Result<(), NotKept> {
        self.0.remove(&id);
        if self.0.len() >= UPLOADS_MAX {
            return Err(NotKept::Budget);
        }
        let file = change::temporary(directory.fd.as_fd(), 0o644).map_err(NotKept::Kernel)?;
        let upload = Upload {
            directory: directory.id,
            file: Rc::new(file),
            bytes: 0,
            hasher: blake3::Hasher::new(),
            dressed: Cell::new(false),
        };
        self.0.insert(id, upload);
        Ok(())
    }

    /// Adds a part that begins at `offset`; gives how much there is.
    pub(crate) fn add(&mut self, id: UploadId, offset: u64, part: &[u8]) -> Result<u64, NotKept> {
        let len = u64::try_from(part.len()).unwrap_or(u64::MAX);
        let all: u64 = self.0.values().map(|upload| upload.bytes).sum();
        if all.saturating_add(len) > WRITE_BYTES_MAX {
            return Err(NotKept::Budget);
        }
        let upload = self.0.get_mut(&id).ok_or(NotKept::Order)?;
        if upload.bytes != offset {
            return Err(NotKept::Order);
        }
        if let Err(errno) = change::write_at(upload.file(), part, offset) {
            self.0.remove(&id);
            return Err(NotKept::Kernel(errno));
        }
        upload.hasher.update(part);
        upload.bytes += len;
        Ok(upload.bytes)
    }

    /// Forgets an upload; one that is not there is as well forgotten.
    pub(crate) fn forget(&mut self, id: UploadId) {
        self.0.remove(&id);
    }
}

/// The uploads a change set takes its content from.
pub(crate) fn taken_by(set: &ChangeSet) -> impl Iterator<Item = UploadId> {
    set.changes
        .as_slice()
        .iter()
        .filter_map(|change| match change {
            Change::Write(write) => match write.source {
                Source::Upload(id) => Some(id),
                Source::Inline(_) => None,
            },
            Change::Edit(_)
            | Change::Mkdir(_)
            | Change::Move(_)
            | Change::Delete(_)
            | Change::Chmod(_)
            | Change::Link(_) => None,
        })
}
