//! Where it is right not to do as `git apply` does, decided by what a case is.

use super::Case;
use super::damage::{Damage, pieces};
use super::diffs::{Maker, Prefix};
use super::tree::{Node, lines};

/// Each with its reason. What holds for all of them: what is refused has changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exception {
    /// The text is not in the stated line and in several others: git takes the nearest, which is a
    /// guess.
    Ambiguous,
    /// No program wrote it: wrong counts are made again, line ends and trailing blanks may differ,
    /// and a hunk need not be at an end of the file for want of context.
    ByHand,
    /// What follows a hunk looks like more of it: git counts no further and drops it.
    MoreThanCounted,
    /// The patch was cut in the headers of a section: git applies the sections before, or makes an
    /// empty file.
    CutHeader,
    /// The file is a link to another: an edit is of the file it leads to, and git edits no link.
    Linked,
    /// No hunk shows context, and each begins its file: it may be all of the file or the first of
    /// it, which only the maker of the patch knows.
    NoContext,
    /// Lines that only come are to come behind the end of the file: git puts them at the end.
    PastTheEnd,
    /// A line of the hunk has no newline, as only the last of a file has, and the file goes on: git
    /// joins two lines.
    Joined,
    /// The time of a file that is not there ends in a carriage return: git does not know it, and
    /// leaves an empty file.
    TimeWithReturn,
    /// Hunks that only add and show no context, in another order: git counts lines as if the order
    /// were right.
    Swapped,
}

impl Exception {
    /// The one a case is, if it is one.
    pub(super) fn of(case: &Case) -> Option<Self> {
        let hunks = hunks(case);
        let zero = hunks.iter().all(|hunk| !hunk.shows_context());
        if case.damage == Damage::Linked && is_linked(case) {
            return Some(Self::Linked);
        }
        if case.style.maker == Maker::Hand && case.damage != Damage::None {
            return Some(Self::ByHand);
        }
        if case.damage == Damage::Truncated && is_cut_in_header(&case.patch) {
            return Some(Self::CutHeader);
        }
        let epoch = b"+0000\r\n@@ -";
        if case.style.maker == Maker::Diff
            && case.patch.windows(epoch.len()).any(|part| part == epoch)
        {
            let gone = b"1970-01-01 00:00:00.000000000 +0000\r\n@@ -";
            if case.patch.windows(gone.len()).any(|part| part == gone) {
                return Some(Self::TimeWithReturn);
            }
        }
        let at_top = hunks.iter().all(|hunk| hunk.old_start <= 1);
        if zero && at_top && hunks.iter().any(|hunk| hunk.is_unclear(case)) {
            return Some(Self::NoContext);
        }
        let moved = matches!(case.damage, Damage::HunksSwapped | Damage::HunkTwice);
        hunks.iter().find_map(|hunk| hunk.exception(case, moved))
    }
}

/// A hunk of the patch, as its counts say.
struct Hunk {
    /// The file it is for.
    name: Option<Vec<u8>>,
    old_start: usize,
    old: Vec<Vec<u8>>,
    leading: usize,
    trailing: usize,
    goes_on: bool,
    /// Whether a line of it has no newline.
    ends_file: bool,
}

impl Hunk {
    fn shows_context(&self) -> bool {
        self.leading + self.trailing > 0
    }

    /// Whether `git apply` says one thing of it and `git apply --unidiff-zero` another.
    fn is_unclear(&self, case: &Case) -> bool {
        let Some(file) = self.name.as_ref().and_then(|name| case.target.file(name)) else {
            return false;
        };
        let old = self.old.concat();
        let starts = file.starts_with(&old);
        if case.style.context > 0 {
            starts && old.len() < file.len()
        } else if old.is_empty() {
            case.style.maker == Maker::Diff && !file.is_empty()
        } else {
            !starts && self.found(&lines(file), true) > 0
        }
    }

    /// Whether the block is at this line, counted from 0, as `git apply` wants it there.
    fn fits(&self, file: &[&[u8]], at: usize, zero: bool) -> bool {
        let block = file.get(at..at + self.old.len());
        block.is_some_and(|block| block.iter().zip(&self.old).all(|(a, b)| *a == b.as_slice()))
            && (zero || self.old_start > 1 || at == 0)
            && (zero || self.trailing > 0 || at + self.old.len() == file.len())
    }

    fn found(&self, file: &[&[u8]], zero: bool) -> usize {
        (0..file.len())
            .filter(|at| self.fits(file, *at, zero))
            .count()
    }

    /// Whether it would be in the middle of a file that it says it ends.
    fn joins(&self, file: &[&[u8]], zero: bool) -> bool {
        if !self.ends_file || !zero && self.trailing == 0 {
            return false;
        }
        let old = self.old.concat();
        (0..file.len()).any(|at| {
            let rest = file[at..].concat();
            rest.starts_with(&old) && rest.len() > old.len()
        })
    }

