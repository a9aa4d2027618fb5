//! `list_directory` and `directory_tree`.

use super::walk::{counted, cursor, each, limit, tell};
use crate::answer::Answer;
use crate::desk::Job;
use crate::failure::Failure;
use crate::name::{self, Names};
use portcullis_client::protocol::bounded::{Bytes, Few};
use portcullis_client::protocol::limits::WALK_DEPTH_MAX;
use portcullis_client::protocol::path::{escape, escaped};
use portcullis_client::protocol::session::{Detail, Entry, List, Order, Passing};
use portcullis_client::protocol::view::Kind;
use portcullis_client::{Session, ask, told};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Arguments {
    path: String,
    #[serde(default)]
    details: bool,
    #[serde(default)]
    sort_by: Sort,
    limit: Option<u64>,
    cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Tree {
    path: String,
    depth: Option<u64>,
    #[serde(default)]
    exclude_patterns: Vec<String>,
    #[serde(default)]
    include_ignored: Unmeant,
    limit: Option<u64>,
    cursor: Option<String>,
}

/// In which order.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Sort {
    #[default]
    Name,
    Newest,
    Oldest,
}

impl Sort {
    pub(super) const fn order(self) -> Order {
        match self {
            Self::Name => Order::Name,
            Self::Newest => Order::Newest,
            Self::Oldest => Order::Oldest,
        }
    }
}

/// What a caller calls `includeIgnored`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(from = "bool")]
pub(super) enum Unmeant {
    #[default]
    Skipped,
    Included,
}

impl From<bool> for Unmeant {
    fn from(included: bool) -> Self {
        if included {
            Self::Included
        } else {
            Self::Skipped
        }
    }
}

/// What is passed over, and what besides by these globs.
pub(super) fn passing(unmeant: Unmeant, exclude: &[String]) -> Result<Passing, Failure> {
    let usual = match unmeant {
        Unmeant::Included => Passing::nothing(),
        Unmeant::Skipped => Passing::usual(),
    };
    Ok(Passing {
        exclude: globs("excludePatterns", exclude)?,
        ..usual
    })
}

/// Globs as they are written.
pub(super) fn globs<const BYTES: usize, const MANY: usize>(
    what: &str,
    written: &[String],
) -> Result<Few<Bytes<BYTES>, MANY>, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::Arguments(format!("{what}: {error}"));
    let mut globs = Vec::new();
    for one in written {
        globs.push(Bytes::new(one.as_bytes()).map_err(|error| wrong(&error))?);
    }
    Few::new(globs).map_err(|error| wrong(&error))
}

pub(super) fn list(
    arguments: &Arguments,
    session: &mut Session,
    names: &Names,
    job: &Job,
) -> Result<Answer, Failure> {
    if arguments.path.bytes().all(|byte| byte == b'/') && !arguments.path.is_empty() {
        return Ok(roots(names));
    }
    let request = List {
        detail: if arguments.details {
            Detail::Full
        } else {
            Detail::Names
        },
        order: arguments.sort_by.order(),
        limit: limit(arguments.limit)?,
        cursor: cursor(arguments.cursor.as_deref())?,
        ..ask::list(names.selector(&arguments.path)?)
    };
    let mut answer = Answer::default();
    let ended = each(session.list(&request)?, job, |_, entry| {
        // All are of one directory.
        let path = entry.path.as_kernel_bytes();
        let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        put(&mut answer.text, &escaped(last), &entry);
    })?;
    tell(&mut answer, &ended, "entries", names);
    Ok(answer)
}

/// The directories there are, where a caller asks for the top of all.
fn roots(names: &Names) -> Answer {
    let all: Vec<String> = names.roots().map(|root| format!("{root}/")).collect();
    let mut answer = Answer::line(format!("{} directories", all.len()));
    answer.text = all.join("\n");
    answer.fact("path", "/");
    answer.fact("found", all.len());
    answer.fact("complete", true);
    answer
}

/// A name with what it is, unless it is a file.
fn marked(text: &mut String, name: &str, kind: Kind) {
    text.push_str(name);
    match kind {
        Kind::File => {}
        Kind::Directory => text.push('/'),
        Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
            text.push_str(&format!(" [{}]", kind.name()));
        }
    }
}

