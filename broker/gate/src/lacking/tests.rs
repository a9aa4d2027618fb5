//! What a refusal says is missing, and who left it out.

use crate::testing::{World, grant, parts, path, selector};
use portcullis_protocol::authority::{Grant, Inputs, Operation, Parts};
use portcullis_protocol::bounded::{Few, Text};
use portcullis_protocol::ledger::{Ancestor, AncestorGrant, Duty};
use portcullis_protocol::path::Label;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Change, Expect, Parents, SessionId, Source, Span, WriteFile};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_protocol::view::Digest;

fn note<T>(result: Result<T, Refusal>) -> String {
    let refusal = result.err().unwrap();
    assert_eq!(refusal.code, Code::NotGranted);
    refusal
        .note
        .map_or(String::new(), |note| note.as_str().to_owned())
}

fn write(name: &str) -> Change {
    Change::Write(WriteFile {
        selector: selector(name),
        source: Source::Inline(Span { start: 0, len: 4 }),
        expect: Expect::Any,
        parents: Parents::Make,
        mode: None,
    })
}

#[test]
fn exact_inputs_are_for_those_operations_and_no_others() {
    let (this, that) = (Digest([1; 32]), Digest([2; 32]));
    let world = World::new(Parts {
        grants: vec![Grant {
            inputs: Inputs::Only(Few::new(vec![this]).unwrap()),
            ..grant("", &[Verb::Read, Verb::Write])
        }],
        ..parts()
    });
    world.file("a");
    let of = |verb, input| Operation {
        input,
        ..Operation::of(verb)
    };
    assert!(world.reach_as(of(Verb::Read, Some(this)), "a").is_ok());
    let other = world.reach_as(of(Verb::Read, Some(that)), "a");
    assert!(note(other).contains("exact operations only, and this is none of them"));
    assert!(world.plan_as(vec![write("b")], Some(this)).is_ok());
    let other = world.plan_as(vec![write("b")], Some(that));
    assert!(note(other).contains("exact operations only"));
    // Of a set with uploads nothing is worked out.
    let unknown = world.plan_as(vec![write("b")], None);
    assert!(note(unknown).contains("sent before, in parts, belongs to none"));
}

fn ancestor(number: u64, request: &str, grants: &[(&str, &str, Verb)], cut: u32) -> Ancestor {
    let grant = |(root, prefix, verb): &(&str, &str, Verb)| AncestorGrant {
        root: Label::new(*root).unwrap(),
        prefix: path(prefix),
        verbs: VerbSet::of(&[*verb]),
    };
    Ancestor {
        session: SessionId(number),
        request: Text::new(request).unwrap(),
        grants: Few::new(grants.iter().map(grant).collect()).unwrap(),
        cut,
    }
}

#[test]
fn a_refusal_names_the_session_above_that_left_it_out() {
    let world = |lineage: Vec<Ancestor>| {
        let granted = Parts {
            grants: vec![grant("a", &[Verb::Read]), grant("b", &[Verb::Stat])],
            ..parts()
        };
        World::with(granted, Duty::Serve, lineage)
    };
    let all = [("w", "", Verb::Read), ("w", "", Verb::Write)];
    let said = |lineage: Vec<Ancestor>, verb, name| note(world(lineage).reach(verb, name));
    // This one was made with less.
    let lineage = vec![ancestor(3, "job", &all, 0)];
    assert_eq!(
        said(lineage, Verb::Read, "b/x"),
        "session 3 `job` has it, and did not pass it on"
    );
    // The one above this was.
    let narrow = ancestor(4, "part", &[("w", "a", Verb::Read)], 0);
    let lineage = vec![narrow.clone(), ancestor(3, "job", &all, 0)];
    assert_eq!(
        said(lineage.clone(), Verb::Read, "b/x"),
        "session 4 `part` has no grant for it"
    );
    assert_eq!(
        said(lineage, Verb::Write, "a/x"),
        "session 4 `part` has no grant for it",
        "a verb that is nowhere in the root is refused before anything is resolved"
    );
    // Nobody ever had it.
    let lineage = vec![narrow, ancestor(3, "job", &[("other", "", Verb::Chmod)], 0)];
    assert_eq!(
        said(lineage, Verb::Chmod, "a/x"),
        "session 3 `job` has no grant for it"
    );
    // It is not known whether it has it.
    let lineage = vec![ancestor(3, "job", &[], 1)];
    assert_eq!(said(lineage, Verb::Read, "b/x"), "");
    assert_eq!(said(Vec::new(), Verb::Read, "b/x"), "");
}
