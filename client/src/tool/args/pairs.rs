//! Places of edits and their new texts, which belong together by their order on the command line.

use super::values::{anchor, anchors};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use portcullis_protocol::anchor::Anchor;
use std::ffi::OsString;

/// A text of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Text {
    /// This one.
    Given(OsString),
    /// The content of this file.
    In(OsString),
}

/// Where an edit is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Target {
    /// Where this text is.
    Old(Text),
    /// The lines from one label to another.
    Lines(Anchor, Anchor),
    /// Before the line of this label.
    Before(Anchor),
    /// After the line of this label.
    After(Anchor),
    /// After the line of this number; 0 is the beginning of the file.
    AfterLine(u64),
}

/// What is replaced, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Pair {
    pub(in super::super) target: Target,
    pub(in super::super) new: Text,
}

/// One pair or more. The first place goes with the first new text, and so on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Pairs(pub(in super::super) Vec<Pair>);

impl Args for Pairs {
    fn augment_args(command: Command) -> Command {
        let arg = |id: &'static str, value: &'static str, help: &'static str| {
            Arg::new(id)
                .long(id)
                .value_name(value)
                .help(help)
                .action(ArgAction::Append)
        };
        let text = |id, value, help| {
            arg(id, value, help)
                .allow_hyphen_values(true)
                .value_parser(value_parser!(OsString))
        };
        command
            .arg(text(
                "old",
                "TEXT",
                "What is there now; again for more edits",
            ))
            .arg(text(
                "old-file",
                "FILE",
                "What is there now is the content of this file",
            ))
            .arg(
                arg(
                    "lines",
                    "LABEL..LABEL",
                    "These lines, both included; or one LABEL",
                )
                .value_parser(anchors),
            )
            .arg(arg("before", "LABEL", "Put the new text before this line").value_parser(anchor))
            .arg(arg("after", "LABEL", "Put the new text after this line").value_parser(anchor))
            .arg(
                arg(
                    "insert-after",
                    "N",
                    "Put the new text after line N; 0 is the beginning",
                )
                .value_parser(value_parser!(u64)),
            )
            .arg(text("new", "TEXT", "What comes there, of the same turn"))
            .arg(text(
                "new-file",
                "FILE",
                "What comes there is the content of this file",
            ))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Pairs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let targets = ordered([
            given(matches, "old", |text| Target::Old(Text::Given(text))),
            given(matches, "old-file", |file| Target::Old(Text::In(file))),
            given(matches, "lines", |(first, last)| Target::Lines(first, last)),
            given(matches, "before", Target::Before),
            given(matches, "after", Target::After),
            given(matches, "insert-after", Target::AfterLine),
        ]);
        let new = ordered([
            given(matches, "new", Text::Given),
            given(matches, "new-file", Text::In),
        ]);
        if targets.is_empty() || targets.len() != new.len() {
            let said = format!(
                "an edit has as many places as new texts, at least one: --old TEXT --new TEXT, or \
                 --lines LABEL..LABEL --new TEXT; here are {} places (--old, --lines, --before, \
                 --after, --insert-after) and {} new texts\n",
                targets.len(),
                new.len()
            );
            return Err(clap::Error::raw(ErrorKind::WrongNumberOfValues, said));
        }
        let pairs = targets.into_iter().zip(new);
        Ok(Self(
            pairs.map(|(target, new)| Pair { target, new }).collect(),
        ))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The values of one option, each with its place on the command line.
fn given<T, U>(matches: &ArgMatches, id: &str, made: impl Fn(T) -> U) -> Vec<(usize, U)>
where
    T: Clone + Send + Sync + 'static,
{
    let places = matches.indices_of(id).into_iter().flatten();
    let values = matches.get_many::<T>(id).into_iter().flatten();
    places.zip(values.cloned().map(made)).collect()
}

/// The values of several options, in the order they were written.
fn ordered<U, const N: usize>(options: [Vec<(usize, U)>; N]) -> Vec<U> {
    let mut all: Vec<(usize, U)> = options.into_iter().flatten().collect();
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, value)| value).collect()
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
            .map(|(old, new)| Pair {
                target: Target::Old(old),
                new
            })
        );
    }

    #[test]
    fn labels_and_numbers_are_places_too() {
        let (one, two): (Anchor, Anchor) = ("2:k3f9q".parse().unwrap(), "4:00000".parse().unwrap());
        let all = pairs(&[
            "--new",
            "a",
            "--lines",
            "2:k3f9q..4:00000",
            "--after",
            "4:00000",
            "--new",
            "b",
            "--old",
            "x",
            "--new",
            "c",
            "--before",
            "2:k3f9q",
            "--insert-after",
            "0",
            "--new",
            "d",
            "--new",
            "e",
        ]);
        let targets: Vec<Target> = all.unwrap().0.into_iter().map(|pair| pair.target).collect();
        assert_eq!(
            targets,
            [
                Target::Lines(one, two),
                Target::After(two),
                Target::Old(Text::Given("x".into())),
                Target::Before(one),
                Target::AfterLine(0),
            ]
        );
        assert!(pairs(&["--lines", "4:00000..2:k3f9q", "--new", "a"]).is_err());
        assert!(pairs(&["--lines", "2:k3f9q|text", "--new", "a"]).is_err());
    }

    #[test]
    fn a_text_without_its_other_is_wrong_usage() {
        for bad in [
            &[][..],
            &["--old", "a"],
            &["--new", "a"],
            &["--lines", "2:k3f9q"],
            &["--old", "a", "--old", "b", "--new", "c"],
        ] {
            let error = pairs(bad).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{bad:?}");
        }
    }
}
