//! Globs against the dialect as it is written down, in a few plain lines that share nothing with the
//! engine.

use crate::random::{Random, say};
use crate::tree;
use portcullis_client::ask;
use portcullis_client::protocol::session::Passing;
use portcullis_client::protocol::view::Kind;
use portcullis_tests::{World, own};
use std::path::Path;

/// What a pattern is drawn from.
const PARTS: &[&str] = &[
    "*",
    "**",
    "?",
    "*.rs",
    "*.txt",
    "src",
    "deep",
    "a.*",
    "[a-c].rs",
    "[!a]*",
    "[^b].txt",
    "{src,lib}",
    "{a,b}.{rs,txt}",
    "*{s,t}",
    ".*",
    ".github",
    "many",
    "?",
    "[0-9]",
    "\\*.rs",
    "\\{x\\}.rs",
    "\\[a\\].rs",
    "*[.]rs",
    "{src,many/1}",
    "{{a,b},m}.rs",
    "-dash.rs",
    "ü??.rs",
    "??n?.rs",
    "[]a]*",
    "[a-]*",
    "*a*",
    "**.rs",
    "a**",
    "sp?ace.txt",
    "!n.txt",
    "#c",
    "long",
    "{,.}a.rs",
    "[A-Z]*",
    "UPPER.RS",
    "*.RS",
];

/// One letter of a pattern of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Letter {
    Byte(u8),
    Any,
    Star,
    /// One of these ranges, or none of them.
    Class(Vec<(u8, u8)>, bool),
}

/// A pattern without alternatives, name by name; none is `**`.
type Plain = Vec<Option<Vec<Letter>>>;

/// Every way to choose among the alternatives of a pattern.
fn choices(pattern: &[u8]) -> Vec<Vec<u8>> {
    let (mut at, mut depth, mut open) = (0, 0, 0);
    let mut cuts = Vec::new();
    while at < pattern.len() {
        match pattern[at] {
            b'\\' => at += 1,
            b'[' => {
                let first = at + 1 + usize::from(matches!(pattern[at + 1], b'!' | b'^'));
                at = first
                    + 1
                    + pattern[first + 1..]
                        .iter()
                        .position(|b| *b == b']')
                        .unwrap();
            }
            b'{' => {
                if depth == 0 {
                    (open, cuts) = (at, vec![at]);
                }
                depth += 1;
            }
            b',' if depth == 1 => cuts.push(at),
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    cuts.push(at);
                    let all = cuts.windows(2).flat_map(|cut| {
                        let one = &pattern[cut[0] + 1..cut[1]];
                        choices(&[&pattern[..open], one, &pattern[at + 1..]].concat())
                    });
                    return all.collect();
                }
            }
            _ => {}
        }
        at += 1;
    }
    vec![pattern.to_vec()]
}

fn letters(name: &[u8]) -> Vec<Letter> {
    let (mut at, mut letters) = (0, Vec::new());
    while at < name.len() {
        letters.push(match name[at] {
            b'\\' => {
                at += 1;
                Letter::Byte(name[at])
            }
            b'?' => Letter::Any,
            b'*' => Letter::Star,
            b'[' => {
                let not = matches!(name[at + 1], b'!' | b'^');
                let first = at + 1 + usize::from(not);
                let end = first + 1 + name[first + 1..].iter().position(|b| *b == b']').unwrap();
                at = end;
                Letter::Class(ranges(&name[first..end]), not)
            }
            byte => Letter::Byte(byte),
        });
        at += 1;
    }
    letters
}

fn ranges(inner: &[u8]) -> Vec<(u8, u8)> {
    let (mut at, mut ranges) = (0, Vec::new());
    while at < inner.len() {
        if inner.get(at + 1) == Some(&b'-') && at + 2 < inner.len() {
            ranges.push((inner[at], inner[at + 2]));
            at += 3;
        } else {
            ranges.push((inner[at], inner[at]));
            at += 1;
        }
    }
    ranges
}

fn name_matches(pattern: &[Letter], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((Letter::Star, rest)), _) => {
            (0..=name.len()).any(|taken| name_matches(rest, &name[taken..]))
        }
        (Some((Letter::Byte(byte), rest)), Some((first, name))) => {
            byte == first && name_matches(rest, name)
        }
        (Some((Letter::Any, rest)), Some((_, name))) => name_matches(rest, name),
        (Some((Letter::Class(ranges, not), rest)), Some((first, name))) => {
            let within = ranges
                .iter()
                .any(|(low, high)| (low..=high).contains(&first));
            within != *not && name_matches(rest, name)
        }
        (_, None) | (None, _) => false,
    }
}

fn path_matches(pattern: &[Option<Vec<Letter>>], names: &[&[u8]]) -> bool {
    match pattern.split_first() {
        None => names.is_empty(),
        // At the end: all that is below.
        Some((None, [])) => !names.is_empty(),
        Some((None, rest)) => (0..=names.len()).any(|n| path_matches(rest, &names[n..])),
        Some((Some(name), rest)) => names
            .split_first()
            .is_some_and(|(first, names)| name_matches(name, first) && path_matches(rest, names)),
    }
}

