//! Where the bytes of a change set travel: behind the request where all of it fits one frame; else
//! composed with it in the gate's memory, but for large files, which are uploaded before.

use super::{AnchoredDeed, Changes, Content, Edit, Hunk, Item, Part, Replace, TextEdit, few};
use crate::error::Error;
use portcullis_protocol::frame::{self, RequestId};
use portcullis_protocol::limits::{
    COMPOSED_BYTES_MAX, CONTENT_BYTES_MAX, FRAME_BYTES_MAX, SET_BYTES_MAX,
};
use portcullis_protocol::session::{
    self, Change, ChangeComposed, ChangeSet, Deed, EditFile, Limits, Request, Selector, Source,
    Span, UploadId, WriteFile, encode_composed,
};

/// Files larger than this are uploaded where one frame does not hold all: the gate keeps an upload
/// in the file system, and what is composed in its memory. In bytes.
const COMPOSED_FILE_BYTES_MAX: usize = CONTENT_BYTES_MAX;

/// A change set ready to be sent.
#[derive(Debug)]
pub(crate) struct Packed<'c> {
    pub(crate) way: Way,
    /// To be uploaded before it.
    pub(crate) uploads: Vec<Needed<'c>>,
}

/// How a change set travels.
#[derive(Debug)]
pub(crate) enum Way {
    /// In one request.
    OneFrame {
        set: ChangeSet,
        /// Behind it.
        content: Vec<u8>,
    },
    /// In parts, and a request that speaks of them.
    Composed { bytes: Vec<u8>, ask: ChangeComposed },
}

impl Way {
    pub(crate) const fn is_composed(&self) -> bool {
        match self {
            Self::OneFrame { .. } => false,
            Self::Composed { .. } => true,
        }
    }
}

/// Content that has to be uploaded first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needed<'c> {
    pub(crate) upload: UploadId,
    pub(crate) selector: &'c Selector,
    pub(crate) bytes: &'c [u8],
}

/// Stands for content whose way is not decided; no encoding of a source is longer.
const UNDECIDED: Source = Source::Inline(Span {
    start: u32::MAX,
    len: u32::MAX,
});

/// Packs a change set. `next` gives the numbers of its uploads.
pub(crate) fn pack<'c>(
    changes: &'c Changes,
    deed: Deed,
    limits: &Limits,
    next: &mut dyn FnMut() -> UploadId,
) -> Result<Packed<'c>, Error> {
    if changes.items.is_empty() {
        return Err(Error::invalid("the change set has no change in it"));
    }
    let mut content = Vec::new();
    let mut list = Vec::with_capacity(changes.items.len());
    for item in &changes.items {
        list.push(typed(item, &mut content)?);
    }
    let set = ChangeSet {
        changes: few("changes", list)?,
        deed,
    };
    let frame = room(&set, limits);
    let files = files(&changes.items);
    let whole = files
        .iter()
        .fold(content.len(), |sum, file| sum + file.bytes.len());
    let composable = files.iter().filter(|file| file.is_composable());
    let small = composable.fold(content.len(), |sum, file| sum + file.bytes.len());
    // The largest files that may travel with the request, and how much of all may.
    let (largest, most) = match frame {
        Some(room) if whole <= room => (usize::MAX, room),
        Some(room) if small <= room => (COMPOSED_FILE_BYTES_MAX, room),
        Some(_) | None => (COMPOSED_FILE_BYTES_MAX, COMPOSED_BYTES_MAX - SET_BYTES_MAX),
    };
    let in_one = frame.is_some_and(|room| small <= room);
    if content.len() > most {
        return Err(Error::invalid(format_args!(
            "the texts of the edits have {} bytes, and one change set has at most {most}: make \
             them in several requests, or write whole files",
            content.len()
        )));
    }
    let mut list = set.changes.into_vec();
    let uploads = place(&files, &mut list, &mut content, (largest, most), next)?;
    let set = ChangeSet {
        changes: few("changes", list)?,
        deed,
    };
    let way = if in_one {
        Way::OneFrame { set, content }
    } else {
        let (bytes, ask) = encode_composed(&set, &content).map_err(|error| {
            Error::invalid(format_args!(
                "the change set is too large: {error}; make its changes in several requests"
            ))
        })?;
        Way::Composed { bytes, ask }
    };
    Ok(Packed { way, uploads })
}

/// Bytes of content that one frame carries behind these changes; none when it does not hold them.
fn room(set: &ChangeSet, limits: &Limits) -> Option<usize> {
    let mut encoded = Vec::new();
    let measured = Request::Change(set.clone());
    frame::encode(RequestId::NONE, &measured, 0, &mut encoded).ok()?;
    let frame_bytes = usize::try_from(limits.frame_bytes).unwrap_or(usize::MAX);
    let left = FRAME_BYTES_MAX
        .min(frame_bytes)
        .checked_sub(encoded.len())?;
    let most = usize::try_from(limits.content_bytes).unwrap_or(usize::MAX);
    Some(left.min(most).min(CONTENT_BYTES_MAX))
}

