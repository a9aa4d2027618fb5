//! Hashes of names, and tables of them. The seed is drawn for each session, so that whoever
//! writes an ignore file cannot know which names come to lie together.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// What hashes depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seed(u64, u64);

impl Seed {
    pub(super) fn draw() -> Self {
        let state = RandomState::new();
        let draw = |n: u8| {
            let mut hasher = state.build_hasher();
            hasher.write_u8(n);
            hasher.finish() | 1
        };
        Self(draw(0), draw(1))
    }

    /// The hash of a name.
    #[inline]
    pub(super) fn hash(self, bytes: &[u8]) -> u64 {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let mut hash = self.0 ^ length;
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            hash = fold(hash ^ u64::from_le_bytes(*word), self.1);
        }
        let (half, rest) = rest.as_chunks::<4>();
        let mut last = 0;
        for half in half {
            last = u64::from(u32::from_le_bytes(*half));
        }
        for byte in rest {
            last = last << 8 | u64::from(*byte);
        }
        fold(hash ^ last, self.1)
    }
}

/// Both halves of the product, so that every bit counts for every other.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// What a name must have at least to be what a glob says; or has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Traits {
    /// A bit for each of its bytes; some share one.
    bytes: u64,
    dots: u32,
    length: u32,
}

impl Traits {
    #[inline]
    pub(super) fn of(name: &[u8]) -> Self {
        let mut traits = Self {
            length: u32::try_from(name.len()).unwrap_or(u32::MAX),
            ..Self::default()
        };
        for byte in name {
            traits.bytes |= 1 << (byte & 63);
            // Never more than the length.
            traits.dots = traits.dots.wrapping_add(u32::from(*byte == b'.'));
        }
        traits
    }

    /// Takes in a byte that is not known.
    pub(super) fn add_any(&mut self) {
        self.length = self.length.saturating_add(1);
    }

    /// Whether a name of these can be what one with the others must have.
    #[inline]
    pub(super) fn has(&self, needed: &Self) -> bool {
        needed.bytes & !self.bytes == 0 && needed.dots <= self.dots && needed.length <= self.length
    }
}

/// A name that tables are asked for, with what they need of it worked out once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) name: &'a [u8],
    pub(super) hash: u64,
    /// The hash of what is after its last dot.
    pub(super) extension: Option<u64>,
    pub(super) traits: Traits,
}

impl<'a> Asked<'a> {
    #[inline]
    pub(super) fn new(seed: Seed, name: &'a [u8]) -> Self {
        let dot = name.iter().rposition(|byte| *byte == b'.');
        let extension = dot.and_then(|dot| name.get(dot + 1..));
        Self {
            name,
            hash: seed.hash(name),
            extension: extension.map(|bytes| seed.hash(bytes)),
            traits: Traits::of(name),
        }
    }
}

/// From hashes to the places they had, half of it empty.
#[derive(Debug)]
pub(super) struct Index {
    mask: usize,
    /// The other half of the hash, and the place from 1.
    slots: Box<[(u32, u32)]>,
}

impl Index {
    pub(super) fn new(hashes: Vec<u64>) -> Self {
        let size = (hashes.len() * 2).next_power_of_two();
        let mut this = Self {
            mask: size - 1,
            slots: vec![(0, 0); size].into(),
        };
        for (place, hash) in hashes.into_iter().enumerate() {
            let mut at = this.first(hash);
            while this.slots.get(at).is_some_and(|(_, taken)| *taken != 0) {
                at = (at + 1) & this.mask;
            }
            if let Some(slot) = this.slots.get_mut(at) {
                *slot = (tag(hash), u32::try_from(place + 1).unwrap_or(u32::MAX));
            }
        }
        this
    }

    #[inline]
    fn first(&self, hash: u64) -> usize {
        hash as usize & self.mask
    }

    /// The places that may be of this hash.
    #[inline]
    pub(super) fn probe(&self, hash: u64) -> Probe<'_> {
        Probe {
            index: self,
            at: self.first(hash),
            tag: tag(hash),
        }
    }

    pub(super) fn size(&self) -> usize {
        self.slots.len() * size_of::<(u32, u32)>()
    }
}

#[inline]
fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// A look into an [`Index`], up to the next empty slot.
#[derive(Debug)]
pub(super) struct Probe<'a> {
    index: &'a Index,
    at: usize,
    tag: u32,
}

impl Iterator for Probe<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        loop {
            let (tag, place) = *self.index.slots.get(self.at)?;
            if place == 0 {
                return None;
            }
            self.at = (self.at + 1) & self.index.mask;
            if tag == self.tag {
                return Some(place as usize - 1);
            }
        }
    }
}
