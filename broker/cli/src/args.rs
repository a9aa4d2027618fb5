//! The command line. Its help teaches by example.

mod log;
mod mcp;
mod policy;
mod records;
mod review;

pub(crate) use log::{DigestChoice, ExportArguments, LogArguments, RefusalChoice, Wish};
pub(crate) use mcp::{Changing, Compat, ConfigFor, Decide, McpArguments};
pub(crate) use records::{DiffArguments, RunChoice, ServeArguments, StatusArguments, Ties, Where};

pub(crate) use policy::{PolicyAction, PolicyArguments, PolicyFile, SuggestArguments};
pub(crate) use review::{Asking, DecideArguments, PassphraseAction, ReviewAction, ReviewArguments};

use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use portcullis_protocol::verb::Verb;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  portcullis doctor
      what this host can enforce
  portcullis run --workspace . -- portcullis-tool list
      a worker that can read and change this directory, through its session alone
  portcullis run --workspace . --read ../shared --hide '*.key' -- python3 agent.py
      two roots; files that match *.key do not exist for the worker
  portcullis mcp --print-config claude-code .
      the same for an MCP client: what to write into its configuration
  portcullis why read .env --workspace .
      may a worker read it, and which rule decides?
  portcullis log last
      what the last run changed, and how sure that is
  portcullis diff last
      the same, line by line";

const RUN_EXAMPLES: &str = "\
Examples:
  portcullis run --workspace . -- portcullis-tool search TODO
  portcullis run --workspace . --read ~/docs -- sh -c 'portcullis-tool list /docs'
  portcullis run --workspace . --deny 'secrets/**' --hide '*.pem' --json -- ./agent
  portcullis run --workspace . --runtime ~/.local/share/uv --env MODEL -- ./agent
  portcullis run --read . -- ./agent           (nothing can be changed)
  portcullis run --workspace . --ask 'deploy/**' -- ./agent
  portcullis run --policy agent.toml -- ./agent
  portcullis run --workspace . --global-ignore -- ./agent    (what your git ignores everywhere)

What a --workspace holds may be read and changed, what a --read holds only be read. Every change is
recorded before it is made; `portcullis log` and `portcullis diff` show them.

The broker: runs of one user share one, which is started when none serves and ends when it is idle.
With --embedded it is a part of this run, with records of its own, which the end of the run names.

Roots: the first is the worker's default; `/LABEL/…` names one. The first workspace has the label
`workspace`, every other root the name of its directory. A root that lies in another becomes a part
of it, and loses its own name: with `--workspace app --read .` the files of app are in `/DIR/app`,
and DIR is the default. That is said at the end, and by `portcullis why`.

The worker starts in a private, empty directory, which is also its HOME and TMPDIR. It can read and
execute /usr and the like, CMD itself and portcullis-tool; nothing else of the host, no network, no
sockets. It finds its session in PORTCULLIS_SOCKET_FD. Modes, owners and times cannot be changed
anywhere, not even in the private directory.

Exit code: CMD's own (1 for its 0 when output was lost); 128 and the signal's number when it was
killed; 125 nothing ran, because it could not be confined or asked for something impossible; 126 CMD
cannot be executed; 127 CMD was not found.";

const WHY_EXAMPLES: &str = "\
Examples:
  portcullis why read .env --workspace .
  portcullis why list /docs/private --workspace . --read ~/docs --hide 'private/**'

The question is asked of a real session. You are told the truth where a worker is told that there is
nothing.

Exit code: 0 allowed; 76 it needs an approval; 77 refused; 1 it could not be asked.";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  portcullis doctor
  portcullis doctor --json

Exit code: 0 when sessions and workers can be confined here, 1 when not.";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  portcullis completions bash > ~/.local/share/bash-completion/completions/portcullis
  portcullis completions zsh > ~/.zfunc/_portcullis
  portcullis completions fish > ~/.config/fish/completions/portcullis.fish";

