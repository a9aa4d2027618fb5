//! The `portcullis` command, as a library: the only place that sees both the warden and the
//! client, so that neither has to see the other.

mod args;
mod broker;
mod changes;
mod diff;
mod doctor;
mod limits;
mod log;
mod mcp;
mod policy;
mod reach;
mod records;
mod review;
mod run;
mod say;
mod serve;
mod status;
mod sys;
mod time;
mod why;
mod words;
pub mod worker;

use args::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;

/// Runs the command with this process's arguments.
pub fn main() -> ExitCode {
    if let Some(first) = std::env::args_os().nth(1) {
        if first == worker::INSIDE_ARGUMENT {
            return worker::inside_main();
        }
        if first == doctor::NAMESPACE_ARGUMENT {
            return match sys::attempt(sys::Attempt::UserNamespace) {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            };
        }
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    match arguments.command {
        Command::Run(arguments) => run::run(arguments),
        Command::Mcp(arguments) => mcp::mcp(&arguments),
        Command::Why(arguments) => why::why(&arguments),
        Command::Log(arguments) => log::log(&arguments),
        Command::Diff(arguments) => diff::diff(&arguments),
        Command::Policy(arguments) => policy::policy(&arguments),
        Command::Review(arguments) => review::review(&arguments),
        Command::Status(arguments) => status::status(&arguments),
        Command::Serve(arguments) => serve::serve(&arguments),
        Command::Doctor(arguments) => doctor::doctor(&arguments),
        Command::Completions(arguments) => {
            say::out(arguments.script().trim_end());
            ExitCode::SUCCESS
        }
    }
}

/// Says what is wrong with the command line, or gives the help that was asked for. `run` and `mcp`
/// keep the usual code 2 for their command: where nothing ran, it is 125.
fn usage(error: &clap::Error) -> ExitCode {
    match error.print() {
        Ok(()) | Err(_) => {}
    }
    let run = std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == "run" || first == "mcp");
    match error.exit_code() {
        0 => ExitCode::SUCCESS,
        _ if run => ExitCode::from(worker::NOT_CONFINED),
        code => ExitCode::from(u8::try_from(code).unwrap_or(2)),
    }
}
