//! From an order to mint to an authority, and what a gate needs beside it.

mod delegated;
mod restored;
mod standing;

pub(crate) use delegated::{delegate, narrow_to_conversation};
pub(crate) use restored::{Restoring, restore};

use crate::builtin::{self, BuiltinError};
use crate::overlap::{self, Inside, Layout, OverlapError};
use crate::own::Own;
use crate::root::SealedRoot;
use portcullis_protocol::authority::{
    Authority, AuthorityError, Budgets, Denial, DenialTarget, Grant, Parts, Root, RootId,
    RootIdentity,
};
use portcullis_protocol::bounded::{Few, TooMany};
use portcullis_protocol::control::{self, DenialOrder, DenialOrderTarget, GrantOrder, Merged};
use portcullis_protocol::ledger::RunAs;
use portcullis_protocol::limits::ROOTS_MAX;
use portcullis_protocol::path::{NameError, RelPath};
use portcullis_protocol::refusal::{Code, Refusal, Rule};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_protocol::view::RootIndex;
use rustix::io::Errno;
use standing::within_standing;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// The sealed roots of one control connection.
pub(crate) type Roots = BTreeMap<RootId, Arc<SealedRoot>>;

/// An order, made whole: an authority, its roots in its order, and what became of nested ones.
#[derive(Debug)]
pub(crate) struct Composed {
    pub(crate) authority: Authority,
    pub(crate) roots: Vec<Arc<SealedRoot>>,
    pub(crate) merged: Few<Merged, ROOTS_MAX>,
}

