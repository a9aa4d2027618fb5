//! Tables, states and chains say the same as every rule tried in order.

use super::super::slow::{File, Which, compare};
use super::world::{NAMES, Random, line, text};
use portcullis_protocol::view::Kind;

/// A rule that goes over a few names of those that there are.
fn way(random: &mut Random) -> Vec<u8> {
    let mut line = Vec::new();
    for _ in 0..1 + random.below(4) {
        line.extend_from_slice(random.of(&[b"**".as_slice(), b"*", b"a", b"b", b"?", b"[ab]"]));
        line.push(b'/');
    }
    if random.one_in(2) {
        line.pop();
    }
    line
}

fn rules(random: &mut Random) -> Vec<u8> {
    if random.one_in(2) {
        return text(random);
    }
    let mut text = Vec::new();
    for _ in 0..random.below(12) {
        let not = random.of(&[b"".as_slice(), b"", b"!"]);
        let line = if random.one_in(3) {
            line(random)
        } else {
            way(random)
        };
        text.extend_from_slice(&[not, &line, b"\n"].concat());
    }
    text
}

#[test]
fn fast_and_slow_say_the_same() {
    for seed in 0..4000 {
        let mut random = Random::new(seed);
        let global = if random.one_in(3) {
            rules(&mut random)
        } else {
            Vec::new()
        };
        let mut files = Vec::new();
        for depth in 0..4 {
            for (which, rarely) in [(Which::Ignore, 3), (Which::Git, 2), (Which::Exclude, 5)] {
                if random.one_in(rarely) {
                    let text = rules(&mut random);
                    files.push(File { which, depth, text });
                }
            }
        }
        for _ in 0..20 {
            let names = 1 + random.below(5);
            let name = |random: &mut Random| match random.below(3) {
                0 => random.of(&NAMES),
                1 => b"a",
                _ => b"b",
            };
            let path: Vec<&[u8]> = (0..names).map(|_| name(&mut random)).collect();
            let kind = random.of(&[Kind::Directory, Kind::File]);
            if let Err(difference) = compare(&global, &files, &path, kind) {
                panic!("seed {seed}: {difference} with {global:?} and {files:?}");
            }
        }
    }
}
