//! Denials, compiled: judged on canonical names, together with the place where the root was
//! sealed, so that a narrower root never sheds one.

mod fold;

pub use fold::fold;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
use portcullis_protocol::authority::{Authority, Denial, DenialTarget, Effect};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Rule;
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::RootIndex;
use std::collections::HashMap;

/// What the denials say of one object and one verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement<'a> {
    /// Nothing covers it.
    Clear,
    /// This rule refuses it, and may be named.
    Denied(&'a Rule),
    /// It is absent for this session.
    Hidden,
}

/// A pattern that cannot be compiled.
#[derive(Debug, thiserror::Error)]
#[error("pattern {pattern:?}: {error}")]
pub struct PatternError {
    pattern: String,
    error: String,
}

/// The denials of one authority. Immutable; shared by threads without a lock.
#[derive(Debug)]
pub struct Policy {
    denials: Vec<Denial>,
    /// Whole names, at any depth.
    names: HashMap<Vec<u8>, Vec<usize>>,
    /// Patterns of one name, at any depth.
    name_globs: Globs,
    /// Patterns of a whole path from `/`.
    path_globs: Globs,
    /// Objects by device and inode.
    objects: HashMap<(u64, u64), Vec<usize>>,
    /// For each root: its folded location, and the denials that cover the location itself.
    locations: Vec<(Vec<u8>, Vec<usize>)>,
}

#[derive(Debug, Default)]
struct Globs {
    set: GlobSet,
    denials: Vec<usize>,
}

/// A directory that was judged, for judging its children one name at a time.
#[derive(Debug, Clone)]
pub struct Place {
    /// The folded path from `/`, without a leading slash.
    folded: Vec<u8>,
    /// Denials that cover it, whatever their verbs.
    hits: Vec<usize>,
}

impl Policy {
    /// Compiles the denials of `authority`.
    pub fn compile(authority: &Authority) -> Result<Self, PatternError> {
        let denials = authority.parts().denials.clone();
        let mut names: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        let mut objects: HashMap<(u64, u64), Vec<usize>> = HashMap::new();
        let (mut name_globs, mut path_globs) = (Vec::new(), Vec::new());
        for (n, denial) in denials.iter().enumerate() {
            match &denial.target {
                DenialTarget::Object { device, inode } => {
                    objects.entry((*device, *inode)).or_default().push(n);
                }
                DenialTarget::Pattern { anchor, pattern } => {
                    let bytes = fold(trim(pattern.as_slice())).into_owned();
                    let slash = bytes.contains(&b'/');
                    match anchor {
                        None if !slash && !bytes.iter().any(|b| b"*?[]{}\\".contains(b)) => {
                            names.entry(bytes).or_default().push(n);
                        }
                        None if !slash => name_globs.push((n, text(&bytes)?)),
                        None => path_globs.push((n, format!("**/{}", text(&bytes)?))),
                        Some(anchor) => {
                            let at = text(&fold(anchor.as_bytes()))?;
                            let between = if slash { "" } else { "**/" };
                            let at = globset::escape(&at);
                            path_globs.push((n, format!("{at}/{between}{}", text(&bytes)?)));
                        }
                    }
                }
            }
        }
        let mut policy = Self {
            denials,
            names,
            name_globs: Globs::build(name_globs)?,
            path_globs: Globs::build(path_globs)?,
            objects,
            locations: Vec::new(),
        };
        for root in &authority.parts().roots {
            let mut place = Place {
                folded: Vec::new(),
                hits: Vec::new(),
            };
            for name in root.location.names() {
                place = policy.enter(&place, name);
            }
            policy.locations.push((place.folded, place.hits));
        }
        Ok(policy)
    }

    /// The root itself, for judging what is below it.
    pub fn root(&self, root: RootIndex) -> Place {
        let (folded, hits) = self
            .locations
            .get(usize::from(root.0))
            .cloned()
            .unwrap_or_default();
        Place { folded, hits }
    }

    /// The child `name` of `place`.
    pub fn enter(&self, place: &Place, name: &[u8]) -> Place {
        let mut child = place.clone();
        self.push(&mut child, name);
        child
    }

    /// Makes `place` its own child `name`.
    fn push(&self, place: &mut Place, name: &[u8]) {
        let folded = fold(name);
        if !place.folded.is_empty() {
            place.folded.push(b'/');
        }
        place.folded.extend_from_slice(&folded);
        if let Some(found) = self.names.get(folded.as_ref()) {
            place.hits.extend_from_slice(found);
        }
        self.name_globs.find(&folded, &mut place.hits);
        self.path_globs.find(&place.folded, &mut place.hits);
    }

    /// What the denials say of `place` and `verb`.
    pub fn judge_place(&self, place: &Place, verb: Verb) -> Judgement<'_> {
        self.strongest(&place.hits, verb)
    }

    /// What the denials say of `path` below `root`, and of every directory on the way.
    pub fn judge(&self, root: RootIndex, path: &RelPath, verb: Verb) -> Judgement<'_> {
        let mut place = self.root(root);
        for name in path.names() {
            self.push(&mut place, name);
        }
        self.judge_place(&place, verb)
    }

    /// What the denials of single objects say.
    pub fn judge_object(&self, device: u64, inode: u64, verb: Verb) -> Judgement<'_> {
        match self.objects.get(&(device, inode)) {
            Some(hits) => self.strongest(hits, verb),
            None => Judgement::Clear,
        }
    }

    fn strongest(&self, hits: &[usize], verb: Verb) -> Judgement<'_> {
        let mut judgement = Judgement::Clear;
        for denial in hits.iter().filter_map(|n| self.denials.get(*n)) {
            match denial.effect {
                Effect::Hide => return Judgement::Hidden,
                Effect::Deny if denial.verbs.has(verb) && judgement == Judgement::Clear => {
                    judgement = Judgement::Denied(&denial.rule);
                }
                Effect::Deny => {}
            }
        }
        judgement
    }
}

impl Globs {
    fn build(globs: Vec<(usize, String)>) -> Result<Self, PatternError> {
        let mut builder = GlobSetBuilder::new();
        let mut denials = Vec::with_capacity(globs.len());
        for (n, pattern) in globs {
            builder.add(compile_glob(&pattern)?);
            denials.push(n);
        }
        let set = builder.build().map_err(|error| PatternError {
            pattern: "all together".to_owned(),
            error: error.kind().to_string(),
        })?;
        Ok(Self { set, denials })
    }

    fn find(&self, bytes: &[u8], hits: &mut Vec<usize>) {
        if self.denials.is_empty() {
            return;
        }
        for n in self.set.matches_candidate(&Candidate::from_bytes(bytes)) {
            hits.extend(self.denials.get(n));
        }
    }
}

/// The one glob dialect: `*` and `?` match no slash, `**` any number of directories, `{a,b}`,
/// `[a-z]`, `\` makes the next character plain; letter case counts.
pub fn compile_glob(pattern: &str) -> Result<globset::Glob, PatternError> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|error| PatternError {
            pattern: pattern.to_owned(),
            error: error.kind().to_string(),
        })
}

/// A pattern names an object, so slashes at its ends mean nothing; `dir/**` means what is below
/// `dir`, and a denial of `dir` means that too.
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
    String::from_utf8(bytes.to_vec()).map_err(|_| PatternError {
        pattern: bytes.escape_ascii().to_string(),
        error: "not UTF-8".to_owned(),
    })
}
