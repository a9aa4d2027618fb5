//! Peers that break the protocol: each gives a typed error, and is not listened to again.

use super::*;

fn head(file: u16, offset: u64, more: More) -> ReadPart {
    ReadPart {
        head: Some(bound("a")),
        ..part(file, offset, more)
    }
}

/// The violation that these parts of one read are.
fn read_of(parts: Vec<(ReadPart, &'static [u8])>) -> Violation {
    let (mut session, gate) = session(move |gate| {
        let (id, ..) = gate.next();
        for (part, bytes) in &parts {
            gate.send(id, &Reply::ReadPart(part.clone()), bytes);
        }
    });
    let error = session.read_file(ask::selector("a").unwrap()).unwrap_err();
    gate.join().unwrap();
    violation(&error)
}

#[test]
fn parts_out_of_order_end_the_session() {
    let tail = |offset| ReadPart {
        tail: Some(ReadTail::Read(end(3))),
        ..part(0, offset, More::Last)
    };
    for parts in [
        vec![(part(0, 0, More::Follows), &b"no head"[..])],
        vec![(head(1, 0, More::Follows), b"another file")],
        vec![(head(0, 0, More::Last), b"last without a tail")],
        vec![(head(0, u64::MAX, More::Follows), b"past the end of numbers")],
        vec![(head(0, 0, More::Follows), b"abc"), (tail(4), b"a gap")],
        vec![
            (head(0, 0, More::Follows), b"abc"),
            (tail(2), b"an overlap"),
        ],
        vec![
            (head(0, 0, More::Follows), b"abc"),
            (head(0, 3, More::Last), b"a second head"),
        ],
    ] {
        let last = parts.last().unwrap().1.escape_ascii();
        assert_eq!(read_of(parts.clone()), Violation::WrongKind, "{last}");
    }
}

/// The violation that what `script` says to a `stat` is.
fn stat_of(script: impl FnOnce(&Gate, RequestId) + Send + 'static) -> Violation {
    let (mut session, gate) = session(move |gate| {
        let (id, ..) = gate.next();
        script(gate, id);
        // A good answer after the bad one changes nothing, if the client is still there for it.
        let good = Reply::Stat(bound("a"));
        gate.endpoint.send(&mut Vec::new(), id, &good, &[]).ok();
        assert!(gate.try_next().is_none());
    });
    let stat = ask::stat(ask::selector("a").unwrap());
    let error = session.stat(&stat).unwrap_err();
    assert_eq!(session.stat(&stat).unwrap_err(), error);
    drop(session);
    gate.join().unwrap();
    violation(&error)
}

#[test]
fn an_answer_to_another_request_ends_the_session() {
    let other = stat_of(|gate, id| gate.send(RequestId(id.0 ^ 1), &Reply::Stat(bound("a")), &[]));
    assert!(matches!(other, Violation::UnknownId(_)));
    let none = stat_of(|gate, _| gate.send(RequestId::NONE, &Reply::Stat(bound("a")), &[]));
    assert_eq!(none, Violation::UnknownId(0));
}

#[test]
fn an_answer_of_another_kind_ends_the_session() {
    let pong = stat_of(|gate, id| gate.send(id, &Reply::Pong(Ping {}), &[]));
    assert_eq!(pong, Violation::WrongKind);
}

#[test]
fn garbage_ends_the_session() {
    for bytes in [&b"garbage"[..], &[0x52; 40], &[0x51; 12], &[0x44; 64]] {
        let garbage = stat_of(move |gate, _| gate.raw(bytes));
        assert!(matches!(garbage, Violation::Undecodable(_)), "{garbage:?}");
    }
}

#[test]
fn a_packet_longer_than_any_frame_ends_the_session() {
    let long = stat_of(|gate, _| gate.raw(&vec![0x52; 128 * 1024 + 1]));
    assert_eq!(long, Violation::TooLong);
}
