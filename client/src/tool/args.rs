//! The command line, parsed into the requests' own types.

mod change;
mod delegate;
mod eol;
mod pairs;
mod quick;
mod search;
mod values;
mod walk;

pub(super) use change::{
    ChmodArgs, DeleteArgs, EditArgs, ExpectArgs, LinkArgs, MkdirArgs, MoveArgs, PatchArgs,
    PatchFormat, WriteArgs,
};
pub(super) use delegate::DelegateArgs;
pub(super) use pairs::{Pair, Target, Text};
pub(super) use search::SearchArgs;
pub(super) use walk::{GlobArgs, ListArgs, PageArgs};

use super::help;
use super::place::{Place, Spelling};
use super::report::{Form, Report};
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use portcullis_protocol::path::Label;
use portcullis_protocol::session::Range;
use portcullis_protocol::verb::Verb;
use std::ffi::OsString;
use values::{bytes, label, lines, verb};

/// Ask for files through the session this program was started with.
#[derive(Debug, Parser)]
#[command(name = "portcullis-tool", version, about, after_help = help::MAIN)]
pub(super) struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    pub(super) task: Task,
}

/// What goes with every question.
#[derive(Debug, Args)]
struct Common {
    /// The root that paths are in, by its label.
    #[arg(long, global = true, value_name = "LABEL", value_parser = label)]
    root: Option<Label>,
    /// Paths are written as this tool shows them, with escapes like \xff.
    #[arg(long, global = true)]
    escaped: bool,
    /// One JSON document a line.
    #[arg(long, global = true)]
    json: bool,
    /// Say how far long walks are: with --json in documents, else on standard error, which a terminal
    /// gets in any case.
    #[arg(long, global = true)]
    progress: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Task {
    #[command(flatten)]
    Ask(Box<Question>),
    /// What a shell needs to complete this command; needs no session.
    #[command(after_help = help::COMPLETIONS)]
    Completions(CompletionsArgs),
}

/// What is asked of the session.
#[derive(Debug, Subcommand)]
pub(super) enum Question {
    /// What may this session do?
    #[command(after_help = help::WHOAMI)]
    Whoami,
    /// Type, mode, size, time and name.
    #[command(after_help = help::STAT)]
    Stat(StatArgs),
    /// The content of files.
    #[command(after_help = help::READ)]
    Read(ReadArgs),
    /// The names below a directory.
    #[command(after_help = help::LIST)]
    List(ListArgs),
    /// The names below a directory that match a pattern.
    #[command(after_help = help::GLOB)]
    Glob(GlobArgs),
    /// The lines below a directory that match a pattern.
    #[command(after_help = help::SEARCH)]
    Search(SearchArgs),
    /// Why a verb on a path is allowed or refused.
    #[command(after_help = help::WHY)]
    Why(WhyArgs),
    /// Run a command with a narrower session of its own.
    #[command(after_help = help::DELEGATE)]
    Delegate(DelegateArgs),
    #[command(flatten)]
    Change(Deeds),
}

/// What changes files.
#[derive(Debug, Subcommand)]
pub(super) enum Deeds {
    /// Make a file, or replace its content.
    #[command(after_help = help::WRITE)]
    Write(WriteArgs),
    /// Replace texts in a file.
    #[command(after_help = help::EDIT)]
    Edit(EditArgs),
    /// Make all changes of a patch, or none.
    #[command(after_help = help::PATCH)]
    Patch(PatchArgs),
    /// Make directories.
    #[command(after_help = help::MKDIR)]
    Mkdir(MkdirArgs),
    /// Give an object another name.
    #[command(after_help = help::MOVE)]
    Move(MoveArgs),
    /// Remove files, links, or directories.
    #[command(after_help = help::DELETE)]
    Delete(DeleteArgs),
    /// Set permission bits.
    #[command(after_help = help::CHMOD)]
    Chmod(ChmodArgs),
    /// Make a symbolic link.
    #[command(after_help = help::LINK)]
    Link(LinkArgs),
}

#[derive(Debug, Args)]
pub(super) struct StatArgs {
    /// Objects to look at.
    #[arg(required = true, value_name = "PATH")]
    pub(super) paths: Vec<OsString>,
    /// Look at a link itself.
    #[arg(long)]
    pub(super) no_follow: bool,
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags are bools to clap's derive; each says one thing more"
)]
pub(super) struct ReadArgs {
    /// Files to read.
    #[arg(required = true, value_name = "PATH")]
    pub(super) paths: Vec<OsString>,
    #[command(flatten)]
    part: PartArgs,
    /// Number the lines.
    #[arg(long, conflicts_with = "bytes")]
    pub(super) number: bool,
    /// Put its label before each line, for `edit`; 12:k3f9q|text.
    #[arg(long, visible_alias = "anchors", conflicts_with_all = ["bytes", "number"])]
    pub(super) labels: bool,
    /// Say how many lines, which terminators and which encoding the whole file has.
    #[arg(long)]
    pub(super) survey: bool,
    /// Say the blake3 digest of the whole file, and what --survey says.
    #[arg(long)]
    pub(super) digest: bool,
    /// Say the version stamp, for --expect of a change.
    #[arg(long)]
    pub(super) stamp: bool,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
struct PartArgs {
    /// Lines A to B, both included, from 1; either may be left out.
    #[arg(long, value_name = "A:B", value_parser = lines)]
    lines: Option<Range>,
    /// LEN bytes from offset OFF; LEN may be left out.
    #[arg(long, value_name = "OFF:LEN", value_parser = bytes)]
    bytes: Option<Range>,
    /// The first N lines.
    #[arg(long, value_name = "N")]
    head: Option<u64>,
    /// The last N lines.
    #[arg(long, value_name = "N")]
    tail: Option<u64>,
}

impl ReadArgs {
    /// The part asked for, if one was.
    pub(super) fn range(&self) -> Option<Range> {
        let PartArgs {
            lines,
            bytes,
            head,
            tail,
        } = &self.part;
        lines
            .or(*bytes)
            .or(head.map(|count| Range::Head { count }))
            .or(tail.map(|count| Range::Tail { count }))
    }
}

#[derive(Debug, Args)]
pub(super) struct WhyArgs {
    /// stat, read, list, glob, search, write, edit, mkdir, move, delete, delete-tree, chmod or link.
    #[arg(value_parser = verb)]
    pub(super) verb: Verb,
    /// The object.
    pub(super) path: OsString,
}

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

impl CompletionsArgs {
    /// The script. Made in memory, because the generator panics when it cannot write.
    pub(super) fn script(&self) -> Vec<u8> {
        let mut script = Vec::new();
        let mut command = Cli::command();
        clap_complete::generate(self.shell, &mut command, "portcullis-tool", &mut script);
        script
    }
}

impl Cli {
    /// The command line of this process.
    pub(super) fn of_process() -> Result<Self, clap::Error> {
        let args: Vec<OsString> = std::env::args_os().collect();
        match quick::parse(&args) {
            Some(cli) => Ok(cli),
            None => Self::try_parse_from(args),
        }
    }

