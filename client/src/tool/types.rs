//! File types: names for globs of file names, the same as ripgrep's.

use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::limits::{PATTERN_BYTES_MAX, SEARCH_TYPE_GLOBS_MAX};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One type a line: its names, then its globs.
const TABLE: &str = include_str!("types.txt");
/// Names that an error suggests.
const SUGGESTED: usize = 5;

/// Globs on the wire.
pub(super) type TypeGlobs = Few<Bytes<PATTERN_BYTES_MAX>, SEARCH_TYPE_GLOBS_MAX>;

/// All types, those that the command line adds among them.
#[derive(Debug)]
pub(super) struct Types<'a>(BTreeMap<&'a str, Vec<&'a str>>);

impl<'a> Types<'a> {
    /// The table, and what is added to it: `name:glob` each.
    pub(super) fn with(added: &'a [String]) -> Result<Self, String> {
        let mut types = BTreeMap::<&str, Vec<&str>>::new();
        for (names, globs) in table() {
            for name in names.split(',') {
                types.entry(name).or_default().extend(globs.split(' '));
            }
        }
        for add in added {
            let (name, glob) = add
                .split_once(':')
                .filter(|(name, glob)| !name.is_empty() && !glob.is_empty())
                .ok_or_else(|| format!("`{add}`: NAME:GLOB, such as web:*.html"))?;
            types.entry(name).or_default().push(glob);
        }
        Ok(Self(types))
    }

    /// The globs of these types together.
    pub(super) fn globs(&self, names: &[String]) -> Result<TypeGlobs, String> {
        let mut globs: Vec<&str> = Vec::new();
        for name in names {
            let of = self
                .0
                .get(name.as_str())
                .ok_or_else(|| self.unknown(name))?;
            globs.extend(of);
        }
        globs.sort_unstable();
        globs.dedup();
        let globs: Result<Vec<_>, _> = globs.into_iter().map(Bytes::new).collect();
        let globs = globs.map_err(|error| error.to_string())?;
        Few::new(globs).map_err(|many| format!("they have {many} globs"))
    }

    /// Every type with its globs, as `rg --type-list` shows them.
    pub(super) fn listed(&self) -> String {
        self.0
            .iter()
            .fold(String::new(), |mut text, (name, globs)| {
                // Writing to a `String` cannot fail.
                writeln!(text, "{name}: {}", globs.join(", ")).ok();
                text
            })
    }

    /// Says which types may have been meant.
    fn unknown(&self, name: &str) -> String {
        let ending = format!("*.{name}");
        let mut near: Vec<(usize, &str)> = self
            .0
            .iter()
            .filter_map(|(known, globs)| {
                let far = if globs.contains(&ending.as_str()) {
                    0
                } else {
                    distance(name, known)
                };
                let within =
                    known.len() > 2 && (known.starts_with(name) || name.starts_with(known));
                (far <= 1 + name.len() / 4 || within).then_some((far, *known))
            })
            .collect();
        near.sort_unstable();
        let near: Vec<&str> = near
            .iter()
            .take(SUGGESTED)
            .map(|(_, known)| *known)
            .collect();
        let hint = match near.as_slice() {
            [] => String::new(),
            [..] => format!("nearest: {}; ", near.join(", ")),
        };
        format!("`{name}` is no file type; {hint}--type-list shows all, --type-add makes one")
    }
}

fn table() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": "))
}

/// How many letters must be put in, taken away or made others to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, a) in from.chars().enumerate() {
        let mut line = vec![row + 1];
        for (b, pair) in to.iter().zip(last.windows(2)) {
            let [diagonal, above] = *pair else { continue };
            let left = line.last().copied().unwrap_or_default();
            let other = diagonal + usize::from(a != *b);
            line.push(other.min(above + 1).min(left + 1));
        }
        last = line;
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(types: &[&str]) -> Result<Vec<String>, String> {
        let names: Vec<String> = types.iter().map(|name| (*name).to_owned()).collect();
        let globs = Types::with(&[])?.globs(&names)?;
        let shown = globs.as_slice().iter();
        Ok(shown
            .map(|glob| String::from_utf8(glob.as_slice().to_vec()).unwrap())
            .collect())
    }

    #[test]
    fn the_table_is_that_of_ripgrep() {
        let mut builder = ignore::types::TypesBuilder::new();
        builder.add_defaults();
        let theirs: BTreeMap<String, Vec<String>> = builder
            .definitions()
            .into_iter()
            .map(|of| {
                let mut globs = of.globs().to_vec();
                globs.sort_unstable();
                (of.name().to_owned(), globs)
            })
            .collect();
        let ours: BTreeMap<String, Vec<String>> = Types::with(&[])
            .unwrap()
            .0
            .iter()
            .map(|(name, globs)| {
                let mut globs: Vec<_> = globs.iter().map(|&glob| glob.to_owned()).collect();
                globs.sort_unstable();
                ((*name).to_owned(), globs)
            })
            .collect();
        assert_eq!(ours, theirs);
    }

    #[test]
    fn types_are_sums_of_their_globs_and_can_be_added_to() {
        assert_eq!(globs(&["rust"]).unwrap(), ["*.rs"]);
        assert_eq!(globs(&["bat", "cmd"]).unwrap(), ["*.bat", "*.cmd"]);
        assert_eq!(globs(&["python"]), globs(&["py"]));
        let added = ["rust:*.rs.in".to_owned(), "web:*.{html,css}".to_owned()];
        let types = Types::with(&added).unwrap();
        let both = types.globs(&["rust".to_owned(), "web".to_owned()]).unwrap();
        assert_eq!(both.as_slice().len(), 3);
        assert!(Types::with(&["web".to_owned()]).is_err());
        assert!(types.listed().contains("\nrust: *.rs, *.rs.in\n"));
    }

    #[test]
    fn an_unknown_type_names_the_nearest() {
        for (wrong, meant) in [
            ("rs", "rust"),
            ("pyton", "python"),
            ("typscript", "typescript"),
            ("markdwon", "markdown"),
            ("tsx", "ts"),
        ] {
            let said = globs(&[wrong]).unwrap_err();
            assert!(said.contains(meant), "{said}");
        }
        let said = globs(&["qqqqqqqqqqqq"]).unwrap_err();
        assert!(!said.contains("nearest"), "{said}");
    }

    #[test]
    fn too_many_globs_are_said() {
        let types = Types::with(&[]).unwrap();
        let all: Vec<String> = types.0.keys().map(|&name| name.to_owned()).collect();
        let said = types.globs(&all).unwrap_err();
        assert!(said.contains("at most 256 allowed"), "{said}");
    }
}
