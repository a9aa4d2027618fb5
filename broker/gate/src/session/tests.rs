//! How far a session may go, through the stages that judge it.

use crate::execute;
use crate::testing::{World, denial, grant, parts, path, rule, selector};
use portcullis_protocol::authority::{Budget, Effect, Grant, Inputs, Parts};
use portcullis_protocol::bounded::{Few, Text};
use portcullis_protocol::ledger::Duty;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Change, DeleteObject, Deletion, Expect, MoveObject, Onto, Parents, Reply, Source, Span,
    Verdict, WriteFile,
};
use portcullis_protocol::verb::{Mode, ModeSet, Verb};
use portcullis_protocol::view::Digest;

fn code<T>(result: Result<T, Refusal>) -> Option<Code> {
    result.err().map(|refusal| refusal.code)
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

fn moved(source: &str, destination: &str, onto: Onto) -> Change {
    Change::Move(MoveObject {
        source: selector(source),
        destination: selector(destination),
        expect: Expect::Any,
        onto,
        parents: Parents::Exist,
    })
}

fn delete(name: &str, what: Deletion) -> Change {
    Change::Delete(DeleteObject {
        selector: selector(name),
        what,
        expect: Expect::Any,
    })
}

/// What is granted in these modes only, and asked for in those.
fn in_modes(verbs: &[Verb], granted: &[Mode], asked: &[Mode]) -> Parts {
    let with = |modes: &[Mode]| Grant {
        modes: ModeSet::of(modes),
        ..grant("", verbs)
    };
    Parts {
        grants: vec![with(granted)],
        asks: vec![with(asked)],
        ..parts()
    }
}

fn asking() -> Parts {
    Parts {
        grants: vec![grant("free", &[Verb::Read, Verb::Stat])],
        asks: vec![grant("asked", &[Verb::Read])],
        denials: vec![
            denial("secret*", Effect::Hide),
            denial("never", Effect::Deny),
            denial("*.key", Effect::Ask),
        ],
        ..parts()
    }
}

#[test]
fn what_is_asked_for_needs_an_approval_whether_it_is_there_or_not() {
    let world = World::new(asking());
    for name in [
        "free/a",
        "free/a.key",
        "asked/a",
        "asked/secret",
        "asked/never",
    ] {
        world.file(name);
    }
    for (name, expected) in [
        ("free/a", None),
        ("free/b", Some(Code::NotFound)),
        ("free/a.key", Some(Code::NeedsApproval)),
        ("free/b.key", Some(Code::NeedsApproval)),
        ("asked/a", Some(Code::NeedsApproval)),
        ("asked/b", Some(Code::NeedsApproval)),
        ("asked/a/b/../c", Some(Code::NeedsApproval)),
        ("asked/never", Some(Code::Denied)),
        // Like what is not there.
        ("asked/secret", Some(Code::NeedsApproval)),
        ("asked/x/secret", Some(Code::NeedsApproval)),
        ("free/secret", Some(Code::NotFound)),
        ("free/secret.key", Some(Code::NeedsApproval)),
        ("other", Some(Code::NotGranted)),
    ] {
        assert_eq!(code(world.reach(Verb::Read, name)), expected, "{name}");
    }
    let refused = world.reach(Verb::Read, "free/a.key").unwrap_err();
    assert_eq!(refused.rule, Some(rule("*.key")));
    let refused = world.reach(Verb::Read, "asked/a").unwrap_err();
    assert_eq!((refused.rule, refused.proposal), (None, None));
}

#[test]
fn a_gate_that_works_out_or_does_what_was_asked_for_has_it_granted() {
    for duty in [Duty::Propose, Duty::Execute] {
        let world = World::with(asking(), duty, Vec::new());
        for name in ["free/a.key", "asked/a", "asked/secret", "asked/never"] {
            world.file(name);
        }
        for (name, expected) in [
            ("free/a.key", None),
            ("asked/a", None),
            ("asked/b", Some(Code::NotFound)),
            ("asked/never", Some(Code::Denied)),
            ("asked/secret", Some(Code::NotFound)),
            ("other", Some(Code::NotGranted)),
        ] {
            assert_eq!(code(world.reach(Verb::Read, name)), expected, "{name}");
        }
        let at = path("free/a.key");
        let asks = world
            .session
            .policy
            .asked_by(crate::testing::ROOT, &at, Verb::Read);
        assert_eq!(asks, Some(&rule("*.key")));
    }
}

#[test]
fn why_says_what_asks_and_nothing_of_what_is_hidden() {
    let world = World::new(asking());
    for name in ["free/a", "asked/a", "asked/secret"] {
        world.file(name);
    }
    let why = |name: &str| {
        let reached = world.reach(Verb::Read, name);
        let reply = execute::why(&world.session, Verb::Read, reached);
        let Reply::Why(verdict) = reply else {
            panic!("{reply:?}");
        };
        verdict
    };
    assert!(matches!(why("free/a"), Verdict::Allowed { .. }));
    assert_eq!(why("asked/a"), Verdict::Asks { rule: None });
    assert_eq!(
        why("free/x.key"),
        Verdict::Asks {
            rule: Some(rule("*.key"))
        }
    );
    // Hidden ones are like those that are not there.
    for (hidden, absent) in [
        ("asked/secret", "asked/x"),
        ("free/secret", "free/x"),
        ("free/secret.key", "free/x.key"),
    ] {
        let unnamed = |verdict| match verdict {
            Verdict::Refused(refusal) => Verdict::Refused(Refusal {
                object: None,
                ..refusal
            }),
            Verdict::Allowed { .. } | Verdict::Asks { .. } => verdict,
        };
        assert_eq!(unnamed(why(hidden)), unnamed(why(absent)), "{hidden}");
    }
}

#[test]
fn the_modes_of_a_verb_are_judged_by_what_is_there() {
    let verbs = [Verb::Write, Verb::Move, Verb::Delete];
    let granted = [Mode::WriteNew, Mode::MoveNew, Mode::DeleteFile];
    let asked = [Mode::WriteOver, Mode::MoveOver, Mode::DeleteDirectory];
    let world = World::new(in_modes(&verbs, &granted, &asked));
    world.file("old");
    world.file("other");
    std::fs::create_dir(world.place.path().join("empty")).unwrap();
    let over = Onto::Replace(Expect::Any);
    let all = |world: &World| {
        [
            world.plan(vec![write("new")]),
            world.plan(vec![moved("old", "new", over)]),
            world.plan(vec![delete("old", Deletion::File)]),
            world.plan(vec![write("old")]),
            world.plan(vec![moved("old", "other", over)]),
            world.plan(vec![delete("empty", Deletion::Directory)]),
            // Each change is judged by what the ones before it leave, and all by what they come to.
            world.plan(vec![write("new"), write("new")]),
            world.plan(vec![delete("old", Deletion::File), write("old")]),
        ]
    };
    let codes = |world: &World| all(world).map(code);
    let (done, asks) = (None, Some(Code::NeedsApproval));
    assert_eq!(
        codes(&world),
        [done, done, done, asks, asks, asks, asks, asks]
    );
    let lacks = Some(Code::NotGranted);
    let world = world.again(in_modes(&verbs, &granted, &[]), Duty::Serve);
    assert_eq!(
        codes(&world),
        [done, done, done, lacks, lacks, lacks, lacks, lacks]
    );
    let notes = all(&world).map(|planned| match planned {
        Ok(_) => None,
        Err(refusal) => refusal.note.map(|note| note.as_str().to_owned()),
    });
    let takes = |mode: &str| Some(format!("it would take `{mode}`"));
    let [_, _, _, over, onto, directory, again, instead] = notes;
    assert_eq!(over, takes("write:over"));
    assert_eq!(onto, takes("move:over"));
    assert_eq!(directory, takes("delete:directory"));
    assert_eq!((again, instead), (takes("write:over"), takes("write:over")));
    let world = world.again(in_modes(&verbs, &granted, &asked), Duty::Propose);
    assert_eq!(codes(&world), [done; 8]);
}

#[test]
fn what_must_be_free_is_told_to_be_taken_and_not_to_lack_a_mode() {
    let world = World::new(in_modes(
        &[Verb::Write, Verb::Move],
        &[Mode::WriteNew, Mode::MoveNew],
        &[],
    ));
    world.file("old");
    world.file("other");
    let Change::Write(order) = write("old") else {
        unreachable!()
    };
    let order = WriteFile {
        expect: Expect::Absent,
        ..order
    };
    let planned = world.plan(vec![Change::Write(order)]);
    assert_eq!(code(planned), Some(Code::Exists));
    let planned = world.plan(vec![moved("old", "other", Onto::Nothing)]);
    assert_eq!(code(planned), Some(Code::Exists));
}

#[test]
fn directories_on_the_way_need_mkdir_as_far_as_it_is_granted() {
    let with = |asks: Vec<Grant>| Parts {
        grants: vec![grant("", &[Verb::Write])],
        asks,
        ..parts()
    };
    let world = World::new(with(Vec::new()));
    let refused = world.plan(vec![write("a/b")]).unwrap_err();
    assert_eq!(
        (refused.code, refused.verb),
        (Code::NotGranted, Some(Verb::Mkdir))
    );
    let world = world.again(with(vec![grant("", &[Verb::Mkdir])]), Duty::Serve);
    let refused = world.plan(vec![write("a/b")]).unwrap_err();
    assert_eq!(
        (refused.code, refused.verb),
        (Code::NeedsApproval, Some(Verb::Mkdir))
    );
}

#[test]
fn a_tree_with_a_name_that_is_asked_for_moves_only_with_an_approval() {
    let with = |denials| Parts {
        grants: vec![grant("", &[Verb::Move, Verb::DeleteTree])],
        denials,
        ..parts()
    };
    let ask = || denial("*.key", Effect::Ask);
    let world = World::new(with(vec![ask()]));
    world.file("tree/a/b.key");
    let planned = world.plan(vec![moved("tree", "to", Onto::Nothing)]);
    let refused = planned.unwrap_err();
    assert_eq!(refused.code, Code::NeedsApproval);
    assert_eq!(refused.rule, Some(rule("*.key")));
    let planned = world.plan(vec![delete("tree", Deletion::Tree)]);
    assert_eq!(code(planned), Some(Code::NeedsApproval));
    let both = with(vec![ask(), denial("b.key", Effect::Deny)]);
    let world = world.again(both, Duty::Serve);
    let planned = world.plan(vec![delete("tree", Deletion::Tree)]);
    assert_eq!(code(planned), Some(Code::Denied));
}

#[test]
fn whoami_tells_all_of_an_authority_but_what_it_hides() {
    let exact = Grant {
        modes: ModeSet::of(&[Mode::WriteNew]),
        inputs: Inputs::Only(Few::new(vec![Digest([1; 32]), Digest([2; 32])]).unwrap()),
        ..grant("asked", &[Verb::Write])
    };
    let mut budgets = parts().budgets;
    budgets.operations = Some(7);
    let world = World::new(Parts {
        conversation: Text::new("talk").unwrap(),
        asks: vec![exact],
        budgets,
        ..asking()
    });
    world.session.meter.spend(Budget::Operations, 2).unwrap();
    let Ok(Reply::Whoami(me)) = execute::whoami(&world.session) else {
        panic!("no identity");
    };
    assert_eq!(me.conversation.as_str(), "talk");
    assert_eq!((me.budgets.operations, me.used.operations), (Some(7), 2));
    let [ask] = me.asks.as_slice() else {
        panic!("{:?}", me.asks);
    };
    assert_eq!(ask.inputs, Some(2));
    assert_eq!(ask.modes, ModeSet::of(&[Mode::WriteNew]));
    assert!(
        me.grants
            .as_slice()
            .iter()
            .all(|grant| grant.inputs.is_none())
    );
    let denials = me.denials.as_slice().iter();
    let mut effects: Vec<Effect> = denials.map(|denial| denial.effect).collect();
    effects.sort();
    assert_eq!(effects, [Effect::Deny, Effect::Ask]);
}
