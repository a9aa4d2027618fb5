//! What a session reaches, from the command line: roots sealed in a warden, and orders to mint on
//! them.

use crate::args::Reach;
use crate::broker::{Broker, BrokerError};
use portcullis_client::{AttachOrStartError, Error, MintOrder, Pattern, Session};
use portcullis_protocol::authority::{RootId, Scope};
use portcullis_protocol::control::{Merged, Minted, Sealed};
use portcullis_protocol::limits::{LABEL_BYTES_MAX, REASON_BYTES_MAX};
use portcullis_protocol::path::{Label, RelPath, escape};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::verb::VerbSet;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReachError {
    /// No directory was named.
    #[error(
        "nothing was changed: a worker reaches nothing that is not named: add --workspace DIR (what the \
         work is about) or --read DIR, for example `--workspace .`"
    )]
    NoRoot,
    /// There is no broker.
    #[error("nothing was changed: {0}")]
    Broker(BrokerError),
    /// The warden refused.
    #[error(transparent)]
    Refused(#[from] Error),
    /// A pattern cannot be used, or cannot be shown, so that no rule can be named after it.
    #[error("nothing was changed: {option} `{pattern}`: {why}")]
    Pattern {
        /// `--deny` or `--hide`.
        option: &'static str,
        /// The pattern.
        pattern: String,
        /// Why.
        why: String,
    },
}

impl From<BrokerError> for ReachError {
    fn from(error: BrokerError) -> Self {
        match error {
            // It says so itself.
            BrokerError::Refused(error)
            | BrokerError::Attach(AttachOrStartError::Refused(error)) => Self::Refused(error),
            BrokerError::Attach(_)
            | BrokerError::Place(_)
            | BrokerError::Warden(_)
            | BrokerError::Limit(_)
            | BrokerError::Records { .. } => Self::Broker(error),
        }
    }
}

/// A root of the session.
#[derive(Debug)]
pub(crate) struct SealedRoot {
    /// As it was named.
    pub(crate) given: PathBuf,
    /// Its name in the session.
    pub(crate) label: Label,
    /// What may be done in it.
    pub(crate) verbs: VerbSet,
    /// What the warden says of it.
    pub(crate) sealed: Sealed,
}

impl SealedRoot {
    /// Where it is.
    pub(crate) fn location(&self) -> PathBuf {
        let bytes = self.sealed.location.as_bytes();
        Path::new("/").join(OsStr::from_bytes(bytes))
    }
}

/// Roots and rules, to mint sessions from.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) roots: Vec<SealedRoot>,
    denies: Vec<Rule>,
    hides: Vec<Rule>,
    excepts: Vec<String>,
}

#[derive(Debug)]
struct Rule {
    option: &'static str,
    name: String,
    pattern: Vec<u8>,
}

/// The reason of rules that have no other.
const REASON: &str = "given on the command line";

/// What `--hide` becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hiding {
    /// What it says: for a worker.
    Hidden,
    /// A denial that shows its name: for the person who asks why.
    Shown,
}

/// Refuses a command line that names no root.
pub(crate) fn require_roots(reach: &Reach) -> Result<(), ReachError> {
    if reach.workspace.is_empty() && reach.read.is_empty() {
        return Err(ReachError::NoRoot);
    }
    Ok(())
}

impl Ground {
    /// Seals every directory.
    pub(crate) fn seal(broker: &mut Broker, reach: &Reach) -> Result<Self, ReachError> {
        let denies = rules("--deny", &reach.deny)?;
        let hides = rules("--hide", &reach.hide)?;
        let mut taken = BTreeSet::new();
        let mut roots: Vec<SealedRoot> = Vec::new();
        let workspaces = reach.workspace.iter();
        let workspaces = workspaces.map(|path| (path, Scope::Workspace, VerbSet::ALL));
        let reads = reach.read.iter();
        let reads = reads.map(|path| (path, Scope::External, VerbSet::READING));
        for (path, scope, verbs) in workspaces.chain(reads) {
            let wanted = if roots.is_empty() && scope == Scope::Workspace {
                "workspace".to_owned()
            } else {
                name_of(path)
            };
            let label = free_label(&wanted, &mut taken);
            let sealed = broker.control.seal_path(path, label.clone(), scope)?;
            roots.push(SealedRoot {
                given: path.clone(),
                label,
                verbs,
                sealed,
            });
        }
        Ok(Self {
            roots,
            denies,
            hides,
            excepts: reach.except.clone(),
        })
    }

    /// One session on all of it.
    pub(crate) fn mint(
        &self,
        broker: &mut Broker,
        request: &str,
        hiding: Hiding,
    ) -> Result<(Minted, Session), ReachError> {
        match broker.control.mint(&self.order(request, hiding)) {
            Ok(minted) => Ok(minted),
            Err(error) if is_bad_pattern(&error) => Err(self.blamed(broker, request, error)),
            Err(error) => Err(error.into()),
        }
    }

    /// A refused pattern, with the option it was given to. The refusal does not say that, so each
    /// rule is tried alone.
    fn blamed(&self, broker: &mut Broker, request: &str, error: Error) -> ReachError {
        for rule in self.denies.iter().chain(&self.hides) {
            let order = self.with_denial(self.bare(request), rule);
            match broker.control.mint(&order) {
                Err(alone) if is_bad_pattern(&alone) => {
                    let note = alone.refusal().and_then(|refusal| refusal.note.as_ref());
                    return ReachError::Pattern {
                        option: rule.option,
                        pattern: escape(&rule.pattern),
                        why: note.map_or_else(|| alone.to_string(), ToString::to_string),
                    };
                }
                Ok(_) | Err(_) => {}
            }
        }
        error.into()
    }

