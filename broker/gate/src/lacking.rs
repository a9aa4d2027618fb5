//! What is said of something that is not granted: what of it is missing, and which session above
//! this one left it out. From grants and names alone, so that nothing of the tree shows in it.

use crate::session::Session;
use portcullis_protocol::authority::{Grant, Inputs, Operation};
use portcullis_protocol::ledger::Ancestor;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::view::RootIndex;

/// Characters of a request's name that fit a note beside everything else.
const NAME_CHARS: usize = 80;

/// The refusal of an operation that nothing at `path` grants.
pub(crate) fn not_granted(
    session: &Session,
    operation: Operation,
    written: &[u8],
    place: (RootIndex, &RelPath),
) -> Refusal {
    let refusal = Refusal::new(Code::NotGranted)
        .of(operation.verb)
        .on(written);
    match note(session, operation, place) {
        Some(note) => refusal.noting(&note),
        None => refusal,
    }
}

fn note(session: &Session, operation: Operation, place: (RootIndex, &RelPath)) -> Option<String> {
    let verb = Operation::of(operation.verb);
    let near = || {
        session
            .allowed()
            .filter(|grant| is_near(grant, verb, place))
    };
    if let Some(mode) = operation.mode
        && near().next().is_some()
        && !near().any(|grant| grant.modes.has(mode))
    {
        return Some(format!("it would take `{}`", mode.name()));
    }
    if near().any(|grant| grant.inputs != Inputs::Any) {
        return Some(match operation.input {
            Some(_) => "it is granted there for exact operations only, and this is none of them",
            None => {
                "it is granted there for exact operations only, and content that was sent before, \
                 in parts, belongs to none"
            }
        }
        .to_owned());
    }
    removed_by(session, operation, place)
}

/// Whether a grant is of the verb at a place, whatever its modes and inputs.
fn is_near(grant: &Grant, operation: Operation, (root, path): (RootIndex, &RelPath)) -> bool {
    grant.root == root && grant.verbs.has(operation.verb) && path.below(&grant.prefix).is_some()
}

/// Which session above left it out: of those in a row that lack it, from this one on, the last, which
/// was made without it. None where the grants of one of them are not known whole.
fn removed_by(
    session: &Session,
    operation: Operation,
    (root, path): (RootIndex, &RelPath),
) -> Option<String> {
    let label = &session.authority.root(root)?.label;
    let has = |ancestor: &Ancestor| {
        ancestor.grants.as_slice().iter().any(|grant| {
            grant.root == *label
                && grant.verbs.has(operation.verb)
                && path.below(&grant.prefix).is_some()
        })
    };
    let mut without: Option<&Ancestor> = None;
    for ancestor in &session.lineage {
        if has(ancestor) {
            return Some(match without {
                Some(other) => lacks(other),
                None => format!("{} has it, and did not pass it on", named(ancestor)),
            });
        }
        if ancestor.cut > 0 {
            return None;
        }
        without = Some(ancestor);
    }
    without.map(lacks)
}

fn lacks(ancestor: &Ancestor) -> String {
    format!("{} has no grant for it", named(ancestor))
}

fn named(ancestor: &Ancestor) -> String {
    let request: String = ancestor.request.as_str().chars().take(NAME_CHARS).collect();
    format!("session {} `{request}`", ancestor.session.0)
}

#[cfg(test)]
mod tests;
