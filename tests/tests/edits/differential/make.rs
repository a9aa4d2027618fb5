//! Two versions of a small tree.

use super::random::Random;
use super::tree::{Node, Tree, lines};

/// Names of files, as odd as they come.
const NAMES: [&[u8]; 12] = [
    b"f",
    b"g.rs",
    b"d/h",
    b"d/i.txt",
    b"d/e/j",
    b"k l",
    b"a/m",
    b"b/n",
    b"\xc3\xa9",
    b"q\"t",
    b"tab\there",
    b"\xff\xfe",
];

/// Lines that look like something else.
const ODD: [&[u8]; 12] = [
    b"",
    b" ",
    b"\t",
    b"-- a",
    b"++ b",
    b"@@ -1 +1 @@",
    b"diff --git a/f b/f",
    b"-",
    b"caf\xe9",
    b"x \t ",
    b"\\ No newline at end of file",
    b"\xff\xfe",
];

/// How many lines there are to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variety {
    /// Few: the same lines stand in many places.
    Few,
    /// Some.
    Some,
    /// So many that hardly two are the same.
    Many,
}

fn line(random: &mut Random, variety: Variety) -> Vec<u8> {
    if random.in_thousand(60) {
        return random.pick(&ODD).to_vec();
    }
    let of = match variety {
        Variety::Few => 3,
        Variety::Some => 40,
        Variety::Many => 100_000,
    };
    format!("line {}", random.below(of)).into_bytes()
}

fn end(random: &mut Random, crlf_in_thousand: u64) -> &'static [u8] {
    if random.in_thousand(crlf_in_thousand) {
        b"\r\n"
    } else {
        b"\n"
    }
}

/// A file's content.
fn content(random: &mut Random, variety: Variety, crlf: u64) -> Vec<u8> {
    if random.in_thousand(20) {
        return Vec::new();
    }
    let mut text = Vec::new();
    if random.in_thousand(50) {
        text.extend_from_slice(b"\xef\xbb\xbf");
    }
    for _ in 0..2 + random.below(30) {
        text.extend(line(random, variety));
        text.extend_from_slice(end(random, crlf));
    }
    if random.in_thousand(150) {
        text.pop();
    }
    text
}

/// The same with a few lines changed, so that it differs.
fn edited(random: &mut Random, old: &[u8], variety: Variety, crlf: u64) -> Vec<u8> {
    let mut all: Vec<Vec<u8>> = lines(old).into_iter().map(<[u8]>::to_vec).collect();
    for _ in 0..1 + random.below(4) {
        let at = random.below(all.len() + 1);
        let fresh = [line(random, variety), end(random, crlf).to_vec()].concat();
        match random.below(8) {
            0..=2 if at < all.len() => all[at] = fresh,
            3..=4 if at < all.len() => drop(all.remove(at)),
            5 => {
                if let Some(last) = all.last_mut() {
                    if last.ends_with(b"\n") {
                        last.pop();
                    } else {
                        last.push(b'\n');
                    }
                }
            }
            _ => all.insert(at, fresh),
        }
    }
    // Only the last line may be without a newline.
    let count = all.len();
    for (at, line) in all.iter_mut().enumerate() {
        if at + 1 < count && !line.ends_with(b"\n") {
            line.push(b'\n');
        }
    }
    let text = all.concat();
    if text == old {
        [old, b"!\n"].concat()
    } else {
        text
    }
}

/// What a maker of differences can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    /// All of it.
    Everything,
    /// Texts of files alone.
    Texts,
}

/// An old tree and a new one.
pub(super) fn two(random: &mut Random, says: Says) -> (Tree, Tree) {
    let variety = match random.below(16) {
        0 => Variety::Few,
        1..=3 => Variety::Some,
        _ => Variety::Many,
    };
    let crlf = *random.pick(&[0, 0, 0, 0, 1000, 300]);
    let (mut old, mut new) = (Tree::default(), Tree::default());
    let mut free: Vec<&[u8]> = NAMES.to_vec();
    for n in 0..1 + random.below(4) {
        let name = free.remove(random.below(free.len()));
        let mode = mode(random, says);
        let text = content(random, variety, crlf);
        let what = if n == 0 { 0 } else { random.below(12) };
        match (what, says) {
            (0..=6, _) => {
                old.put(name, &text, mode);
                let mode = if random.in_thousand(60) && says == Says::Everything {
                    mode ^ 0o111
                } else {
                    mode
                };
                new.put(name, &edited(random, &text, variety, crlf), mode);
            }
            (7, _) if !text.is_empty() => old.put(name, &text, mode),
            (8, _) if !text.is_empty() => new.put(name, &text, mode),
            (9, Says::Everything) => links(random, name, &text, &mut old, &mut new),
            (10, Says::Everything) => {
                old.put(name, &text, mode);
                let to = free.remove(random.below(free.len()));
                let text = if random.in_thousand(500) {
                    edited(random, &text, variety, crlf)
                } else {
                    text
                };
                new.put(
                    to,
                    &text,
                    if random.in_thousand(100) {
                        mode ^ 0o111
                    } else {
                        mode
                    },
                );
            }
            _ => {
                old.put(name, &text, mode);
                new.put(name, &text, mode);
            }
        }
    }
    (old, new)
}

fn mode(random: &mut Random, says: Says) -> u32 {
    match says {
        Says::Everything if random.in_thousand(200) => 0o755,
        Says::Everything | Says::Texts => 0o644,
    }
}

/// A link that comes, goes, leads elsewhere, or takes turns with a file.
fn links(random: &mut Random, name: &[u8], text: &[u8], old: &mut Tree, new: &mut Tree) {
    let link = |to: &[u8]| Node::Link(to.to_vec());
    match random.below(5) {
        0 => drop(new.nodes.insert(name.to_vec(), link(b"f"))),
        1 => drop(old.nodes.insert(name.to_vec(), link(b"d/h"))),
        2 => {
            old.nodes.insert(name.to_vec(), link(b"f"));
            new.nodes.insert(name.to_vec(), link(b"g.rs"));
        }
        3 => {
            old.nodes.insert(name.to_vec(), link(b"f"));
            new.put(name, text, 0o644);
        }
        _ => {
            old.put(name, text, 0o644);
            new.nodes.insert(name.to_vec(), link(b"f"));
        }
    }
}
