//! `portcullis run`: one command, one session, one summary.

mod asked;
mod boundaries;
mod record;
mod signals;
mod stage;
mod summary;
mod tally;

use crate::args::{Ending, RunArguments};
use crate::reach::ReachError;
use crate::say;
use crate::worker::{LaunchError, NOT_CONFINED, Streams};
use portcullis_protocol::path::escape;
pub(crate) use signals::Patience;
pub(crate) use stage::{Job, Ready, Seated, waited};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;
pub(crate) use summary::Summary;

/// Why nothing ran.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Reach(#[from] ReachError),
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(
        "nothing ran: --env {0}: it takes the name of a variable, whose value here is passed on; \
         for another value write `NAME=VALUE portcullis run --env NAME …`"
    )]
    Variable(String),
    #[error("nothing ran: something is only to be asked for, and nobody could decide: {0}")]
    Undecidable(&'static str),
    #[error("nothing ran: {0}")]
    Client(String),
    #[error("nothing ran: {0}")]
    Kernel(#[from] rustix::io::Errno),
    #[error("the command could not be waited for: {0}")]
    Wait(std::io::Error),
}

impl RunError {
    const fn exit_code(&self) -> u8 {
        match self {
            Self::Launch(error) => error.exit_code(),
            Self::Reach(_)
            | Self::Variable(_)
            | Self::Client(_)
            | Self::Undecidable(_)
            | Self::Kernel(_)
            | Self::Wait(_) => NOT_CONFINED,
        }
    }
}

/// Runs it.
pub(crate) fn run(arguments: RunArguments) -> ExitCode {
    let ending = arguments.output.ending();
    told(run_to_end(arguments), ending)
}

/// Says how it ended, or why nothing ran, on standard error.
pub(crate) fn told(ended: Result<Summary, RunError>, ending: Ending) -> ExitCode {
    let error = match ended {
        Ok(summary) => {
            summary.print(ending);
            return ExitCode::from(summary.code());
        }
        Err(error) => error,
    };
    let code = error.exit_code();
    match ending {
        Ending::Json => say::err(serde_json::json!({
            "version": 1,
            "exit_code": code,
            "changed": "unchanged",
            "error": error.to_string(),
        })),
        Ending::Quiet | Ending::Summary | Ending::Verbose => {
            say::err(format_args!("portcullis: {error}"));
        }
    }
    ExitCode::from(code)
}

fn run_to_end(arguments: RunArguments) -> Result<Summary, RunError> {
    if let Some(name) = arguments.env.iter().find(|name| !is_name(name)) {
        return Err(RunError::Variable(escape(name.as_bytes())));
    }
    let seat = arguments.seat.choice();
    let mut seated = Seated::new(&arguments.reach, &arguments.ignore, seat)?;
    if let Some(why) = seated.ground.undecidable(seat) {
        return Err(RunError::Undecidable(why));
    }
    let (tool, more) = tool(arguments.tool);
    seated.troubles.extend(more);
    seated.troubles.extend(unset(&arguments.env));
    let ready = seated.mint("portcullis run")?;
    let (launched, running) = ready.launch(Job {
        command: arguments.command,
        environment: arguments.env,
        runtime: arguments.runtime,
        tool,
        streams: Streams::Own,
    })?;
    let ended = waited(running, Patience::Endless)?;
    Ok(launched.over(ended))
}

fn is_name(name: &OsStr) -> bool {
    !name.is_empty() && !name.as_bytes().contains(&b'=')
}

/// What to say of variables that were to be passed and are not there.
fn unset(names: &[OsString]) -> impl Iterator<Item = String> {
    names
        .iter()
        .filter(|name| std::env::var_os(name).is_none())
        .map(|name| format!("--env {}: not set here", escape(name.as_bytes())))
}

/// `portcullis-tool` for the worker, and what to say when there is none.
fn tool(given: Option<PathBuf>) -> (Option<PathBuf>, Vec<String>) {
    let tool = given.or_else(|| {
        let own = std::env::current_exe().ok()?;
        Some(own.with_file_name("portcullis-tool"))
    });
    match tool.map(|path| {
        path.canonicalize()
            .ok()
            .filter(|path| path.is_file())
            .ok_or(path)
    }) {
        Some(Ok(path)) => (Some(path), Vec::new()),
        Some(Err(path)) => {
            let place = path.display();
            (
                None,
                vec![format!(
                    "the worker had no portcullis-tool: no file {place}"
                )],
            )
        }
        None => (None, vec!["the worker had no portcullis-tool".to_owned()]),
    }
}
