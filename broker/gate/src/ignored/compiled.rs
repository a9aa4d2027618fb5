//! The rules of one file, as a tree of the names on the way to what they match. In each directory
//! few of its nodes are alive: those that the names from the file's directory down to there lead
//! to. A rule that names no way is at a node that is alive everywhere.

use super::hashed::{Asked, Seed};
use super::lines::{Rule, lines, rule};
use super::pattern::{Name, Piece, Step};
use super::table::{Store, Table};
use super::verdict::{Outcome, Reached, State, Strongest, Verdict};
use portcullis_protocol::limits::IGNORE_RULES_MAX;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory of one file's rules, in bytes, about; further rules are left out.
const SIZE_MAX: usize = 8 * 1024 * 1024;
/// Pieces of globs that have to be tried one by one, of one file; further such rules are left out.
/// One name costs at most 255 comparisons for each.
pub(super) const TRIED_MAX: usize = 64 * 1024;

/// What a node costs, with its share of the tables, in bytes.
const NODE_SIZE: usize = 256;
/// What a plain name costs beside its bytes.
const NAME_SIZE: usize = 64;
/// What a glob costs beside its bytes and pieces.
const GLOB_SIZE: usize = 128;

/// The rules of one file. They do not depend on where it is.
#[derive(Debug)]
pub(super) struct Compiled {
    store: Store,
    nodes: Box<[Node]>,
    /// The states in the directory that holds the file.
    start: Box<[State]>,
    /// How many rules there are that can match something.
    pub(super) rules: usize,
    /// How many were left out.
    pub(super) left_out: u64,
    /// Pieces that are tried one by one.
    pub(super) tried: usize,
    pub(super) size: usize,
    _held: Held,
}

/// One node of the tree.
#[derive(Debug, Default)]
struct Node {
    /// The names that matter here.
    table: Table,
    /// The node that is alive from here on in every directory below, this one included.
    deep: Option<State>,
    stays: Stays,
    leads: Leads,
}

/// Whether a node is alive in every directory below one in which it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Stays {
    Here,
    #[default]
    Everywhere,
}

/// Whether a name can lead from a node to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Leads {
    On,
    #[default]
    Nowhere,
}

/// The memory of all files' rules that anybody holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Live(Arc<AtomicUsize>);

