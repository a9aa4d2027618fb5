//! What a session costs beside what the kernel itself costs, as ratios of one run.
//!
//! Everything is measured in turns: each of many short rounds measures every subject once, in
//! changing order, so that whatever else the machine does falls on all of them. A ratio is the
//! median over the rounds of each round's own ratio. `docs/PERFORMANCE.md` says what the
//! rows mean and how to read them.
//!
//! ```text
//! cargo bench -p portcullis-tests --bench session [-- [--quick] [--json] [--check]]
//! ```

mod calls;
#[path = "../common/clock.rs"]
mod clock;
mod delegate;
mod gate;
mod memory;
mod mint;
#[path = "../common/options.rs"]
mod options;
mod peer;
#[path = "../common/pin.rs"]
mod pin;
#[path = "../common/report.rs"]
mod report;
mod rows;
mod subject;
mod systems;

use pin::Placement;
use report::Report;
use std::process::ExitCode;
use subject::{Call, Spin};
use systems::Systems;

type Options = options::Options<Spin>;

/// What can be repeated.
const SPINS: [(&str, Spin); 6] = [
    ("--spin-stat", Spin::Call(Call::Stat)),
    ("--spin-read", Spin::Call(Call::Small)),
    ("--spin-frame", Spin::Call(Call::Frame)),
    ("--spin-large", Spin::Call(Call::Large)),
    ("--spin-echo", Spin::Echo),
    ("--spin-pipelined", Spin::Pipelined),
];

fn main() -> ExitCode {
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
    if let Some(spin) = options.spin {
        pin::this_process(pin::cores().client);
        Systems::start().spin(spin);
        return ExitCode::SUCCESS;
    }
    let report = measure(&options);
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

fn measure(options: &Options) -> Report {
    // Before anything is started, so that the warden's threads and its gates inherit it.
    let cores = pin::cores();
    pin::this_process(cores.client);
    let mut systems = Systems::start();
    let same = systems.rounds(options.number(40, 120), &subject::all(systems.openings()));
    let mint = mint::measure(&mut systems.world, options.number(40, 200));
    let delegations = delegate::measure(&mut systems.world, options.number(40, 200));
    let memory = memory::measure(&mut systems.world, options.number(100, 1000));
    let two = cores.other.map(|other| {
        systems.place(Placement::Apart { peers: other });
        systems.rounds(
            options.number(40, 120),
            &subject::across(systems.openings()),
        )
    });
    rows::report(&rows::Measured {
        same,
        two,
        mint,
        delegations,
        memory,
        openings: systems.openings(),
    })
}
