//! Names and extensions that patterns hold, by number, and where they lead. A name of a tree is looked
//! up once, however many patterns are alive, and most are in no pattern.

use super::tree::At;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A name or an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label(u32);

/// All of them. Each has one number.
#[derive(Debug, Default)]
pub(super) struct Labels {
    names: Known<Box<[u8]>>,
    extensions: Known<Box<[u8]>>,
}

type Known<K> = HashMap<K, u32, BuildHasherDefault<Quick>>;

impl Labels {
    pub(super) fn name(&mut self, name: Vec<u8>) -> Label {
        let next = self.next();
        Label(*self.names.entry(name.into()).or_insert(next))
    }

    pub(super) fn extension(&mut self, extension: Vec<u8>) -> Label {
        let next = self.next();
        Label(*self.extensions.entry(extension.into()).or_insert(next))
    }

    /// Most are names.
    pub(super) fn reserve(&mut self, names: usize) {
        self.names.reserve(names);
    }

    fn next(&self) -> u32 {
        u32::try_from(self.names.len() + self.extensions.len()).unwrap_or(u32::MAX)
    }

    /// Those that a name has.
    #[inline]
    pub(super) fn of(&self, name: &[u8]) -> [Option<Label>; 2] {
        let whole = self.names.get(name).copied().map(Label);
        let extension = memchr::memrchr(b'.', name)
            .and_then(|dot| name.get(dot + 1..))
            .and_then(|extension| self.extensions.get(extension));
        [whole, extension.copied().map(Label)]
    }
}

/// Where labels lead, from each node.
#[derive(Debug, Default)]
pub(super) struct Moves(Known<u64>);

impl Moves {
    #[inline]
    pub(super) fn get(&self, from: At, label: Label) -> Option<At> {
        self.0.get(&Self::key(from, label)).copied().map(At)
    }

    pub(super) fn reserve(&mut self, moves: usize) {
        self.0.reserve(moves);
    }

    pub(super) fn add(&mut self, from: At, label: Label, to: At) {
        self.0.insert(Self::key(from, label), to.0);
    }

    fn key(from: At, label: Label) -> u64 {
        u64::from(from.0) << 32 | u64::from(label.0)
    }
}

/// Hashes by the first and the last eight bytes and the length. Nobody gains by names that collide:
/// what is in a table is from the policy, which its own gate alone has.
#[derive(Debug, Default)]
pub(super) struct Quick(u64);

/// An odd number with bits all over, as of the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Quick {
    fn mix(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(SPREAD);
        self.0 = mixed ^ (mixed >> 32);
    }
}

impl Hasher for Quick {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            (Some(first), Some(last)) => {
                self.mix(u64::from_le_bytes(*first));
                self.mix(u64::from_le_bytes(*last));
            }
            (None, _) | (_, None) => match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
                (Some(first), Some(last)) => {
                    let last = u64::from(u32::from_le_bytes(*last));
                    self.mix(u64::from(u32::from_le_bytes(*first)) | last << 32);
                }
                (None, _) | (_, None) => {
                    let word = bytes.iter().fold(0, |word, b| word << 8 | u64::from(*b));
                    self.mix(word);
                }
            },
        }
    }

    /// The length of what comes next.
    #[inline]
    fn write_usize(&mut self, length: usize) {
        self.0 ^= u64::try_from(length).unwrap_or(0);
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }

    /// The upper bits tell entries of one bucket apart, so they are of every byte too.
    #[inline]
    fn finish(&self) -> u64 {
        self.0.wrapping_mul(SPREAD)
    }
}
