//! From one change to its steps.

use super::SharedDirectory;
use super::act::{At, Step, Within};
use super::check::made_directory;
use super::content::{self, Old, Unstaged};
use super::diff::Diff;
use super::expect::{self, Need, There};
use super::matches::Matches;
use crate::admit::admit;
use crate::errors::code_of;
use crate::resolve::{self, Held, Known, Missing, Place};
use crate::session::Session;
use crate::uploads::Uploads;
use portcullis_protocol::limits::PARENTS_MAX;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Change, Expect, Lines, Links, Selector, UploadId};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Digest, PathState, RootIndex};
use rustix::io::Errno;
use std::collections::HashSet;
use std::rc::Rc;

/// Plans changes one after the other; directories they share are opened once.
pub(super) struct Planner<'a> {
    pub(super) session: &'a Session,
    pub(super) uploads: &'a Uploads,
    pub(super) content: &'a [u8],
    pub(super) directories: Known,
    pub(super) made: HashSet<(RootIndex, RelPath)>,
    pub(super) taken: HashSet<UploadId>,
    pub(super) diff: Diff,
    pub(super) steps: Vec<Step>,
    pub(super) matches: Matches,
    /// Which change is planned.
    pub(super) n: u16,
    /// Lines that are worth showing with the refusal of an edit.
    pub(super) near: Option<Lines>,
}

/// One change being planned: what messages name.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) verb: Verb,
    pub(super) selector: &'a Selector,
}

impl Asked<'_> {
    pub(super) fn refuse(self, code: Code) -> Refusal {
        Refusal::new(code)
            .of(self.verb)
            .on(self.selector.path.as_slice())
    }

    pub(super) fn kernel(self, errno: Errno) -> Refusal {
        self.refuse(code_of(errno))
    }

    pub(super) fn unstaged(self, why: Unstaged) -> Refusal {
        match why {
            Unstaged::Kernel(errno) => self.kernel(errno),
            Unstaged::Unkept(what) => self.refuse(Code::Unkept).noting(what),
        }
    }
}

impl<'a> Planner<'a> {
    pub(super) fn new(session: &'a Session, uploads: &'a Uploads, content: &'a [u8]) -> Self {
        Self {
            session,
            uploads,
            content,
            directories: Known::new(),
            made: HashSet::new(),
            taken: HashSet::new(),
            diff: Diff::default(),
            steps: Vec::new(),
            matches: Matches::default(),
            n: 0,
            near: None,
        }
    }

    /// The steps, the difference they make, and where edits matched.
    pub(super) fn finish(self) -> (Vec<Step>, Diff, Matches) {
        (self.steps, self.diff, self.matches)
    }

    /// Adds the steps of one change, the `n`th from 0.
    pub(super) fn change(&mut self, n: usize, change: &Change) -> Result<(), Refusal> {
        self.n = u16::try_from(n).unwrap_or(u16::MAX);
        let verb = change.verb();
        let of = |selector| Asked { verb, selector };
        match change {
            Change::Write(write) => self.write(of(&write.selector), write),
            Change::Edit(edit) => self.edit(of(&edit.selector), edit),
            Change::Mkdir(mkdir) => self.mkdir(of(&mkdir.selector), mkdir),
            Change::Move(order) => self.rename(of(&order.source), order),
            Change::Delete(delete) => self.delete(of(&delete.selector), delete),
            Change::Chmod(chmod) => self.chmod(of(&chmod.selector), chmod),
            Change::Link(link) => self.link(of(&link.selector), link),
        }
    }

    pub(super) fn find(
        &self,
        asked: Asked<'_>,
        links: Links,
        missing: Missing,
    ) -> Result<Place, Refusal> {
        let admitted = admit(self.session, asked.verb, asked.selector, links)?;
        resolve::find(self.session, &self.directories, admitted, missing)
    }

    /// The name of a place, after the steps that make missing directories on the way to it.
    pub(super) fn at(
        &mut self,
        asked: Asked<'_>,
        place: Place,
    ) -> Result<(At, Option<Held>), Refusal> {
        let Place {
            root,
            path,
            directory,
            missing,
            object,
            want: _,
        } = place;
        let key = (root, directory.path.clone());
        let nearest = Rc::clone(self.directories.entry(key).or_insert(directory));
        let between = missing.saturating_sub(1);
        if between > 0 {
            self.parents(asked, (root, &path), &nearest, between)?;
        }
        let within = if between > 0 {
            Within::Made(nearest)
        } else {
            Within::Held(nearest)
        };
        Ok((At { root, path, within }, object))
    }

    /// Steps that make the directories between the nearest that exists and the last name.
    pub(super) fn parents(
        &mut self,
        asked: Asked<'_>,
        (root, path): (RootIndex, &RelPath),
        nearest: &SharedDirectory,
        between: usize,
    ) -> Result<(), Refusal> {
        let mut parent = nearest.path.clone();
        let above = parent.names().count();
        for (n, name) in path.names().skip(above).take(between).enumerate() {
            parent
                .push(name)
                .map_err(|_| asked.refuse(Code::NameTooLong))?;
            if !self.made.insert((root, parent.clone())) {
                continue;
            }
            if self.made.len() > PARENTS_MAX {
                return Err(asked
                    .refuse(Code::OutOfBudget)
                    .noting("too many directories"));
            }
            if !self.session.permits(root, &parent, Verb::Mkdir) {
                let refusal = Refusal::new(Code::NotGranted).of(Verb::Mkdir);
                return Err(refusal.on(asked.selector.path.as_slice()));
            }
            let within = if n == 0 {
                Within::Held(Rc::clone(nearest))
            } else {
                Within::Made(Rc::clone(nearest))
            };
            let at = At {
                root,
                path: parent.clone(),
                within,
            };
            self.steps.push(made_directory(at));
        }
        Ok(())
    }

    /// Checks what the worker believes, and says what is there, with its bytes when they are few.
    pub(super) fn expect(
        &self,
        asked: Asked<'_>,
        (expect, need): (Expect, Need),
        at: &At,
        object: Option<&Held>,
    ) -> Result<(PathState, Old), Refusal> {
        let (state, old) = match object {
            None => (PathState::Absent, Old::Nothing),
            Some(held) => content::look(held).map_err(|errno| asked.kernel(errno))?,
        };
        let digest = match state {
            PathState::Present(present) => present.digest,
            PathState::Absent | PathState::Unknown => None,
        };
        self.check_expected(asked, (expect, need), at, object.map(|held| (held, digest)))?;
        Ok((state, old))
    }

    /// Compares what the worker believes with an object and the digest of its content.
    pub(super) fn check_expected(
        &self,
        asked: Asked<'_>,
        (expect, need): (Expect, Need),
        at: &At,
        object: Option<(&Held, Option<Digest>)>,
    ) -> Result<(), Refusal> {
        let there = object.map(|(held, digest)| There {
            name: (at.root, &at.path),
            kind: held.observation.kind,
            stamp: held.observation.stamp,
            digest,
        });
        expect::check(&self.session.memory, asked, expect, need, there)
    }
}
