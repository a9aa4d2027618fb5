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
    /// Bytes of content that an item shows.
    fn shown(item: &Self::Item<'_>) -> usize;
    /// The path that an encoded item is about, if it names one.
    fn path_of(item: &[u8]) -> Option<RelPath>;
}

/// What an item means for the limit of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// One of what the limit counts.
    Counts,
    /// It says what the items after it belong to; one that counts follows.
    Heads,
    /// It comes with one that counts.
    Free,
}

impl Streamed for Entries {
    type Item<'a> = EntryRef<'a>;
    const CODE: u16 = 5;

    fn shown(_: &EntryRef<'_>) -> usize {
        0
    }

    fn path_of(item: &[u8]) -> Option<RelPath> {
        postcard::from_bytes(item)
            .ok()
            .map(|entry: Entry| entry.path)
    }
}

impl Streamed for Matches {
    type Item<'a> = FoundRef<'a>;
    const CODE: u16 = 6;

    fn shown(item: &FoundRef<'_>) -> usize {
        match item {
            FoundRef::Line(line) => line.text.len().min(SEARCH_LINE_BYTES_MAX),
            FoundRef::File { .. } | FoundRef::Count { .. } => 0,
        }
    }

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

/// Where an encoded item ends, and what it is.
#[derive(Debug, Clone, Copy)]
struct Mark {
    end: u32,
    shown: u16,
    weight: Weight,
}

/// Items of one kind of reply, encoded, in order.
#[derive(Debug)]
pub struct Packed<S> {
    bytes: Vec<u8>,
    marks: Vec<Mark>,
    kind: PhantomData<S>,
}

impl<S> Default for Packed<S> {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            marks: Vec::new(),
            kind: PhantomData,
        }
    }
}

impl<S: Streamed> Packed<S> {
    /// Adds one item. More than 4 GiB are refused.
    pub fn push(&mut self, item: &S::Item<'_>, weight: Weight) -> Result<(), EncodeError> {
        let bytes = postcard::to_extend(item, std::mem::take(&mut self.bytes));
        self.bytes = bytes.map_err(|_| EncodeError::Serializer)?;
        let len = self.bytes.len();
        self.marks.push(Mark {
            end: u32::try_from(len).map_err(|_| EncodeError::TooLarge(len))?,
            shown: u16::try_from(S::shown(item)).unwrap_or(u16::MAX),
            weight,
        });
        Ok(())
    }

    /// Makes room for as many more items of as many bytes.
    pub fn reserve(&mut self, items: usize, bytes: usize) {
        self.marks.reserve(items);
        self.bytes.reserve(bytes);
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of some of them.
    pub fn bytes_of(&self, items: Range<usize>) -> usize {
        self.start(items.end)
            .saturating_sub(self.start(items.start))
    }

    /// How many of them count.
    pub fn counted(&self, items: Range<usize>) -> u64 {
        let counts = |mark: &&Mark| mark.weight == Weight::Counts;
        let marks = self.marks.get(items).unwrap_or_default();
        u64::try_from(marks.iter().filter(counts).count()).unwrap_or(u64::MAX)
    }

    /// Bytes of content that some of them show.
    pub fn shown(&self, items: Range<usize>) -> usize {
        let marks = self.marks.get(items).unwrap_or_default();
        marks.iter().map(|mark| usize::from(mark.shown)).sum()
    }

    /// The first of them that is too much where only `left` more may count. What heads others is too
    /// much where none of them fits.
    pub fn over(&self, items: Range<usize>, left: u64) -> Option<usize> {
        if u64::try_from(items.len()).is_ok_and(|len| len <= left) {
            return None;
        }
        let mut counted = 0;
        for item in items {
            match self.marks.get(item)?.weight {
                Weight::Counts | Weight::Heads if counted == left => return Some(item),
                Weight::Counts => counted += 1,
                Weight::Heads | Weight::Free => {}
            }
        }
        None
    }

    /// Takes some of another one behind its own.
    pub fn append(&mut self, other: &Self, items: Range<usize>) {
        let (at, from) = (self.bytes.len(), other.start(items.start));
        self.bytes.extend_from_slice(other.slice(items.clone()));
        let marks = other.marks.get(items).unwrap_or_default();
        self.marks.extend(marks.iter().map(|mark| {
            let end = usize::try_from(mark.end).unwrap_or(from) - from + at;
            Mark {
                end: u32::try_from(end).unwrap_or(u32::MAX),
                ..*mark
            }
        }));
    }

    /// Takes all items out, into memory of just their size; keeps its own.
    pub fn take_all(&mut self) -> Self {
        let taken = Self {
            bytes: self.bytes.as_slice().to_vec(),
            marks: self.marks.as_slice().to_vec(),
            kind: PhantomData,
        };
        self.clear();
        taken
    }

    /// Forgets all items; keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.marks.clear();
    }

    /// The last path that one of the first `items` names.
    pub fn last_path(&self, items: usize) -> Option<RelPath> {
        self.last_path_of(0..items)
    }

    fn last_path_of(&self, items: Range<usize>) -> Option<RelPath> {
        items
            .rev()
            .find_map(|item| S::path_of(self.slice(item..item + 1)))
    }

    /// The last object that is told whole by some items, where the one after them was too much.
    pub fn last_whole(&self, items: Range<usize>) -> Option<RelPath> {
        let over = self.slice(items.end..items.end + 1);
        if S::path_of(over).is_some() {
            return self.last_path_of(items);
        }
        // It belongs to what the last head is about, so that this one is not whole.
        let heads = |item: &usize| {
            let mark = self.marks.get(*item);
            mark.is_some_and(|mark| mark.weight == Weight::Heads)
        };
        let head = items.clone().rev().find(heads)?;
        self.last_path_of(items.start..head)
    }

    /// How many of `items` fit into `room` bytes; at least one.
    pub fn fitting(&self, items: Range<usize>, room: usize) -> usize {
        let base = self.start(items.start);
        let marks = self.marks.get(items).unwrap_or_default();
        let fits = |mark: &Mark| usize::try_from(mark.end).is_ok_and(|end| end - base <= room);
        marks.partition_point(fits).max(1).min(marks.len())
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
            .and_then(|before| self.marks.get(before))
            .map_or(0, |mark| usize::try_from(mark.end).unwrap_or(usize::MAX))
    }

    fn slice(&self, items: Range<usize>) -> &[u8] {
        let (start, end) = (self.start(items.start), self.start(items.end));
        self.bytes.get(start..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
