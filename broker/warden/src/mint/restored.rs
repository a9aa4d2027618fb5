//! An authority that was kept for a task, made one of this connection again: never more than it was.

use super::standing::within_standing;
use super::{Composed, MintError, Roots, below_denied, find};
use crate::own::Own;
use crate::root::SealedRoot;
use portcullis_protocol::authority::{
    Authority, Budgets, Denial, DenialTarget, Parts, Root, RootIdentity,
};
use portcullis_protocol::bounded::{Few, Text};
use portcullis_protocol::control::RootOrder;
use portcullis_protocol::limits::REASON_BYTES_MAX;
use portcullis_protocol::path::Label;
use portcullis_protocol::refusal::{Code, Refusal};
use std::sync::Arc;

/// How a kept authority is to be restored.
pub(crate) struct Restoring<'a> {
    /// The conversation it goes on in; none is the same.
    pub(crate) rebind: Option<&'a Text<REASON_BYTES_MAX>>,
    /// The roots that are passed.
    pub(crate) roots: &'a [RootOrder],
    pub(crate) within: Option<&'a Authority>,
    pub(crate) budgets: Budgets,
}

/// A sealed root of this connection, by the label under which it is passed.
type Passed = (Label, Arc<SealedRoot>);

/// Restores an authority. The refusal is for the runtime: it may name host things.
pub(crate) fn restore(
    kept: &Authority,
    how: &Restoring<'_>,
    sealed: &Roots,
    own: &Own,
) -> Result<Composed, Refusal> {
    let refused = |error: MintError| error.refusal();
    let passed = passed(how.roots, &kept.parts().owner, sealed)?;
    for root in &kept.parts().roots {
        if let Some((_, now)) = passed.iter().find(|(label, _)| *label == root.label) {
            check_is_the_same(root, now.root())?;
        }
    }
    let authority = based(kept, how, &passed, own).map_err(refused)?;
    let authority = match how.within {
        None => authority,
        Some(parent) => {
            within_standing(&authority, parent, sealed).map_err(|error| refused(error.into()))?
        }
    };
    Composed::of(authority, sealed, Few::default()).map_err(refused)
}

fn passed(
    orders: &[RootOrder],
    owner: &Text<REASON_BYTES_MAX>,
    sealed: &Roots,
) -> Result<Vec<Passed>, Refusal> {
    let mut passed: Vec<Passed> = Vec::new();
    for order in orders {
        let root = find(sealed, order.root).map_err(|error| error.refusal())?;
        if root.is_gone() {
            return Err(MintError::RootGone(order.root.0).refusal());
        }
        if !root.is_for(owner) {
            return Err(MintError::Private(order.root.0).refusal());
        }
        let label = order.label.as_ref().unwrap_or(&root.root().label);
        if passed.iter().any(|(known, _)| known == label) {
            let note = format!("two roots are passed as `{label}`");
            return Err(Refusal::new(Code::NotRestored).noting(&note));
        }
        passed.push((label.clone(), Arc::clone(root)));
    }
    Ok(passed)
}

/// A root that is passed by the label of one that was kept is that one. It is where it was, too:
/// denials by name were made for that place, and at another one they would mean other files.
fn check_is_the_same(was: &Root, now: &Root) -> Result<(), Refusal> {
    let note = match was.durable.difference(&now.durable) {
        Some(field) => format!(
            "root `{}` is not the directory that was sealed: its {} differs",
            was.label,
            field.name()
        ),
        None if was.location != now.location => format!(
            "root `{}` is not where it was sealed, and denials are by place; mint an authority for \
             where it is now",
            was.label
        ),
        None => return Ok(()),
    };
    Err(Refusal::new(Code::NotRestored).noting(&note))
}

/// The kept authority on the roots that are passed, with every denial it had, and those that hold
/// here.
fn based(
    kept: &Authority,
    how: &Restoring<'_>,
    passed: &[Passed],
    own: &Own,
) -> Result<Authority, MintError> {
    let held = |root: &Root| {
        let same = |(label, _): &&Passed| *label == root.label;
        passed.iter().find(same).map(|(_, now)| now.root().clone())
    };
    let mut authority = kept.rebase(held)?;
    if let Some(conversation) = how.rebind {
        authority = authority.rebind(conversation.clone())?;
    }
    let mut parts = Parts::from(authority);
    parts.denials.extend(on_other_devices(kept, &parts.roots));
    let ordered: Vec<(Root, Arc<SealedRoot>)> = parts
        .roots
        .iter()
        .filter_map(|root| {
            let now = passed.iter().find(|(_, now)| now.root().id == root.id)?;
            Some((root.clone(), Arc::clone(&now.1)))
        })
        .collect();
    let further = below_denied(&parts.denials, &ordered)?;
    parts.denials.extend(further);
    let directories: Vec<_> = ordered.into_iter().map(|(_, root)| root).collect();
    parts.denials.extend(own.denials(&directories));
    parts.budgets = how.budgets;
    if let Some(parent) = how.within {
        parts.parent = Some(parent.id());
    }
    Ok(Authority::seal(parts)?)
}

/// Denials of objects, with the numbers that the devices of the roots have now: those change when
/// the system starts anew. What is on no root's device is out of reach.
fn on_other_devices(kept: &Authority, now: &[Root]) -> Vec<Denial> {
    let mut further = Vec::new();
    for was in &kept.parts().roots {
        let RootIdentity { device: old, .. } = was.identity;
        let Some(now) = now.iter().find(|root| root.label == was.label) else {
            continue;
        };
        let RootIdentity { device: new, .. } = now.identity;
        if old == new {
            continue;
        }
        for denial in &kept.parts().denials {
            if let DenialTarget::Object { device, inode } = denial.target
                && device == old
            {
                let target = DenialTarget::Object { device: new, inode };
                further.push(Denial {
                    target,
                    ..denial.clone()
                });
            }
        }
    }
    further
}

#[cfg(test)]
mod tests;
