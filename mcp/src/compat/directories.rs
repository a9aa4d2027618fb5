//! The operator's directories, and the names that are given below them.

use super::text::{given, shown};
use portcullis_client::protocol::path::Label;
use portcullis_client::protocol::session::Selector;
use portcullis_client::{Error, ask};

/// One directory: a root of the session, and where the operator has it.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    label: Label,
    /// Its plain path, with a slash at the beginning and none at the end.
    host: Vec<u8>,
}

/// All of them, in the operator's order.
#[derive(Debug, Clone)]
pub(super) struct Directories(Vec<Directory>);

/// A name below one of them. Holding it says nothing of what is there.
#[derive(Debug, Clone)]
pub(super) struct Place {
    label: Label,
    /// Below the root: plain names, `.` for the root itself.
    below: Vec<u8>,
    /// The whole plain path.
    path: Vec<u8>,
    /// Where the root is without links.
    root: Vec<u8>,
}

impl Directories {
    /// These roots, each with its place on the host. Of several places of one root the last is the
    /// one without links, in which what was found is shown.
    pub(super) fn new(roots: impl IntoIterator<Item = (Label, Vec<u8>)>) -> Self {
        let each = roots.into_iter().map(|(label, host)| Directory {
            label,
            host: plain(&host),
        });
        Self(each.collect())
    }

    /// What `text` names: an absolute path below one of the directories, or one that is relative to
    /// the first. `..` is taken out of the text, as the reference server does, before anything is
    /// looked at.
    pub(super) fn place(&self, text: &str) -> Result<Place, String> {
        let bytes = given(text);
        if is_of_windows(text) {
            return Err(format!(
                "Access denied - Windows-style path received on a POSIX host: {text}"
            ));
        }
        if bytes.starts_with(b"~/") || *bytes == *b"~" {
            return Err(format!(
                "Access denied - `~` has no meaning here: {text}; give a path below {}",
                self.listed()
            ));
        }
        if bytes.starts_with(b"/") {
            let path = plain(&bytes);
            return self.holding(&path).ok_or_else(|| self.outside(&path));
        }
        let mut first = None;
        for directory in &self.0 {
            let path = plain(&[directory.host.as_slice(), b"/", &bytes].concat());
            if let Some(place) = self.holding(&path) {
                return Ok(place);
            }
            first = first.or(Some(path));
        }
        Err(self.outside(&first.unwrap_or_default()))
    }

    /// The place of a plain path; of nested directories the innermost counts.
    fn holding(&self, path: &[u8]) -> Option<Place> {
        if path.contains(&0) {
            return None;
        }
        let within = |directory: &Directory| match path.strip_prefix(directory.host.as_slice())? {
            [] => Some(b".".to_vec()),
            [b'/', below @ ..] => Some(below.to_vec()),
            _ => None,
        };
        let holding = self.0.iter().filter_map(|one| Some((one, within(one)?)));
        let (directory, below) = holding.max_by_key(|(one, _)| one.host.len())?;
        Some(Place {
            label: directory.label.clone(),
            below,
            path: path.to_vec(),
            root: self.real(directory),
        })
    }

    /// The place of a directory's root without links.
    fn real(&self, directory: &Directory) -> Vec<u8> {
        let mut same = self
            .0
            .iter()
            .rev()
            .filter(|one| one.label == directory.label);
        same.next().unwrap_or(directory).host.clone()
    }

    fn outside(&self, path: &[u8]) -> String {
        format!(
            "Access denied - path outside allowed directories: {} not in {}",
            shown(path),
            self.listed()
        )
    }

    /// The directories in one line.
    pub(super) fn listed(&self) -> String {
        self.texts().join(", ")
    }

    /// The directories as texts.
    pub(super) fn texts(&self) -> Vec<String> {
        let each = self.0.iter().map(|one| match one.host.as_slice() {
            [] => "/".to_owned(),
            host => shown(host).into_owned(),
        });
        each.collect()
    }
}

impl Place {
    /// What the session is asked for.
    pub(super) fn selector(&self) -> Result<Selector, Error> {
        ask::selector_in(self.label.clone(), &self.below)
    }

