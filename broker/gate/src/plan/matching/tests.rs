//! How edits are found and made.

mod blocks;
mod cost;
mod generated;
mod letters;
mod lines;
mod properties;
mod reference;
mod texts;

use super::{Edited, Edits, Miss, apply};
use portcullis_protocol::anchor::{Anchor, Labels};
use portcullis_protocol::bounded::Few;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{
    Anchored, AnchoredDeed, Count, Edges, Hunk, InsertLines, Part, Replace, Span, TextEdit, Tier,
    Tiers,
};
use portcullis_protocol::view::{Digest, ObjectId};

/// Edits with the content their spans are of.
#[derive(Default)]
struct Plan {
    content: Vec<u8>,
    edits: Vec<TextEdit>,
}

/// A hunk before its texts are in the content.
#[derive(Clone)]
struct Lines<'a> {
    after: &'a [&'a str],
    line: Option<u64>,
    edges: Edges,
    /// Each with its sign, as in a diff, and with its terminator.
    lines: &'a [&'a str],
}

/// A hunk that may be anywhere.
fn hunk<'a>(lines: &'a [&'a str]) -> Lines<'a> {
    Lines {
        after: &[],
        line: None,
        edges: Edges::Free,
        lines,
    }
}

impl Plan {
    fn span(&mut self, bytes: &[u8]) -> Span {
        let start = u32::try_from(self.content.len()).unwrap();
        self.content.extend_from_slice(bytes);
        let len = u32::try_from(bytes.len()).unwrap();
        Span { start, len }
    }

    fn replace(self, old: impl AsRef<[u8]>, new: impl AsRef<[u8]>) -> Self {
        self.replace_some(old, new, Count::Exactly(1))
    }

    fn replace_some(mut self, old: impl AsRef<[u8]>, new: impl AsRef<[u8]>, count: Count) -> Self {
        let (old, new) = (self.span(old.as_ref()), self.span(new.as_ref()));
        self.edits
            .push(TextEdit::Replace(Replace { old, new, count }));
        self
    }

    fn hunk(mut self, hunk: &Lines<'_>) -> Self {
        let after = hunk.after.iter().map(|lead| self.span(lead.as_bytes()));
        let after = after.collect::<Vec<_>>();
        let parts = hunk.lines.iter().map(|line| {
            let span = self.span(&line.as_bytes()[1..]);
            match &line[..1] {
                " " => Part::Keep(span),
                "-" => Part::Remove(span),
                "+" => Part::Insert(span),
                other => panic!("{other}"),
            }
        });
        let parts = parts.collect::<Vec<_>>();
        self.edits.push(TextEdit::Hunk(Hunk {
            after: Few::new(after).unwrap(),
            line: hunk.line,
            edges: hunk.edges,
            parts: Few::new(parts).unwrap(),
        }));
        self
    }

    fn insert(mut self, line: u64, text: &str) -> Self {
        let text = self.span(text.as_bytes());
        self.edits
            .push(TextEdit::Insert(InsertLines { line, text }));
        self
    }

    fn anchored(mut self, first: Anchor, last: Anchor, deed: AnchoredDeed, text: &str) -> Self {
        let span = self.span(text.as_bytes());
        let deed = match deed {
            AnchoredDeed::Replace(_) => AnchoredDeed::Replace(span),
            AnchoredDeed::Before(_) => AnchoredDeed::Before(span),
            AnchoredDeed::After(_) => AnchoredDeed::After(span),
        };
        let one = Anchored { first, last, deed };
        self.edits.push(TextEdit::Anchored(one));
        self
    }

    fn by(&self, tiers: Tiers, old: impl AsRef<[u8]>) -> Result<Edited, Miss> {
        let order = Edits {
            edits: &self.edits,
            tiers,
            content: &self.content,
        };
        apply(old.as_ref(), order, || labels(old.as_ref()))
    }

    /// The new content, by the default tiers.
    #[track_caller]
    fn on(&self, old: impl AsRef<[u8]>) -> String {
        self.text(Tiers::DEFAULT, old)
    }

    /// Bytes that are no UTF-8 are shown as `\xE9`.
    #[track_caller]
    fn text(&self, tiers: Tiers, old: impl AsRef<[u8]>) -> String {
        match self.by(tiers, old) {
            Ok(edited) => shown(&edited.bytes),
            Err(miss) => panic!("{miss:?}"),
        }
    }

    #[track_caller]
    fn tier(&self, tiers: Tiers, old: impl AsRef<[u8]>) -> Tier {
        self.by(tiers, old).unwrap().places[0].tier
    }

    #[track_caller]
    fn miss(&self, old: impl AsRef<[u8]>) -> Miss {
        self.by(Tiers::DEFAULT, old).expect_err("refused")
    }

    /// Refused for a text that is not in one place; the note says this.
    #[track_caller]
    fn missing(&self, tiers: Tiers, old: impl AsRef<[u8]>, note: &str) {
        let miss = self.by(tiers, old).expect_err("refused");
        assert_eq!(miss.code, Code::NotUnique, "{miss:?}");
        assert!(miss.note.contains(note), "{miss:?}");
        assert!(miss.note.len() <= 256, "{miss:?}");
    }
}

fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02X}"));
        }
    }
    text
}

fn labels(old: &[u8]) -> Labels {
    let object = ObjectId {
        device: 1,
        inode: 2,
    };
    Labels::new(object, &Digest(*blake3::hash(old).as_bytes()))
}

fn lines_of(first: u64, count: u64) -> portcullis_protocol::session::Lines {
    portcullis_protocol::session::Lines { first, count }
}

const INDENTATION: Tiers = Tiers::DEFAULT.with(Tier::Indentation);
const PUNCTUATION: Tiers = Tiers::DEFAULT.with(Tier::Punctuation);
