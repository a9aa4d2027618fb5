//! Changes: how their bytes travel, and what is known when they are not done.

use super::*;
use crate::change::{self, Content, Hunk, TextEdit};
use crate::{Changed as Known, Changes};
use portcullis_protocol::bounded::Few;
use portcullis_protocol::ledger::ReceiptId;
use portcullis_protocol::session::{
    self, Change, ChangeSet, Changed, Deed, Expect, Guarantee, Outcome, Planned, Selector, Source,
    Upload, UploadId, Uploaded,
};
use portcullis_protocol::view::Digest;

pub(super) fn name(path: &str) -> Selector {
    ask::selector(path).unwrap()
}

pub(super) fn changed(outcome: Outcome, refusal: Option<Refusal>) -> Changed {
    Changed {
        receipt: ReceiptId {
            number: 12,
            chain: Digest([2; 32]),
        },
        outcome,
        guarantee: Guarantee::Exact,
        touched: Few::default(),
        refusal,
        left: 0,
        matched: Few::default(),
        matched_cut: 0,
        diff_cut: 0,
        region: None,
    }
}

/// Uploads by their numbers.
pub(super) type Kept = Vec<(UploadId, Vec<u8>)>;

/// Takes uploads until something else comes; gives what was uploaded, whole, and that.
pub(super) fn uploads(gate: &mut Gate) -> (Kept, (RequestId, Request, Vec<u8>)) {
    let mut kept = Kept::new();
    loop {
        let (id, request, content) = gate.next();
        let Request::Upload(part) = request else {
            return (kept, (id, request, content));
        };
        let end = keep(&mut kept, &part, &content);
        gate.send(id, &Reply::Uploaded(end), &[]);
    }
}

fn keep(kept: &mut Kept, part: &Upload, content: &[u8]) -> Uploaded {
    if part.offset == 0 {
        kept.retain(|(upload, _)| *upload != part.upload);
        kept.push((part.upload, Vec::new()));
    }
    let mut all = kept.iter_mut();
    let (upload, bytes) = all.find(|(upload, _)| *upload == part.upload).unwrap();
    assert_eq!(part.offset, bytes.len() as u64);
    bytes.extend_from_slice(content);
    Uploaded {
        upload: *upload,
        bytes: bytes.len() as u64,
    }
}

pub(super) fn set(request: Request) -> ChangeSet {
    let Request::Change(set) = request else {
        panic!("{request:?}");
    };
    set
}

#[test]
fn a_small_set_is_one_request() {
    let (mut session, gate) = session(|gate| {
        let (id, request, content) = gate.next();
        let set = set(request);
        assert_eq!(set.deed, Deed::Commit);
        let [Change::Write(write), Change::Edit(edit), Change::Mkdir(_)] = set.changes.as_slice()
        else {
            panic!("{set:?}");
        };
        let Source::Inline(span) = write.source else {
            panic!("{write:?}");
        };
        assert_eq!(span.of(&content).unwrap(), b"new\n");
        assert_eq!(write.expect, Expect::Absent);
        let [session::TextEdit::Hunk(hunk)] = edit.edits.as_slice() else {
            panic!("{edit:?}");
        };
        let [session::Part::Keep(keep), session::Part::Remove(remove)] = hunk.parts.as_slice()
        else {
            panic!("{hunk:?}");
        };
        assert_eq!(keep.of(&content).unwrap(), b"old\n");
        assert_eq!(remove.of(&content).unwrap(), b"gone\n");
        let leads = hunk.after.as_slice().iter();
        let leads: Vec<&[u8]> = leads.map(|lead| lead.of(&content).unwrap()).collect();
        assert_eq!(leads, [b"fn a()", b"loop  "]);
        gate.send(
            id,
            &Reply::Changed(changed(Outcome::Done, None)),
            b"-gone\n",
        );
    });
    let mut hunk = Hunk::new();
    hunk.after = vec![b"fn a()".to_vec(), b"loop  ".to_vec()];
    hunk.keep(b"old");
    hunk.remove(b"gone");
    let edit = change::Edit {
        edits: vec![TextEdit::Hunk(hunk)],
        ..change::replace(name("b"), "", "")
    };
    let changes = Changes::new()
        .with(change::create(name("a"), "new\n"))
        .with(edit)
        .with(change::mkdir(name("d")));
    let made = session.change(&changes).unwrap();
    assert_eq!(made.changed.receipt.number, 12);
    assert_eq!(made.diff, b"-gone\n");
    gate.join().unwrap();
}

