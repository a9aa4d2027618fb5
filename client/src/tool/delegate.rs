//! `delegate`: a command in a narrower session.

use super::args::DelegateArgs;
use super::place::Place;
use super::report::{Outcome, Report};
use crate::ask;
use crate::delegate::{Delegation, Wishes};
use crate::error::Error;
use crate::session::Session;
use crate::words::Words;
use portcullis_protocol::authority::Budgets;
use portcullis_protocol::path::escape;
use portcullis_protocol::session::{Selector, SessionId};
use portcullis_protocol::verb::VerbSet;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
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
    let id = delegation.id;
    let outcome = match start(args, delegation) {
        Ok(mut child) => match session.resting(|| child.wait()) {
            Ok(status) => Outcome::Ran(code(status)),
            Err(error) => {
                report.note(&format!("the command could not be waited for: {error}"));
                Outcome::NotDone
            }
        },
        Err(outcome) => {
            report.note(&outcome.1);
            outcome.0
        }
    };
    end(session, id, report);
    outcome
}

/// What the command left running loses the session here.
fn end(session: &mut Session, id: SessionId, report: &Report) {
    match session.end_delegated(id) {
        Ok(()) => {}
        // It was over already, with the last process that held it.
        Err(error) if error.refusal().is_some() => {}
        Err(error) => report.note(&format!(
            "whether the delegated session has ended is not known: {}",
            error.code()
        )),
    }
}

/// Starts the command with the session; this process keeps none of it.
fn start(args: &DelegateArgs, delegation: Delegation) -> Result<Child, (Outcome, String)> {
    let shown = || escape(args.program().as_bytes());
    let mut command = Command::new(args.program());
    command.args(args.arguments());
    delegation
        .session
        .attach(&mut command)
        .map_err(|error| (Outcome::NotDone, error.to_string()))?;
    command.spawn().map_err(|error| {
        let code = if error.kind() == ErrorKind::NotFound {
            NO_COMMAND
        } else {
            CANNOT_RUN
        };
        let said = format!("nothing ran: `{}`: {error}", shown());
        (Outcome::Ran(code), said)
    })
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
