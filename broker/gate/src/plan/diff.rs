//! The difference a change set makes, as a unified diff, bounded: what does not fit is counted.

use crate::sys::file;
use portcullis_protocol::limits::DIFF_BYTES_MAX;
use portcullis_protocol::path::{RelPath, escape};
use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};
use std::os::fd::BorrowedFd;

/// Largest file whose lines are compared, in bytes.
pub(super) const FILE_BYTES_MAX: usize = 256 * 1024;
/// Lines compared one by one at most; more between the common beginning and end are shown as
/// replaced whole, which is as true and longer.
const LINES_MAX: usize = 4096;
/// Lines around a change.
const CONTEXT: usize = 3;

/// One side of a change.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side<'a> {
    /// Nothing of that name.
    None,
    /// A file of these bytes.
    Text(&'a [u8]),
    /// A file of this many bytes, to be read.
    File(BorrowedFd<'a>, u64),
    /// A symbolic link of this text.
    Link(&'a [u8]),
    /// Something whose content the session may not see.
    Withheld,
}

/// A unified diff under construction.
#[derive(Debug, Default)]
pub(crate) struct Diff {
    bytes: Vec<u8>,
    cut: u64,
}

impl Diff {
    /// The diff, at most [`DIFF_BYTES_MAX`] bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes that did not fit.
    pub(crate) fn cut(&self) -> u64 {
        self.cut
    }

    fn put(&mut self, text: &[u8]) {
        let room = DIFF_BYTES_MAX - self.bytes.len();
        // Nothing after the first cut, so that what is there is a beginning.
        let fits = if self.cut > 0 {
            0
        } else {
            room.min(text.len())
        };
        let (kept, cut) = text.split_at(fits);
        self.bytes.extend_from_slice(kept);
        self.cut += u64::try_from(cut.len()).unwrap_or(u64::MAX);
    }

    /// A file or link that is made, changed or removed; its names and its permission bits before
    /// and after.
    pub(super) fn add(
        &mut self,
        (from, to): (&RelPath, &RelPath),
        (was, is): (u16, u16),
        old: Side<'_>,
        new: Side<'_>,
    ) {
        let (had, name) = (escape(from.as_bytes()), escape(to.as_bytes()));
        let (mut old_room, mut new_room) = (Vec::new(), Vec::new());
        let (before, after) = (read(old, &mut old_room), read(new, &mut new_room));
        self.put(format!("diff --git a/{had} b/{name}\n").as_bytes());
        let mode = |side: Side<'_>, bits: u16| match side {
            Side::Link(_) => "120000".to_owned(),
            Side::None | Side::Text(_) | Side::File(..) | Side::Withheld => {
                format!("100{:03o}", bits & 0o777)
            }
        };
        let (was, is) = (mode(old, was), mode(new, is));
        match (old, new) {
            (Side::None, _) => self.put(format!("new file mode {is}\n").as_bytes()),
            (_, Side::None) => self.put(format!("deleted file mode {was}\n").as_bytes()),
            _ if was != is => self.put(format!("old mode {was}\nnew mode {is}\n").as_bytes()),
            (
                Side::Text(_) | Side::File(..) | Side::Link(_) | Side::Withheld,
                Side::Text(_) | Side::File(..) | Side::Link(_) | Side::Withheld,
            ) => {}
        }
        if had != name {
            self.put(format!("rename from {had}\nrename to {name}\n").as_bytes());
        }
        let (Ok(before), Ok(after)) = (before, after) else {
            let why = match (old, new) {
                (Side::Withheld, _) | (_, Side::Withheld) => "content not shown: no right to read",
                (
                    Side::None | Side::Text(_) | Side::File(..) | Side::Link(_),
                    Side::None | Side::Text(_) | Side::File(..) | Side::Link(_),
                ) => "Binary or large files differ",
            };
            self.put(format!("{why}: {name}\n").as_bytes());
            return;
        };
        if before == after {
            return;
        }
        let side = |named: String, side: Side<'_>| match side {
            Side::None => "/dev/null".to_owned(),
            Side::Text(_) | Side::File(..) | Side::Link(_) | Side::Withheld => named,
        };
        let (a, b) = (format!("a/{had}"), format!("b/{name}"));
        self.put(format!("--- {}\n+++ {}\n", side(a, old), side(b, new)).as_bytes());
        self.hunks(before, after);
    }

    /// An object that gets another name; its permission bits before and after.
    pub(super) fn renamed(&mut self, (from, to): (&RelPath, &RelPath), (was, is): (u16, u16)) {
        let (from, to) = (escape(from.as_bytes()), escape(to.as_bytes()));
        let modes = if was == is {
            String::new()
        } else {
            let (was, is) = (was & 0o777, is & 0o777);
            format!("old mode 100{was:03o}\nnew mode 100{is:03o}\n")
        };
        let text = format!(
            "diff --git a/{from} b/{to}\n{modes}similarity index 100%\nrename from {from}\nrename to {to}\n"
        );
        self.put(text.as_bytes());
    }

    /// An object whose permission bits change.
    pub(super) fn mode(&mut self, path: &RelPath, old: u16, new: u16) {
        let name = escape(path.as_bytes());
        let text = format!(
            "diff --git a/{name} b/{name}\nold mode 100{:03o}\nnew mode 100{:03o}\n",
            old & 0o777,
            new & 0o777
        );
        self.put(text.as_bytes());
    }

    fn hunks(&mut self, old: &[u8], new: &[u8]) {
        let (old, new) = (lines(old), lines(new));
        for group in group_diff_ops(compared(&old, &new), CONTEXT) {
            let (Some(first), Some(last)) = (group.first(), group.last()) else {
                continue;
            };
            let range = |start: usize, end: usize| {
                let first = if end == start { start } else { start + 1 };
                format!("{first},{}", end - start)
            };
            let a = range(first.old_range().start, last.old_range().end);
            let b = range(first.new_range().start, last.new_range().end);
            self.put(format!("@@ -{a} +{b} @@\n").as_bytes());
            for op in &group {
                let (a, b) = (op.old_range(), op.new_range());
                match op {
                    DiffOp::Equal { .. } => self.lines(b" ", old.get(a)),
                    DiffOp::Delete { .. } => self.lines(b"-", old.get(a)),
                    DiffOp::Insert { .. } => self.lines(b"+", new.get(b)),
                    DiffOp::Replace { .. } => {
                        self.lines(b"-", old.get(a));
                        self.lines(b"+", new.get(b));
                    }
                }
            }
        }
    }

    fn lines(&mut self, sign: &[u8], lines: Option<&[&[u8]]>) {
        for line in lines.unwrap_or_default() {
            self.put(sign);
            self.put(line);
            if !line.ends_with(b"\n") {
                self.put(b"\n\\ No newline at end of file\n");
            }
        }
    }
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let ends = || memchr::memchr_iter(b'\n', bytes).map(|end| end + 1);
    let mut lines = Vec::with_capacity(ends().count() + 1);
    let mut start = 0;
    for end in ends() {
        lines.push(bytes.get(start..end).unwrap_or_default());
        start = end;
    }
    let rest = bytes.get(start..).unwrap_or_default();
    lines.extend((!rest.is_empty()).then_some(rest));
    lines
}

