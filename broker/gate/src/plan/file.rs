//! Changes of a file's content: written whole, or edited.

use super::act::{At, Within};
use super::check::{check_expected, check_mode, check_replaceable, filled, missing, unmade};
use super::content::{self, Content, Later, Old, Staged};
use super::diff::Side;
use super::edit;
use super::target::{Asked, Planner};
use crate::resolve::{Held, Missing};
use portcullis_protocol::limits::EDIT_BYTES_MAX;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{EditFile, Expect, Links, Source, WriteFile};
use portcullis_protocol::verb::Verb;
use std::os::fd::AsFd as _;

impl Planner<'_> {
    pub(super) fn write(&mut self, asked: Asked<'_>, write: &WriteFile) -> Result<(), Refusal> {
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
    pub(super) fn staged(
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

    /// The difference of a file written.
    fn show_written(&mut self, at: &At, write: &WriteFile, old: &Old, new: &Content) {
        let inline = match write.source {
            Source::Inline(span) => span.of(self.content).map(Side::Text),
            Source::Upload(_) => None,
        };
        let new = match (inline, &new.staged) {
            (Some(side), _) => side,
            (None, Staged::File(file) | Staged::Later(Later::Upload(file, _))) => {
                Side::File(file.as_fd())
            }
            (None, Staged::Later(Later::Bytes(bytes, _))) => Side::Text(bytes),
        };
        let old = self.shown(at, old);
        self.diff.add(&at.path, old, new);
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
