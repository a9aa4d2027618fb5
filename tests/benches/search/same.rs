//! Whether both sides said the same.

use crate::query::{Ask, Query};
use portcullis_client::{Session, ask};
use portcullis_protocol::limits::SEARCH_LINE_BYTES_MAX;
use portcullis_protocol::path::escape;
use portcullis_protocol::session::Verdict;
use portcullis_protocol::verb::Verb;
use std::collections::BTreeMap;
use std::path::Path;

/// Files asked about one by one, at most.
const ASKED_MAX: usize = 500;

/// How two outputs compare.
#[derive(Debug, Default)]
pub struct Same {
    /// Results that both have.
    pub both: usize,
    /// Results that only one has, or that differ, and for which there is no reason.
    pub different: usize,
    /// Files that only `rg` has, because a rule of the session denies them.
    pub denied: usize,
    /// Lines longer than the gate shows.
    pub cut: usize,
    /// The first results without a reason.
    pub examples: Vec<String>,
}

/// Compares two outputs, whatever their order.
pub fn compare(query: &Query, rg: &Path, tool: &Path, session: &mut Session) -> Same {
    let lines = |path: &Path| std::fs::read(path).unwrap();
    let (rg, tool) = (lines(rg), lines(tool));
    let searched = match query.ask {
        Ask::Literal(_)
        | Ask::Regex(_)
        | Ask::RegexAnyCase(_)
        | Ask::LiteralIn(..)
        | Ask::LiteralInAll(_) => true,
        Ask::List | Ask::ListAll | Ask::Glob(_) => false,
    };
    let (rg, tool) = (
        results(&rg, searched, Escapes::No),
        results(&tool, searched, Escapes::Yes),
    );
    let mut judge = Judge {
        session,
        verb: if searched { Verb::Search } else { Verb::Stat },
        known: BTreeMap::new(),
    };
    let mut same = Same::default();
    for (key, text) in &rg {
        match tool.get(key) {
            Some(other) if other == text => same.both += 1,
            // What is cut is marked in the line itself.
            Some(_) if text.len() > SEARCH_LINE_BYTES_MAX => {
                same.both += 1;
                same.cut += 1;
            }
            Some(_) => same.differ("another text", key),
            None if judge.denies(key) => {}
            None => same.differ("only rg", key),
        }
    }
    for key in tool.keys().filter(|key| !rg.contains_key(*key)) {
        same.differ("only the gate", key);
    }
    same.denied = judge.known.values().filter(|denied| **denied).count();
    same
}

impl Same {
    fn differ(&mut self, why: &str, key: &str) {
        self.different += 1;
        if self.examples.len() < 5 {
            self.examples.push(format!("{why}: {key}"));
        }
    }
}

/// Whether names are written with escapes already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    No,
    Yes,
}

/// Results by file and line, each with its text.
fn results(output: &[u8], searched: bool, escapes: Escapes) -> BTreeMap<String, Vec<u8>> {
    let name = |name: &[u8]| match escapes {
        Escapes::No => escape(name),
        Escapes::Yes => String::from_utf8_lossy(name).into_owned(),
    };
    let mut results = BTreeMap::new();
    for line in output.split(|byte| *byte == b'\n') {
        if line.is_empty() {
            continue;
        }
        if !searched {
            results.insert(name(line), Vec::new());
        } else if let Some((file, rest)) = numbered(line) {
            let (number, text) = rest.split_at(rest.iter().position(|b| *b == b':').unwrap());
            let number = String::from_utf8_lossy(number);
            // Whether the end of a line of Windows belongs to its text is a matter of taste.
            let text = text[1..].strip_suffix(b"\r").unwrap_or(&text[1..]);
            results.insert(format!("{}:{number}", name(file)), text.to_vec());
        }
        // What is no result speaks of a file with zero bytes: statistics on the other side.
    }
    results
}

/// A line's file, and what follows from its number on.
fn numbered(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colons = line.iter().enumerate().filter(|(_, byte)| **byte == b':');
    colons
        .map(|(at, _)| (&line[..at], &line[at + 1..]))
        .find(|(_, rest)| {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            digits > 0 && rest.get(digits) == Some(&b':')
        })
}

/// Asks the session why a file is missing.
struct Judge<'s> {
    session: &'s mut Session,
    verb: Verb,
    known: BTreeMap<String, bool>,
}

impl Judge<'_> {
    fn denies(&mut self, key: &str) -> bool {
        let file = match self.verb {
            Verb::Search => key.rsplit_once(':').map_or(key, |(file, _)| file),
            _ => key,
        };
        if let Some(denied) = self.known.get(file) {
            return *denied;
        }
        if self.known.len() >= ASKED_MAX {
            return false;
        }
        let why = ask::why(self.verb, ask::selector(file).unwrap());
        let denied = matches!(self.session.why(&why), Ok(Verdict::Refused(_)));
        self.known.insert(file.to_owned(), denied);
        denied
    }
}
