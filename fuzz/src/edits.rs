//! Edits made from arbitrary bytes, of files small and alike enough that texts are found.

use arbitrary::{Result, Unstructured};
use portcullis_protocol::anchor::{Anchor, Labels, Tag};
use portcullis_protocol::bounded::Few;
use portcullis_protocol::session::{
    Anchored, AnchoredDeed, Count, Edges, Hunk, InsertLines, Part, Replace, Span, TextEdit, Tier,
    Tiers,
};
use portcullis_protocol::view::{Digest, ObjectId};

/// Lines without terminators, many of them equal to another by some tier.
const LINES: [&[u8]; 16] = [
    b"a",
    b"a ",
    b"a \t",
    b"  a",
    b"\ta",
    b"b",
    b"  b",
    b"}",
    b"",
    b" ",
    b"\xe2\x80\x9cq\xe2\x80\x9d - r",
    b"\"q\" \xe2\x80\x93 r",
    b"caf\xe9",
    b"\xef\xbb\xbfa",
    b"\r",
    b"ab ab",
];
const TERMINATORS: [&[u8]; 3] = [b"\n", b"\r\n", b""];

/// A file and its edits.
#[derive(Debug)]
pub struct World {
    /// The file.
    pub file: Vec<u8>,
    /// What the spans of the edits are of.
    pub content: Vec<u8>,
    /// The edits.
    pub edits: Vec<TextEdit>,
    /// How strictly.
    pub tiers: Tiers,
}

/// The labels of a file's lines.
pub fn labels(file: &[u8]) -> Labels {
    let object = ObjectId {
        device: 1,
        inode: 2,
    };
    // Another content, another digest, as far as a fuzz target needs it.
    let mut digest = [0_u8; 32];
    for (n, byte) in file.iter().enumerate() {
        digest[n % 32] = byte.wrapping_add(digest[n % 32].rotate_left(3));
    }
    Labels::new(object, &Digest(digest))
}

/// The lines of a text, each with its terminator.
pub fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

fn text(u: &mut Unstructured<'_>, most: usize) -> Result<Vec<u8>> {
    if u.ratio(1, 8)? {
        let bytes: &[u8] = u.arbitrary()?;
        return Ok(bytes.to_vec());
    }
    let mut text = Vec::new();
    for _ in 0..u.int_in_range(0..=most)? {
        text.extend_from_slice(u.choose(&LINES)?);
        let terminator = if u.ratio(3, 4)? {
            0
        } else {
            u.choose_index(3)?
        };
        text.extend_from_slice(TERMINATORS[terminator]);
    }
    Ok(text)
}

impl World {
    /// One of them.
    pub fn arbitrary(u: &mut Unstructured<'_>) -> Result<Self> {
        let tiers = Tiers::try_from(1 | u.int_in_range(0_u8..=31)?).unwrap_or(Tiers::EXACT);
        let mut world = Self {
            file: text(u, 12)?,
            content: Vec::new(),
            edits: Vec::new(),
            tiers,
        };
        for _ in 0..u.int_in_range(1..=4)? {
            let edit = world.edit(u)?;
            world.edits.push(edit);
        }
        Ok(world)
    }

    fn span(&mut self, bytes: &[u8]) -> Span {
        let start = self.content.len();
        self.content.extend_from_slice(bytes);
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Span {
            start: number(start),
            len: number(bytes.len()),
        }
    }

    /// A piece of the file, or any text.
    fn piece(&mut self, u: &mut Unstructured<'_>) -> Result<Span> {
        if u.ratio(1, 16)? {
            let (start, len) = u.arbitrary()?;
            return Ok(Span { start, len });
        }
        let piece = if u.ratio(1, 2)? && !self.file.is_empty() {
            let start = u.choose_index(self.file.len())?;
            let end = u.int_in_range(start..=self.file.len())?;
            self.file[start..end].to_vec()
        } else {
            text(u, 3)?
        };
        Ok(self.span(&piece))
    }

