//! What a change set means, the simple way: over files in memory.

use super::super::PatchError;
use crate::change::{At, Changes, Content, Item, Replace};
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
                *file = replaced(file, &edit.replacements)?;
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

fn replaced(file: &[u8], replacements: &[Replace]) -> Option<Vec<u8>> {
    let mut places = Vec::new();
    for one in replacements {
        let start = place(file, one)?;
        places.push((start, start + one.old.len(), &one.new));
    }
    places.sort();
    let (mut out, mut at) = (Vec::new(), 0);
    for (start, end, new) in places {
        out.extend_from_slice(file.get(at..start)?);
        out.extend_from_slice(new);
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

fn place(file: &[u8], one: &Replace) -> Option<usize> {
    let is_at = |at: usize| {
        let end = at + one.old.len();
        file.get(at..end) == Some(one.old.as_slice())
            && (one.old.is_empty() || one.old.ends_with(b"\n") || end == file.len())
    };
    let starts = line_starts(file);
    let only = |from: usize| {
        let mut hits = starts.iter().filter(|at| **at >= from && is_at(**at));
        hits.next().filter(|_| hits.next().is_none()).copied()
    };
    match &one.at {
        At::Line(line) => {
            let start = starts.get(usize::try_from(line - 1).ok()?);
            start.filter(|at| is_at(**at)).copied().or_else(|| only(0))
        }
        At::After(anchors) => {
            let mut from = 0;
            for anchor in anchors {
                let line = [anchor.as_slice(), b"\n"].concat();
                let mut found = starts.iter().filter(|at| **at >= from);
                from = found.find(|at| file.get(**at..).unwrap().starts_with(&line))? + line.len();
            }
            if one.old.is_empty() {
                Some(from)
            } else {
                only(from)
            }
        }
        At::All | At::Anywhere(_) => None,
    }
}

/// Reads a patch and applies it.
pub(super) fn patched(patch: &[u8], files: &Files) -> Result<Option<Files>, PatchError> {
    Ok(apply(&super::super::parse_any(patch, None)?, files))
}
