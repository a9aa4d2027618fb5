//! What a change tells of content that the session may not read: nothing, whatever denies it.

use crate::trial::{at, done};
use portcullis_client::{Changes, Pattern, Session, change};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Touched;
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_protocol::view::PathState;
use portcullis_tests::hostile::{Arena, census};
use portcullis_tests::own;

const SECRET: &str = "the secret line\n";

const fn digest(state: &PathState) -> bool {
    match state {
        PathState::Present(present) => present.digest.is_some(),
        PathState::Absent | PathState::Unknown => false,
    }
}

/// An edit is refused by the rule that denies reading; a change of the whole tells neither text
/// nor digest of what was there.
#[track_caller]
fn tells_nothing(session: &mut Session, name: &str, rule: &str) {
    let edit = Changes::new().with(change::replace(at(name), "secret", "x"));
    for error in [
        session.change(&edit).unwrap_err(),
        session.plan(&edit).unwrap_err(),
    ] {
        let refusal = error.refusal().unwrap();
        assert_eq!(refusal.code, Code::Denied, "{refusal}");
        let by = refusal.rule.as_ref().map(|rule| rule.name.as_str());
        assert_eq!(by, Some(rule), "{refusal}");
        assert!(error.region().is_none(), "{error}");
    }
    let write = Changes::new().with(change::write(at(name), "new\n"));
    let plan = session.plan(&write).unwrap();
    untold(&plan.diff, plan.planned.touched.as_slice());
    let chmod = session.change(&Changes::new().with(change::chmod(at(name), 0o600)));
    let chmod = chmod.unwrap();
    untold(&chmod.diff, chmod.changed.touched.as_slice());
    assert!(!digest(&chmod.changed.touched.as_slice()[0].after));
    let made = session.change(&write).unwrap();
    untold(&made.diff, made.changed.touched.as_slice());
    // Of what it wrote itself it is told.
    assert!(digest(&made.changed.touched.as_slice()[0].after));
}

#[track_caller]
fn untold(diff: &[u8], touched: &[Touched]) {
    let diff = String::from_utf8_lossy(diff);
    assert!(!diff.contains("secret"), "{diff}");
    let [one] = touched else {
        panic!("{touched:?}");
    };
    assert!(!digest(&one.before), "{one:?}");
}

fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    arena.write("plain", SECRET);
    arena.write("d/below", SECRET);
    arena
}

#[test]
fn a_file_denied_for_reading_by_its_name_is_changed_blindly() {
    let mut arena = arena();
    let read = VerbSet::of(&[Verb::Read]);
    let pattern = |root| Pattern::below(root, "plain");
    let mut opened =
        arena.session_with(|order, root| order.deny("unread", "r", read, pattern(root)));
    tells_nothing(&mut opened.session, "plain", "unread");
}

#[test]
fn a_file_denied_for_reading_as_an_object_is_changed_blindly() {
    let mut arena = arena();
    let inside = arena.inside();
    let object = std::fs::File::open(inside.join("plain")).unwrap();
    let read = VerbSet::of(&[Verb::Read]);
    let mut opened =
        arena.session_with(|order, _| order.deny_object("unread", "r", read, object.into()));
    let session = &mut opened.session;
    let edit = Changes::new().with(change::replace(at("plain"), "secret", "x"));
    let before = census(&inside);
    let error = session.change(&edit).unwrap_err();
    assert_eq!(error.refusal().unwrap().code, Code::Denied, "{error}");
    assert_eq!(census(&inside), before);
    // Under another name of the same set too.
    let moved = Changes::new()
        .with(change::rename(at("plain"), at("other")))
        .with(change::replace(at("other"), "secret", "x"));
    let error = session.change(&moved).unwrap_err();
    assert_eq!(error.refusal().unwrap().code, Code::Denied, "{error}");
    assert_eq!(census(&inside), before);
    tells_nothing(session, "plain", "unread");
}

#[test]
fn a_file_below_a_directory_denied_for_reading_is_changed_blindly() {
    let mut arena = arena();
    let inside = arena.inside();
    let object = std::fs::File::open(inside.join("d")).unwrap();
    let read = VerbSet::of(&[Verb::Read]);
    let mut opened =
        arena.session_with(|order, _| order.deny_object("unread", "r", read, object.into()));
    let session = &mut opened.session;
    let edit = Changes::new().with(change::replace(at("d/below"), "secret", "x"));
    let error = session.change(&edit).unwrap_err();
    assert_eq!(error.refusal().unwrap().code, Code::Denied, "{error}");
    let write = Changes::new().with(change::write(at("d/below"), "new\n"));
    let plan = session.plan(&write).unwrap();
    untold(&plan.diff, plan.planned.touched.as_slice());
}

#[test]
fn without_such_a_denial_all_of_it_is_told() {
    let mut arena = arena();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let write = Changes::new().with(change::write(at("plain"), "new\n"));
    let plan = session.plan(&write).unwrap();
    assert!(String::from_utf8_lossy(&plan.diff).contains("-the secret line"));
    assert!(digest(&plan.planned.touched.as_slice()[0].before));
    let made = done(session, &write);
    assert!(digest(&made.touched.as_slice()[0].before));
}