#[test]
fn a_part_is_on_its_way_before_the_last_one_is_answered_but_for_the_first() {
    let (mut session, gate) = session(|gate| {
        let mut kept = Kept::new();
        let mut take = |gate: &mut Gate| {
            let (id, request, content) = gate.next();
            let Request::Upload(part) = request else {
                panic!("{request:?}");
            };
            (id, keep(&mut kept, &part, &content))
        };
        let first = take(gate);
        gate.send(first.0, &Reply::Uploaded(first.1), &[]);
        let (second, third) = (take(gate), take(gate));
        gate.send(second.0, &Reply::Uploaded(second.1), &[]);
        gate.send(third.0, &Reply::Uploaded(third.1), &[]);
    });
    let bytes = vec![7; 150_000];
    let (upload, size) = session.upload(&name("a"), &mut bytes.as_slice()).unwrap();
    assert_eq!((upload, size), (UploadId(1), 150_000));
    gate.join().unwrap();
}

#[test]
fn an_empty_file_is_uploaded_as_one_empty_part_and_used_by_its_number() {
    let (mut session, gate) = session(|gate| {
        let (kept, (id, request, _)) = uploads(gate);
        assert_eq!(kept, [(UploadId(1), Vec::new())]);
        let set = set(request);
        assert!(matches!(
            set.changes.as_slice(),
            [Change::Write(write)] if write.source == Source::Upload(UploadId(1))
        ));
        gate.send(id, &Reply::Changed(changed(Outcome::Done, None)), &[]);
    });
    let (upload, size) = session.upload(&name("a"), &mut std::io::empty()).unwrap();
    assert_eq!(size, 0);
    let write = change::Write {
        content: Content::Upload(upload),
        ..change::write(name("a"), "")
    };
    session.change(&Changes::new().with(write)).unwrap();
    gate.join().unwrap();
}

#[test]
fn a_refused_upload_sends_no_change_and_drops_what_was_sent() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        let refusal = Refusal::new(Code::OutOfBudget);
        gate.send(id, &Reply::Refused(refusal.clone()), &[]);
        let (id, request, _) = gate.next();
        assert!(matches!(request, Request::DropUpload(drop) if drop.upload == UploadId(1)));
        gate.send(id, &Reply::Refused(Refusal::new(Code::UnknownUpload)), &[]);
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Pong(Ping {}), &[]);
    });
    let changes = Changes::new().with(change::write(name("a"), vec![0; 200_000]));
    let error = session.change(&changes).unwrap_err();
    assert_eq!(error.code_name(), "out_of_budget");
    assert_eq!(error.changed(), Known::Unchanged);
    session.ping(b"").unwrap();
    gate.join().unwrap();
}

#[test]
fn a_refused_change_drops_its_uploads() {
    let (mut session, gate) = session(|gate| {
        let (kept, (id, request, _)) = uploads(gate);
        assert_eq!((kept.len(), set(request).deed), (1, Deed::Commit));
        gate.send(id, &Reply::Refused(Refusal::new(Code::Conflict)), &[]);
        let (id, request, _) = gate.next();
        let Request::DropUpload(drop) = request else {
            panic!("{request:?}");
        };
        let upload = drop.upload;
        gate.send(id, &Reply::Uploaded(Uploaded { upload, bytes: 0 }), &[]);
    });
    let changes = Changes::new().with(change::write(name("a"), vec![0; 70_000]));
    let error = session.change(&changes).unwrap_err();
    assert_eq!(error.refusal().unwrap().code, Code::Conflict);
    gate.join().unwrap();
}

#[test]
fn a_plan_carries_its_difference() {
    let (mut session, gate) = session(|gate| {
        let (id, request, _) = gate.next();
        assert_eq!(set(request).deed, Deed::DryRun);
        let planned = Planned {
            touched: Few::default(),
            matched: Few::default(),
            matched_cut: 0,
            diff_cut: 3,
        };
        gate.send(id, &Reply::Planned(planned), b"--- a\n");
    });
    let changes = Changes::new().with(change::delete(name("a")));
    let plan = session.plan(&changes).unwrap();
    assert_eq!(
        (plan.diff.as_slice(), plan.planned.diff_cut),
        (&b"--- a\n"[..], 3)
    );
    gate.join().unwrap();
}

