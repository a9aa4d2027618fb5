//! Old and new texts, which belong together by their order on the command line.

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use std::ffi::OsString;

/// A text of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Text {
    /// This one.
    Given(OsString),
    /// The content of this file.
    In(OsString),
}

/// What is replaced, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Pair {
    pub(in super::super) old: Text,
    pub(in super::super) new: Text,
}

/// One pair or more. The first old text goes with the first new one, and so on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Pairs(pub(in super::super) Vec<Pair>);

impl Args for Pairs {
    fn augment_args(command: Command) -> Command {
        let text = |id: &'static str, value: &'static str, help: &'static str| {
            Arg::new(id)
                .long(id)
                .value_name(value)
                .help(help)
                .action(ArgAction::Append)
                .allow_hyphen_values(true)
                .value_parser(value_parser!(OsString))
        };
        command
            .arg(text(
                "old",
                "TEXT",
                "What is there, byte for byte; again for more",
            ))
            .arg(text(
                "new",
                "TEXT",
                "What comes instead of the old text of the same turn",
            ))
            .arg(text(
                "old-file",
                "FILE",
                "The old text is the content of this file",
            ))
            .arg(text(
                "new-file",
                "FILE",
                "The new text is the content of this file",
            ))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Pairs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let old = texts(matches, "old", "old-file");
        let new = texts(matches, "new", "new-file");
        if old.is_empty() || old.len() != new.len() {
            let said = format!(
                "an edit has as many old texts as new ones, at least one: --old TEXT --new TEXT; \
                 here are {} old and {} new\n",
                old.len(),
                new.len()
            );
            return Err(clap::Error::raw(ErrorKind::WrongNumberOfValues, said));
        }
        let pairs = old.into_iter().zip(new);
        Ok(Self(pairs.map(|(old, new)| Pair { old, new }).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The texts of one side, in the order they were written.
fn texts(matches: &ArgMatches, given: &str, file: &str) -> Vec<Text> {
    let side = |id: &str, text: fn(OsString) -> Text| -> Vec<(usize, Text)> {
        let places = matches.indices_of(id).into_iter().flatten();
        let values = matches.get_many::<OsString>(id).into_iter().flatten();
        places.zip(values.cloned().map(text)).collect()
    };
    let mut all = side(given, Text::Given);
    all.extend(side(file, Text::In));
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, text)| text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(args: &[&str]) -> Result<Pairs, clap::Error> {
        let command = Pairs::augment_args(Command::new("t"));
        let matches = command.try_get_matches_from([&["t"], args].concat())?;
        Pairs::from_arg_matches(&matches)
    }

    #[test]
    fn texts_are_paired_by_their_order() {
        let given = |text: &str| Text::Given(text.into());
        let file = |name: &str| Text::In(name.into());
        let all = pairs(&[
            "--old",
            "a",
            "--new-file",
            "f",
            "--old-file",
            "g",
            "--old",
            "-c",
            "--new",
            "",
            "--new",
            "--d",
        ]);
        assert_eq!(
            all.unwrap().0,
            [
                (given("a"), file("f")),
                (file("g"), given("")),
                (given("-c"), given("--d")),
            ]
            .map(|(old, new)| Pair { old, new })
        );
    }

    #[test]
    fn a_text_without_its_other_is_wrong_usage() {
        for bad in [
            &[][..],
            &["--old", "a"],
            &["--new", "a"],
            &["--old", "a", "--old", "b", "--new", "c"],
        ] {
            let error = pairs(bad).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{bad:?}");
        }
    }
}
