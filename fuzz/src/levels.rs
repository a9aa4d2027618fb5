//! How far authorities allow what, looked at where it may change.

use portcullis_protocol::authority::{Authority, Grant, Inputs, Level, Operation, Root};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::verb::{Mode, Verb};
use portcullis_protocol::view::{Digest, RootIndex};
use std::collections::BTreeSet;

/// Grants and asks of which every operation is tried.
const GRANTS_MAX: usize = 24;
/// Inputs that are told apart.
const INPUTS_MAX: usize = 2;

/// What makes a root of another authority the same.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// It is the same sealed root.
    SameRoot,
    /// It has the same name, as one that is held anew.
    SameLabel,
}

impl Place {
    /// The same root in another authority.
    pub fn of(self, root: &Root, other: &Authority) -> Option<RootIndex> {
        let same = |o: &Root| match self {
            Self::SameRoot => o.id == root.id && o.identity == root.identity,
            Self::SameLabel => o.label == root.label,
        };
        let n = other.parts().roots.iter().position(same)?;
        u16::try_from(n).ok().map(RootIndex)
    }
}

/// One operation on one path.
pub type At = (RelPath, Operation);

/// How far it is allowed on a root, which may not be there.
pub fn at(authority: &Authority, root: &Root, (path, operation): &At) -> Level {
    let there = Place::SameRoot.of(root, authority);
    there.map_or(Level::Nothing, |there| {
        authority.level(there, path, *operation)
    })
}

/// The operations that a grant covers: in each mode, and with each input it names, or one that
/// nothing names and one that is not known.
pub fn of(grant: &Grant) -> Vec<Operation> {
    let inputs = match &grant.inputs {
        Inputs::Any => vec![None, Some(Digest([9; 32]))],
        Inputs::Only(inputs) => inputs.as_slice().iter().copied().map(Some).collect(),
    };
    let known = known().filter(|(verb, mode)| {
        grant.verbs.has(*verb) && mode.is_none_or(|mode| grant.modes.has(mode))
    });
    all(known, &inputs)
}

/// Every operation, at every prefix of these authorities and below each; none where that is too
/// many.
pub fn places(authorities: &[&Authority]) -> Option<Vec<At>> {
    let each = authorities.iter().map(|authority| authority.parts());
    let grants: Vec<&Grant> = each
        .flat_map(|parts| parts.grants.iter().chain(&parts.asks))
        .collect();
    if grants.len() > GRANTS_MAX {
        return None;
    }
    let named = |grant: &&Grant| match &grant.inputs {
        Inputs::Any => Vec::new(),
        Inputs::Only(inputs) => inputs.as_slice().to_vec(),
    };
    let inputs: BTreeSet<Digest> = grants.iter().flat_map(named).collect();
    let inputs = inputs.into_iter().take(INPUTS_MAX).map(Some);
    let inputs: Vec<Option<Digest>> = std::iter::once(None).chain(inputs).collect();
    let mut paths: BTreeSet<RelPath> = grants.iter().map(|grant| grant.prefix.clone()).collect();
    let deeper: Vec<_> = paths
        .iter()
        .filter_map(|path| path.join(b"x").ok())
        .collect();
    paths.extend(deeper);
    let operations = all(known(), &inputs);
    let on = |path: RelPath| operations.iter().map(move |one| (path.clone(), *one));
    Some(paths.into_iter().flat_map(on).collect())
}

/// Every verb in each of its modes. One whose mode is not known is left out: it is a question
/// about any of its modes.
fn known() -> impl Iterator<Item = (Verb, Option<Mode>)> {
    let plain = Verb::ALL.into_iter().filter(|verb| {
        let mut modes = Mode::ALL.into_iter();
        modes.all(|mode| mode.verb() != *verb)
    });
    let plain = plain.map(|verb| (verb, None));
    plain.chain(Mode::ALL.into_iter().map(|mode| (mode.verb(), Some(mode))))
}

fn all(
    known: impl Iterator<Item = (Verb, Option<Mode>)>,
    inputs: &[Option<Digest>],
) -> Vec<Operation> {
    let with = |(verb, mode)| {
        let inputs = inputs.iter();
        inputs.map(move |input| Operation {
            verb,
            mode,
            input: *input,
        })
    };
    known.flat_map(with).collect()
}
