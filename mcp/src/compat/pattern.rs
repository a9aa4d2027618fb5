//! Patterns as the reference server reads them: those of `minimatch`, with its option `dot`, matched
//! with a whole path below the directory that is looked in.
//!
//! | pattern | matches |
//! |---|---|
//! | `*`, `?` | any characters, one character of one name, a dot at its beginning too |
//! | `**` as a whole name | any directories, none included; at the end all that is below |
//! | `[a-z]`, `[!a]`, `[^a]`, `[[:alpha:]]` | one character |
//! | `{a,b}`, `{1..3}` | one of these, with slashes in them too |
//! | `?(a\|b)`, `*(a\|b)`, `+(a\|b)`, `@(a\|b)` | none or one, any number, some, one of these |
//! | `\*` | the star itself |
//! | `!` at the beginning | what the rest does not match |
//! | `#` at the beginning | nothing: it is a comment |
//! | no slash: `*.rs` | beside the directory that is looked in, never deeper |
//! | a slash at its beginning or end | nothing |
//!
//! Matching takes linear time. What that engine has not, `!(a|b)`, is refused with its reason.

mod braces;
mod name;
#[cfg(test)]
mod tests;

use regex_automata::meta::Regex;
use std::fmt;

/// Why a pattern cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternError {
    /// It has `!(…)`.
    #[error(
        "`!(…)` is not supported, because matching is done in linear time: leave names out by \
         excludePatterns instead"
    )]
    Except,
    /// Its braces stand for more than [`braces::MOST`] patterns.
    #[error("its braces stand for more than {} patterns", braces::MOST)]
    Braces,
    /// It is nested too deeply, or too large.
    #[error("it is too large or nested too deeply: it has at most {BYTES_MAX} bytes")]
    TooLarge,
}

/// A pattern that can be matched.
pub(crate) struct Pattern {
    way: Way,
    /// The same in the gate's dialect, where that is certain.
    plain: Option<Vec<u8>>,
}

enum Way {
    /// It matches nothing at all.
    Never,
    /// It matches what this does.
    Matching(Regex),
    /// It matches what this does not.
    Differing(Regex),
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pattern")
    }
}

impl Pattern {
    /// Reads one.
    pub(crate) fn parse(text: &str) -> Result<Self, PatternError> {
        if text.len() > BYTES_MAX {
            return Err(PatternError::TooLarge);
        }
        let positive = text.trim_start_matches('!');
        let negations = text.len() - positive.len();
        // With `!` before it, `#` is a name's own.
        if text.is_empty() || text.starts_with('#') {
            let way = Way::Never;
            return Ok(Self { way, plain: None });
        }
        let regex = compile(positive)?;
        Ok(match negations % 2 {
            0 => Self {
                way: Way::Matching(regex),
                plain: plain(positive).filter(|_| negations == 0),
            },
            _ => Self {
                way: Way::Differing(regex),
                plain: None,
            },
        })
    }

    /// Whether a path below the directory matches.
    pub(crate) fn matches(&self, path: &str) -> bool {
        match &self.way {
            Way::Never => false,
            Way::Matching(regex) => regex.is_match(path),
            Way::Differing(regex) => !regex.is_match(path),
        }
    }

    /// The pattern in the dialect of a session's `glob`, where both match the same.
    pub(crate) fn plain(&self) -> Option<&[u8]> {
        self.plain.as_deref()
    }
}

/// Only what both dialects read alike: letters, stars, and `**` as a whole name.
fn plain(text: &str) -> Option<Vec<u8>> {
    let alike = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | '*' | '/');
    let whole = |name: &str| !matches!(name, "" | "." | "..");
    if !text.chars().all(alike) || !text.split('/').all(whole) {
        return None;
    }
    // A slash ties it to the directory, as every pattern is here.
    Some(format!("./{text}").into_bytes())
}

/// Bytes of a pattern, at most: what nothing closes is looked for from every place on.
const BYTES_MAX: usize = 4096;
/// Longest regular expression, and the memory it may take compiled.
const REGEX_BYTES_MAX: usize = 1 << 20;

fn compile(text: &str) -> Result<Regex, PatternError> {
    let mut regex = String::from(r"(?s)\A(?:");
    for (number, one) in braces::expand(text)?.iter().enumerate() {
        if number > 0 {
            regex.push('|');
        }
        path(one, &mut regex)?;
        if regex.len() > REGEX_BYTES_MAX {
            return Err(PatternError::TooLarge);
        }
    }
    regex.push_str(r")\z");
    let config = Regex::config()
        .nfa_size_limit(Some(8 * REGEX_BYTES_MAX))
        .hybrid_cache_capacity(REGEX_BYTES_MAX);
    Regex::builder()
        .configure(config)
        .build(&regex)
        .map_err(|_| PatternError::TooLarge)
}

/// One pattern without braces, name by name.
fn path(text: &str, regex: &mut String) -> Result<(), PatternError> {
    let names = names(text);
    let last = names.len().saturating_sub(1);
    for (at, name) in names.iter().enumerate() {
        match (*name, at == last) {
            ("**", true) => regex.push_str(".+"),
            ("**", false) => regex.push_str("(?:[^/]+/)*"),
            // No name is empty, `.` or `..`: such a pattern matches nothing.
            ("" | "." | "..", _) => regex.push_str("[^\\s\\S]"),
            (name, true) => name::translate(name, regex)?,
            (name, false) => {
                name::translate(name, regex)?;
                regex.push('/');
            }
        }
    }
    Ok(())
}

/// The names of a pattern: several slashes are one, `a/..` is nothing, several `**` are one.
fn names(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in text.split('/') {
        let before = names.last().copied();
        match (name, before) {
            // The empty name before a slash at the beginning stays.
            ("", Some("")) | ("**", Some("**")) => {}
            ("", Some(_)) => names.push(""),
            ("..", Some(before)) if !matches!(before, "" | "." | ".." | "**") => {
                names.pop();
            }
            (name, Some("")) if names.len() > 1 => {
                names.pop();
                names.push(name);
            }
            (name, _) => names.push(name),
        }
    }
    names
}
