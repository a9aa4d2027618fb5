//! The `portcullis-tool` command: what a worker may do, from a shell.
//!
//! A library function, so that other crates can build the same executable under their own roof.

mod ahead;
mod args;
mod change;
mod delegate;
mod edit;
mod find;
mod flow;
mod help;
mod hits;
mod look;
mod out;
mod patience;
mod place;
mod read;
mod report;
#[cfg(test)]
mod tests;
mod types;
mod walk;

use crate::session::Session;
use ahead::Ahead;
use args::{Cli, Question, Task};
use out::Out;
use place::Place;
use report::{Outcome, Report};
use std::process::ExitCode;

/// Runs the command of this process's arguments, and gives its exit code: 0 done, 1 not done (or
/// `search` found nothing), 2 wrong usage, 75 conflict, 76 needs an approval, 77 denied, 78 no
/// session, 79 uncertain. `delegate` gives the code of its command, 126 or 127 when that cannot be
/// run.
pub fn main() -> ExitCode {
    let cli = match Cli::of_process() {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing can be said when even the message cannot be written.
            error.print().ok();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let report = cli.telling(Report::new(cli.form(), Out::start()));
    let outcome = match &cli.task {
        Task::Ask(question) => find::types(question, &report).unwrap_or_else(|| {
            let ahead = Ahead::of(question);
            let taken = ahead.and_then(|ahead| Ok((ahead, Session::from_env()?)));
            match taken {
                Ok((ahead, mut session)) => {
                    ask(question, &cli.place(), &mut session, &report, &ahead)
                }
                Err(error) => report.error(&error),
            }
        }),
        Task::Completions(args) => {
            // Output that nobody reads is no failure.
            drop(report.put(args.script()));
            Outcome::Done
        }
    };
    // The session was dropped above: whoever reads our output slowly does not keep it.
    report.finish(outcome).code()
}

fn ask(
    question: &Question,
    place: &Place,
    session: &mut Session,
    report: &Report,
    ahead: &Ahead,
) -> Outcome {
    match question {
        Question::Whoami => look::whoami(session, report),
        Question::Stat(args) => look::stat(args, place, session, report),
        Question::Read(args) => read::read(args, place, session, report),
        Question::List(args) => walk::list(args, place, session, report),
        Question::Glob(args) => walk::glob(args, place, session, report),
        Question::Search(args) => find::search(args, place, session, report),
        Question::Why(args) => look::why(args, place, session, report),
        Question::Delegate(args) => delegate::delegate(args, place, session, report),
        Question::Change(task) => {
            let job = change::Job {
                place,
                session,
                report,
                ahead,
            };
            job.run_task(task)
        }
    }
}
