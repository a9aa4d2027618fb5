//! What a session may do: immutable, and only ever made smaller.
//!
//! There is one combinator, [`Authority::intersect`]. Nothing adds a root, a grant or a verb, or
//! takes a denial away, once an authority is sealed. [`Authority::rebind`] gives it to another
//! conversation of the same owner, and [`Authority::rebase`] takes roots away or has them held
//! anew; neither allows anything more.

mod budgets;
mod grant;
mod root;

pub use budgets::{Budget, Budgets};
pub use grant::{Grant, Inputs, Level, Operation};
pub use root::{Durable, DurableField, FileSystem, Root, RootId, RootIdentity, Scope};

use crate::bounded::{Bytes, Text};
use crate::limits::{
    AUTHORITY_BYTES_MAX, DENIALS_MAX, GRANTS_MAX, PATTERN_BYTES_MAX, REASON_BYTES_MAX, ROOTS_MAX,
};
use crate::path::RelPath;
use crate::refusal::Rule;
use crate::verb::VerbSet;
use crate::view::RootIndex;
use grant::{asked, maximal, meet};
use serde::{Deserialize, Serialize};

/// How a denial shows itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Effect {
    /// The object is listed, and refused with the rule's name.
    Deny,
    /// The object is listed, and what is granted there needs an approval for each use.
    Ask,
    /// The object is absent: not found, not listed, not counted. Applies to every verb.
    Hide,
}

/// What a denial covers: an object and, for a directory, everything below it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DenialTarget {
    /// Names that match, under case folding and Unicode normalisation, whether they exist or not.
    Pattern {
        /// Where a pattern with a slash begins, as the components of an absolute path; none is
        /// anywhere. A pattern without a slash matches at any depth, below the anchor if any.
        anchor: Option<RelPath>,
        /// `*`, `?`, `**`, `{a,b}` and `[a-z]`.
        pattern: Bytes<PATTERN_BYTES_MAX>,
    },
    /// One object, under any name it has.
    Object {
        /// Device number.
        device: u64,
        /// Inode number.
        inode: u64,
    },
}

/// A denial always wins over every grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// Its name and reason.
    pub rule: Rule,
    /// The verbs it refuses; ignored by [`Effect::Hide`].
    pub verbs: VerbSet,
    /// What it covers.
    pub target: DenialTarget,
    /// How it shows itself.
    pub effect: Effect,
}

/// blake3 of an authority's encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AuthorityId(pub [u8; 32]);

/// What an authority is made of, before it is sealed. It proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// The runtime's own name for the request this serves.
    pub request: Text<REASON_BYTES_MAX>,
    /// The end user on whose behalf it acts.
    pub owner: Text<REASON_BYTES_MAX>,
    /// The runtime's own name for the conversation, thread or job it belongs to; what the owner
    /// started elsewhere is none of its business.
    pub conversation: Text<REASON_BYTES_MAX>,
    /// The authority it was made within.
    pub parent: Option<AuthorityId>,
    /// The roots; the first is the default.
    pub roots: Vec<Root>,
    /// The grants.
    pub grants: Vec<Grant>,
    /// What may be done with an approval for each use.
    pub asks: Vec<Grant>,
    /// The denials.
    pub denials: Vec<Denial>,
    /// How much may be done in all.
    pub budgets: Budgets,
    /// When it ends, in milliseconds since 1970.
    pub expires_ms: Option<u64>,
}

/// Why parts are no authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthorityError {
    /// More roots than [`ROOTS_MAX`].
    #[error("more than {ROOTS_MAX} roots")]
    TooManyRoots,
    /// More grants and asks than [`GRANTS_MAX`], after those that others cover were dropped.
    #[error("more than {GRANTS_MAX} grants and asks")]
    TooManyGrants,
    /// More denials than [`DENIALS_MAX`].
    #[error("more than {DENIALS_MAX} denials, built-in ones included")]
    TooManyDenials,
    /// Larger than [`AUTHORITY_BYTES_MAX`].
    #[error("larger than {AUTHORITY_BYTES_MAX} bytes")]
    TooLarge,
    /// Two roots have one label, or one root stands twice.
    #[error("two roots have one label, or one root stands twice")]
    DuplicateRoot,
    /// A grant or an ask names a root that is not there.
    #[error("a grant or an ask names a root that is not there")]
    DanglingGrant,
}

