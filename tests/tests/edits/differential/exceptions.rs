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
    /// a hunk need not be at an end of the file for want of context, and a byte order mark stays at
    /// the beginning of its file.
    ByHand,
    /// What follows a hunk looks like more of it: git counts no further and drops it.
    MoreThanCounted,
    /// The patch was cut in the headers of a section, or in `\ No newline at end of file`: git
    /// applies what is before, or makes an empty file.
    Cut,
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
    /// A header ends in a carriage return: git does not know the time of a file that is not there,
    /// and leaves an empty one, or finds no name where only the first line of a section has it.
    Returns,
    /// A hunk only adds and shows no context, and others of its file are not in their lines or not
    /// in order: git counts lines as if all before it had been made.
    Uncounted,
    /// A hunk only adds, to a file that is not there: git makes it, and here the patch has to say so.
    NotThere,
    /// The headers of a section are interrupted: git makes two sections of it.
    Interrupted,
}

impl Exception {
    /// The one a case is, if it is one.
    pub(super) fn of(case: &Case) -> Option<Self> {
        let hunks = hunks(case);
        let zero = hunks.iter().all(|hunk| !hunk.shows_context());
        if case.damage == Damage::Linked && is_linked(case) {
            return Some(Self::Linked);
        }
        if case.style.maker == Maker::Hand && (is_forgiven(case.damage) || has_mark(case)) {
            return Some(Self::ByHand);
        }
        if case.damage == Damage::Truncated && is_cut(&case.patch) {
            return Some(Self::Cut);
        }
        if has_returns(&case.patch) {
            return Some(Self::Returns);
        }
        if case.damage == Damage::Garbage && is_interrupted(&case.patch) {
            return Some(Self::Interrupted);
        }
        if !hunks.iter().all(|hunk| hunk.may_apply(case)) {
            return None;
        }
        if hunks.iter().any(|hunk| hunk.goes_on && hunk.name.is_none()) {
            return Some(Self::MoreThanCounted);
        }
        let at_top = hunks.iter().all(Hunk::is_at_top);
        if zero && hunks.iter().any(|hunk| hunk.is_unclear(case, at_top)) {
            return Some(Self::NoContext);
        }
        let moved = matches!(case.damage, Damage::HunksSwapped | Damage::HunkTwice);
        let drifted = hunks.iter().filter(|hunk| hunk.is_drifted(case));
        let drifted: Vec<_> = drifted.filter_map(|hunk| hunk.name.clone()).collect();
        hunks
            .iter()
            .find_map(|hunk| hunk.exception(case, moved, &drifted))
    }
}

/// Whether a file begins with a byte order mark.
fn has_mark(case: &Case) -> bool {
    case.target.nodes.values().any(|node| match node {
        Node::File { bytes, .. } => bytes.starts_with(b"\xef\xbb\xbf"),
        Node::Link(_) => false,
    })
}

