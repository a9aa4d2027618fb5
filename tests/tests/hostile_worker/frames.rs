//! Packets that are no frames, frames that are no requests, and requests out of turn.

use crate::raw::{Raw, bytes_of, cause, hello};
use portcullis_client::ask;
use portcullis_client::protocol::control::OverCause;
use portcullis_client::protocol::frame::RequestId;
use portcullis_client::protocol::limits::FRAME_BYTES_MAX;
use portcullis_client::protocol::refusal::Code;
use portcullis_client::protocol::session::{Closing, Done, Incarnation, List, Reply, Request};
use portcullis_tests::{World, own, read};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;

/// A header and a body that may lie about each other.
fn packet(start: [u8; 2], code: u16, id: u32, body_len: u32, rest: &[u8]) -> Vec<u8> {
    let mut bytes = start.to_vec();
    bytes.extend(code.to_le_bytes());
    bytes.extend(id.to_le_bytes());
    bytes.extend(body_len.to_le_bytes());
    bytes.extend(rest);
    bytes
}

fn stat() -> Request {
    Request::Stat(ask::stat(ask::selector("f").unwrap()))
}

#[test]
fn what_is_no_frame_of_a_session_ends_that_session_alone() {
    let mut world = World::new(own!("own-gate"));
    world.write("f", "f");
    let mut other = world.session();
    let cases: &[(&str, Vec<u8>)] = &[
        ("an order of control", packet([0x43, 0], 0, 1, 0, &[])),
        ("an answer of control", packet([0x44, 0], 0, 1, 0, &[])),
        ("a command of the ledger", packet([0x4c, 0], 0, 1, 0, &[])),
        ("an event of the ledger", packet([0x4d, 0], 0, 1, 0, &[])),
        ("its own reply", packet([0x52, 0], 9, 1, 0, &[])),
        ("one byte", vec![0x51]),
        ("less than a header", vec![0x51; 11]),
        ("a body that is not there", packet([0x51, 0], 1, 1, 1, &[])),
        ("a body of 4 GiB", packet([0x51, 0], 1, 1, u32::MAX, &[])),
        (
            "a second byte that is not zero",
            packet([0x51, 1], 1, 1, 0, &[]),
        ),
        ("garbage", vec![0xa5; 300]),
        (
            "one byte more than a frame",
            vec![0x51; FRAME_BYTES_MAX + 1],
        ),
        ("twice a frame", vec![0; 2 * FRAME_BYTES_MAX]),
    ];
    for greeted in [false, true] {
        for (what, bytes) in cases {
            let opened = world.session();
            let id = opened.id;
            let mut raw = if greeted {
                Raw::greeted(opened.session)
            } else {
                Raw::new(opened.session)
            };
            raw.send(bytes).unwrap();
            assert_eq!(raw.end(), Some(Closing::NotAFrame), "{what}");
            assert_eq!(cause(&mut world, id), OverCause::WorkerMisbehaved, "{what}");
            assert_eq!(read(&mut other.session, "f").unwrap(), b"f", "{what}");
        }
    }
}

#[test]
fn an_empty_packet_is_the_end_of_a_session() {
    let mut world = World::new(own!("own-gate"));
    let opened = world.session();
    let mut raw = Raw::greeted(opened.session);
    raw.send(&[]).unwrap();
    assert_eq!(raw.end(), None);
    assert_eq!(cause(&mut world, opened.id), OverCause::WorkerLeft);
}

#[test]
fn a_request_before_hello_is_out_of_turn_and_a_second_hello_changes_nothing() {
    let mut world = World::new(own!("own-gate"));
    world.write("f", "f");
    let opened = world.session();
    let mut raw = Raw::new(opened.session);
    raw.ask(1, &stat());
    assert_eq!(raw.refused(1), Code::OutOfTurn);
    raw.ask(2, &hello());
    let (RequestId(2), Reply::Welcome(first)) = raw.next() else {
        panic!("no welcome")
    };
    // Programs of one worker take turns on its socket, and each says hello. What a later one says
    // of limits moves nothing.
    let Request::Hello(mut wide) = hello() else {
        panic!("no hello")
    };
    wide.limits.in_flight = u16::MAX;
    wide.limits.streams = u16::MAX;
    raw.ask(3, &Request::Hello(wide));
    let (RequestId(3), Reply::Welcome(second)) = raw.next() else {
        panic!("no welcome")
    };
    assert_eq!(first, second);
    raw.goes_on();
}

