//! What edits cost as files and patches grow, as ratios of one run: ten times as much of either
//! should take ten times as long, and no more.
//!
//! Everything is measured in turns, as in the other benches: each round measures every subject
//! once, and a ratio is the median over the rounds of each round's own ratio. `docs/PERFORMANCE.md`
//! says what the rows mean.
//!
//! ```text
//! cargo bench -p portcullis-tests --bench edits [-- [--quick] [--json] [--check]]
//! ```

#[expect(
    dead_code,
    reason = "shared with the other benches, which use all of it"
)]
#[path = "../common/clock.rs"]
mod clock;
mod files;
#[path = "../common/options.rs"]
mod options;
mod others;
#[expect(
    dead_code,
    reason = "shared with the other benches, which use all of it"
)]
#[path = "../common/pin.rs"]
mod pin;
#[expect(
    dead_code,
    reason = "shared with the other benches, which use all of it"
)]
#[path = "../common/report.rs"]
mod report;
mod rows;
mod subject;
mod systems;
mod wire;

use std::process::ExitCode;
use subject::Step;

type Options = options::Options<Step>;

/// What can be repeated, with the largest V4A patch.
const SPINS: [(&str, Step); 3] = [
    ("--spin-parse", Step::Parse),
    ("--spin-match", Step::Match),
    ("--spin-whole", Step::Whole),
];

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1), &SPINS) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::from(2);
        }
    };
    // Before anything is started, so that the warden's threads and its gates inherit it.
    pin::this_process(pin::cores().client);
    if let Some(step) = options.spin {
        systems::spin(step);
        return ExitCode::SUCCESS;
    }
    let times = systems::rounds(options.number(1, 9));
    let report = rows::report(&times);
    if options.json {
        println!("{}", report.json());
    } else {
        print!("{report}");
    }
    if options.check && report.misses() > 0 {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
