//! Names that match a pattern.

use super::answer::{Answer, Doing, Trouble, failure};
use super::directories::{Directories, Place};
use super::pattern::Pattern;
use super::text::shown;
use super::walk::{Below, Walk, walk};
use crate::desk::Job;
use crate::short::short;
use portcullis_client::protocol::limits::{PATTERN_BYTES_MAX, WALK_DEPTH_MAX};
use portcullis_client::protocol::session::{Glob, List, Passing};
use portcullis_client::{Error, Session, ask};

/// Finds files and directories.
pub(super) fn search(
    (session, job): (&mut Session, &Job),
    directories: &Directories,
    path: &str,
    pattern: &str,
    exclude: &[String],
) -> Result<Answer, Trouble> {
    let place = directories.place(path)?;
    let wanted =
        Pattern::parse(pattern).map_err(|e| format!("pattern `{}`: {e}", short(pattern)))?;
    let exclude = Patterns::of_search(exclude)?;
    let walk = find((session, job), &place, &wanted)
        .map_err(|e| failure(e, Doing::List, &place, directories))?;
    let root = shown(place.root());
    let mut text = String::new();
    for Below {
        path, below_root, ..
    } in walk.below()
    {
        if job.is_cancelled() {
            break;
        }
        if !wanted.matches(&path) || exclude.leave_out(&path) {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&root);
        text.push('/');
        text.push_str(&below_root);
    }
    if text.is_empty() {
        "No matches found".clone_into(&mut text);
    }
    Ok(Answer::Text {
        text,
        notes: walk.notes,
    })
}

/// Asks for what may match: the gate does the matching where both dialects say the same.
fn find(
    (session, job): (&mut Session, &Job),
    place: &Place,
    wanted: &Pattern,
) -> Result<Walk, Error> {
    let selector = place.selector()?;
    let Some(pattern) = wanted
        .plain()
        .filter(|plain| plain.len() <= PATTERN_BYTES_MAX)
    else {
        let list = List {
            depth: WALK_DEPTH_MAX,
            ..ask::list(selector)
        };
        return walk(session, &list, job);
    };
    let glob = Glob {
        passing: Passing::nothing(),
        ..ask::glob(selector, pattern)?
    };
    walk(session, &glob, job)
}

/// Patterns that are left out by one call, at most: each is compiled, and every name is compared with
/// each.
const EXCLUDED_MAX: usize = 256;

fn few(texts: &[String]) -> Result<(), String> {
    match texts.len() {
        0..=EXCLUDED_MAX => Ok(()),
        many => Err(format!(
            "excludePatterns: {many} patterns, at most {EXCLUDED_MAX} are taken"
        )),
    }
}

/// Names that are left out, each with all below it.
#[derive(Debug)]
pub(super) struct Patterns(Vec<Pattern>);

impl Patterns {
    /// Patterns of a search: matched with the whole path.
    fn of_search(texts: &[String]) -> Result<Self, String> {
        few(texts)?;
        let each = texts.iter().map(|text| Self::one(text, text));
        each.collect::<Result<_, _>>().map(Self)
    }

    /// Patterns of a tree: one without a star is a name or path at any depth.
    pub(super) fn of_tree(texts: &[String]) -> Result<Self, String> {
        few(texts)?;
        let mut patterns = Vec::new();
        for text in texts {
            patterns.push(Self::one(text, text)?);
            if !text.contains('*') {
                patterns.push(Self::one(text, &format!("**/{text}"))?);
                patterns.push(Self::one(text, &format!("**/{text}/**"))?);
            }
        }
        Ok(Self(patterns))
    }

    fn one(given: &str, text: &str) -> Result<Pattern, String> {
        Pattern::parse(text).map_err(|e| format!("excludePatterns `{}`: {e}", short(given)))
    }

    /// Whether an entry, or a directory it is in, is left out.
    pub(super) fn leave_out(&self, path: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let directories = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        let mut names = directories.chain([path]);
        names.any(|name| self.0.iter().any(|pattern| pattern.matches(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_are_too_many_or_too_long_are_refused_and_not_given_back_whole() {
        let many = |count| vec!["a".to_owned(); count];
        assert!(Patterns::of_search(&many(EXCLUDED_MAX)).is_ok());
        assert!(Patterns::of_search(&many(EXCLUDED_MAX + 1)).is_err());
        assert!(Patterns::of_tree(&many(EXCLUDED_MAX)).is_ok());
        assert!(Patterns::of_tree(&many(EXCLUDED_MAX + 1)).is_err());
        let said = Patterns::of_search(&["[".repeat(1 << 20)]).unwrap_err();
        assert!(said.contains("too large") && said.len() < 8192, "{said}");
    }
}
