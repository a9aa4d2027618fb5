//! Denials, compiled: judged on canonical names, together with the place where the root was
//! sealed, so that a narrower root never sheds one.

mod alive;
mod fold;
mod labels;
mod patterns;
mod room;
mod tree;

pub use fold::fold;
pub use patterns::{PatternError, compile_glob};
pub use room::{Met, Room};

use alive::Alive;
use fold::with_folded;
use patterns::Patterns;
use portcullis_protocol::authority::{Authority, Denial, DenialTarget, Effect};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Rule;
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::RootIndex;
use std::collections::HashMap;
use std::sync::Arc;
use tree::{End, Tree};

/// What the denials say of one object and one verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement<'a> {
    /// Nothing covers it.
    Clear,
    /// This rule refuses it, and may be named.
    Denied(&'a Rule),
    /// This rule makes an approval needed for each use, and may be named.
    Asks(&'a Rule),
    /// It is absent for this session.
    Hidden,
}

/// What becomes of that which is only to be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// It needs an approval that is not there.
    Refuse,
    /// It counts as granted: an approval is there, or is what it is worked out for.
    Granted,
}

/// The denials of one authority. Immutable; shared by threads without a lock.
#[derive(Debug)]
pub struct Policy {
    authority: Arc<Authority>,
    patterns: Patterns,
    asking: Asking,
    /// Objects by device and inode.
    objects: HashMap<(u64, u64), Vec<u32>>,
    /// Each root's own place.
    roots: Vec<Place>,
}

/// A place in the tree, judged: the denials that cover it, and those that may cover what is below.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// Each once.
    hits: Vec<u32>,
    /// Patterns that go on here.
    alive: Alive,
    /// The folded path from `/`, where a pattern needs it.
    path: Vec<u8>,
}

impl Policy {
    /// Compiles the denials of `authority`.
    pub fn compile(authority: &Arc<Authority>, asking: Asking) -> Result<Self, PatternError> {
        let denials = &authority.parts().denials;
        let mut objects: HashMap<(u64, u64), Vec<u32>> = HashMap::new();
        let mut patterns = Patterns::with_room(denials.len());
        for (n, denial) in (0..).zip(denials) {
            match &denial.target {
                DenialTarget::Object { device, inode } => {
                    objects.entry((*device, *inode)).or_default().push(n);
                }
                DenialTarget::Pattern { anchor, pattern } => {
                    patterns.add(n, anchor.as_ref(), pattern.as_slice())?;
                }
            }
        }
        let mut policy = Self {
            authority: Arc::clone(authority),
            patterns,
            asking,
            objects,
            roots: Vec::new(),
        };
        for root in &authority.parts().roots {
            let mut place = Place {
                alive: Tree::top(),
                ..Place::default()
            };
            for name in root.location.names() {
                policy.push(&mut place, name);
            }
            policy.roots.push(place);
        }
        Ok(policy)
    }

    /// The root itself, for judging what is below it.
    pub fn root(&self, root: RootIndex) -> Place {
        self.roots
            .get(usize::from(root.0))
            .cloned()
            .unwrap_or_default()
    }

    /// The child `name` of `place`.
    pub fn enter(&self, place: &Place, name: &[u8]) -> Place {
        let mut child = place.clone();
        self.push(&mut child, name);
        child
    }

    /// The place of `path` below `root`.
    pub fn place(&self, root: RootIndex, path: &RelPath) -> Place {
        let mut place = self.root(root);
        for name in path.names() {
            self.push(&mut place, name);
        }
        place
    }

    /// Makes `place` its own child `name`.
    fn push(&self, place: &mut Place, name: &[u8]) {
        let Place { hits, alive, path } = place;
        with_folded(name, |name| {
            let mut ends: Vec<End> = Vec::new();
            *alive = self.patterns.enter(alive, path, name, &mut ends);
            add_hits(&ends, &[], hits);
            if self.patterns.need_paths() {
                if !path.is_empty() {
                    path.push(b'/');
                }
                path.extend_from_slice(name);
            }
        });
    }

