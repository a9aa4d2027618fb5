//! Changes of a file's content: written whole, or edited.

use super::act::{Which, Within};
use super::check::{check_mode, check_replaceable};
use super::content::{self, Content, Room, Source, Staged};
use super::expect::Need;
use super::looked;
use super::matching::{self, Edits};
use super::overlay::{Basis, Thing};
use super::region::Focus;
use super::target::{Asked, Planner, missing};
use super::text::Text;
use crate::resolve::{Held, Missing};
use crate::standing::Staging;
use crate::uploads::Dresses;
use portcullis_protocol::anchor::Labels;
use portcullis_protocol::limits::EDIT_BYTES_MAX;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{self, EditFile, Expect, Links, Matched, UploadId, WriteFile};
use portcullis_protocol::verb::{Mode, Verb};
use portcullis_protocol::view::{Digest, ObjectId, RootIndex};
use std::rc::Rc;

/// No object of any file system.
const NO_OBJECT: ObjectId = ObjectId {
    device: 0,
    inode: 0,
};

/// What a new file looks like in all but content: the permission bits that were said, and the file
/// whose place it takes.
type Looks<'l> = (Option<u16>, Option<&'l Rc<Held>>);

impl<'a> Planner<'a> {
    pub(super) fn write(&mut self, asked: Asked<'a>, write: &WriteFile) -> Result<(), Refusal> {
        check_mode(asked, write.mode)?;
        // What must not exist is not looked for behind a link: the link itself has the name.
        let links = match write.expect {
            Expect::Absent => Links::Keep,
            Expect::Any | Expect::Seen | Expect::Version(_) | Expect::Content(_) => Links::Follow,
        };
        let place = self.find(asked, links, missing(write.parents))?;
        let n = self.meet(asked, place)?;
        if let Some(kind) = self.overlay.kind(n) {
            let held = self.overlay.held_now(n);
            check_replaceable(asked, kind, held.map(Rc::as_ref))?;
        }
        let mode = match (self.overlay.kind(n), write.expect) {
            // What must not be there is never written over.
            (None, _) | (_, Expect::Absent) => Mode::WriteNew,
            (Some(_), Expect::Any | Expect::Seen | Expect::Version(_) | Expect::Content(_)) => {
                Mode::WriteOver
            }
        };
        self.judge_mode(asked, n, mode)?;
        self.expect(asked, n, (write.expect, Need::Whole))?;
        let (mode, like) = (write.mode.or(self.overlay.mode(n)), self.overlay.like(n));
        let held = like.and_then(|like| self.overlay.held(like)).map(Rc::clone);
        let within = self.within(asked, n)?;
        let content = self.staged(asked, &within, write.source, (mode, held.as_ref()))?;
        let file = Thing::File {
            content,
            basis: Basis::Request,
            like,
            mode,
        };
        self.leave(n, Verb::Write, Some(file));
        Ok(())
    }

    pub(super) fn within(&self, asked: Asked<'_>, n: Which) -> Result<Within, Refusal> {
        let name = self.overlay.names.get(n);
        name.map(|name| name.at.within.clone())
            .ok_or_else(|| asked.refuse(Code::NotFound))
    }