/// Runs programs that can reach your files only through a session that you grant.
///
/// A worker gets one socket and nothing else: every file it looks at is asked for, judged against
/// what you granted, and opened by a caged process on its behalf; every file it changes is changed
/// by that process, and recorded.
#[derive(Debug, Parser)]
#[command(name = "portcullis", version, after_help = EXAMPLES, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command as a confined worker with a session
    Run(RunArguments),
    /// Serve directories to an MCP client, from a confined worker with a session
    Mcp(Box<McpArguments>),
    /// Say whether a worker may do something, and which rule decides
    Why(WhyArguments),
    /// Check, show and test policy files, or suggest one
    Policy(PolicyArguments),
    /// Show what workers ask for, and approve or refuse it
    Review(ReviewArguments),
    /// Show what runs changed, check the records, or write them out
    Log(LogArguments),
    /// Show what a run, or one change, changed line by line
    Diff(DiffArguments),
    /// Say which broker serves, and what runs on it
    Status(StatusArguments),
    /// Serve as this user's broker, in the foreground
    Serve(ServeArguments),
    /// Say what this host can enforce
    Doctor(DoctorArguments),
    /// Write what a shell needs to complete this command
    Completions(CompletionsArguments),
}

/// What a session reaches.
#[derive(Debug, Clone, Args)]
pub(crate) struct Reach {
    /// A directory the work is about, to read and to change; the first is the worker's default root
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Vec<PathBuf>,
    /// Another directory, to read only
    #[arg(long, value_name = "DIR")]
    pub(crate) read: Vec<PathBuf>,
    /// Refuse what matches, by name: with a slash it begins at the first root, without one it
    /// matches at any depth
    #[arg(long, value_name = "GLOB")]
    pub(crate) deny: Vec<OsString>,
    /// Make what matches absent: not found, not listed, not counted
    #[arg(long, value_name = "GLOB")]
    pub(crate) hide: Vec<OsString>,
    /// Let what matches be changed only with an approval for each change: see `portcullis review`
    #[arg(long, value_name = "GLOB")]
    pub(crate) ask: Vec<OsString>,
    /// Take roots, grants and rules from a policy file; --deny, --hide and --ask come to its rules
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workspace", "read", "except"])]
    pub(crate) policy: Option<PathBuf>,
    /// Take a built-in denial away, by its name, as refusals spell it
    #[arg(long, value_name = "RULE")]
    pub(crate) except: Vec<String>,
}

/// The user's own ignore files.
#[derive(Debug, Args)]
pub(crate) struct IgnoreArguments {
    /// Pass the rules of an ignore file, such as your own of git, to the session: `search` and `glob`
    /// of the worker pass over what it names, in every root; a .gitignore in a root is stronger
    #[arg(long, value_name = "FILE")]
    pub(crate) ignore_file: Vec<PathBuf>,
    /// The same of the file that git reads for you: core.excludesFile, or ~/.config/git/ignore
    #[arg(long)]
    pub(crate) global_ignore: bool,
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// One JSON document on one line.
    Json,
}

/// Which broker a run uses.
#[derive(Debug, Args)]
pub(crate) struct Seat {
    /// Keep the broker inside this run, with records of its own
    #[arg(long, conflicts_with = "socket")]
    embedded: bool,
    /// With --embedded: where its records are kept [default: a new directory below the state
    /// directory]
    #[arg(long, value_name = "DIR", requires = "embedded")]
    state: Option<PathBuf>,
    /// With --embedded: the executable of gates [default: portcullis-gate beside this one]
    #[arg(long, value_name = "FILE", requires = "embedded")]
    gate: Option<PathBuf>,
    /// The runtime directory, where the user's broker is met [default: $XDG_RUNTIME_DIR/portcullis]
    #[arg(long, value_name = "DIR")]
    socket: Option<PathBuf>,
}

/// Which broker a run uses.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SeatChoice<'a> {
    /// The user's own, met in this runtime directory.
    Shared { socket: Option<&'a Path> },
    /// One of this process.
    Embedded {
        state: Option<&'a Path>,
        gate: Option<&'a Path>,
    },
}