    /// What the denials say of `place` and `verb`.
    pub fn judge_place(&self, place: &Place, verb: Verb) -> Judgement<'_> {
        self.strongest(&place.hits, verb)
    }

    /// What the denials say of `path` below `root`, and of every directory on the way.
    pub fn judge(&self, root: RootIndex, path: &RelPath, verb: Verb) -> Judgement<'_> {
        self.judge_place(&self.place(root, path), verb)
    }

    /// The rule that makes an approval needed for `verb` at `path`, which is hidden, as it does for
    /// names beside it that are not there: by the same answer nobody learns that it is hidden.
    pub fn asked_beside(&self, root: RootIndex, path: &RelPath, verb: Verb) -> Option<&Rule> {
        match self.asking {
            Asking::Refuse => {}
            Asking::Granted => return None,
        }
        let place = self.place(root, path);
        let visible = |n: &u32| {
            self.denial(*n).is_some_and(|denial| match denial.effect {
                Effect::Deny | Effect::Ask => true,
                Effect::Hide => false,
            })
        };
        let hits: Vec<u32> = place.hits.into_iter().filter(visible).collect();
        self.raw(&hits, verb).rule_that_asks()
    }

    /// What the denials of single objects say of this device and inode.
    pub fn judge_object(&self, object: (u64, u64), verb: Verb) -> Judgement<'_> {
        if self.objects.is_empty() {
            return Judgement::Clear;
        }
        match self.objects.get(&object) {
            Some(hits) => self.strongest(hits, verb),
            None => Judgement::Clear,
        }
    }

    /// Whether single objects are denied, so that a resolution must look at every directory on
    /// its way.
    pub fn denies_objects(&self) -> bool {
        !self.objects.is_empty()
    }

    fn denial(&self, n: u32) -> Option<&Denial> {
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        self.authority.parts().denials.get(n)
    }

    /// The rule that makes an approval needed for `verb` at `path`, whether one is there or not; none
    /// where a stronger one covers it.
    pub fn asked_by(&self, root: RootIndex, path: &RelPath, verb: Verb) -> Option<&Rule> {
        self.raw(&self.place(root, path).hits, verb)
            .rule_that_asks()
    }

    /// The same of a single object.
    pub fn object_asked_by(&self, object: (u64, u64), verb: Verb) -> Option<&Rule> {
        let hits = self.objects.get(&object)?;
        self.raw(hits, verb).rule_that_asks()
    }

    fn strongest(&self, hits: &[u32], verb: Verb) -> Judgement<'_> {
        self.granted(self.raw(hits, verb))
    }

    /// The same where what asks may count as granted.
    fn granted<'a>(&self, judgement: Judgement<'a>) -> Judgement<'a> {
        match (judgement, self.asking) {
            (Judgement::Asks(_), Asking::Granted) => Judgement::Clear,
            (judgement, Asking::Granted | Asking::Refuse) => judgement,
        }
    }

    fn raw(&self, hits: &[u32], verb: Verb) -> Judgement<'_> {
        let mut judgement = Judgement::Clear;
        for denial in hits.iter().filter_map(|n| self.denial(*n)) {
            let next = match denial.effect {
                Effect::Hide => return Judgement::Hidden,
                Effect::Deny | Effect::Ask if !denial.verbs.has(verb) => continue,
                Effect::Deny => Judgement::Denied(&denial.rule),
                Effect::Ask => Judgement::Asks(&denial.rule),
            };
            judgement = judgement.or(next);
        }
        judgement
    }
}

/// Adds the denials that end here to `hits`, but those that are there or in `others`.
fn add_hits(ends: &[End], others: &[u32], hits: &mut Vec<u32>) {
    for end in ends {
        if !hits.contains(&end.denial) && !others.contains(&end.denial) {
            hits.push(end.denial);
        }
    }
}

impl<'a> Judgement<'a> {
    /// The stronger of two: hidden before denied before asked for. Of equal ones this.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Hidden, _) | (_, Self::Hidden) => Self::Hidden,
            (Self::Denied(rule), _) | (Self::Asks(_) | Self::Clear, Self::Denied(rule)) => {
                Self::Denied(rule)
            }
            (Self::Asks(rule), Self::Asks(_) | Self::Clear) | (Self::Clear, Self::Asks(rule)) => {
                Self::Asks(rule)
            }
            (Self::Clear, Self::Clear) => Self::Clear,
        }
    }

    fn rule_that_asks(self) -> Option<&'a Rule> {
        match self {
            Self::Asks(rule) => Some(rule),
            Self::Clear | Self::Denied(_) | Self::Hidden => None,
        }
    }
}

#[cfg(test)]
mod tests;
