//! The order in which the sections of a patch are made.
//!
//! Git reads the sources of all renames before it makes anything, so that a patch may give a name
//! away after it was taken. Changes follow each other: what leaves a name goes before what comes
//! to it.

use crate::change::Item;
use portcullis_protocol::bounded::Bytes;
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

/// What a name that nothing ever has ends in.
const BY: &[u8] = b".swapped";

impl Unit {
    /// Makes it come from a name of its own, and gives the move to that name. Nothing where the
    /// name would be too long, or it is no move.
    fn go_by(&mut self) -> Option<Item> {
        let Some(Item::Move(moved)) = self.items.first_mut() else {
            return None;
        };
        let path = [moved.destination.path.as_slice(), BY].concat();
        let mut away = moved.clone();
        away.destination.path = Bytes::new(path).ok()?;
        moved.source = away.destination.clone();
        Some(Item::Move(away))
    }
}

/// The changes of all sections, each as early as it was, except that a rename away from a name goes
/// before what comes to that name. Of renames in a circle one goes by a name that is given and taken
/// again: of a change set only what all of it leaves is made, so that nothing ever has that name.
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
        if next == Some(start) && chain.len() > 1 {
            let first = units.get_mut(start).and_then(Option::as_mut);
            out.extend(first.and_then(Unit::go_by).map(|away| vec![away]));
        }
        for at in chain.into_iter().rev() {
            let unit = units.get_mut(at).and_then(Option::take);
            out.extend(unit.map(|unit| unit.items));
        }
    }
    out
}
