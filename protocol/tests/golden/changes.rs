//! Every request that changes something, worker to gate.

use crate::values::{CAFE, Case, bytes, few, in_root, selector, stamp};
use portcullis_protocol::session::{
    Change, ChangeSet, Deed, DeleteObject, Deletion, DropUpload, EditFile, Expect, MakeDirectory,
    MakeLink, MoveObject, Onto, Parents, Place, Replacement, Request, SetMode, Source, Span,
    Upload, UploadId, WriteFile,
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
        .with(b"oldnewanchor"),
        Case::new("request-10-change-many", 12, set(Deed::Commit, many())),
        Case::new("request-11-upload", 13, Request::Upload(upload())).with(b"\x00part\xff"),
        Case::new(
            "request-12-drop-upload",
            14,
            Request::DropUpload(DropUpload {
                upload: UploadId(300),
            }),
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

fn edit() -> Change {
    let replace = |place| Replacement {
        old: span(0, 3),
        new: span(3, 3),
        place,
    };
    Change::Edit(EditFile {
        selector: selector(CAFE),
        expect: Expect::Version(stamp()),
        replacements: few(vec![
            replace(Place::Anywhere { count: 300 }),
            replace(Place::All),
            replace(Place::After {
                anchors: few(vec![span(6, 6)]),
            }),
            replace(Place::Line { number: 128 }),
        ]),
        mode: None,
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
