//! glob: names below a directory that match a pattern.

use super::entries::{Ask, Choose};
use super::walk::Length;
use crate::bind::Bound;
use crate::outlet::{Gone, Outlet};
use crate::policy::compile_glob;
use crate::session::Session;
use globset::{Candidate, GlobSet, GlobSetBuilder};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Glob;
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::Kind;
use std::sync::Arc;

/// Whether the pattern and the bounds of a glob can be used.
pub(crate) fn check(glob: &Glob) -> Result<(), Refusal> {
    ask(glob).check(&RelPath::root())?;
    patterns(glob).map(drop)
}

fn ask(glob: &Glob) -> Ask<'_> {
    Ask {
        verb: Verb::Glob,
        depth: glob.depth,
        detail: glob.detail,
        passing: &glob.passing,
        kinds: &glob.kinds,
        order: glob.order,
        limit: glob.limit,
        cursor: glob.cursor.as_ref(),
        length: Length::Any,
    }
}

fn patterns(glob: &Glob) -> Result<Patterns, Refusal> {
    Patterns::compile(&[glob.pattern.as_slice()])
        .map_err(|note| Refusal::new(Code::BadPattern).of(Verb::Glob).noting(&note))
}

/// Answers a glob.
#[expect(clippy::needless_pass_by_value, reason = "a bound operation runs once")]
pub(crate) fn glob(
    session: &Arc<Session>,
    bound: Bound,
    glob: &Glob,
    outlet: &mut Outlet,
) -> Result<(), Gone> {
    match patterns(glob) {
        Ok(patterns) => ask(glob)
            .answer(session, &bound, Choose::Matching(patterns), outlet)
            .map(drop),
        Err(refusal) => outlet.refuse(&refusal),
    }
}

/// Patterns of one request, relative to where its walk starts.
#[derive(Debug)]
pub(super) struct Patterns {
    any: GlobSet,
    /// Patterns that end in a slash: they take directories only.
    directories: GlobSet,
    /// Names that one of them spells with a dot at the start.
    dots: GlobSet,
}

impl Patterns {
    /// Compiles patterns, or says which is wrong and why.
    pub(super) fn compile(patterns: &[&[u8]]) -> Result<Self, String> {
        let (mut any, mut directories) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        let mut dots = GlobSetBuilder::new();
        for pattern in patterns {
            let text = std::str::from_utf8(pattern)
                .map_err(|_| "a pattern must be UTF-8; use ? for other bytes".to_owned())?;
            // `./` ties a pattern to the start, as a slash anywhere does.
            let (text, tied) = match text.strip_prefix("./") {
                Some(text) => (text, true),
                None => (text, false),
            };
            if text.is_empty() || text.starts_with('/') || text.split('/').any(|p| p == "..") {
                return Err(format!(
                    "`{text}` is not below the directory it is matched in"
                ));
            }
            let (text, set) = match text.strip_suffix('/') {
                Some(text) => (text, &mut directories),
                None => (text, &mut any),
            };
            // Without a slash a pattern means a name at any depth, as in ignore files.
            let whole = if tied || text.contains('/') {
                text.to_owned()
            } else {
                format!("**/{text}")
            };
            set.add(compile_glob(&whole).map_err(|error| error.to_string())?);
            for name in dotted(&whole) {
                // What is cut out of a pattern need not be one: then it spells no name.
                if let Ok(name) = compile_glob(&name) {
                    dots.add(name);
                }
            }
        }
        let build = |set: GlobSetBuilder| set.build().map_err(|e| e.kind().to_string());
        Ok(Self {
            any: build(any)?,
            directories: build(directories)?,
            dots: build(dots)?,
        })
    }

    /// Whether one of them spells `name`, which begins with a dot, with that dot.
    pub(super) fn spell_dot(&self, name: &[u8]) -> bool {
        !self.dots.is_empty() && self.dots.is_match_candidate(&Candidate::from_bytes(name))
    }

    /// True without any pattern.
    pub(super) fn is_empty(&self) -> bool {
        self.any.is_empty() && self.directories.is_empty()
    }

    /// Whether one of them matches `path`, which lies below `start`.
    pub(super) fn take(&self, start: &RelPath, path: &RelPath, kind: Kind) -> bool {
        if self.is_empty() {
            return false;
        }
        let Some(below) = path.below(start) else {
            return false;
        };
        let candidate = Candidate::from_bytes(below);
        self.any.is_match_candidate(&candidate)
            || (kind == Kind::Directory && self.directories.is_match_candidate(&candidate))
    }
}

/// The parts of a pattern that begin with a dot, as patterns of one name. Alternatives may end a name
/// anywhere, so that what is before them is only its beginning.
fn dotted(pattern: &str) -> impl Iterator<Item = String> {
    let parts = pattern.split_inclusive(['/', '{', '}', ',']);
    parts.filter(|part| part.starts_with('.')).map(|part| {
        let name = part.trim_end_matches(['/', '{', '}', ',']);
        let open = if part.ends_with('{') { "*" } else { "" };
        format!("{name}{open}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        Patterns::compile(&[pattern.as_bytes()]).unwrap().take(
            &RelPath::root(),
            &RelPath::parse(path.as_bytes()).unwrap(),
            Kind::File,
        )
    }

    #[test]
    fn the_dialect_is_as_documented() {
        for (pattern, path, hit) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "src/deep/a.rs", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("src/**/*.rs", "src/a.rs", true),
            ("src/**/*.rs", "src/x/y/a.rs", true),
            (".github/**/*.yml", ".github/workflows/ci.yml", true),
            ("**/*", ".env.example", true),
            ("*", ".hidden", true),
            ("{a,b}.txt", "b.txt", true),
            ("[a-c].txt", "d.txt", false),
            ("?.txt", "ab.txt", false),
            ("*.RS", "a.rs", false),
            ("\\*.rs", "*.rs", true),
            ("\\*.rs", "a.rs", false),
            ("src/", "src", false),
            ("./*.rs", "src/a.rs", false),
            ("./*.rs", "a.rs", true),
            ("a{,.txt}", "a", true),
        ] {
            assert_eq!(matches(pattern, path), hit, "{pattern} {path}");
        }
    }

    #[test]
    fn patterns_that_lead_out_or_do_not_parse_are_errors() {
        for pattern in ["/etc/*", "../x", "a/../b", "", "[", "{a", "a\\"] {
            assert!(
                Patterns::compile(&[pattern.as_bytes()]).is_err(),
                "{pattern:?}"
            );
        }
        assert!(Patterns::compile(&[b"\xff"]).is_err());
    }
}
