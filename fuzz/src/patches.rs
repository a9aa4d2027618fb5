//! What must hold of any changes that a patch text was read as.

use portcullis_client::Changes;
use portcullis_client::change::{
    AnchoredDeed, Content, Count, Edit, Hunk, Item, Part, Replace, TextEdit,
};
use portcullis_client::patch::{Format, PatchError};

/// Every format.
pub const FORMATS: [Format; 4] = [Format::V4a, Format::Unified, Format::Blocks, Format::Edits];

/// Whether a format is in [`FORMATS`]: one more does not compile before it is.
pub fn is_listed(format: Format) -> bool {
    match format {
        Format::V4a | Format::Unified | Format::Blocks | Format::Edits => FORMATS.contains(&format),
    }
}

/// A text is read as changes that say something, or refused with a place in it.
pub fn check(patch: &[u8], read: &Result<Changes, PatchError>) {
    match read {
        Ok(changes) => check_changes(patch, changes),
        Err(error) => {
            let lines = 1 + patch.iter().filter(|byte| **byte == b'\n').count();
            assert!((1..=lines).contains(&error.line()), "{error}");
            let shown = error.to_string();
            assert!(!shown.chars().any(char::is_control), "{shown:?}");
            assert!(shown.len() < 1024, "{} bytes of message", shown.len());
        }
    }
}

fn check_changes(patch: &[u8], changes: &Changes) {
    assert!(!changes.items().is_empty());
    let mut bytes = 0;
    for item in changes.items() {
        match item {
            Item::Write(write) => match &write.content {
                Content::Bytes(content) => bytes += content.len(),
                Content::Upload(_) => panic!("a patch names no upload"),
            },
            Item::Edit(edit) => bytes += check_edit(edit),
            Item::Mkdir(_) | Item::Move(_) | Item::Delete(_) | Item::Chmod(_) | Item::Link(_) => {}
        }
    }
    // What is read comes from the text: a line once, with a newline that it may have lacked.
    let lines = 1 + patch.iter().filter(|byte| **byte == b'\n').count();
    assert!(bytes <= patch.len() + lines, "{bytes} of {}", patch.len());
}

/// Gives the bytes of its texts.
fn check_edit(edit: &Edit) -> usize {
    assert!(
        !edit.edits.is_empty() || edit.mode.is_some(),
        "an edit of nothing"
    );
    edit.edits
        .iter()
        .map(|edit| match edit {
            TextEdit::Replace(replace) => check_replace(replace),
            TextEdit::Hunk(hunk) => check_hunk(hunk),
            TextEdit::Insert { line: _, text } => text.len(),
            TextEdit::Anchored { first, last, deed } => {
                assert!(first.line > 0 && last.line > 0);
                match deed {
                    AnchoredDeed::Replace(text)
                    | AnchoredDeed::Before(text)
                    | AnchoredDeed::After(text) => text.len(),
                }
            }
        })
        .sum()
}

fn check_replace(replace: &Replace) -> usize {
    assert!(!replace.old.is_empty(), "an empty text is everywhere");
    assert_ne!(replace.count, Count::Exactly(0));
    replace.old.len() + replace.new.len()
}

fn check_hunk(hunk: &Hunk) -> usize {
    assert_ne!(hunk.line, Some(0), "lines are counted from 1");
    for lead in &hunk.after {
        assert!(!lead.contains(&b'\n'), "a lead is one line");
    }
    let leads: usize = hunk.after.iter().map(Vec::len).sum();
    // Whole lines: only the last of what was there, and of what is to be, may lack a newline.
    let mut old_ended = true;
    let mut new_ended = true;
    let mut bytes = leads;
    for part in &hunk.parts {
        let (text, old, new) = match part {
            Part::Keep(text) => (text, true, true),
            Part::Remove(text) => (text, true, false),
            Part::Insert(text) => (text, false, true),
        };
        assert!(!text.is_empty(), "a run without lines");
        assert!(!old || old_ended, "old lines after the end of the file");
        assert!(!new || new_ended, "new lines after the end of the file");
        let ended = text.ends_with(b"\n");
        old_ended &= !old || ended;
        new_ended &= !new || ended;
        bytes += text.len();
    }
    bytes
}
