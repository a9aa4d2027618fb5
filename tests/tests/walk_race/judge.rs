//! What one answer told, and what that is called.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

/// Whose walk it is.
pub(crate) type Verb = &'static str;

/// What one walk told.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// Paths, in the order they came.
    pub(crate) paths: Vec<Vec<u8>>,
    /// Lines of files.
    pub(crate) texts: Vec<Vec<u8>>,
    /// How it ended, in words.
    pub(crate) end: String,
}

/// The names that must not be told, and those that always must.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// Of files that no attack touches.
    pub(crate) kept: BTreeSet<Vec<u8>>,
    /// A name that is hidden.
    pub(crate) hidden: Option<&'static str>,
}

/// How often each outcome came.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) walks: u64,
    pub(crate) escapes: u64,
    counts: BTreeMap<(Verb, String), u64>,
    /// The first escape, and the first answer that lacked something, in words.
    pub(crate) escape: Option<String>,
    pub(crate) missing: Option<String>,
}

impl Tally {
    /// Judges one walk. One that begins below the root is not asked for what is beside it.
    pub(crate) fn judge(&mut self, rules: &Rules, (verb, from): (Verb, &str), walked: &Walked) {
        self.walks += 1;
        if let Some(told) = forbidden(rules, walked) {
            self.escapes += 1;
            self.count(verb, "ESCAPE");
            self.escape
                .get_or_insert(format!("{verb} of {from} told {told}"));
            return;
        }
        let ended = walked.end.starts_with("complete");
        let told: BTreeSet<&Vec<u8>> = walked.paths.iter().collect();
        let asked = |path: &&Vec<u8>| from == "." || path.starts_with(from.as_bytes());
        let mut lacking = rules
            .kept
            .iter()
            .filter(asked)
            .filter(|p| !told.contains(p));
        if let (true, Some(lacks)) = (ended, lacking.next()) {
            let lacks = String::from_utf8_lossy(lacks);
            self.missing
                .get_or_insert(format!("{verb} of {from} lacked {lacks}"));
        }
        let files = walked
            .paths
            .iter()
            .filter(|p| name(p).starts_with(b"keep-"));
        let once: BTreeSet<&Vec<u8>> = files.clone().collect();
        if once.len() != files.count() {
            self.missing
                .get_or_insert(format!("{verb} of {from} told a file twice"));
        }
        let attacked = walked.paths.iter().filter(|p| name(p).starts_with(b"in-"));
        let saw = match attacked.count() {
            0 => "without what is attacked",
            _ => "with what is attacked",
        };
        self.count(verb, format!("{}, {saw}", walked.end));
    }

    pub(crate) fn count(&mut self, verb: Verb, outcome: impl Into<String>) {
        *self.counts.entry((verb, outcome.into())).or_default() += 1;
    }

    /// How often an outcome came that is called so, or begins so.
    pub(crate) fn of(&self, verb: Verb, begins: &str) -> u64 {
        let matching = self.counts.iter();
        let matching = matching.filter(|((v, o), _)| *v == verb && o.starts_with(begins));
        matching.map(|(_, n)| n).sum()
    }

    /// Prints it, past the test runner's capture: a run's numbers are its result.
    pub(crate) fn print(&self, scenario: &str, server: &str, turns: u64) {
        let mut text = format!(
            "\nwalk race: {scenario} | {server}: {} walks against {turns} changes, {} escapes\n",
            self.walks, self.escapes
        );
        for ((verb, outcome), n) in &self.counts {
            text.push_str(&format!("  {verb:<7} {outcome:<60} {n:>7}\n"));
        }
        if let Some(escape) = &self.escape {
            text.push_str(&format!("  first escape: {escape}\n"));
        }
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
}

fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// What of an answer must not be in it.
fn forbidden(rules: &Rules, walked: &Walked) -> Option<String> {
    let bad_name = |name: &[u8]| {
        name.starts_with(b"out-")
            || name.starts_with(b"secret-")
            || rules.hidden.is_some_and(|hidden| name == hidden.as_bytes())
    };
    let path = walked
        .paths
        .iter()
        .find(|p| p.split(|b| *b == b'/').any(bad_name));
    let text = walked.texts.iter().find(|text| {
        let has = |what: &[u8]| text.windows(what.len()).any(|w| w == what);
        has(b"OUTSIDE") || has(b"SECRET")
    });
    let found = path.or(text)?;
    Some(String::from_utf8_lossy(&found[..found.len().min(80)]).into_owned())
}
