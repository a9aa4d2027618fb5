//! Edits as a gate gets them: spans of one content.

use portcullis_client::Changes;
use portcullis_client::change::{self, AnchoredDeed, Item};
use portcullis_gate::matching::Edits;
use portcullis_protocol::bounded::Few;
use portcullis_protocol::session::{
    self, Anchored, Hunk, InsertLines, Part, Replace, Span, TextEdit, Tiers,
};

/// The edits of one file.
pub struct Wired {
    content: Vec<u8>,
    edits: Vec<TextEdit>,
    tiers: Tiers,
}

impl Wired {
    /// Of changes that are edits of one file.
    pub fn new(changes: &Changes) -> Self {
        let [Item::Edit(edit)] = changes.items() else {
            panic!("one edit of one file: {} changes", changes.items().len());
        };
        let mut wired = Self {
            content: Vec::new(),
            edits: Vec::new(),
            tiers: edit.tiers,
        };
        for edit in &edit.edits {
            let edit = wired.edit(edit);
            wired.edits.push(edit);
        }
        wired
    }

    pub fn edits(&self) -> Edits<'_> {
        Edits {
            edits: &self.edits,
            tiers: self.tiers,
            content: &self.content,
        }
    }

    fn span(&mut self, bytes: &[u8]) -> Span {
        let number = |n: usize| u32::try_from(n).unwrap();
        let start = number(self.content.len());
        self.content.extend_from_slice(bytes);
        let len = number(bytes.len());
        Span { start, len }
    }

    fn edit(&mut self, edit: &change::TextEdit) -> TextEdit {
        match edit {
            change::TextEdit::Replace(replace) => TextEdit::Replace(Replace {
                old: self.span(&replace.old),
                new: self.span(&replace.new),
                count: replace.count,
            }),
            change::TextEdit::Hunk(hunk) => TextEdit::Hunk(self.hunk(hunk)),
            change::TextEdit::Insert { line, text } => TextEdit::Insert(InsertLines {
                line: *line,
                text: self.span(text),
            }),
            change::TextEdit::Anchored { first, last, deed } => {
                let deed = match deed {
                    AnchoredDeed::Replace(text) => session::AnchoredDeed::Replace(self.span(text)),
                    AnchoredDeed::Before(text) => session::AnchoredDeed::Before(self.span(text)),
                    AnchoredDeed::After(text) => session::AnchoredDeed::After(self.span(text)),
                };
                TextEdit::Anchored(Anchored {
                    first: *first,
                    last: *last,
                    deed,
                })
            }
        }
    }

    fn hunk(&mut self, hunk: &change::Hunk) -> Hunk {
        let after: Vec<Span> = hunk.after.iter().map(|lead| self.span(lead)).collect();
        let parts: Vec<Part> = hunk
            .parts
            .iter()
            .map(|part| match part {
                change::Part::Keep(text) => Part::Keep(self.span(text)),
                change::Part::Remove(text) => Part::Remove(self.span(text)),
                change::Part::Insert(text) => Part::Insert(self.span(text)),
            })
            .collect();
        Hunk {
            after: Few::new(after).unwrap(),
            line: hunk.line,
            edges: hunk.edges,
            parts: Few::new(parts).unwrap(),
        }
    }
}
