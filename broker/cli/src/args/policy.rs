//! The command line of `policy`.

use super::{Form, RunChoice, Where};
use clap::{Args, Subcommand};
use std::path::PathBuf;

const POLICY_EXAMPLES: &str = "\
Examples:
  portcullis policy check agent.toml
  portcullis policy show agent.toml
      every root, grant, ask and rule, the built-in ones too, as a session would have them
  portcullis policy test agent.toml
      the [[test]] tables of the file, asked of a real session
  portcullis policy suggest last > more.toml
      what the last run was refused, as grants to decide about
  portcullis run --policy agent.toml -- ./agent

A policy is a file like this; paths begin at its directory:

  version = 1
  [[root]]
  path = \".\"
  label = \"workspace\"
  [[grant]]
  verbs = [\"reading\", \"edit\", \"write:new\"]
  [[ask]]
  path = \"deploy\"
  verbs = [\"writing\"]
  [[rule]]
  name = \"keys\"
  reason = \"keys are nobody's business\"
  effect = \"hide\"            # deny, hide or ask
  pattern = \"*.key\"
  [budgets]
  deletes = 20
  [[test]]
  verb = \"read\"
  path = \"src/main.rs\"
  expect = \"granted\"         # granted, ask or refused

Exit code: 0 it holds; 1 it does not; 2 usage.";

#[derive(Debug, Args)]
#[command(after_help = POLICY_EXAMPLES)]
pub(crate) struct PolicyArguments {
    #[command(subcommand)]
    pub(crate) action: PolicyAction,
    /// Answer in JSON
    #[arg(long, global = true)]
    json: bool,
}

impl PolicyArguments {
    pub(crate) const fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Text }
    }
}

/// What is done with a policy.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyAction {
    /// Say whether a file is a policy, and a session can be made of it
    Check(PolicyFile),
    /// Show what a session of it would have
    Show(PolicyFile),
    /// Run the tests in the file
    Test(PolicyFile),
    /// Write what a run was refused as grants, to be decided about
    Suggest(SuggestArguments),
}

/// A policy file.
#[derive(Debug, Args)]
pub(crate) struct PolicyFile {
    /// The file
    pub(crate) file: PathBuf,
    /// The executable of gates [default: portcullis-gate beside this one]
    #[arg(long, value_name = "FILE")]
    pub(crate) gate: Option<PathBuf>,
}

/// Which run.
#[derive(Debug, Args)]
pub(crate) struct SuggestArguments {
    /// The number of a run, or `last`
    #[arg(value_name = "RUN", value_parser = super::records::run)]
    pub(crate) run: RunChoice,
    #[command(flatten)]
    pub(crate) place: Where,
}
