//! What happens to a patch, or to the tree it is for, before they meet.

use super::random::Random;
use super::tree::{Node, Tree, lines};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Damage {
    None,
    /// Lines that are nowhere else were put before a place in the file.
    Drift,
    /// Lines were put behind the file's last.
    Longer,
    /// A line of the file is another one.
    LineChanged,
    /// A line of the file is gone.
    LineGone,
    /// The tree is the new one already.
    Applied,
    /// A number of a hunk header is another one.
    Counts,
    /// A line of context at the end of a hunk is gone, and the counts know.
    LessContext,
    /// A hunk is there twice.
    HunkTwice,
    /// Two hunks have changed places.
    HunksSwapped,
    /// A file is gone.
    Missing,
    /// A file that the patch makes is there.
    Existing,
    /// A file has another mode.
    Mode,
    /// The patch ends early.
    Truncated,
    /// The patch has Windows line ends.
    PatchCrlf,
    /// The tree has.
    TreeCrlf,
    /// Both have.
    BothCrlf,
    /// A line that is no line of a patch.
    Garbage,
    /// A file is a link to another one.
    Linked,
}

const ALL: [(Damage, usize); 19] = [
    (Damage::None, 500),
    (Damage::Drift, 110),
    (Damage::Longer, 20),
    (Damage::LineChanged, 70),
    (Damage::LineGone, 40),
    (Damage::Applied, 40),
    (Damage::Counts, 10),
    (Damage::LessContext, 40),
    (Damage::HunkTwice, 30),
    (Damage::HunksSwapped, 20),
    (Damage::Missing, 30),
    (Damage::Existing, 30),
    (Damage::Mode, 30),
    (Damage::Truncated, 4),
    (Damage::PatchCrlf, 10),
    (Damage::TreeCrlf, 20),
    (Damage::BothCrlf, 11),
    (Damage::Garbage, 8),
    (Damage::Linked, 1),
];

impl Damage {
    pub(super) fn any(random: &mut Random) -> Self {
        let whole: usize = ALL.iter().map(|(_, share)| share).sum();
        let mut at = random.below(whole);
        for (damage, share) in ALL {
            if at < share {
                return damage;
            }
            at -= share;
        }
        Self::None
    }

    /// Does it. `new` is the tree the patch leads to.
    pub(super) fn done(
        self,
        random: &mut Random,
        patch: &mut Vec<u8>,
        tree: &mut Tree,
        new: &Tree,
    ) {
        match self {
            Self::None => {}
            Self::Drift
            | Self::Longer
            | Self::LineChanged
            | Self::LineGone
            | Self::Mode
            | Self::Missing
            | Self::Linked => self.to_file(random, tree),
            Self::Applied => *tree = new.clone(),
            Self::Existing => {
                let made = new
                    .nodes
                    .keys()
                    .find(|name| !tree.nodes.contains_key(*name));
                if let Some(name) = made {
                    tree.put(&name.clone(), b"in the way\n", 0o644);
                }
            }
            Self::TreeCrlf => crlf_tree(tree),
            Self::PatchCrlf => *patch = crlf(patch),
            Self::BothCrlf => {
                crlf_tree(tree);
                *patch = crlf(patch);
            }
            Self::Truncated => patch.truncate(random.below(patch.len())),
            Self::Garbage => {
                let mut all = lines(patch);
                let at = random.below(all.len() + 1);
                all.insert(
                    at,
                    *random.pick(&[&b"garbage\n"[..], b"\n", b"* x\n", b"0\n"]),
                );
                *patch = all.concat();
            }
            Self::Counts | Self::LessContext | Self::HunkTwice | Self::HunksSwapped => {
                *patch = self.to_hunks(random, patch);
            }
        }
    }

    fn to_file(self, random: &mut Random, tree: &mut Tree) {
        let names: Vec<Vec<u8>> = tree.nodes.keys().cloned().collect();
        if names.is_empty() {
            return;
        }
        let name = random.pick(&names).clone();
        let Some(Node::File { bytes, mode }) = tree.nodes.get(&name).cloned() else {
            return;
        };
        let mut all: Vec<Vec<u8>> = lines(&bytes).into_iter().map(<[u8]>::to_vec).collect();
        let fresh = |random: &mut Random| format!("fresh {}\n", random.next()).into_bytes();
        match self {
            Self::Drift => {
                let at = if random.in_thousand(500) {
                    0
                } else {
                    random.below(all.len() + 1)
                };
                for _ in 0..1 + random.below(4) {
                    all.insert(at, fresh(random));
                }
            }
            Self::Longer => {
                all.push(fresh(random));
            }
            Self::LineChanged if !all.is_empty() => {
                let at = random.below(all.len());
                all[at] = fresh(random);
            }
            Self::LineGone if !all.is_empty() => drop(all.remove(random.below(all.len()))),
            Self::Missing => drop(tree.nodes.remove(&name)),
            Self::Linked => {
                tree.nodes.remove(&name);
                tree.put(b"linked", &bytes, mode);
                let up = name.iter().filter(|byte| **byte == b'/').count();
                let text = [b"../".repeat(up), b"linked".to_vec()].concat();
                tree.nodes.insert(name, Node::Link(text));
                return;
            }
            _ => {}
        }
        if self == Self::Missing {
            return;
        }
        let mode = if self == Self::Mode {
            mode ^ 0o111
        } else {
            mode
        };
        tree.put(&name, &all.concat(), mode);
    }

