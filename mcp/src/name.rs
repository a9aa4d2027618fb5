//! Names: how a caller writes them, and how it is shown them.
//!
//! A name that is not UTF-8, or would not be seen, is shown with escapes (`\xff`, `\\`), and the
//! same text names it again. Plain names are in the first directory; others begin with `/LABEL/`.

use crate::failure::Failure;
use portcullis_client::ask;
use portcullis_client::protocol::path::{RelPath, escape, unescape};
use portcullis_client::protocol::session::{Identity, RootView, Selector};
use portcullis_client::protocol::view::{Binding, RootIndex};

/// The directories of a session.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    roots: Vec<Root>,
    views: Vec<RootView>,
}

/// One directory.
#[derive(Debug, Clone)]
struct Root {
    label: String,
    /// Where it is on the host, when the operator wants that to be shown.
    location: Option<String>,
}

impl Names {
    /// Those of this session, with locations for the labels that have one.
    pub(crate) fn of(identity: &Identity, locations: &[(String, String)]) -> Self {
        let roots = identity.roots.as_slice().iter().map(|root| {
            let label = root.label.as_str().to_owned();
            let known = locations.iter().find(|(name, _)| *name == label);
            Root {
                location: known.map(|(_, location)| location.clone()),
                label,
            }
        });
        Self {
            roots: roots.collect(),
            views: identity.roots.as_slice().to_vec(),
        }
    }

    /// The object a caller means.
    pub(crate) fn selector(&self, written: &str) -> Result<Selector, Failure> {
        ask::selector(bytes(written)?).map_err(Failure::Broker)
    }

    /// A canonical path as the caller is shown it.
    pub(crate) fn shown(&self, root: RootIndex, path: &RelPath) -> String {
        let below = escape(path.as_kernel_bytes());
        let at = usize::from(root.0);
        match self.roots.get(at) {
            Some(Root {
                location: Some(location),
                ..
            }) => match below.as_str() {
                "." => location.clone(),
                below => format!("{}/{below}", location.trim_end_matches('/')),
            },
            Some(_) if at == 0 => below,
            Some(Root { label, .. }) => match below.as_str() {
                "." => format!("/{label}"),
                below => format!("/{label}/{below}"),
            },
            None => format!("/{at}/{below}"),
        }
    }

    /// The object a request was bound to.
    pub(crate) fn bound(&self, binding: &Binding) -> String {
        self.shown(binding.root, &binding.path)
    }

    /// What the words of the client library are told of the directories.
    pub(crate) fn views(&self) -> &[RootView] {
        &self.views
    }

    /// Each directory as it is named, the first first.
    pub(crate) fn roots(&self) -> impl Iterator<Item = String> {
        self.roots.iter().map(|root| match &root.location {
            Some(location) => location.clone(),
            None => format!("/{}", root.label),
        })
    }
}

/// The bytes of a name or pattern as it is written.
pub(crate) fn bytes(written: &str) -> Result<Vec<u8>, Failure> {
    unescape(written).ok_or_else(|| {
        Failure::Arguments(format!(
            "`{written}`: a backslash begins an escape, \\xNN for a byte or \\\\ for a backslash; \
             copy the name as it was shown, with `/` between names"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(locations: &[Option<&str>]) -> Names {
        let root = |(at, location): (usize, &Option<&str>)| Root {
            label: format!("r{at}"),
            location: location.map(str::to_owned),
        };
        Names {
            roots: locations.iter().enumerate().map(root).collect(),
            views: Vec::new(),
        }
    }

    #[test]
    fn names_are_shown_so_that_they_can_be_written_again() {
        let names = names(&[None, None]);
        let shown =
            |root, path: &[u8]| names.shown(RootIndex(root), &RelPath::parse(path).unwrap());
        assert_eq!(shown(0, b"a/b\xff\\"), "a/b\\xff\\\\");
        assert_eq!(bytes("a/b\\xff\\\\").unwrap(), b"a/b\xff\\");
        assert_eq!(shown(1, b"a"), "/r1/a");
        assert_eq!(names.shown(RootIndex(0), &RelPath::root()), ".");
        assert_eq!(names.shown(RootIndex(1), &RelPath::root()), "/r1");
        assert!(bytes("C:\\temp").is_err());
    }

    #[test]
    fn locations_are_shown_where_they_are_known() {
        let names = names(&[Some("/srv/x"), Some("/")]);
        let path = RelPath::parse(b"a").unwrap();
        assert_eq!(names.shown(RootIndex(0), &path), "/srv/x/a");
        assert_eq!(names.shown(RootIndex(1), &path), "/a");
        assert_eq!(names.shown(RootIndex(0), &RelPath::root()), "/srv/x");
    }
}
