//! Sessions made of one that runs: narrower ones that its worker wishes for, and one that goes on in
//! another conversation.

use super::standing::{hold, standing, within_standing};
use super::{Composed, MintError, Roots, has_inner_slash};
use crate::builtin;
use portcullis_protocol::authority::{
    Authority, AuthorityError, Budgets, Denial, DenialTarget, Grant, Inputs, Parts,
};
use portcullis_protocol::bounded::{Few, Text};
use portcullis_protocol::limits::REASON_BYTES_MAX;
use portcullis_protocol::refusal::{Code, Refusal, Rule};
use portcullis_protocol::session::{Delegate, Wish, WishedDenial};

/// What a worker wishes for, as far as its own session has it. The refusal is for the worker.
pub(crate) fn delegate(
    wished: &Delegate,
    parent: &Authority,
    sealed: &Roots,
    budgets: Budgets,
) -> Result<Composed, Refusal> {
    let bad = |note: &str| Refusal::new(Code::BadAuthority).noting(note);
    let wishes = |wishes: &[Wish]| -> Result<Vec<Grant>, Refusal> {
        let each = wishes.iter().map(|wish| {
            parent
                .root(wish.root)
                .ok_or_else(|| bad("a wish names a root that this session does not have"))?;
            Ok(Grant {
                root: wish.root,
                prefix: wish.prefix.clone(),
                verbs: wish.verbs,
                modes: wish.modes,
                // Which inputs are meant is the business of what it is cut down to.
                inputs: Inputs::Any,
            })
        });
        each.collect()
    };
    let denials = wished.denials.as_slice().iter();
    let parts = Parts {
        request: wished.request.clone(),
        parent: Some(parent.id()),
        grants: wishes(wished.grants.as_slice())?,
        asks: wishes(wished.asks.as_slice())?,
        denials: denials
            .map(|denial| denied(denial, parent))
            .collect::<Result<_, _>>()?,
        budgets,
        expires_ms: wished.expires_ms,
        ..parent.parts().clone()
    };
    let told = |error: AuthorityError| bad(&error.to_string());
    let wanted = Authority::seal(parts).map_err(told)?;
    let authority = within_standing(&wanted, parent, sealed).map_err(told)?;
    // Its words may name host things.
    Composed::of(authority, sealed, Few::default())
        .map_err(|_| bad("its roots are not there any more"))
}

fn denied(wished: &WishedDenial, parent: &Authority) -> Result<Denial, Refusal> {
    let bad = |note: &str| Refusal::new(Code::BadAuthority).noting(note);
    let name = wished.name.as_str();
    if name.trim().is_empty() || name.trim_start().starts_with(builtin::PREFIX) {
        return Err(bad(
            "a rule needs a name that does not begin with `builtin:`",
        ));
    }
    let anchor = match wished.root {
        None => None,
        Some(index) => {
            let root = parent.root(index);
            let root =
                root.ok_or_else(|| bad("a denial names a root that this session does not have"))?;
            // Without a slash it holds everywhere: wider, never narrower, than it was meant.
            has_inner_slash(wished.pattern.as_slice()).then(|| root.location.clone())
        }
    };
    Ok(Denial {
        rule: Rule {
            name: wished.name.clone(),
            reason: wished.reason.clone(),
        },
        verbs: wished.verbs,
        target: DenialTarget::Pattern {
            anchor,
            pattern: wished.pattern.clone(),
        },
        effect: wished.effect,
    })
}

/// The same for another conversation, below the roots that still are what they were.
pub(crate) fn narrow_to_conversation(
    authority: &Authority,
    conversation: &Text<REASON_BYTES_MAX>,
    sealed: &Roots,
    budgets: Budgets,
) -> Result<Composed, MintError> {
    let standing = standing(authority.parts().roots.iter(), sealed);
    let held = hold(authority, sealed, &standing)?.rebind(conversation.clone())?;
    let authority = Authority::seal(Parts {
        budgets: budgets.meet(&authority.parts().budgets),
        ..Parts::from(held)
    })?;
    Composed::of(authority, sealed, Few::default())
}

#[cfg(test)]
mod tests;
