//! The command line of what concerns the broker itself: its records, its state, its service.

use super::Form;
use clap::Args;
use portcullis_protocol::control::RunId;
use std::path::PathBuf;
use std::time::Duration;

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
    #[arg(long, value_name = "DIR", global = true, conflicts_with = "state")]
    pub(crate) socket: Option<PathBuf>,
    /// Look at the records in this state directory, whichever broker serves
    #[arg(long, value_name = "DIR", global = true)]
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
