//! `delegate`: a command in a narrower session.

use super::args::DelegateArgs;
use super::place::Place;
use super::report::{Outcome, Report};
use crate::ask;
use crate::delegate::Wishes;
use crate::error::Error;
use crate::session::Session;
use crate::words::Words;
use portcullis_protocol::authority::Budgets;
use portcullis_protocol::path::escape;
use portcullis_protocol::session::Selector;
use portcullis_protocol::verb::VerbSet;
use rustix::io::Errno;
use rustix::net::Shutdown;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::{SystemTime, UNIX_EPOCH};

/// The reason of rules that have no other.
const REASON: &str = "given to delegate";
/// The command is there and cannot be run.
const CANNOT_RUN: u8 = 126;
/// There is no such command.
const NO_COMMAND: u8 = 127;
/// A command that signal N ended has this and N.
const SIGNALLED: u8 = 128;

/// Runs the command with a session of its own, and ends that when the command has ended.
pub(super) fn delegate(
    args: &DelegateArgs,
    place: &Place,
    session: &mut Session,
    report: &Report,
) -> Outcome {
    let wished = wishes(args, place);
    let delegation = match wished.and_then(|wishes| session.delegate(&wishes)) {
        Ok(delegation) => delegation,
        Err(error) => return report.error(&error),
    };
    // Commands beside this one have their turns while this one waits.
    session.stand_by();
    match run(args, delegation.session) {
        Ok(outcome) => outcome,
        Err((outcome, said)) => {
            report.note(&said);
            outcome
        }
    }
}

/// Runs the command; what it leaves running loses the session when it ends.
fn run(args: &DelegateArgs, session: Session) -> Result<Outcome, (Outcome, String)> {
    let failed = |said: String| (Outcome::NotDone, format!("nothing ran: {said}"));
    let kept = rustix::io::fcntl_dupfd_cloexec(&session, 3).map_err(|e| failed(e.to_string()))?;
    let mut command = Command::new(args.program());
    command.args(args.arguments());
    let attached = session.attach(&mut command);
    attached.map_err(|error| failed(Error::from(error).code().to_string()))?;
    let spawned = command.spawn();
    drop(command);
    let mut child = spawned.map_err(|error| not_run(args.program(), &error))?;
    let ended = child.wait();
    // Of every copy, whoever holds it.
    let shut = rustix::net::shutdown(&kept, Shutdown::Both);
    let status = ended.map_err(|error| {
        let said = format!("the command could not be waited for: {error}");
        (Outcome::NotDone, said)
    })?;
    match shut {
        Ok(()) | Err(Errno::NOTCONN) => Ok(Outcome::Ran(code(status))),
        Err(error) => {
            let said = format!("the delegated session could not be ended: {error}");
            Err((Outcome::Ran(code(status)), said))
        }
    }
}

fn not_run(program: &OsStr, error: &io::Error) -> (Outcome, String) {
    let code = if error.kind() == ErrorKind::NotFound {
        NO_COMMAND
    } else {
        CANNOT_RUN
    };
    let shown = escape(program.as_bytes());
    (
        Outcome::Ran(code),
        format!("nothing ran: `{shown}`: {error}"),
    )
}

fn code(status: ExitStatus) -> u8 {
    let signal = status
        .signal()
        .map(|signal| signal.saturating_add(i32::from(SIGNALLED)));
    let code = status.code().or(signal);
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}

fn wishes(args: &DelegateArgs, place: &Place) -> Result<Wishes, Error> {
    let request = match &args.name {
        Some(name) => name.clone(),
        None => escape(args.program().as_bytes()),
    };
    let mut wishes = Wishes::new(request).budgets(budgets(args));
    for placed in &args.grant {
        let (words, subtree) = placed_in(placed, place)?;
        wishes = wishes.grant(words, subtree);
    }
    for placed in &args.ask {
        let (words, subtree) = placed_in(placed, place)?;
        wishes = wishes.ask(words, subtree);
    }
    for pattern in &args.deny {
        let pattern = place.named(pattern)?;
        let name = format!("--deny {}", escape(&pattern));
        wishes = wishes.deny(&name, REASON, VerbSet::ALL, &pattern);
    }
    for pattern in &args.hide {
        let pattern = place.named(pattern)?;
        let name = format!("--hide {}", escape(&pattern));
        wishes = wishes.hide(&name, REASON, &pattern);
    }
    Ok(match args.expires {
        Some(after) => {
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            let when = now.saturating_add(after).as_millis();
            wishes.expires_ms(u64::try_from(when).unwrap_or(u64::MAX))
        }
        None => wishes,
    })
}

/// `VERBS:PATH`.
fn placed_in(text: &OsStr, place: &Place) -> Result<(Words, Selector), Error> {
    let written = place.named(text)?;
    let (words, path) = Words::placed(&written)
        .map_err(|error| Error::invalid(format_args!("`{}`: {error}", escape(&written))))?;
    let subtree = match place.root() {
        Some(root) => ask::selector_in(root.clone(), path)?,
        None => ask::selector(path)?,
    };
    Ok((words, subtree))
}

fn budgets(args: &DelegateArgs) -> Budgets {
    let of = |budgets: Budgets, (budget, most): &_| budgets.with(*budget, Some(*most));
    args.budget.iter().fold(Budgets::UNLIMITED, of)
}