/// The operations from one side to the other. Common beginnings and ends, which is most of most
/// edits, are not handed to the search.
fn compared(old: &[&[u8]], new: &[&[u8]]) -> Vec<DiffOp> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let shorter = old.len().min(new.len()) - head;
    let tails = old.iter().rev().zip(new.iter().rev());
    let tail = tails.take(shorter).take_while(|(a, b)| a == b).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let mut ops = Vec::new();
    if head > 0 {
        ops.push(DiffOp::Equal {
            old_index: 0,
            new_index: 0,
            len: head,
        });
    }
    let (a, b) = (old.get(head..old_end), new.get(head..new_end));
    let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
    if a.len().max(b.len()) <= LINES_MAX {
        for op in capture_diff_slices(Algorithm::Myers, a, b) {
            ops.push(moved(op, head));
        }
    } else {
        ops.push(DiffOp::Replace {
            old_index: head,
            old_len: a.len(),
            new_index: head,
            new_len: b.len(),
        });
    }
    if tail > 0 {
        ops.push(DiffOp::Equal {
            old_index: old_end,
            new_index: new_end,
            len: tail,
        });
    }
    ops
}

/// The same operation, `by` lines further on both sides.
fn moved(op: DiffOp, by: usize) -> DiffOp {
    match op {
        DiffOp::Equal {
            old_index,
            new_index,
            len,
        } => DiffOp::Equal {
            old_index: old_index + by,
            new_index: new_index + by,
            len,
        },
        DiffOp::Delete {
            old_index,
            old_len,
            new_index,
        } => DiffOp::Delete {
            old_index: old_index + by,
            old_len,
            new_index: new_index + by,
        },
        DiffOp::Insert {
            old_index,
            new_index,
            new_len,
        } => DiffOp::Insert {
            old_index: old_index + by,
            new_index: new_index + by,
            new_len,
        },
        DiffOp::Replace {
            old_index,
            old_len,
            new_index,
            new_len,
        } => DiffOp::Replace {
            old_index: old_index + by,
            old_len,
            new_index: new_index + by,
            new_len,
        },
    }
}

