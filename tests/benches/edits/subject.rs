//! What is measured, and under which names it is kept.

use crate::clock::median;
use std::collections::BTreeMap;
use std::time::Instant;

/// How an edit is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// Texts for texts.
    Replacements,
    V4a,
    Unified,
}

impl Form {
    pub const ALL: [Self; 3] = [Self::Replacements, Self::V4a, Self::Unified];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Replacements => "replacements",
            Self::V4a => "V4A",
            Self::Unified => "unified",
        }
    }
}

/// What the lines of a file are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lines {
    /// Each is another.
    Unlike,
    /// Only the lines that change are; all around them are closing braces and blanks.
    Alike,
}

impl Lines {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unlike => "lines all different",
            Self::Alike => "lines around all the same",
        }
    }
}

/// How much there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    /// Bytes of the file.
    pub bytes: usize,
    /// Edits of it, spread evenly.
    pub hunks: usize,
}

impl Size {
    pub const fn new(bytes: usize, hunks: usize) -> Self {
        Self { bytes, hunks }
    }

    /// A ten times larger file with ten times the hunks.
    pub const BOTH: [Self; 4] = [
        Self::new(10 << 10, 10),
        Self::new(100 << 10, 100),
        Self::new(1000 << 10, 1_000),
        Self::new(10_000 << 10, 10_000),
    ];
    /// A ten times larger file with as many hunks.
    pub const FILE: [Self; 4] = [
        Self::new(10 << 10, 10),
        Self::new(100 << 10, 10),
        Self::new(1000 << 10, 10),
        Self::new(10_000 << 10, 10),
    ];
    /// A file as large with ten times the hunks.
    pub const HUNKS: [Self; 4] = [
        Self::new(10_000 << 10, 10),
        Self::new(10_000 << 10, 100),
        Self::new(10_000 << 10, 1_000),
        Self::new(10_000 << 10, 10_000),
    ];

    pub fn name(self) -> String {
        format!("{} KiB, {} hunks", self.bytes >> 10, self.hunks)
    }

    /// How often something so large is done in one round.
    pub const fn times(self) -> usize {
        match self.bytes {
            0..100_000 => 20,
            100_000..1_000_000 => 5,
            _ => 1,
        }
    }
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Text into changes, by the client.
    Parse,
    /// Where they are and what comes of them, by the gate, in this process.
    Match,
    /// The whole request: a session, a gate, a warden, a file on disk.
    Whole,
    /// Read, the new bytes put where they are known to go, written.
    Plain,
    /// Each text looked for from the beginning and the file copied, as `edits[]` of many servers.
    OneByOne,
    /// `git apply`, as a program.
    Git,
    /// `apply_patch`, as a program.
    ApplyPatch,
}

/// One thing that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    pub form: Form,
    pub lines: Lines,
    pub size: Size,
    pub step: Step,
}

/// Nanoseconds of each subject, in each round.
#[derive(Default)]
pub struct Times(BTreeMap<Subject, Vec<f64>>);

impl Times {
    /// Measures `call` so often, and keeps the median.
    pub fn time(&mut self, subject: Subject, mut call: impl FnMut()) {
        let mut values: Vec<f64> = (0..subject.size.times())
            .map(|_| {
                let start = Instant::now();
                call();
                start.elapsed().as_nanos() as f64
            })
            .collect();
        self.0.entry(subject).or_default().push(median(&mut values));
    }

    pub fn has(&self, subject: Subject) -> bool {
        self.0.contains_key(&subject)
    }

    /// The median over the rounds.
    pub fn of(&self, subject: Subject) -> f64 {
        median(&mut self.0[&subject].clone())
    }

    /// The median over the rounds of each round's own ratio.
    pub fn ratio(&self, above: Subject, below: Subject) -> f64 {
        let pairs = self.0[&above].iter().zip(&self.0[&below]);
        let mut ratios: Vec<f64> = pairs.map(|(above, below)| above / below).collect();
        median(&mut ratios)
    }
}