    /// Where paths are, and how they are written.
    pub(super) fn place(&self) -> Place {
        let spelling = if self.common.escaped {
            Spelling::Escaped
        } else {
            Spelling::Bytes
        };
        Place::new(self.common.root.clone(), spelling)
    }

    /// The report, that says how far walks are when it is asked for.
    pub(super) fn telling(&self, report: Report) -> Report {
        if self.common.progress {
            report.with_progress()
        } else {
            report
        }
    }

    /// How answers are written.
    pub(super) fn form(&self) -> Form {
        if self.common.json {
            Form::Json
        } else {
            Form::Text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_task_has_examples() {
        for task in Cli::command().get_subcommands() {
            let help = task.get_after_help().unwrap().to_string();
            assert!(help.contains("portcullis-tool"), "{}", task.get_name());
        }
    }

    #[test]
    fn two_ranges_are_wrong_usage() {
        let parse = |args: &[&str]| Cli::try_parse_from(args);
        assert!(parse(&["t", "read", "--head", "1", "--tail", "1", "a"]).is_err());
        assert!(parse(&["t", "read", "--number", "--bytes", "0:1", "a"]).is_err());
        assert!(parse(&["t", "read", "--tail", "1", "a", "--json", "--root", "x"]).is_ok());
        assert!(parse(&["t", "list", "--root", "a/b"]).is_err());
        assert!(parse(&["t", "why", "write", "a"]).is_ok());
        assert!(parse(&["t", "why", "rewrite", "a"]).is_err());
        assert!(parse(&["t", "list", "-0", "--json"]).is_err());
        assert!(parse(&["t", "list", "--limit", "0"]).is_err());
        assert!(parse(&["t", "search", "x", "-C", "51"]).is_err());
        assert!(parse(&["t", "search", "x", "--timeout", "121"]).is_err());
        assert!(parse(&["t", "write", "a", "--create", "--expect", "1.2.3.4.5"]).is_err());
        assert!(parse(&["t", "write", "a", "--replace", "1.2.3.4.5", "--mode", "600"]).is_ok());
        assert!(parse(&["t", "write", "a", "--create", "--force"]).is_err());
        assert!(parse(&["t", "read", "a", "--labels", "--bytes", "0:1"]).is_err());
        assert!(parse(&["t", "read", "a", "--anchors", "--lines", "2:3"]).is_ok());
        assert!(parse(&["t", "delete", "a", "--dir", "--tree"]).is_err());
        assert!(parse(&["t", "move", "a", "b", "--replace"]).is_ok());
        assert!(parse(&["t", "chmod", "4755", "a"]).is_err());
        assert!(parse(&["t", "edit", "a", "--old", "x", "--new", "y", "--count", "0"]).is_err());
        assert!(parse(&["t", "delegate", "--grant", "read:src", "--", "ls", "-l"]).is_ok());
        assert!(parse(&["t", "delegate", "--ask", "write:src", "--", "ls"]).is_ok());
        assert!(parse(&["t", "delegate", "--", "ls"]).is_err());
        assert!(parse(&["t", "delegate", "--grant", "read:src"]).is_err());
        assert!(parse(&["t", "delegate", "--grant", "read:src", "ls"]).is_err());
    }
}
