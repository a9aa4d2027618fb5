//! Patterns as a tree over names: one more name of a path advances only what is alive, and in most
//! directories that is one node, where patterns begin that hold at any depth.

use super::alive::Alive;
use super::labels::{Label, Labels, Moves};
use super::patterns::LazyGlob;

/// A node, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct At(pub(super) u32);

/// `/`.
const TOP: At = At(0);
/// Any directory. It is alive everywhere, and so in no [`Alive`].
const ANYWHERE: At = At(1);

/// A part of a pattern between two slashes.
#[derive(Debug)]
pub(super) enum Part {
    /// This name.
    Name(Vec<u8>),
    /// `*.` and this, which has no dot.
    Extension(Vec<u8>),
    /// `*`: any one name.
    One,
    /// `**`: any number of names.
    Any,
    /// A glob of one name.
    Glob(Box<LazyGlob>),
}

/// A denial whose pattern matches. They are told in this order: the forms of patterns one after the
/// other, and in each the denials as they are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct End {
    pub(super) form: Form,
    pub(super) denial: u32,
}

/// The forms of patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    Name,
    Path,
    Extension,
    NameGlob,
    PathGlob,
}

/// How long a node is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    /// Not at all: nothing goes on from it.
    Over,
    /// In the directory that leads to it.
    Here,
    /// In everything below that, too.
    Below,
}

/// Most are the end of one pattern, and little else.
#[derive(Debug)]
struct Node {
    life: Life,
    /// The first pattern that ends here.
    end: Option<End>,
    more: Option<Box<More>>,
}

/// What few nodes have.
#[derive(Debug, Default)]
struct More {
    /// Further patterns that end there.
    ends: Vec<End>,
    /// Where any name leads.
    any: Option<At>,
    /// What is alive where this is, and below: the rest of patterns that go on with `**`.
    below: Option<At>,
    globs: Globs,
}

/// Where names lead that a glob matches.
#[derive(Debug, Default)]
struct Globs {
    /// The bytes that such names may begin and end with: most are told apart by it.
    first: Bytes,
    last: Bytes,
    leads: Vec<(LazyGlob, At)>,
}

/// A set of bytes.
#[derive(Debug, Default)]
struct Bytes([u64; 4]);

impl Bytes {
    /// The byte that something begins or ends with; any where that is not known.
    fn add(&mut self, byte: Option<&u8>) {
        let Some(byte) = byte else {
            self.0 = [u64::MAX; 4];
            return;
        };
        if let Some(word) = self.0.get_mut(usize::from(byte >> 6)) {
            *word |= 1 << (byte & 63);
        }
    }

    fn has(&self, byte: u8) -> bool {
        let word = self.0.get(usize::from(byte >> 6));
        word.is_some_and(|word| word & (1 << (byte & 63)) != 0)
    }
}

impl Globs {
    fn may_match(&self, name: &[u8]) -> bool {
        match (name.first(), name.last()) {
            (Some(first), Some(last)) => self.first.has(*first) && self.last.has(*last),
            (None, _) | (_, None) => true,
        }
    }
}

/// The tree.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    labels: Labels,
    moves: Moves,
}

impl Default for Tree {
    fn default() -> Self {
        let more = More {
            below: Some(ANYWHERE),
            ..More::default()
        };
        let top = Node {
            more: Some(Box::new(more)),
            ..Node::new(Life::Here)
        };
        Self {
            nodes: vec![top, Node::new(Life::Below)],
            labels: Labels::default(),
            moves: Moves::default(),
        }
    }
}

impl Node {
    const fn new(life: Life) -> Self {
        Self {
            life,
            end: None,
            more: None,
        }
    }

    fn more(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    fn add(&mut self, end: End) {
        match self.end {
            None => self.end = Some(end),
            Some(_) => self.more().ends.push(end),
        }
    }

    #[inline]
    fn tell(&self, ends: &mut Vec<End>) {
        ends.extend(self.end);
        if let Some(more) = &self.more {
            ends.extend_from_slice(&more.ends);
        }
    }
}

impl Tree {
    /// With room for about so many patterns.
    pub(super) fn with_room(patterns: usize) -> Self {
        let mut tree = Self::default();
        tree.nodes.reserve(patterns);
        tree.labels.reserve(patterns);
        tree.moves.reserve(patterns);
        tree
    }

    /// What is alive at `/`.
    pub(super) fn top() -> Alive {
        let mut alive = Alive::default();
        alive.add(TOP);
        alive
    }

