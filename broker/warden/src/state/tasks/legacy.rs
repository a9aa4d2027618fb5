//! The encoding of authorities before they had conversations, asks, budgets and roots that last.
//! What restricts is kept; roots, and with them grants, are lost: nothing in it shows that a
//! directory is the same.

use portcullis_protocol::authority::{
    Budgets, Denial, DenialTarget, Effect, FileSystem, Parts, RootId, RootIdentity, Scope,
};
use portcullis_protocol::bounded::Text;
use portcullis_protocol::limits::REASON_BYTES_MAX;
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::Rule;
use portcullis_protocol::verb::VerbSet;
use portcullis_protocol::view::RootIndex;
use serde::{Deserialize, Serialize};

pub(super) const VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
pub(super) struct OldParts {
    pub(super) request: Text<REASON_BYTES_MAX>,
    pub(super) owner: Text<REASON_BYTES_MAX>,
    pub(super) roots: Vec<OldRoot>,
    pub(super) grants: Vec<OldGrant>,
    pub(super) denials: Vec<OldDenial>,
    pub(super) expires_ms: Option<u64>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct OldRoot {
    pub(super) id: RootId,
    pub(super) label: Label,
    pub(super) scope: Scope,
    pub(super) location: RelPath,
    pub(super) identity: RootIdentity,
    pub(super) file_system: FileSystem,
}

#[derive(Serialize, Deserialize)]
pub(super) struct OldGrant {
    pub(super) root: RootIndex,
    pub(super) prefix: RelPath,
    pub(super) verbs: VerbSet,
}

#[derive(Serialize, Deserialize)]
pub(super) struct OldDenial {
    pub(super) rule: Rule,
    pub(super) verbs: VerbSet,
    pub(super) target: DenialTarget,
    pub(super) effect: OldEffect,
}

/// Without asking; the numbers of what follows it are others.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) enum OldEffect {
    Deny,
    Hide,
}

/// The id of what was kept, and what is left of it.
pub(super) fn read(encoded: &[u8], conversation: &str) -> Option<([u8; 32], Parts)> {
    let (old, rest) = postcard::take_from_bytes::<OldParts>(encoded).ok()?;
    if !rest.is_empty() {
        return None;
    }
    let denials = old.denials.into_iter().map(|denial| Denial {
        rule: denial.rule,
        verbs: denial.verbs,
        target: denial.target,
        effect: match denial.effect {
            OldEffect::Deny => Effect::Deny,
            OldEffect::Hide => Effect::Hide,
        },
    });
    let parts = Parts {
        request: old.request,
        owner: old.owner,
        conversation: Text::new(conversation).ok()?,
        parent: None,
        roots: Vec::new(),
        grants: Vec::new(),
        asks: Vec::new(),
        denials: denials.collect(),
        budgets: Budgets::UNLIMITED,
        expires_ms: old.expires_ms,
    };
    Some((*blake3::hash(encoded).as_bytes(), parts))
}
