//! Which of many names and globs a name is, without trying each.
//!
//! Names are found by their hash; globs with a dot in what they end with by the hash of that
//! extension; the others by their first or their last byte. What is left is tried one by one.

use super::hashed::{Asked, Index, Seed, Traits};
use super::pattern::{self, Piece, matches};
use super::verdict::{Outcome, Sink};

/// Names up to which comparing each is faster than a hash.
const FEW: usize = 4;

/// Bytes in a [`Store`].
#[derive(Debug, Clone, Copy)]
struct Text {
    start: u32,
    length: u8,
}

/// Pieces in a [`Store`].
#[derive(Debug, Clone, Copy)]
struct Middle {
    start: u32,
    count: u16,
}

/// The texts of all tables of one file.
#[derive(Debug, Default)]
pub(super) struct Store {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
}

impl Store {
    fn keep(&mut self, bytes: &[u8]) -> Text {
        let start = number(self.bytes.len());
        self.bytes.extend_from_slice(bytes);
        Text {
            start,
            length: u8::try_from(bytes.len()).unwrap_or(u8::MAX),
        }
    }

    fn keep_pieces(&mut self, pieces: &[Piece]) -> Middle {
        let start = number(self.pieces.len());
        self.pieces.extend_from_slice(pieces);
        Middle {
            start,
            count: u16::try_from(pieces.len()).unwrap_or(u16::MAX),
        }
    }

    fn text(&self, text: Text) -> &[u8] {
        let start = text.start as usize;
        self.bytes
            .get(start..start + usize::from(text.length))
            .unwrap_or_default()
    }

    fn middle(&self, middle: Middle) -> &[Piece] {
        let start = middle.start as usize;
        self.pieces
            .get(start..start + usize::from(middle.count))
            .unwrap_or_default()
    }

    pub(super) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.pieces.shrink_to_fit();
    }

    /// Bytes of memory.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + self.pieces.len() * size_of::<Piece>()
    }
}

/// A number that a limit on files keeps small.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// One name, and what follows from it.
#[derive(Debug)]
struct Name {
    text: Text,
    outcome: Outcome,
}

/// Pieces of which one at least is no plain byte.
#[derive(Debug)]
struct Glob {
    /// The bytes before the first such piece.
    head: Text,
    /// The bytes after the last.
    tail: Text,
    /// What is between. A single star is left out.
    middle: Option<Middle>,
    needed: Traits,
    outcome: Outcome,
}

impl Glob {
    #[inline]
    fn is(&self, store: &Store, asked: &Asked<'_>) -> bool {
        asked.traits.has(&self.needed) && self.matches(store, asked.name)
    }

    fn matches(&self, store: &Store, name: &[u8]) -> bool {
        let (head, tail) = (store.text(self.head), store.text(self.tail));
        let Some(rest) = name.strip_prefix(head) else {
            return false;
        };
        let Some(rest) = rest.strip_suffix(tail) else {
            return false;
        };
        self.middle
            .is_none_or(|middle| matches(store.middle(middle), rest))
    }
}

/// Globs in runs: those of a run have a byte in common.
#[derive(Debug, Default)]
struct ByByte {
    /// The bytes that have a run.
    there: [u64; 4],
    runs: Vec<(u8, u32, u32)>,
}

impl ByByte {
    #[inline]
    fn run(&self, byte: u8) -> std::ops::Range<usize> {
        let word = self.there.get(usize::from(byte >> 6)).copied().unwrap_or(0);
        if word >> (byte & 63) & 1 == 0 {
            return 0..0;
        }
        let at = self.runs.partition_point(|(of, ..)| *of < byte);
        self.runs
            .get(at)
            .map_or(0..0, |(_, start, end)| *start as usize..*end as usize)
    }

    fn add(&mut self, byte: u8, start: u32, end: u32) {
        if let Some(word) = self.there.get_mut(usize::from(byte >> 6)) {
            *word |= 1 << (byte & 63);
        }
        self.runs.push((byte, start, end));
    }
}

/// The globs of a table, those that are found in the same way side by side.
#[derive(Debug)]
struct Globs {
    all: Box<[Glob]>,
    /// Of an extension, to the runs.
    extensions: Option<Index>,
    runs: Box<[(u32, u32)]>,
    first: ByByte,
    last: ByByte,
    /// Where those begin that are found in none of these ways.
    others: u32,
}

/// How a glob is found; in the order in which globs are kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Extension(Vec<u8>),
    First(u8),
    Last(u8),
    Other,
}

/// The names and globs of one table.
#[derive(Debug, Default)]
pub(super) struct Table {
    names: Box<[Name]>,
    /// Of a hash, to the names; when they are more than a few.
    index: Option<Index>,
    globs: Option<Box<Globs>>,
}

