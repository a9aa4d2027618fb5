//! The authority of a running session, as the warden keeps it.

use portcullis_protocol::authority::{Authority, AuthorityId};
use portcullis_protocol::refusal::{Code, Refusal};

/// The authority of a running session, encoded: a thousand of them are kept for the one order in
/// a while that must stay within one.
pub(crate) struct Kept {
    id: AuthorityId,
    encoded: Box<[u8]>,
}

impl Kept {
    pub(crate) fn of(authority: &Authority) -> Result<Self, Refusal> {
        let encoded = postcard::to_extend(authority, Vec::new())
            .map_err(|_| Refusal::new(Code::BadAuthority))?
            .into_boxed_slice();
        Ok(Self {
            id: authority.id(),
            encoded,
        })
    }

    pub(crate) const fn id(&self) -> AuthorityId {
        self.id
    }

    /// Its encoding.
    pub(crate) fn encoded(&self) -> &[u8] {
        &self.encoded
    }

    /// The same authority, sealed anew from its own bytes.
    pub(crate) fn open(&self) -> Result<Authority, Refusal> {
        postcard::from_bytes(&self.encoded).map_err(|_| Refusal::new(Code::BadAuthority))
    }
}
