//! Sets of changes at random, made one after the other on a small tree, and what they come to made
//! by the compiled acts on the same tree: both must give the same, and no act may find its name
//! taken or a directory that is missing or full.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Names, each before what is below it.
const NAMES: [&str; 9] = ["a", "b", "c", "d", "d/x", "d/y", "e", "e/x", "e/x/z"];

/// Something with a name: which it is, and whether it is a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Thing {
    id: u32,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
}

type Tree = BTreeMap<&'static str, Thing>;

#[derive(Debug, Clone, Copy)]
enum Change {
    Write(usize),
    Mkdir(usize),
    Delete(usize),
    Move(usize, usize),
}

fn above(name: &str) -> Option<&'static str> {
    let (parent, _) = name.rsplit_once('/')?;
    NAMES.iter().copied().find(|other| *other == parent)
}

fn is_below(name: &str, top: &str) -> bool {
    name.strip_prefix(top)
        .is_some_and(|rest| rest.starts_with('/'))
}

fn has_room(tree: &Tree, name: &str) -> bool {
    above(name).is_none_or(|parent| {
        tree.get(parent)
            .is_some_and(|thing| thing.kind == Kind::Directory)
    })
}

fn is_empty(tree: &Tree, name: &str) -> bool {
    !tree.keys().any(|other| is_below(other, name))
}

/// Makes one change the plain way; nothing where it cannot be made.
fn change(tree: &mut Tree, next: &mut u32, change: Change) {
    match change {
        Change::Write(n) => {
            let name = NAMES[n];
            let is_directory = tree
                .get(name)
                .is_some_and(|old| old.kind == Kind::Directory);
            if has_room(tree, name) && !is_directory {
                *next += 1;
                let kind = Kind::File;
                tree.insert(name, Thing { id: *next, kind });
            }
        }
        Change::Mkdir(n) => {
            let name = NAMES[n];
            if has_room(tree, name) && !tree.contains_key(name) {
                *next += 1;
                let kind = Kind::Directory;
                tree.insert(name, Thing { id: *next, kind });
            }
        }
        Change::Delete(n) => {
            if is_empty(tree, NAMES[n]) {
                tree.remove(NAMES[n]);
            }
        }
        // Directories with something in them are moved by nobody who touches what is in them.
        Change::Move(from, to) => {
            let (from, to) = (NAMES[from], NAMES[to]);
            let is_file = |name| {
                tree.get(name)
                    .is_none_or(|old: &Thing| old.kind == Kind::File)
            };
            if let Some(thing) = tree.get(from).copied()
                && from != to
                && has_room(tree, to)
                && is_empty(tree, from)
                && !is_below(to, from)
                && (is_file(from) || !tree.contains_key(to))
                && is_file(to)
            {
                tree.remove(from);
                tree.insert(to, thing);
            }
        }
    }
}

/// What a set comes to, as the order is worked out from it, and the names of the nodes; none for
/// what no set may: a directory made in the place of another, a name below one that is moved.
fn nodes(before: &Tree, after: &Tree) -> Option<(Vec<Node>, Vec<&'static str>)> {
    let changed = |name: &&str| before.get(name) != after.get(name);
    let names: Vec<&'static str> = NAMES.iter().copied().filter(changed).collect();
    let number = |name: &str| names.iter().position(|other| *other == name);
    let home = |thing: &Thing| before.iter().find(|(_, old)| old.id == thing.id);
    // Nothing of a set is below a directory that it moves.
    for (from, _) in before.iter().filter(|(_, old)| old.kind == Kind::Directory) {
        let to = after.iter().find(|(_, new)| new.id == before[from].id);
        let tops = [Some(from), to.map(|(to, _)| to)];
        let meets = |top: &str| names.iter().any(|name| is_below(name, top));
        if to.is_some_and(|(to, _)| to != from) && tops.iter().flatten().any(|top| meets(top)) {
            return None;
        }
    }
    let mut nodes = Vec::new();
    for name in &names {
        let was = match before.get(name).map(|old| old.kind) {
            None => Was::Nothing,
            Some(Kind::Directory) => Was::Directory,
            Some(Kind::File) => Was::Other,
        };
        let gets = match after.get(name) {
            None => Gets::Nothing,
            Some(thing) => match (home(thing), thing.kind) {
                (Some((home, _)), _) => Gets::Object(number(home).unwrap()),
                (None, Kind::Directory) => Gets::Directory,
                (None, Kind::File) => Gets::New,
            },
        };
        if was == Was::Directory && gets == Gets::Directory {
            return None;
        }
        let mut up = above(name);
        while let Some(parent) = up.filter(|parent| number(parent).is_none()) {
            up = above(parent);
        }
        nodes.push(Node {
            was,
            gets,
            bits: Bits::Stay,
            above: up.and_then(number),
        });
    }
    Some((nodes, names))
}

