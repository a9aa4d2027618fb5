//! The questions that agents ask most, parsed without the command line of all the others: building
//! that takes longer than many an answer. Whatever is not understood at once, help and mistakes
//! among it, is parsed again as a whole, so that there is one set of words and messages.

use super::{Cli, Common, GlobArgs, ListArgs, Question, ReadArgs, SearchArgs, StatArgs, Task};
use clap::{Args, Parser};
use std::ffi::OsString;

/// One question: what comes after its verb.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct One<A: Args> {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    args: A,
}

fn one<A: Args>(rest: &[OsString], question: fn(A) -> Question) -> Option<Cli> {
    let One { common, args } = One::try_parse_from(rest).ok()?;
    Some(Cli {
        common,
        task: Task::Ask(Box::new(question(args))),
    })
}

/// A command line that begins with one of these verbs and has nothing unusual in it.
pub(super) fn parse(args: &[OsString]) -> Option<Cli> {
    let [_, verb, rest @ ..] = args else {
        return None;
    };
    match verb.to_str()? {
        "stat" => one::<StatArgs>(rest, Question::Stat),
        "read" => one::<ReadArgs>(rest, Question::Read),
        "list" => one::<ListArgs>(rest, Question::List),
        "glob" => one::<GlobArgs>(rest, Question::Glob),
        "search" => one::<SearchArgs>(rest, Question::Search),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same words mean the same, whichever way they are parsed; what only one of both takes is
    /// left to the whole.
    #[test]
    fn a_quick_question_is_the_same_as_a_slow_one() {
        let mut taken = 0;
        for line in [
            "stat a b --no-follow --json",
            "read a --lines 2:3 --root docs",
            "read --head 5 a --escaped",
            "list",
            "list src -d 3 --sort newest --json --progress",
            "list -0 --limit 5",
            "list -- --json",
            "glob **/*.rs src --limit 5",
            "search x",
            "search -i -w x src -g *.rs -g !a -C 3 --json",
            "search -e x",
            "search x --type rust -uu",
            "search --help",
            "search -h",
            "search x --version",
            "search",
            "list --limit 0",
            "list --no-such",
            "glob",
            "help search",
            "--json list",
            "whoami",
            "",
        ] {
            let args = std::iter::once("portcullis-tool").chain(line.split_whitespace());
            let args: Vec<OsString> = args.map(OsString::from).collect();
            if let Some(quick) = parse(&args) {
                taken += 1;
                let slow = Cli::try_parse_from(&args);
                let slow = slow.unwrap_or_else(|error| panic!("{line}: {error}"));
                assert_eq!(format!("{quick:?}"), format!("{slow:?}"), "{line}");
            }
        }
        assert!(taken >= 10, "only {taken} were quick");
    }
}
