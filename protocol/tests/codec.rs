//! What the codec promises of any bytes, for each of the six directions.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, its helpers too"
)]

#[path = "codec/arbitrary.rs"]
mod arbitrary;
#[path = "codec/bounds.rs"]
mod bounds;
#[path = "codec/edits.rs"]
mod edits;
#[path = "codec/finding.rs"]
mod finding;
#[path = "codec/memory.rs"]
mod memory;
#[path = "codec/records.rs"]
mod records;
mod sys;

use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::control::{Answer, Order};
use portcullis_protocol::frame::{DecodeError, EncodeError, Message, RequestId, decode, encode};
use portcullis_protocol::ledger::{Command, Event};
use portcullis_protocol::limits::{
    BODY_BYTES_MAX, CONTENT_BYTES_MAX, FRAME_BYTES_MAX, HEADER_BYTES, READ_FILES_MAX,
    SELECTOR_BYTES_MAX,
};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{
    Entries, Entry, More, Ping, Range, ReadPart, Reply, Request, Whoami,
};
use portcullis_protocol::view::Kind;
use proptest::prelude::*;
use std::path::Path;

/// One direction of one endpoint, whatever it says.
struct Direction {
    name: &'static str,
    tag: u8,
    canonical: bool,
    /// Decodes a packet, and gives what its message is encoded as.
    reencode: fn(&[u8]) -> Result<Vec<u8>, DecodeError>,
}

fn reencode<M: Message>(packet: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let frame = decode::<M>(packet)?;
    let mut again = Vec::new();
    encode(frame.id, &frame.message, frame.content.len(), &mut again).unwrap();
    again.extend_from_slice(frame.content);
    Ok(again)
}

const fn direction<M: Message>(name: &'static str) -> Direction {
    Direction {
        name,
        tag: M::TAG,
        canonical: M::CANONICAL,
        reencode: reencode::<M>,
    }
}

const ALL: [Direction; 6] = [
    direction::<Request>("request"),
    direction::<Reply>("reply"),
    direction::<Order>("order"),
    direction::<Answer>("answer"),
    direction::<Command>("command"),
    direction::<Event>("event"),
];