/// Whether a patch that nobody's program wrote may be taken in spite of it.
const fn is_forgiven(damage: Damage) -> bool {
    match damage {
        Damage::Drift
        | Damage::Longer
        | Damage::LineGone
        | Damage::Applied
        | Damage::Counts
        | Damage::LessContext
        | Damage::HunksSwapped
        | Damage::Truncated
        | Damage::PatchCrlf
        | Damage::TreeCrlf
        | Damage::Garbage => true,
        Damage::None
        | Damage::LineChanged
        | Damage::HunkTwice
        | Damage::Missing
        | Damage::Existing
        | Damage::Mode
        | Damage::BothCrlf
        | Damage::Linked => false,
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

    /// Whether its text is anywhere in its file, so far as git would look: where one is not, all of
    /// the patch is refused.
    fn may_apply(&self, case: &Case) -> bool {
        match self.name.as_ref().and_then(|name| case.target.file(name)) {
            Some(file) => self.old.is_empty() || self.places(&lines(file)).next().is_some(),
            None => true,
        }
    }

    /// The lines, from 0, where the block is, but for the newline of its last line.
    fn places<'f>(&'f self, file: &'f [&'f [u8]]) -> impl Iterator<Item = usize> + 'f {
        let bare = |line: &[u8]| line.strip_suffix(b"\n").unwrap_or(line).to_vec();
        (0..file.len()).filter(move |at| {
            let block = file.get(*at..*at + self.old.len());
            block.is_some_and(|block| block.iter().zip(&self.old).all(|(a, b)| bare(a) == bare(b)))
        })
    }

    fn is_at_top(&self) -> bool {
        self.old_start == 0 || self.old_start == 1 && !self.old.is_empty()
    }

    /// Whether it is not in its line, and may be in another.
    fn is_drifted(&self, case: &Case) -> bool {
        let Some(file) = self.name.as_ref().and_then(|name| case.target.file(name)) else {
            return false;
        };
        let stated = self.old_start.checked_sub(1);
        !self.old.is_empty() && !stated.is_some_and(|at| self.fits(&lines(file), at, true))
    }

    /// Whether `git apply` says one thing of it and `git apply --unidiff-zero` another.
    fn is_unclear(&self, case: &Case, at_top: bool) -> bool {
        let Some(file) = self.name.as_ref().and_then(|name| case.target.file(name)) else {
            return false;
        };
        let old = self.old.concat();
        let starts = file.starts_with(&old);
        let was_empty = b"\nindex e69de29..";
        if case.style.context == 0 && old.is_empty() && self.old_start == 0 && !file.is_empty() {
            let known = case
                .patch
                .windows(was_empty.len())
                .any(|part| part == was_empty);
            return known || at_top && case.style.maker == Maker::Diff;
        }
        if !at_top || old.is_empty() && case.style.context == 0 {
            return false;
        }
        if case.style.context > 0 {
            starts && old.len() < file.len()
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
        if self.old.is_empty() {
            return self.old_start < file.len();
        }
        let ends = |at: usize| {
            at + self.old.len() == file.len()
                && file.last().map(|line| line.ends_with(b"\n"))
                    == self.old.last().map(|line| line.ends_with(b"\n"))
        };
        let stated = self.old_start.checked_sub(1);
        let only = self.places(file).nth(1).is_none();
        if only && stated.is_some_and(|at| ends(at) && self.fits(file, at, true)) {
            return false;
        }
        self.places(file).any(|at| !ends(at))
    }

    fn exception(&self, case: &Case, moved: bool, drifted: &[Vec<u8>]) -> Option<Exception> {
        let zero = case.style.context == 0;
        let Some(name) = &self.name else {
            return (zero && moved).then_some(Exception::Uncounted);
        };
        let Some(file) = case.target.file(name) else {
            let plain = case.style.maker == Maker::Diff && self.old.is_empty();
            return (plain && !case.target.nodes.contains_key(name)).then_some(Exception::NotThere);
        };
        let file = lines(file);
        if self.joins(&file, zero) {
            return Some(Exception::Joined);
        }
        if self.old.is_empty() {
            if self.goes_on {
                return Some(Exception::MoreThanCounted);
            }
            if zero && (moved || drifted.contains(name)) {
                return Some(Exception::Uncounted);
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
    let all = case.target.nodes.keys().chain(case.old.nodes.keys());
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

/// Whether a line that is none stands between the headers of a section that has more to say than
/// its texts.
fn is_interrupted(patch: &[u8]) -> bool {
    let says = |piece: &[u8], key: &[u8]| piece.windows(key.len()).any(|part| part == key);
    let marker = b"garbage\n\\ No newline";
    if says(patch, marker)
        || says(patch, b"* x\n\\ No newline")
        || says(patch, b"\n0\n\\ No newline")
    {
        return true;
    }
    pieces(patch).is_some_and(|pieces| {
        pieces.iter().any(|piece| {
            let garbage = [&b"\ngarbage\n"[..], b"\n\n", b"\n* x\n", b"\n0\n"];
            garbage.iter().any(|line| says(piece, line))
                && [
                    &b"\nold mode"[..],
                    b"\nrename",
                    b"\nnew file",
                    b"\ndeleted file",
                ]
                .iter()
                .any(|key| says(piece, key))
        })
    })
}

/// Whether a header of which git needs the end has a carriage return there.
fn has_returns(patch: &[u8]) -> bool {
    let gone = b"\t1970-01-01 00:00:00.000000000 +0000\r\n@@ -";
    let nameless = |piece: &Vec<u8>| {
        let starts = |key: &[u8]| lines(piece).iter().any(|line| line.starts_with(key));
        starts(b"diff --git ") && !starts(b"--- ") && !starts(b"rename ")
    };
    patch.windows(gone.len()).any(|part| part == gone)
        || patch.starts_with(b"diff --git ")
            && lines(patch)[0].ends_with(b"\r\n")
            && pieces(patch).is_some_and(|pieces| {
                let sections = pieces.iter().flat_map(|piece| sections(piece));
                sections.collect::<Vec<_>>().iter().any(nameless)
            })
}

/// The sections of a piece of a patch that has no hunk.
fn sections(piece: &[u8]) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    if piece.starts_with(b"@@ ") {
        return all;
    }
    for line in lines(piece) {
        if line.starts_with(b"diff --git ") || all.is_empty() {
            all.push(Vec::new());
        }
        all.last_mut().unwrap().extend_from_slice(line);
    }
    all
}

/// Whether the last section has no hunk.
fn is_cut(patch: &[u8]) -> bool {
    if lines(patch)
        .last()
        .is_some_and(|last| last.starts_with(b"\\") && last.len() <= 12)
    {
        return true;
    }
    // Nor is a header that was cut itself.
    let all = lines(patch);
    let ended = all.last().is_none_or(|last| last.ends_with(b"\n"));
    let headed = all.last().is_some_and(|last| last.starts_with(b"@@"));
    let whole = all.len() - usize::from(!ended && headed);
    match pieces(&all[..whole].concat()) {
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
