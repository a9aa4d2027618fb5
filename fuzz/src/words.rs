//! What must hold of the words of any decoded message, whoever sent it.

use portcullis_protocol::ledger::{Event, Intent, Temporary};
use portcullis_protocol::session::{Change, EditFile, Place, Request, Source, Span, Touched};
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
    for replacement in edit.replacements.as_slice() {
        check_span(replacement.old, content);
        check_span(replacement.new, content);
        match &replacement.place {
            Place::After { anchors } => {
                for anchor in anchors.as_slice() {
                    check_span(*anchor, content);
                }
            }
            Place::Anywhere { .. } | Place::All | Place::Line { .. } => {}
        }
    }
}

/// A change set says which verb each change needs, and where its bytes are.
pub fn check_request(request: &Request, content: &[u8]) {
    let Request::Change(set) = request else {
        return;
    };
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
        Event::Amend(intent) => check_intent(intent),
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
        | Event::Unlock(_) => {}
    }
}
