//! Change sets that one frame does not hold, and what comes with a refusal.

use super::changing::{changed, name, set, uploads};
use super::*;
use crate::change;
use crate::{Changed as Known, Changes};
use portcullis_protocol::session::{
    self, Change, ChangeSet, Composed, Conflicted, Deed, Outcome, Region, Source,
};
use portcullis_protocol::view::Digest;

/// Takes what is composed; gives the set, its content and how many parts there were.
fn composed(
    gate: &mut Gate,
    (mut id, mut request, mut content): (RequestId, Request, Vec<u8>),
) -> (RequestId, ChangeSet, Vec<u8>, usize) {
    let (mut all, mut parts) = (Vec::new(), 0);
    loop {
        if let Request::ChangeComposed(ask) = request {
            let (set, content) = session::decode_composed(&all, ask).unwrap();
            return (id, set, content.to_vec(), parts);
        }
        let Request::Compose(part) = request else {
            panic!("{request:?}");
        };
        assert_eq!(part.offset, all.len() as u64);
        all.extend_from_slice(&content);
        parts += 1;
        let bytes = all.len() as u64;
        gate.send(id, &Reply::Composed(Composed { bytes }), &[]);
        (id, request, content) = gate.next();
    }
}

#[test]
fn large_files_are_uploaded_before_and_the_small_ones_go_along() {
    large_and(16, 0);
}

#[test]
fn what_one_frame_does_not_hold_is_composed_but_for_large_files() {
    // 160,000 bytes and a little, in parts of 60 KiB and less.
    large_and(40, 3);
}

/// One large file, and so many of 4000 bytes.
fn large_and(small: u8, composed_parts: usize) {
    let large: Vec<u8> = (0_u32..300_000).map(|n| n as u8).collect();
    let small: Vec<Vec<u8>> = (0..small).map(|n| vec![n; 4000]).collect();
    let wanted: Vec<Vec<u8>> = std::iter::once(large).chain(small).collect();
    let sent = wanted.clone();
    let (mut session, gate) = session(move |gate| {
        let (kept, rest) = uploads(gate);
        let (id, set, content) = match composed_parts {
            0 => (rest.0, set(rest.1), rest.2),
            wanted => {
                let (id, set, content, parts) = composed(gate, rest);
                assert_eq!(parts, wanted);
                (id, set, content)
            }
        };
        let mut inline = 0;
        for (change, wanted) in set.changes.as_slice().iter().zip(&wanted) {
            let Change::Write(write) = change else {
                panic!("{change:?}");
            };
            let bytes = match write.source {
                Source::Inline(span) => {
                    inline += 1;
                    span.of(&content).unwrap()
                }
                Source::Upload(upload) => &kept.iter().find(|(id, _)| *id == upload).unwrap().1,
            };
            assert!(bytes == wanted);
        }
        assert_eq!((inline, kept.len()), (wanted.len() - 1, 1));
        gate.send(id, &Reply::Changed(changed(Outcome::Done, None)), &[]);
        assert!(gate.try_next().is_none(), "nothing is left to drop");
    });
    let mut changes = Changes::new();
    for (n, bytes) in sent.into_iter().enumerate() {
        changes.push(change::write(name(&n.to_string()), bytes));
    }
    session.change(&changes).unwrap();
    drop(session);
    gate.join().unwrap();
}

#[test]
fn a_set_that_is_larger_than_a_frame_without_any_content_is_composed() {
    let (mut session, gate) = session(|gate| {
        let first = gate.next();
        let (id, set, content, parts) = composed(gate, first);
        assert_eq!((set.changes.as_slice().len(), content.len()), (40, 0));
        assert_eq!(parts, 3);
        gate.send(id, &Reply::Changed(changed(Outcome::Done, None)), &[]);
    });
    let paths = (0..40).map(|n| change::delete(name(&format!("{n}/{}", "d/".repeat(2000)))));
    session
        .change(&paths.fold(Changes::new(), Changes::with))
        .unwrap();
    gate.join().unwrap();
}

