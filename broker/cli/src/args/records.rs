//! The command line of what concerns the broker itself: its records, its state, its service.

use super::Form;
use clap::Args;
use portcullis_protocol::control::RunId;
use std::path::PathBuf;
use std::time::Duration;

const LOG_EXAMPLES: &str = "\
Examples:
  portcullis log
      the latest runs
  portcullis log last
      what the last run changed: each name, before and after, and how sure that is
  portcullis log 12 export > run-12.jsonl
      the receipts of run 12, one JSON document on a line
  portcullis log verify
      do the records hold together?

Each change has one receipt: `done`, `failed` (nothing was changed) or `uncertain` (look at the
files). `exact`: no other process's version can have been lost; `detected`: what was displaced was
looked at; `best-effort`: neither could be had. `by gate`: said by the process that made the change;
`by observer`: by one that looked afterwards.

Exit code: 0; 1 when it could not be told, or when the records are damaged.";

const DIFF_EXAMPLES: &str = "\
Examples:
  portcullis diff last
  portcullis diff 12 > run-12.patch
  portcullis diff --receipt 34

Differences are unified diffs, in the order in which the changes were made. What was not kept, because
it was too long, is said on standard error.";

const STATUS_EXAMPLES: &str = "\
Examples:
  portcullis status
  portcullis status --json

Exit code: 0 when a broker serves, 1 when none does.";

const SERVE_EXAMPLES: &str = "\
Examples:
  portcullis serve
  portcullis serve --idle 0
      end as soon as the last run has

`portcullis run` starts one when none serves; this is for who wants to see it, or to have it started
by something else. SIGTERM: takes no further run, ends when the last has ended. SIGINT: ends now.";

/// Which broker is asked, and which records are looked at.
#[derive(Debug, Args)]
pub(crate) struct Where {
    /// The runtime directory, where the user's broker is met [default: $XDG_RUNTIME_DIR/portcullis]
    #[arg(long, value_name = "DIR", conflicts_with = "state")]
    pub(crate) socket: Option<PathBuf>,
    /// Look at the records in this state directory, whichever broker serves
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
}

/// A run, as it is named on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunChoice {
    /// The latest.
    Last,
    /// This one.
    Number(RunId),
}

/// What `log` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Action {
    /// Show it
    Show,
    /// Check every chain of receipts
    Verify,
    /// Write receipts as JSON, one on a line
    Export,
}

/// The first word after `log`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Run(RunChoice),
    Action(Action),
}

#[derive(Debug, Args)]
#[command(after_help = LOG_EXAMPLES)]
pub(crate) struct LogArguments {
    /// The number of a run, or `last`; none is about all runs
    #[arg(value_name = "RUN", value_parser = first)]
    first: Option<First>,
    /// What to do [default: show]
    #[arg(value_name = "ACTION")]
    action: Option<Action>,
    /// How many runs are listed, the latest first
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) place: Where,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

impl LogArguments {
    pub(crate) const fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Text }
    }

    /// The run, and what to do. `log verify` has no run.
    pub(crate) fn wish(&self) -> Result<(Option<RunChoice>, Action), &'static str> {
        match (self.first, self.action) {
            (None, _) => Ok((None, Action::Show)),
            (Some(First::Run(run)), action) => Ok((Some(run), action.unwrap_or(Action::Show))),
            (Some(First::Action(action)), None) => Ok((None, action)),
            (Some(First::Action(_)), Some(_)) => Err("one action is enough"),
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = DIFF_EXAMPLES)]
pub(crate) struct DiffArguments {
    /// The number of a run, or `last`
    #[arg(value_name = "RUN", value_parser = run, required_unless_present = "receipt")]
    pub(crate) run: Option<RunChoice>,
    /// Only this receipt
    #[arg(long, value_name = "N", conflicts_with = "run")]
    pub(crate) receipt: Option<u64>,
    #[command(flatten)]
    pub(crate) place: Where,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

impl DiffArguments {
    pub(crate) const fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Text }
    }
}

#[derive(Debug, Args)]
#[command(after_help = STATUS_EXAMPLES)]
pub(crate) struct StatusArguments {
    /// The runtime directory, where the user's broker is met [default: $XDG_RUNTIME_DIR/portcullis]
    #[arg(long, value_name = "DIR")]
    pub(crate) socket: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

impl StatusArguments {
    pub(crate) const fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Text }
    }
}

#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArguments {
    /// Where records are kept [default: $XDG_STATE_HOME/portcullis]
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// The runtime directory, where runs meet it [default: $XDG_RUNTIME_DIR/portcullis]
    #[arg(long, value_name = "DIR")]
    pub(crate) socket: Option<PathBuf>,
    /// How long it serves after the last run has ended
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    idle: u64,
    /// The executable of gates [default: portcullis-gate beside this one]
    #[arg(long, value_name = "FILE")]
    pub(crate) gate: Option<PathBuf>,
    /// Write the log as JSON, one document on a line
    #[arg(long)]
    json: bool,
    /// Leave the session, the signals and the descriptors of the process that started it
    #[arg(long, hide = true)]
    apart: bool,
}

/// Whose a serving broker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ties {
    /// Whoever started it watches it.
    Kept,
    /// A run started it, and may end before it.
    Cut,
}

impl ServeArguments {
    pub(crate) const fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Text }
    }

    pub(crate) const fn idle(&self) -> Duration {
        Duration::from_secs(self.idle)
    }

    pub(crate) const fn ties(&self) -> Ties {
        if self.apart { Ties::Cut } else { Ties::Kept }
    }
}

pub(super) fn run(text: &str) -> Result<RunChoice, String> {
    match text {
        "last" => Ok(RunChoice::Last),
        number => match number.parse() {
            Ok(number @ 1..) => Ok(RunChoice::Number(RunId(number))),
            Ok(0) | Err(_) => Err("no run: a number from 1 up, or `last`".to_owned()),
        },
    }
}

fn first(text: &str) -> Result<First, String> {
    match clap::ValueEnum::from_str(text, false) {
        Ok(action) => Ok(First::Action(action)),
        Err(_) => run(text).map(First::Run),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Arguments, Command};
    use super::*;
    use clap::Parser;

    fn wish(words: &[&str]) -> Result<(Option<RunChoice>, Action), &'static str> {
        let words = [&["portcullis", "log"], words].concat();
        let Command::Log(log) = Arguments::try_parse_from(words).unwrap().command else {
            panic!("not log");
        };
        log.wish()
    }

    #[test]
    fn a_run_and_an_action_may_each_be_left_out() {
        let seven = Some(RunChoice::Number(RunId(7)));
        assert_eq!(wish(&[]), Ok((None, Action::Show)));
        assert_eq!(wish(&["7"]), Ok((seven, Action::Show)));
        assert_eq!(wish(&["7", "export"]), Ok((seven, Action::Export)));
        assert_eq!(
            wish(&["last", "verify"]),
            Ok((Some(RunChoice::Last), Action::Verify))
        );
        assert_eq!(wish(&["verify"]), Ok((None, Action::Verify)));
        assert!(wish(&["verify", "show"]).is_err());
        for wrong in [
            &["log", "0"][..],
            &["log", "x"],
            &["diff"],
            &["diff", "show"],
        ] {
            let words = [&["portcullis"], wrong].concat();
            assert!(Arguments::try_parse_from(words).is_err(), "{wrong:?}");
        }
    }
}
