//! The user's own ignore files: read here, where the user's rights are, and passed to sessions as
//! text, because no session reads what is above its roots.

use crate::args::IgnoreArguments;
use portcullis_protocol::limits::IGNORE_BYTES_MAX;
use portcullis_protocol::path::escape;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Why there are no rules.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IgnoreError {
    /// A file that was named cannot be read.
    #[error("ignore file {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// More than a session takes.
    #[error(
        "ignore file {path}: with it the rules have {bytes} bytes, at most {IGNORE_BYTES_MAX} are passed \
         to a session"
    )]
    TooLarge {
        /// The file that does not fit any more.
        path: String,
        /// Bytes of all rules up to its end.
        bytes: usize,
    },
}

/// Rules of several files, one behind the other: later ones are stronger.
#[derive(Debug, Default)]
pub(crate) struct IgnoreRules(Vec<u8>);

impl IgnoreRules {
    /// Those of the command line: the global file first.
    pub(crate) fn of(arguments: &IgnoreArguments) -> Result<Self, IgnoreError> {
        let mut rules = Self::default();
        if arguments.global_ignore
            && let Some(file) = global_file(&|name| std::env::var_os(name))
            && file.exists()
        {
            rules.add(&file)?;
        }
        arguments
            .ignore_file
            .iter()
            .try_for_each(|file| rules.add(file))?;
        Ok(rules)
    }

    /// Adds those of a file.
    pub(crate) fn add(&mut self, file: &Path) -> Result<(), IgnoreError> {
        let path = || escape(file.as_os_str().as_bytes());
        let text = std::fs::read(file).map_err(|source| IgnoreError::Read {
            path: path(),
            source,
        })?;
        self.append(&text).map_err(|bytes| IgnoreError::TooLarge {
            path: path(),
            bytes,
        })
    }

    /// Adds those of others, which are stronger; without a change when they do not fit.
    fn append(&mut self, text: &[u8]) -> Result<(), usize> {
        let between = usize::from(self.0.last().is_some_and(|last| *last != b'\n'));
        let bytes = self.0.len() + between + text.len();
        if bytes > IGNORE_BYTES_MAX {
            return Err(bytes);
        }
        if between > 0 {
            self.0.push(b'\n');
        }
        self.0.extend_from_slice(text);
        Ok(())
    }

