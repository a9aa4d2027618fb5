//! Where the bytes of a change set travel: behind the request as far as there is room, the rest
//! uploaded before it.

use super::{AnchoredDeed, Changes, Content, Edit, Hunk, Item, Part, Replace, TextEdit, few};
use crate::error::Error;
use portcullis_protocol::frame::{self, RequestId};
use portcullis_protocol::limits::{CONTENT_BYTES_MAX, FRAME_BYTES_MAX};
use portcullis_protocol::session::{
    self, Change, ChangeSet, Deed, EditFile, Limits, Request, Selector, Source, Span, UploadId,
    WriteFile,
};

/// A change set ready to be sent.
#[derive(Debug)]
pub(crate) struct Packed<'c> {
    pub(crate) set: ChangeSet,
    /// Behind the request.
    pub(crate) content: Vec<u8>,
    /// To be uploaded before it.
    pub(crate) uploads: Vec<Needed<'c>>,
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
    let room = room(&list, deed, limits)?;
    if content.len() > room {
        return Err(Error::invalid(format_args!(
            "the texts of the edits have {} bytes and one request carries {room}: edit in several \
             requests, or write the whole file",
            content.len()
        )));
    }
    let uploads = place(&changes.items, &mut list, &mut content, room, next)?;
    let set = ChangeSet {
        changes: few("changes", list)?,
        deed,
    };
    Ok(Packed {
        set,
        content,
        uploads,
    })
}

/// Bytes of content that one frame carries behind these changes.
fn room(list: &[Change], deed: Deed, limits: &Limits) -> Result<usize, Error> {
    let measured = Request::Change(ChangeSet {
        changes: few("changes", list.to_vec())?,
        deed,
    });
    let mut encoded = Vec::new();
    let fits = frame::encode(RequestId::NONE, &measured, 0, &mut encoded);
    let frame_bytes = usize::try_from(limits.frame_bytes).unwrap_or(usize::MAX);
    let left = FRAME_BYTES_MAX
        .min(frame_bytes)
        .checked_sub(encoded.len())
        .filter(|_| fits.is_ok())
        .ok_or_else(|| {
            Error::invalid("the change set does not fit one request: make its changes in several")
        })?;
    let most = usize::try_from(limits.content_bytes).unwrap_or(usize::MAX);
    Ok(left.min(most).min(CONTENT_BYTES_MAX))
}

/// Decides the way of each file's content: the smallest go behind the request while they fit.
fn place<'c>(
    items: &'c [Item],
    list: &mut [Change],
    content: &mut Vec<u8>,
    room: usize,
    next: &mut dyn FnMut() -> UploadId,
) -> Result<Vec<Needed<'c>>, Error> {
    let mut files: Vec<(&Selector, &[u8], &mut Source)> = items
        .iter()
        .zip(list)
        .filter_map(|(item, change)| match (item, change) {
            (Item::Write(from), Change::Write(to)) => match &from.content {
                Content::Bytes(bytes) => Some((&from.selector, bytes.as_slice(), &mut to.source)),
                Content::Upload(_) => None,
            },
            _ => None,
        })
        .collect();
    files.sort_by_key(|(_, bytes, _)| bytes.len());
    let mut uploads = Vec::new();
    for (selector, bytes, source) in files {
        if content.len() + bytes.len() <= room {
            *source = Source::Inline(append(content, bytes)?);
        } else {
            let upload = next();
            *source = Source::Upload(upload);
            uploads.push(Needed {
                upload,
                selector,
                bytes,
            });
        }
    }
    Ok(uploads)
}

/// Puts bytes behind the request.
fn append(content: &mut Vec<u8>, bytes: &[u8]) -> Result<Span, Error> {
    let too_long = |_| Error::invalid("the texts of the edits do not fit one request");
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
            prop_assert!(packed.content.len() <= usize::try_from(content_bytes).unwrap());
            let request = Request::Change(packed.set.clone());
            let id = RequestId(1);
            prop_assert!(frame::encode(id, &request, packed.content.len(), &mut Vec::new()).is_ok());
            let mut inline = 0;
            for ((one, _), change) in made.iter().zip(packed.set.changes.as_slice()) {
                match (one, change) {
                    (Made::File(bytes), Change::Write(to)) => match to.source {
                        Source::Inline(span) => {
                            inline += bytes.len();
                            prop_assert_eq!(span.of(&packed.content), Some(bytes.as_slice()));
                        }
                        Source::Upload(upload) => {
                            let mut all = packed.uploads.iter();
                            let needed = all.find(|needed| needed.upload == upload).unwrap();
                            prop_assert_eq!(needed.bytes, bytes.as_slice());
                            prop_assert_eq!(needed.selector, &to.selector);
                        }
                    },
                    (Made::Edit(old, new), Change::Edit(to)) => {
                        inline += old.len() + new.len();
                        let [session::TextEdit::Replace(one)] = to.edits.as_slice() else {
                            panic!("{to:?}");
                        };
                        prop_assert_eq!(one.old.of(&packed.content), Some(old.as_slice()));
                        prop_assert_eq!(one.new.of(&packed.content), Some(new.as_slice()));
                    }
                    (made, change) => panic!("{made:?} became {change:?}"),
                }
            }
            prop_assert_eq!(inline, packed.content.len());
        }
    }
}
