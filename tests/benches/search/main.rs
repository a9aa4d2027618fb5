//! Searches, listings and globs through a session, beside `rg` with the same flags: whole processes
//! on both sides, warm caches, as ratios of one run.
//!
//! Everything is measured in turns: each round measures both sides of every row once, in changing
//! order. A ratio is the median over the rounds of each round's own ratio. `docs/PERFORMANCE.md`
//! says what the rows mean and which trees they need.
//!
//! ```text
//! PORTCULLIS_BENCH_CORPORA=TREES PORTCULLIS_RG=RG \
//!     cargo bench -p portcullis-tests --bench search [-- [--quick] [--json] [--check]]
//! ```

mod cancel;
#[expect(
    dead_code,
    reason = "shared with the other benches, which use all of it"
)]
#[path = "../common/clock.rs"]
mod clock;
mod corpus;
mod fair;
mod floor;
mod guards;
#[path = "../common/options.rs"]
mod options;
mod query;
#[expect(
    dead_code,
    reason = "shared with the other benches, which use all of it"
)]
#[path = "../common/report.rs"]
mod report;
mod rows;
mod same;
mod sides;
mod spread;
mod turns;

use corpus::{Corpus, Means, Size};
use report::{Report, Table};
use rows::Rows;
use sides::Place;
use std::process::ExitCode;
use std::time::{Duration, Instant};

type Options = options::Options<Spin>;

/// Which side is repeated for a profiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spin {
    Gate,
    Rg,
}

const SPINS: [(&str, Spin); 2] = [("--spin-gate", Spin::Gate), ("--spin-rg", Spin::Rg)];
/// Long enough for a profile.
const SPINNING: Duration = Duration::from_secs(5);
/// Only rows whose name has this in it: a name is `tree: row`, and the rows of the further tables
/// begin with `guards`, `fairness` and `cancel`.
const ONLY: &str = "PORTCULLIS_BENCH_ONLY";
/// More runnable threads than this beside the bench, and its numbers are not worth much.
const BUSY: f64 = 0.5;

fn main() -> ExitCode {
    let arguments = || std::env::args().skip(1);
    if let Some(ended) = guards::role(arguments()) {
        return ended;
    }
    let options = match Options::parse(arguments(), &SPINS) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::from(2);
        }
    };
    let means = Means::find();
    for missing in means.missing.iter().cloned().chain(busy()) {
        eprintln!("note: {missing}");
    }
    for corpus in &means.corpora {
        eprintln!(
            "{}: {} files, judged as {:?}",
            corpus.name, corpus.files, corpus.size
        );
    }
    if let Some(spin) = options.spin {
        repeat(&means, spin);
        return ExitCode::SUCCESS;
    }
    let report = measure(&means, &options);
    if options.json {
        println!("{}", report.json());
    } else {
        print!("{report}");
    }
    // Said again at the end: a build may have begun meanwhile.
    if let Some(noise) = busy() {
        eprintln!("note: {noise}");
    }
    if options.check && report.misses() > 0 {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn wanted(name: &str) -> bool {
    std::env::var(ONLY).map_or(true, |only| name.contains(&only))
}

/// Says it when something else uses the processors: both sides use two of them, so that ratios lean
/// to whichever side is disturbed less.
fn busy() -> Option<String> {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap();
    let load: f64 = text.split(' ').next().unwrap().parse().unwrap();
    // The bench itself keeps about two threads running once it is under way.
    (load > 2.0 + BUSY).then(|| {
        format!(
            "the load of this machine is {load}: other work runs beside, and medians of ratios are \
             steadier than times but not proof against it; measure again when it is quiet"
        )
    })
}

fn measure(means: &Means, options: &Options) -> Report {
    let mut place = Place::new();
    let rg = means.rg.as_deref();
    let mut rows = Rows::default();
    for corpus in &means.corpora {
        rows.append(rows::measure(&mut place, corpus, rg, options, wanted));
    }
    rows.sort();
    let (mut guarded, mut fair, mut cancelled) = (Vec::new(), Vec::new(), Vec::new());
    for corpus in means.corpora.iter().filter(|corpus| deep(corpus, means)) {
        if wanted(&format!("guards: {}", corpus.name)) {
            guarded.extend(guards::measure(&mut place, corpus, rg, options));
        }
        if wanted(&format!("fairness: {}", corpus.name)) {
            fair.extend(fair::measure(&mut place, corpus, options));
        }
        if wanted(&format!("cancel: {}", corpus.name)) {
            cancelled.extend(cancel::measure(&mut place, corpus, options));
        }
    }
    let tables = [
        (
            "whole processes: the tool on a session, beside rg -j2; worst first",
            rows.ratios,
        ),
        (
            "results that only one side has, or that differ",
            rows.different,
        ),
        (
            "memory of the gate, results on their way included",
            rows.memory,
        ),
        (
            "what each guard costs: a loop of two threads with it, beside one without",
            guarded,
        ),
        (
            "another session's reads of 4 KiB beside two searches: their p99, beside the quiet p99",
            fair,
        ),
        ("from a cancel to the end of the walk", cancelled),
    ];
    Report {
        tables: tables
            .into_iter()
            .filter(|(_, rows)| !rows.is_empty())
            .map(|(name, rows)| Table { name, rows })
            .collect(),
    }
}

/// Small trees are searched too fast to be cancelled or to disturb anyone: the further tables are of
/// the others, unless there are no others.
fn deep(corpus: &Corpus, means: &Means) -> bool {
    corpus.size != Size::Small
        || means
            .corpora
            .iter()
            .all(|corpus| corpus.size == Size::Small)
}

/// Repeats one side of the wanted rows.
fn repeat(means: &Means, spin: Spin) {
    let mut place = Place::new();
    for corpus in &means.corpora {
        for query in query::all(corpus) {
            let name = format!("{}: {}", corpus.name, query.name);
            if !wanted(&name) {
                continue;
            }
            let root = place.seal(corpus);
            let gate = place.gate(root);
            eprintln!("{name}: the gate is process {}", gate.pid.as_raw_nonzero());
            let start = Instant::now();
            let mut times = 0;
            while start.elapsed() < SPINNING {
                match (spin, &means.rg) {
                    (Spin::Gate, _) => drop(place.tool(&gate, &query)),
                    (Spin::Rg, Some(rg)) => drop(place.rg(rg, corpus, &query)),
                    (Spin::Rg, None) => return,
                }
                times += 1;
            }
            eprintln!("{times} times");
        }
    }
}
