//! Streams and pipelines: order, early ends, and the session afterwards.

mod paged;

use super::*;
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::session::{
    Completeness, CutReason, Done, Entries, Entry, Found, FoundLine, LineRole, Matches, Statistics,
};

fn entries(names: &[&str]) -> Entries {
    Entries {
        start: None,
        entries: names
            .iter()
            .map(|name| Entry {
                path: RelPath::parse(name.as_bytes()).unwrap(),
                kind: Kind::File,
                denied: None,
                detail: None,
            })
            .collect(),
    }
}

fn first(names: &[&str]) -> Entries {
    Entries {
        start: Some(bound("d")),
        ..entries(names)
    }
}

fn done(completeness: Completeness) -> Done {
    Done {
        completeness,
        statistics: Statistics {
            denied: 3,
            ..Statistics::default()
        },
    }
}

const CANCELLED: Completeness = Completeness::Cut {
    reason: CutReason::Cancelled,
    cursor: None,
};

#[test]
fn the_first_stream_is_asked_for_together_with_the_hello() {
    let (mut session, gate) = ungreeted(|gate| {
        let (hello, request, _) = gate.next();
        assert!(matches!(request, Request::Hello(_)), "{request:?}");
        // It is there before the hello is answered.
        let (id, request, _) = gate.next();
        assert!(matches!(request, Request::List(_)), "{request:?}");
        gate.send(hello, &Reply::Welcome(welcome(VERSION)), &[]);
        gate.send(id, &Reply::Entries(first(&["a"])), &[]);
        gate.send(id, &Reply::Done(done(Completeness::Complete)), &[]);
        answer_ping(gate);
    });
    let list = ask::list(ask::selector("d").unwrap());
    let names: Vec<_> = session.list(&list).unwrap().map(Result::unwrap).collect();
    assert_eq!(names, entries(&["a"]).entries);
    session.ping(b"").unwrap();
    gate.join().unwrap();
}

#[test]
fn what_was_sent_with_a_hello_that_does_not_hold_is_not_believed() {
    let (mut session, gate) = ungreeted(|gate| {
        let (hello, ..) = gate.next();
        let (id, ..) = gate.next();
        gate.send(hello, &Reply::Welcome(welcome(2)), &[]);
        gate.send(id, &Reply::Entries(first(&["a"])), &[]);
    });
    let list = ask::list(ask::selector("d").unwrap());
    let error = session.list(&list).unwrap_err();
    assert_eq!(violation(&error), Violation::Version(2));
    assert_eq!(session.whoami().unwrap_err(), error);
    gate.join().unwrap();
}

/// Takes requests until one is a cancel of `id`.
fn await_cancel(gate: &mut Gate, id: RequestId) {
    let (own, request, _) = gate.next();
    assert!(
        matches!(&request, Request::Cancel(cancel) if cancel.request == id.0),
        "{request:?}"
    );
    assert_ne!(own, id);
}

fn answer_ping(gate: &mut Gate) {
    let (id, request, content) = gate.next();
    assert_eq!(request, Request::Ping(Ping {}));
    gate.send(id, &Reply::Pong(Ping {}), &content);
}

#[test]
fn a_stream_gives_every_item_and_then_its_end() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Entries(first(&["a", "b"])), &[]);
        gate.send(id, &Reply::Entries(entries(&[])), &[]);
        gate.send(id, &Reply::Entries(entries(&["c"])), &[]);
        gate.send(id, &Reply::Done(done(Completeness::Complete)), &[]);
        answer_ping(gate);
    });
    let list = ask::list(ask::selector("d").unwrap());
    let mut stream = session.list(&list).unwrap();
    assert_eq!(stream.start(), Some(&bound("d")));
    let names: Vec<String> = stream
        .by_ref()
        .map(|e| e.unwrap().path.to_string())
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(stream.finish().unwrap(), done(Completeness::Complete));
    session.ping(b"still there").unwrap();
    gate.join().unwrap();
}

#[test]
fn lines_of_a_search_arrive_in_order() {
    let line = |number| {
        Found::Line(FoundLine {
            role: LineRole::Match,
            number,
            offset: 0,
            column: 1,
            text: Bytes::default(),
            cut_before: 0,
            cut_after: 0,
        })
    };
    let found = [line(1), line(5)];
    let sent = found.clone();
    let (mut session, gate) = session(move |gate| {
        let (id, ..) = gate.next();
        let matches = Matches {
            start: Some(bound("d")),
            found: sent.to_vec(),
        };
        gate.send(id, &Reply::Matches(matches), &[]);
        gate.send(id, &Reply::Done(done(Completeness::Complete)), &[]);
    });
    let search = ask::search(ask::selector("d").unwrap(), "x").unwrap();
    let stream = session.search(&search).unwrap();
    let all: Result<Vec<Found>, Error> = stream.collect();
    assert_eq!(all.unwrap(), found);
    gate.join().unwrap();
}

#[test]
fn a_refused_stream_never_begins() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Refused(Refusal::new(Code::NotADirectory)), &[]);
        answer_ping(gate);
    });
    let list = ask::list(ask::selector("f").unwrap());
    assert_eq!(
        session.list(&list).unwrap_err().code_name(),
        "not_a_directory"
    );
    session.ping(b"").unwrap();
    gate.join().unwrap();
}

#[test]
fn a_refusal_in_the_middle_is_the_last_item() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Entries(first(&["a"])), &[]);
        gate.send(id, &Reply::Refused(Refusal::new(Code::RootGone)), &[]);
        answer_ping(gate);
    });
    let list = ask::list(ask::selector("d").unwrap());
    let mut stream = session.list(&list).unwrap();
    assert!(stream.next().unwrap().is_ok());
    assert_eq!(stream.next().unwrap().unwrap_err().code_name(), "root_gone");
    assert!(stream.next().is_none());
    assert_eq!(stream.finish().unwrap_err().code_name(), "root_gone");
    session.ping(b"").unwrap();
    gate.join().unwrap();
}

