//! SEARCH/REPLACE blocks: the name of a file, then the lines that are looked for and those that
//! come instead.
//!
//! ```text
//! src/main.rs
//! <<<<<<< SEARCH
//! old lines
//! =======
//! new lines
//! >>>>>>> REPLACE
//! ```

mod body;
mod difference;
mod mark;
mod name;

use super::wrapper::Fence;
use super::{Lines, Names, PatchError, shown};
use crate::change::{Changes, Edit, TextEdit, Tiers, create};
use body::Block;
use mark::Mark;
use portcullis_protocol::session::{Expect, Parents, Selector};

/// Whether a line shows that a text is written in this format, be it moved in.
pub(super) fn is_mark(line: &[u8]) -> bool {
    matches!(Mark::of(line.trim_ascii_start()), Some(Mark::Search(_)))
}

/// Reads all blocks. Words between them are passed over; only the last line before a block counts.
pub(super) fn parse(lines: &mut Lines<'_>, names: Names<'_>) -> Result<Changes, PatchError> {
    let mut blocks = Blocks::default();
    let mut before = Before::Nothing;
    while let Some((number, line)) = lines.next() {
        match Mark::of(line) {
            Some(Mark::Search(fence)) => {
                let block = Block::read(number, fence, lines)?;
                blocks.put(names, before, &block)?;
                before = Before::Nothing;
            }
            Some(mark @ (Mark::Divider(_) | Mark::Replace(_))) => {
                return Err(PatchError::new(
                    number,
                    format!(
                        "`{}` stands outside of a block, {}",
                        shown(line),
                        match mark {
                            Mark::Replace(_) => "which begins with `<<<<<<< SEARCH`",
                            Mark::Search(_) | Mark::Divider(_) =>
                                "or the one before it is closed too early: inside, a line of the \
                                 file that looks like a mark has `\\` before it",
                        }
                    ),
                ));
            }
            None if is_mark(line) => {
                return Err(PatchError::new(
                    number,
                    "a block is moved in: its marks begin at the first column, and its lines are \
                     those of the file as they are",
                ));
            }
            None => before = before.then(number, line),
        }
    }
    Ok(blocks.done())
}

/// What stands before a block, as far as it can name its file.
#[derive(Debug, Clone, Copy)]
enum Before<'p> {
    Nothing,
    /// The last line with words in it.
    Words(usize, &'p [u8]),
    /// Nothing but what the code fence is said to hold, which looks like a name.
    Info(usize, &'p [u8]),
}

impl<'p> Before<'p> {
    fn then(self, number: usize, line: &'p [u8]) -> Self {
        let line = line.trim_ascii();
        if line.is_empty() {
            return self;
        }
        if Fence::opened_by(line).is_none() {
            return Self::Words(number, line);
        }
        let info = line.trim_ascii_start();
        let info = info
            .iter()
            .position(|byte| !matches!(byte, b'`' | b'~'))
            .and_then(|at| info.get(at..))
            .unwrap_or_default();
        match self {
            Self::Words(..) => self,
            Self::Nothing | Self::Info(..) if info.iter().any(|byte| b"/.".contains(byte)) => {
                Self::Info(number, info)
            }
            Self::Nothing | Self::Info(..) => self,
        }
    }
}

/// The blocks so far.
#[derive(Debug, Default)]
struct Blocks {
    changes: Changes,
    /// The file of the last block.
    file: Option<Selector>,
    /// Blocks of that file that are looked for in it as it is before any of them.
    edits: Vec<TextEdit>,
}

impl Blocks {
    fn put(
        &mut self,
        names: Names<'_>,
        before: Before<'_>,
        block: &Block<'_>,
    ) -> Result<(), PatchError> {
        let named = match before {
            Before::Words(number, line) => Some(names.selector(number, &name::of(number, line)?)?),
            Before::Info(number, info) => {
                Some(names.selector(number, &name::of_info(number, info)?)?)
            }
            Before::Nothing => None,
        };
        match (named, &self.file) {
            // Named again, a block follows the one before; its line, if it says one, is still
            // that of the file before both.
            (Some(file), Some(same)) if *same == file => {
                if block.line.is_none() {
                    self.close();
                }
            }
            (Some(file), _) => {
                self.close();
                self.file = Some(file);
            }
            (None, Some(_)) => {}
            (None, None) => {
                return Err(PatchError::new(
                    block.number,
                    "the block names no file: write its name alone on the line before `<<<<<<< \
                     SEARCH`",
                ));
            }
        }
        if block.search.is_empty() {
            self.close();
            if let Some(file) = &self.file {
                let mut made = create(file.clone(), block.content());
                made.parents = Parents::Make;
                self.changes.push(made);
            }
        } else {
            self.edits.push(TextEdit::Hunk(block.hunk()));
        }
        Ok(())
    }

    /// Ends the edit of the last file, if there is one.
    fn close(&mut self) {
        let edits = std::mem::take(&mut self.edits);
        if let Some(file) = &self.file
            && !edits.is_empty()
        {
            self.changes.push(Edit {
                selector: file.clone(),
                expect: Expect::Any,
                edits,
                tiers: Tiers::DEFAULT,
                mode: None,
            });
        }
    }

    fn done(mut self) -> Changes {
        self.close();
        self.changes
    }
}
