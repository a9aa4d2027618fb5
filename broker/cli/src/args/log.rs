//! The command line of `log`.

use super::records::run;
use super::{Form, RunChoice, Where};
use clap::{Args, Subcommand};
use portcullis_protocol::view::Digest;
use std::path::PathBuf;

const LOG_EXAMPLES: &str = "\
Examples:
  portcullis log
      the latest runs
  portcullis log last
      what the last run changed: each name, before and after, and how sure that is
  portcullis log show 34
      one receipt, whole: under which authority, in which cage, by which approval
  portcullis log verify
      do the records hold together? which row is changed, missing, reordered or foreign?
  portcullis log export last --output run.jsonl
      the receipts of the last run, for elsewhere, one JSON document on a line
  portcullis log verify run.jsonl
      does what was exported hold together? needs no records

Each change has one receipt: `done`, `failed` (nothing was changed) or `uncertain` (look at the
files). `exact`: no other process's version can have been lost; `detected`: what was displaced was
looked at; `best-effort`: neither could be had. `by gate`: said by the process that made the change;
`by observer`: by one that looked afterwards.

Exit code: 0; 1 when it could not be told, or when the records are damaged.";

const EXPORT_HELP: &str = "\
Each line is linked to the one before it, so that `portcullis log verify FILE` names whatever was
changed, taken out, moved or put in. Somebody who writes all lines anew can only be found out by the
link of the last line: keep it elsewhere, and give it to `verify` as --head.

Digests of contents are keyed with a key that stays in the state directory, so that nobody finds out
what a short file holds by trying; --plain leaves them as they are.";

#[derive(Debug, Args)]
#[command(after_help = LOG_EXAMPLES)]
pub(crate) struct LogArguments {
    /// The number of a run, or `last`; none is about all runs
    #[arg(value_name = "RUN", value_parser = run)]
    run: Option<RunChoice>,
    #[command(subcommand)]
    action: Option<LogAction>,
    /// How many runs are listed, the latest first
    #[arg(long, value_name = "N", default_value_t = 20, global = true)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) place: Where,
    /// Answer in JSON
    #[arg(long, global = true)]
    json: bool,
}

/// What `log` does.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum LogAction {
    /// Show a receipt whole, or what was asked for before
    Show {
        /// The number of a receipt
        #[arg(value_parser = clap::value_parser!(u64).range(1..))]
        receipt: Option<u64>,
    },
    /// Check every chain of receipts, or a file that was exported
    Verify {
        /// A file that `export` wrote; `-` is standard input
        file: Option<PathBuf>,
        /// A head that was seen before: it must still be there
        #[arg(long, value_name = "HEX", value_parser = digest)]
        head: Option<Digest>,
    },
    /// Write receipts and their sessions as JSON, one on a line
    Export(ExportArguments),
    /// Bring a torn tail in order, keeping the database as it was
    Repair,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = EXPORT_HELP)]
pub(crate) struct ExportArguments {
    /// The number of a run, or `last`; none is all runs
    #[arg(value_name = "RUN", value_parser = run)]
    run: Option<RunChoice>,
    /// Leave digests as they are
    #[arg(long)]
    plain: bool,
    /// Also what was refused, as far as it is kept
    #[arg(long)]
    refusals: bool,
    /// Write to this file, which must not be there
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// How digests are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DigestChoice {
    Keyed,
    Plain,
}

/// Whether refusals are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusalChoice {
    Told,
    LeftOut,
}

impl ExportArguments {
    pub(crate) const fn digests(&self) -> DigestChoice {
        if self.plain {
            DigestChoice::Plain
        } else {
            DigestChoice::Keyed
        }
    }

    pub(crate) const fn refusals(&self) -> RefusalChoice {
        if self.refusals {
            RefusalChoice::Told
        } else {
            RefusalChoice::LeftOut
        }
    }
}

/// What is wanted of the log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wish<'a> {
    /// The latest runs.
    List,
    Run(RunChoice),
    Receipt(u64),
    Verify {
        head: Option<Digest>,
    },
    VerifyFile {
        file: &'a PathBuf,
        head: Option<Digest>,
    },
    Export(Option<RunChoice>, &'a ExportArguments),
    Repair,
}

