//! Differences as programs write them.

use super::random::Random;
use super::tree::{Tree, lines};
use std::path::Path;
use std::process::{Command, Stdio};

/// Who writes a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Maker {
    /// `git diff --no-index`.
    Git(Renames),
    /// `diff -rN -U`.
    Diff,
    /// `diff -rN -U` without the times, as a person or a model would write it.
    Hand,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Renames {
    /// `-M`.
    Found,
    No,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Prefix {
    /// `a/` and `b/`.
    Letters,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

/// How a difference is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    pub(crate) maker: Maker,
    pub(crate) prefix: Prefix,
    pub(crate) context: usize,
}

impl Style {
    pub(super) fn any(random: &mut Random) -> Self {
        let maker = match random.below(1000) {
            0..500 => Maker::Git(Renames::No),
            500..750 => Maker::Git(Renames::Found),
            750..997 => Maker::Diff,
            _ => Maker::Hand,
        };
        // Without letters a name alone does not say whether it begins with one.
        let prefix = if maker != Maker::Hand && random.in_thousand(150) {
            Prefix::None
        } else {
            Prefix::Letters
        };
        let context = if random.in_thousand(16) {
            0
        } else {
            1 + random.below(5)
        };
        Self {
            maker,
            prefix,
            context,
        }
    }

    /// Components of names that are not of the file's own.
    pub(super) const fn strip(self) -> &'static str {
        match self.prefix {
            Prefix::Letters => "-p1",
            Prefix::None => "-p0",
        }
    }
}

/// A program, in an environment that says nothing.
pub(crate) fn program(name: &str, within: &Path) -> Command {
    let mut command = Command::new(name);
    command
        .current_dir(within)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", "/")
        .stdin(Stdio::null());
    command
}

/// The difference of two trees, which are written to `a` and `b` below a directory.
pub(crate) fn difference(
    scratch: &Path,
    style: Style,
    (old, new): (&Tree, &Tree),
    direction: Direction,
) -> Vec<u8> {
    let (left, right) = match direction {
        Direction::Forward => ("a", "b"),
        Direction::Backward => ("b", "a"),
    };
    old.write(&scratch.join("a"));
    new.write(&scratch.join("b"));
    let context = format!("-U{}", style.context);
    let output = match style.maker {
        Maker::Git(renames) => program("git", scratch)
            .args(["diff", "--no-index", "--no-prefix", "--text", "--no-color"])
            .arg(match renames {
                Renames::Found => "-M",
                Renames::No => "--no-renames",
            })
            .args([&context, left, right])
            .output(),
        Maker::Diff | Maker::Hand => program("diff", scratch)
            .args(["-rN", "--text", &context, left, right])
            .output(),
    };
    let output = output.unwrap_or_else(|e| panic!("git and diff are needed: {e}"));
    assert!(output.stderr.is_empty(), "{output:?}");
    rewritten(&output.stdout, style, direction)
}

/// The headers as they are of a difference inside a repository: both sides have the name of the
/// file below their letter, and renames have none.
fn rewritten(patch: &[u8], style: Style, direction: Direction) -> Vec<u8> {
    let letters = match direction {
        Direction::Forward => [b'a', b'b'],
        Direction::Backward => [b'b', b'a'],
    };
    let mut out = Vec::with_capacity(patch.len());
    let mut within_headers = true;
    for line in lines(patch) {
        if line.starts_with(b"diff ") {
            within_headers = true;
        } else if line.starts_with(b"@@ ") {
            within_headers = false;
        }
        if within_headers {
            out.extend(header(line, style, letters));
        } else {
            out.extend_from_slice(line);
        }
    }
    out
}

fn header(line: &[u8], style: Style, letters: [u8; 2]) -> Vec<u8> {
    let rest = |key: &[u8]| line.strip_prefix(key);
    if let Some(names) = rest(b"diff --git ") {
        let names = names.strip_suffix(b"\n").unwrap();
        let (old, new) = pair(names);
        let old = renamed(old, letters[0], style.prefix);
        let new = renamed(new, letters[1], style.prefix);
        return [b"diff --git ", &old[..], b" ", &new, b"\n"].concat();
    }
    if rest(b"diff -rN").is_some() && style.maker == Maker::Hand {
        return Vec::new();
    }
    for (key, letter) in [(b"--- ", letters[0]), (b"+++ ", letters[1])] {
        if let Some(name) = rest(key) {
            if name.starts_with(b"/dev/null") {
                return line.to_vec();
            }
            let name = match style.maker {
                Maker::Hand => timeless(name),
                Maker::Git(_) | Maker::Diff => name.to_vec(),
            };
            if name == b"/dev/null\n" {
                return [&key[..], &name].concat();
            }
            return [&key[..], &renamed(&name, letter, style.prefix)].concat();
        }
    }
    for key in [&b"rename from "[..], b"rename to "] {
        if let Some(name) = rest(key) {
            return [key, &renamed(name, b'a', Prefix::None)].concat();
        }
    }
    line.to_vec()
}

/// The two names of a `diff --git` line. Those of a file that is not renamed are of one length;
/// those of a rename are told apart by the letter of the second.
fn pair(names: &[u8]) -> (&[u8], &[u8]) {
    let half = names.len() / 2;
    let bare = |name: &[u8]| {
        name.iter()
            .skip_while(|b| **b != b'/')
            .copied()
            .collect::<Vec<_>>()
    };
    if names.get(half) == Some(&b' ') && bare(&names[..half]) == bare(&names[half + 1..]) {
        return (&names[..half], &names[half + 1..]);
    }
    let first = if names.starts_with(b"\"") {
        names[1]
    } else {
        names[0]
    };
    let second = if first == b'a' { b'b' } else { b'a' };
    let starts = |at: usize| {
        let rest = &names[at..];
        rest.starts_with(&[b' ', second, b'/']) || rest.starts_with(&[b' ', b'"', second, b'/'])
    };
    let at = (1..names.len()).find(|at| starts(*at)).unwrap();
    (&names[..at], &names[at + 1..])
}

/// A name with this letter, or none, for the one it has.
fn renamed(name: &[u8], letter: u8, prefix: Prefix) -> Vec<u8> {
    let (quote, rest) = match name.strip_prefix(b"\"") {
        Some(rest) => (&b"\""[..], rest),
        None => (&b""[..], name),
    };
    let bare = &rest[2..];
    match prefix {
        Prefix::Letters => [quote, &[letter, b'/'], bare].concat(),
        Prefix::None => [quote, bare].concat(),
    }
}

/// A name without the time behind it, or nothing where the time says that there was no file.
fn timeless(name: &[u8]) -> Vec<u8> {
    let at = name.iter().position(|byte| *byte == b'\t').unwrap();
    if name[at..].starts_with(b"\t1970-01-01 00:00:00.000000000 +0000") {
        b"/dev/null\n".to_vec()
    } else {
        [&name[..at], b"\n"].concat()
    }
}
