//! Content that is sent ahead: in order, within its budget, where no name leads to it.

use crate::trial::{at, bytes, done, no_temporaries, one, refused};
use portcullis_client::change::{Content, Write};
use portcullis_client::{Changes, change};
use portcullis_protocol::frame::{RequestId, decode, encode};
use portcullis_protocol::limits::{CONTENT_BYTES_MAX, FRAME_BYTES_MAX, UPLOADS_MAX};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Expect, Hello, Parents, Reply, Request, Upload, UploadId};
use portcullis_tests::hostile::{Arena, census};
use portcullis_tests::own;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::os::fd::OwnedFd;

fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    arena.write("file", "old content\n");
    arena.directory("d");
    arena.directory("e");
    arena
}

fn from(upload: UploadId, name: &str) -> Write {
    Write {
        selector: at(name),
        content: Content::Upload(upload),
        expect: Expect::Any,
        parents: Parents::Exist,
        mode: None,
    }
}

fn large() -> Vec<u8> {
    (0..3 * CONTENT_BYTES_MAX + 7)
        .map(|n| u8::try_from(n % 251).unwrap())
        .collect()
}

#[test]
fn an_upload_is_used_once_and_leaves_nothing_when_it_is_dropped() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    let (upload, size) = session
        .upload(&at("d/new"), &mut large().as_slice())
        .unwrap();
    assert_eq!(size, u64::try_from(large().len()).unwrap());
    assert_eq!(census(&inside), before, "no name leads to it");
    done(session, &one(from(upload, "d/new")));
    assert_eq!(bytes(inside.join("d/new")), large());
    // Used up.
    for name in ["d/new", "d/other", "file"] {
        assert_eq!(
            refused(session, &one(from(upload, name))).code,
            Code::UnknownUpload
        );
    }
    // Dropped.
    let before = census(&inside);
    let (upload, _) = session
        .upload(&at("d/two"), &mut large().as_slice())
        .unwrap();
    session.drop_upload(upload).unwrap();
    session.drop_upload(upload).unwrap();
    assert_eq!(
        refused(session, &one(from(upload, "d/two"))).code,
        Code::UnknownUpload
    );
    // Never made.
    assert_eq!(
        refused(session, &one(from(UploadId(4_000_000), "d/two"))).code,
        Code::UnknownUpload
    );
    assert_eq!(census(&inside), before);
    // Left behind by a session that ends.
    session
        .upload(&at("d/three"), &mut large().as_slice())
        .unwrap();
    drop(opened);
    no_temporaries(&inside);
    assert_eq!(census(&inside), before);
}

#[test]
fn an_upload_made_for_another_place_is_copied_there_with_that_places_defaults() {
    let mut arena = arena();
    let inside = arena.inside();
    crate::metadata::set_default_list(&inside.join("d"));
    let mut opened = arena.session();
    let session = &mut opened.session;
    for (made_for, used_as) in [
        ("d/x", "e/x"),
        ("e/y", "d/y"),
        ("d/z", "file"),
        ("none/deep/z", "d/z"),
    ] {
        let (upload, _) = session
            .upload(&at(made_for), &mut large().as_slice())
            .unwrap();
        match session.change(&one(from(upload, used_as))) {
            Ok(_) => assert_eq!(
                bytes(inside.join(used_as)),
                large(),
                "{made_for} as {used_as}"
            ),
            Err(error) => {
                // Refused is as good, as long as it is said and the old content is there.
                assert_eq!(
                    error.changed(),
                    portcullis_client::Changed::Unchanged,
                    "{error}"
                );
                panic!("{made_for} as {used_as}: {error}");
            }
        }
    }
    assert!(
        crate::metadata::list_of(&inside.join("e/x")).is_none(),
        "d's list is not e's"
    );
    assert!(
        crate::metadata::list_of(&inside.join("d/y")).is_some(),
        "d's list is d's"
    );
    let mut below = from(
        session
            .upload(&at("p/q/x"), &mut large().as_slice())
            .unwrap()
            .0,
        "p/q/x",
    );
    below.parents = Parents::Make;
    done(session, &one(below));
    assert_eq!(bytes(inside.join("p/q/x")), large());
    no_temporaries(&inside);
}

#[test]
fn one_upload_is_the_content_of_one_file() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let (upload, _) = session.upload(&at("d/x"), &mut large().as_slice()).unwrap();
    let before = census(&inside);
    // Two names of one file would be one object.
    for other in ["d/y", "e/y", "file"] {
        let twice = Changes::new()
            .with(from(upload, "d/x"))
            .with(from(upload, other));
        assert_eq!(refused(session, &twice).code, Code::Collision, "{other}");
    }
    assert_eq!(census(&inside), before);
    done(session, &one(from(upload, "d/x")));
    no_temporaries(&inside);
}

#[test]
fn what_a_dry_run_gave_an_upload_is_not_on_the_file_it_becomes() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.write("d/like", "old content\n");
    crate::trial::set_mode(inside.join("d/like"), 0o751);
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(
        inside.join("d/like"),
        "user.note",
        b"of another file",
        flags,
    )
    .unwrap();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let (upload, _) = session
        .upload(&at("d/new"), &mut large().as_slice())
        .unwrap();
    session.plan(&one(from(upload, "d/like"))).unwrap();
    let mut moded = from(upload, "d/new");
    moded.mode = Some(0o600);
    session.plan(&one(moded)).unwrap();
    done(session, &one(from(upload, "d/new")));
    assert_eq!(bytes(inside.join("d/new")), large());
    assert_eq!(crate::trial::mode(inside.join("d/new")), 0o644);
    let mut room = [0; 64];
    let note = rustix::fs::getxattr(inside.join("d/new"), "user.note", room.as_mut_slice());
    assert_eq!(note, Err(rustix::io::Errno::NODATA));
}

