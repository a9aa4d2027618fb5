//! The difference that all changes of a set make, name by name, as far as the session may read it.

use super::act::Which;
use super::check::mode_of;
use super::content::{Content, Source, Staged};
use super::diff::{Diff, Side};
use super::net::Numbers;
use super::overlay::{Name, Thing};
use super::target::Planner;
use crate::resolve::Held;
use crate::sys::open;
use portcullis_protocol::limits::SCAN_BYTES_MAX;
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Kind, PathState};
use std::os::fd::AsFd as _;

impl Planner<'_> {
    pub(super) fn difference(&self, numbers: &Numbers) -> Diff {
        let mut diff = Diff::default();
        for n in numbers.all() {
            if let Some(name) = self.overlay.names.get(n) {
                self.show(&mut diff, numbers, (n, name));
            }
        }
        diff
    }

    /// The difference at one name. What comes from another name is shown at the new one alone.
    fn show(&self, diff: &mut Diff, numbers: &Numbers, (n, name): (Which, &Name<'_>)) {
        let path = &name.at.path;
        let (mut old, mut was) = (Shown::Nothing, 0);
        if numbers.goes(n).is_none() && numbers.carried(n).is_none_or(|to| to == n) {
            (old, was) = (self.shown(n, name), mode_of(&self.state(n)));
        }
        match &name.now {
            None => {
                if !matches!(old, Shown::Nothing) {
                    diff.add((path, path), (was, 0), old.side(), Side::None);
                }
            }
            Some(Thing::Same { of, mode }) => {
                let before = mode_of(&self.state(*of));
                let home = self.overlay.names.get(*of).map(|name| &name.at.path);
                match (home.filter(|_| *of != n), mode) {
                    (Some(home), mode) => {
                        diff.renamed((home, path), (before, mode.unwrap_or(before)));
                    }
                    (None, Some(mode)) => diff.mode(path, before, *mode),
                    (None, None) => {}
                }
            }
            Some(Thing::File { content, like, .. }) => {
                let mut from = path;
                if let Some(like) = like.filter(|like| *like != n)
                    && let Some(other) = self.overlay.names.get(like)
                {
                    from = &other.at.path;
                    // Under its new name it may be read there.
                    (old, was) = (self.shown(like, name), mode_of(&self.state(like)));
                }
                let modes = (was, content.present.mode);
                diff.add((from, path), modes, old.side(), self.side(content));
            }
            Some(Thing::Directory { .. }) => {
                if !matches!(old, Shown::Nothing) {
                    diff.add((path, path), (was, 0), old.side(), Side::None);
                }
            }
            Some(Thing::Link { text }) => {
                diff.add((path, path), (was, 0), old.side(), Side::Link(text));
            }
        }
    }

    /// What the file system has at a name, as far as the session may read it at `name`.
    fn shown(&self, n: Which, name: &Name<'_>) -> Shown<'_> {
        let Some(held) = self.overlay.held(n) else {
            return Shown::Nothing;
        };
        let may = |verb| {
            let operation = self.operation(verb);
            self.session.permits(name.at.root, &name.at.path, operation)
        };
        let size = held.observation.stamp.size;
        let digest = match self.state(n) {
            PathState::Present(present) => present.digest,
            PathState::Absent | PathState::Unknown => None,
        };
        match held.observation.kind {
            Kind::Directory => Shown::Nothing,
            // Without a digest where it could be read means that it could not.
            Kind::File
                if may(Verb::Read)
                    && self.may_show(n)
                    && (digest.is_some() || size > SCAN_BYTES_MAX) =>
            {
                let was = self.overlay.names.get(n).and_then(|name| name.was.as_ref());
                match was.and_then(|was| was.text.bytes(self.content)) {
                    Some(bytes) => Shown::Text(bytes),
                    None => Shown::File(held, size),
                }
            }
            Kind::Link if may(Verb::Stat) => match open::link_text(held.fd()) {
                Ok(text) => Shown::Link(text),
                Err(_) => Shown::Withheld,
            },
            Kind::File | Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
                Shown::Withheld
            }
        }
    }

    /// New content.
    fn side<'c>(&'c self, content: &'c Content) -> Side<'c> {
        if let Some(bytes) = content.text.bytes(self.content) {
            return Side::Text(bytes);
        }
        let size = content.present.size;
        match &content.staged {
            Staged::File(file) => Side::File(file.as_fd(), size),
            Staged::Later(later) => match &later.source {
                Source::Bytes(bytes) => Side::Text(bytes),
                Source::File(file) => Side::File(file.as_fd(), size),
            },
        }
    }
}

/// What can be shown of what was there.
enum Shown<'h> {
    Nothing,
    Text(&'h [u8]),
    File(&'h Held, u64),
    Link(Vec<u8>),
    Withheld,
}

impl Shown<'_> {
    fn side(&self) -> Side<'_> {
        match self {
            Self::Nothing => Side::None,
            Self::Text(bytes) => Side::Text(bytes),
            Self::File(held, size) => Side::File(held.fd(), *size),
            Self::Link(text) => Side::Link(text),
            Self::Withheld => Side::Withheld,
        }
    }
}