#[test]
fn a_hello_of_another_version_or_for_another_broker_is_refused_and_ends_the_session() {
    let mut world = World::new(own!("own-gate"));
    let Request::Hello(sound) = hello() else {
        panic!("no hello")
    };
    let mut version = sound.clone();
    version.version += 1;
    let mut broker = sound.clone();
    broker.incarnation = Some(Incarnation([0x11; 16]));
    let mut room = sound;
    room.limits.frame_bytes = 1024;
    for hello in [version, broker, room] {
        let opened = world.session();
        let mut raw = Raw::new(opened.session);
        raw.ask(1, &Request::Hello(hello));
        assert_eq!(raw.refused(1), Code::VersionMismatch);
        assert_eq!(raw.end(), Some(Closing::Incompatible));
        assert_eq!(cause(&mut world, opened.id), OverCause::WorkerMisbehaved);
    }
}

#[test]
fn frames_that_are_no_requests_are_refused_by_their_id_and_the_session_goes_on() {
    let mut world = World::new(own!("own-gate"));
    world.write("f", "f");
    let opened = world.session();
    let mut raw = Raw::greeted(opened.session);
    // A code of a newer client.
    for code in [18, 999, u16::MAX] {
        raw.send(&packet([0x51, 0], code, 5, 3, b"abc")).unwrap();
        assert_eq!(raw.refused(5), Code::UnsupportedVerb);
    }
    // No request.
    raw.ask(0, &stat());
    assert_eq!(raw.refused(0), Code::Malformed);
    let sound = bytes_of(6, &stat());
    let (header, body) = sound.split_at(12);
    // Body too short, with a byte too many, with a length that is not the only form of itself.
    raw.send(&packet(
        [0x51, 0],
        2,
        6,
        body.len() as u32 - 1,
        &body[..body.len() - 1],
    ))
    .unwrap();
    assert_eq!(raw.refused(6), Code::Malformed);
    raw.send(&packet(
        [0x51, 0],
        2,
        6,
        body.len() as u32 + 1,
        &[body, &[0]].concat(),
    ))
    .unwrap();
    assert_eq!(raw.refused(6), Code::Malformed);
    // No root (0), a path of one byte (1), `f`, links followed (0).
    assert_eq!(body, [0, 1, b'f', 0]);
    raw.send(&packet([0x51, 0], 2, 6, 5, &[0, 0x81, 0, b'f', 0]))
        .unwrap();
    assert_eq!(raw.refused(6), Code::Malformed);
    // A variant that is not there, and a length of more than memory.
    raw.send(&packet([0x51, 0], 2, 6, 4, &[0, 1, b'f', 9]))
        .unwrap();
    assert_eq!(raw.refused(6), Code::Malformed);
    raw.send(&packet(
        [0x51, 0],
        2,
        6,
        6,
        &[0, 0xff, 0xff, 0xff, 0xff, 0x0f],
    ))
    .unwrap();
    assert_eq!(raw.refused(6), Code::Malformed);
    // Content on a message that carries none.
    raw.send(&[header, body, b"content"].concat()).unwrap();
    assert_eq!(raw.refused(6), Code::Malformed);
    raw.send(&sound).unwrap();
    assert!(matches!(raw.next(), (RequestId(6), Reply::Stat(_))));
    raw.goes_on();
}

/// A directory whose listing is larger than a socket holds.
fn large(world: &World) -> List {
    std::fs::create_dir(world.inside().join("large")).unwrap();
    for n in 0..9_000 {
        let name = format!("large/{n:05}-{}", "x".repeat(200));
        std::fs::write(world.inside().join(name), "").unwrap();
    }
    ask::list(ask::selector("large").unwrap())
}

