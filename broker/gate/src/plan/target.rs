//! From one change to its steps.

use super::act::{Act, At, Step, Within};
use super::content::{self, Content, Later, Old, Staged, Unstaged};
use super::diff::{Diff, Side};
use super::{SharedDirectory, edit, tree};
use crate::admit::admit;
use crate::errors::code_of;
use crate::resolve::{self, Held, Known, Missing, Place};
use crate::session::Session;
use crate::uploads::Uploads;
use portcullis_protocol::ledger::Temporary;
use portcullis_protocol::limits::{EDIT_BYTES_MAX, PARENTS_MAX};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Change, DeleteObject, Deletion, EditFile, Expect, Links, MakeDirectory, MakeLink, MoveObject,
    Onto, Parents, Selector, SetMode, Source, Touched, WriteFile,
};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Digest, Kind, PathState, Present, RootIndex};
use rustix::io::Errno;
use std::collections::HashSet;
use std::os::fd::AsFd as _;
use std::rc::Rc;

/// Permission bits of a new directory.
const NEW_DIRECTORY: u16 = 0o755;
/// Permission bits a worker may set.
const MODE_MAX: u16 = 0o777;

/// Plans changes one after the other; directories they share are opened once.
pub(super) struct Planner<'a> {
    session: &'a Session,
    uploads: &'a Uploads,
    content: &'a [u8],
    directories: Known,
    made: HashSet<(RootIndex, RelPath)>,
    diff: Diff,
    steps: Vec<Step>,
}

/// One change being planned: what messages name.
#[derive(Clone, Copy)]
struct Asked<'a> {
    verb: Verb,
    selector: &'a Selector,
}