    /// Adds a pattern that begins at any depth, or at `/`.
    pub(super) fn add(&mut self, begins: Begins, parts: impl IntoIterator<Item = Part>, end: End) {
        let mut at = match begins {
            Begins::Anywhere => ANYWHERE,
            Begins::AtTop => TOP,
        };
        let mut parts = parts.into_iter().peekable();
        while let Some(part) = parts.next() {
            at = match part {
                Part::Name(name) => {
                    let label = self.labels.name(name);
                    self.lead(at, label)
                }
                Part::Extension(extension) => {
                    let label = self.labels.extension(extension);
                    self.lead(at, label)
                }
                Part::One => self.any(at),
                Part::Any => {
                    let below = self.below(at);
                    // At its end a pattern with `**` covers what is below, and not the directory.
                    match parts.peek() {
                        Some(_) => below,
                        None => self.any(below),
                    }
                }
                Part::Glob(glob) => self.glob(at, *glob),
            };
        }
        if let Some(node) = self.node_mut(at) {
            node.add(end);
        }
    }

    fn node(&self, at: At) -> Option<&Node> {
        self.nodes.get(usize::try_from(at.0).unwrap_or(usize::MAX))
    }

    fn node_mut(&mut self, at: At) -> Option<&mut Node> {
        let n = usize::try_from(at.0).unwrap_or(usize::MAX);
        self.nodes.get_mut(n)
    }

    /// A new node that something leads to from `from`, which `link` notes there.
    fn grow(&mut self, from: At, life: Life, link: impl FnOnce(&mut Node, At)) -> At {
        let to = At(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(Node::new(life));
        if let Some(node) = self.node_mut(from) {
            if node.life == Life::Over {
                node.life = Life::Here;
            }
            link(node, to);
        }
        to
    }

    fn lead(&mut self, from: At, label: Label) -> At {
        if let Some(to) = self.moves.get(from, label) {
            return to;
        }
        let to = self.grow(from, Life::Over, |_, _| {});
        self.moves.add(from, label, to);
        to
    }

    fn more(&self, at: At) -> Option<&More> {
        self.node(at)?.more.as_deref()
    }

    fn any(&mut self, from: At) -> At {
        let known = self.more(from).and_then(|more| more.any);
        known.unwrap_or_else(|| self.grow(from, Life::Over, |node, to| node.more().any = Some(to)))
    }

    fn below(&mut self, from: At) -> At {
        if self.node(from).is_some_and(|node| node.life == Life::Below) {
            return from;
        }
        let known = self.more(from).and_then(|more| more.below);
        known.unwrap_or_else(|| {
            self.grow(from, Life::Below, |node, to| node.more().below = Some(to))
        })
    }

    fn glob(&mut self, from: At, glob: LazyGlob) -> At {
        let leads = self.more(from).map(|more| more.globs.leads.as_slice());
        let mut leads = leads.unwrap_or_default().iter();
        if let Some((_, to)) = leads.find(|(known, _)| *known == glob) {
            return *to;
        }
        self.grow(from, Life::Over, |node, to| {
            let globs = &mut node.more().globs;
            globs.first.add(glob.prefix().first());
            globs.last.add(glob.suffix().last());
            globs.leads.push((glob, to));
        })
    }

    /// Finds every node that `name` leads to, from the one that is always alive and from `alive`.
    #[inline]
    fn reach(&self, alive: &Alive, name: &[u8], mut reached: impl FnMut(At, &Node)) {
        let labels = self.labels.of(name);
        for from in std::iter::once(ANYWHERE).chain(alive.iter()) {
            let Some(node) = self.node(from) else {
                continue;
            };
            let mut reach = |to: At| {
                if let Some(node) = self.node(to) {
                    reached(to, node);
                }
            };
            for label in labels.into_iter().flatten() {
                if let Some(to) = self.moves.get(from, label) {
                    reach(to);
                }
            }
            let Some(more) = &node.more else {
                continue;
            };
            if let Some(to) = more.any {
                reach(to);
            }
            if more.globs.may_match(name) {
                for (glob, to) in &more.globs.leads {
                    if glob.is(name) {
                        reach(*to);
                    }
                }
            }
        }
    }

    /// Adds to `ends` the patterns that match the object `name` in a directory.
    #[inline]
    pub(super) fn ends(&self, alive: &Alive, name: &[u8], ends: &mut Vec<End>) {
        self.reach(alive, name, |_, node| node.tell(ends));
    }

    /// The same, and gives what is alive in the object `name`.
    pub(super) fn enter(&self, alive: &Alive, name: &[u8], ends: &mut Vec<End>) -> Alive {
        let mut inside = Alive::default();
        for at in alive.iter() {
            if self.node(at).is_some_and(|node| node.life == Life::Below) {
                inside.add(at);
            }
        }
        self.reach(alive, name, |at, node| {
            node.tell(ends);
            match node.life {
                Life::Over => return,
                Life::Here | Life::Below => inside.add(at),
            }
            // It may be alive since a directory further up.
            if let Some(below) = node.more.as_ref().and_then(|more| more.below)
                && (inside.is_many() || !inside.has(below))
            {
                inside.add(below);
            }
        });
        inside.settle();
        inside
    }
}

/// Where a pattern begins.
#[derive(Debug, Clone, Copy)]
pub(super) enum Begins {
    /// At `/`.
    AtTop,
    /// At any name.
    Anywhere,
}
