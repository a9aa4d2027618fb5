//! Trees of a few names before and after a set of changes, made from arbitrary bytes, and what
//! the acts of a gate do to such a tree.

use arbitrary::{Result, Unstructured};
use portcullis_gate::compile::{Bits, Gets, Node, Op, Was};
use std::collections::{BTreeMap, BTreeSet};

/// Names, each before what is below it.
const NAMES: [&str; 9] = ["a", "b", "c", "d", "d/x", "d/y", "e", "e/x", "e/x/z"];

/// What something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
}

/// Which thing has each name, and what the things are.
type Tree = BTreeMap<usize, usize>;

/// A tree before and after.
#[derive(Debug)]
pub struct Set {
    kinds: Vec<Kind>,
    before: Tree,
    after: Tree,
    /// Whose permission bits are set.
    bits: BTreeSet<usize>,
}

fn above(name: usize) -> Option<usize> {
    let (parent, _) = NAMES[name].rsplit_once('/')?;
    NAMES.iter().position(|other| *other == parent)
}

fn is_below(name: usize, top: usize) -> bool {
    NAMES[name]
        .strip_prefix(NAMES[top])
        .is_some_and(|rest| rest.starts_with('/'))
}

impl Set {
    /// A tree that a set may leave of another.
    pub fn arbitrary(u: &mut Unstructured<'_>) -> Result<Self> {
        let mut set = Self {
            kinds: Vec::new(),
            before: Tree::new(),
            after: Tree::new(),
            bits: BTreeSet::new(),
        };
        for name in 0..NAMES.len() {
            if set.has_room(&set.before, name) && u.ratio(2, 3)? {
                let kind = *u.choose(&[Kind::File, Kind::Directory])?;
                let thing = set.made(kind);
                set.before.insert(name, thing);
            }
        }
        for name in 0..NAMES.len() {
            if let Some(thing) = set.left_at(name, u)? {
                set.after.insert(name, thing);
            }
            if u.ratio(1, 4)? {
                set.bits.insert(name);
            }
        }
        Ok(set)
    }

    fn made(&mut self, kind: Kind) -> usize {
        self.kinds.push(kind);
        self.kinds.len() - 1
    }

    fn has_room(&self, tree: &Tree, name: usize) -> bool {
        above(name).is_none_or(|parent| {
            tree.get(&parent)
                .is_some_and(|thing| self.kinds[*thing] == Kind::Directory)
        })
    }

    /// What has a name afterwards.
    fn left_at(&mut self, name: usize, u: &mut Unstructured<'_>) -> Result<Option<usize>> {
        if !self.has_room(&self.after, name) || self.is_below_moved(name) {
            return Ok(None);
        }
        let old = self.before.get(&name).copied();
        Ok(match u.int_in_range(0..=7)? {
            0 => None,
            1 => Some(self.made(Kind::File)),
            2 if old.is_none_or(|old| self.kinds[old] == Kind::File) => {
                Some(self.made(Kind::Directory))
            }
            3..=5 => {
                // A file, or a directory with nothing in it, that has no other name afterwards.
                let from = u.choose_index(NAMES.len())?;
                let thing = self.before.get(&from).copied();
                thing.filter(|thing| {
                    let empty = !self.before.keys().any(|other| is_below(*other, from));
                    empty && !is_below(name, from) && !self.is_placed(*thing)
                })
            }
            _ => old.filter(|old| !self.is_placed(*old)),
        })
    }

    fn is_placed(&self, thing: usize) -> bool {
        self.after.values().any(|other| *other == thing)
    }

    /// Whether it is below a directory that the set moves: nothing else of the set may be.
    fn is_below_moved(&self, name: usize) -> bool {
        self.after.iter().any(|(to, thing)| {
            let from = self.before.iter().find(|(_, other)| *other == thing);
            let moved = from.is_some_and(|(from, _)| from != to);
            moved && is_below(name, *to)
        })
    }

    /// The names that change, and what becomes of each; none for what no set may.
    pub fn nodes(&self) -> Option<(Vec<Node>, Vec<usize>)> {
        let changes = |name: &usize| {
            let is = self.before.get(name);
            is != self.after.get(name) || (is.is_some() && self.bits.contains(name))
        };
        let names: Vec<usize> = (0..NAMES.len()).filter(changes).collect();
        let number = |name: usize| names.iter().position(|other| *other == name);
        let mut nodes = Vec::new();
        for name in &names {
            let kind = |thing: &usize| self.kinds[*thing];
            let was = match self.before.get(name).map(kind) {
                None => Was::Nothing,
                Some(Kind::Directory) => Was::Directory,
                Some(Kind::File) => Was::Other,
            };
            let home = |thing: &usize| {
                let mut all = self.before.iter();
                all.find(|(_, other)| *other == thing)
                    .map(|(name, _)| *name)
            };
            let gets = match self.after.get(name).map(|thing| (home(thing), kind(thing))) {
                None => Gets::Nothing,
                Some((Some(home), _)) => Gets::Object(number(home)?),
                Some((None, Kind::Directory)) => Gets::Directory,
                Some((None, Kind::File)) => Gets::New,
            };
            let bits = match (was, self.bits.contains(name)) {
                (Was::Nothing, _) | (_, false) => Bits::Stay,
                (Was::Directory | Was::Other, true) => Bits::Set,
            };
            let mut up = above(*name);
            while let Some(parent) = up.filter(|parent| number(*parent).is_none()) {
                up = above(parent);
            }
            nodes.push(Node {
                was,
                gets,
                bits,
                above: up.and_then(number),
            });
        }
        Some((nodes, names))
    }