impl Asked<'_> {
    fn refuse(self, code: Code) -> Refusal {
        Refusal::new(code)
            .of(self.verb)
            .on(self.selector.path.as_slice())
    }

    fn kernel(self, errno: Errno) -> Refusal {
        self.refuse(code_of(errno))
    }

    fn unstaged(self, why: Unstaged) -> Refusal {
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
            diff: Diff::default(),
            steps: Vec::new(),
        }
    }

    /// The steps, and the difference they make.
    pub(super) fn finish(self) -> (Vec<Step>, Diff) {
        (self.steps, self.diff)
    }

    /// Adds the steps of one change.
    pub(super) fn change(&mut self, change: &Change) -> Result<(), Refusal> {
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

    fn find(&self, asked: Asked<'_>, links: Links, missing: Missing) -> Result<Place, Refusal> {
        let admitted = admit(self.session, asked.verb, asked.selector, links)?;
        resolve::find(self.session, &self.directories, admitted, missing)
    }

    /// The name of a place, after the steps that make missing directories on the way to it.
    fn at(&mut self, asked: Asked<'_>, place: Place) -> Result<(At, Option<Held>), Refusal> {
        let Place {
            root,
            path,
            directory,
            missing,
            object,
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
    fn parents(
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

    fn write(&mut self, asked: Asked<'_>, write: &WriteFile) -> Result<(), Refusal> {
        check_mode(asked, write.mode)?;
        // What must not exist is not looked for behind a link: the link itself has the name.
        let links = match write.expect {
            Expect::Absent => Links::Keep,
            Expect::Any | Expect::Version(_) | Expect::Content(_) => Links::Follow,
        };
        let place = self.find(asked, links, missing(write.parents))?;
        let (at, object) = self.at(asked, place)?;
        if let Some(held) = &object {
            check_replaceable(asked, held)?;
        }
        let (before, old) = self.expect(asked, write.expect, object.as_ref())?;
        let content = self.staged(asked, &at, write, object.as_ref())?;
        self.show_written(&at, write, &old, &content);
        self.steps
            .push(filled(asked.verb, at, object, content, before));
        Ok(())
    }

    /// The new content of a write, staged.
    fn staged(
        &self,
        asked: Asked<'_>,
        at: &At,
        write: &WriteFile,
        like: Option<&Held>,
    ) -> Result<Content, Refusal> {
        match (write.source, &at.within) {
            (Source::Inline(span), within) => {
                let bytes = span
                    .of(self.content)
                    .ok_or_else(|| asked.refuse(Code::OutOfRange).noting("no such content"))?;
                self.staged_bytes(asked, within, bytes, (write.mode, like))
            }
            (Source::Upload(id), within) => {
                let upload = self
                    .uploads
                    .get(id)
                    .ok_or_else(|| asked.refuse(Code::UnknownUpload))?;
                let digest = upload.digest();
                if let Within::Held(directory) = within
                    && directory.id == upload.directory
                {
                    let present = content::dress(upload.file(), write.mode, like, digest)
                        .map_err(|why| asked.unstaged(why))?;
                    return Ok(Content {
                        staged: Staged::File(upload.share()),
                        present,
                    });
                }
                // It was begun where the file is not to be: copied when its directory is there.
                Ok(Content {
                    staged: Staged::Later(Later::Upload(upload.share(), write.mode)),
                    present: unmade(upload.bytes(), write.mode, digest),
                })
            }
        }
    }

    fn staged_bytes(
        &self,
        asked: Asked<'_>,
        within: &Within,
        bytes: &[u8],
        (mode, like): (Option<u16>, Option<&Held>),
    ) -> Result<Content, Refusal> {
        match within {
            Within::Held(directory) => content::stage(directory, bytes, mode, like)
                .map(|(file, present)| Content {
                    staged: Staged::File(file),
                    present,
                })
                .map_err(|why| asked.unstaged(why)),
            Within::Made(_) => Ok(Content {
                staged: Staged::Later(Later::Bytes(bytes.to_vec(), mode)),
                present: unmade(
                    u64::try_from(bytes.len()).unwrap_or(u64::MAX),
                    mode,
                    content::digest(bytes),
                ),
            }),
        }
    }

    fn edit(&mut self, asked: Asked<'_>, order: &EditFile) -> Result<(), Refusal> {
        check_mode(asked, order.mode)?;
        let place = self.find(asked, Links::Follow, Missing::Refused)?;
        if !self.session.permits(place.root, &place.path, Verb::Read) {
            let note = "an edit shows what it matches, so it needs `read` as well";
            return Err(asked.refuse(Code::NotGranted).noting(note));
        }
        let (at, object) = self.at(asked, place)?;
        let held = object.ok_or_else(|| asked.refuse(Code::NotFound))?;
        check_replaceable(asked, &held)?;
        let old = content::whole(&held, EDIT_BYTES_MAX)
            .map_err(|errno| asked.kernel(errno))?
            .ok_or_else(|| {
                asked
                    .refuse(Code::OutOfBudget)
                    .noting("the file is too large")
            })?;
        let digest = content::digest(&old);
        check_expected(asked, order.expect, Some(&held), || Ok(Some(digest)))?;
        let new =
            edit::apply(&old, order.replacements.as_slice(), self.content).map_err(|miss| {
                let refusal = asked.refuse(miss.code).noting(&miss.note);
                refusal.finding(held.observation.stamp)
            })?;
        let content = self.staged_bytes(asked, &at.within, &new, (order.mode, Some(&held)))?;
        let before = content::present(&held, Some(digest));
        self.diff.add(&at.path, Side::Text(&old), Side::Text(&new));
        self.steps
            .push(filled(asked.verb, at, Some(held), content, before));
        Ok(())
    }

    fn mkdir(&mut self, asked: Asked<'_>, order: &MakeDirectory) -> Result<(), Refusal> {
        let place = self.find(asked, Links::Keep, missing(order.parents))?;
        let (at, object) = self.at(asked, place)?;
        match (object, order.parents) {
            (None, _) => {
                if self.made.insert((at.root, at.path.clone())) {
                    self.steps.push(made_directory(at));
                    return Ok(());
                }
                Err(asked.refuse(Code::Collision))
            }
            (Some(held), Parents::Make) if held.observation.kind == Kind::Directory => {
                let state = content::present(&held, None);
                let touched = vec![touched(asked.verb, &at, state, state)];
                let act = Act::Keep { at, held };
                self.steps.push(Step { act, touched });
                Ok(())
            }
            (Some(held), Parents::Exist | Parents::Make) => {
                Err(asked.refuse(Code::Exists).finding(held.observation.stamp))
            }
        }
    }

    fn rename(&mut self, asked: Asked<'_>, order: &MoveObject) -> Result<(), Refusal> {
        let place = self.find(asked, Links::Keep, Missing::Refused)?;
        let (from, held) = self.at(asked, place)?;
        let held = held.ok_or_else(|| asked.refuse(Code::NotFound))?;
        check_movable(asked, &held)?;
        let (before, _) = self.expect(asked, order.expect, Some(&held))?;
        let towards = Asked {
            verb: Verb::Move,
            selector: &order.destination,
        };
        let place = self.find(towards, Links::Keep, missing(order.parents))?;
        if place.root != from.root {
            let note = "both names must be in one root; write a copy and delete the original";
            return Err(towards.refuse(Code::Unsupported).noting(note));
        }
        if place.path != from.path && place.path.below(&from.path).is_some() {
            let note = "a directory cannot be moved into itself";
            return Err(towards.refuse(Code::OutOfRange).noting(note));
        }
        let (to, onto) = self.at(towards, place)?;
        let replaced = self.displaced(towards, order.onto, &held, onto.as_ref())?;
        if held.observation.kind == Kind::Directory {
            tree::judge_tree(self.session, asked.verb, &from, Some(&to.path))
                .map_err(|why| why.refusal(asked.verb, asked.selector))?;
        }
        self.diff.renamed(&from.path, &to.path);
        let gone = touched(asked.verb, &from, before, PathState::Absent);
        let there = touched(asked.verb, &to, replaced, before);
        let act = Act::Move {
            from,
            held,
            to,
            onto,
            temporary: random(),
        };
        let touched = vec![gone, there];
        self.steps.push(Step { act, touched });
        Ok(())
    }

    /// What a move would displace, if it may.
    fn displaced(
        &self,
        asked: Asked<'_>,
        allowed: Onto,
        moved: &Held,
        onto: Option<&Held>,
    ) -> Result<PathState, Refusal> {
        let Some(onto) = onto else {
            return match allowed {
                Onto::Nothing | Onto::Replace(Expect::Any | Expect::Absent) => {
                    Ok(PathState::Absent)
                }
                Onto::Replace(Expect::Version(_) | Expect::Content(_)) => {
                    Err(asked.refuse(Code::Conflict))
                }
            };
        };
        let stamp = onto.observation.stamp;
        let expect = match allowed {
            Onto::Nothing => return Err(asked.refuse(Code::Exists).finding(stamp)),
            Onto::Replace(expect) => expect,
        };
        if stamp.object() == moved.observation.stamp.object() {
            let note = "both names are of the same object";
            return Err(asked.refuse(Code::HardLinked).noting(note));
        }
        let plain = |held: &Held| matches!(held.observation.kind, Kind::File | Kind::Link);
        if !plain(onto) || !plain(moved) {
            let note = "only a file or a link can be replaced, and only by one";
            return Err(asked.refuse(Code::Exists).noting(note).finding(stamp));
        }
        self.expect(asked, expect, Some(onto))
            .map(|(state, _)| state)
    }

    fn delete(&mut self, asked: Asked<'_>, order: &DeleteObject) -> Result<(), Refusal> {
        let place = self.find(asked, Links::Keep, Missing::Refused)?;
        let (at, object) = self.at(asked, place)?;
        let held = object.ok_or_else(|| asked.refuse(Code::NotFound))?;
        check_deletable(asked, order.what, &held)?;
        let (before, old) = self.expect(asked, order.expect, Some(&held))?;
        match order.what {
            Deletion::File => {
                let old = self.shown(&at, &old);
                self.diff.add(&at.path, old, Side::None);
            }
            Deletion::Directory => self.check_empty(asked, &at)?,
            Deletion::Tree => tree::judge_tree(self.session, asked.verb, &at, None)
                .map_err(|why| why.refusal(asked.verb, asked.selector))?,
        }
        let touched = vec![touched(asked.verb, &at, before, PathState::Absent)];
        let act = Act::Delete {
            at,
            held,
            temporary: random(),
            deletion: order.what,
        };
        self.steps.push(Step { act, touched });
        Ok(())
    }

    fn chmod(&mut self, asked: Asked<'_>, order: &SetMode) -> Result<(), Refusal> {
        check_mode(asked, Some(order.mode))?;
        let place = self.find(asked, Links::Follow, Missing::Refused)?;
        let (at, object) = self.at(asked, place)?;
        let held = object.ok_or_else(|| asked.refuse(Code::NotFound))?;
        let special = match held.observation.kind {
            Kind::File => {
                check_single(asked, &held)?;
                0
            }
            // What a directory passes on to what is made in it stays as its owner set it.
            Kind::Directory => held.observation.mode & !MODE_MAX,
            Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
                return Err(asked.refuse(Code::NotRegular));
            }
        };
        if held.owner.0 != rustix::process::geteuid().as_raw() {
            return Err(asked
                .refuse(Code::Permission)
                .noting("it belongs to another user"));
        }
        let (before, _) = self.expect(asked, order.expect, Some(&held))?;
        let mode = order.mode | special;
        let after = with_mode(before, mode);
        self.diff.mode(&at.path, held.observation.mode, mode);
        let touched = vec![touched(asked.verb, &at, before, after)];
        let act = Act::Chmod { at, held, mode };
        self.steps.push(Step { act, touched });
        Ok(())
    }

    fn link(&mut self, asked: Asked<'_>, order: &MakeLink) -> Result<(), Refusal> {
        let place = self.find(asked, Links::Keep, missing(order.parents))?;
        let (at, object) = self.at(asked, place)?;
        if let Some(held) = object {
            return Err(asked.refuse(Code::Exists).finding(held.observation.stamp));
        }
        let text = order.text.as_slice();
        if !stays_below(&at.path, text) {
            let note = "a link's text must be relative, with `..` only at its beginning, and lead \
                        to a place below the root";
            return Err(asked.refuse(Code::Escape).noting(note));
        }
        self.diff.add(&at.path, Side::None, Side::Link(text));
        let after = PathState::Present(Present {
            kind: Kind::Link,
            mode: 0o777,
            size: u64::try_from(text.len()).unwrap_or(u64::MAX),
            digest: Some(content::digest(text)),
            stamp: None,
        });
        let touched = vec![touched(asked.verb, &at, PathState::Absent, after)];
        let act = Act::Link {
            at,
            text: text.to_vec(),
            temporary: random(),
        };
        self.steps.push(Step { act, touched });
        Ok(())
    }

    /// Checks what the worker believes, and says what is there, with its bytes when they are few.
    fn expect(
        &self,
        asked: Asked<'_>,
        expect: Expect,
        object: Option<&Held>,
    ) -> Result<(PathState, Old), Refusal> {
        let (state, old) = match object {
            None => (PathState::Absent, Old::Nothing),
            Some(held) => content::look(held).map_err(|errno| asked.kernel(errno))?,
        };
        check_expected(asked, expect, object, || match state {
            PathState::Present(present) => Ok(present.digest),
            PathState::Absent | PathState::Unknown => Ok(None),
        })?;
        Ok((state, old))
    }

    /// The difference of a file written.
    fn show_written(&mut self, at: &At, write: &WriteFile, old: &Old, new: &Content) {
        let inline = match write.source {
            Source::Inline(span) => span.of(self.content).map(Side::Text),
            Source::Upload(_) => None,
        };
        let new = match (inline, &new.staged) {
            (Some(side), _) => side,
            (None, Staged::File(file) | Staged::Later(Later::Upload(file, _))) => {
                Side::File(file.as_fd(), new.present.size)
            }
            (None, Staged::Later(Later::Bytes(bytes, _))) => Side::Text(bytes),
        };
        let old = self.shown(at, old);
        self.diff.add(&at.path, old, new);
    }

    /// One side of a difference, as far as the session may read it.
    fn shown<'o>(&self, at: &At, old: &'o Old) -> Side<'o> {
        match old {
            Old::Nothing => Side::None,
            Old::Bytes(bytes) if self.session.permits(at.root, &at.path, Verb::Read) => {
                Side::Text(bytes)
            }
            Old::Link(text) if self.session.permits(at.root, &at.path, Verb::Stat) => {
                Side::Link(text)
            }
            Old::Bytes(_) | Old::Link(_) | Old::Other => Side::Withheld,
        }
    }

    fn check_empty(&self, asked: Asked<'_>, at: &At) -> Result<(), Refusal> {
        let parent = at.within.nearest().fd.as_fd();
        match content::is_empty(parent, at.name()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(asked.refuse(Code::NotEmpty)),
            Err(errno) => Err(asked.kernel(errno)),
        }
    }
}

