//! The built-in denials: one table, and how its rows become denials.

mod table;

use portcullis_protocol::authority::{Denial, DenialTarget, Effect};
use portcullis_protocol::bounded::{Bytes, Text};
use portcullis_protocol::limits::PATTERN_BYTES_MAX;
use portcullis_protocol::refusal::Rule;
use portcullis_protocol::verb::{Verb, VerbSet};
use table::{Names, Row, TABLE};

/// What every name in the table begins with, and no name a runtime gives.
pub(crate) const PREFIX: &str = "builtin:";

/// Why the table was not made into denials.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BuiltinError {
    #[error("no built-in denial is called `{0}`")]
    UnknownException(String),
    #[error("the table of built-in denials is damaged at `{0}`")]
    Damaged(&'static str),
}

/// The table's denials but those whose name is in `exceptions`, and those that refuse nothing of
/// what is granted at all.
pub(crate) fn denials<'a>(
    exceptions: impl IntoIterator<Item = &'a str>,
    granted: VerbSet,
) -> Result<Vec<Denial>, BuiltinError> {
    let mut excepted = Vec::new();
    for exception in exceptions {
        let known = exception
            .strip_prefix(PREFIX)
            .filter(|name| TABLE.iter().any(|row| row.name == *name));
        excepted.push(known.ok_or_else(|| BuiltinError::UnknownException(exception.to_owned()))?);
    }
    let mut denials = Vec::new();
    let concerns = |row: &&Row| !row.verbs().meet(granted).is_empty();
    let rows = TABLE.iter().filter(|row| !excepted.contains(&row.name));
    for row in rows.filter(concerns) {
        for pattern in row.names.patterns() {
            denials.push(
                row.denial(&pattern)
                    .ok_or(BuiltinError::Damaged(row.name))?,
            );
        }
    }
    Ok(denials)
}

impl Row {
    /// What it refuses.
    fn verbs(&self) -> VerbSet {
        let of_access = |verb: &Verb| self.access.contains(&verb.access());
        let verbs: Vec<Verb> = Verb::ALL.into_iter().filter(of_access).collect();
        VerbSet::of(&verbs)
    }

    fn denial(&self, pattern: &str) -> Option<Denial> {
        Some(Denial {
            rule: Rule {
                name: Text::new(format!("{PREFIX}{}", self.name)).ok()?,
                reason: Text::new(self.reason).ok()?,
            },
            verbs: self.verbs(),
            target: DenialTarget::Pattern {
                anchor: None,
                pattern: Bytes::new(pattern).ok()?,
            },
            effect: Effect::Deny,
        })
    }
}

impl Names {
    fn patterns(&self) -> Vec<String> {
        match self {
            Self::Matching(patterns) => patterns.iter().map(|p| (*p).to_owned()).collect(),
            Self::AllBut { exact, start, ends } => {
                let mut patterns = vec![(*exact).to_owned()];
                patterns.extend(all_but(start, ends));
                patterns
            }
        }
    }
}

/// Patterns that together match every name that begins with `start`, but for those that go on
/// with exactly one of `words`. Patterns have no negation, so the words are told apart letter by
/// letter: for each beginning of a word, the name that ends there, and all names that leave the
/// words there. `words` are lower-case ASCII letters or digits, at most a few hundred bytes each.
fn all_but(start: &str, words: &[&str]) -> Vec<String> {
    let mut beginnings: Vec<&str> = words
        .iter()
        .flat_map(|word| (0..=word.len()).filter_map(|n| word.get(..n)))
        .collect();
    beginnings.sort_unstable();
    beginnings.dedup();
    let leaving = beginnings.iter().map(|beginning| {
        let next: String = beginnings
            .iter()
            .filter_map(|longer| longer.strip_prefix(beginning))
            .filter(|rest| rest.len() == 1)
            .collect();
        if next.is_empty() {
            format!("{beginning}?")
        } else {
            format!("{beginning}[!{next}]")
        }
    });
    let ending = beginnings.iter().filter(|b| !words.contains(b));
    // An alternation cannot hold the empty string.
    let ending = ending.filter(|b| !b.is_empty()).map(|b| (*b).to_owned());
    let mut patterns = alternations(start, leaving, "*");
    patterns.extend(alternations(start, ending, ""));
    if !words.contains(&"") {
        patterns.push(start.to_owned());
    }
    patterns
}

/// `start{a,b,…}end`, as few of them as the limit of one pattern allows.
fn alternations(start: &str, branches: impl Iterator<Item = String>, end: &str) -> Vec<String> {
    let close = format!("}}{end}");
    let mut packed: Vec<String> = Vec::new();
    for branch in branches {
        match packed.last_mut() {
            Some(last) if last.len() + branch.len() + 1 + close.len() <= PATTERN_BYTES_MAX => {
                last.push(',');
                last.push_str(&branch);
            }
            Some(_) | None => packed.push(format!("{start}{{{branch}")),
        }
    }
    for pattern in &mut packed {
        pattern.push_str(&close);
    }
    packed
}

#[cfg(test)]
mod tests;