impl Seat {
    pub(crate) fn choice(&self) -> SeatChoice<'_> {
        if self.embedded {
            SeatChoice::Embedded {
                state: self.state.as_deref(),
                gate: self.gate.as_deref(),
            }
        } else {
            SeatChoice::Shared {
                socket: self.socket.as_deref(),
            }
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) reach: Reach,
    #[command(flatten)]
    pub(crate) ignore: IgnoreArguments,
    #[command(flatten)]
    pub(crate) seat: Seat,
    /// Pass a variable of this environment on to the worker
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<OsString>,
    /// A further directory or file that the worker may read and execute directly
    #[arg(long, value_name = "PATH")]
    pub(crate) runtime: Vec<PathBuf>,
    /// portcullis-tool for the worker [default: the one beside this executable]
    #[arg(long, value_name = "FILE")]
    pub(crate) tool: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: RunOutput,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// How a run ends on standard error.
#[derive(Debug, Args)]
pub(crate) struct RunOutput {
    /// End with the summary as JSON, on the last line of standard error
    #[arg(long)]
    json: bool,
    /// End without a summary; troubles are still said
    #[arg(long, conflicts_with_all = ["json", "verbose"])]
    quiet: bool,
    /// Also say what is enforced, and what is not
    #[arg(long, short)]
    verbose: bool,
}

/// How much a run says at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Nothing.
    Quiet,
    /// What happened.
    Summary,
    /// Also what is enforced.
    Verbose,
    /// All of it, for programs.
    Json,
}

impl RunOutput {
    pub(crate) const fn ending(&self) -> Ending {
        if self.json {
            Ending::Json
        } else if self.quiet {
            Ending::Quiet
        } else if self.verbose {
            Ending::Verbose
        } else {
            Ending::Summary
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = WHY_EXAMPLES)]
pub(crate) struct WhyArguments {
    /// What would be done: read, write, delete-tree, …
    #[arg(value_parser = verb)]
    pub(crate) verb: Verb,
    /// The object, as a worker would name it: below the first root, `/LABEL/…`, or a path of the
    /// host beneath a root
    pub(crate) path: OsString,
    #[command(flatten)]
    pub(crate) reach: Reach,
    /// The executable of gates [default: portcullis-gate beside this one]
    #[arg(long, value_name = "FILE")]
    pub(crate) gate: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

impl WhyArguments {
    pub(crate) const fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Text }
    }
}

#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorArguments {
    /// Answer in JSON
    #[arg(long)]
    json: bool,
    /// The executable of gates [default: portcullis-gate beside this one]
    #[arg(long, value_name = "FILE")]
    pub(crate) gate: Option<PathBuf>,
}

impl DoctorArguments {
    pub(crate) const fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Text }
    }
}

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

impl CompletionsArguments {
    /// The script. Made in memory, because the generator panics when it cannot write.
    pub(crate) fn script(&self) -> String {
        let mut script = Vec::new();
        let mut command = Arguments::command();
        clap_complete::generate(self.shell, &mut command, "portcullis", &mut script);
        String::from_utf8_lossy(&script).into_owned()
    }
}

fn verb(text: &str) -> Result<Verb, String> {
    Verb::named(text).ok_or_else(|| {
        let all: Vec<&str> = Verb::ALL.iter().map(|verb| verb.name()).collect();
        format!("no verb of this name; there are {}", all.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_holds_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn options_of_the_command_stay_with_the_command() {
        let parsed = Arguments::try_parse_from([
            "portcullis",
            "run",
            "--workspace",
            ".",
            "--",
            "ls",
            "--json",
            "-v",
        ]);
        let Command::Run(run) = parsed.unwrap().command else {
            panic!("not run");
        };
        assert_eq!(run.output.ending(), Ending::Summary);
        assert_eq!(run.command, ["ls", "--json", "-v"]);
    }
}
