//! What of a block stays, goes and comes.

use crate::change::Hunk;

/// Cells of the table the lines between the first difference and the last are compared in. Beyond
/// that all old ones go and all new ones come, which is the same but for lines the file has with
/// other blanks at their end or another terminator.
const CELLS_MAX: usize = 1 << 18;

/// The hunk that makes the new lines of the old ones. Lines both have stay in it.
pub(super) fn hunk(old: &[&[u8]], new: &[&[u8]]) -> Hunk {
    let pairs = |pairs: &mut dyn Iterator<Item = (&&[u8], &&[u8])>| {
        pairs.take_while(|(old, new)| old == new).count()
    };
    let before = pairs(&mut old.iter().zip(new));
    let (before_old, old) = old.split_at(before);
    let (_, new) = new.split_at(before);
    let after = pairs(&mut old.iter().rev().zip(new.iter().rev()));
    let (old, after_old) = old.split_at(old.len() - after);
    let (new, _) = new.split_at(new.len() - after);

    let mut hunk = Hunk::new();
    before_old.iter().for_each(|line| hunk.keep(line));
    let (mut from_old, mut from_new) = (0, 0);
    for (at_old, at_new) in common(old, new) {
        put(
            &mut hunk,
            old.get(from_old..at_old),
            new.get(from_new..at_new),
        );
        if let Some(line) = old.get(at_old) {
            hunk.keep(line);
        }
        (from_old, from_new) = (at_old + 1, at_new + 1);
    }
    put(&mut hunk, old.get(from_old..), new.get(from_new..));
    after_old.iter().for_each(|line| hunk.keep(line));
    hunk
}

fn put(hunk: &mut Hunk, old: Option<&[&[u8]]>, new: Option<&[&[u8]]>) {
    for line in old.unwrap_or_default() {
        hunk.remove(line);
    }
    for line in new.unwrap_or_default() {
        hunk.insert(line);
    }
}

/// Where the lines of a longest common subsequence are, in both.
fn common(old: &[&[u8]], new: &[&[u8]]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    let cells = (old.len() + 1).saturating_mul(width);
    if old.is_empty() || new.is_empty() || cells > CELLS_MAX {
        return Vec::new();
    }
    // How many lines the two have in common from here on.
    let mut left = vec![0_u32; cells];
    let at = |i: usize, j: usize| i * width + j;
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            left[at(i, j)] = if old[i] == new[j] {
                left[at(i + 1, j + 1)] + 1
            } else {
                left[at(i + 1, j)].max(left[at(i, j + 1)])
            };
        }
    }
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            found.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if left[at(i + 1, j)] >= left[at(i, j + 1)] {
            i += 1;
        } else {
            j += 1;
        }
    }
    found
}
