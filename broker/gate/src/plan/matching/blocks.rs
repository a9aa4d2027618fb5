//! Where blocks of whole lines are: all of them in one pass over the file for each tier, by an
//! automaton over the lines that occur in them (Aho and Corasick's, on lines for letters).

use super::form::{Standing, indent, key, trim, unmarked};
use super::lines::{Text, body, long, short, split};
use super::miss::Noted;
use super::work::Work;
use portcullis_protocol::session::Tier;
use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

/// A block that is looked for.
#[derive(Debug)]
pub(super) struct Block<'b, 'a> {
    /// Its lines.
    pub(super) lines: &'b [&'a [u8]],
    /// Lines that come with it, in pieces: a shift must be possible for them too.
    pub(super) new: Vec<&'a [u8]>,
    pub(super) last: Last,
}

/// What the newline of the last line means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    /// Without one, the block is at the end of the file.
    EndsFile,
    /// Nothing.
    Anywhere,
}

impl Block<'_, '_> {
    /// A block that begins with a byte order mark can only be at the beginning, except to the
    /// letter.
    fn is_marked(&self) -> bool {
        let first = self.lines.first().copied().unwrap_or_default();
        unmarked(first, Standing::First).len() < first.len()
    }

    fn ends_file(&self) -> bool {
        match self.last {
            Last::EndsFile => self.lines.last().is_some_and(|line| !line.ends_with(b"\n")),
            Last::Anywhere => false,
        }
    }
}

/// Lines at which a block begins, in order: a part of what may be shared with others.
#[derive(Debug, Clone)]
pub(super) struct Hits {
    list: Rc<Vec<u32>>,
    from: usize,
    to: usize,
}

impl Hits {
    fn new(list: Rc<Vec<u32>>) -> Self {
        let to = list.len();
        Self { list, from: 0, to }
    }

    fn slice(&self) -> &[u32] {
        self.list.get(self.from..self.to).unwrap_or_default()
    }

    pub(super) fn len(&self) -> usize {
        self.to - self.from
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.slice().iter().map(|line| long(*line))
    }

    pub(super) fn first(&self) -> Option<usize> {
        self.iter().next()
    }

    /// Those at `line` and after it.
    pub(super) fn since(mut self, line: usize) -> Self {
        self.from += self.slice().partition_point(|hit| long(*hit) < line);
        self
    }

    /// The one at `line`, if it is one.
    pub(super) fn only(self, line: usize) -> Self {
        let mut only = self.since(line);
        let next = only.slice().partition_point(|hit| long(*hit) <= line);
        only.to = only.from + next;
        only
    }
}

/// Where a block is, by the first tier where it is.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) tier: Tier,
    /// Not empty.
    pub(super) hits: Hits,
}

/// Looks for blocks; none for one that is nowhere.
pub(super) fn find(
    text: &Text<'_>,
    tiers: impl Iterator<Item = Tier>,
    blocks: &[Block<'_, '_>],
    work: &mut Work,
) -> Result<Vec<Option<Found>>, Noted> {
    let mut found: Vec<Option<Found>> = blocks.iter().map(|_| None).collect();
    let mut waiting: Vec<usize> = (0..blocks.len()).collect();
    for tier in tiers {
        if waiting.is_empty() {
            break;
        }
        let mut automaton = Automaton::default();
        let patterns: Vec<u32> = waiting
            .iter()
            .map(|n| {
                let lines = blocks.get(*n).map(|block| block.lines);
                automaton.add(tier, lines.unwrap_or_default())
            })
            .collect();
        automaton.link(work)?;
        let lists = automaton.search(tier, text, work)?;
        let mut still = Vec::new();
        for (n, pattern) in waiting.into_iter().zip(patterns) {
            let (Some(block), Some(list)) = (blocks.get(n), lists.get(long(pattern))) else {
                continue;
            };
            let hits = accepted(text, tier, block, Rc::clone(list), work)?;
            match found.get_mut(n) {
                Some(place) if hits.len() > 0 => *place = Some(Found { tier, hits }),
                Some(_) | None => still.push(n),
            }
        }
        waiting = still;
    }
    Ok(found)
}

