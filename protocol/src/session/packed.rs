//! Items of a streaming answer in the encoding they are sent in: whoever finds one encodes it at
//! once, on its own thread, and nothing is kept of it but bytes. On the wire there is no difference
//! to [`Entries`] and [`Matches`]; a test holds both encodings against one another.

use super::{Entries, Entry, EntryDetail, Found, LineRole, Matches, Reply};
use crate::bounded::Text;
use crate::frame::{EncodeError, RequestId, encode_with};
use crate::limits::{REASON_BYTES_MAX, SEARCH_LINE_BYTES_MAX};
use crate::path::RelPath;
use crate::view::{Binding, Kind};
use serde::{Serialize, Serializer};
use std::marker::PhantomData;
use std::ops::Range;

/// A reply that carries many items: [`Entries`] or [`Matches`].
pub trait Streamed {
    /// One item before it is encoded, borrowed from whoever found it.
    type Item<'a>: Serialize;
    /// The code of the reply.
    const CODE: u16;
    /// The path that an encoded item is about, if it names one.
    fn path_of(item: &[u8]) -> Option<RelPath>;
}

impl Streamed for Entries {
    type Item<'a> = EntryRef<'a>;
    const CODE: u16 = 5;

    fn path_of(item: &[u8]) -> Option<RelPath> {
        postcard::from_bytes(item)
            .ok()
            .map(|entry: Entry| entry.path)
    }
}

impl Streamed for Matches {
    type Item<'a> = FoundRef<'a>;
    const CODE: u16 = 6;

    fn path_of(item: &[u8]) -> Option<RelPath> {
        match postcard::from_bytes(item).ok()? {
            Found::File { path } | Found::Count { path, .. } => Some(path),
            Found::Line(_) => None,
        }
    }
}

/// An [`Entry`], borrowed.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct EntryRef<'a> {
    /// See [`Entry::path`].
    pub path: &'a RelPath,
    /// See [`Entry::kind`].
    pub kind: Kind,
    /// See [`Entry::denied`].
    pub denied: Option<&'a Text<REASON_BYTES_MAX>>,
    /// See [`Entry::detail`].
    pub detail: Option<&'a EntryDetail>,
}

/// A [`Found`], borrowed. Its arms are in the same order.
#[derive(Debug, Clone, Copy, Serialize)]
pub enum FoundRef<'a> {
    /// See [`Found::File`].
    File {
        /// Its path below the root.
        path: &'a RelPath,
    },
    /// See [`Found::Line`].
    Line(LineRef<'a>),
    /// See [`Found::Count`].
    Count {
        /// Its path below the root.
        path: &'a RelPath,
        /// Matching lines.
        lines: u64,
    },
}

/// A [`super::FoundLine`], borrowed.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct LineRef<'a> {
    /// What it is.
    pub role: LineRole,
    /// Its number, from 1.
    pub number: u64,
    /// Offset of its first byte.
    pub offset: u64,
    /// First byte of the first match, from 1, or 0.
    pub column: u32,
    /// Its bytes; at most [`SEARCH_LINE_BYTES_MAX`] of them are taken.
    #[serde(serialize_with = "cut")]
    pub text: &'a [u8],
    /// Bytes left out before.
    pub cut_before: u32,
    /// Bytes left out after.
    pub cut_after: u32,
}

fn cut<S: Serializer>(text: &&[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(text.get(..SEARCH_LINE_BYTES_MAX).unwrap_or(text))
}

/// Items of one kind of reply, encoded, in order.
#[derive(Debug)]
pub struct Packed<S> {
    bytes: Vec<u8>,
    /// Where each item ends.
    ends: Vec<usize>,
    kind: PhantomData<S>,
}

impl<S> Default for Packed<S> {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            ends: Vec::new(),
            kind: PhantomData,
        }
    }
}

impl<S: Streamed> Packed<S> {
    /// Adds one item.
    pub fn push(&mut self, item: &S::Item<'_>) -> Result<(), EncodeError> {
        let bytes = postcard::to_extend(item, std::mem::take(&mut self.bytes));
        self.bytes = bytes.map_err(|_| EncodeError::Serializer)?;
        self.ends.push(self.bytes.len());
        Ok(())
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Takes those of another one behind its own.
    pub fn append(&mut self, other: &Self) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| at + end));
    }

    /// Forgets all items; keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Keeps the first `items` only.
    pub fn truncate(&mut self, items: usize) {
        self.ends.truncate(items);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// The last of the first `items` that names a path.
    pub fn last_path(&self, items: usize) -> Option<RelPath> {
        (0..items.min(self.len()))
            .rev()
            .find_map(|item| S::path_of(self.slice(item..item + 1)))
    }

    /// How many items from `from` on fit into `room` bytes; at least one.
    pub fn fitting(&self, from: usize, room: usize) -> usize {
        let base = self.start(from);
        let rest = self.ends.get(from..).unwrap_or_default();
        rest.partition_point(|end| end - base <= room)
            .max(1)
            .min(rest.len())
    }

    /// Writes the frame of these items into `out`, as [`crate::frame::encode`] would.
    pub fn encode(
        &self,
        items: Range<usize>,
        id: RequestId,
        start: Option<&Binding>,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let slice = self.slice(items.clone());
        encode_with::<Reply>(id, S::CODE, out, |out| {
            let out = postcard::to_extend(&start, out)?;
            let mut out = postcard::to_extend(&items.len(), out)?;
            out.extend_from_slice(slice);
            Ok(out)
        })
    }

    fn start(&self, item: usize) -> usize {
        item.checked_sub(1)
            .and_then(|before| self.ends.get(before).copied())
            .unwrap_or(0)
    }

    fn slice(&self, items: Range<usize>) -> &[u8] {
        let (start, end) = (self.start(items.start), self.start(items.end));
        self.bytes.get(start..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
