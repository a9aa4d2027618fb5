//! The `portcullis-tool` command: what a worker may do, from a shell.
//!
//! A library function, so that other crates can build the same executable under their own roof.

mod args;
mod find;
mod help;
mod look;
mod out;
mod patience;
mod place;
mod read;
mod report;
mod show;
mod walk;

use crate::session::Session;
use args::{Cli, Task};
use clap::Parser;
use out::Out;
use report::{Outcome, Report};
use std::process::ExitCode;

/// Runs the command of this process's arguments, and gives its exit code: 0 done, 1 not done (or
/// `search` found nothing), 2 wrong usage, 77 denied, 78 no session. 76 is kept for *needs
/// approval*.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing can be said when even the message cannot be written.
            error.print().ok();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let report = Report::new(cli.form(), Out::start());
    let outcome = match Session::from_env() {
        Ok(mut session) => run(&cli, &mut session, &report),
        Err(error) => report.error(&error),
    };
    // The session was dropped above: whoever reads our output slowly does not keep it.
    report.finish(outcome).code()
}

fn run(cli: &Cli, session: &mut Session, report: &Report) -> Outcome {
    let place = cli.place();
    match &cli.task {
        Task::Whoami => look::whoami(session, report),
        Task::Stat(args) => look::stat(args, &place, session, report),
        Task::Read(args) => read::read(args, &place, session, report),
        Task::List(args) => walk::list(args, &place, session, report),
        Task::Glob(args) => walk::glob(args, &place, session, report),
        Task::Search(args) => find::search(args, &place, session, report),
        Task::Why(args) => look::why(args, &place, session, report),
    }
}
