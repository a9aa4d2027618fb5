//! Progress between items, and answers in pages.

use super::*;
use crate::stream::Part;
use portcullis_protocol::session::{Cursor, List, Progress};

fn progress(files: u64) -> Progress {
    Progress {
        directories: 1,
        files,
        bytes: 0,
        sent: 0,
    }
}

fn limit(cursor: &[u8]) -> Completeness {
    Completeness::Cut {
        reason: CutReason::Limit,
        cursor: Some(Cursor::new(cursor).unwrap()),
    }
}

/// Says how far it is before, between and behind what it finds.
fn slow(gate: &mut Gate) {
    let (id, ..) = gate.next();
    gate.send(id, &Reply::Progress(progress(1)), &[]);
    gate.send(id, &Reply::Progress(progress(2)), &[]);
    gate.send(id, &Reply::Entries(first(&["a", "b"])), &[]);
    gate.send(id, &Reply::Progress(progress(3)), &[]);
    gate.send(id, &Reply::Entries(entries(&["c"])), &[]);
    gate.send(id, &Reply::Progress(progress(4)), &[]);
    gate.send(id, &Reply::Done(done(Completeness::Complete)), &[]);
    answer_ping(gate);
}

#[test]
fn progress_is_between_the_items_and_before_the_first() {
    let (mut session, gate) = session(slow);
    let list = ask::list(ask::selector("d").unwrap());
    let mut stream = session.list(&list).unwrap();
    assert_eq!(stream.start(), None, "nothing was found yet");
    let mut told = Vec::new();
    while let Some(part) = stream.next_part() {
        told.push(match part.unwrap() {
            Part::Items(items) => items.iter().map(|e| e.path.to_string()).collect(),
            Part::Progress(progress) => progress.files.to_string(),
        });
    }
    assert_eq!(told, ["1", "2", "ab", "3", "c", "4"]);
    assert_eq!(stream.start(), Some(&bound("d")));
    assert_eq!(stream.finish().unwrap(), done(Completeness::Complete));
    session.ping(b"").unwrap();
    gate.join().unwrap();
}

#[test]
fn whoever_takes_items_sees_no_progress() {
    let (mut session, gate) = session(slow);
    let list = ask::list(ask::selector("d").unwrap());
    let all: Result<Vec<Entry>, Error> = session.list(&list).unwrap().collect();
    assert_eq!(all.unwrap(), entries(&["a", "b", "c"]).entries);
    session.ping(b"").unwrap();
    gate.join().unwrap();
}

#[test]
fn what_is_left_of_a_frame_is_one_part() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Entries(first(&["a", "b", "c"])), &[]);
        gate.send(id, &Reply::Progress(progress(3)), &[]);
        await_cancel(gate, id);
        gate.send(id, &Reply::Progress(progress(4)), &[]);
        gate.send(id, &Reply::Done(done(CANCELLED)), &[]);
        answer_ping(gate);
    });
    let list = ask::list(ask::selector("d").unwrap());
    let mut stream = session.list(&list).unwrap();
    stream.next().unwrap().unwrap();
    let part = stream.next_part().unwrap().unwrap();
    assert_eq!(part, Part::Items(entries(&["b", "c"]).entries));
    drop(stream);
    session.ping(b"").unwrap();
    gate.join().unwrap();
}

/// Answers one page; gives the cursor it was asked with.
fn page(gate: &mut Gate, names: &[&str], completeness: Completeness) -> Option<Vec<u8>> {
    let (id, request, _) = gate.next();
    let Request::List(list) = request else {
        panic!("{request:?}");
    };
    gate.send(id, &Reply::Entries(first(names)), &[]);
    gate.send(id, &Reply::Done(done(completeness)), &[]);
    list.cursor.map(Cursor::into_vec)
}

fn small() -> List {
    let mut list = ask::list(ask::selector("d").unwrap());
    list.limit = 2;
    list
}

#[test]
fn pages_go_on_until_the_answer_is_whole() {
    let (mut session, gate) = session(|gate| {
        assert_eq!(page(gate, &["a", "b"], limit(b"1")), None);
        assert_eq!(page(gate, &["c", "d"], limit(b"2")).unwrap(), b"1");
        let last = page(gate, &["e"], Completeness::Complete);
        assert_eq!(last.unwrap(), b"2");
        answer_ping(gate);
    });
    let mut pages = session.pages(&small()).unwrap();
    let all: Result<Vec<Entry>, Error> = pages.by_ref().collect();
    assert_eq!(all.unwrap(), entries(&["a", "b", "c", "d", "e"]).entries);
    let ended = pages.finish().unwrap();
    assert_eq!(ended.completeness, Completeness::Complete);
    assert_eq!(ended.statistics.denied, 9, "of all three");
    session.ping(b"").unwrap();
    gate.join().unwrap();
}

#[test]
fn pages_stop_where_nothing_goes_on() {
    let time = Completeness::Cut {
        reason: CutReason::Time,
        cursor: Some(Cursor::new(*b"9").unwrap()),
    };
    for end in [time, limit(b"1")] {
        let last = end.clone();
        let (mut session, gate) = session(move |gate| {
            page(gate, &["a"], limit(b"1"));
            // Time is up; or it came no further.
            page(gate, &[], last);
            answer_ping(gate);
        });
        let mut pages = session.pages(&small()).unwrap();
        assert_eq!(pages.by_ref().count(), 1);
        assert_eq!(pages.finish().unwrap().completeness, end);
        session.ping(b"").unwrap();
        gate.join().unwrap();
    }
}

#[test]
fn a_page_that_is_refused_is_the_last_thing_pages_give() {
    let (mut session, gate) = session(|gate| {
        page(gate, &["a"], limit(b"1"));
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Refused(Refusal::new(Code::NotFound)), &[]);
        answer_ping(gate);
    });
    let mut pages = session.pages(&small()).unwrap();
    assert!(pages.next().unwrap().is_ok());
    let error = pages.next().unwrap().unwrap_err();
    assert_eq!(error.code_name(), "not_found");
    assert!(pages.next().is_none());
    assert_eq!(pages.finish().unwrap_err(), error);
    session.ping(b"").unwrap();
    gate.join().unwrap();
}
