//! What came of each attempt, counted by name.

use std::collections::BTreeMap;
use std::io::Write as _;

/// Outcomes of one run, by verb and name. `ESCAPE` is the one that must not be.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) attempts: u64,
    counts: BTreeMap<(&'static str, String), u64>,
    /// The first escape, in words.
    pub(crate) example: Option<String>,
}

/// The name of an outcome in which something outside the root was shown.
pub(crate) const ESCAPE: &str = "ESCAPE";

impl Tally {
    /// Counts one attempt.
    pub(crate) fn count(&mut self, verb: &'static str, outcome: impl Into<String>) {
        self.attempts += 1;
        self.also(verb, outcome);
    }

    /// Counts something that came beside the outcome of an attempt.
    pub(crate) fn also(&mut self, verb: &'static str, outcome: impl Into<String>) {
        *self.counts.entry((verb, outcome.into())).or_default() += 1;
    }

    /// Counts an attempt that showed something outside.
    pub(crate) fn escape(&mut self, verb: &'static str, what: String) {
        self.count(verb, ESCAPE);
        self.example.get_or_insert(what);
    }

    /// How often a verb came to an outcome.
    pub(crate) fn of(&self, verb: &str, outcome: &str) -> u64 {
        let matching = self
            .counts
            .iter()
            .filter(|((v, o), _)| *v == verb && o == outcome);
        matching.map(|(_, n)| n).sum()
    }

    /// Refusals with another code than these.
    pub(crate) fn refusals_beside(&self, codes: &[&str]) -> Vec<String> {
        let refusals = self.counts.iter().filter_map(|((verb, outcome), n)| {
            let code = outcome.strip_prefix("refused ")?;
            (!codes.contains(&code)).then(|| format!("{n} times {verb} {code}"))
        });
        refusals.collect()
    }

    /// Attempts that showed something outside.
    pub(crate) fn escapes(&self) -> u64 {
        let matching = self.counts.iter().filter(|((_, o), _)| o == ESCAPE);
        matching.map(|(_, n)| n).sum()
    }

    /// Prints it, past the test runner's capture: a run's numbers are its result.
    pub(crate) fn print(&self, scenario: &str, server: &str, turns: u64, more: &str) {
        let mut text = format!(
            "\nrace: {scenario} | {server}: {} attempts against {turns} changes, {} escapes{more}\n",
            self.attempts,
            self.escapes()
        );
        for ((verb, outcome), n) in &self.counts {
            text.push_str(&format!("  {verb:<7} {outcome:<34} {n:>9}\n"));
        }
        if let Some(example) = &self.example {
            text.push_str(&format!("  first escape: {example}\n"));
        }
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
}
