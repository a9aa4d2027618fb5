//! The order in which the sections of a patch are made.
//!
//! Git reads the sources of all renames before it makes anything, so that a patch may give a name
//! away after it was taken. Changes follow each other: what leaves a name goes before what comes
//! to it.

use crate::change::Item;
use std::collections::{HashMap, HashSet};

/// The changes of one section.
#[derive(Debug, Default)]
pub(super) struct Unit {
    /// The name under which something is that was not before.
    pub(super) comes: Option<Vec<u8>>,
    /// The name that a rename gives away.
    pub(super) leaves: Option<Vec<u8>>,
    pub(super) items: Vec<Item>,
}

/// The changes of all sections, each as early as it was, except that a rename away from a name goes
/// before what comes to that name. Renames in a circle stay as they were: each of them needs
/// another to go first, and which names they swap is the change set's to say.
pub(super) fn arranged(units: Vec<Unit>) -> Vec<Vec<Item>> {
    let mut leaving: HashMap<Vec<u8>, usize> = HashMap::new();
    for (at, unit) in units.iter().enumerate() {
        if let Some(name) = &unit.leaves {
            leaving.entry(name.clone()).or_insert(at);
        }
    }
    let after: Vec<Option<usize>> = units
        .iter()
        .map(|unit| {
            unit.comes
                .as_ref()
                .and_then(|name| leaving.get(name).copied())
        })
        .collect();
    let mut units: Vec<Option<Unit>> = units.into_iter().map(Some).collect();
    let mut out = Vec::with_capacity(units.len());
    for start in 0..units.len() {
        // What has to go first, the last of it at the end; each is met once.
        let mut chain = vec![start];
        let mut met = HashSet::from([start]);
        let mut next = after.get(start).copied().flatten();
        while let Some(at) = next {
            if !met.insert(at) || !units.get(at).is_some_and(Option::is_some) {
                break;
            }
            chain.push(at);
            next = after.get(at).copied().flatten();
        }
        if next == Some(start) {
            chain.truncate(1);
        }
        for at in chain.into_iter().rev() {
            out.extend(
                units
                    .get_mut(at)
                    .and_then(Option::take)
                    .map(|unit| unit.items),
            );
        }
    }
    out
}
