//! What an effect costs beside the system calls it makes, as ratios of one run.
//!
//! Everything is measured in turns: each of many short rounds measures every way once, in
//! changing order, so that whatever else the machine does falls on all of them. A ratio is the
//! median over the rounds of each round's own ratio. `docs/PERFORMANCE.md` says what the
//! rows mean and how to read them.
//!
//! ```text
//! cargo bench -p portcullis-tests --bench effects [-- [--quick] [--json] [--check]]
//! ```

#[expect(
    dead_code,
    reason = "shared with the other benches, which use all of it"
)]
#[path = "../common/clock.rs"]
mod clock;
mod files;
mod journal;
mod naive;
#[path = "../common/options.rs"]
mod options;
mod peer;
#[expect(
    dead_code,
    reason = "shared with the other benches, which use all of it"
)]
#[path = "../common/pin.rs"]
mod pin;
mod plain;
#[expect(
    dead_code,
    reason = "shared with the other benches, which use all of it"
)]
#[path = "../common/report.rs"]
mod report;
mod rows;
mod staged;
mod subject;
mod systems;
mod wire;

use std::process::ExitCode;
use subject::Deed;
use systems::Systems;

type Options = options::Options<Deed>;

/// What can be repeated.
const SPINS: [(&str, Deed); 3] = [
    ("--spin-replace", Deed::Replace),
    ("--spin-create", Deed::Create),
    ("--spin-many", Deed::ReplaceMany),
];

fn main() -> ExitCode {
    if wire::is_one() {
        return wire::serve();
    }
    let mut arguments = std::env::args().skip(1);
    if let Some(role) = peer::Role::of(arguments.next().as_deref()) {
        return role.serve(arguments);
    }
    let options = match Options::parse(std::env::args().skip(1), &SPINS) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::from(2);
        }
    };
    // Before anything is started, so that the warden's threads and its gates inherit it.
    pin::this_process(pin::cores().client);
    let mut systems = Systems::start();
    if let Some(spin) = options.spin {
        systems.spin(spin);
        return ExitCode::SUCCESS;
    }
    let times = systems.rounds(options.number(30, 150));
    let report = rows::report(&times, systems.file_system());
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