impl Live {
    pub(super) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A part of [`Live`].
#[derive(Debug)]
struct Held {
    live: Live,
    bytes: usize,
}

impl Held {
    fn new(live: &Live, bytes: usize) -> Self {
        live.0.fetch_add(bytes, Ordering::Relaxed);
        Self {
            live: live.clone(),
            bytes,
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.live.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Compiled {
    /// Of the text of a file.
    pub(super) fn new(file: &[u8], seed: Seed, live: &Live) -> Self {
        let mut building = Building::default();
        building.node(Stays::Here);
        let mut left_out = 0;
        for (place, rule) in lines(file).filter_map(rule).enumerate() {
            match building.take(place, rule) {
                Taken::In => {}
                Taken::LeftOut => left_out += 1,
            }
        }
        building.finish(seed, live, left_out)
    }

    pub(super) fn start(&self) -> &[State] {
        &self.start
    }

    /// The strongest rule of a state that covers a name.
    #[inline]
    pub(super) fn judge(&self, state: State, asked: &Asked<'_>, strongest: &mut Strongest) {
        if let Some(node) = self.nodes.get(state.place()) {
            node.table.visit(&self.store, asked, strongest);
        }
    }

    pub(super) fn stays(&self, state: State) -> Stays {
        self.nodes
            .get(state.place())
            .map_or(Stays::Here, |node| node.stays)
    }

    pub(super) fn leads(&self, state: State) -> Leads {
        self.nodes
            .get(state.place())
            .map_or(Leads::Nowhere, |node| node.leads)
    }

    /// Adds the states that a directory's name leads to from a state.
    pub(super) fn step(&self, state: State, asked: &Asked<'_>, to: &mut Vec<State>) {
        let Some(node) = self.nodes.get(state.place()) else {
            return;
        };
        match node.leads {
            Leads::Nowhere => {}
            Leads::On => {
                let mut reached = Reached::default();
                node.table.visit(&self.store, asked, &mut reached);
                for state in reached.0 {
                    self.alive(state, to);
                }
            }
        }
    }

    /// The states that being at a node comes to.
    fn alive(&self, state: State, to: &mut Vec<State>) {
        if let Some(node) = self.nodes.get(state.place()) {
            if !node.table.is_empty() {
                to.push(state);
            }
            to.extend(node.deep);
        }
    }
}

/// What became of a rule.
enum Taken {
    In,
    LeftOut,
}

/// A tree under construction.
#[derive(Debug, Default)]
struct Building {
    nodes: Vec<Node>,
    /// Each name at each node, and its place among the edges.
    places: HashMap<(State, Name), usize>,
    edges: Vec<Outcome>,
    rules: usize,
    tried: usize,
    size: usize,
}

impl Building {
    fn take(&mut self, place: usize, rule: Rule) -> Taken {
        let tried: usize = rule.steps.iter().map(tried).sum();
        let (Ok(place), true) = (
            u32::try_from(place),
            self.rules < IGNORE_RULES_MAX
                && self.size < SIZE_MAX
                && self.tried + tried <= TRIED_MAX,
        ) else {
            return Taken::LeftOut;
        };
        self.rules += 1;
        let Some(mut state) = State::at(0) else {
            return Taken::LeftOut;
        };
        let mut last = None;
        for step in rule.steps {
            if let Some(state_after) = last.and_then(|edge| self.after(edge)) {
                state = state_after;
            }
            match step {
                Step::Deep => {
                    last = None;
                    let Some(deep) = self.deep(state) else {
                        return Taken::LeftOut;
                    };
                    state = deep;
                }
                Step::Name(name) => last = Some(self.edge(state, name)),
            }
        }
        if let Some(edge) = last.and_then(|edge| self.edges.get_mut(edge)) {
            edge.add(Verdict::new(place, rule.sense), rule.covers);
        }
        Taken::In
    }

    fn node(&mut self, stays: Stays) -> Option<State> {
        let state = State::at(self.nodes.len());
        self.size += NODE_SIZE;
        self.nodes.push(Node {
            stays,
            ..Node::default()
        });
        state
    }

    /// The node that is alive everywhere below.
    fn deep(&mut self, from: State) -> Option<State> {
        if let Some(deep) = self.nodes.get(from.place())?.deep {
            return Some(deep);
        }
        let deep = self.node(Stays::Everywhere);
        self.nodes.get_mut(from.place())?.deep = deep;
        deep
    }

    /// The place of the edge of a name.
    fn edge(&mut self, from: State, name: Name) -> usize {
        let (tried, size) = (tried_of(&name), size_of_name(&name));
        let new = self.edges.len();
        let place = *self.places.entry((from, name)).or_insert(new);
        if place == new {
            self.edges.push(Outcome::default());
            self.tried += tried;
            self.size += size;
        }
        place
    }

    /// The node that an edge leads to.
    fn after(&mut self, edge: usize) -> Option<State> {
        if let Some(next) = self.edges.get(edge)?.next {
            return Some(next);
        }
        let next = self.node(Stays::Here);
        self.edges.get_mut(edge)?.next = next;
        next
    }

    fn finish(self, seed: Seed, live: &Live, left_out: u64) -> Compiled {
        let Self {
            mut nodes,
            places,
            edges,
            ..
        } = self;
        let mut all: Vec<((State, Name), usize)> = places.into_iter().collect();
        all.sort_unstable_by_key(|((state, _), place)| (*state, *place));
        let mut store = Store::default();
        let mut all = all.into_iter().peekable();
        while let Some(((state, _), _)) = all.peek() {
            let state = *state;
            let mut leads = Leads::Nowhere;
            let of_node = std::iter::from_fn(|| {
                let ((_, name), edge) = all.next_if(|((of, _), _)| *of == state)?;
                let outcome = edges.get(edge).copied().unwrap_or_default();
                if outcome.next.is_some() {
                    leads = Leads::On;
                }
                Some((name, outcome))
            });
            let table = Table::new(&mut store, seed, of_node);
            if let Some(node) = nodes.get_mut(state.place()) {
                node.table = table;
                node.leads = leads;
            }
        }
        store.shrink();
        let tables: usize = nodes.iter().map(|node| node.table.size()).sum();
        let size = tables + nodes.len() * size_of::<Node>() + store.size();
        let mut compiled = Compiled {
            store,
            nodes: nodes.into(),
            start: Box::default(),
            rules: self.rules,
            left_out,
            tried: self.tried,
            size,
            _held: Held::new(live, size),
        };
        let mut start = Vec::new();
        if let Some(state) = State::at(0) {
            compiled.alive(state, &mut start);
        }
        compiled.start = start.into();
        compiled
    }
}

/// Pieces of a step that are tried one by one.
fn tried(step: &Step) -> usize {
    match step {
        Step::Deep => 0,
        Step::Name(name) => tried_of(name),
    }
}

fn tried_of(name: &Name) -> usize {
    match name {
        Name::Plain(_) => 0,
        Name::Glob { middle, .. } => match middle.as_slice() {
            [Piece::Star] => 0,
            middle => middle.len(),
        },
    }
}

fn size_of_name(name: &Name) -> usize {
    match name {
        Name::Plain(bytes) => NAME_SIZE + bytes.len(),
        Name::Glob { head, middle, tail } => {
            let one = GLOB_SIZE + head.len() + tail.len() + middle.len() * size_of::<Piece>();
            one * name.spellings()
        }
    }
}