impl Table {
    /// Of these names, and what follows from each.
    pub(super) fn new(
        store: &mut Store,
        seed: Seed,
        entries: impl Iterator<Item = (pattern::Name, Outcome)>,
    ) -> Self {
        let (mut names, mut hashes, mut globs) = (Vec::new(), Vec::new(), Vec::new());
        let spelled_out = entries.flat_map(|(name, outcome)| {
            let names = name.spelled_out().into_iter();
            names.map(move |name| (name, outcome))
        });
        for (name, outcome) in spelled_out {
            match name {
                pattern::Name::Plain(bytes) => {
                    hashes.push(seed.hash(&bytes));
                    let text = store.keep(&bytes);
                    names.push(Name { text, outcome });
                }
                pattern::Name::Glob { head, middle, tail } => {
                    let glob = Glob {
                        needed: needed(&head, &middle, &tail),
                        head: store.keep(&head),
                        tail: store.keep(&tail),
                        middle: match middle.as_slice() {
                            [Piece::Star] => None,
                            middle => Some(store.keep_pieces(middle)),
                        },
                        outcome,
                    };
                    globs.push((way(&head, &tail), glob));
                }
            }
        }
        Self {
            index: (names.len() > FEW).then(|| Index::new(hashes)),
            names: names.into(),
            globs: (!globs.is_empty()).then(|| Box::new(Globs::new(seed, globs))),
        }
    }

    /// Whether nothing is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.globs.is_none()
    }

    /// Gives what follows from each of its names and globs that the name is, as far as wanted.
    #[inline]
    pub(super) fn visit(&self, store: &Store, asked: &Asked<'_>, sink: &mut impl Sink) {
        let mut look = |name: &Name| {
            if sink.wants(&name.outcome) && store.text(name.text) == asked.name {
                sink.take(&name.outcome);
            }
        };
        match &self.index {
            None => self.names.iter().for_each(look),
            Some(index) => {
                for at in index.probe(asked.hash) {
                    if let Some(name) = self.names.get(at) {
                        look(name);
                    }
                }
            }
        }
        if let Some(globs) = &self.globs {
            globs.visit(store, asked, sink);
        }
    }

    /// Bytes of memory.
    pub(super) fn size(&self) -> usize {
        let globs = self.globs.as_ref().map_or(0, |globs| globs.size());
        self.names.len() * size_of::<Name>() + self.index.as_ref().map_or(0, Index::size) + globs
    }
}

impl Globs {
    fn new(seed: Seed, mut sorted: Vec<(Way, Glob)>) -> Self {
        sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut this = Self {
            all: Box::default(),
            extensions: None,
            runs: Box::default(),
            first: ByByte::default(),
            last: ByByte::default(),
            others: number(sorted.len()),
        };
        let (mut hashes, mut runs) = (Vec::new(), Vec::new());
        let mut start = 0;
        for run in sorted.chunk_by(|(a, _), (b, _)| a == b) {
            let end = start + number(run.len());
            match run.first().map(|(way, _)| way) {
                Some(Way::Extension(extension)) => {
                    hashes.push(seed.hash(extension));
                    runs.push((start, end));
                }
                Some(Way::First(byte)) => this.first.add(*byte, start, end),
                Some(Way::Last(byte)) => this.last.add(*byte, start, end),
                Some(Way::Other) => this.others = start,
                None => {}
            }
            start = end;
        }
        this.extensions = (!hashes.is_empty()).then(|| Index::new(hashes));
        this.runs = runs.into();
        this.all = sorted.into_iter().map(|(_, glob)| glob).collect();
        this
    }

    #[inline]
    fn visit(&self, store: &Store, asked: &Asked<'_>, sink: &mut impl Sink) {
        let mut look = |range: std::ops::Range<usize>| {
            for glob in self.all.get(range).unwrap_or_default() {
                if sink.wants(&glob.outcome) && glob.is(store, asked) {
                    sink.take(&glob.outcome);
                }
            }
        };
        if let (Some(index), Some(hash)) = (&self.extensions, asked.extension) {
            for at in index.probe(hash) {
                if let Some((start, end)) = self.runs.get(at) {
                    look(*start as usize..*end as usize);
                }
            }
        }
        if let (Some(first), Some(last)) = (asked.name.first(), asked.name.last()) {
            look(self.first.run(*first));
            look(self.last.run(*last));
        }
        look(self.others as usize..self.all.len());
    }

    fn size(&self) -> usize {
        size_of::<Self>()
            + self.all.len() * size_of::<Glob>()
            + self.extensions.as_ref().map_or(0, Index::size)
            + (self.runs.len() + 2 * self.first.runs.len() + 2 * self.last.runs.len()) * 8
    }
}

/// What a name that a glob matches has.
fn needed(head: &[u8], middle: &[Piece], tail: &[u8]) -> Traits {
    let mut known: Vec<u8> = head.iter().chain(tail).copied().collect();
    let mut others = 0;
    for piece in middle {
        match piece {
            Piece::Byte(byte) => known.push(*byte),
            Piece::Any | Piece::Set(_) => others += 1,
            Piece::Star => {}
        }
    }
    let mut needed = Traits::of(&known);
    (0..others).for_each(|_| needed.add_any());
    needed
}

/// How a glob is found.
fn way(head: &[u8], tail: &[u8]) -> Way {
    let dot = tail.iter().rposition(|byte| *byte == b'.');
    match (dot, head.first(), tail.last()) {
        (Some(dot), _, _) => Way::Extension(tail.get(dot + 1..).unwrap_or_default().to_vec()),
        (None, Some(first), _) => Way::First(*first),
        (None, None, Some(last)) => Way::Last(*last),
        (None, None, None) => Way::Other,
    }
}
