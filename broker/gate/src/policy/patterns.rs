//! Patterns of denials. What stands between their slashes is looked up where it is a name or an
//! extension; only what is left is a glob, compiled when a name first comes near it. Most sessions
//! never compile one, which is most of the time it takes to make a session.

use super::alive::Alive;
use super::fold;
use super::tree::{Begins, End, Form, Part, Tree};
use globset::{Candidate, Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use portcullis_protocol::path::RelPath;
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
    tree: Tree,
    /// Globs of a whole path from `/` that are no sequence of globs of names, as with a slash between
    /// braces.
    whole: Vec<(End, LazyGlob)>,
}

/// A glob that was parsed, and is compiled when it is first needed.
#[derive(Debug)]
pub(super) struct LazyGlob {
    /// What every match begins and ends with: most paths are told apart by it without the glob.
    prefix: Vec<u8>,
    suffix: Vec<u8>,
    glob: Glob,
    set: OnceLock<Option<GlobSet>>,
}

impl Patterns {
    /// None yet, with room for so many.
    pub(super) fn with_room(patterns: usize) -> Self {
        Self {
            tree: Tree::with_room(patterns),
            whole: Vec::new(),
        }
    }

    /// Adds the pattern of one denial. A slash anywhere but at its end ties it to the anchor.
    pub(super) fn add(
        &mut self,
        denial: u32,
        anchor: Option<&RelPath>,
        pattern: &[u8],
    ) -> Result<(), PatternError> {
        let open = pattern.strip_suffix(b"/").unwrap_or(pattern);
        let tied = open.contains(&b'/');
        let bytes = fold(trim(pattern)).into_owned();
        let names = || bytes.split(|b| *b == b'/');
        if names().any(|name| matches!(name, b"" | b"." | b"..")) {
            let why = "it can never match: names are never empty, `.` or `..`";
            return Err(error(pattern, why));
        }
        let anchor = anchor.map(|anchor| fold(anchor.as_bytes()).into_owned());
        let end = End {
            form: form(anchor.as_deref(), tied, &bytes),
            denial,
        };
        let Some(parts) = names().map(part).collect::<Option<Vec<Part>>>() else {
            let glob = LazyGlob::new(&whole(anchor.as_deref(), tied, &bytes)?)?;
            self.whole.push((end, glob));
            return Ok(());
        };
        match anchor {
            None => self.tree.add(Begins::Anywhere, parts, end),
            Some(anchor) => {
                let at = anchor.split(|b| *b == b'/').filter(|name| !name.is_empty());
                let at = at.map(|name| Part::Name(name.to_vec()));
                let between = (!tied).then_some(Part::Any);
                let parts = at.chain(between).chain(parts);
                self.tree.add(Begins::AtTop, parts, end);
            }
        }
        Ok(())
    }

    /// Whether [`Self::find`] and [`Self::enter`] look at the path of the directory at all.
    pub(super) fn need_paths(&self) -> bool {
        !self.whole.is_empty()
    }

    /// Adds to `ends` the denials whose pattern matches the object `name` in the directory `path`, where
    /// `alive` is alive. All are folded.
    #[inline]
    pub(super) fn find(&self, alive: &Alive, path: &[u8], name: &[u8], ends: &mut Vec<End>) {
        self.tree.ends(alive, name, ends);
        self.find_whole(path, name, ends);
        sort(ends);
    }

    /// The same, and gives what is alive in the object `name`.
    pub(super) fn enter(
        &self,
        alive: &Alive,
        path: &[u8],
        name: &[u8],
        ends: &mut Vec<End>,
    ) -> Alive {
        let inside = self.tree.enter(alive, name, ends);
        self.find_whole(path, name, ends);
        sort(ends);
        inside
    }

    fn find_whole(&self, path: &[u8], name: &[u8], ends: &mut Vec<End>) {
        let near = |glob: &LazyGlob| name.ends_with(&glob.suffix) || glob.suffix.ends_with(name);
        for (end, glob) in self.whole.iter().filter(|(_, glob)| near(glob)) {
            let slash: &[u8] = if path.is_empty() { b"" } else { b"/" };
            if glob.is(&[path, slash, name].concat()) {
                ends.push(*end);
            }
        }
    }
}

