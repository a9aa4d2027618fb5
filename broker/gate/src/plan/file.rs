//! Changes of a file's content: written whole, or edited.

use super::act::{At, Within};
use super::check::{check_mode, check_replaceable, filled, missing, mode_of, unmade};
use super::content::{self, Content, Later, Old, Staged};
use super::diff::Side;
use super::expect::Need;
use super::matching::{self, Edits};
use super::target::{Asked, Planner};
use crate::resolve::{Held, Missing};
use crate::uploads::Dresses;
use portcullis_protocol::anchor::Labels;
use portcullis_protocol::limits::EDIT_BYTES_MAX;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{EditFile, Expect, Links, Source, UploadId, WriteFile};
use portcullis_protocol::verb::Verb;
use std::os::fd::AsFd as _;

impl Planner<'_> {
    pub(super) fn write(&mut self, asked: Asked<'_>, write: &WriteFile) -> Result<(), Refusal> {
        check_mode(asked, write.mode)?;
        // What must not exist is not looked for behind a link: the link itself has the name.
        let links = match write.expect {
            Expect::Absent => Links::Keep,
            Expect::Any | Expect::Seen | Expect::Version(_) | Expect::Content(_) => Links::Follow,
        };
        let place = self.find(asked, links, missing(write.parents))?;
        let (at, object) = self.at(asked, place)?;
        if let Some(held) = &object {
            check_replaceable(asked, held)?;
        }
        let (before, old) =
            self.expect(asked, (write.expect, Need::Whole), &at, object.as_ref())?;
        let content = self.staged(asked, &at, write, object.as_ref())?;
        let modes = (mode_of(&before), content.present.mode);
        self.show_written((&at, modes), write, &old, &content);
        self.steps
            .push(filled(asked.verb, at, object, content, before));
        Ok(())
    }

    /// The new content of a write, staged.
    pub(super) fn staged(
        &mut self,
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
            (Source::Upload(id), within) => self.uploaded(asked, id, within, (write.mode, like)),
        }
    }

    /// The new content of a write that was uploaded before.
    fn uploaded(
        &mut self,
        asked: Asked<'_>,
        id: UploadId,
        within: &Within,
        (mode, like): (Option<u16>, Option<&Held>),
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
        let staged = match within {
            Within::Held(directory) if directory.id == upload.directory && upload.take(dresses) => {
                content::dress(upload.file(), mode, like, digest)
                    .map(|present| (upload.share(), present))
            }
            // It was begun where the file is not to be, or has got what this one must not have.
            Within::Held(directory) => {
                content::copied(directory, upload.file(), digest, (mode, like))
            }
            Within::Made(_) => {
                return Ok(Content {
                    staged: Staged::Later(Later::Upload(upload.share(), mode)),
                    present: unmade(upload.bytes(), mode, digest),
                });
            }
        };
        let (file, present) = staged.map_err(|why| asked.unstaged(why))?;
        Ok(Content {
            staged: Staged::File(file),
            present,
        })
    }

    pub(super) fn staged_bytes(
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

    pub(super) fn edit(&mut self, asked: Asked<'_>, order: &EditFile) -> Result<(), Refusal> {
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
        self.check_expected(
            asked,
            (order.expect, Need::Any),
            &at,
            Some((&held, Some(digest))),
        )?;
        let edits = Edits {
            edits: order.edits.as_slice(),
            tiers: order.tiers,
            content: self.content,
        };
        let labels = || Labels::new(held.observation.stamp.object(), &digest);
        let edited = matching::apply(&old, edits, labels).map_err(|miss| {
            let refusal = asked.refuse(miss.code).noting(&miss.note);
            refusal.finding(held.observation.stamp)
        })?;
        let new = edited.bytes;
        let content = self.staged_bytes(asked, &at.within, &new, (order.mode, Some(&held)))?;
        let before = content::present(&held, Some(digest));
        let modes = (mode_of(&before), content.present.mode);
        self.diff
            .add(&at.path, modes, Side::Text(&old), Side::Text(&new));
        self.steps
            .push(filled(asked.verb, at, Some(held), content, before));
        Ok(())
    }

    /// The difference of a file written.
    fn show_written(
        &mut self,
        (at, modes): (&At, (u16, u16)),
        write: &WriteFile,
        old: &Old,
        new: &Content,
    ) {
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
        self.diff.add(&at.path, modes, old, new);
    }

    /// One side of a difference, as far as the session may read it.
    pub(super) fn shown<'o>(&self, at: &At, old: &'o Old) -> Side<'o> {
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
}