    fn order(&self, request: &str, hiding: Hiding) -> MintOrder {
        let mut order = self.bare(request);
        for rule in &self.denies {
            order = self.with_denial(order, rule);
        }
        for rule in &self.hides {
            order = match hiding {
                Hiding::Hidden => order.hide(&rule.name, REASON, rule.pattern(self.first())),
                Hiding::Shown => self.with_denial(order, rule),
            };
        }
        order
    }

    fn with_denial(&self, order: MintOrder, rule: &Rule) -> MintOrder {
        let pattern = rule.pattern(self.first());
        order.deny(&rule.name, REASON, VerbSet::ALL, pattern)
    }

    /// The root that patterns with a slash begin at.
    fn first(&self) -> Option<RootId> {
        self.roots.first().map(|root| root.sealed.root)
    }

    /// An order without the rules of the command line.
    fn bare(&self, request: &str) -> MintOrder {
        let owner = format!("uid {}", rustix::process::getuid().as_raw());
        let mut order = MintOrder::new(owner).request(request);
        for root in &self.roots {
            let id = root.sealed.root;
            order = order.root(id, Some(root.label.clone()));
            order = order.grant(id, RelPath::root(), root.verbs);
        }
        self.excepts
            .iter()
            .fold(order, |order, name| order.except(name))
    }

    /// Roots that lie in others have no name of their own in the session; says where they are.
    pub(crate) fn merged(&self, minted: &Minted) -> Vec<String> {
        let label = |id: RootId| {
            let root = self.roots.iter().find(|root| root.sealed.root == id);
            root.map_or_else(|| format!("#{}", id.0), |root| root.label.to_string())
        };
        let line = |merged: &Merged| {
            let (inner, outer) = (label(merged.inner), label(merged.outer));
            let prefix = &merged.prefix;
            format!("root `{inner}` lies in root `{outer}`: it is /{outer}/{prefix} in the session")
        };
        minted.merged.as_slice().iter().map(line).collect()
    }

    /// Whether a rule of this name hides.
    pub(crate) fn hides(&self, name: &str) -> bool {
        self.hides.iter().any(|rule| rule.name == name)
    }
}

impl Rule {
    fn pattern(&self, first: Option<RootId>) -> Pattern {
        match first {
            Some(root) if self.pattern.contains(&b'/') => {
                Pattern::below(root, self.pattern.as_slice())
            }
            Some(_) | None => Pattern::anywhere(self.pattern.as_slice()),
        }
    }
}

fn is_bad_pattern(error: &Error) -> bool {
    error
        .refusal()
        .is_some_and(|refusal| refusal.code == Code::BadPattern)
}

fn rules(option: &'static str, patterns: &[std::ffi::OsString]) -> Result<Vec<Rule>, ReachError> {
    let rule = |given: &std::ffi::OsString| {
        let pattern = given.as_bytes().to_vec();
        let name = format!("{option} {}", escape(&pattern));
        let refuse = |why: String| ReachError::Pattern {
            option,
            pattern: escape(&pattern),
            why,
        };
        let odd = |name: &[u8]| matches!(name, b"" | b"." | b"..");
        if pattern.split(|byte| *byte == b'/').any(odd) {
            // It would match nothing, and what it was meant for would stay open.
            return Err(refuse(
                "a pattern is names joined by single slashes, without `.` or `..`; with a slash \
                 it begins at the first root; a directory covers what is below it"
                    .to_owned(),
            ));
        }
        if name.len() > REASON_BYTES_MAX {
            return Err(refuse(format!("longer than {REASON_BYTES_MAX} bytes")));
        }
        Ok(Rule {
            option,
            name,
            pattern,
        })
    };
    patterns.iter().map(rule).collect()
}

/// The name of a directory, for its label.
fn name_of(path: &Path) -> String {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    real.file_name()
        .map_or_else(|| "root".to_owned(), |name| escape(name.as_bytes()))
}

/// `wanted`, shortened and numbered until it is a label that is not taken.
fn free_label(wanted: &str, taken: &mut BTreeSet<String>) -> Label {
    let mut number = 1_u32;
    loop {
        let tail = if number == 1 {
            String::new()
        } else {
            format!("-{number}")
        };
        let mut text = String::new();
        for c in wanted.chars() {
            if text.len() + c.len_utf8() + tail.len() > LABEL_BYTES_MAX {
                break;
            }
            text.push(c);
        }
        text.push_str(&tail);
        number = number.saturating_add(1);
        if taken.contains(&text) {
            continue;
        }
        // What `escape` gives is printable and a file name has no slash: only `.` and `..` are
        // no labels, and no directory's real name is one of them.
        if let Ok(label) = Label::new(text.clone()) {
            taken.insert(text);
            return label;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_unique_and_fit() {
        let mut taken = BTreeSet::new();
        let mut label = |text: &str| free_label(text, &mut taken).as_str().to_owned();
        assert_eq!(label("docs"), "docs");
        assert_eq!(label("docs"), "docs-2");
        let long = "x".repeat(300);
        assert_eq!(label(&long).len(), LABEL_BYTES_MAX);
        assert!(label(&long).ends_with("-2"));
    }

    #[test]
    fn rules_are_named_by_their_option() {
        let rules = rules("--hide", &["a/*.key".into()]).unwrap();
        assert_eq!(rules[0].name, "--hide a/*.key");
        assert!(super::rules("--hide", &["x".repeat(300).into()]).is_err());
        for useless in ["", "./a", "a/../b", "/a", "a/", "a//b", ".."] {
            assert!(
                super::rules("--hide", &[useless.into()]).is_err(),
                "{useless}"
            );
        }
    }
}