/// The content of a file that is written.
struct NewFile<'c> {
    /// Which change of the set.
    at: usize,
    selector: &'c Selector,
    bytes: &'c [u8],
}

impl NewFile<'_> {
    const fn is_composable(&self) -> bool {
        self.bytes.len() <= COMPOSED_FILE_BYTES_MAX
    }
}

/// The files of a change set whose content is here, the smallest first.
fn files(items: &[Item]) -> Vec<NewFile<'_>> {
    let mut files: Vec<NewFile<'_>> = items
        .iter()
        .enumerate()
        .filter_map(|(at, item)| match item {
            Item::Write(write) => match &write.content {
                Content::Bytes(bytes) => Some(NewFile {
                    at,
                    selector: &write.selector,
                    bytes,
                }),
                Content::Upload(_) => None,
            },
            Item::Edit(_)
            | Item::Mkdir(_)
            | Item::Move(_)
            | Item::Delete(_)
            | Item::Chmod(_)
            | Item::Link(_) => None,
        })
        .collect();
    files.sort_by_key(|file| file.bytes.len());
    files
}

/// Decides the way of each file's content: the smallest go behind the request while they fit.
fn place<'c>(
    files: &[NewFile<'c>],
    list: &mut [Change],
    content: &mut Vec<u8>,
    (largest, most): (usize, usize),
    next: &mut dyn FnMut() -> UploadId,
) -> Result<Vec<Needed<'c>>, Error> {
    let mut uploads = Vec::new();
    for file in files {
        let Some(Change::Write(WriteFile { source, .. })) = list.get_mut(file.at) else {
            continue;
        };
        let fits = content.len() + file.bytes.len() <= most;
        if fits && file.bytes.len() <= largest {
            *source = Source::Inline(append(content, file.bytes)?);
        } else {
            let upload = next();
            *source = Source::Upload(upload);
            uploads.push(Needed {
                upload,
                selector: file.selector,
                bytes: file.bytes,
            });
        }
    }
    Ok(uploads)
}

/// Puts bytes behind the request.
fn append(content: &mut Vec<u8>, bytes: &[u8]) -> Result<Span, Error> {
    let too_long = |_| Error::invalid("the texts of the edits do not fit one change set");
    let span = Span {
        start: u32::try_from(content.len()).map_err(too_long)?,
        len: u32::try_from(bytes.len()).map_err(too_long)?,
    };
    content.extend_from_slice(bytes);
    Ok(span)
}

/// The change as the protocol has it, its texts put behind the request, its file's content not.
fn typed(item: &Item, content: &mut Vec<u8>) -> Result<Change, Error> {
    Ok(match item {
        Item::Write(write) => Change::Write(WriteFile {
            selector: write.selector.clone(),
            source: match write.content {
                Content::Bytes(_) => UNDECIDED,
                Content::Upload(upload) => Source::Upload(upload),
            },
            expect: write.expect,
            parents: write.parents,
            mode: write.mode,
        }),
        Item::Edit(edit) => Change::Edit(typed_edit(edit, content)?),
        Item::Mkdir(mkdir) => Change::Mkdir(mkdir.clone()),
        Item::Move(rename) => Change::Move(rename.clone()),
        Item::Delete(delete) => Change::Delete(delete.clone()),
        Item::Chmod(chmod) => Change::Chmod(chmod.clone()),
        Item::Link(link) => Change::Link(link.clone()),
    })
}

fn typed_edit(edit: &Edit, content: &mut Vec<u8>) -> Result<EditFile, Error> {
    let mut edits = Vec::with_capacity(edit.edits.len());
    for one in &edit.edits {
        edits.push(typed_text(one, content)?);
    }
    Ok(EditFile {
        selector: edit.selector.clone(),
        expect: edit.expect,
        edits: few("edits of one file", edits)?,
        tiers: edit.tiers,
        mode: edit.mode,
    })
}

fn typed_text(edit: &TextEdit, content: &mut Vec<u8>) -> Result<session::TextEdit, Error> {
    Ok(match edit {
        TextEdit::Replace(Replace { old, new, count }) => {
            session::TextEdit::Replace(session::Replace {
                old: append(content, old)?,
                new: append(content, new)?,
                count: *count,
            })
        }
        TextEdit::Hunk(hunk) => session::TextEdit::Hunk(typed_hunk(hunk, content)?),
        TextEdit::Insert { line, text } => session::TextEdit::Insert(session::InsertLines {
            line: *line,
            text: append(content, text)?,
        }),
        TextEdit::Anchored { first, last, deed } => {
            session::TextEdit::Anchored(session::Anchored {
                first: *first,
                last: *last,
                deed: match deed {
                    AnchoredDeed::Replace(text) => {
                        session::AnchoredDeed::Replace(append(content, text)?)
                    }
                    AnchoredDeed::Before(text) => {
                        session::AnchoredDeed::Before(append(content, text)?)
                    }
                    AnchoredDeed::After(text) => {
                        session::AnchoredDeed::After(append(content, text)?)
                    }
                },
            })
        }
    })
}

