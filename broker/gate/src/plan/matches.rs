//! Where the edits of a set matched, in the order of its changes, as many as one answer tells.

use portcullis_protocol::bounded::Few;
use portcullis_protocol::limits::MATCHED_MAX;
use portcullis_protocol::session::Matched;

/// Places of edits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Matches {
    told: Vec<Matched>,
    cut: u64,
}

impl Matches {
    /// Adds one; what is over [`MATCHED_MAX`] is counted.
    pub(super) fn add(&mut self, one: Matched) {
        if self.told.len() < MATCHED_MAX {
            self.told.push(one);
        } else {
            self.cut += 1;
        }
    }

    /// Those that are told, and how many are not.
    pub(crate) fn into_parts(self) -> (Few<Matched, MATCHED_MAX>, u64) {
        (Few::new(self.told).unwrap_or_default(), self.cut)
    }
}
