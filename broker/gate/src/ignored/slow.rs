//! What ignore files say, the slow way: every rule of every file, in order, against the whole
//! path. Compiled for tests and fuzzing alone.

use super::chain::{Begins, Chain, Tier};
use super::compiled::{Compiled, Live};
use super::hashed::Seed;
use super::lines::{Covers, Rule, Sense, lines, rule};
use super::pattern::{Name, Piece, Step, matches};
use super::{Rules, Said};
use portcullis_protocol::view::Kind;
use std::sync::Arc;

/// A file with rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Which.
    pub which: Which,
    /// How many names lead to the directory it is of.
    pub depth: usize,
    /// Its text.
    pub text: Vec<u8>,
}

/// Which file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// `.ignore`
    Ignore,
    /// `.gitignore`
    Git,
    /// `.git/info/exclude`; its directory has a `.git`.
    Exclude,
}

/// Compares both ways of judging a path, of which all names but the last are directories. An error
/// says where they differ. There is one file of each kind in a directory at most.
pub fn compare(global: &[u8], files: &[File], path: &[&[u8]], kind: Kind) -> Result<(), String> {
    let (seed, live) = (Seed::draw(), Live::default());
    let global_rules = Arc::new(Compiled::new(global, seed, &live));
    let mut chain = Arc::new(Chain::new(seed, Some(global_rules)));
    let mut left_out = 0;
    for (depth, name) in path.iter().enumerate() {
        let mut begins = Begins::Nothing;
        let mut own = Vec::new();
        for file in files.iter().filter(|file| file.depth == depth) {
            if file.which == Which::Exclude {
                begins = Begins::Repository;
            }
            let compiled = Arc::new(Compiled::new(&file.text, seed, &live));
            left_out += compiled.left_out;
            own.push((tier(file.which), compiled));
        }
        chain = Arc::new(chain.with(begins, own, &mut left_out));
        let last = depth + 1 == path.len();
        let kind = if last { kind } else { Kind::Directory };
        let fast = Rules(Arc::clone(&chain)).judge(name, kind);
        if left_out > 0 {
            return Ok(()); // What a limit leaves out is another matter.
        }
        let here = path.get(..=depth).unwrap_or_default();
        let slow = judge(global, files, here, kind);
        if fast != slow {
            return Err(format!("{fast:?}, slowly {slow:?}, of {here:?} ({kind:?})"));
        }
        if fast == Said::Ignored {
            return Ok(());
        }
        chain = chain.below(name, &mut left_out);
    }
    Ok(())
}

fn tier(which: Which) -> Tier {
    match which {
        Which::Ignore => Tier::Ignore,
        Which::Git => Tier::Git,
        Which::Exclude => Tier::Exclude,
    }
}

/// What all files say of a path, strongest first.
fn judge(global: &[u8], files: &[File], path: &[&[u8]], kind: Kind) -> Said {
    let excludes = files.iter().filter(|file| file.which == Which::Exclude);
    let depths = excludes.map(|file| file.depth);
    let repository = depths.filter(|depth| *depth < path.len()).max();
    let repository = repository.unwrap_or(0);
    for which in [Which::Ignore, Which::Git, Which::Exclude] {
        for depth in (0..path.len()).rev() {
            if which != Which::Ignore && depth < repository {
                continue;
            }
            let of = |file: &&File| file.which == which && file.depth == depth;
            for file in files.iter().filter(of) {
                let below = path.get(depth..).unwrap_or_default();
                let said = of_text(&file.text, below, kind);
                if said != Said::Nothing {
                    return said;
                }
            }
        }
    }
    of_text(global, path.get(repository..).unwrap_or_default(), kind)
}

/// What one file says of a path below its directory.
fn of_text(text: &[u8], path: &[&[u8]], kind: Kind) -> Said {
    let rules: Vec<Rule> = lines(text).filter_map(rule).collect();
    let last = rules.iter().rev().find(|rule| {
        let covers = match rule.covers {
            Covers::All => true,
            Covers::Directories => kind == Kind::Directory,
        };
        covers && leads(&rule.steps, path)
    });
    match last.map(|rule| rule.sense) {
        None => Said::Nothing,
        Some(Sense::Ignore) => Said::Ignored,
        Some(Sense::Include) => Said::Included,
    }
}

fn leads(steps: &[Step], path: &[&[u8]]) -> bool {
    match steps.split_first() {
        None => path.is_empty(),
        Some((Step::Deep, rest)) => {
            (0..=path.len()).any(|skip| leads(rest, path.get(skip..).unwrap_or_default()))
        }
        Some((Step::Name(name), rest)) => path
            .split_first()
            .is_some_and(|(first, below)| is(name, first) && leads(rest, below)),
    }
}

fn is(name: &Name, text: &[u8]) -> bool {
    match name {
        Name::Plain(bytes) => bytes == text,
        Name::Glob { head, middle, tail } => {
            let plain = |bytes: &[u8]| bytes.iter().copied().map(Piece::Byte).collect::<Vec<_>>();
            matches(&[plain(head), middle.clone(), plain(tail)].concat(), text)
        }
    }
}
