//! Every request that changes something, worker to gate.

use crate::values::{CAFE, Case, bytes, few, in_root, selector, stamp};
use portcullis_protocol::anchor::{Anchor, Tag};
use portcullis_protocol::session::{
    Anchored, AnchoredDeed, Change, ChangeComposed, ChangeSet, Compose, Count, Deed, DeleteObject,
    Deletion, DropUpload, Edges, EditFile, Expect, Hunk, InsertLines, MakeDirectory, MakeLink,
    MoveObject, Onto, Parents, Part, Replace, Request, SetMode, Source, Span, TextEdit, Tier,
    Tiers, Upload, UploadId, WriteFile,
};
use portcullis_protocol::view::Digest;

pub(crate) fn cases() -> Vec<Case<Request>> {
    vec![
        Case::new("request-10-change", 10, set(Deed::Commit, vec![write()])).with(b"h\xe9llo"),
        Case::new(
            "request-10-change-edit",
            11,
            set(Deed::DryRun, vec![edit()]),
        )
        .with(b"oldnewfn f() {\n    a\n    b\n"),
        Case::new(
            "request-10-change-anchored",
            11,
            set(Deed::Commit, vec![anchored()]),
        )
        .with(b"h\xe9llo\n"),
        Case::new("request-10-change-many", 12, set(Deed::Commit, many())),
        Case::new("request-11-upload", 13, Request::Upload(upload())).with(b"\x00part\xff"),
        Case::new(
            "request-12-drop-upload",
            14,
            Request::DropUpload(DropUpload {
                upload: UploadId(300),
            }),
        ),
        Case::new(
            "request-13-compose",
            15,
            Request::Compose(Compose { offset: 65_536 }),
        )
        .with(b"\x00part\xff"),
        Case::new(
            "request-14-change-composed",
            16,
            Request::ChangeComposed(ChangeComposed { set: 300 }),
        ),
    ]
}

fn set(deed: Deed, changes: Vec<Change>) -> Request {
    Request::Change(ChangeSet {
        changes: few(changes),
        deed,
    })
}

const fn span(start: u32, len: u32) -> Span {
    Span { start, len }
}

fn write() -> Change {
    Change::Write(WriteFile {
        selector: selector(CAFE),
        source: Source::Inline(span(0, 5)),
        expect: Expect::Absent,
        parents: Parents::Make,
        mode: Some(0o600),
    })
}

/// One edit of each kind that looks for text, `fn f() {` and two lines of it in the content.
fn edit() -> Change {
    let replace = |count| {
        TextEdit::Replace(Replace {
            old: span(0, 3),
            new: span(3, 3),
            count,
        })
    };
    let hunk = Hunk {
        after: few(vec![span(6, 8)]),
        line: Some(128),
        edges: Edges::End,
        parts: few(vec![
            Part::Keep(span(15, 6)),
            Part::Remove(span(21, 6)),
            Part::Insert(span(15, 12)),
        ]),
    };
    Change::Edit(EditFile {
        selector: selector(CAFE),
        expect: Expect::Version(stamp()),
        edits: few(vec![
            replace(Count::Exactly(300)),
            replace(Count::All),
            TextEdit::Hunk(hunk),
            TextEdit::Insert(InsertLines {
                line: 300,
                text: span(21, 6),
            }),
        ]),
        tiers: Tiers::DEFAULT.with(Tier::Punctuation),
        mode: None,
    })
}

fn anchored() -> Change {
    let label = |line, bits| Anchor {
        line,
        tag: Tag::try_from(bits).unwrap(),
    };
    let edit = |line, deed| {
        TextEdit::Anchored(Anchored {
            first: label(line, 0),
            last: label(line + 1, (1 << 25) - 1),
            deed,
        })
    };
    Change::Edit(EditFile {
        selector: selector(CAFE),
        expect: Expect::Seen,
        edits: few(vec![
            edit(1, AnchoredDeed::Replace(span(0, 0))),
            edit(127, AnchoredDeed::Before(span(0, 6))),
            edit(300, AnchoredDeed::After(span(0, 6))),
        ]),
        tiers: Tiers::EXACT,
        mode: Some(0o600),
    })
}

/// One of each of the others, and a file of an upload.
fn many() -> Vec<Change> {
    vec![
        Change::Write(WriteFile {
            selector: selector(b"big"),
            source: Source::Upload(UploadId(300)),
            expect: Expect::Any,
            parents: Parents::Exist,
            mode: None,
        }),
        Change::Mkdir(MakeDirectory {
            selector: selector(b"a/b"),
            parents: Parents::Make,
        }),
        Change::Move(MoveObject {
            source: in_root("docs", b"x"),
            destination: in_root("docs", b"y"),
            expect: Expect::Content(Digest([0xd1; 32])),
            onto: Onto::Replace(Expect::Version(stamp())),
            parents: Parents::Exist,
        }),
        Change::Delete(DeleteObject {
            selector: selector(b"old"),
            expect: Expect::Any,
            what: Deletion::Tree,
        }),
        Change::Chmod(SetMode {
            selector: selector(b"run"),
            expect: Expect::Any,
            mode: 0o755,
        }),
        Change::Link(MakeLink {
            selector: selector(b"link"),
            text: bytes(b"../caf\xe9"),
            parents: Parents::Exist,
        }),
    ]
}

fn upload() -> Upload {
    Upload {
        upload: UploadId(300),
        selector: selector(CAFE),
        offset: 65_536,
    }
}
