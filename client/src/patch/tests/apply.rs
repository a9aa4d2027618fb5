//! What a change set means, the simple way: over files in memory, byte for byte.

use super::super::PatchError;
use crate::change::{Changes, Content, Edges, Hunk, Item, Part, TextEdit};
use std::collections::BTreeMap;

pub(super) type Files = BTreeMap<Vec<u8>, Vec<u8>>;

/// The files after the changes; nothing when one does not fit.
pub(super) fn apply(changes: &Changes, files: &Files) -> Option<Files> {
    let mut files = files.clone();
    for item in changes.items() {
        match item {
            Item::Write(write) => {
                let Content::Bytes(bytes) = &write.content else {
                    return None;
                };
                let name = write.selector.path.as_slice().to_vec();
                if files.insert(name, bytes.clone()).is_some() {
                    return None;
                }
            }
            Item::Edit(edit) => {
                let file = files.get_mut(edit.selector.path.as_slice())?;
                *file = replaced(file, &edit.edits)?;
            }
            Item::Delete(gone) => drop(files.remove(gone.selector.path.as_slice())?),
            Item::Move(moved) => {
                let file = files.remove(moved.source.path.as_slice())?;
                let name = moved.destination.path.as_slice().to_vec();
                if files.insert(name, file).is_some() {
                    return None;
                }
            }
            Item::Mkdir(_) | Item::Chmod(_) | Item::Link(_) => return None,
        }
    }
    Some(files)
}

/// What a hunk looks for, and what is there afterwards.
pub(super) fn sides(hunk: &Hunk) -> (Vec<u8>, Vec<u8>) {
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for part in &hunk.parts {
        match part {
            Part::Keep(run) => {
                old.extend_from_slice(run);
                new.extend_from_slice(run);
            }
            Part::Remove(run) => old.extend_from_slice(run),
            Part::Insert(run) => new.extend_from_slice(run),
        }
    }
    (old, new)
}

fn replaced(file: &[u8], edits: &[TextEdit]) -> Option<Vec<u8>> {
    let mut places = Vec::new();
    for edit in edits {
        let TextEdit::Hunk(hunk) = edit else {
            return None;
        };
        let (old, new) = sides(hunk);
        let start = place(file, hunk, &old)?;
        places.push((start, start + old.len(), new));
    }
    places.sort();
    let (mut out, mut at) = (Vec::new(), 0);
    for (start, end, new) in places {
        out.extend_from_slice(file.get(at..start)?);
        out.extend_from_slice(&new);
        at = end;
    }
    out.extend_from_slice(file.get(at..)?);
    Some(out)
}

/// Where lines begin, the end included when the last one ends in a newline or there is none.
fn line_starts(file: &[u8]) -> Vec<usize> {
    let ends = file.iter().enumerate().filter(|(_, b)| **b == b'\n');
    std::iter::once(0)
        .chain(ends.map(|(at, _)| at + 1))
        .collect()
}

fn place(file: &[u8], hunk: &Hunk, old: &[u8]) -> Option<usize> {
    let is_at = |at: usize| {
        let end = at + old.len();
        let wanted = match hunk.edges {
            Edges::Free => true,
            Edges::Start => at == 0,
            Edges::End => end == file.len(),
            Edges::Both => at == 0 && end == file.len(),
        };
        wanted
            && file.get(at..end) == Some(old)
            && (old.is_empty() || old.ends_with(b"\n") || end == file.len())
    };
    let starts = line_starts(file);
    let mut from = 0;
    for lead in &hunk.after {
        let line = [lead.as_slice(), b"\n"].concat();
        let mut found = starts.iter().filter(|at| **at >= from);
        from = found.find(|at| file.get(**at..).unwrap().starts_with(&line))? + line.len();
    }
    let hinted = hunk.line.and_then(|line| {
        let start = starts.get(usize::try_from(line - 1).ok()?);
        start.filter(|at| is_at(**at)).copied()
    });
    if hinted.is_some() {
        return hinted;
    }
    if old.is_empty() && !hunk.after.is_empty() {
        return Some(from);
    }
    let mut hits = starts.iter().filter(|at| **at >= from && is_at(**at));
    hits.next().filter(|_| hits.next().is_none()).copied()
}

/// Reads a patch and applies it.
pub(super) fn patched(patch: &[u8], files: &Files) -> Result<Option<Files>, PatchError> {
    Ok(apply(&super::super::parse_any(patch, None)?, files))
}
