//! What must hold of the words of any decoded message, whoever sent it.

use portcullis_protocol::ledger::{Event, Intent, Temporary};
use portcullis_protocol::session::{
    AnchoredDeed, Change, ChangeSet, EditFile, Part, Request, Source, Span, TextEdit, Tier, Tiers,
    Touched, decode_composed, encode_composed,
};
use portcullis_protocol::view::PathState;

/// A span is exactly as long as it says, or is not there. Any span of any content is judged.
fn check_span(span: Span, content: &[u8]) {
    if let Some(bytes) = span.of(content) {
        assert_eq!(u32::try_from(bytes.len()), Ok(span.len));
    } else {
        assert!(u64::from(span.start) + u64::from(span.len) > content.len() as u64);
    }
}

fn check_edit(edit: &EditFile, content: &[u8]) {
    assert!(edit.tiers.contains(Tier::Exact));
    let again = edit.tiers.iter().fold(Tiers::EXACT, Tiers::with);
    assert_eq!(again, edit.tiers);
    for edit in edit.edits.as_slice() {
        match edit {
            TextEdit::Replace(replace) => {
                check_span(replace.old, content);
                check_span(replace.new, content);
            }
            TextEdit::Hunk(hunk) => {
                for lead in hunk.after.as_slice() {
                    check_span(*lead, content);
                }
                for part in hunk.parts.as_slice() {
                    match part {
                        Part::Keep(text) | Part::Remove(text) | Part::Insert(text) => {
                            check_span(*text, content);
                        }
                    }
                }
            }
            TextEdit::Insert(insert) => check_span(insert.text, content),
            TextEdit::Anchored(anchored) => {
                match anchored.deed {
                    AnchoredDeed::Replace(text)
                    | AnchoredDeed::Before(text)
                    | AnchoredDeed::After(text) => check_span(text, content),
                }
                // A label that is read from a frame is read from its text, unless no line has
                // its number.
                for label in [anchored.first, anchored.last] {
                    let read = label.to_string().parse();
                    assert_eq!(read.ok(), (label.line > 0).then_some(label));
                }
            }
        }
    }
}

/// A change set says which verb each change needs, and where its bytes are.
pub fn check_set(set: &ChangeSet, content: &[u8]) {
    for change in set.changes.as_slice() {
        assert!(!change.verb().name().is_empty());
        match change {
            Change::Write(write) => match write.source {
                Source::Inline(span) => check_span(span, content),
                Source::Upload(_) => {}
            },
            Change::Edit(edit) => check_edit(edit, content),
            Change::Mkdir(_)
            | Change::Move(_)
            | Change::Delete(_)
            | Change::Chmod(_)
            | Change::Link(_) => {}
        }
    }
}

/// A set that came in one frame is the same when it is composed.
pub fn check_request(request: &Request, content: &[u8]) {
    let Request::Change(set) = request else {
        return;
    };
    check_set(set, content);
    let (composed, ask) = encode_composed(set, content).expect("a frame is less than may be");
    let read = decode_composed(&composed, ask).expect("what was composed");
    assert_eq!(read, (set.clone(), content));
}

/// States agree both ways or not at all, and with themselves unless they are unknown.
fn check_states(a: &PathState, b: &PathState) {
    assert_eq!(a.agrees(b), b.agrees(a));
    for state in [a, b] {
        assert_eq!(state.agrees(state), *state != PathState::Unknown);
    }
}

fn check_touched(touched: &[Touched]) {
    for name in touched {
        check_states(&name.before, &name.after);
    }
}

fn check_intent(intent: &Intent) {
    for step in intent.steps.as_slice() {
        check_states(&step.touched.before, &step.touched.after);
        if let Some(temporary) = step.temporary {
            assert!(Temporary::is_one(temporary.name().as_bytes()));
        }
        // A name in a directory may be one: what must not happen is that it panics.
        let _ = Temporary::is_one(step.name.as_slice());
    }
}

/// What a gate says of effects can be judged whole.
pub fn check_event(event: &Event) {
    match event {
        Event::Begin(begin) => check_intent(&begin.intent),
        Event::Amend(intent) | Event::Claim(intent) => check_intent(intent),
        Event::Bound(bound) => check_intent(&bound.intent),
        Event::Finish(finish) => check_touched(finish.touched.as_slice()),
        Event::Seen(seen) => {
            for step in seen.steps.as_slice() {
                check_states(&step.now, &step.temporary);
            }
        }
        Event::Ready(_)
        | Event::Refused(_)
        | Event::Finished(_)
        | Event::Fault(_)
        | Event::Unlock(_)
        | Event::Delegate(_)
        | Event::EndDelegated(_)
        | Event::Propose(_)
        | Event::Unbound(_) => {}
    }
}
