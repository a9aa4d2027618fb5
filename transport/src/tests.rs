//! What may come with a packet of a side that takes one descriptor.

use super::*;
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::ledger::{Asked, Event};
use portcullis_protocol::view::Digest;

fn sides() -> (Endpoint<GateSide>, Endpoint<LedgerSide>) {
    let (a, b) = pair().unwrap();
    (Endpoint::new(a).unwrap(), Endpoint::new(b).unwrap())
}

fn propose() -> Event {
    Event::Propose(Asked {
        id: 7,
        code: 3,
        body: Bytes::new(vec![1, 2, 3]).unwrap(),
        input: Digest([9; 32]),
    })
}

#[test]
fn one_descriptor_comes_with_its_message_and_its_content() {
    let (gate, warden) = sides();
    let (socket, _other) = pair().unwrap();
    gate.send_all(RequestId(5), &propose(), b"content", &[socket.as_fd()])
        .unwrap();
    let mut buffer = Buffer::new();
    let (frame, descriptors) = warden.receive(&mut buffer).unwrap().decode().unwrap();
    assert_eq!(
        (frame.id, frame.message, frame.content, descriptors.len()),
        (RequestId(5), propose(), b"content".as_slice(), 1)
    );
}

#[test]
fn more_than_one_descriptor_is_refused_and_the_next_packet_is_sound() {
    for count in [2, 3, DESCRIPTORS_MAX] {
        let (gate, warden) = sides();
        let (socket, _other) = pair().unwrap();
        let many = vec![socket.as_fd(); count];
        gate.send_all(RequestId(5), &propose(), b"", &many).unwrap();
        gate.send_all(RequestId(6), &propose(), b"", &[]).unwrap();
        let mut buffer = Buffer::new();
        assert!(
            matches!(
                warden.receive(&mut buffer),
                Err(TransportError::UnwantedDescriptors)
            ),
            "{count}"
        );
        let (frame, descriptors) = warden.receive(&mut buffer).unwrap().decode().unwrap();
        assert_eq!((frame.id, descriptors.len()), (RequestId(6), 0), "{count}");
    }
}