    /// Does the acts, each only where a file system would, and compares what is left.
    pub fn check(&self, ops: &[Op], names: &[usize]) {
        let mut run = Run {
            set: self,
            names,
            tree: self.before.clone(),
            claimed: BTreeSet::new(),
            set_bits: BTreeSet::new(),
        };
        for op in ops {
            run.act(*op);
        }
        assert_eq!(run.tree, self.after, "{ops:?} of {self:?}");
        let is_lost = |thing: &&usize| !self.is_placed(**thing);
        let lost: BTreeSet<usize> = self.before.values().filter(is_lost).copied().collect();
        assert_eq!(run.claimed, lost, "what is removed has no name any more");
        let told: BTreeSet<usize> = self.bits.iter().copied().collect();
        let wanted = self.before.iter().filter(|(name, _)| told.contains(name));
        let wanted: BTreeSet<usize> = wanted.map(|(_, thing)| *thing).collect();
        assert_eq!(run.set_bits, wanted);
    }

    /// Whether there is a reason to refuse: something goes into a directory that is made, or out
    /// of one that goes.
    pub fn is_entangled(&self) -> bool {
        let only = |tree: &Tree, other: &Tree| -> Vec<usize> {
            let here = tree.iter().filter(|(name, thing)| {
                self.kinds[**thing] == Kind::Directory && other.get(name) != Some(thing)
            });
            here.map(|(name, _)| *name).collect()
        };
        let mut tops = only(&self.before, &self.after);
        tops.extend(only(&self.after, &self.before));
        self.before.iter().any(|(from, thing)| {
            let to = self.after.iter().find(|(_, other)| *other == thing);
            to.is_some_and(|(to, _)| {
                let through = |top: &usize| is_below(*from, *top) || is_below(*to, *top);
                from != to && tops.iter().any(through)
            })
        })
    }
}

/// A tree while acts are done.
struct Run<'s> {
    set: &'s Set,
    names: &'s [usize],
    tree: Tree,
    claimed: BTreeSet<usize>,
    set_bits: BTreeSet<usize>,
}

impl Run<'_> {
    fn object(&self, n: usize) -> usize {
        self.set.before[&self.names[n]]
    }

    fn has_room(&self, name: usize) {
        assert!(self.set.has_room(&self.tree, name), "{}", NAMES[name]);
    }

    fn is_empty(&self, name: usize) {
        let below = |other: &usize| is_below(*other, name);
        assert!(!self.tree.keys().any(below), "{}", NAMES[name]);
    }

    fn out(&mut self, at: usize, gone: usize) {
        self.is_empty(at);
        let out = self.tree.remove(&at).expect("something stands there");
        assert_eq!(out, self.object(gone));
        assert!(self.claimed.insert(out), "removed twice");
    }

    fn put(&mut self, at: usize, thing: usize) {
        self.has_room(at);
        assert_eq!(self.tree.insert(at, thing), None, "{}", NAMES[at]);
    }

    fn act(&mut self, op: Op) {
        match op {
            Op::Chmod(n) => assert!(self.set_bits.insert(self.object(n))),
            Op::Make(at) => self.put(self.names[at], self.set.after[&self.names[at]]),
            Op::Replace { at, gone } => {
                let name = self.names[at];
                self.out(name, gone);
                self.put(name, self.set.after[&name]);
            }
            Op::Claim { at, gone } => self.out(self.names[at], gone),
            Op::Rename { from, to } => {
                let moved = self.tree.remove(&self.names[from]).expect("it is there");
                assert_eq!(moved, self.object(from));
                self.put(self.names[to], moved);
            }
            Op::Swap { at, one, other } => {
                let (here, there) = (self.names[at], self.names[other]);
                assert!(!is_below(here, there) && !is_below(there, here));
                assert_eq!(self.tree[&here], self.object(one));
                assert_eq!(self.tree[&there], self.object(other));
                self.tree.insert(here, self.object(other));
                self.tree.insert(there, self.object(one));
            }
        }
    }
}
