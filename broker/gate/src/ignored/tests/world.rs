//! Random trees with random ignore files, as nasty as they come.

use std::collections::BTreeMap;

/// A small generator, so that a seed is all that a failure needs.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(super) fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    pub(super) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(super) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// What lies at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Object {
    Directory,
    File(Vec<u8>),
    Link,
}

/// Objects by their paths; a directory comes before what is in it.
pub(super) type Tree = BTreeMap<Vec<u8>, Object>;

/// Names that rules are made of too, so that they meet.
pub(super) const NAMES: [&[u8]; 30] = [
    b"a", b"b", b"ab", b"aa", b"abc", b"a.b", b".a", b"a.b.c", b"b.c", b"foo", b"Foo", b"foo.o",
    b"a b", b"a ", b" a", b"!a", b"#a", b"a\\", b"\\a", b"*", b"a*b", b"[a]", b"[", b"a]", b"a-b",
    b"\xff", b"a\xe9", b"a\r", b"a\nb", b"~",
];

const PARTS: [&[u8]; 44] = [
    b"a",
    b"b",
    b"c",
    b"foo",
    b".o",
    b"a",
    b"b",
    b"*",
    b"*",
    b"*",
    b"**",
    b"**",
    b"***",
    b"?",
    b"?",
    b"/",
    b"/",
    b"/",
    b"/",
    b"\\",
    b"\\*",
    b"\\a",
    b"\\/",
    b"[ab]",
    b"[!a]",
    b"[^a]",
    b"[a-c]",
    b"[]a]",
    b"[!]a]",
    b"[a-]",
    b"[\\]a]",
    b"[[:alpha:]]",
    b"[[:",
    b"[",
    b"]",
    b"-",
    b"!",
    b"#",
    b" ",
    b"\xff",
    b".",
    b"[/]",
    b"**/",
    b"/**",
];

const CLASSES: [&[u8]; 12] = [
    b"alnum", b"alpha", b"blank", b"cntrl", b"digit", b"graph", b"lower", b"print", b"punct",
    b"space", b"upper", b"xdigit",
];

fn class(random: &mut Random, to: &mut Vec<u8>) {
    to.push(b'[');
    for _ in 0..=random.below(5) {
        match random.below(8) {
            0 => {
                to.extend_from_slice(b"[:");
                to.extend_from_slice(random.of(&CLASSES));
                to.extend_from_slice(random.of(&[b":]".as_slice(), b":]", b":]", b"]", b":"]));
            }
            1 | 2 => to.push(random.of(b"!^]-")),
            3 => to.push(random.of(b"\\[:/")),
            4 => to.extend_from_slice(random.of(&[
                b"a-c".as_slice(),
                b"c-a",
                b"\\a-c",
                b"a-\\c",
                b"A-z",
                b"-a",
            ])),
            5 => to.push(random.of(b"\xff\xe9 ~.")),
            6 | 7 => to.push(random.of(b"abcfo")),
            _ => unreachable!(),
        }
    }
    if !random.one_in(8) {
        to.push(b']');
    }
}

fn middle(random: &mut Random, line: &mut Vec<u8>) {
    match random.below(10) {
        // Plain names and paths, whole.
        0..=2 => {
            for n in 0..=random.below(3) {
                if n > 0 {
                    line.push(b'/');
                }
                if random.one_in(4) {
                    line.extend_from_slice(random.of(&[
                        b"**".as_slice(),
                        b"*",
                        b"?",
                        b"*.b",
                        b"a*",
                    ]));
                } else {
                    line.extend_from_slice(random.of(&NAMES));
                }
            }
        }
        3..=6 => {
            for _ in 0..=random.below(6) {
                line.extend_from_slice(random.of(&PARTS));
            }
        }
        7 | 8 => {
            for _ in 0..=random.below(4) {
                if random.one_in(2) {
                    class(random, line);
                } else {
                    line.extend_from_slice(random.of(&PARTS));
                }
            }
        }
        9 => {
            for _ in 0..random.below(8) {
                line.push(random.of(b"ab*?[]!^-\\/ #.:\t\r\xff\xef\0"));
            }
        }
        _ => unreachable!(),
    }
}

/// A line of an ignore file.
pub(super) fn line(random: &mut Random) -> Vec<u8> {
    let mut line = Vec::new();
    if random.one_in(4) {
        line.push(b'!');
    }
    if random.one_in(8) {
        line.push(b'/');
    }
    middle(random, &mut line);
    if random.one_in(5) {
        line.push(b'/');
    }
    if random.one_in(8) {
        line.extend_from_slice(random.of(&[
            b" ".as_slice(),
            b"  ",
            b"\\ ",
            b"\\  ",
            b" \\",
            b"\t",
            b"\\",
        ]));
    }
    if random.one_in(12) {
        line.push(b'\r');
    }
    line
}

/// The text of an ignore file.
pub(super) fn text(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    if random.one_in(20) {
        text.extend_from_slice(b"\xef\xbb\xbf");
    }
    // Few lines, so that each has its say; or so many that names are found by their hash.
    let most = if random.one_in(10) { 80 } else { 9 };
    for _ in 0..random.below(most) {
        text.extend_from_slice(&line(random));
        text.push(b'\n');
    }
    if random.one_in(4) {
        text.pop();
    }
    text
}

fn fill(random: &mut Random, tree: &mut Tree, directory: &[u8], depth: usize) {
    if random.one_in(if depth == 0 { 1 } else { 3 }) {
        let ignore = [directory, b".gitignore"].concat();
        tree.insert(ignore, Object::File(text(random)));
    }
    for _ in 0..1 + random.below(5) {
        let path = [directory, random.of(&NAMES)].concat();
        if tree.contains_key(&path) {
            continue;
        }
        if depth < 4 && random.one_in(2) {
            tree.insert(path.clone(), Object::Directory);
            fill(random, tree, &[&path, b"/".as_slice()].concat(), depth + 1);
        } else if random.one_in(10) {
            tree.insert(path, Object::Link);
        } else {
            tree.insert(path, Object::File(Vec::new()));
        }
    }
}

/// A tree.
pub(super) fn tree(random: &mut Random) -> Tree {
    let mut tree = Tree::new();
    fill(random, &mut tree, b"", 0);
    tree
}
