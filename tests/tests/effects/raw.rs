//! A worker without the client: one request, its answer, and the content behind it.

use portcullis_client::Session;
use portcullis_protocol::VERSION;
use portcullis_protocol::bounded::{Few, Text};
use portcullis_protocol::frame::{RequestId, decode, encode};
use portcullis_protocol::limits::{CONTENT_BYTES_MAX, FRAME_BYTES_MAX};
use portcullis_protocol::session::{
    Change, ChangeComposed, ChangeSet, Compose, Count, Deed, EditFile, Expect, Hello, Replace,
    Reply, Request, Span, TextEdit, Tiers, encode_composed,
};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::os::fd::OwnedFd;

/// A worker's socket, greeted.
pub struct Raw {
    socket: OwnedFd,
    n: u32,
}

impl Raw {
    #[track_caller]
    pub fn new(session: Session) -> Self {
        let mut raw = Self {
            socket: session.into_socket().unwrap(),
            n: 0,
        };
        let hello = Request::Hello(Hello {
            version: VERSION,
            limits: portcullis_warden::default_limits(),
            incarnation: None,
            client: Text::default(),
        });
        assert!(matches!(raw.ask(&hello, &[]).0, Reply::Welcome(_)));
        raw
    }

    /// Sends one request, and takes one frame.
    #[track_caller]
    pub fn ask(&mut self, request: &Request, content: &[u8]) -> (Reply, Vec<u8>) {
        self.n += 1;
        let mut frame = Vec::new();
        encode(RequestId(self.n), request, content.len(), &mut frame).unwrap();
        frame.extend_from_slice(content);
        send(&self.socket, &frame, SendFlags::empty()).unwrap();
        let mut room = vec![0; FRAME_BYTES_MAX];
        let (_, len) = recv(&self.socket, room.as_mut_slice(), RecvFlags::empty()).unwrap();
        let frame = decode::<Reply>(&room[..len]).unwrap();
        assert_eq!(frame.id, RequestId(self.n));
        (frame.message, frame.content.to_vec())
    }

    /// Sends one change set that fits its frame.
    #[track_caller]
    pub fn change(&mut self, deed: Deed, changes: Vec<Change>, content: &[u8]) -> (Reply, Vec<u8>) {
        self.ask(&Request::Change(set(deed, changes)), content)
    }

    /// Sends a part of a composed change set.
    #[track_caller]
    pub fn compose(&mut self, offset: u64, part: &[u8]) -> Reply {
        self.ask(&Request::Compose(Compose { offset }), part).0
    }

    /// Sends a change set and its content in parts, and says how they are asked for.
    #[track_caller]
    pub fn compose_all(&mut self, set: &ChangeSet, content: &[u8]) -> ChangeComposed {
        let (bytes, ask) = encode_composed(set, content).unwrap();
        let mut sent = 0;
        for part in bytes.chunks(CONTENT_BYTES_MAX) {
            let Reply::Composed(composed) = self.compose(sent, part) else {
                panic!("a part is not kept");
            };
            sent += u64::try_from(part.len()).unwrap();
            assert_eq!(composed.bytes, sent);
        }
        ask
    }
}

/// A change set.
pub fn set(deed: Deed, changes: Vec<Change>) -> ChangeSet {
    ChangeSet {
        changes: Few::new(changes).unwrap(),
        deed,
    }
}

/// Puts bytes behind a request.
pub fn put(content: &mut Vec<u8>, bytes: &[u8]) -> Span {
    let start = u32::try_from(content.len()).unwrap();
    content.extend_from_slice(bytes);
    Span {
        start,
        len: u32::try_from(bytes.len()).unwrap(),
    }
}

/// The one place of each text replaced, in one file.
pub fn edit(
    name: impl AsRef<[u8]>,
    expect: Expect,
    texts: &[(&[u8], &[u8])],
    content: &mut Vec<u8>,
) -> Change {
    let edits = texts
        .iter()
        .map(|(old, new)| {
            TextEdit::Replace(Replace {
                old: put(content, old),
                new: put(content, new),
                count: Count::Exactly(1),
            })
        })
        .collect();
    Change::Edit(EditFile {
        selector: crate::trial::at(name),
        expect,
        edits: Few::new(edits).unwrap(),
        tiers: Tiers::DEFAULT,
        mode: None,
    })
}