    /// Where new content of a name waits.
    pub(super) fn room<'w>(&self, within: &'w Within) -> Room<'w> {
        match (within, self.session.standing.staging()) {
            (Within::Held(directory), Staging::Beside) => Room::Beside(directory),
            (Within::Held(_) | Within::Made(_), Staging::Beside | Staging::Memory) => Room::Memory,
        }
    }

    /// The new content of a write, staged.
    fn staged(
        &mut self,
        asked: Asked<'_>,
        within: &Within,
        source: session::Source,
        looks: Looks<'_>,
    ) -> Result<Content, Refusal> {
        match source {
            session::Source::Inline(span) => {
                let bytes = span
                    .of(self.content)
                    .ok_or_else(|| asked.refuse(Code::OutOfRange).noting("no such content"))?;
                let staged = staged_bytes(asked, self.room(within), bytes, looks)?;
                Ok(Content {
                    text: Text::Request(span),
                    ..staged
                })
            }
            session::Source::Upload(id) => self.uploaded(asked, id, within, looks),
        }
    }

    /// The new content of a write that was uploaded before.
    fn uploaded(
        &mut self,
        asked: Asked<'_>,
        id: UploadId,
        within: &Within,
        (mode, like): Looks<'_>,
    ) -> Result<Content, Refusal> {
        let uploads = self.uploads;
        let upload = uploads
            .get(id)
            .ok_or_else(|| asked.refuse(Code::UnknownUpload))?;
        if !self.taken.insert(id) {
            let note = "an upload is the content of one file";
            return Err(asked.refuse(Code::Collision).noting(note));
        }
        let digest = upload.digest();
        let dresses = match (mode, like) {
            (None, None) => Dresses::No,
            (Some(_), _) | (_, Some(_)) => Dresses::Yes,
        };
        let plain = like.map(Rc::as_ref);
        let staged = match self.room(within) {
            Room::Beside(directory) if directory.id == upload.directory && upload.take(dresses) => {
                content::dress(upload.file(), mode, plain, digest)
                    .map(|present| (upload.share(), present))
            }
            // It was begun where the file is not to be, or has got what this one must not have.
            Room::Beside(directory) => {
                content::copied(directory, upload.file(), digest, (mode, plain))
            }
            Room::Memory => {
                let source = Source::File(upload.share());
                return Ok(content::later(source, upload.bytes(), digest, (mode, like)));
            }
        };
        let (file, present) = staged.map_err(|why| asked.unstaged(why))?;
        Ok(Content {
            staged: Staged::File(file),
            present,
            text: Text::Away,
        })
    }

    pub(super) fn edit(&mut self, asked: Asked<'a>, order: &EditFile) -> Result<(), Refusal> {
        check_mode(asked, order.mode)?;
        let place = self.find(asked, Links::Follow, Missing::Refused)?;
        let (root, path) = (place.root, place.path.clone());
        let n = self.meet(asked, place)?;
        let kind = self.overlay.kind(n);
        let kind = kind.ok_or_else(|| asked.refuse(Code::NotFound))?;
        self.may_edit(asked, n, (root, &path))?;
        let held = self.overlay.held_now(n).map(Rc::clone);
        check_replaceable(asked, kind, held.as_deref())?;
        let (old, digest) = self.editable(asked, n, order.expect)?;
        let edits = Edits {
            edits: order.edits.as_slice(),
            tiers: order.tiers,
            content: self.content,
        };
        // Content that the set itself made has no object: no label is of a line of it.
        let object = held.as_ref().map(|held| held.observation.stamp.object());
        let labels = || Labels::new(object.unwrap_or(NO_OBJECT), &digest);
        let edited = matching::apply(&old, edits, labels).map_err(|miss| {
            let (focus, note) = match object {
                Some(_) => (miss.near.map_or(Focus::Unsaid, Focus::Lines), miss.note),
                None => (
                    Focus::Nothing,
                    format!("in what the changes before it leave: {}", miss.note),
                ),
            };
            self.focus = focus;
            let refusal = asked.refuse(miss.code).noting(&note);
            self.finding(n, refusal)
        })?;
        for place in &edited.places {
            self.matches.add(Matched {
                change: self.n,
                edit: place.edit,
                tier: place.tier,
                old: place.old,
                new: place.new,
            });
        }
        let new = edited.bytes;
        let (mode, like) = (order.mode.or(self.overlay.mode(n)), self.overlay.like(n));
        let held = like.and_then(|like| self.overlay.held(like)).map(Rc::clone);
        let within = self.within(asked, n)?;
        let staged = staged_bytes(asked, self.room(&within), &new, (mode, held.as_ref()))?;
        let content = Content {
            text: self.keeping.keep(new),
            ..staged
        };
        self.keep_read(n, old);
        let file = Thing::File {
            content,
            basis: self.basis(n),
            like,
            mode,
        };
        self.leave(n, Verb::Edit, Some(file));
        Ok(())
    }

    /// An edit shows what it matches, so that it needs the right to read: by the name it has, and by
    /// that which its object has in the file system.
    fn may_edit(
        &self,
        asked: Asked<'_>,
        n: Which,
        (root, path): (RootIndex, &RelPath),
    ) -> Result<(), Refusal> {
        let of = match self.overlay.now(n) {
            Some(Thing::Same { of, .. }) => Some(*of),
            Some(Thing::File { like, basis, .. }) => match basis {
                Basis::Object => *like,
                Basis::Request => None,
            },
            Some(Thing::Directory { .. } | Thing::Link { .. }) | None => None,
        };
        match of.and_then(|of| self.overlay.names.get(of)) {
            Some(home) => {
                self.may_read(asked, home.at.root, &home.at.path)?;
                if home.at.path == *path {
                    return Ok(());
                }
                self.may_read_name(asked, root, path)
            }
            None => self.may_read_name(asked, root, path),
        }
    }

    /// The bytes that a name has now, which are as the worker believes, with their digest.
    fn editable(
        &mut self,
        asked: Asked<'a>,
        n: Which,
        expect: Expect,
    ) -> Result<(Vec<u8>, Digest), Refusal> {
        let of = match self.overlay.now(n) {
            Some(Thing::Same { of, .. }) => Some(*of),
            Some(Thing::File { .. } | Thing::Directory { .. } | Thing::Link { .. }) | None => None,
        };
        let read = match (of.and_then(|of| self.overlay.held(of)), self.content_now(n)) {
            (Some(held), _) => looked::whole(held, EDIT_BYTES_MAX),
            (None, Some(content)) => content::read(content, EDIT_BYTES_MAX),
            (None, None) => return Err(asked.refuse(Code::NotFound)),
        };
        let old = read.map_err(|errno| asked.kernel(errno))?.ok_or_else(|| {
            asked
                .refuse(Code::OutOfBudget)
                .noting("the file is too large")
        })?;
        let digest = content::digest(&old);
        match of {
            Some(n) => {
                let name = self.overlay.names.get_mut(n);
                if let Some(was) = name.and_then(|name| name.was.as_mut()) {
                    let state = looked::present(&was.held, Some(digest));
                    was.state.get_or_insert(state);
                }
                self.check_expected(asked, (expect, Need::Any), of)?;
            }
            None => self.own(asked, n, (expect, Need::Any), Some(digest))?,
        }
        Ok((old, digest))
    }
}