#[test]
fn failed_is_unchanged_and_uncertain_is_unknown() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        let refusal = Some(Refusal::new(Code::DiskFull));
        gate.send(id, &Reply::Changed(changed(Outcome::Failed, refusal)), &[]);
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Changed(changed(Outcome::Uncertain, None)), &[]);
    });
    let changes = Changes::new().with(change::delete(name("a")));
    let failed = session.change(&changes).unwrap_err();
    assert_eq!(failed.changed(), Known::Unchanged);
    assert_eq!(failed.code_name(), "disk_full");
    assert_eq!(failed.receipt().unwrap().receipt.number, 12);
    let uncertain = session.change(&changes).unwrap_err();
    assert_eq!(uncertain.changed(), Known::Unknown);
    assert_eq!(uncertain.code_name(), "change_uncertain");
    gate.join().unwrap();
}

#[test]
fn a_lost_answer_is_unknown_and_a_change_that_was_not_sent_is_not() {
    let (mut session, gate) = session(|gate| drop(gate.next()));
    let changes = Changes::new().with(change::delete(name("a")));
    let error = session.change(&changes).unwrap_err();
    assert_eq!(error.changed(), Known::Unknown);
    assert_eq!(error.code_name(), "change_unanswered");
    gate.join().unwrap();
    let error = session.change(&changes).unwrap_err();
    assert_eq!(error.changed(), Known::Unchanged);
    assert_eq!(error.code(), &ErrorCode::Closed(None));
}

#[test]
fn an_answer_of_another_kind_leaves_a_doubt_about_a_change_and_none_about_a_plan() {
    for (deed, known) in [
        (Deed::Commit, Known::Unknown),
        (Deed::DryRun, Known::Unchanged),
    ] {
        let (mut session, gate) = session(|gate| {
            let (id, ..) = gate.next();
            gate.send(id, &Reply::Pong(Ping {}), &[]);
        });
        let changes = Changes::new().with(change::delete(name("a")));
        let error = match deed {
            Deed::Commit => session.change(&changes).unwrap_err(),
            Deed::DryRun => session.plan(&changes).unwrap_err(),
        };
        assert_eq!(error.changed(), known);
        gate.join().unwrap();
    }
}

#[test]
fn what_cannot_be_sent_says_why_and_sends_nothing() {
    let (mut session, gate) = session(|gate| assert!(gate.try_next().is_none()));
    session.limits().unwrap();
    let long = |n: usize| "x".repeat(n);
    let edits = change::replace(name("a"), long(15 << 20), long(15 << 20));
    let edits = Changes::new().with(edits);
    let mut cut = change::replace(name("a"), "x", "y");
    cut.edits = vec![cut.edits.remove(0); 16_385];
    let many_edits = Changes::new().with(cut);
    let too_many = (0..257).map(|n| change::delete(name(&n.to_string())));
    let too_many = too_many.fold(Changes::new(), Changes::with);
    for (changes, said) in [
        (Changes::new(), "the change set has no change in it"),
        (edits, "the texts of the edits have 31457280 bytes"),
        (
            many_edits,
            "edits of one file: 16385 items, at most 16384 allowed",
        ),
        (too_many, "changes: 257 items, at most 256 allowed"),
    ] {
        let error = session.change(&changes).unwrap_err();
        assert_eq!(error.changed(), Known::Unchanged);
        let text = error.to_string();
        assert!(text.starts_with("nothing was changed: "), "{text}");
        assert!(text.contains(said), "{text}");
    }
    drop(session);
    gate.join().unwrap();
}

/// Some bytes, then an error.
struct Broken(usize);

impl std::io::Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let more = self.0.min(buffer.len());
        self.0 -= more;
        if more == 0 {
            return Err(std::io::Error::other("the disk is gone"));
        }
        Ok(more)
    }
}

#[test]
fn content_that_cannot_be_read_is_dropped() {
    let (mut session, gate) = session(|gate| {
        let (kept, (id, request, _)) = uploads(gate);
        assert_eq!(kept.len(), 1);
        let Request::DropUpload(drop) = request else {
            panic!("{request:?}");
        };
        let upload = drop.upload;
        gate.send(id, &Reply::Uploaded(Uploaded { upload, bytes: 0 }), &[]);
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Pong(Ping {}), &[]);
    });
    let error = session
        .upload(&name("a"), &mut Broken(150_000))
        .unwrap_err();
    assert_eq!(error.changed(), Known::Unchanged);
    assert!(error.to_string().ends_with("the disk is gone"), "{error}");
    session.ping(b"").unwrap();
    gate.join().unwrap();
}
