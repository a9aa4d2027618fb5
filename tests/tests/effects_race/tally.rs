//! What came of each attempt, counted by verb and name.

use std::collections::BTreeMap;
use std::io::Write as _;

/// Something outside the root is not as it was.
pub(crate) const ESCAPE: &str = "ESCAPE";
/// A version that somebody else placed is nowhere, and no receipt says that it was to go.
pub(crate) const LOST: &str = "LOST";
/// The answer says what is not so.
pub(crate) const UNTRUE: &str = "UNTRUE";
/// A temporary of the broker is there and no receipt says so.
pub(crate) const LITTER: &str = "LITTER";
/// What must never come.
const FAULTS: [&str; 4] = [ESCAPE, LOST, UNTRUE, LITTER];

/// Outcomes of one run.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) attempts: u64,
    counts: BTreeMap<(&'static str, String), u64>,
    /// The first faults, in words.
    pub(crate) examples: Vec<String>,
}

impl Tally {
    /// Counts one attempt.
    pub(crate) fn count(&mut self, verb: &'static str, outcome: impl Into<String>) {
        self.attempts += 1;
        self.also(verb, outcome);
    }

    /// Counts something beside the outcome of an attempt.
    pub(crate) fn also(&mut self, verb: &'static str, outcome: impl Into<String>) {
        *self.counts.entry((verb, outcome.into())).or_default() += 1;
    }

    /// Counts what must not be.
    pub(crate) fn fault(&mut self, verb: &'static str, fault: &'static str, what: String) {
        self.also(verb, fault);
        if self.examples.len() < 4 {
            self.examples.push(format!("{fault} by {verb}: {what}"));
        }
    }

    /// How often a verb came to an outcome.
    pub(crate) fn of(&self, verb: &str, outcome: &str) -> u64 {
        let matching = self
            .counts
            .iter()
            .filter(|((v, o), _)| *v == verb && o == outcome);
        matching.map(|(_, n)| n).sum()
    }

    /// How often a verb did what must not be.
    pub(crate) fn faults_of(&self, verb: &str) -> u64 {
        FAULTS.iter().map(|fault| self.of(verb, fault)).sum()
    }

    /// All that must not be.
    pub(crate) fn faults(&self) -> u64 {
        let faults = self
            .counts
            .iter()
            .filter(|((_, outcome), _)| FAULTS.contains(&outcome.as_str()));
        faults.map(|(_, n)| n).sum()
    }

    /// Refusals and failures with another code than these.
    pub(crate) fn codes_beside(&self, codes: &[&str]) -> Vec<String> {
        let others = self.counts.iter().filter_map(|((verb, outcome), n)| {
            let code = outcome
                .strip_prefix("refused ")
                .or_else(|| outcome.strip_prefix("failed "))?;
            (!codes.contains(&code)).then(|| format!("{n} times {verb} {outcome}"))
        });
        others.collect()
    }

    /// Prints it, past the test runner's capture: a run's numbers are its result.
    pub(crate) fn print(&self, scenario: &str, server: &str, more: &str) {
        let mut text = format!(
            "\neffects race: {scenario} | {server}: {} attempts, {} faults{more}\n",
            self.attempts,
            self.faults()
        );
        for ((verb, outcome), n) in &self.counts {
            text.push_str(&format!("  {verb:<8} {outcome:<30} {n:>9}\n"));
        }
        for example in &self.examples {
            text.push_str(&format!("  {example}\n"));
        }
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
}
