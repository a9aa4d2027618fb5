//! Searches and listings of both sides in turns, and what is divided by what.

use crate::Options;
use crate::clock::{least, median};
use crate::corpus::{Corpus, Size};
use crate::query::{self, Query};
use crate::report::{Bound, Row};
use crate::same::{self, Same};
use crate::sides::{Gate, Place, Took};
use crate::turns::turn;
use std::path::Path;

/// What the issue allows a gate beside its results, in MiB.
const MEMORY: Bound = Bound::AtMost {
    goal: 64.0,
    limit: 64.0,
};

/// Another number of rounds: more for a close row, one to see only whether both sides agree.
const ROUNDS: &str = "PORTCULLIS_BENCH_ROUNDS";

/// The rows of one tree.
#[derive(Default)]
pub struct Rows {
    pub ratios: Vec<Row>,
    pub different: Vec<Row>,
    pub memory: Vec<Row>,
}

/// One row while it is measured: its session, and each round's times of both sides.
struct Line {
    query: Query,
    gate: Gate,
    /// The gate's peak before anything was asked of it.
    before: f64,
    times: Vec<(Took, Option<Took>)>,
    same: Option<Same>,
}

/// Measures all rows whose name `wanted` accepts.
pub fn measure(
    place: &mut Place,
    corpus: &Corpus,
    rg: Option<&Path>,
    options: &Options,
    wanted: impl Fn(&str) -> bool,
) -> Rows {
    let root = place.seal(corpus);
    let queries = query::all(corpus).into_iter();
    let mut lines: Vec<Line> = queries
        .filter(|query| wanted(&format!("{}: {}", corpus.name, query.name)))
        .map(|query| {
            let gate = place.gate(root);
            Line {
                query,
                before: gate.peak(),
                gate,
                times: Vec::new(),
                same: None,
            }
        })
        .collect();
    let rounds = rounds(corpus.size, options);
    let all: Vec<usize> = (0..lines.len()).collect();
    let (mut asking, _) = place.session(root);
    for round in 0..=rounds {
        for at in turn(&all, round) {
            let line = &mut lines[at];
            let times = line.once(place, corpus, rg, round);
            if round > 0 {
                line.times.push(times);
            } else if rg.is_some() {
                // The first round is for caches, and to compare what both said.
                let (rg, tool) = (place.output("rg"), place.output("tool"));
                line.same = Some(same::compare(&line.query, &rg, &tool, &mut asking));
            }
        }
    }
    let mut rows = Rows::default();
    for line in &lines {
        rows.add(corpus, line);
    }
    rows
}

/// How often each row is measured.
fn rounds(size: Size, options: &Options) -> usize {
    if let Ok(named) = std::env::var(ROUNDS) {
        return named
            .parse()
            .unwrap_or_else(|_| panic!("{ROUNDS} is no number"));
    }
    match size {
        Size::Small => options.number(20, 100),
        Size::Between | Size::Large => options.number(5, 11),
    }
}

impl Line {
    /// Both sides once; which is first changes with the round.
    fn once(
        &self,
        place: &Place,
        corpus: &Corpus,
        rg: Option<&Path>,
        round: usize,
    ) -> (Took, Option<Took>) {
        let tool = || place.tool(&self.gate, &self.query);
        let rg = || rg.map(|rg| place.rg(rg, corpus, &self.query));
        if round.is_multiple_of(2) {
            let took = tool();
            (took, rg())
        } else {
            let compared = rg();
            (tool(), compared)
        }
    }

    /// Each round's quotient of what is taken of both sides.
    fn ratios(&self, of: impl Fn(&Took) -> f64) -> Vec<f64> {
        let both = self.times.iter();
        both.filter_map(|(tool, rg)| rg.as_ref().map(|rg| of(tool) / of(rg)))
            .collect()
    }
}

impl Rows {
    fn add(&mut self, corpus: &Corpus, line: &Line) {
        let name = format!("{}: {}", corpus.name, line.query.name);
        let wall = |took: &Took| took.wall.as_secs_f64() * 1e3;
        let mut tool: Vec<f64> = line.times.iter().map(|(tool, _)| wall(tool)).collect();
        let peak = line.gate.peak();
        self.memory.push(Row {
            name: name.clone(),
            value: peak / 1024.0,
            unit: " MiB",
            bound: MEMORY,
            of: format!("most of its gate; {:.1} MiB before", line.before / 1024.0),
        });
        let Some(same) = &line.same else {
            self.ratios.push(Row {
                name,
                value: median(&mut tool),
                unit: " ms",
                bound: Bound::Shown,
                of: format!("least {:.1} ms; nothing to compare with", least(&tool)),
            });
            return;
        };
        let rg = line.times.iter().filter_map(|(_, rg)| rg.as_ref());
        let mut rg: Vec<f64> = rg.map(wall).collect();
        let mut ratios = line.ratios(|took| took.wall.as_secs_f64());
        let mut cpu = line.ratios(|took| took.cpu.as_secs_f64());
        self.ratios.push(Row {
            name: name.clone(),
            value: median(&mut ratios),
            unit: "",
            bound: line.query.bound(corpus.size),
            of: format!(
                "{:.1} ms / rg {:.1} ms; of the least {:.2}, CPU {:.2}; {}",
                median(&mut tool),
                median(&mut rg),
                least(&tool) / least(&rg),
                median(&mut cpu),
                said(same)
            ),
        });
        self.different.push(Row {
            name,
            value: same.different as f64,
            unit: "",
            bound: Bound::AtMost {
                goal: 0.0,
                limit: 0.0,
            },
            of: match same.examples.is_empty() {
                true => said(same),
                false => format!("{}: {}", said(same), same.examples.join(", ")),
            },
        });
    }

    pub fn append(&mut self, other: Self) {
        self.ratios.extend(other.ratios);
        self.different.extend(other.different);
        self.memory.extend(other.memory);
    }

    /// Worst first: what is nearest to its limit, or farthest over it.
    pub fn sort(&mut self) {
        for rows in [&mut self.ratios, &mut self.different, &mut self.memory] {
            rows.sort_by(|a, b| badness(b).total_cmp(&badness(a)));
        }
    }
}

fn badness(row: &Row) -> f64 {
    match row.bound {
        Bound::AtMost { limit, .. } if limit > 0.0 => row.value / limit,
        Bound::AtMost { .. } => row.value,
        Bound::AtLeast { limit, .. } => limit / row.value,
        Bound::Shown => 0.0,
    }
}

fn said(same: &Same) -> String {
    let mut said = format!("{} results are in both", same.both);
    if same.cut > 0 {
        said.push_str(&format!(", {} of them cut", same.cut));
    }
    if same.denied > 0 {
        said.push_str(&format!(", {} files denied", same.denied));
    }
    if same.different > 0 {
        said.push_str(&format!(", {} DIFFER", same.different));
    }
    said
}