    fn edit(&mut self, u: &mut Unstructured<'_>) -> Result<TextEdit> {
        Ok(match u.int_in_range(0..=7)? {
            0 | 1 => TextEdit::Replace(Replace {
                old: self.piece(u)?,
                new: self.piece(u)?,
                count: if u.ratio(1, 2)? {
                    Count::All
                } else {
                    Count::Exactly(u.int_in_range(0..=3)?)
                },
            }),
            2..=5 => TextEdit::Hunk(self.hunk(u)?),
            6 => TextEdit::Insert(InsertLines {
                line: u.int_in_range(0..=13)?,
                text: self.piece(u)?,
            }),
            _ => {
                let first = self.label(u)?;
                let last = if u.ratio(1, 2)? {
                    first
                } else {
                    self.label(u)?
                };
                let text = self.piece(u)?;
                let deed = match u.int_in_range(0..=2)? {
                    0 => AnchoredDeed::Replace(text),
                    1 => AnchoredDeed::Before(text),
                    _ => AnchoredDeed::After(text),
                };
                TextEdit::Anchored(Anchored { first, last, deed })
            }
        })
    }

    /// The label of a line, or now and then of none.
    fn label(&self, u: &mut Unstructured<'_>) -> Result<Anchor> {
        let lines = lines(&self.file);
        if lines.is_empty() || u.ratio(1, 8)? {
            let bits = u.int_in_range(0..=(1 << 25) - 1)?;
            let tag = Tag::try_from(bits).map_err(|_| arbitrary::Error::IncorrectFormat)?;
            return Ok(Anchor {
                line: u.int_in_range(0..=13)?,
                tag,
            });
        }
        let n = u.choose_index(lines.len())?;
        let line = lines[n];
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Ok(labels(&self.file).label(n as u64 + 1, line))
    }

    /// Some lines of the file, or nearly, with others between them.
    fn hunk(&mut self, u: &mut Unstructured<'_>) -> Result<Hunk> {
        let owned = self.file.clone();
        let lines = lines(&owned);
        let mut at = u.int_in_range(0..=lines.len())?;
        let mut after = Vec::new();
        for _ in 0..u.int_in_range(0..=2)? {
            let lead = *u.choose(&LINES)?;
            after.push(self.span(lead));
        }
        let line = if u.ratio(1, 3)? {
            Some(u.int_in_range(0..=13)?)
        } else {
            None
        };
        let edges = *u.choose(&[
            Edges::Free,
            Edges::Free,
            Edges::Start,
            Edges::End,
            Edges::Both,
        ])?;
        let mut parts = Vec::new();
        for _ in 0..u.int_in_range(0..=5)? {
            let kind = u.int_in_range(0..=2)?;
            let taken = match lines.get(at) {
                Some(line) if kind < 2 && u.ratio(7, 8)? => {
                    at += 1;
                    line.to_vec()
                }
                Some(_) | None => text(u, 1)?,
            };
            let span = self.span(&taken);
            parts.push(match kind {
                0 => Part::Keep(span),
                1 => Part::Remove(span),
                _ => Part::Insert(span),
            });
        }
        let few = |_| arbitrary::Error::IncorrectFormat;
        Ok(Hunk {
            after: Few::new(after).map_err(few)?,
            line,
            edges,
            parts: Few::new(parts).map_err(few)?,
        })
    }
}

/// The one text that is to be replaced byte for byte, if that is all.
pub fn only_replace(world: &World) -> Option<(&[u8], &[u8], Count)> {
    let [TextEdit::Replace(replace)] = world.edits.as_slice() else {
        return None;
    };
    let exact = world.tiers.iter().all(|tier| tier == Tier::Exact);
    let old = replace.old.of(&world.content)?;
    let new = replace.new.of(&world.content)?;
    (exact && !old.is_empty() && replace.count != Count::Exactly(0)).then_some((
        old,
        new,
        replace.count,
    ))
}