impl Planner<'_> {
    /// What edited content of a name was worked out from.
    fn basis(&self, n: Which) -> Basis {
        match self.overlay.now(n) {
            Some(Thing::File { basis, .. }) => *basis,
            Some(Thing::Same { .. } | Thing::Directory { .. } | Thing::Link { .. }) | None => {
                Basis::Object
            }
        }
    }

    /// Keeps the bytes that were read of the object that a name has now.
    fn keep_read(&mut self, n: Which, bytes: Vec<u8>) {
        let of = match self.overlay.now(n) {
            Some(Thing::Same { of, .. }) => *of,
            Some(Thing::File { .. } | Thing::Directory { .. } | Thing::Link { .. }) | None => {
                return;
            }
        };
        let name = self.overlay.names.get_mut(of);
        if let Some(was) = name.and_then(|name| name.was.as_mut())
            && matches!(was.text, Text::Away)
        {
            was.text = self.keeping.keep(bytes);
        }
    }
}

/// New content that came behind the request or was worked out, staged.
fn staged_bytes(
    asked: Asked<'_>,
    room: Room<'_>,
    bytes: &[u8],
    (mode, like): Looks<'_>,
) -> Result<Content, Refusal> {
    match room {
        Room::Beside(directory) => content::stage(directory, bytes, mode, like.map(Rc::as_ref))
            .map(|(file, present)| Content {
                staged: Staged::File(file),
                present,
                text: Text::Away,
            })
            .map_err(|why| asked.unstaged(why)),
        Room::Memory => Ok(content::later(
            Source::Bytes(bytes.into()),
            u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            content::digest(bytes),
            (mode, like),
        )),
    }
}