/// What the written dialect says of a pattern.
struct Written {
    plain: Vec<Plain>,
    directories: bool,
}

impl Written {
    fn new(pattern: &str) -> Self {
        let (pattern, tied) = match pattern.strip_prefix("./") {
            Some(pattern) => (pattern.as_bytes(), true),
            None => (pattern.as_bytes(), false),
        };
        let (pattern, directories) = match pattern.strip_suffix(b"/") {
            Some(pattern) => (pattern, true),
            None => (pattern, false),
        };
        let whole = match tied || pattern.contains(&b'/') {
            true => pattern.to_vec(),
            false => [b"**/", pattern].concat(),
        };
        let plain = choices(&whole).into_iter().map(|choice| {
            let names = choice.split(|b| *b == b'/');
            names
                .map(|name| (name != b"**").then(|| letters(name)))
                .collect()
        });
        Self {
            plain: plain.collect(),
            directories,
        }
    }

    fn matches(&self, path: &[u8], kind: Kind) -> bool {
        let names: Vec<&[u8]> = path.split(|b| *b == b'/').collect();
        (!self.directories || kind == Kind::Directory)
            && self.plain.iter().any(|plain| path_matches(plain, &names))
    }
}

#[test]
fn the_written_dialect_is_what_its_table_says() {
    for (pattern, path, hit) in [
        ("*.rs", "src/deep/a.rs", true),
        ("src/*.rs", "src/deep/a.rs", false),
        ("src/**/*.rs", "src/a.rs", true),
        ("src/**", "src", false),
        ("src/**", "src/a/b", true),
        ("**", "a/b", true),
        ("a**", "abc", true),
        ("a**/c", "ab/x/c", false),
        ("caf??.rs", "café.rs", true),
        ("{src,test/unit}/*", "test/unit/a", true),
        ("{{a,b},m}.rs", "x/m.rs", true),
        ("[!a].rs", "é.rs", false),
        ("./*.rs", "src/a.rs", false),
        ("./*.rs", "a.rs", true),
        ("[]a]x", "]x", true),
        ("*", ".hidden", true),
    ] {
        let written = Written::new(pattern);
        assert_eq!(
            written.matches(path.as_bytes(), Kind::File),
            hit,
            "{pattern} {path}"
        );
    }
}

/// Every path below a directory with its type, as std sees them.
fn everything(at: &Path, below: &str, all: &mut Vec<(String, Kind)>) {
    for entry in std::fs::read_dir(at).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        let path = format!("{below}{}", entry.file_name().to_str().unwrap());
        let is_directory = kind.is_dir();
        let told = if is_directory {
            Kind::Directory
        } else {
            Kind::File
        };
        all.push((path.clone(), told));
        if is_directory {
            everything(&entry.path(), &format!("{path}/"), all);
        }
    }
}

#[test]
fn random_globs_take_what_the_written_dialect_takes() {
    let random = Random::seeded("globs");
    let (mut hits, mut refused, mut patterns) = (0, 0, 0);
    for part in 0..3 {
        let mut random = random.part(part);
        let mut world = World::new(own!("own-gate"));
        tree::generate(&mut random, &world.inside(), tree::Git::Repository);
        let mut all = Vec::new();
        everything(&world.inside(), "", &mut all);
        let mut opened = world.session();
        for _ in 0..200 {
            let parts: Vec<&str> = (0..1 + random.below(3)).map(|_| random.of(PARTS)).collect();
            let start = random.of(&["", "", "", "", "./"]);
            let end = random.of(&["", "", "", "", "/"]);
            let pattern = format!("{start}{}{end}", parts.join("/"));
            patterns += 1;
            let mut glob = ask::glob(ask::selector(".").unwrap(), &pattern).unwrap();
            glob.passing = Passing::nothing();
            let Ok(entries) = opened.session.glob(&glob) else {
                refused += 1;
                continue;
            };
            let mut ours: Vec<String> = entries
                .map(|entry| String::from_utf8(entry.unwrap().path.as_bytes().to_vec()).unwrap())
                .collect();
            ours.sort();
            let written = Written::new(&pattern);
            let mut theirs: Vec<String> = all
                .iter()
                .filter(|(path, kind)| written.matches(path.as_bytes(), *kind))
                .map(|(path, _)| path.clone())
                .collect();
            theirs.sort();
            hits += ours.len();
            let only = |a: &[String], b: &[String]| -> Vec<String> {
                a.iter().filter(|path| !b.contains(path)).cloned().collect()
            };
            assert_eq!(
                only(&ours, &theirs),
                only(&theirs, &ours),
                "only ours, only written: {pattern}"
            );
        }
    }
    say(&format!("{patterns} globs, {refused} refused, {hits} hits"));
    assert!(hits > 1000 && refused * 10 < patterns);
}