impl LogArguments {
    pub(crate) const fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Text }
    }

    /// A run may stand before the action or behind it.
    pub(crate) fn wish(&self) -> Result<Wish<'_>, &'static str> {
        match (self.run, &self.action) {
            (None, None | Some(LogAction::Show { receipt: None })) => Ok(Wish::List),
            (Some(run), None | Some(LogAction::Show { receipt: None })) => Ok(Wish::Run(run)),
            (
                None,
                Some(LogAction::Show {
                    receipt: Some(receipt),
                }),
            ) => Ok(Wish::Receipt(*receipt)),
            (
                Some(_),
                Some(LogAction::Show {
                    receipt: Some(_), ..
                }),
            ) => Err("a receipt is found by its number alone"),
            // All runs are checked, also where one is named.
            (_, Some(LogAction::Verify { file: None, head })) => Ok(Wish::Verify { head: *head }),
            (
                None,
                Some(LogAction::Verify {
                    file: Some(file),
                    head,
                }),
            ) => Ok(Wish::VerifyFile { file, head: *head }),
            (Some(_), Some(LogAction::Verify { file: Some(_), .. })) => {
                Err("a file is checked whole")
            }
            (None, Some(LogAction::Export(export))) => Ok(Wish::Export(export.run, export)),
            (Some(run), Some(LogAction::Export(export))) if export.run.is_none() => {
                Ok(Wish::Export(Some(run), export))
            }
            (Some(_), Some(LogAction::Export(_))) => Err("one run is enough"),
            (None, Some(LogAction::Repair)) => Ok(Wish::Repair),
            (Some(_), Some(LogAction::Repair)) => Err("all runs are repaired together"),
        }
    }
}

fn digest(text: &str) -> Result<Digest, String> {
    let digits = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).ok()?;
        // A sign would be taken for a digit.
        let digits = pair.bytes().all(|byte| byte.is_ascii_hexdigit());
        digits.then(|| u8::from_str_radix(pair, 16).ok()).flatten()
    };
    let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(digits).collect();
    bytes
        .filter(|_| text.len() == 64)
        .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok())
        .map(Digest)
        .ok_or_else(|| "no head: 64 hexadecimal digits".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::{Arguments, Command};
    use super::*;
    use clap::Parser;
    use portcullis_protocol::control::RunId;

    fn parsed(words: &[&str]) -> LogArguments {
        let words = [&["portcullis", "log"], words].concat();
        let Command::Log(log) = Arguments::try_parse_from(words).unwrap().command else {
            panic!("not log");
        };
        log
    }

    #[test]
    fn a_run_and_an_action_may_each_be_left_out_and_stand_in_either_order() {
        let seven = RunChoice::Number(RunId(7));
        assert_eq!(parsed(&[]).wish(), Ok(Wish::List));
        assert_eq!(parsed(&["show"]).wish(), Ok(Wish::List));
        assert_eq!(parsed(&["7"]).wish(), Ok(Wish::Run(seven)));
        assert_eq!(parsed(&["7", "show"]).wish(), Ok(Wish::Run(seven)));
        assert_eq!(parsed(&["show", "34"]).wish(), Ok(Wish::Receipt(34)));
        let none = Ok(Wish::Verify { head: None });
        assert_eq!(parsed(&["verify"]).wish(), none);
        assert_eq!(parsed(&["last", "verify", "--json"]).wish(), none);
        for words in [&["7", "export"][..], &["export", "7"]] {
            let log = parsed(words);
            let Ok(Wish::Export(run, export)) = log.wish() else {
                panic!("{words:?}");
            };
            assert_eq!(run, Some(seven));
            assert_eq!(export.digests(), DigestChoice::Keyed);
            assert_eq!(export.refusals(), RefusalChoice::LeftOut);
        }
        assert_eq!(parsed(&["repair"]).wish(), Ok(Wish::Repair));
        assert_eq!(parsed(&["--limit", "3", "show"]).limit, 3);
    }

    #[test]
    fn what_makes_no_sense_together_is_refused() {
        for words in [
            &["7", "show", "34"][..],
            &["7", "export", "8"],
            &["7", "verify", "file"],
            &["7", "repair"],
        ] {
            assert!(parsed(words).wish().is_err(), "{words:?}");
        }
        let head = "0".repeat(63);
        for wrong in [
            &["log", "0"][..],
            &["log", "x"],
            &["log", "verify", "--head", &head],
            &["log", "show", "0"],
            &["diff"],
            &["diff", "show"],
        ] {
            let words = [&["portcullis"], wrong].concat();
            assert!(Arguments::try_parse_from(words).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_head_is_64_digits_and_nothing_else() {
        assert_eq!(digest(&"0a".repeat(32)), Ok(Digest([10; 32])));
        for wrong in [
            "",
            &"0a".repeat(31),
            &"0a".repeat(33),
            &"+a".repeat(32),
            &"é".repeat(32),
        ] {
            assert!(digest(wrong).is_err(), "{wrong}");
        }
    }
}
