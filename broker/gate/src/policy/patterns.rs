//! Patterns of denials, sorted by how they can be found: whole names, extensions and whole paths
//! are looked up; only what is left is a glob, compiled when a name first comes near it. Most
//! sessions never compile one, which is most of the time it takes to make a session.

use super::fold;
use globset::{Candidate, Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use portcullis_protocol::path::RelPath;
use std::collections::HashMap;
use std::sync::OnceLock;

/// A pattern that cannot be compiled.
#[derive(Debug, thiserror::Error)]
#[error("pattern {pattern:?}: {error}")]
pub struct PatternError {
    pattern: String,
    error: String,
}

/// Characters that make a pattern more than a name.
const META: &[u8] = b"*?[]{}\\";

/// The patterns of all denials, each with the number of its denial. All are folded.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    /// Names, at any depth.
    names: HashMap<Vec<u8>, Vec<usize>>,
    /// `*.ext`, at any depth, by what follows the last dot.
    extensions: HashMap<Vec<u8>, Vec<usize>>,
    /// Paths, by their last name.
    paths: HashMap<Vec<u8>, Vec<WholePath>>,
    /// Globs of one name, at any depth.
    name_globs: Vec<LazyGlob>,
    /// Globs of a whole path from `/`.
    path_globs: Vec<LazyGlob>,
    /// Marks of what is in `names` and `paths`, and of what is in `extensions`: most names of a
    /// tree are told apart by it without being hashed.
    marks: Marks,
    marks_of_extensions: Marks,
}

/// A set of marks: of 256, each stands for many names, and a name that is in has its mark in.
#[derive(Debug, Default)]
struct Marks([u64; 4]);

impl Marks {
    fn add(&mut self, name: &[u8]) {
        let (word, bit) = Self::place(name);
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
    }

    fn may_have(&self, name: &[u8]) -> bool {
        let (word, bit) = Self::place(name);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Of the first and last byte and the length, which tell most names apart.
    fn place(name: &[u8]) -> (usize, u64) {
        let byte = |byte: Option<&u8>| usize::from(byte.copied().unwrap_or(0));
        let mark = byte(name.first()) ^ (byte(name.last()) << 2) ^ (name.len() << 4);
        ((mark >> 6) & 3, 1 << (mark & 63))
    }
}

/// A path without metacharacters.
#[derive(Debug)]
struct WholePath {
    denial: usize,
    begins: Begins,
    path: Vec<u8>,
}

#[derive(Debug)]
enum Begins {
    /// At `/`.
    AtTop,
    /// At any name.
    Anywhere,
}

/// A glob that was parsed, and is compiled when it is first needed.
#[derive(Debug)]
struct LazyGlob {
    denial: usize,
    /// What every match begins and ends with: most paths are told apart by it without the glob.
    prefix: Vec<u8>,
    suffix: Vec<u8>,
    glob: Glob,
    set: OnceLock<Option<GlobSet>>,
}

impl Patterns {
    /// Adds the pattern of one denial. A slash anywhere but at its end ties it to the anchor.
    pub(super) fn add(
        &mut self,
        denial: usize,
        anchor: Option<&RelPath>,
        pattern: &[u8],
    ) -> Result<(), PatternError> {
        let open = pattern.strip_suffix(b"/").unwrap_or(pattern);
        let tied = open.contains(&b'/');
        let bytes = fold(trim(pattern)).into_owned();
        if bytes
            .split(|b| *b == b'/')
            .any(|name| matches!(name, b"" | b"." | b".."))
        {
            let why = "it can never match: names are never empty, `.` or `..`";
            return Err(error(pattern, why));
        }
        let plain = !bytes.iter().any(|b| META.contains(b));
        let slash = bytes.contains(&b'/');
        match anchor.map(|anchor| fold(anchor.as_bytes()).into_owned()) {
            None if !slash && plain => {
                self.marks.add(&bytes);
                self.names.entry(bytes).or_default().push(denial);
            }
            None if !slash => self.add_name_glob(denial, &bytes)?,
            None if plain => self.add_path(denial, Begins::Anywhere, bytes),
            None => self.add_path_glob(denial, &format!("**/{}", text(&bytes)?))?,
            Some(anchor) if tied && plain => {
                let path = [anchor.as_slice(), b"/", &bytes].concat();
                self.add_path(denial, Begins::AtTop, path);
            }
            Some(anchor) => {
                let at = globset::escape(&text(&anchor)?);
                let between = if tied { "" } else { "**/" };
                self.add_path_glob(denial, &format!("{at}/{between}{}", text(&bytes)?))?;
            }
        }
        Ok(())
    }