const fn missing(parents: Parents) -> Missing {
    match parents {
        Parents::Exist => Missing::Last,
        Parents::Make => Missing::Parents,
    }
}

fn touched(verb: Verb, at: &At, before: PathState, after: PathState) -> Touched {
    Touched {
        verb,
        root: at.root,
        path: at.path.clone(),
        before,
        after,
    }
}

fn made_directory(at: At) -> Step {
    let after = PathState::Present(Present {
        kind: Kind::Directory,
        mode: NEW_DIRECTORY,
        size: 0,
        digest: None,
        stamp: None,
    });
    let touched = vec![touched(Verb::Mkdir, &at, PathState::Absent, after)];
    let act = Act::Mkdir { at };
    Step { act, touched }
}

/// The step that puts new content under a name.
fn filled(verb: Verb, at: At, held: Option<Held>, content: Content, before: PathState) -> Step {
    let touched = vec![touched(
        verb,
        &at,
        before,
        PathState::Present(content.present),
    )];
    let temporary = random();
    let act = match held {
        Some(held) => Act::Replace {
            verb,
            at,
            held,
            content,
            temporary,
        },
        None => Act::Create {
            at,
            content,
            temporary,
        },
    };
    Step { act, touched }
}

/// A file that is not made yet.
fn unmade(size: u64, mode: Option<u16>, digest: Digest) -> Present {
    Present {
        kind: Kind::File,
        mode: mode.unwrap_or(content::NEW_FILE),
        size,
        digest: Some(digest),
        stamp: None,
    }
}