/// The golden frames of one direction.
fn golden(name: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "hex"))
        .filter(|path| {
            let file = path.file_name().unwrap().to_str().unwrap();
            file.starts_with(&format!("{name}-"))
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no golden file of {name}");
    let read = |path| {
        let text = std::fs::read_to_string(path).unwrap();
        let bytes = text.split_whitespace();
        bytes
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect()
    };
    files.into_iter().map(read).collect()
}

fn body_end(packet: &[u8]) -> usize {
    let len: [u8; 4] = packet[8..HEADER_BYTES].try_into().unwrap();
    HEADER_BYTES + usize::try_from(u32::from_le_bytes(len)).unwrap()
}

/// A frame with this body, whatever it is.
fn raw(tag: u8, code: u16, body: &[u8], content: &[u8]) -> Vec<u8> {
    let len = u32::try_from(body.len()).unwrap();
    let mut packet = vec![tag, 0];
    packet.extend_from_slice(&code.to_le_bytes());
    packet.extend_from_slice(&9_u32.to_le_bytes());
    packet.extend_from_slice(&len.to_le_bytes());
    packet.extend_from_slice(body);
    packet.extend_from_slice(content);
    packet
}

fn malformed(code: u16) -> Option<DecodeError> {
    let id = RequestId(9);
    Some(DecodeError::Malformed { id, code })
}

#[test]
fn what_untrusted_senders_write_has_one_form() {
    let canonical: Vec<_> = ALL.iter().filter(|d| d.canonical).map(|d| d.name).collect();
    assert_eq!(canonical, ["request", "order", "event"]);
    // 7 in one byte, then in two: the same number, and only the first is taken.
    assert!(decode::<Request>(&raw(0x51, 8, &[7], b"")).is_ok());
    let padded = raw(0x51, 8, &[0x87, 0], b"");
    assert_eq!(decode::<Request>(&padded).err(), malformed(8));
}

#[test]
fn a_frame_of_any_other_direction_is_refused_by_its_tag() {
    for from in &ALL {
        for packet in golden(from.name) {
            for to in ALL.iter().filter(|to| to.name != from.name) {
                assert_ne!(from.tag, to.tag);
                let refused = (to.reencode)(&packet);
                let wrong = DecodeError::WrongEndpoint(from.tag);
                assert_eq!(refused, Err(wrong), "{} to {}", from.name, to.name);
            }
        }
    }
}

#[test]
fn a_frame_cut_anywhere_is_no_frame() {
    for direction in &ALL {
        for packet in golden(direction.name) {
            for cut in 0..body_end(&packet) {
                let refused = (direction.reencode)(&packet[..cut]);
                assert_eq!(
                    refused,
                    Err(DecodeError::NotAFrame),
                    "{} at {cut}",
                    direction.name
                );
            }
        }
    }
}

#[test]
fn no_byte_of_a_frame_is_ignored() {
    for direction in &ALL {
        for packet in golden(direction.name) {
            let mut reserved = packet.clone();
            reserved[1] = 1;
            assert_eq!((direction.reencode)(&reserved), Err(DecodeError::NotAFrame));
            // One byte more, in the body and then after it.
            let end = body_end(&packet);
            let mut longer = packet.clone();
            longer.insert(end, 0);
            let len = u32::try_from(end + 1 - HEADER_BYTES).unwrap();
            longer[8..HEADER_BYTES].copy_from_slice(&len.to_le_bytes());
            let refused = (direction.reencode)(&longer);
            assert!(
                matches!(refused, Err(DecodeError::Malformed { .. })),
                "{refused:?}"
            );
            if packet.len() == end && !carries_content(direction, &packet) {
                let trailing = [&packet[..], b"x"].concat();
                let refused = (direction.reencode)(&trailing);
                assert!(
                    matches!(refused, Err(DecodeError::Malformed { .. })),
                    "{refused:?}"
                );
            }
        }
    }
}

/// Ping, pong, read parts, what brings content for a change, and what shows a difference or a
/// part of a file as it is.
fn carries_content(direction: &Direction, packet: &[u8]) -> bool {
    let code = u16::from_le_bytes([packet[2], packet[3]]);
    matches!(
        (direction.name, code),
        ("request", 9..=11 | 13)
            | ("reply", 4 | 9 | 11 | 12 | 15)
            | ("answer", 9 | 13)
            | ("event", 7 | 11 | 12)
            | ("command", 6)
    )
}

#[test]
fn an_unknown_code_is_told_with_its_request() {
    for direction in &ALL {
        for code in [20, 0x0100, u16::MAX] {
            let unknown = DecodeError::UnknownCode {
                id: RequestId(9),
                code,
            };
            let refused = (direction.reencode)(&raw(direction.tag, code, b"whatever", b""));
            assert_eq!(refused, Err(unknown), "{}", direction.name);
        }
    }
}

#[test]
fn what_is_too_large_is_not_encoded() {
    let id = RequestId(9);
    let out = &mut Vec::new();
    let ping = Request::Ping(Ping {});
    assert_eq!(encode(id, &ping, CONTENT_BYTES_MAX, out), Ok(()));
    let refused = encode(id, &ping, CONTENT_BYTES_MAX + 1, out);
    assert!(
        matches!(refused, Err(EncodeError::TooLarge(_))),
        "{refused:?}"
    );
    let refused = encode(id, &Request::Whoami(Whoami {}), 1, out);
    assert_eq!(refused, Err(EncodeError::NoContent));
    let entry = Entry {
        path: RelPath::parse(&[b'n'; 255]).unwrap(),
        kind: Kind::File,
        denied: None,
        detail: None,
    };
    let entries = |count| {
        Reply::Entries(Entries {
            start: None,
            entries: vec![entry.clone(); count],
        })
    };
    assert_eq!(encode(id, &entries(500), 0, out), Ok(()));
    assert!(out.len() <= FRAME_BYTES_MAX);
    let refused = encode(id, &entries(520), 0, out);
    assert!(
        matches!(refused, Err(EncodeError::TooLarge(_))),
        "{refused:?}"
    );
}

#[test]
fn what_is_too_large_is_not_decoded() {
    let content = vec![0; CONTENT_BYTES_MAX + 1];
    let whole = raw(0x51, 9, b"", &content[1..]);
    assert_eq!(
        decode::<Request>(&whole).unwrap().content.len(),
        CONTENT_BYTES_MAX
    );
    assert_eq!(
        decode::<Request>(&raw(0x51, 9, b"", &content)).err(),
        malformed(9)
    );
    let long = raw(0x51, 9, &vec![0; BODY_BYTES_MAX + 1], b"");
    assert_eq!(decode::<Request>(&long).err(), Some(DecodeError::NotAFrame));
    let mut claimed = raw(0x51, 9, b"", b"");
    claimed[8..HEADER_BYTES].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(
        decode::<Request>(&claimed).err(),
        Some(DecodeError::NotAFrame)
    );
}

#[test]
fn a_value_over_its_own_limit_is_malformed() {
    // stat: no root, the path, links followed.
    let stat = |len: usize| {
        let path: Bytes<{ SELECTOR_BYTES_MAX + 1 }> = Bytes::new(vec![b'a'; len]).unwrap();
        let body = postcard::to_extend(&(None::<u8>, path, 0_u8), Vec::new()).unwrap();
        raw(0x51, 2, &body, b"")
    };
    assert!(decode::<Request>(&stat(SELECTOR_BYTES_MAX)).is_ok());
    assert_eq!(
        decode::<Request>(&stat(SELECTOR_BYTES_MAX + 1)).err(),
        malformed(2)
    );
    // read: so many selectors of no root and one letter, then head of one line, no survey.
    let read = |files: usize| {
        let mut body = vec![u8::try_from(files).unwrap()];
        body.extend([0, 1, b'a'].repeat(files));
        body.extend([2, 1, 0]);
        raw(0x51, 3, &body, b"")
    };
    let frame = read(READ_FILES_MAX);
    let Request::Read(ask) = decode::<Request>(&frame).unwrap().message else {
        panic!("a read");
    };
    assert_eq!(ask.range, Range::Head { count: 1 });
    assert_eq!(
        decode::<Request>(&read(READ_FILES_MAX + 1)).err(),
        malformed(3)
    );
}

#[test]
fn a_path_on_the_wire_is_plain() {
    // read part, whose head is bound to this path.
    for (path, good) in [
        (&b"a/b"[..], true),
        (b"a/../b", false),
        (b"/a", false),
        (b"a\0", false),
    ] {
        let part = golden("reply")
            .into_iter()
            .find_map(|packet| match decode::<Reply>(&packet).unwrap().message {
                Reply::ReadPart(ReadPart { head, .. }) => head,
                Reply::Welcome(_)
                | Reply::Refused(_)
                | Reply::Whoami(_)
                | Reply::Stat(_)
                | Reply::Entries(_)
                | Reply::Matches(_)
                | Reply::Done(_)
                | Reply::Why(_)
                | Reply::Pong(_)
                | Reply::Closing(_)
                | Reply::Planned(_)
                | Reply::Changed(_)
                | Reply::Uploaded(_)
                | Reply::Composed(_)
                | Reply::Conflicted(_)
                | Reply::Delegated(_)
                | Reply::Noted(_)
                | Reply::Progress(_) => None,
            })
            .expect("a golden read part has a head");
        let path: Bytes<255> = Bytes::new(path).unwrap();
        let head = Some((part.role, part.root, path, part.observation, part.link));
        let body = postcard::to_extend(&(0_u16, 0_u64, head, None::<u8>, More::Last), Vec::new());
        let packet = raw(0x52, 4, &body.unwrap(), b"");
        assert_eq!(decode::<Reply>(&packet).is_ok(), good);
    }
}

/// A golden frame with a few bytes changed, so that much of it still decodes.
fn nearly(direction: &Direction) -> impl Strategy<Value = Vec<u8>> + use<> {
    let frames = golden(direction.name);
    let change = (any::<prop::sample::Index>(), any::<u8>());
    (
        prop::sample::select(frames),
        prop::collection::vec(change, 0..4),
    )
        .prop_map(|(mut packet, changes)| {
            for (at, byte) in changes {
                let at = at.index(packet.len() - HEADER_BYTES + 8);
                // Code and id, then the body: tag, reserved byte and length stay.
                let at = if at < 6 { at + 2 } else { at + 4 };
                if let Some(place) = packet.get_mut(at).filter(|_| !(8..12).contains(&at)) {
                    *place = byte;
                }
            }
            packet
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_bytes_give_a_frame_or_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..512), code in 0_u16..21
    ) {
        for direction in &ALL {
            drop((direction.reencode)(&bytes));
            drop((direction.reencode)(&raw(direction.tag, code, &bytes, b"")));
        }
    }

    #[test]
    fn what_decodes_from_an_untrusted_sender_is_encoded_as_it_came(
        request in nearly(&ALL[0]), order in nearly(&ALL[2]), event in nearly(&ALL[5])
    ) {
        for (n, packet) in [(0, request), (2, order), (5, event)] {
            if let Ok(again) = (ALL[n].reencode)(&packet) {
                prop_assert_eq!(again, packet);
            }
        }
    }

    #[test]
    fn what_decodes_from_a_trusted_sender_keeps_its_meaning(
        reply in nearly(&ALL[1]), answer in nearly(&ALL[3]), command in nearly(&ALL[4])
    ) {
        for (n, packet) in [(1, reply), (3, answer), (4, command)] {
            if let Ok(once) = (ALL[n].reencode)(&packet) {
                prop_assert_eq!((ALL[n].reencode)(&once), Ok(once.clone()));
            }
        }
    }
}
