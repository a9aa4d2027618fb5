//! The command line of `review`.

use super::Form;
use clap::{Args, Subcommand};
use std::path::PathBuf;

const REVIEW_EXAMPLES: &str = "\
Examples:
  portcullis review
      what waits for a decision
  portcullis review show 7
      the object it was resolved to, what would be lost, and the difference line by line
  portcullis review approve 7
      shows it, asks, and lets it happen once, exactly as it was shown
  portcullis review refuse 7 --yes
  portcullis review passphrase set
      from now on nobody decides here without it

Anybody who can run this command as you can decide, a program too, unless a passphrase is set, or
the runtime that made the session gave deciding away. Receipts name who decided.

Exit code: 0 done; 1 not done; 2 usage; 75 it is another proposal than was shown, or decided already;
77 this connection may not decide.";

#[derive(Debug, Args)]
#[command(after_help = REVIEW_EXAMPLES)]
pub(crate) struct ReviewArguments {
    #[command(subcommand)]
    action: Option<ReviewAction>,
    #[command(flatten)]
    pub(crate) common: ReviewCommon,
}

/// What every form of it takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReviewCommon {
    /// The runtime directory, where the user's broker is met [default: $XDG_RUNTIME_DIR/portcullis]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) socket: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long, global = true)]
    json: bool,
}

impl ReviewCommon {
    pub(crate) const fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Text }
    }
}

impl ReviewArguments {
    pub(crate) fn action(&self) -> ReviewAction {
        self.action.clone().unwrap_or(ReviewAction::List)
    }
}

/// What is done about proposals.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ReviewAction {
    /// List what waits for a decision, or for its use
    List,
    /// Show one whole
    Show {
        /// Its number
        id: u64,
    },
    /// Let it happen, once, exactly as shown
    Approve(DecideArguments),
    /// Do not let it happen
    Refuse(DecideArguments),
    /// Set or remove the passphrase without which nobody decides
    Passphrase {
        /// Set it, or remove it
        what: PassphraseAction,
        /// The state directory it is kept in
        #[arg(long, value_name = "DIR")]
        state: Option<PathBuf>,
    },
}

/// What becomes of the passphrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PassphraseAction {
    /// Ask for a new one, twice, and for the old one where there is one
    Set,
    /// Ask for it, and demand none from now on
    Remove,
}

/// Which proposal, and how sure.
#[derive(Debug, Clone, Args)]
pub(crate) struct DecideArguments {
    /// Its number
    pub(crate) id: u64,
    /// Do not ask; needed where there is no terminal to ask at
    #[arg(long, short)]
    yes: bool,
    /// Only if it is still what was shown with this digest (`input` of `show --json`)
    #[arg(long, value_name = "HEX")]
    pub(crate) input: Option<String>,
}

/// Whether a person is asked first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// At the terminal.
    Person,
    /// It was said already.
    Nobody,
}

impl DecideArguments {
    pub(crate) const fn asking(&self) -> Asking {
        if self.yes {
            Asking::Nobody
        } else {
            Asking::Person
        }
    }
}
