//! The `portcullis` command, as a library: the only place that sees both the warden and the
//! client, so that neither has to see the other.

mod args;
mod doctor;
mod reach;
mod run;
mod sys;
mod why;
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
    match Arguments::parse().command {
        Command::Run(arguments) => run::run(arguments),
        Command::Why(arguments) => why::why(&arguments),
        Command::Doctor(arguments) => doctor::doctor(&arguments),
    }
}
