//! The command line of `mcp`.

use super::{Ending, Form, IgnoreArguments, Reach, Seat};
use clap::{Args, ValueEnum};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

const MCP_EXAMPLES: &str = "\
Examples:
  portcullis mcp --print-config claude-code ~/project
      what to write into a client's configuration, where, and what of it stays outside
  portcullis mcp ~/project
      serve this directory; a client starts this, you do not
  portcullis mcp ~/project --read ~/docs --hide '*.pem' --ask 'deploy/**'
  portcullis mcp --read-only ~/project
  portcullis mcp --policy agent.toml
  portcullis mcp --compat reference ~/project
      the tools and messages of the reference filesystem server

The server is a worker of `portcullis run`: it is confined, and has one session and nothing else.
Directories that a client names as its roots change nothing.

Only what goes through the tools of this server is held: the file and shell tools that a client
brings itself are not. --print-config says which those are, and how to switch them off.

What --ask or a policy makes an approval needed for is asked of the client, where it has
elicitation, by this process and not by the server; `portcullis review` decides as well.

It ends when the client closes its standard input. Exit code: as of `portcullis run`; with --compat
reference 1 where no directory can be used.";

#[derive(Debug, Args)]
#[command(after_help = MCP_EXAMPLES)]
pub(crate) struct McpArguments {
    /// A directory to serve; the same as --workspace
    #[arg(value_name = "DIR", conflicts_with = "policy")]
    directories: Vec<PathBuf>,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    pub(crate) ignore: IgnoreArguments,
    /// Nothing can be changed, whatever else says so
    #[arg(long, conflicts_with = "ask")]
    read_only: bool,
    /// Be like another server: its tools, arguments and messages, and absolute paths
    #[arg(long, value_name = "SERVER")]
    pub(crate) compat: Option<Compat>,
    /// How tools answer [default: auto, by what the client can use]
    #[arg(long, value_name = "FORM")]
    pub(crate) answers: Option<Answers>,
    /// Who is asked where an approval is needed
    #[arg(long, value_name = "WHO", default_value = "client")]
    pub(crate) decide: Decide,
    /// The executable that serves [default: portcullis-mcp beside this one]
    #[arg(long, value_name = "FILE")]
    pub(crate) server: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) seat: Seat,
    #[command(flatten)]
    output: McpOutput,
    /// Do not serve: write the configuration that makes a client start this, and say what of the
    /// client stays outside; `list` names the clients
    #[arg(long, value_name = "CLIENT")]
    pub(crate) print_config: Option<ConfigFor>,
}

/// What is said on standard error at the end. A client keeps it in its log.
#[derive(Debug, Args)]
struct McpOutput {
    /// Say only what did not work: the default
    #[arg(long, conflicts_with_all = ["json", "verbose"])]
    quiet: bool,
    /// End with the summary as JSON, on the last line; with --print-config: write a document
    #[arg(long)]
    json: bool,
    /// End with a summary, and with what is enforced
    #[arg(long, short)]
    verbose: bool,
}

/// Which server to be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compat {
    /// The filesystem server of the MCP project
    Reference,
}

/// How tools answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Answers {
    /// By what the client can use
    Auto,
    /// As text
    Text,
    /// As structured content
    Structured,
    /// Both, each whole
    Both,
}

/// Who is asked where an approval is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Decide {
    /// The client, where it can ask its user; and `portcullis review`
    Client,
    /// Nobody here: `portcullis review` alone
    Review,
}

/// A client, by its configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConfigFor {
    /// Name the clients
    List,
    ClaudeCode,
    ClaudeDesktop,
    Codex,
    Cursor,
    Vscode,
    GeminiCli,
    Zed,
    Goose,
    /// The JSON that most other clients read
    Json,
}

/// Whether anything may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changing {
    /// What is granted.
    Granted,
    /// Nothing.
    Never,
}