#[test]
fn a_stream_dropped_early_is_cancelled_and_drained() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Entries(first(&["a", "b"])), &[]);
        gate.send(id, &Reply::Entries(entries(&["c"])), &[]);
        await_cancel(gate, id);
        gate.send(id, &Reply::Entries(entries(&["d"])), &[]);
        gate.send(id, &Reply::Done(done(CANCELLED)), &[]);
        answer_ping(gate);
    });
    let list = ask::list(ask::selector("d").unwrap());
    let mut stream = session.list(&list).unwrap();
    assert!(stream.next().unwrap().is_ok());
    drop(stream);
    session.ping(b"the next request is answered").unwrap();
    gate.join().unwrap();
}

#[test]
fn a_stream_finished_early_says_that_it_was_cut() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Entries(first(&["a"])), &[]);
        await_cancel(gate, id);
        gate.send(id, &Reply::Done(done(CANCELLED)), &[]);
    });
    let list = ask::list(ask::selector("d").unwrap());
    let stream = session.list(&list).unwrap();
    assert_eq!(stream.finish().unwrap(), done(CANCELLED));
    gate.join().unwrap();
}

#[test]
fn a_second_start_or_another_kind_ends_the_session() {
    for bad in [
        Reply::Entries(first(&["b"])),
        Reply::Matches(Matches {
            start: None,
            found: Vec::new(),
        }),
    ] {
        let (mut session, gate) = session(move |gate| {
            let (id, ..) = gate.next();
            gate.send(id, &Reply::Entries(first(&["a"])), &[]);
            gate.send(id, &bad, &[]);
            assert!(
                gate.try_next().is_none(),
                "nothing more is said to a hostile gate"
            );
        });
        let list = ask::list(ask::selector("d").unwrap());
        let all: Vec<_> = session.list(&list).unwrap().collect();
        let error = all.last().unwrap().as_ref().unwrap_err();
        assert_eq!(violation(error), Violation::WrongKind);
        assert_eq!(session.whoami().unwrap_err(), *error);
        drop(session);
        gate.join().unwrap();
    }
}

#[test]
fn a_read_dropped_early_is_cancelled_and_drained() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        let head = ReadPart {
            head: Some(bound("a")),
            ..part(0, 0, More::Follows)
        };
        gate.send(id, &Reply::ReadPart(head), b"abc");
        await_cancel(gate, id);
        gate.send(id, &Reply::ReadPart(part(0, 3, More::Follows)), b"def");
        gate.send(id, &Reply::Done(done(CANCELLED)), &[]);
        answer_ping(gate);
    });
    let read = ask::read(ask::selector("a").unwrap());
    let mut stream = session.read_stream(&read).unwrap();
    let (first, bytes) = stream.next_part().unwrap().unwrap();
    assert_eq!((first.head, bytes), (Some(bound("a")), &b"abc"[..]));
    drop(stream);
    session.ping(b"").unwrap();
    gate.join().unwrap();
}

#[test]
fn many_reads_are_in_flight_and_their_answers_are_matched_by_id() {
    let (mut session, gate) = session(|gate| {
        let mut waiting = Vec::new();
        let mut most = 0;
        for n in 0..10_u64 {
            let (id, request, _) = gate.next();
            let Request::Read(read) = request else {
                panic!("{request:?}");
            };
            waiting.push((id, read.selectors.as_slice()[0].path.as_slice().to_vec()));
            most = most.max(waiting.len());
            // The last of four is answered first: the client may not rely on order.
            while waiting.len() == usize::from(LIMITS.in_flight) || (n == 9 && !waiting.is_empty())
            {
                let (id, name) = waiting.pop().unwrap();
                if name == b"f3" {
                    gate.send(id, &Reply::Refused(Refusal::new(Code::NotFound)), &[]);
                    continue;
                }
                let whole = ReadPart {
                    head: Some(bound(std::str::from_utf8(&name).unwrap())),
                    tail: Some(ReadTail::Read(end(2))),
                    ..part(0, 0, More::Last)
                };
                gate.send(id, &Reply::ReadPart(whole), &name);
            }
        }
        assert_eq!(most, usize::from(LIMITS.in_flight));
    });
    let reads: Vec<_> = (0..10)
        .map(|n| {
            let mut read = ask::read(ask::selector(format!("f{n}")).unwrap());
            read.range = portcullis_protocol::session::Range::Bytes {
                offset: 0,
                length: 4096,
            };
            read
        })
        .collect();
    let answers = session.pipeline_read(&reads).unwrap();
    for (n, answer) in answers.into_iter().enumerate() {
        match answer {
            Ok(files) => {
                let file = files.into_iter().next().unwrap().unwrap();
                assert_eq!(file.bytes, format!("f{n}").as_bytes());
            }
            Err(error) => assert_eq!((n, error.code_name()), (3, "not_found")),
        }
    }
    gate.join().unwrap();
}

#[test]
fn a_stranger_in_a_pipeline_ends_the_session() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        gate.send(
            RequestId(id.0.wrapping_add(1000)),
            &Reply::Refused(Refusal::new(Code::Io)),
            &[],
        );
        while gate.try_next().is_some() {}
    });
    let reads = vec![ask::read(ask::selector("a").unwrap()); 2];
    let error = session.pipeline_read(&reads).unwrap_err();
    assert!(matches!(violation(&error), Violation::UnknownId(_)));
    drop(session);
    gate.join().unwrap();
}