/// The hits that are ones for this block.
fn accepted(
    text: &Text<'_>,
    tier: Tier,
    block: &Block<'_, '_>,
    list: Rc<Vec<u32>>,
    work: &mut Work,
) -> Result<Hits, Noted> {
    let mut hits = Hits::new(list);
    if tier != Tier::Exact && block.is_marked() {
        hits = hits.only(0);
    }
    if block.ends_file() {
        hits = match text.count().checked_sub(block.lines.len()) {
            Some(start) => hits.only(start),
            None => hits.only(usize::MAX),
        };
    }
    match tier {
        Tier::Exact | Tier::Terminators | Tier::TrailingBlanks | Tier::Punctuation => Ok(hits),
        Tier::Indentation => {
            let mut fit = Vec::new();
            for hit in hits.iter() {
                if shift(text, block, hit, work)?.is_some() {
                    fit.push(short(hit));
                    work.keep()?;
                }
            }
            Ok(Hits::new(Rc::new(fit)))
        }
    }
}

/// How much further in, or out, a block is in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shift<'a> {
    In(&'a [u8]),
    Out(&'a [u8]),
}

impl<'a> Shift<'a> {
    /// Of one line.
    fn of(file: &'a [u8], block: &'a [u8]) -> Option<Self> {
        match (file.strip_suffix(block), block.strip_suffix(file)) {
            (Some(further), _) => Some(Self::In(further)),
            (None, Some(less)) => Some(Self::Out(less)),
            (None, None) => None,
        }
    }

    /// What is between the beginning of a line that comes and its text; none if it is not so far
    /// in as it must come out.
    pub(super) fn indent(self, line: &[u8]) -> Option<Cow<'_, [u8]>> {
        if trim(body(line)).is_empty() {
            return Some(Cow::Borrowed(indent(body(line))));
        }
        match self {
            Self::In(further) => Some(Cow::Owned([further, indent(line)].concat())),
            Self::Out(less) => indent(line).strip_prefix(less).map(Cow::Borrowed),
        }
    }
}

/// The shift of a block at a line where its lines are but for indentation; none if there is none
/// that fits all of its lines and all that come.
pub(super) fn shift<'t>(
    text: &Text<'t>,
    block: &Block<'_, 't>,
    hit: usize,
    work: &mut Work,
) -> Result<Option<Shift<'t>>, Noted> {
    let mut shift = None;
    for (n, line) in block.lines.iter().enumerate() {
        // A line costs several times what a step of the search does.
        work.spend(8)?;
        let old = body(unmarked(line, Standing::of(n)));
        if trim(old).is_empty() {
            continue;
        }
        let now = body(unmarked(text.line(hit + n), Standing::of(hit + n)));
        work.spend((indent(old).len() + indent(now).len()) / 16)?;
        let here = match Shift::of(indent(now), indent(old)) {
            Some(here) => here,
            None => return Ok(None),
        };
        match shift {
            Some(known) if known != here => return Ok(None),
            Some(_) | None => shift = Some(here),
        }
    }
    let shift = shift.unwrap_or(Shift::In(b""));
    if let Shift::Out(less) = shift {
        for line in block.new.iter().flat_map(|piece| split(piece)) {
            work.spend(1)?;
            if !trim(body(line)).is_empty() && !line.starts_with(less) {
                return Ok(None);
            }
        }
    }
    Ok(Some(shift))
}

const ROOT: u32 = 0;
const NONE: u32 = u32::MAX;

/// Patterns of lines as a tree, each node linked to the longest other beginning that it ends with.
#[derive(Debug, Default)]
struct Automaton<'a> {
    /// The lines of the patterns, by what counts of them.
    lines: HashMap<Cow<'a, [u8]>, u32>,
    edges: HashMap<(u32, u32), u32>,
    /// All but the root, from 1: whence, and by which line.
    nodes: Vec<Node>,
    /// Lines of each pattern.
    patterns: Vec<u32>,
}