fn with_mode(state: PathState, mode: u16) -> PathState {
    match state {
        PathState::Present(present) => PathState::Present(Present { mode, ..present }),
        PathState::Absent | PathState::Unknown => state,
    }
}

/// What nobody can guess, and no name a worker may use.
fn random() -> Temporary {
    let mut bits = [0; 16];
    // From the kernel's generator, which after start-up neither blocks nor fails for 16 bytes; what
    // it would leave unfilled is met by `link` and `rename`, which never replace.
    rustix::rand::getrandom(&mut bits, rustix::rand::GetRandomFlags::empty()).unwrap_or_default();
    Temporary(bits)
}

fn check_mode(asked: Asked<'_>, mode: Option<u16>) -> Result<(), Refusal> {
    if mode.is_some_and(|mode| mode > MODE_MAX) {
        let note = "permission bits are at most 777; set-id and sticky bits are never set";
        return Err(asked.refuse(Code::OutOfRange).noting(note));
    }
    Ok(())
}

fn check_single(asked: Asked<'_>, held: &Held) -> Result<(), Refusal> {
    if held.observation.links > 1 {
        let note = format!("it has {} names", held.observation.links);
        return Err(asked.refuse(Code::HardLinked).noting(&note));
    }
    Ok(())
}

fn check_replaceable(asked: Asked<'_>, held: &Held) -> Result<(), Refusal> {
    match held.observation.kind {
        Kind::File => check_single(asked, held),
        Kind::Directory => Err(asked.refuse(Code::IsADirectory)),
        Kind::Link => Err(asked
            .refuse(Code::Exists)
            .noting("it is a symbolic link")
            .finding(held.observation.stamp)),
        Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
            Err(asked.refuse(Code::NotRegular))
        }
    }
}

