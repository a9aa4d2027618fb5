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

fn worker_and_gate() -> (Endpoint<WorkerSide>, Endpoint<SessionSide>) {
    let (a, b) = pair().unwrap();
    (Endpoint::new(a).unwrap(), Endpoint::new(b).unwrap())
}

fn noted() -> Reply {
    Reply::Noted(session::Noted {})
}

#[test]
fn a_worker_is_given_a_descriptor_only_while_it_waits_for_one() {
    let (mut worker, gate) = worker_and_gate();
    let (socket, _other) = pair().unwrap();
    let pass = || gate.send_with(RequestId(1), &noted(), &[socket.as_fd()]);
    let mut buffer = Buffer::new();
    let refused = |worker: &Endpoint<WorkerSide>, buffer: &mut Buffer| match worker.rights {
        Rights::RefusedBefore => {
            assert!(matches!(pass(), Err(TransportError::Kernel(Errno::PERM))));
        }
        // A kernel of before 6.16: it comes, and whoever takes the frame sees that it did.
        Rights::MayCome => {
            pass().unwrap();
            let (_, came) = worker.receive(buffer).unwrap().decode().unwrap();
            assert_eq!(came.len(), 1);
        }
    };
    refused(&worker, &mut buffer);
    worker.accept_descriptor().unwrap();
    pass().unwrap();
    let (frame, came) = worker.receive(&mut buffer).unwrap().decode().unwrap();
    assert_eq!((frame.message, came.len()), (noted(), 1));
    worker.refuse_descriptors().unwrap();
    refused(&worker, &mut buffer);
}

#[test]
fn a_worker_that_waits_for_one_descriptor_takes_no_two() {
    let (mut worker, gate) = worker_and_gate();
    worker.accept_descriptor().unwrap();
    let (socket, _other) = pair().unwrap();
    let two = [socket.as_fd(), socket.as_fd()];
    gate.send_with(RequestId(1), &noted(), &two).unwrap();
    assert!(matches!(
        worker.receive(&mut Buffer::new()),
        Err(TransportError::UnwantedDescriptors)
    ));
}