/// Holding an `Authority` means: every grant names one of its roots, labels are unique, all fits
/// its limits, and nothing about it will ever change.
///
/// ```compile_fail,E0451
/// // Authority cannot be made but by `seal`:
/// use portcullis_protocol::authority::Authority;
/// fn forge(parts: portcullis_protocol::authority::Parts) -> Authority {
///     Authority { parts, id: portcullis_protocol::authority::AuthorityId([0; 32]) }
/// }
/// ```
///
/// ```
/// use portcullis_protocol::authority::{Authority, AuthorityError, Parts};
/// fn seal(parts: Parts) -> Result<Authority, AuthorityError> {
///     Authority::seal(parts)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Authority {
    parts: Parts,
    id: AuthorityId,
}

impl Authority {
    /// Seals `parts`. Grants that another grant covers are dropped and the rest sorted, so that
    /// equal authorities are equal bytes.
    pub fn seal(parts: Parts) -> Result<Self, AuthorityError> {
        let mut parts = parts;
        if parts.roots.len() > ROOTS_MAX {
            return Err(AuthorityError::TooManyRoots);
        }
        for (n, root) in parts.roots.iter().enumerate() {
            if parts
                .roots
                .iter()
                .skip(n + 1)
                .any(|o| o.id == root.id || o.label == root.label)
            {
                return Err(AuthorityError::DuplicateRoot);
            }
        }
        let roots = parts.roots.len();
        let dangles = |grant: &Grant| usize::from(grant.root.0) >= roots;
        if parts.grants.iter().chain(&parts.asks).any(dangles) {
            return Err(AuthorityError::DanglingGrant);
        }
        parts.grants = maximal(parts.grants);
        parts.asks = asked(parts.asks, &parts.grants);
        if parts.grants.len() + parts.asks.len() > GRANTS_MAX {
            return Err(AuthorityError::TooManyGrants);
        }
        parts
            .denials
            .sort_by(|a, b| denial_key(a).cmp(&denial_key(b)));
        parts.denials.dedup();
        if parts.denials.len() > DENIALS_MAX {
            return Err(AuthorityError::TooManyDenials);
        }
        let encoded =
            postcard::to_extend(&parts, Vec::new()).map_err(|_| AuthorityError::TooLarge)?;
        if encoded.len() > AUTHORITY_BYTES_MAX {
            return Err(AuthorityError::TooLarge);
        }
        let id = AuthorityId(*blake3::hash(&encoded).as_bytes());
        Ok(Self { parts, id })
    }

    /// Its id.
    pub const fn id(&self) -> AuthorityId {
        self.id
    }

    /// What it is made of.
    pub const fn parts(&self) -> &Parts {
        &self.parts
    }

    /// The root of this index.
    pub fn root(&self, index: RootIndex) -> Option<&Root> {
        self.parts.roots.get(usize::from(index.0))
    }

    /// The grant that allows an operation on `path`, if one does. Denials are judged apart.
    pub fn grant(&self, root: RootIndex, path: &RelPath, operation: Operation) -> Option<&Grant> {
        let mut grants = self.parts.grants.iter();
        grants.find(|grant| grant.covers(root, path, operation))
    }

    /// How far an operation on `path` is allowed. Denials, which may lower it, are judged apart.
    pub fn level(&self, root: RootIndex, path: &RelPath, operation: Operation) -> Level {
        let covers = |grant: &Grant| grant.covers(root, path, operation);
        if self.parts.grants.iter().any(covers) {
            Level::Granted
        } else if self.parts.asks.iter().any(covers) {
            Level::Ask
        } else {
            Level::Nothing
        }
    }

    /// Whether some grant or ask is limited to exact inputs, so that the digest of an operation
    /// matters.
    pub fn tells_inputs_apart(&self) -> bool {
        let mut all = self.parts.grants.iter().chain(&self.parts.asks);
        all.any(|grant| grant.inputs != Inputs::Any)
    }

