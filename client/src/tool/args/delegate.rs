//! The command line of `delegate`.

use super::values::{budget, duration};
use clap::Args;
use portcullis_protocol::authority::Budget;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

#[derive(Debug, Args)]
pub(in crate::tool) struct DelegateArgs {
    /// What the command may do, and where: `read,list:src`, `write:new:/docs/out`.
    #[arg(long, value_name = "VERBS:PATH", required_unless_present = "ask")]
    pub(in crate::tool) grant: Vec<OsString>,
    /// The same with an approval for each use.
    #[arg(long, value_name = "VERBS:PATH")]
    pub(in crate::tool) ask: Vec<OsString>,
    /// Refuse what matches, by name; without a slash at any depth.
    #[arg(long, value_name = "GLOB")]
    pub(in crate::tool) deny: Vec<OsString>,
    /// Make what matches absent.
    #[arg(long, value_name = "GLOB")]
    pub(in crate::tool) hide: Vec<OsString>,
    /// How much may be done in all: operations, read-bytes, written-bytes, creates or deletes.
    #[arg(long, value_name = "KIND=N", value_parser = budget)]
    pub(in crate::tool) budget: Vec<(Budget, u64)>,
    /// End the session after this time: seconds, or with m or h.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(in crate::tool) expires: Option<Duration>,
    /// What it is for, in records [default: the command].
    #[arg(long, value_name = "TEXT")]
    pub(in crate::tool) name: Option<String>,
    /// The command.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

impl DelegateArgs {
    /// What is run; clap takes no empty command.
    pub(in crate::tool) fn program(&self) -> &OsStr {
        self.command
            .first()
            .map_or(OsStr::new(""), OsString::as_os_str)
    }

    pub(in crate::tool) fn arguments(&self) -> &[OsString] {
        self.command.get(1..).unwrap_or_default()
    }
}