/// Why an order makes no authority. For the runtime: may name host things.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MintError {
    #[error("root {0} is not sealed on this connection")]
    UnknownRoot(u64),
    #[error("root {0} was deleted")]
    RootGone(u64),
    #[error("root {0} is private: it is for one owner, and the order names another or none")]
    Private(u64),
    #[error("a grant names root {0}, which is not among the order's roots")]
    GrantOutside(u64),
    #[error("the prefix of a grant on root {root}: {error}")]
    Prefix { root: u64, error: NameError },
    #[error("denial `{0}`: a rule needs a name that does not begin with `builtin:`")]
    ReservedName(String),
    #[error("denial `{name}` names descriptor {index}, {came} came with the order")]
    MissingDescriptor {
        name: String,
        index: u16,
        came: usize,
    },
    #[error("{came} descriptors came, {used} of them named by denials")]
    UnusedDescriptors { came: usize, used: usize },
    #[error("the object of a denial: {0}")]
    Object(Errno),
    #[error("a root's directory: {0}")]
    Root(Errno),
    #[error(transparent)]
    Builtin(#[from] BuiltinError),
    #[error(transparent)]
    Overlap(#[from] OverlapError),
    #[error(transparent)]
    Merged(#[from] TooMany),
    #[error(transparent)]
    Authority(#[from] AuthorityError),
}

impl MintError {
    /// The refusal a runtime gets.
    pub(crate) fn refusal(&self) -> Refusal {
        let code = match self {
            Self::UnknownRoot(_) => Code::UnknownRoot,
            Self::RootGone(_) => Code::RootGone,
            Self::Private(_)
            | Self::GrantOutside(_)
            | Self::Prefix { .. }
            | Self::ReservedName(_)
            | Self::MissingDescriptor { .. }
            | Self::UnusedDescriptors { .. }
            | Self::Object(_)
            | Self::Root(_)
            | Self::Builtin(_)
            | Self::Overlap(_)
            | Self::Merged(_)
            | Self::Authority(_) => Code::BadAuthority,
        };
        Refusal::new(code).noting(&self.to_string())
    }
}

/// What an authority is made in.
pub(crate) struct Around<'a> {
    /// What it must stay within.
    pub(crate) within: Option<&'a Authority>,
    /// The broker's own records.
    pub(crate) own: &'a Own,
    /// What it is given of what its order wishes for.
    pub(crate) budgets: Budgets,
}

/// Makes an authority of an order.
///
/// A root that lies in another root of the order disappears: its grants become grants on a
/// subtree of the outer root, whose label and scope hold, and selectors start at the outer root,
/// also when the inner one was the default.
pub(crate) fn compose(
    order: &control::Mint,
    sealed: &Roots,
    objects: &[OwnedFd],
    around: &Around<'_>,
) -> Result<Composed, MintError> {
    let Around {
        within,
        own,
        budgets,
    } = *around;
    let ordered = ordered(order, sealed)?;
    let borrowed: Vec<&SealedRoot> = ordered.iter().map(|(_, root)| root.as_ref()).collect();
    let layout = overlap::layout(&borrowed)?;
    let roots: Vec<Root> = layout
        .kept
        .iter()
        .filter_map(|n| ordered.get(*n).map(|(root, _)| root.clone()))
        .collect();
    let merged = Few::new(merged(&ordered, &layout))?;
    let grants_of = |wanted: &[GrantOrder]| grants(wanted, &ordered, &layout);
    let grants = grants_of(order.grants.as_slice())?;
    let asks = grants_of(order.asks.as_slice())?;
    let exceptions = order.exceptions.as_slice().iter().map(|e| e.as_str());
    let mut denials = builtin::denials(exceptions, granted(&grants, &asks))?;
    denials.extend(ordered_denials(order, sealed, objects)?);
    denials.extend(below_denied(&denials, &ordered)?);
    let directories: Vec<_> = ordered.iter().map(|(_, root)| Arc::clone(root)).collect();
    denials.extend(own.denials(&directories));
    let mut authority = Authority::seal(Parts {
        request: order.request.clone(),
        owner: order.owner.clone(),
        conversation: order.conversation.clone(),
        parent: within.map(Authority::id),
        roots,
        grants,
        asks,
        denials,
        budgets,
        expires_ms: order.expires_ms,
    })?;
    if let Some(parent) = within {
        authority = within_standing(&authority, parent, sealed)?;
    }
    Composed::of(authority, sealed, merged)
}

impl Composed {
    /// An intersection may have fewer roots; descriptors follow what is left.
    fn of(
        authority: Authority,
        sealed: &Roots,
        merged: Few<Merged, ROOTS_MAX>,
    ) -> Result<Self, MintError> {
        let roots = authority.parts().roots.iter();
        let roots = roots.map(|root| find(sealed, root.id).cloned());
        Ok(Self {
            roots: roots.collect::<Result<_, _>>()?,
            authority,
            merged,
        })
    }
}

/// A root as this session knows it, and the directory.
type Ordered = (Root, Arc<SealedRoot>);

fn find(sealed: &Roots, id: RootId) -> Result<&Arc<SealedRoot>, MintError> {
    sealed.get(&id).ok_or(MintError::UnknownRoot(id.0))
}

fn ordered(order: &control::Mint, sealed: &Roots) -> Result<Vec<Ordered>, MintError> {
    let mut ordered = Vec::new();
    for wanted in order.roots.as_slice() {
        let directory = find(sealed, wanted.root)?;
        let stat = rustix::fs::fstat(directory.directory()).map_err(MintError::Root)?;
        if stat.st_nlink == 0 {
            return Err(MintError::RootGone(wanted.root.0));
        }
        if !directory.is_for(&order.owner) {
            return Err(MintError::Private(wanted.root.0));
        }
        let mut root = directory.root().clone();
        if let Some(label) = &wanted.label {
            root.label = label.clone();
        }
        ordered.push((root, Arc::clone(directory)));
    }
    Ok(ordered)
}

fn merged(ordered: &[Ordered], layout: &Layout) -> Vec<Merged> {
    let mut all = Vec::new();
    for ((inner, _), inside) in ordered.iter().zip(&layout.inside) {
        let Some(Inside { outer, prefix }) = inside else {
            continue;
        };
        if let Some((outer, _)) = ordered.get(*outer) {
            all.push(Merged {
                inner: inner.id,
                outer: outer.id,
                prefix: prefix.clone(),
            });
        }
    }
    all
}

/// The order's grants or asks, on the roots that stay.
fn grants(
    orders: &[GrantOrder],
    ordered: &[Ordered],
    layout: &Layout,
) -> Result<Vec<Grant>, MintError> {
    let mut grants = Vec::new();
    for wanted in orders {
        let id = wanted.root.0;
        let outside = || MintError::GrantOutside(id);
        let place = ordered.iter().position(|(root, _)| root.id.0 == id);
        let place = place.ok_or_else(outside)?;
        let (stays, prefix) = match layout.inside.get(place).ok_or_else(outside)? {
            None => (place, wanted.prefix.clone()),
            Some(Inside { outer, prefix }) => (
                *outer,
                joined(prefix, &wanted.prefix)
                    .map_err(|error| MintError::Prefix { root: id, error })?,
            ),
        };
        let index = layout.kept.iter().position(|kept| *kept == stays);
        let index = index
            .and_then(|n| u16::try_from(n).ok())
            .ok_or_else(outside)?;
        grants.push(Grant {
            root: RootIndex(index),
            prefix,
            verbs: wanted.verbs,
            modes: wanted.modes,
            inputs: wanted.inputs.clone(),
        });
    }
    Ok(grants)
}

/// The verbs of all grants and asks.
fn granted(grants: &[Grant], asks: &[Grant]) -> VerbSet {
    let any = |verb: &Verb| {
        let mut all = grants.iter().chain(asks);
        all.any(|grant| grant.verbs.has(*verb))
    };
    let verbs: Vec<Verb> = Verb::ALL.into_iter().filter(any).collect();
    VerbSet::of(&verbs)
}

fn joined(outer: &RelPath, inner: &RelPath) -> Result<RelPath, NameError> {
    let mut path = outer.clone();
    inner.names().try_for_each(|name| path.push(name))?;
    Ok(path)
}

/// The runtime's own denials.
fn ordered_denials(
    order: &control::Mint,
    sealed: &Roots,
    objects: &[OwnedFd],
) -> Result<Vec<Denial>, MintError> {
    let mut used = vec![false; objects.len()];
    let mut denials = Vec::new();
    for wanted in order.denials.as_slice() {
        let name = wanted.name.as_str();
        if name.trim().is_empty() || name.trim_start().starts_with(builtin::PREFIX) {
            return Err(MintError::ReservedName(name.to_owned()));
        }
        denials.push(Denial {
            rule: Rule {
                name: wanted.name.clone(),
                reason: wanted.reason.clone(),
            },
            verbs: wanted.verbs,
            target: target(wanted, sealed, objects, &mut used)?,
            effect: wanted.effect,
        });
    }
    let used = used.iter().filter(|used| **used).count();
    if used != objects.len() {
        return Err(MintError::UnusedDescriptors {
            came: objects.len(),
            used,
        });
    }
    Ok(denials)
}

/// A root that lies below a denied directory is denied itself: a gate never sees what is above.
fn below_denied(denials: &[Denial], ordered: &[Ordered]) -> Result<Vec<Denial>, MintError> {
    let mut further = Vec::new();
    for denial in denials {
        let DenialTarget::Object { device, inode } = denial.target else {
            continue;
        };
        for (root, directory) in ordered {
            if overlap::lies_below(directory, (device, inode))? {
                let RootIdentity { device, inode, .. } = root.identity;
                let target = DenialTarget::Object { device, inode };
                further.push(Denial {
                    target,
                    ..denial.clone()
                });
            }
        }
    }
    Ok(further)
}

fn target(
    wanted: &DenialOrder,
    sealed: &Roots,
    objects: &[OwnedFd],
    used: &mut [bool],
) -> Result<DenialTarget, MintError> {
    match &wanted.target {
        DenialOrderTarget::Pattern { root, pattern } => {
            let root = root.map(|id| find(sealed, id)).transpose()?;
            Ok(DenialTarget::Pattern {
                // Without a slash it holds everywhere: wider, never narrower, than it was meant.
                anchor: root
                    .filter(|_| has_inner_slash(pattern.as_slice()))
                    .map(|root| root.root().location.clone()),
                pattern: pattern.clone(),
            })
        }
        DenialOrderTarget::Object { descriptor } => {
            let n = usize::from(*descriptor);
            let (Some(object), Some(used)) = (objects.get(n), used.get_mut(n)) else {
                return Err(MintError::MissingDescriptor {
                    name: wanted.name.as_str().to_owned(),
                    index: *descriptor,
                    came: objects.len(),
                });
            };
            *used = true;
            let stat = rustix::fs::fstat(object).map_err(MintError::Object)?;
            Ok(DenialTarget::Object {
                device: stat.st_dev,
                inode: stat.st_ino,
            })
        }
    }
}

/// A slash that is not the last byte ties a pattern to where it begins, a leading one too.
fn has_inner_slash(pattern: &[u8]) -> bool {
    let inner = pattern.strip_suffix(b"/").unwrap_or(pattern);
    inner.contains(&b'/')
}

/// Who a gate becomes. A broker with root's rights starts it as the owner of its first root's
/// directory, or as nobody when it has none; any other broker as itself.
pub(crate) fn run_as(roots: &[Arc<SealedRoot>]) -> Result<Option<RunAs>, MintError> {
    /// The kernel's own overflow user and group, which own nothing.
    const NOBODY: RunAs = RunAs {
        user: 65534,
        group: 65534,
    };
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let Some(first) = roots.first() else {
        return Ok(Some(NOBODY));
    };
    let stat = rustix::fs::fstat(first.directory()).map_err(MintError::Root)?;
    Ok(Some(RunAs {
        user: stat.st_uid,
        group: stat.st_gid,
    }))
}

#[cfg(test)]
mod tests;
