//! `portcullis run`: one command, one session, one summary.

mod asked;
mod boundaries;
mod record;
mod signals;
mod summary;
mod tally;

use self::asked::Asked;
use crate::args::{Ending, RunArguments};
use crate::broker::Broker;
use crate::reach::{Ground, Hiding, IgnoreRules, ReachError, require_roots};
use crate::say;
use crate::worker::{self, Ended, LaunchError, NOT_CONFINED, Running, Worker};
use portcullis_client::Session;
use portcullis_protocol::control::{Minted, Over};
use portcullis_protocol::path::escape;
use record::Record;
use rustix::net::Shutdown;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use summary::Summary;

/// How long a gate may take to say what its session did.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// How long the broker may take to answer once the command has ended.
const LAST_ANSWER: Duration = Duration::from_secs(10);

/// Why nothing ran.
#[derive(Debug, thiserror::Error)]
enum RunError {
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
    match run_to_end(arguments) {
        Ok(summary) => {
            summary.print(ending);
            ExitCode::from(summary.code())
        }
        Err(error) => {
            let code = error.exit_code();
            match ending {
                Ending::Json => {
                    let text = serde_json::json!({
                        "version": 1,
                        "exit_code": code,
                        "changed": "unchanged",
                        "error": error.to_string(),
                    });
                    say::err(text);
                }
                Ending::Quiet | Ending::Summary | Ending::Verbose => {
                    say::err(format_args!("portcullis: {error}"));
                }
            }
            ExitCode::from(code)
        }
    }
}

fn run_to_end(arguments: RunArguments) -> Result<Summary, RunError> {
    if let Some(name) = arguments.env.iter().find(|name| !is_name(name)) {
        return Err(RunError::Variable(escape(name.as_bytes())));
    }
    require_roots(&arguments.reach)?;
    let ignored = IgnoreRules::of(&arguments.ignore).map_err(ReachError::from)?;
    // Before any thread exists, so that all of them leave these signals to the one that waits.
    signals::block()?;
    let mut broker = Broker::seated(arguments.seat.choice()).map_err(ReachError::from)?;
    let ground = Ground::seal(&mut broker, &arguments.reach)?.ignoring(&ignored)?;
    if let Some(why) = ground.undecidable(arguments.seat.choice()) {
        return Err(RunError::Undecidable(why));
    }
    let (minted, session) = ground.mint(&mut broker, "portcullis run", Hiding::Hidden)?;
    let socket = socket_of(session)?;
    // Shutting this copy down later ends the session for every process that still holds it.
    let kept = rustix::io::fcntl_dupfd_cloexec(&socket, 3)?;
    let shown = arguments.command.clone();
    let (tool, mut troubles) = tool(arguments.tool);
    troubles.extend(unset(&arguments.env));
    troubles.extend(broker.remark().map(str::to_owned));
    let running = worker::launch(Worker {
        command: arguments.command,
        environment: arguments.env,
        runtime: arguments.runtime.clone(),
        tool,
        session: socket,
        launcher: PathBuf::from(worker::OWN_EXECUTABLE),
    })?;
    let report = running.report().clone();
    let Ended {
        code,
        troubles: more,
    } = wait(running)?;
    troubles.extend(more);
    hurry(&broker, &mut troubles);
    let asked = Asked::of(&mut broker.control);
    let over = end(&mut broker, &minted, &kept, &mut troubles);
    let record = Record::of(&mut broker, minted.run);
    let within = broker.control.overs();
    Ok(Summary {
        command: shown,
        code,
        merged: ground.merged(&minted),
        roots: ground.roots,
        runtime: arguments.runtime,
        minted,
        report,
        asked,
        over,
        within,
        record,
        troubles,
    })
}

fn wait(running: Running) -> Result<Ended, RunError> {
    signals::forward(running.handle()?, running.keys());
    running.wait().map_err(RunError::Wait)
}

fn socket_of(session: Session) -> Result<OwnedFd, RunError> {
    session
        .into_socket()
        .map_err(|_| RunError::Client("the session was already used".to_owned()))
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

/// From here on a broker that does not answer does not hold the run: what it would have said is
/// said to be unknown.
fn hurry(broker: &Broker, troubles: &mut Vec<String>) {
    let kind = rustix::net::sockopt::Timeout::Recv;
    let set = rustix::net::sockopt::set_socket_timeout(&broker.control, kind, Some(LAST_ANSWER));
    if let Err(error) = set {
        troubles.push(format!("the broker may take as long as it likes: {error}"));
    }
}

/// Ends the session and asks what it did. Processes that the worker left behind lose it here.
fn end(
    broker: &mut Broker,
    minted: &Minted,
    kept: &OwnedFd,
    troubles: &mut Vec<String>,
) -> Option<Over> {
    if let Err(error) = rustix::net::shutdown(kept, Shutdown::Both) {
        troubles.push(format!(
            "the session socket could not be shut down: {error}"
        ));
    }
    let mut over = broker.control.wait_over(minted.session, Some(LAST_WORDS));
    if let Ok(None) = over {
        // The gate did not take its leave, so it is killed and its tally is lost.
        if let Err(error) = broker.control.end(minted.session) {
            troubles.push(format!("the session could not be ended: {error}"));
        }
        over = broker.control.wait_over(minted.session, Some(LAST_WORDS));
    }
    match over {
        Ok(over) => over,
        Err(error) => {
            troubles.push(format!("what the session did is not known: {error}"));
            None
        }
    }
}
