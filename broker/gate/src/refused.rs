//! Why a set is not planned, with what the object in the way has become.

use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Region;

/// Nothing happened, and why.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) refusal: Refusal,
    /// What there is to see of the object, where the session may read it.
    pub(crate) shown: Option<Box<Shown>>,
}

/// A part of a file as it is now.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) region: Region,
    /// Whole lines, at most [`REGION_BYTES_MAX`](portcullis_protocol::limits::REGION_BYTES_MAX)
    /// bytes.
    pub(crate) bytes: Vec<u8>,
}

impl Refused {
    pub(crate) const fn code(&self) -> Code {
        self.refusal.code
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self {
            refusal,
            shown: None,
        }
    }
}