/// A name as the command line spells it.
fn spelled(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

impl Compat {
    pub(crate) fn name(self) -> String {
        spelled(&self)
    }
}

impl Answers {
    pub(crate) fn name(self) -> String {
        spelled(&self)
    }
}

impl ConfigFor {
    pub(crate) fn name(self) -> String {
        spelled(&self)
    }
}

impl McpArguments {
    /// What the server is to reach.
    pub(crate) fn reach(&self) -> Reach {
        let mut reach = self.reach.clone();
        reach
            .workspace
            .splice(0..0, self.directories.iter().cloned());
        reach
    }

    pub(crate) const fn changing(&self) -> Changing {
        if self.read_only {
            Changing::Never
        } else {
            Changing::Granted
        }
    }

    pub(crate) const fn ending(&self) -> Ending {
        if self.output.json {
            Ending::Json
        } else if self.output.verbose {
            Ending::Verbose
        } else {
            Ending::Quiet
        }
    }

    /// How `--print-config` answers.
    pub(crate) const fn form(&self) -> Form {
        if self.output.json {
            Form::Json
        } else {
            Form::Text
        }
    }

    /// The same command line for a process that starts in another directory: every path absolute,
    /// without `--print-config` and `--json`, which are for this one alone.
    pub(crate) fn again(&self) -> std::io::Result<Vec<OsString>> {
        let mut line = Line(vec!["mcp".into()]);
        let reach = self.reach();
        line.paths("--workspace", &reach.workspace)?;
        line.paths("--read", &reach.read)?;
        for (option, values) in [
            ("--deny", &reach.deny),
            ("--hide", &reach.hide),
            ("--ask", &reach.ask),
        ] {
            values.iter().for_each(|value| line.option(option, value));
        }
        let excepts = reach.except.iter();
        excepts.for_each(|rule| line.option("--except", rule));
        line.paths("--policy", reach.policy.as_slice())?;
        line.paths("--ignore-file", &self.ignore.ignore_file)?;
        line.flag("--global-ignore", self.ignore.global_ignore);
        line.flag("--read-only", self.read_only);
        if let Some(compat) = self.compat {
            line.option("--compat", compat.name());
        }
        if let Some(answers) = self.answers {
            line.option("--answers", answers.name());
        }
        match self.decide {
            Decide::Client => {}
            Decide::Review => line.option("--decide", spelled(&self.decide)),
        }
        line.paths("--server", self.server.as_slice())?;
        line.flag("--embedded", self.seat.embedded);
        line.paths("--state", self.seat.state.as_slice())?;
        line.paths("--gate", self.seat.gate.as_slice())?;
        line.paths("--socket", self.seat.socket.as_slice())?;
        line.flag("--verbose", self.output.verbose);
        Ok(line.0)
    }
}

/// A command line that grows.
struct Line(Vec<OsString>);

impl Line {
    /// In one word, so that no value is taken for an option.
    fn option(&mut self, option: &str, value: impl AsRef<OsStr>) {
        let mut word = OsString::from(option);
        word.push("=");
        word.push(value);
        self.0.push(word);
    }

    fn flag(&mut self, option: &str, given: bool) {
        if given {
            self.0.push(option.into());
        }
    }

    fn paths(&mut self, option: &str, paths: &[PathBuf]) -> std::io::Result<()> {
        for path in paths {
            self.option(option, absolute(path)?);
        }
        Ok(())
    }
}

/// The same place, whatever directory is the current one. A directory of its own name is kept,
/// so that a link stays one.
fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let plain: PathBuf = path.components().collect();
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::super::{Arguments, Command};
    use super::*;
    use clap::Parser;

    fn parsed(words: &[&str]) -> McpArguments {
        let words = ["portcullis", "mcp"].iter().chain(words);
        let parsed = Arguments::try_parse_from(words).unwrap();
        let Command::Mcp(arguments) = parsed.command else {
            panic!("not mcp");
        };
        *arguments
    }

    #[test]
    fn the_same_line_again_means_the_same() {
        let words = [
            "a",
            "--workspace",
            "/b",
            "--read=c",
            "--hide=*.key",
            "--ask=-x",
            "--except",
            "builtin:env",
            "--ignore-file",
            "i",
            "--global-ignore",
            "--compat",
            "reference",
            "--answers=both",
            "--decide=review",
            "--server",
            "s",
            "--embedded",
            "--state=t",
            "--verbose",
            "--print-config=json",
        ];
        let first = parsed(&words);
        let again = first.again().unwrap();
        let here = std::env::current_dir().unwrap();
        let text: Vec<&str> = again.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(text[0], "mcp");
        assert!(text.contains(&format!("--workspace={}", here.join("a").display()).as_str()));
        assert!(text.contains(&"--ask=-x"));
        assert!(!text.iter().any(|word| word.contains("print-config")));
        let second = parsed(&text[1..]);
        assert_eq!(second.again().unwrap(), again);
    }

    #[test]
    fn what_contradicts_itself_is_no_command_line() {
        for words in [
            &["--read-only", "--ask", "x", "d"][..],
            &["--policy", "p", "d"],
            &["--state", "s", "d"],
            &["--compat", "other", "d"],
            &["--print-config", "none", "d"],
            &["--decide", "nobody", "d"],
        ] {
            let words = ["portcullis", "mcp"].iter().chain(words);
            assert!(Arguments::try_parse_from(words).is_err());
        }
    }
}
