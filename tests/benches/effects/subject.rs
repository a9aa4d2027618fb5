//! What is measured, and under which names it is kept.

use crate::clock::median;
use std::collections::BTreeMap;
use std::time::Instant;

/// What is done to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deed {
    /// A file of 4 KiB made.
    Create,
    /// Its content replaced by another 4 KiB.
    Replace,
    /// It removed.
    Delete,
    /// [`MANY`] such files made, in one change set where there are any.
    CreateMany,
    /// The content of each of them replaced.
    ReplaceMany,
}

/// Files of one change set.
pub const MANY: usize = 50;
/// How often each is done in one round.
pub const CYCLES: usize = 12;

impl Deed {
    pub const ALL: [Self; 5] = [
        Self::Create,
        Self::Replace,
        Self::Delete,
        Self::CreateMany,
        Self::ReplaceMany,
    ];
    pub const SINGLE: [Self; 3] = [Self::Create, Self::Replace, Self::Delete];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create 4 KiB",
            Self::Replace => "replace 4 KiB",
            Self::Delete => "delete",
            Self::CreateMany => "create 50 files of 4 KiB",
            Self::ReplaceMany => "replace 50 files of 4 KiB",
        }
    }
}

/// Whether the plain calls are made in a process that is caged as a gate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cage {
    Open,
    Closed,
}

/// How people write files without a broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Short {
    /// A temporary file, and a rename or link to the name.
    Temporary,
    /// Open, write, close.
    Direct,
}

/// A part of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// From the request to `Begin`: what is decoded, resolved, judged, staged, planned, encoded.
    Plan,
    /// From `Begun` to `Finish`; of the plain calls, the second look.
    Confirm,
    /// Of the plain calls, those that change the tree. A gate's own are in [`Self::Confirm`].
    Execute,
    /// From `Receipted` to the answer.
    Encode,
}

/// One thing that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// 64 bytes to another process and back, nothing else.
    PingPong,
    /// Through a warden, a gate and a client.
    Whole(Deed),
    /// The same system calls, in a process of their own.
    Plain(Cage, Deed),
    /// A part of them.
    PlainPart(Cage, Deed, Part),
    /// A part of what a gate does, as its warden and its worker see it, with two switches of
    /// process in it.
    Staged(Deed, Part),
    /// What is planned and not done, through a warden, a gate and a client.
    DryRun,
    /// The short way.
    Naive(Short, Deed),
    /// `Begin` to a warden and back, from a gate that does nothing else.
    Begin,
    /// `Finish` to it and back.
    Finish,
    /// The transaction of a begin alone.
    Journalled,
    /// The transaction of a finish alone.
    Recorded,
}

/// Nanoseconds of what one turn measured.
#[derive(Default)]
pub struct Samples(BTreeMap<Subject, Vec<f64>>);

impl Samples {
    pub fn add(&mut self, subject: Subject, nanos: f64) {
        self.0.entry(subject).or_default().push(nanos);
    }

    /// Measures one call.
    pub fn time<T>(&mut self, subject: Subject, call: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = call();
        self.add(subject, start.elapsed().as_nanos() as f64);
        result
    }

    /// The median of each.
    pub fn medians(self) -> impl Iterator<Item = (Subject, f64)> {
        self.0
            .into_iter()
            .map(|(subject, mut values)| (subject, median(&mut values)))
    }
}

/// Nanoseconds of each subject, in each round.
#[derive(Default)]
pub struct Times(BTreeMap<Subject, Vec<f64>>);

impl Times {
    pub fn add(&mut self, subject: Subject, nanos: f64) {
        self.0.entry(subject).or_default().push(nanos);
    }

    /// The median over the rounds.
    pub fn of(&self, subject: Subject) -> f64 {
        median(&mut self.0[&subject].clone())
    }

    /// The median over the rounds of what `worked_out` makes of each round's own times. What the
    /// machine does beside falls on all times of one round.
    pub fn each(&self, worked_out: impl Fn(&dyn Fn(Subject) -> f64) -> f64) -> f64 {
        let rounds = self.0[&Subject::PingPong].len();
        let mut values: Vec<f64> = (0..rounds)
            .map(|round| worked_out(&|subject| self.0[&subject][round]))
            .collect();
        median(&mut values)
    }
}
