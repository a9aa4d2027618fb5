//! What a session may do: immutable, and only ever made smaller.
//!
//! There is one combinator, [`Authority::intersect`]. Nothing adds a root, a grant or a verb, or
//! takes a denial away, once an authority is sealed.

use crate::bounded::{Bytes, Text};
use crate::limits::{
    AUTHORITY_BYTES_MAX, DENIALS_MAX, GRANTS_MAX, PATTERN_BYTES_MAX, REASON_BYTES_MAX, ROOTS_MAX,
};
use crate::path::{Label, RelPath};
use crate::refusal::Rule;
use crate::verb::{Verb, VerbSet};
use crate::view::{RootIndex, Timestamp};
use serde::{Deserialize, Serialize};

/// What a root is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Scope {
    /// The user's project.
    Workspace,
    /// A private place for temporary work.
    Scratch,
    /// Something outside the project, usually only read.
    External,
    /// Belongs to the authority's owner alone.
    Private,
}

impl Scope {
    /// Its name, as commands spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Scratch => "scratch",
            Self::External => "external",
            Self::Private => "private",
        }
    }
}

/// A sealed root, unique in one incarnation of a broker; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RootId(pub u64);

/// What the kernel said of a root's directory when it was sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RootIdentity {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Birth, where the file system keeps it.
    pub born: Option<Timestamp>,
    /// Mount, unique while the system runs.
    pub mount: u64,
}

/// File systems whose names and types are known to behave as the broker relies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FileSystem {
    /// ext2, ext3 or ext4, without case folding.
    Ext,
    /// XFS.
    Xfs,
    /// btrfs: a subvolume below the root is a crossing.
    Btrfs,
    /// tmpfs.
    Tmpfs,
    /// overlayfs.
    Overlay,
    /// F2FS, without case folding.
    F2fs,
}

/// A sealed root inside an authority.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Which sealed root.
    pub id: RootId,
    /// Its name inside the session.
    pub label: Label,
    /// What it is for.
    pub scope: Scope,
    /// Where it was when sealed: the components of its absolute path. Denials are judged on it
    /// together with the path below; it is never opened.
    pub location: RelPath,
    /// What was sealed.
    pub identity: RootIdentity,
    /// The file system it is on.
    pub file_system: FileSystem,
}

/// Verbs on a subtree of a root. The prefix is resolved from the root each time it is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Index into the authority's roots.
    pub root: RootIndex,
    /// The subtree; the empty path is the whole root.
    pub prefix: RelPath,
    /// What may be done there.
    pub verbs: VerbSet,
}

/// How a denial shows itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Effect {
    /// The object is listed, and refused with the rule's name.
    Deny,
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
    /// The roots; the first is the default.
    pub roots: Vec<Root>,
    /// The grants.
    pub grants: Vec<Grant>,
    /// The denials.
    pub denials: Vec<Denial>,
    /// When it ends, in milliseconds since 1970.
    pub expires_ms: Option<u64>,
}

/// Why parts are no authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthorityError {
    /// More roots than [`ROOTS_MAX`].
    #[error("more than {ROOTS_MAX} roots")]
    TooManyRoots,
    /// More grants than [`GRANTS_MAX`], after those that others cover were dropped.
    #[error("more than {GRANTS_MAX} grants")]
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
    /// A grant names a root that is not there.
    #[error("a grant names a root that is not there")]
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
        if parts
            .grants
            .iter()
            .any(|g| usize::from(g.root.0) >= parts.roots.len())
        {
            return Err(AuthorityError::DanglingGrant);
        }
        parts.grants = maximal(parts.grants);
        if parts.grants.len() > GRANTS_MAX {
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

    /// The grant that allows `verb` on `path`, if one does. Denials are judged apart.
    pub fn grant(&self, root: RootIndex, path: &RelPath, verb: Verb) -> Option<&Grant> {
        self.parts
            .grants
            .iter()
            .find(|g| g.root == root && g.verbs.has(verb) && path.below(&g.prefix).is_some())
    }

    /// What both allow, under the names of `self`: roots meet by identity, grants by subtree and
    /// verb, denials join, the earlier expiry holds. Another owner leaves nothing.
    ///
    /// Guaranteed by `tests` of this module: never more than either, idempotent, and in either
    /// order the same but for names.
    pub fn intersect(&self, other: &Self) -> Result<Self, AuthorityError> {
        let (mine, theirs) = (&self.parts, &other.parts);
        let mut parts = Parts {
            request: mine.request.clone(),
            owner: mine.owner.clone(),
            roots: Vec::new(),
            grants: Vec::new(),
            denials: mine
                .denials
                .iter()
                .chain(&theirs.denials)
                .cloned()
                .collect(),
            expires_ms: match (mine.expires_ms, theirs.expires_ms) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (one, None) | (None, one) => one,
            },
        };
        if mine.owner == theirs.owner {
            for (m, root) in mine.roots.iter().enumerate() {
                let same = |o: &Root| o.id == root.id && o.identity == root.identity;
                let Some(t) = theirs.roots.iter().position(same) else {
                    continue;
                };
                let index = RootIndex(u16::try_from(parts.roots.len()).unwrap_or(u16::MAX));
                parts.roots.push(root.clone());
                let of = |grants: &[Grant], n: usize| -> Vec<Grant> {
                    grants
                        .iter()
                        .filter(|g| usize::from(g.root.0) == n)
                        .cloned()
                        .collect()
                };
                for a in of(&mine.grants, m) {
                    for b in of(&theirs.grants, t) {
                        parts.grants.extend(meet(index, &a, &b));
                    }
                }
            }
        }
        parts.grants = maximal(parts.grants);
        Self::seal(parts)
    }
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

/// What two grants on one root both allow.
fn meet(root: RootIndex, a: &Grant, b: &Grant) -> Option<Grant> {
    let verbs = a.verbs.meet(b.verbs);
    let prefix = if a.prefix.below(&b.prefix).is_some() {
        &a.prefix
    } else if b.prefix.below(&a.prefix).is_some() {
        &b.prefix
    } else {
        return None;
    };
    (!verbs.is_empty()).then(|| Grant {
        root,
        prefix: prefix.clone(),
        verbs,
    })
}

/// The grants that no other grant covers, sorted.
fn maximal(grants: Vec<Grant>) -> Vec<Grant> {
    let mut kept: Vec<Grant> = Vec::with_capacity(grants.len());
    let covers = |big: &Grant, small: &Grant| {
        big.root == small.root
            && small.verbs.within(big.verbs)
            && small.prefix.below(&big.prefix).is_some()
    };
    for grant in grants {
        if grant.verbs.is_empty() || kept.iter().any(|k| covers(k, &grant)) {
            continue;
        }
        kept.retain(|k| !covers(&grant, k));
        kept.push(grant);
    }
    kept.sort_by(|a, b| {
        (a.root, &a.prefix, u32::from(a.verbs)).cmp(&(b.root, &b.prefix, u32::from(b.verbs)))
    });
    kept
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
