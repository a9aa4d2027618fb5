//! Roots that were replaced since they were sealed lead nowhere any more, for whatever is made of an
//! authority that has them.

use super::Roots;
use portcullis_protocol::authority::{Authority, AuthorityError, Root, RootId};
use std::collections::BTreeSet;

/// What both allow below roots that still are what they were when they were sealed. A root that was
/// replaced is dropped from both, whatever is at its place now; so is one that was unsealed.
pub(super) fn within_standing(
    child: &Authority,
    parent: &Authority,
    sealed: &Roots,
) -> Result<Authority, AuthorityError> {
    // One look, so that both lose the same.
    let roots = child.parts().roots.iter().chain(&parent.parts().roots);
    let standing: BTreeSet<RootId> = standing(roots, sealed);
    let hold = |authority: &Authority| hold(authority, sealed, &standing);
    hold(child)?.intersect(&hold(parent)?)
}

/// Those of these roots that are sealed here and still are what they were.
pub(super) fn standing<'a>(
    roots: impl Iterator<Item = &'a Root>,
    sealed: &Roots,
) -> BTreeSet<RootId> {
    let ids: BTreeSet<RootId> = roots.map(|root| root.id).collect();
    let stands = |id: &RootId| sealed.get(id).is_some_and(|root| root.stands());
    ids.into_iter().filter(stands).collect()
}

/// The same without the roots that do not stand.
pub(super) fn hold(
    authority: &Authority,
    sealed: &Roots,
    standing: &BTreeSet<RootId>,
) -> Result<Authority, AuthorityError> {
    authority.rebase(|root| {
        let held = sealed.get(&root.id).filter(|_| standing.contains(&root.id));
        held.map(|held| held.root().clone())
    })
}