    /// What both allow, under the names of `self`: roots meet by identity, grants by subtree, verb,
    /// mode and input, asks likewise, denials join, budgets and expiry are the smaller ones. Another
    /// owner or conversation leaves nothing.
    ///
    /// Guaranteed by `tests` of this module: never more than either, idempotent, and in either
    /// order the same but for names.
    pub fn intersect(&self, other: &Self) -> Result<Self, AuthorityError> {
        let (mine, theirs) = (&self.parts, &other.parts);
        let mut parts = Parts {
            roots: Vec::new(),
            grants: Vec::new(),
            asks: Vec::new(),
            denials: mine
                .denials
                .iter()
                .chain(&theirs.denials)
                .cloned()
                .collect(),
            budgets: mine.budgets.meet(&theirs.budgets),
            expires_ms: match (mine.expires_ms, theirs.expires_ms) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (one, None) | (None, one) => one,
            },
            ..mine.clone()
        };
        if (&mine.owner, &mine.conversation) == (&theirs.owner, &theirs.conversation) {
            for (m, root) in mine.roots.iter().enumerate() {
                let same = |o: &Root| o.id == root.id && o.identity == root.identity;
                let Some(t) = theirs.roots.iter().position(same) else {
                    continue;
                };
                let index = RootIndex(u16::try_from(parts.roots.len()).unwrap_or(u16::MAX));
                parts.roots.push(root.clone());
                parts
                    .grants
                    .extend(met(index, (&mine.grants, m), (&theirs.grants, t)));
                // What one asks for is at most asked for.
                for (a, b) in [
                    (&mine.asks, &theirs.grants),
                    (&mine.grants, &theirs.asks),
                    (&mine.asks, &theirs.asks),
                ] {
                    parts.asks.extend(met(index, (a, m), (b, t)));
                }
            }
        }
        parts.grants = maximal(parts.grants);
        Self::seal(parts)
    }

    /// The same for another conversation of its owner: roots, grants and limits stay.
    pub fn rebind(&self, conversation: Text<REASON_BYTES_MAX>) -> Result<Self, AuthorityError> {
        Self::seal(Parts {
            conversation,
            ..self.parts.clone()
        })
    }

    /// The same with its roots as they are held now: for each the root of the same directory in
    /// `held`, or none, which takes it away with all that was granted there. The labels stay.
    pub fn rebase(&self, held: impl Fn(&Root) -> Option<Root>) -> Result<Self, AuthorityError> {
        let (mut roots, mut places) = (Vec::new(), Vec::new());
        for root in &self.parts.roots {
            let now = held(root).filter(|now| now.durable == root.durable);
            places.push(now.as_ref().and_then(|_| u16::try_from(roots.len()).ok()));
            roots.extend(now.map(|now| Root {
                label: root.label.clone(),
                scope: root.scope,
                ..now
            }));
        }
        let moved = |grants: &[Grant]| -> Vec<Grant> {
            let moved = |grant: &Grant| {
                let index = (*places.get(usize::from(grant.root.0))?)?;
                Some(Grant {
                    root: RootIndex(index),
                    ..grant.clone()
                })
            };
            grants.iter().filter_map(moved).collect()
        };
        Self::seal(Parts {
            grants: moved(&self.parts.grants),
            asks: moved(&self.parts.asks),
            roots,
            ..self.parts.clone()
        })
    }
}

/// What the grants of two roots, which are one, both allow.
fn met(
    index: RootIndex,
    (mine, m): (&[Grant], usize),
    (theirs, t): (&[Grant], usize),
) -> Vec<Grant> {
    let of = |grants: &'_ [Grant], n: usize| -> Vec<Grant> {
        let of_root = grants.iter().filter(|g| usize::from(g.root.0) == n);
        of_root.cloned().collect()
    };
    let theirs = of(theirs, t);
    let mut both = Vec::new();
    for a in of(mine, m) {
        both.extend(theirs.iter().filter_map(|b| meet(index, &a, b)));
    }
    both
}

/// All of a denial, in an order that puts equal ones side by side.
fn denial_key(denial: &Denial) -> (&DenialTarget, &Rule, Effect, u32) {
    (
        &denial.target,
        &denial.rule,
        denial.effect,
        denial.verbs.into(),
    )
}

impl TryFrom<Parts> for Authority {
    type Error = AuthorityError;
    fn try_from(parts: Parts) -> Result<Self, AuthorityError> {
        Self::seal(parts)
    }
}

impl From<Authority> for Parts {
    fn from(authority: Authority) -> Self {
        authority.parts
    }
}

#[cfg(test)]
mod tests;