    fn add_name_glob(&mut self, denial: usize, bytes: &[u8]) -> Result<(), PatternError> {
        if let [b'*', b'.', extension @ ..] = bytes
            && !extension.iter().any(|b| META.contains(b) || *b == b'.')
        {
            self.marks_of_extensions.add(extension);
            self.extensions
                .entry(extension.to_vec())
                .or_default()
                .push(denial);
            return Ok(());
        }
        self.name_globs.push(LazyGlob::new(denial, &text(bytes)?)?);
        Ok(())
    }

    fn add_path_glob(&mut self, denial: usize, pattern: &str) -> Result<(), PatternError> {
        self.path_globs.push(LazyGlob::new(denial, pattern)?);
        Ok(())
    }

    fn add_path(&mut self, denial: usize, begins: Begins, path: Vec<u8>) {
        let last = path
            .rsplit(|b| *b == b'/')
            .next()
            .unwrap_or_default()
            .to_vec();
        self.marks.add(&last);
        self.paths.entry(last).or_default().push(WholePath {
            denial,
            begins,
            path,
        });
    }

    /// Adds to `hits` the denials whose pattern matches the object `name` at `path`, both folded.
    pub(super) fn find(&self, name: &[u8], path: &[u8], hits: &mut Vec<usize>) {
        if self.marks.may_have(name) {
            if let Some(found) = self.names.get(name) {
                hits.extend_from_slice(found);
            }
            if let Some(found) = self.paths.get(name) {
                hits.extend(found.iter().filter(|p| p.is(path)).map(|p| p.denial));
            }
        }
        if let Some(dot) = memchr::memrchr(b'.', name)
            && let Some(extension) = name.get(dot + 1..)
            && self.marks_of_extensions.may_have(extension)
            && let Some(found) = self.extensions.get(extension)
        {
            hits.extend_from_slice(found);
        }
        hits.extend(
            self.name_globs
                .iter()
                .filter(|g| g.is(name))
                .map(|g| g.denial),
        );
        hits.extend(
            self.path_globs
                .iter()
                .filter(|g| g.is(path))
                .map(|g| g.denial),
        );
    }
}

impl WholePath {
    fn is(&self, path: &[u8]) -> bool {
        match path.strip_suffix(self.path.as_slice()) {
            Some([]) => true,
            Some([.., b'/']) => matches!(self.begins, Begins::Anywhere),
            Some([..]) | None => false,
        }
    }
}

impl LazyGlob {
    fn new(denial: usize, pattern: &str) -> Result<Self, PatternError> {
        let plain = |b: &u8| !META.contains(b);
        let prefix = pattern.bytes().take_while(plain).collect();
        let begins = pattern.bytes().rposition(|b| META.contains(&b));
        let suffix = pattern.as_bytes().get(begins.map_or(0, |at| at + 1)..);
        // `**/` may stand for nothing, its slash too.
        let suffix = suffix.unwrap_or_default();
        let suffix = suffix.strip_prefix(b"/").unwrap_or(suffix).to_vec();
        Ok(Self {
            denial,
            prefix,
            suffix,
            glob: compile_glob(pattern)?,
            set: OnceLock::new(),
        })
    }

    fn is(&self, bytes: &[u8]) -> bool {
        if !bytes.ends_with(&self.suffix) || !bytes.starts_with(&self.prefix) {
            return false;
        }
        let set = self.set.get_or_init(|| {
            let mut builder = GlobSetBuilder::new();
            builder.add(self.glob.clone());
            builder.build().ok()
        });
        // A glob that parsed but cannot be compiled covers everything it may begin: a denial
        // that cannot be judged holds.
        set.as_ref()
            .is_none_or(|set| set.is_match_candidate(&Candidate::from_bytes(bytes)))
    }
}

/// The one glob dialect: `*` and `?` match no slash, `**` any number of directories, `{a,b}`,
/// `[a-z]`, `[!a-z]`, `\` makes the next character plain; letter case counts.
pub fn compile_glob(pattern: &str) -> Result<Glob, PatternError> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|wrong| error(pattern.as_bytes(), &wrong.kind().to_string()))
}

/// A pattern names an object, so slashes at its ends name nothing further.
fn trim(pattern: &[u8]) -> &[u8] {
    let mut rest = pattern;
    while let [b'/', tail @ ..] = rest {
        rest = tail;
    }
    while let [head @ .., b'/'] = rest {
        rest = head;
    }
    rest
}

fn text(bytes: &[u8]) -> Result<String, PatternError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| error(bytes, "not UTF-8"))
}