fn check_movable(asked: Asked<'_>, held: &Held) -> Result<(), Refusal> {
    match held.observation.kind {
        Kind::File | Kind::Directory | Kind::Link => Ok(()),
        Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
            Err(asked.refuse(Code::NotRegular))
        }
    }
}

fn check_deletable(asked: Asked<'_>, what: Deletion, held: &Held) -> Result<(), Refusal> {
    match (what, held.observation.kind) {
        (Deletion::File, Kind::File | Kind::Link)
        | (Deletion::Directory | Deletion::Tree, Kind::Directory) => Ok(()),
        (Deletion::File, Kind::Directory) => Err(asked.refuse(Code::IsADirectory)),
        (Deletion::Directory | Deletion::Tree, Kind::File | Kind::Link) => {
            Err(asked.refuse(Code::NotADirectory))
        }
        (
            Deletion::File | Deletion::Directory | Deletion::Tree,
            Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown,
        ) => Err(asked.refuse(Code::NotRegular)),
    }
}

/// Compares what the worker believes with what is there. Nothing is changed by then.
fn check_expected(
    asked: Asked<'_>,
    expect: Expect,
    object: Option<&Held>,
    digest: impl FnOnce() -> Result<Option<Digest>, Refusal>,
) -> Result<(), Refusal> {
    let conflict = |code: Code| match object {
        Some(held) => asked.refuse(code).finding(held.observation.stamp),
        None => asked.refuse(code),
    };
    match (expect, object) {
        (Expect::Any, _) | (Expect::Absent, None) => Ok(()),
        (Expect::Absent, Some(_)) => Err(conflict(Code::Exists)),
        (Expect::Version(_) | Expect::Content(_), None) => Err(conflict(Code::Conflict)),
        (Expect::Version(stamp), Some(held)) if stamp == held.observation.stamp => Ok(()),
        (Expect::Version(_), Some(_)) => Err(conflict(Code::Conflict)),
        (Expect::Content(wanted), Some(_)) => match digest()? {
            Some(is) if is == wanted => Ok(()),
            Some(_) | None => Err(conflict(Code::Conflict)),
        },
    }
}

/// Whether a link at `path` of this text leads below the root whatever the tree looks like: `..`
/// may only come first, where it counts real directories and not links.
fn stays_below(path: &RelPath, text: &[u8]) -> bool {
    if text.is_empty() || text.starts_with(b"/") || text.contains(&0) {
        return false;
    }
    let depth = path.names().count().saturating_sub(1);
    let mut ups = 0;
    let mut went_down = false;
    for name in text.split(|b| *b == b'/') {
        match name {
            b"" | b"." => {}
            b".." if went_down => return false,
            b".." => ups += 1,
            name if Temporary::is_one(name) => return false,
            _ => went_down = true,
        }
    }
    ups <= depth
}
