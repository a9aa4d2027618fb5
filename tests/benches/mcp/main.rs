//! What calls of tools cost through `portcullis mcp`, beside other file servers for models: the same
//! calls from the same small client over pipes, as ratios of one run.
//!
//! Everything is measured in turns: each round measures every server with every call once, in
//! changing order, and a ratio is the median over the rounds of each round's own ratio. The servers
//! are whole commands, the first of them ours; `@ROOT` becomes a directory, and a `~` after the name
//! says that a server wants names below it.
//!
//! ```text
//! PORTCULLIS_BENCH_MCP='ours~=portcullis mcp @ROOT
//! reference=node …/server-filesystem/dist/index.js @ROOT' \
//!     cargo bench -p portcullis-tests --bench mcp [-- [--quick] [--json] [--check]]
//! ```

#[expect(
    dead_code,
    reason = "shared with the other benches, which use all of it"
)]
#[path = "../common/clock.rs"]
mod clock;
mod lines;
#[path = "../common/options.rs"]
mod options;
#[expect(
    dead_code,
    reason = "shared with the other benches, which use all of it"
)]
#[path = "../common/report.rs"]
mod report;
mod rows;
mod server;
mod tree;

use rows::Call;
use server::Server;
use std::process::ExitCode;

type Options = options::Options<Call>;

/// The servers: a line for each, `NAME=COMMAND`.
const SERVERS: &str = "PORTCULLIS_BENCH_MCP";

/// What can be repeated with the first server, for a profiler.
const SPINS: [(&str, Call); 6] = [
    ("--spin-read", Call::Read),
    ("--spin-write", Call::Write),
    ("--spin-edit", Call::Edit),
    ("--spin-list", Call::List),
    ("--spin-find", Call::Find),
    ("--spin-search", Call::Search),
];

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1), &SPINS) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::from(2);
        }
    };
    let Ok(listed) = std::env::var(SERVERS) else {
        eprintln!("note: {SERVERS} is not set, nothing is measured; the bench says how it is set");
        return ExitCode::SUCCESS;
    };
    let mut servers: Vec<Server> = listed
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| Server::start(line.trim()))
        .collect();
    if let Some(call) = options.spin {
        rows::spin(&mut servers[0], call);
        return ExitCode::SUCCESS;
    }
    let report = rows::measure(&mut servers, &options);
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