/// Makes the acts on a tree, each only where a file system would.
fn run(ops: &[Op], nodes: &[Node], names: &[&'static str], tree: &mut Tree, after: &Tree) {
    let before = tree.clone();
    let mut claimed: BTreeSet<u32> = BTreeSet::new();
    let object = |n: usize| before[names[n]].id;
    for op in ops {
        match op {
            Op::Chmod(_) => {}
            Op::Make(at) => {
                assert!(has_room(tree, names[*at]), "{op:?} {ops:?}");
                let taken = tree.insert(names[*at], after[names[*at]]);
                assert_eq!(taken, None, "{op:?} {ops:?}");
            }
            Op::Replace { at, gone } => {
                assert!(has_room(tree, names[*at]));
                assert!(is_empty(tree, names[*at]), "{op:?} {ops:?}");
                let out = tree.insert(names[*at], after[names[*at]]).unwrap();
                assert_eq!(out.id, object(*gone));
                assert!(claimed.insert(out.id));
            }
            Op::Claim { at, gone } => {
                assert!(is_empty(tree, names[*at]), "{op:?} {ops:?}");
                let out = tree.remove(names[*at]).unwrap();
                assert_eq!(out.id, object(*gone));
                assert!(claimed.insert(out.id));
            }
            Op::Rename { from, to } => {
                assert!(has_room(tree, names[*to]));
                let moved = tree.remove(names[*from]).unwrap();
                assert_eq!(moved.id, object(*from));
                assert_eq!(tree.insert(names[*to], moved), None, "{op:?} {ops:?}");
            }
            Op::Swap { at, one, other } => {
                let (a, b) = (tree[names[*at]], tree[names[*other]]);
                assert_eq!((a.id, b.id), (object(*one), object(*other)));
                // A kernel exchanges no name with one below it.
                assert!(
                    !is_below(names[*other], names[*at]) && !is_below(names[*at], names[*other])
                );
                tree.insert(names[*at], b);
                tree.insert(names[*other], a);
            }
        }
    }
    let stays = |n: &usize| after.values().any(|thing| thing.id == object(*n));
    let lost = |n: &usize| nodes[*n].was != Was::Nothing && !stays(n);
    let gone: BTreeSet<u32> = (0..names.len()).filter(lost).map(object).collect();
    assert_eq!(
        claimed, gone,
        "what is removed is what has no name any more"
    );
}

fn any_change() -> impl Strategy<Value = Change> {
    let name = || 0..NAMES.len();
    prop_oneof![
        2 => name().prop_map(Change::Write),
        1 => name().prop_map(Change::Mkdir),
        2 => name().prop_map(Change::Delete),
        4 => (name(), name()).prop_map(|(from, to)| Change::Move(from, to)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn the_acts_come_to_what_the_changes_come_to(
        start in proptest::collection::vec(any_change(), 0..12),
        set in proptest::collection::vec(any_change(), 1..10),
    ) {
        let (mut before, mut next) = (Tree::new(), 0);
        start.into_iter().for_each(|one| change(&mut before, &mut next, one));
        let mut after = before.clone();
        set.into_iter().for_each(|one| change(&mut after, &mut next, one));
        if let Some((nodes, names)) = nodes(&before, &after) {
            match order(&nodes) {
                Ok(ops) => {
                    let mut tree = before.clone();
                    run(&ops, &nodes, &names, &mut tree, &after);
                    prop_assert_eq!(tree, after, "{:?}", ops);
                }
                Err(Entangled(n)) => prop_assert!(is_entangled(&before, &after, names[n])),
            }
        }
    }
}

/// Whether there is a reason to refuse: what goes into a new directory, or out of one that goes,
/// is what has to give way to it.
fn is_entangled(before: &Tree, after: &Tree, _name: &str) -> bool {
    let moved = |thing: &Thing| {
        let from = before.iter().find(|(_, old)| old.id == thing.id)?.0;
        let to = after.iter().find(|(_, new)| new.id == thing.id)?.0;
        (from != to).then_some((*from, *to))
    };
    let moves: Vec<_> = before.values().filter_map(moved).collect();
    let directories = |tree: &Tree, other: &Tree| -> Vec<&'static str> {
        let only = |(name, thing): (&&'static str, &Thing)| {
            let is_other = other.get(name).is_none_or(|there| there.id != thing.id);
            (thing.kind == Kind::Directory && is_other).then_some(*name)
        };
        tree.iter().filter_map(only).collect()
    };
    let mut tops = directories(before, after);
    tops.extend(directories(after, before));
    moves.iter().any(|(from, to)| {
        tops.iter()
            .any(|top| is_below(from, top) || is_below(to, top))
    })
}

/// What a list of nodes comes to.
fn ordered(nodes: &[(Was, Gets)]) -> Vec<Op> {
    let node = |(was, gets): &(Was, Gets)| Node {
        was: *was,
        gets: *gets,
        bits: Bits::Stay,
        above: None,
    };
    order(&nodes.iter().map(node).collect::<Vec<_>>()).unwrap()
}

#[test]
fn what_changes_places_is_exchanged_and_never_missing() {
    let file = |gets| (Was::Other, gets);
    let swap = [file(Gets::Object(1)), file(Gets::Object(0))];
    let once = |other, one| Op::Swap { at: 0, one, other };
    assert_eq!(ordered(&swap), [once(1, 0)]);
    // The object of each goes to the next, of the last to the first.
    let turn = [
        file(Gets::Object(2)),
        file(Gets::Object(0)),
        file(Gets::Object(1)),
    ];
    assert_eq!(ordered(&turn), [once(1, 0), once(2, 1)]);
    // One of two that are swapped is edited as well.
    let edited = [file(Gets::New), file(Gets::Object(0))];
    assert_eq!(
        ordered(&edited),
        [once(1, 0), Op::Replace { at: 0, gone: 1 }]
    );
}

#[test]
fn what_only_goes_comes_last() {
    let ops = ordered(&[(Was::Other, Gets::Nothing), (Was::Nothing, Gets::New)]);
    assert_eq!(ops, [Op::Make(1), Op::Claim { at: 0, gone: 0 }]);
}