#[derive(Debug)]
struct Node {
    parent: u32,
    line: u32,
    depth: u32,
    /// The longest other beginning it ends with.
    fail: u32,
    /// The pattern that ends here.
    pattern: u32,
    /// The next on the way of `fail` where a pattern ends.
    also: u32,
}

impl<'a> Automaton<'a> {
    fn node(&self, node: u32) -> Option<&Node> {
        self.nodes.get(long(node).checked_sub(1)?)
    }

    fn node_mut(&mut self, node: u32) -> Option<&mut Node> {
        self.nodes.get_mut(long(node).checked_sub(1)?)
    }

    fn fail(&self, node: u32) -> u32 {
        self.node(node).map_or(ROOT, |node| node.fail)
    }

    /// Adds a pattern, of one line or more; the number of the same one where it is there already.
    fn add(&mut self, tier: Tier, lines: &[&'a [u8]]) -> u32 {
        let mut at = ROOT;
        for (n, line) in lines.iter().enumerate() {
            let known = short(self.lines.len());
            let line = key(tier, line, Standing::of(n));
            let line = *self.lines.entry(line).or_insert(known);
            let next = short(self.nodes.len() + 1);
            let node = *self.edges.entry((at, line)).or_insert(next);
            if node == next {
                self.nodes.push(Node {
                    parent: at,
                    line,
                    depth: short(n),
                    fail: ROOT,
                    pattern: NONE,
                    also: ROOT,
                });
            }
            at = node;
        }
        let next = short(self.patterns.len());
        let Some(end) = self.node_mut(at) else {
            return NONE;
        };
        if end.pattern != NONE {
            return end.pattern;
        }
        end.pattern = next;
        self.patterns.push(short(lines.len()));
        next
    }

    /// Where a line leads from a node.
    fn step(&self, mut at: u32, line: u32, work: &mut Work) -> Result<u32, Noted> {
        loop {
            work.spend(1)?;
            if let Some(next) = self.edges.get(&(at, line)) {
                return Ok(*next);
            }
            if at == ROOT {
                return Ok(ROOT);
            }
            at = self.fail(at);
        }
    }

    fn link(&mut self, work: &mut Work) -> Result<(), Noted> {
        let mut order: Vec<u32> = (1..=short(self.nodes.len())).collect();
        order.sort_by_key(|node| self.node(*node).map_or(0, |node| node.depth));
        for node in order {
            let Some((parent, line)) = self.node(node).map(|node| (node.parent, node.line)) else {
                continue;
            };
            let fail = if parent == ROOT {
                ROOT
            } else {
                self.step(self.fail(parent), line, work)?
            };
            let also = match self.node(fail) {
                Some(shorter) if shorter.pattern != NONE => fail,
                Some(shorter) => shorter.also,
                None => ROOT,
            };
            if let Some(node) = self.node_mut(node) {
                (node.fail, node.also) = (fail, also);
            }
        }
        Ok(())
    }

    /// The lines at which each pattern begins.
    fn search(
        &self,
        tier: Tier,
        text: &Text<'_>,
        work: &mut Work,
    ) -> Result<Vec<Rc<Vec<u32>>>, Noted> {
        let mut lists: Vec<Vec<u32>> = self.patterns.iter().map(|_| Vec::new()).collect();
        let mut at = ROOT;
        for (n, line) in text.lines().enumerate() {
            work.spend(1 + line.len() / 16)?;
            at = match self.lines.get(key(tier, line, Standing::of(n)).as_ref()) {
                Some(line) => self.step(at, *line, work)?,
                None => ROOT,
            };
            let mut ending = at;
            while let Some(node) = self.node(ending) {
                if let Some(list) = lists.get_mut(long(node.pattern)) {
                    list.push(short(n - long(node.depth)));
                    work.keep()?;
                }
                ending = node.also;
            }
        }
        Ok(lists.into_iter().map(Rc::new).collect())
    }
}