#[test]
fn texts_of_edits_over_a_frame_are_composed_and_a_refused_part_sends_no_change() {
    let edit = change::replace(name("a"), vec![b'x'; 100_000], vec![b'y'; 100_000]);
    let changes = Changes::new().with(edit);
    let (mut session, gate) = session(|gate| {
        let first = gate.next();
        let (id, set, content, _) = composed(gate, first);
        let [Change::Edit(edit)] = set.changes.as_slice() else {
            panic!("{set:?}");
        };
        let [session::TextEdit::Replace(one)] = edit.edits.as_slice() else {
            panic!("{edit:?}");
        };
        assert!(one.old.of(&content).unwrap().iter().all(|b| *b == b'x'));
        assert!(one.new.of(&content).unwrap().iter().all(|b| *b == b'y'));
        gate.send(id, &Reply::Changed(changed(Outcome::Done, None)), &[]);
        while let Some((id, request, part)) = gate.try_next() {
            let Request::Compose(ask) = request else {
                panic!("{request:?}");
            };
            let reply = match (ask.offset, part.len()) {
                (0, 0) => Reply::Composed(Composed { bytes: 0 }),
                (_, _) => Reply::Refused(Refusal::new(Code::OutOfBudget)),
            };
            gate.send(id, &reply, &[]);
            if part.is_empty() {
                return;
            }
        }
        panic!("what was composed was not given back");
    });
    session.change(&changes).unwrap();
    let error = session.change(&changes).unwrap_err();
    assert_eq!(error.code_name(), "out_of_budget");
    assert_eq!(error.changed(), Known::Unchanged);
    gate.join().unwrap();
}

#[test]
fn what_was_composed_and_not_used_is_given_back() {
    let edit = change::replace(name("a"), vec![b'x'; 100_000], "");
    let changes = Changes::new().with(edit);
    let (mut session, gate) = session(|gate| {
        for deed in [Deed::DryRun, Deed::Commit] {
            let first = gate.next();
            let (id, set, ..) = composed(gate, first);
            assert_eq!(set.deed, deed);
            gate.send(id, &Reply::Refused(Refusal::new(Code::NotFound)), &[]);
            let (id, request, part) = gate.next();
            assert!(matches!(request, Request::Compose(ask) if ask.offset == 0));
            assert!(part.is_empty());
            gate.send(id, &Reply::Composed(Composed { bytes: 0 }), &[]);
        }
    });
    assert_eq!(session.plan(&changes).unwrap_err().code_name(), "not_found");
    assert_eq!(
        session.change(&changes).unwrap_err().code_name(),
        "not_found"
    );
    gate.join().unwrap();
}

fn region() -> Region {
    Region {
        first_line: 7,
        total_lines: 30,
        object: portcullis_protocol::view::ObjectId {
            device: 1,
            inode: 2,
        },
        digest: Digest([4; 32]),
    }
}

#[test]
fn what_the_object_has_become_comes_with_the_error() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        let conflicted = Conflicted {
            refusal: Refusal::new(Code::StaleAnchor),
            region: region(),
        };
        gate.send(id, &Reply::Conflicted(conflicted), b"one\ntwo\n");
        let (id, ..) = gate.next();
        let mut failed = changed(Outcome::Failed, Some(Refusal::new(Code::Conflict)));
        failed.region = Some(region());
        gate.send(id, &Reply::Changed(failed), b"three\n");
        let (id, ..) = gate.next();
        let refusal = Some(Refusal::new(Code::Conflict));
        gate.send(id, &Reply::Changed(changed(Outcome::Failed, refusal)), &[]);
    });
    let changes = Changes::new().with(change::delete(name("a")));
    let refused = session.change(&changes).unwrap_err();
    assert_eq!(refused.code_name(), "stale_anchor");
    assert_eq!(refused.changed(), Known::Unchanged);
    let lines = refused.region().unwrap().lines();
    assert_eq!(
        lines.iter().map(|l| l.label.line).collect::<Vec<_>>(),
        [7, 8]
    );
    assert_eq!(lines[1].line, b"two\n");
    let failed = session.change(&changes).unwrap_err();
    assert_eq!(failed.region().unwrap().text, b"three\n");
    assert!(session.change(&changes).unwrap_err().region().is_none());
    gate.join().unwrap();
}
