//! What may be done, where, how and with which input: grants, and asks, which are the same but need
//! an approval for each use.

use crate::bounded::Few;
use crate::limits::INPUTS_MAX;
use crate::path::RelPath;
use crate::verb::{Mode, ModeSet, Verb, VerbSet};
use crate::view::{Digest, RootIndex};
use serde::{Deserialize, Serialize};

/// Verbs on a subtree of a root. The prefix is resolved from the root each time it is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Index into the authority's roots.
    pub root: RootIndex,
    /// The subtree; the empty path is the whole root.
    pub prefix: RelPath,
    /// What may be done there.
    pub verbs: VerbSet,
    /// Which modes of those verbs.
    pub modes: ModeSet,
    /// Which operations, by their input.
    pub inputs: Inputs,
}

/// Which inputs of an operation are meant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Inputs {
    /// Every one.
    Any,
    /// Only these whole operations, each the blake3 that
    /// [`input_digest`](crate::session::input_digest) gives.
    Only(Few<Digest, INPUTS_MAX>),
}

/// One operation on one path, as far as grants tell operations apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// What is done.
    pub verb: Verb,
    /// Which mode of it, where it has modes and the mode is known.
    pub mode: Option<Mode>,
    /// The digest of the whole operation, where it was worked out.
    pub input: Option<Digest>,
}

impl Operation {
    /// A verb, in whatever mode.
    pub const fn of(verb: Verb) -> Self {
        Self {
            verb,
            mode: None,
            input: None,
        }
    }
}

/// How far an authority allows an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Not at all.
    Nothing,
    /// With an approval for each use.
    Ask,
    /// As it is.
    Granted,
}

impl Inputs {
    /// Whether an operation of this input is meant. One whose input is not known is only where
    /// every input is.
    pub fn has(&self, input: Option<Digest>) -> bool {
        match self {
            Self::Any => true,
            Self::Only(inputs) => input.is_some_and(|input| inputs.as_slice().contains(&input)),
        }
    }

    /// What both mean; none for nothing.
    pub(super) fn meet(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Any, one) | (one, Self::Any) => Some(one.clone()),
            (Self::Only(mine), Self::Only(theirs)) => {
                let both = mine.as_slice().iter().copied();
                let both = both.filter(|input| theirs.as_slice().contains(input));
                Self::only(both.collect())
            }
        }
    }

    /// Sorted and each once, so that equal ones are equal bytes; none for no input.
    pub(super) fn only(mut inputs: Vec<Digest>) -> Option<Self> {
        inputs.sort_unstable();
        inputs.dedup();
        let some = !inputs.is_empty();
        // As many as it had at most.
        Few::new(inputs).ok().filter(|_| some).map(Self::Only)
    }

    fn within(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Any) => true,
            (Self::Any, Self::Only(_)) => false,
            (Self::Only(mine), Self::Only(theirs)) => {
                let theirs = theirs.as_slice();
                mine.as_slice().iter().all(|input| theirs.contains(input))
            }
        }
    }
}

impl Grant {
    /// Every mode and input of these verbs.
    pub const fn whole(root: RootIndex, prefix: RelPath, verbs: VerbSet) -> Self {
        Self {
            root,
            prefix,
            verbs,
            modes: ModeSet::ALL,
            inputs: Inputs::Any,
        }
    }

    /// Whether it covers an operation on a path.
    pub fn covers(&self, root: RootIndex, path: &RelPath, operation: Operation) -> bool {
        self.root == root
            && self.verbs.has(operation.verb)
            && operation.mode.is_none_or(|mode| self.modes.has(mode))
            && self.inputs.has(operation.input)
            && path.below(&self.prefix).is_some()
    }

    /// The same without verbs of which it has no mode and modes of which it has no verb; none when
    /// nothing is left.
    fn normal(self) -> Option<Self> {
        let verbs = self.verbs.with_modes(self.modes);
        let inputs = match self.inputs {
            Inputs::Any => Inputs::Any,
            Inputs::Only(inputs) => Inputs::only(inputs.into_vec())?,
        };
        (!verbs.is_empty()).then(|| Self {
            modes: self.modes.of_verbs(verbs),
            verbs,
            inputs,
            ..self
        })
    }

    fn covers_all_of(&self, small: &Self) -> bool {
        self.root == small.root
            && small.verbs.within(self.verbs)
            && small.modes.within(self.modes)
            && small.inputs.within(&self.inputs)
            && small.prefix.below(&self.prefix).is_some()
    }
}

/// What two grants on one root both allow.
pub(super) fn meet(root: RootIndex, a: &Grant, b: &Grant) -> Option<Grant> {
    let prefix = if a.prefix.below(&b.prefix).is_some() {
        &a.prefix
    } else if b.prefix.below(&a.prefix).is_some() {
        &b.prefix
    } else {
        return None;
    };
    Grant {
        root,
        prefix: prefix.clone(),
        verbs: a.verbs.meet(b.verbs),
        modes: a.modes.meet(b.modes),
        inputs: a.inputs.meet(&b.inputs)?,
    }
    .normal()
}

/// The grants that no other grant covers, sorted.
pub(super) fn maximal(grants: Vec<Grant>) -> Vec<Grant> {
    let mut kept: Vec<Grant> = Vec::with_capacity(grants.len());
    for grant in grants.into_iter().filter_map(Grant::normal) {
        if kept.iter().any(|k| k.covers_all_of(&grant)) {
            continue;
        }
        kept.retain(|k| !grant.covers_all_of(k));
        kept.push(grant);
    }
    kept.sort_by(|a, b| key(a).cmp(&key(b)));
    kept
}

/// The asks that add something to these grants and to each other, sorted.
pub(super) fn asked(asks: Vec<Grant>, grants: &[Grant]) -> Vec<Grant> {
    let mut asks = maximal(asks);
    asks.retain(|ask| !grants.iter().any(|grant| grant.covers_all_of(ask)));
    asks
}

fn key(grant: &Grant) -> (RootIndex, &RelPath, u32, u32, &Inputs) {
    let (verbs, modes) = (grant.verbs.into(), grant.modes.into());
    (grant.root, &grant.prefix, verbs, modes, &grant.inputs)
}
