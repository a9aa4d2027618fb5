//! What front ends for people and models say of answers, so that all of them say the same: names,
//! what was done, where edits matched, what a walk passed over.

mod matched;
mod notes;
mod show;
mod touched;

pub use matched::told as matched;
pub use notes::{notes, passed_over, ticked};
pub use show::{Line, Utc, bound, name, put_escaped, put_name};
pub use touched::{done, states};

use portcullis_protocol::approval::ProposalId;

/// How a person decides about what waits for an approval. What the asker does then is its own to
/// say.
pub fn to_decide(ProposalId(number): ProposalId) -> String {
    format!(
        "a person sees what exactly would be done with `portcullis review show {number}` and \
         decides with `portcullis review approve {number}` or `refuse {number}`"
    )
}