/// One entry of this name, a line.
pub(super) fn put(text: &mut String, name: &str, entry: &Entry) {
    let slash = match entry.kind {
        Kind::Directory => "/",
        Kind::File | Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => "",
    };
    match &entry.detail {
        None => {
            text.push_str(name);
            text.push_str(slash);
            match entry.kind {
                Kind::File | Kind::Directory => {}
                Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
                    text.push_str(&format!(" [{}]", entry.kind.name()));
                }
            }
        }
        Some(detail) => {
            let line = told::Line {
                kind: entry.kind,
                mode: detail.mode,
                size: detail.size,
                modified: detail.modified,
                name: format!("{name}{slash}"),
                link: detail.link.as_ref().map(Bytes::as_slice),
            };
            text.push_str(&line.to_string());
        }
    }
    if let Some(rule) = &entry.denied {
        text.push_str(&format!(" [not to be entered: {}]", rule.as_str()));
    }
    text.push('\n');
}

pub(super) fn tree(
    arguments: &Tree,
    session: &mut Session,
    names: &Names,
    job: &Job,
) -> Result<Answer, Failure> {
    let request = List {
        depth: counted("depth", arguments.depth, WALK_DEPTH_MAX, WALK_DEPTH_MAX)?,
        passing: passing(arguments.include_ignored, &arguments.exclude_patterns)?,
        limit: limit(arguments.limit)?,
        cursor: cursor(arguments.cursor.as_deref())?,
        ..ask::list(names.selector(&arguments.path)?)
    };
    let mut answer = Answer::default();
    let mut above: Vec<Vec<u8>> = Vec::new();
    let ended = each(session.list(&request)?, job, |start, entry| {
        let within = start.path.as_bytes().len();
        branch(&mut answer.text, &mut above, &entry, within);
    })?;
    tell(&mut answer, &ended, "entries", names);
    Ok(answer)
}

/// One entry, indented below the directories it is in, of which the path's first `within` bytes are
/// not told. Those that were not told before it, because a page began within them, are told first.
fn branch(text: &mut String, above: &mut Vec<Vec<u8>>, entry: &Entry, within: usize) {
    let path = entry.path.as_bytes().get(within..).unwrap_or_default();
    let path = path.strip_prefix(b"/").unwrap_or(path);
    let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    let Some(last) = parts.pop() else {
        return;
    };
    let same = above
        .iter()
        .zip(&parts)
        .take_while(|(a, b)| a == *b)
        .count();
    above.truncate(same);
    for (depth, directory) in parts.iter().enumerate().skip(same) {
        line(text, depth, directory, Kind::Directory);
        above.push(directory.to_vec());
    }
    line(text, parts.len(), last, entry.kind);
    if entry.kind == Kind::Directory {
        above.push(last.to_vec());
    }
    if entry.denied.is_some() {
        text.truncate(text.trim_end().len());
        text.push_str(" [not to be entered]\n");
    }
}

fn line(text: &mut String, depth: usize, name: &[u8], kind: Kind) {
    text.push_str(&"  ".repeat(depth));
    marked(text, &escape(name), kind);
    text.push('\n');
}

/// A pattern as a caller writes it: escapes are of names, so that a shown name can be one.
pub(super) fn pattern(written: &str) -> Result<Vec<u8>, Failure> {
    name::bytes(written).or_else(|_| Ok(written.as_bytes().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_client::protocol::path::RelPath;

    fn entry(path: &str, kind: Kind) -> Entry {
        Entry {
            path: RelPath::parse(path.as_bytes()).unwrap(),
            kind,
            denied: None,
            detail: None,
        }
    }

    #[test]
    fn a_tree_is_indented_and_a_page_that_begins_within_names_what_it_is_in() {
        let from = |within: usize, entries: &[Entry]| {
            let (mut text, mut above) = (String::new(), Vec::new());
            for entry in entries {
                branch(&mut text, &mut above, entry, within);
            }
            text
        };
        let shown = |entries: &[Entry]| from(0, entries);
        let all = [
            entry("a", Kind::Directory),
            entry("a/b", Kind::Directory),
            entry("a/b/c", Kind::File),
            entry("a/d", Kind::File),
            entry("e", Kind::File),
        ];
        assert_eq!(shown(&all), "a/\n  b/\n    c\n  d\ne\n");
        assert_eq!(shown(&all[2..]), "a/\n  b/\n    c\n  d\ne\n");
        assert_eq!(shown(&all[3..]), "a/\n  d\ne\n");
        assert_eq!(from(1, &all[1..4]), "b/\n  c\nd\n");
        let others = [entry("a/l", Kind::Link), entry("p", Kind::Fifo)];
        assert_eq!(shown(&others), "a/\n  l [link]\np [fifo]\n");
    }
}