/// Requests that ended, each with how.
type Ends<T> = Vec<(u32, T)>;

/// Takes frames until this many requests ended; gives the refused ones and the done ones.
fn take(raw: &mut Raw, ends: usize) -> (Ends<Code>, Ends<Done>) {
    let (mut refused, mut done) = (Vec::new(), Vec::new());
    while refused.len() + done.len() < ends {
        match raw.next() {
            (id, Reply::Refused(refusal)) => refused.push((id.0, refusal.code)),
            (id, Reply::Done(end)) => done.push((id.0, end)),
            (_, Reply::Entries(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    (refused, done)
}

#[test]
fn more_streams_than_allowed_are_refused_and_the_others_are_answered_whole() {
    let mut world = World::new(own!("own-gate"));
    let list = large(&world);
    let opened = world.session();
    let mut raw = Raw::greeted(opened.session);
    for id in 1..=6 {
        raw.ask(id, &Request::List(list.clone()));
    }
    let (mut refused, done) = take(&mut raw, 6);
    refused.sort_unstable_by_key(|(id, _)| *id);
    assert_eq!(
        refused,
        [(5, Code::TooManyInFlight), (6, Code::TooManyInFlight)]
    );
    assert!(
        done.iter().all(|(_, done)| done.statistics.sent == 9_000),
        "{done:?}"
    );
    raw.goes_on();
}

#[test]
fn the_id_of_a_running_stream_is_not_taken_twice() {
    let mut world = World::new(own!("own-gate"));
    let list = large(&world);
    let opened = world.session();
    let mut raw = Raw::greeted(opened.session);
    raw.ask(7, &Request::List(list.clone()));
    raw.ask(7, &Request::List(list));
    let (refused, done) = take(&mut raw, 2);
    assert_eq!(refused, [(7, Code::Malformed)]);
    assert_eq!(done[0].1.statistics.sent, 9_000);
    raw.goes_on();
}

#[test]
fn a_slot_of_a_stream_is_free_when_its_end_is_read() {
    let mut world = World::new(own!("own-gate"));
    world.write("f", "f");
    let opened = world.session();
    let mut raw = Raw::greeted(opened.session);
    let list = ask::list(ask::selector(".").unwrap());
    for id in 1..=4 {
        raw.ask(id, &Request::List(list.clone()));
    }
    // Each end makes room for one more, at once, under the same id even.
    for _ in 0..5_000 {
        match raw.next() {
            (RequestId(id), Reply::Done(_)) => raw.ask(id, &Request::List(list.clone())),
            (_, Reply::Entries(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn more_requests_at_once_than_the_hello_allows_are_each_answered_or_refused() {
    let mut world = World::new(own!("own-gate"));
    world.write("f", "f");
    let opened = world.session();
    let mut raw = Raw::greeted(opened.session);
    for id in 1..=65 {
        raw.ask(id, &stat());
    }
    for id in 1..=65 {
        match raw.next() {
            (RequestId(from), Reply::Stat(_)) if from == id => {}
            (RequestId(from), Reply::Refused(refusal))
                if from == id && refusal.code == Code::TooManyInFlight => {}
            other => panic!("{other:?}"),
        }
    }
    raw.goes_on();
}

#[test]
fn the_kernel_refuses_descriptors_sent_to_a_gate_and_the_session_goes_on() {
    let mut world = World::new(own!("own-gate"));
    let opened = world.session();
    let mut raw = Raw::greeted(opened.session);
    let file = std::fs::File::open(world.outside().join("secret")).unwrap();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [file.as_fd()];
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)));
    let request = bytes_of(1, &stat());
    let parts = [IoSlice::new(&request)];
    let sent = rustix::net::sendmsg(&raw.endpoint, &parts, &mut ancillary, SendFlags::NOSIGNAL);
    assert_eq!(sent, Err(Errno::PERM));
    raw.goes_on();
}