    fn to_hunks(self, random: &mut Random, patch: &[u8]) -> Vec<u8> {
        let mut pieces = pieces(patch).unwrap();
        let hunks: Vec<usize> = (0..pieces.len())
            .filter(|at| pieces[*at].starts_with(b"@@ "))
            .collect();
        if hunks.is_empty() {
            return patch.to_vec();
        }
        let at = *random.pick(&hunks);
        match self {
            Self::HunkTwice => pieces.insert(at, pieces[at].clone()),
            Self::HunksSwapped => {
                if pieces
                    .get(at + 1)
                    .is_some_and(|next| next.starts_with(b"@@ "))
                {
                    pieces.swap(at, at + 1);
                }
            }
            Self::Counts => pieces[at] = miscounted(random, &pieces[at]),
            Self::LessContext => pieces[at] = less_context(&pieces[at]),
            _ => unreachable!("done to hunks"),
        }
        pieces.concat()
    }
}

/// The headers of sections, and hunks, one after another, by the counts: lines of a hunk may look
/// like a header. Nothing where a hunk is not what its counts say.
pub(super) fn pieces(patch: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    let mut left = [0, 0];
    for line in lines(patch) {
        let within = left != [0, 0] || line.starts_with(b"\\");
        let is_hunk = pieces.last().is_some_and(|piece| piece.starts_with(b"@@ "));
        if !within && line.starts_with(b"@@ ") {
            let [_, old, _, new] = numbers(line)?;
            left = [old, new];
            pieces.push(Vec::new());
        } else if pieces.is_empty() || !within && is_hunk {
            pieces.push(Vec::new());
        } else if left != [0, 0] {
            let taken: [usize; 2] = match line.first() {
                Some(b'-') => [1, 0],
                Some(b'+') => [0, 1],
                Some(b'\\') => [0, 0],
                Some(b' ' | b'\n') => [1, 1],
                Some(_) | None => return None,
            };
            left = [
                left[0].checked_sub(taken[0])?,
                left[1].checked_sub(taken[1])?,
            ];
        }
        pieces.last_mut()?.extend_from_slice(line);
    }
    (left == [0, 0]).then_some(pieces)
}

/// The old start and count, and the new ones; nothing where the header is damaged.
pub(super) fn numbers(header: &[u8]) -> Option<[usize; 4]> {
    let text = std::str::from_utf8(header.split(|byte| *byte == b'@').nth(2)?).ok()?;
    let mut all = Vec::new();
    for range in text.split_whitespace() {
        let range = range.get(1..)?;
        let (start, count) = range.split_once(',').unwrap_or((range, "1"));
        all.push(start.parse::<usize>().ok()?);
        all.push(count.parse::<usize>().ok()?);
    }
    all.try_into().ok()
}

fn with_numbers(hunk: &[u8], [a, b, c, d]: [usize; 4]) -> Vec<u8> {
    let body = lines(hunk)[1..].concat();
    [format!("@@ -{a},{b} +{c},{d} @@\n").into_bytes(), body].concat()
}

fn miscounted(random: &mut Random, hunk: &[u8]) -> Vec<u8> {
    let mut all = numbers(lines(hunk)[0]).unwrap();
    let at = *random.pick(&[1, 3]);
    all[at] = if random.in_thousand(500) {
        all[at] + 1 + random.below(2)
    } else {
        all[at].saturating_sub(1 + random.below(2))
    };
    with_numbers(hunk, all)
}

fn less_context(hunk: &[u8]) -> Vec<u8> {
    let all = lines(hunk);
    let [a, b, c, d] = numbers(all[0]).unwrap();
    match all.last() {
        Some(last) if last.starts_with(b" ") && b > 1 && d > 1 => {
            with_numbers(&all[..all.len() - 1].concat(), [a, b - 1, c, d - 1])
        }
        Some(_) | None => hunk.to_vec(),
    }
}

fn crlf(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() * 2);
    for line in lines(text) {
        match line.strip_suffix(b"\n") {
            Some(bare) if !bare.ends_with(b"\r") => {
                out.extend_from_slice(bare);
                out.extend_from_slice(b"\r\n");
            }
            Some(_) | None => out.extend_from_slice(line),
        }
    }
    out
}

fn crlf_tree(tree: &mut Tree) {
    for node in tree.nodes.values_mut() {
        if let Node::File { bytes, .. } = node {
            *bytes = crlf(bytes);
        }
    }
}