#[test]
fn no_more_uploads_are_open_than_a_session_may_have() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    let mut open = Vec::new();
    for n in 0..UPLOADS_MAX {
        open.push(
            session
                .upload(&at(format!("d/{n}")), &mut &b"x"[..])
                .unwrap()
                .0,
        );
    }
    let over = session.upload(&at("d/over"), &mut &b"x"[..]).unwrap_err();
    assert_eq!(portcullis_tests::code(&over), Code::OutOfBudget);
    assert_eq!(census(&inside), before);
    // Everything else goes on, and one that is dropped makes room.
    done(session, &one(change::write(at("file"), "beside\n")));
    session.drop_upload(open[7]).unwrap();
    let (upload, _) = session.upload(&at("d/over"), &mut &b"y"[..]).unwrap();
    done(session, &one(from(upload, "d/over")));
    assert_eq!(bytes(inside.join("d/over")), b"y");
}

/// Sends one request with content, and gives the answer's.
fn ask(socket: &OwnedFd, n: u32, request: &Request, content: &[u8]) -> Reply {
    let mut frame = Vec::new();
    encode(RequestId(n), request, content.len(), &mut frame).unwrap();
    frame.extend_from_slice(content);
    send(socket, &frame, SendFlags::empty()).unwrap();
    let mut room = vec![0; FRAME_BYTES_MAX];
    let (_, len) = recv(socket, room.as_mut_slice(), RecvFlags::empty()).unwrap();
    decode::<Reply>(&room[..len]).unwrap().message
}

#[test]
fn parts_out_of_order_are_refused_and_the_upload_stays_as_it_was() {
    let mut arena = arena();
    let inside = arena.inside();
    let opened = arena.session();
    let socket = opened.session.into_socket().unwrap();
    let hello = Request::Hello(Hello {
        version: portcullis_protocol::VERSION,
        limits: portcullis_warden::default_limits(),
        incarnation: None,
        client: portcullis_protocol::bounded::Text::default(),
    });
    assert!(matches!(ask(&socket, 1, &hello, &[]), Reply::Welcome(_)));
    let before = census(&inside);
    let part = |upload: u32, offset: u64| {
        Request::Upload(Upload {
            upload: UploadId(upload),
            selector: at("d/x"),
            offset,
        })
    };
    let code = |reply: Reply| match reply {
        Reply::Refused(refusal) => Err(refusal.code),
        Reply::Uploaded(uploaded) => Ok(uploaded.bytes),
        other => panic!("{other:?}"),
    };
    // Not begun.
    for offset in [1, 4096, u64::MAX] {
        assert_eq!(
            code(ask(&socket, 2, &part(1, offset), b"part")),
            Err(Code::UnknownUpload)
        );
    }
    assert_eq!(code(ask(&socket, 3, &part(1, 0), b"part one ")), Ok(9));
    // A gap, an overlap, the wrong one, an overflow.
    for (upload, offset) in [(1, 10), (1, 8), (1, 1), (2, 9), (1, u64::MAX), (1, 1 << 40)] {
        assert_eq!(
            code(ask(&socket, 4, &part(upload, offset), b"x")),
            Err(Code::UnknownUpload),
            "{upload} at {offset}"
        );
    }
    assert_eq!(code(ask(&socket, 5, &part(1, 9), b"part two")), Ok(17));
    // Begun again it is another.
    assert_eq!(code(ask(&socket, 6, &part(1, 0), b"again")), Ok(5));
    assert_eq!(census(&inside), before);
    let write = portcullis_protocol::session::WriteFile {
        selector: at("d/x"),
        source: portcullis_protocol::session::Source::Upload(UploadId(1)),
        expect: Expect::Absent,
        parents: Parents::Exist,
        mode: None,
    };
    let set = portcullis_protocol::session::ChangeSet {
        changes: portcullis_protocol::bounded::Few::new(vec![
            portcullis_protocol::session::Change::Write(write),
        ])
        .unwrap(),
        deed: portcullis_protocol::session::Deed::Commit,
    };
    let reply = ask(&socket, 7, &Request::Change(set), &[]);
    assert!(matches!(reply, Reply::Changed(_)), "{reply:?}");
    assert_eq!(bytes(inside.join("d/x")), b"again");
}

#[test]
fn content_over_one_request_is_written_whole() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    for size in [
        0,
        1,
        CONTENT_BYTES_MAX - 1,
        CONTENT_BYTES_MAX,
        CONTENT_BYTES_MAX + 1,
        2 * CONTENT_BYTES_MAX,
        5_000_001,
    ] {
        let content: Vec<u8> = (0..size).map(|n| u8::try_from(n % 253).unwrap()).collect();
        done(session, &one(change::write(at("file"), content.clone())));
        assert!(bytes(inside.join("file")) == content, "{size} bytes");
    }
    no_temporaries(&inside);
}