    /// The place of another path below the same root.
    pub(super) fn sibling(&self, below: &[u8]) -> Self {
        let mut path = self.root.clone();
        if !below.is_empty() {
            path.push(b'/');
            path.extend_from_slice(below);
        }
        Self {
            label: self.label.clone(),
            below: if below.is_empty() {
                b".".to_vec()
            } else {
                below.to_vec()
            },
            path,
            root: self.root.clone(),
        }
    }

    /// Whether it is a root itself.
    pub(super) fn is_root(&self) -> bool {
        self.below == b"."
    }

    /// The root's own path.
    pub(super) fn root(&self) -> &[u8] {
        &self.root
    }

    /// The whole plain path.
    pub(super) fn path(&self) -> &[u8] {
        &self.path
    }

    /// The same, to be shown.
    pub(super) fn text(&self) -> String {
        shown(&self.path).into_owned()
    }
}

/// Whether it begins with a drive, as `C:\`.
fn is_of_windows(text: &str) -> bool {
    match text.as_bytes() {
        [drive, b':'] | [drive, b':', b'/' | b'\\', ..] => drive.is_ascii_alphabetic(),
        _ => false,
    }
}

/// An absolute path without empty names, `.` and `..`; the root of the host is empty.
fn plain(path: &[u8]) -> Vec<u8> {
    let mut names: Vec<&[u8]> = Vec::new();
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    let mut plain = Vec::with_capacity(path.len());
    for name in names {
        plain.push(b'/');
        plain.extend_from_slice(name);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Directories {
        let label = |text| Label::new(text).unwrap();
        Directories::new([
            (label("a"), b"/srv/a/".to_vec()),
            (label("in"), b"/link/in".to_vec()),
            (label("in"), b"/srv/a/in".to_vec()),
        ])
    }

    fn found(text: &str) -> Result<(String, String), String> {
        two().place(text).map(|place| {
            let below = shown(&place.below);
            (format!("{}:{below}", place.label), place.text())
        })
    }

    #[test]
    fn names_lead_below_the_innermost_directory() {
        let at = |root: &str, path: &str| Ok((root.to_owned(), path.to_owned()));
        assert_eq!(found("x/./y//z"), at("a:x/y/z", "/srv/a/x/y/z"));
        assert_eq!(found("/srv/a"), at("a:.", "/srv/a"));
        assert_eq!(found(""), at("a:.", "/srv/a"));
        assert_eq!(found("/srv/a/in/f"), at("in:f", "/srv/a/in/f"));
        assert_eq!(found("x/../in/./f"), at("in:f", "/srv/a/in/f"));
        // Relative to the second, where the first does not hold it.
        assert_eq!(found("../x"), at("a:x", "/srv/a/x"));
        assert_eq!(found("bad-\\xff").unwrap().1, "/srv/a/bad-\\xff");
    }

    #[test]
    fn what_is_outside_is_refused_by_its_text() {
        let said = "Access denied - path outside allowed directories: /srv/a-evil/f not in /srv/a, /link/in, /srv/a/in";
        assert_eq!(found("/srv/a-evil/f"), Err(said.to_owned()));
        assert!(found("/srv/a/../b").is_err() && found("../../../x").is_err());
        assert!(found("a\0b").is_err() && found("~/x").is_err());
        assert!(found("C:\\x").unwrap_err().contains("Windows-style"));
        assert!(found("C:x").is_ok());
    }

    #[test]
    fn a_place_knows_its_root() {
        let place = two().place("/srv/a/x/y").unwrap();
        assert_eq!(place.root(), b"/srv/a");
        assert_eq!(place.sibling(b"z").path(), b"/srv/a/z");
        assert_eq!(place.sibling(b"").path(), b"/srv/a");
        // What was found is shown without links, what was asked for as it was asked for.
        let linked = two().place("/link/in/x").unwrap();
        assert_eq!(
            (linked.path(), linked.root()),
            (&b"/link/in/x"[..], &b"/srv/a/in"[..])
        );
    }
}
