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
mod clock;
mod gate;
mod memory;
mod mint;
mod options;
mod peer;
mod pin;
mod report;
mod rows;
mod subject;
mod systems;

use options::Options;
use pin::Placement;
use report::Report;
use std::process::ExitCode;
use systems::Systems;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if let Some(role) = peer::Role::of(arguments.next().as_deref()) {
        return role.serve(arguments);
    }
    let options = match Options::parse(std::env::args().skip(1)) {
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
    let same = systems.rounds(options.rounds(), &subject::all(systems.openings()));
    let mint = mint::measure(&mut systems.world, options.mints());
    let memory = memory::measure(&mut systems.world, options.sessions());
    let two = cores.other.map(|other| {
        systems.place(Placement::Apart { peers: other });
        systems.rounds(options.rounds(), &subject::across(systems.openings()))
    });
    rows::report(&rows::Measured {
        same,
        two,
        mint,
        memory,
        openings: systems.openings(),
    })
}
