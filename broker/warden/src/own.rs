//! The broker's own records, which no session reaches: not by their place, not through a root
//! around them, and not by another name of theirs.

use crate::builtin::PREFIX;
use crate::decider;
use crate::overlap;
use crate::root::SealedRoot;
use crate::state::RECORDS;
use portcullis_protocol::authority::{Denial, DenialTarget, Effect, RootId, RootIdentity, Scope};
use portcullis_protocol::bounded::{Bytes, Text};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::Rule;
use portcullis_protocol::verb::VerbSet;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Characters that mean something in a pattern.
const META: &[u8] = b"*?[]{}\\";

/// Where the records are.
#[derive(Debug)]
pub(crate) struct Own {
    path: PathBuf,
    /// None where it is on a file system that no root can be on, and so in none.
    directory: Option<SealedRoot>,
}

impl Own {
    /// Of the state in this directory.
    pub(crate) fn of(path: &Path) -> Self {
        let sealed = File::open(path).ok().and_then(|directory| {
            let label = Label::new("state").ok()?;
            let descriptors = vec![directory.into()];
            SealedRoot::seal(RootId(0), label, Scope::Private, descriptors).ok()
        });
        Self {
            path: path.to_owned(),
            directory: sealed,
        }
    }

    /// What denies them to a session with these roots.
    pub(crate) fn denials(&self, roots: &[Arc<SealedRoot>]) -> Vec<Denial> {
        let mut targets = Vec::new();
        if let Some(own) = &self.directory {
            // Its place costs nothing to look for.
            targets.extend(place(&own.root().location));
            // A look at every directory on the way is only paid for where it may be met. What
            // cannot be seen may be so.
            let identity = |root: &SealedRoot| {
                let RootIdentity { device, inode, .. } = root.root().identity;
                (device, inode)
            };
            let around =
                |root: &&Arc<SealedRoot>| overlap::lies_below(own, identity(root)).unwrap_or(true);
            let within = |root: &&Arc<SealedRoot>| {
                identity(root) == identity(own)
                    || overlap::lies_below(root, identity(own)).unwrap_or(true)
            };
            if roots.iter().any(|root| around(&root)) {
                targets.push(object(identity(own)));
            }
            // A gate never sees what is above its root.
            let inner = roots.iter().filter(within);
            targets.extend(inner.map(|root| object(identity(root))));
        }
        targets.extend(self.linked().into_iter().map(object));
        targets.into_iter().filter_map(denial).collect()
    }

    /// Its files that hold records, or what is demanded of those who decide, and have further names.
    fn linked(&self) -> Vec<(u64, u64)> {
        let names = RECORDS.into_iter().chain([decider::FILE]);
        let seen = names.map(|name| std::fs::symlink_metadata(self.path.join(name)).ok());
        seen.flatten()
            .filter(|seen| seen.is_file() && seen.nlink() > 1)
            .map(|seen| (seen.dev(), seen.ino()))
            .collect()
    }
}

fn object((device, inode): (u64, u64)) -> DenialTarget {
    DenialTarget::Object { device, inode }
}

/// The place of a directory, as a pattern in the one around it.
fn place(location: &RelPath) -> Option<DenialTarget> {
    let bytes = location.as_bytes();
    let slash = bytes.iter().rposition(|b| *b == b'/')?;
    let (around, name) = (bytes.get(..slash)?, bytes.get(slash + 1..)?);
    let mut pattern = vec![b'/'];
    for byte in name {
        if META.contains(byte) {
            pattern.push(b'\\');
        }
        pattern.push(*byte);
    }
    Some(DenialTarget::Pattern {
        anchor: Some(RelPath::parse(around).ok()?),
        pattern: Bytes::new(pattern).ok()?,
    })
}

fn denial(target: DenialTarget) -> Option<Denial> {
    Some(Denial {
        rule: Rule {
            name: Text::new(format!("{PREFIX}state")).ok()?,
            reason: Text::new("the broker's own records").ok()?,
        },
        verbs: VerbSet::ALL,
        target,
        effect: Effect::Deny,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TempDir, sealed};

    fn objects(own: &Own, root: &Path) -> usize {
        let denials = own.denials(&[Arc::new(sealed(1, root))]);
        let object = |d: &&Denial| matches!(d.target, DenialTarget::Object { .. });
        assert!(denials.iter().all(|d| d.verbs == VerbSet::ALL));
        denials.iter().filter(object).count()
    }

    #[test]
    fn records_are_denied_by_place_always_and_as_objects_where_they_can_be_met() {
        let dir = TempDir::new();
        let (state, apart) = (dir.make("home/st[a]te"), dir.make("apart"));
        let own = Own::of(&state);
        let denials = own.denials(&[]);
        let [
            Denial {
                target: DenialTarget::Pattern { anchor, pattern },
                ..
            },
        ] = denials.as_slice()
        else {
            panic!("{denials:?}");
        };
        let around = state.parent().unwrap().canonicalize().unwrap();
        assert_eq!(
            format!("/{}", anchor.clone().unwrap()),
            around.to_str().unwrap()
        );
        assert_eq!(pattern.as_slice(), br"/st\[a\]te");
        assert_eq!(objects(&own, &apart), 0);
        assert_eq!(objects(&own, dir.path()), 1, "a root around them");
        assert_eq!(objects(&own, &state), 1, "they are the root");
        let inside = dir.make("home/st[a]te/inside");
        assert_eq!(objects(&own, &inside), 1, "a root in them is denied itself");
        std::fs::write(state.join("state.db"), "x").unwrap();
        assert_eq!(objects(&own, &apart), 0);
        std::fs::hard_link(state.join("state.db"), apart.join("link")).unwrap();
        assert_eq!(objects(&own, &apart), 1, "another name of a record");
    }
}