/// The bytes of a side, when they can be shown as lines.
fn read<'a>(side: Side<'a>, room: &'a mut Vec<u8>) -> Result<&'a [u8], ()> {
    let bytes = match side {
        Side::None => return Ok(&[]),
        Side::Text(bytes) | Side::Link(bytes) => bytes,
        Side::Withheld => return Err(()),
        Side::File(fd, size) => {
            // One more than it is to have, so that growth is seen as far as it is shown.
            let size = usize::try_from(size).unwrap_or(FILE_BYTES_MAX);
            *room = vec![0; size.min(FILE_BYTES_MAX) + 1];
            let n = file::read_whole(fd, room, size).map_err(drop)?;
            room.get(..n).unwrap_or_default()
        }
    };
    if bytes.len() > FILE_BYTES_MAX || memchr::memchr(0, bytes).is_some() {
        return Err(());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn diff(old: &str, new: &str) -> String {
        let mut diff = Diff::default();
        let path = RelPath::parse(b"f").unwrap();
        diff.add(
            (&path, &path),
            (0o644, 0o644),
            Side::Text(old.as_bytes()),
            Side::Text(new.as_bytes()),
        );
        String::from_utf8(diff.bytes().to_vec()).unwrap()
    }

    #[test]
    fn a_small_edit_is_one_hunk_with_its_context() {
        let told = diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nX\n6\n7\n8\n9\n");
        let hunk = "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+X\n 6\n 7\n 8\n";
        assert!(told.ends_with(hunk), "{told}");
    }

    #[test]
    fn what_does_not_fit_is_counted_and_nothing_comes_after_it() {
        let path = RelPath::parse(b"f").unwrap();
        let mut diff = Diff::default();
        let big = "x\n".repeat(FILE_BYTES_MAX);
        diff.add(
            (&path, &path),
            (0o644, 0o644),
            Side::None,
            Side::Text(big.as_bytes()),
        );
        assert!(diff.cut() == 0, "too large a file is only named");
        let long = "0123456789abcde\n".repeat(10_000);
        diff.add(
            (&path, &path),
            (0o644, 0o644),
            Side::None,
            Side::Text(long.as_bytes()),
        );
        assert_eq!(diff.bytes().len(), DIFF_BYTES_MAX);
        let cut = diff.cut();
        assert!(cut > 0);
        diff.add(
            (&path, &path),
            (0o644, 0o644),
            Side::None,
            Side::Text(b"y\n"),
        );
        assert!(diff.cut() > cut);
        assert_eq!(diff.bytes().len(), DIFF_BYTES_MAX);
    }

    /// Applies a unified diff the slow way.
    fn apply(old: &str, told: &str) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut out, mut at) = (String::new(), 0);
        let mut lines = told
            .split_inclusive('\n')
            .skip_while(|l| !l.starts_with("@@"))
            .peekable();
        while let Some(line) = lines.next() {
            if let Some(rest) = line.strip_prefix("@@ -") {
                let start: usize = rest.split([',', ' ']).next().unwrap().parse().unwrap();
                let len: usize = rest.split([',', ' ']).nth(1).unwrap().parse().unwrap();
                let start = if len == 0 { start } else { start - 1 };
                out.extend(old[at..start].iter().copied());
                at = start;
                continue;
            }
            let bare = lines.next_if(|next| next.starts_with('\\')).is_some();
            let text = if bare {
                &line[1..line.len() - 1]
            } else {
                &line[1..]
            };
            match &line[..1] {
                " " => {
                    assert_eq!(old[at], text);
                    out.push_str(text);
                    at += 1;
                }
                "-" => {
                    assert_eq!(old[at], text);
                    at += 1;
                }
                "+" => out.push_str(text),
                other => panic!("{other}"),
            }
        }
        out.extend(old[at..].iter().copied());
        out
    }

    proptest! {
        #[test]
        fn a_diff_leads_from_one_side_to_the_other(
            old in "([ab]{0,2}\n){0,12}[ab]{0,2}",
            new in "([ab]{0,2}\n){0,12}[ab]{0,2}",
        ) {
            prop_assert_eq!(apply(&old, &diff(&old, &new)), new);
        }
    }
}