fn error(pattern: &[u8], error: &str) -> PatternError {
    PatternError {
        pattern: pattern.escape_ascii().to_string(),
        error: error.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn finds(anchor: Option<&str>, pattern: &str, path: &str) -> bool {
        let mut patterns = Patterns::default();
        let anchor = anchor.map(|a| RelPath::parse(a.as_bytes()).unwrap());
        patterns
            .add(7, anchor.as_ref(), pattern.as_bytes())
            .unwrap();
        let mut hits = Vec::new();
        let name = path.rsplit('/').next().unwrap();
        patterns.find(name.as_bytes(), path.as_bytes(), &mut hits);
        hits == [7]
    }

    #[test]
    fn patterns_that_can_never_match_are_refused() {
        for pattern in ["", "/", "./a", "a//b", "a/../b", ".", "..", "a/./b", "["] {
            let added = Patterns::default().add(0, None, pattern.as_bytes());
            assert!(added.is_err(), "{pattern:?}");
        }
    }

    #[test]
    fn patterns_mean_what_is_documented() {
        for (anchor, pattern, path, hit) in [
            (None, ".env", "srv/p/.env", true),
            (None, ".ENV", "srv/p/.env", true),
            (None, "*.pem", "srv/a.b.pem", true),
            (None, "*.pem", "srv/pem", false),
            (None, ".aws/credentials", "home/u/.aws/credentials", true),
            (None, ".aws/credentials", "home/u/x.aws/credentials", false),
            (None, ".aws/credentials", ".aws/credentials", true),
            (None, "a/*/c", "x/a/b/c", true),
            (None, "/top", "x/y/top", true),
            (None, "dir/", "x/dir", true),
            (None, ".env.[!e]*", "p/.env.local", true),
            (None, ".env.[!e]*", "p/.env.example", false),
            (Some("srv/p"), "/secret", "srv/p/secret", true),
            (Some("srv/p"), "/secret", "srv/p/a/secret", false),
            (Some("srv/p"), "a/secret", "srv/p/a/secret", true),
            (Some("srv/p"), "a/secret", "srv/p/x/a/secret", false),
            (Some("srv/p"), "secret", "srv/p/x/secret", true),
            (Some("srv/p"), "secret", "srv/q/secret", false),
            (Some("srv/p"), "a/**", "srv/p/a/b/c", true),
            (Some("srv/[p]"), "a/*", "srv/[p]/a/b", true),
            (Some("srv/[p]"), "a/*", "srv/p/a/b", false),
        ] {
            assert_eq!(
                finds(anchor, pattern, path),
                hit,
                "{anchor:?} {pattern} {path}"
            );
        }
    }

    proptest! {
        /// What is looked up gives the same as the glob it stands for.
        #[test]
        fn lookups_agree_with_globs(
            pattern in "(\\*\\.)?[ab.]{1,3}(/[ab]{1,2})?",
            path in "[ab.]{1,3}(/[ab.]{1,4}){0,3}",
        ) {
            // `.` and `..` are never names.
            prop_assume!(!path.split('/').any(|p| p == "." || p == ".."));
            prop_assume!(!pattern.split('/').any(|p| p.is_empty() || p == "." || p == ".."));
            let glob = compile_glob(&format!("**/{pattern}")).unwrap().compile_matcher();
            prop_assert_eq!(finds(None, &pattern, &path), glob.is_match(&path));
        }

        /// What a glob is passed over for, it does not match.
        #[test]
        fn globs_are_judged_as_without_what_sorts_them(
            names in prop::collection::vec("[ab]{0,2}(\\*|\\?|\\*\\*|\\[ab\\]|\\{a,ba\\}|\\\\\\*)?[ab.]{0,2}", 1..4),
            anchor in prop::option::of("[ab]{1,2}"),
            path in "[ab.*]{1,3}(/[ab.*]{1,4}){0,3}",
        ) {
            let odd = |name: &str| name.is_empty() || name == "." || name == "..";
            prop_assume!(!path.split('/').any(odd) && !names.iter().any(|name| odd(name)));
            let pattern = names.join("/");
            let whole = match &anchor {
                // Without a slash it holds at any depth below the anchor.
                Some(anchor) if names.len() > 1 => format!("{anchor}/{pattern}"),
                Some(anchor) => format!("{anchor}/**/{pattern}"),
                None => format!("**/{pattern}"),
            };
            let glob = compile_glob(&whole);
            prop_assume!(glob.is_ok());
            let glob = glob.unwrap().compile_matcher();
            prop_assert_eq!(
                finds(anchor.as_deref(), &pattern, &path),
                glob.is_match(&path),
                "{}", whole
            );
        }
    }
}