    /// Puts those of others behind these.
    pub(crate) fn then(mut self, others: &Self) -> Result<Self, IgnoreError> {
        let fits = self.append(&others.0);
        fits.map_err(|bytes| IgnoreError::TooLarge {
            path: "of --ignore-file or --global-ignore".to_owned(),
            bytes,
        })?;
        Ok(self)
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

/// Where git keeps the user's own ignore file: `core.excludesFile` of the user's configuration, or
/// `git/ignore` in the directory for that. What a configuration includes from elsewhere is not read.
fn global_file(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    let home = set("HOME").map(PathBuf::from);
    let settings = set("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(home.as_ref()?.join(".config")))
        .map(|directory| directory.join("git"));
    let configurations = match set("GIT_CONFIG_GLOBAL") {
        Some(only) => vec![PathBuf::from(only)],
        None => [
            settings.as_ref().map(|directory| directory.join("config")),
            home.as_ref().map(|home| home.join(".gitconfig")),
        ]
        .into_iter()
        .flatten()
        .collect(),
    };
    let named = configurations.iter().rev().find_map(|file| {
        let text = std::fs::read_to_string(file).ok()?;
        excludes_file(&text)
    });
    match (named, home) {
        (Some(named), Some(home)) => Some(match named.strip_prefix("~/") {
            Some(below) => home.join(below),
            None => PathBuf::from(named),
        }),
        (Some(named), None) => Some(PathBuf::from(named)),
        (None, _) => settings.map(|directory| directory.join("ignore")),
    }
    .filter(|file| !file.as_os_str().is_empty())
}

/// The last `excludesFile` in a `[core]` section of git's configuration.
fn excludes_file(text: &str) -> Option<String> {
    let mut in_core = false;
    let mut found = None;
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let (section, behind) = rest.split_once(']').unwrap_or((rest, ""));
            in_core = section.trim().eq_ignore_ascii_case("core");
            line = behind.trim();
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        if in_core && key.trim().eq_ignore_ascii_case("excludesfile") {
            found = Some(unquoted(value.trim()));
        }
    }
    found
}

/// A value without its quotes, and without a comment behind it.
fn unquoted(value: &str) -> String {
    let mut plain = String::new();
    let (mut quoted, mut escaped) = (false, false);
    for c in value.chars() {
        match c {
            _ if escaped => {
                plain.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => break,
            c => plain.push(c),
        }
    }
    plain.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gits_configuration_names_the_file_in_its_core_section() {
        for (text, named) in [
            ("[core]\n\texcludesFile = ~/x\n", Some("~/x")),
            ("[Core] excludesfile = \"/a b\" ; why\n", Some("/a b")),
            ("[core]\nexcludesfile=/a # c\n[user]\nname = x", Some("/a")),
            ("[core]\nexcludesfile=/a\nexcludesfile=/b\n", Some("/b")),
            ("[core \"sub\"]\nexcludesfile=/a\n", None),
            ("[user]\nexcludesfile=/a\n", None),
            ("[core]\n# excludesfile=/a\n", None),
        ] {
            assert_eq!(excludes_file(text).as_deref(), named, "{text}");
        }
    }

    fn found(files: &[(&str, &str)], set: &[(&str, &str)]) -> (tempfile::TempDir, Option<PathBuf>) {
        let home = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = home.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let variable = |name: &str| {
            if name == "HOME" {
                return Some(home.path().into());
            }
            let value = set.iter().find(|(known, _)| *known == name);
            value.map(|(_, value)| OsString::from(value))
        };
        let file = global_file(&variable);
        (home, file)
    }

    #[test]
    fn the_global_file_is_where_git_has_it() {
        let (home, file) = found(&[], &[]);
        assert_eq!(file.unwrap(), home.path().join(".config/git/ignore"));
        let (_home, file) = found(&[], &[("XDG_CONFIG_HOME", "/xdg")]);
        assert_eq!(file.unwrap(), Path::new("/xdg/git/ignore"));
        let named = |at: &str| format!("[core]\nexcludesFile = {at}\n");
        let (home, file) = found(
            &[
                (".config/git/config", &named("/far")),
                (".gitconfig", &named("~/near")),
            ],
            &[],
        );
        assert_eq!(file.unwrap(), home.path().join("near"));
        let (_home, file) = found(&[(".config/git/config", &named("/far"))], &[]);
        assert_eq!(file.unwrap(), Path::new("/far"));
        let (_home, file) = found(
            &[(".gitconfig", &named("/near"))],
            &[
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("XDG_CONFIG_HOME", "/x"),
            ],
        );
        assert_eq!(file.unwrap(), Path::new("/x/git/ignore"));
    }

    #[test]
    fn files_stand_behind_one_another_and_what_does_not_fit_is_said() {
        let place = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &[u8]| {
            let path = place.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let (a, b) = (file("a", b"*.o"), file("b", b"!x.o\n"));
        let arguments = |files: &[&PathBuf]| IgnoreArguments {
            ignore_file: files.iter().map(|path| (*path).clone()).collect(),
            global_ignore: false,
        };
        let rules = IgnoreRules::of(&arguments(&[&a, &b])).unwrap();
        assert_eq!(rules.as_slice(), b"*.o\n!x.o\n");
        let fits = file("fits", &[b'x'; IGNORE_BYTES_MAX]);
        assert!(IgnoreRules::of(&arguments(&[&fits])).is_ok());
        let said = IgnoreRules::of(&arguments(&[&a, &fits])).unwrap_err();
        let said = said.to_string();
        assert!(said.contains("16388 bytes, at most 16384"), "{said}");
        let missing = place.path().join("none");
        let said = IgnoreRules::of(&arguments(&[&missing])).unwrap_err();
        assert!(said.to_string().contains("none: No such file"), "{said}");
    }
}