    fn exception(&self, case: &Case, moved: bool) -> Option<Exception> {
        let file = lines(case.target.file(self.name.as_ref()?)?);
        let zero = case.style.context == 0;
        if self.joins(&file, zero) {
            return Some(Exception::Joined);
        }
        if self.old.is_empty() {
            if zero && moved {
                return Some(Exception::Swapped);
            }
            return (self.old_start > file.len()).then_some(Exception::PastTheEnd);
        }
        let found = self.found(&file, zero);
        if self.goes_on && found > 0 {
            return Some(Exception::MoreThanCounted);
        }
        let stated = self.old_start.checked_sub(1);
        let stated = stated.is_some_and(|at| self.fits(&file, at, zero));
        (found > 1 && (moved || !stated)).then_some(Exception::Ambiguous)
    }
}

/// The hunks of a patch; none where its counts are wrong.
fn hunks(case: &Case) -> Vec<Hunk> {
    let Some(pieces) = pieces(&case.patch) else {
        return Vec::new();
    };
    let mut name = None;
    let mut hunks = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let all = lines(piece);
        if !piece.starts_with(b"@@ ") {
            let old = all.iter().rev().find(|line| line.starts_with(b"--- "));
            name = old.and_then(|line| named(case, line));
            continue;
        }
        let follows = pieces.get(at + 1).map_or(&b""[..], Vec::as_slice);
        let goes_on = matches!(follows.first(), Some(b' ' | b'+' | b'-' | b'\\'))
            && !(follows.starts_with(b"--- ")
                && lines(follows)
                    .get(1)
                    .is_some_and(|next| next.starts_with(b"+++ ")));
        let mut hunk = Hunk {
            name: name.clone(),
            old_start: super::damage::numbers(all[0]).map_or(0, |all| all[0]),
            old: Vec::new(),
            leading: 0,
            trailing: 0,
            goes_on,
            ends_file: all.iter().any(|line| line.starts_with(b"\\")),
        };
        let mut changed = false;
        for (n, line) in all.iter().enumerate().skip(1) {
            let mut text = line.get(1..).unwrap_or_default().to_vec();
            if all.get(n + 1).is_some_and(|next| next.starts_with(b"\\")) {
                text.pop();
            }
            match line.first() {
                Some(b' ') => {
                    hunk.leading += usize::from(!changed);
                    hunk.trailing += 1;
                    hunk.old.push(text);
                }
                Some(b'-') => {
                    (changed, hunk.trailing) = (true, 0);
                    hunk.old.push(text);
                }
                Some(b'+') => (changed, hunk.trailing) = (true, 0),
                Some(b'\n' | b'\r') => hunk.old.push(line.to_vec()),
                Some(_) | None => {}
            }
        }
        hunks.push(hunk);
    }
    hunks
}

/// The file of the tree that a `---` line names.
fn named(case: &Case, line: &[u8]) -> Option<Vec<u8>> {
    let prefix: &[u8] = match case.style.prefix {
        Prefix::Letters => b"a/",
        Prefix::None => b"",
    };
    let all = case.target.nodes.keys();
    all.filter(|name| {
        let full = [prefix, name].concat();
        let rest = &line[4..];
        [full.clone(), quoted(&full)].iter().any(|full| {
            rest.strip_prefix(full.as_slice())
                .is_some_and(|end| matches!(end.first(), Some(b'\t' | b'\n' | b'\r')))
        })
    })
    .max_by_key(|name| name.len())
    .cloned()
}

/// A name in the quotes of git.
fn quoted(name: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for byte in name {
        match byte {
            b'"' => out.extend(b"\\\""),
            b'\t' => out.extend(b"\\t"),
            b' '..=b'~' => out.push(*byte),
            _ => out.extend(format!("\\{byte:03o}").into_bytes()),
        }
    }
    out.push(b'"');
    out
}

fn is_linked(case: &Case) -> bool {
    let linked = |node: &Node| match node {
        Node::Link(text) => text.ends_with(b"linked"),
        Node::File { .. } => false,
    };
    case.target.nodes.values().any(linked)
}

/// Whether the last section has no hunk.
fn is_cut_in_header(patch: &[u8]) -> bool {
    match pieces(patch) {
        Some(pieces) => {
            let last = pieces.last().is_some_and(|last| !last.starts_with(b"@@ "));
            let metadata = [
                &b"\nnew file mode"[..],
                b"\nold mode",
                b"\nrename",
                b"\ndeleted file",
            ];
            let speaks = pieces.last().is_some_and(|last| {
                metadata
                    .iter()
                    .any(|key| last.windows(key.len()).any(|part| part == *key))
            });
            last && (pieces.len() > 1 || speaks)
        }
        None => false,
    }
}