fn typed_hunk(hunk: &Hunk, content: &mut Vec<u8>) -> Result<session::Hunk, Error> {
    let mut after = Vec::with_capacity(hunk.after.len());
    for line in &hunk.after {
        after.push(append(content, line)?);
    }
    let mut parts = Vec::with_capacity(hunk.parts.len());
    for part in &hunk.parts {
        parts.push(match part {
            Part::Keep(lines) => session::Part::Keep(append(content, lines)?),
            Part::Remove(lines) => session::Part::Remove(append(content, lines)?),
            Part::Insert(lines) => session::Part::Insert(append(content, lines)?),
        });
    }
    Ok(session::Hunk {
        after: few("lines that lead to a hunk", after)?,
        line: hunk.line,
        edges: hunk.edges,
        parts: few("runs of lines in one hunk", parts)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask;
    use crate::change::{replace, write};
    use crate::wire::OFFERED;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Made {
        File(Vec<u8>),
        Edit(Vec<u8>, Vec<u8>),
    }

    fn made() -> impl Strategy<Value = Made> {
        let bytes = |most: usize| {
            (any::<u8>(), 0..most).prop_map(|(first, len)| {
                (0..len)
                    .map(|n| first.wrapping_add((n % 251) as u8))
                    .collect::<Vec<u8>>()
            })
        };
        prop_oneof![
            3 => bytes(9000).prop_map(Made::File),
            1 => bytes(120_000).prop_map(Made::File),
            1 => (bytes(400), bytes(400)).prop_map(|(old, new)| Made::Edit(old, new)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn every_byte_travels_once_and_the_frame_holds(
            made in prop::collection::vec((made(), 0_usize..3000), 1..40),
            content_bytes in 40_000_u32..=65536,
        ) {
            let limits = Limits { content_bytes, ..OFFERED };
            let mut changes = Changes::new();
            for (n, (one, long)) in made.iter().enumerate() {
                let name = ask::selector(format!("{n}{}", "/d".repeat(long / 2))).unwrap();
                match one {
                    Made::File(bytes) => changes.push(write(name, bytes.clone())),
                    Made::Edit(old, new) => changes.push(replace(name, old.clone(), new.clone())),
                }
            }
            let mut number = 0;
            let packed = pack(&changes, Deed::Commit, &limits, &mut || {
                number += 1;
                UploadId(number)
            });
            let packed = packed.map_err(|e| TestCaseError::fail(e.to_string()))?;
            let (set, content) = match packed.way {
                Way::OneFrame { set, content } => {
                    prop_assert!(content.len() <= usize::try_from(content_bytes).unwrap());
                    let request = Request::Change(set.clone());
                    let id = RequestId(1);
                    prop_assert!(frame::encode(id, &request, content.len(), &mut Vec::new()).is_ok());
                    (set, content)
                }
                Way::Composed { bytes, ask } => {
                    let (set, content) = session::decode_composed(&bytes, ask)
                        .map_err(|e| TestCaseError::fail(e.to_string()))?;
                    (set, content.to_vec())
                }
            };
            let mut inline = 0;
            for ((one, _), change) in made.iter().zip(set.changes.as_slice()) {
                match (one, change) {
                    (Made::File(bytes), Change::Write(to)) => match to.source {
                        Source::Inline(span) => {
                            inline += bytes.len();
                            prop_assert_eq!(span.of(&content), Some(bytes.as_slice()));
                        }
                        Source::Upload(upload) => {
                            let mut all = packed.uploads.iter();
                            let needed = all.find(|needed| needed.upload == upload).unwrap();
                            prop_assert_eq!(needed.bytes, bytes.as_slice());
                            prop_assert!(bytes.len() > 40_000, "small files travel with the request");
                            prop_assert_eq!(needed.selector, &to.selector);
                        }
                    },
                    (Made::Edit(old, new), Change::Edit(to)) => {
                        inline += old.len() + new.len();
                        let [session::TextEdit::Replace(one)] = to.edits.as_slice() else {
                            panic!("{to:?}");
                        };
                        prop_assert_eq!(one.old.of(&content), Some(old.as_slice()));
                        prop_assert_eq!(one.new.of(&content), Some(new.as_slice()));
                    }
                    (made, change) => panic!("{made:?} became {change:?}"),
                }
            }
            prop_assert_eq!(inline, content.len());
        }
    }
}