fn sort(ends: &mut Vec<End>) {
    if ends.len() > 1 {
        ends.sort_unstable();
        ends.dedup();
    }
}

/// The form of a pattern, by which rules are told first.
fn form(anchor: Option<&[u8]>, tied: bool, bytes: &[u8]) -> Form {
    let plain = !bytes.iter().any(|b| META.contains(b));
    let slash = bytes.contains(&b'/');
    match (anchor, slash) {
        (None, false) if plain => Form::Name,
        (None, false) if extension(bytes).is_some() => Form::Extension,
        (None, false) => Form::NameGlob,
        (None, true) if plain => Form::Path,
        (Some(_), _) if tied && plain => Form::Path,
        (None, true) | (Some(_), _) => Form::PathGlob,
    }
}

/// What is looked up of `*.ext`.
fn extension(name: &[u8]) -> Option<&[u8]> {
    let extension = name.strip_prefix(b"*.")?;
    let plain = |b: &u8| !META.contains(b) && *b != b'.';
    extension.iter().all(plain).then_some(extension)
}

/// What stands between two slashes of a pattern; none where it is no glob by itself, as when a brace
/// is closed only after the slash.
fn part(name: &[u8]) -> Option<Part> {
    if name == b"**" {
        return Some(Part::Any);
    }
    if name.iter().all(|b| *b == b'*') {
        return Some(Part::One);
    }
    if !name.iter().any(|b| META.contains(b)) {
        return Some(Part::Name(name.to_vec()));
    }
    if let Some(extension) = extension(name) {
        return Some(Part::Extension(extension.to_vec()));
    }
    let glob = LazyGlob::new(std::str::from_utf8(name).ok()?).ok()?;
    Some(Part::Glob(Box::new(glob)))
}

/// The glob of whole paths.
fn whole(anchor: Option<&[u8]>, tied: bool, bytes: &[u8]) -> Result<String, PatternError> {
    let pattern = text(bytes)?;
    match anchor {
        None if bytes.contains(&b'/') => Ok(format!("**/{pattern}")),
        None => Ok(pattern),
        Some(anchor) => {
            let at = globset::escape(&text(anchor)?);
            let slash = if at.is_empty() { "" } else { "/" };
            let between = if tied { "" } else { "**/" };
            Ok(format!("{at}{slash}{between}{pattern}"))
        }
    }
}

impl LazyGlob {
    fn new(pattern: &str) -> Result<Self, PatternError> {
        let plain = |b: &u8| !META.contains(b);
        let prefix = pattern.bytes().take_while(plain).collect();
        let begins = pattern.bytes().rposition(|b| META.contains(&b));
        let suffix = pattern.as_bytes().get(begins.map_or(0, |at| at + 1)..);
        // `**/` may stand for nothing, its slash too.
        let suffix = suffix.unwrap_or_default();
        let suffix = suffix.strip_prefix(b"/").unwrap_or(suffix).to_vec();
        Ok(Self {
            prefix,
            suffix,
            glob: compile_glob(pattern)?,
            set: OnceLock::new(),
        })
    }

    /// What every match begins with.
    pub(super) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// What every match ends with.
    pub(super) fn suffix(&self) -> &[u8] {
        &self.suffix
    }

    pub(super) fn is(&self, bytes: &[u8]) -> bool {
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

impl PartialEq for LazyGlob {
    fn eq(&self, other: &Self) -> bool {
        self.glob == other.glob
    }
}

/// The one glob dialect: `*` and `?` match no slash, `**` any number of directories, `{a,b}`,
/// `[a-z]`, `[!a-z]`, `\` makes the next character plain; letter case counts.
pub fn compile_glob(pattern: &str) -> Result<Glob, PatternError> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
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
mod tests;
