//! Authorities that are kept for tasks and restored, and sessions that go on elsewhere.

use crate::effects::{Session, TempDir, config};
use crate::runtime::Runtime;
use portcullis_protocol::authority::{Budgets, RootId};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::control::{
    Answer, Continue, Minted, Order, OverCause, Restore, RootOrder, SealTask, TaskId,
};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::SessionId;
use portcullis_protocol::verb::VerbSet;
use portcullis_protocol::view::Digest;
use portcullis_warden::{Embedded, StatePlace};
use std::os::fd::OwnedFd;

const INPUT: Digest = Digest([6; 32]);

fn text<const MAX: usize>(text: &str) -> Text<MAX> {
    Text::new(text).unwrap()
}

/// A session for owner `o` in conversation `c` that may make four names.
fn session(runtime: &mut Runtime) -> Session {
    let mut order = runtime.order("puppet", VerbSet::ALL);
    order.owner = text("o");
    order.conversation = text("c");
    order.budgets = Budgets {
        creates: Some(4),
        ..Budgets::UNLIMITED
    };
    Session::of(runtime.mint_as(order).unwrap())
}

pub(crate) fn seal(runtime: &mut Runtime, session: SessionId) -> Result<TaskId, Refusal> {
    let order = SealTask {
        session,
        input: INPUT,
    };
    match runtime.ask(Order::SealTask(order)) {
        Answer::TaskSealed(sealed) => Ok(sealed.task),
        Answer::Refused(refusal) => Err(refusal),
        other => panic!("{other:?}"),
    }
}

/// The order that restores it whole.
pub(crate) fn order(task: TaskId, root: RootId) -> Restore {
    Restore {
        task,
        input: INPUT,
        owner: text("o"),
        conversation: text("c"),
        rebind: None,
        roots: Few::new(vec![RootOrder { root, label: None }]).unwrap(),
        within: None,
        ignore: Bytes::default(),
    }
}

fn made(runtime: &mut Runtime, order: &Order) -> Result<(Minted, OwnedFd), Refusal> {
    match runtime.ask_with(order, &[]) {
        (Answer::Minted(minted), descriptors) => {
            let [worker] = <[OwnedFd; 1]>::try_from(descriptors).unwrap();
            Ok((minted, worker))
        }
        (Answer::Refused(refusal), _) => Err(refusal),
        (other, _) => panic!("{other:?}"),
    }
}

pub(crate) fn restore(runtime: &mut Runtime, order: Restore) -> Result<Session, Refusal> {
    made(runtime, &Order::Restore(order)).map(Session::of)
}

/// A session that goes on where this one is, in conversation `d`.
pub(crate) fn go_on(runtime: &mut Runtime, session: SessionId) -> Result<Session, Refusal> {
    let order = Continue {
        session,
        conversation: text("d"),
    };
    made(runtime, &Order::Continue(order)).map(Session::of)
}

/// How many names it may still make, each called after `name`.
fn makes(session: &Session, name: &str) -> usize {
    (0..10)
        .take_while(|n| {
            let begun = session.ask(&format!("begin {name}{n}"));
            if begun == "not begun 7 out_of_budget" {
                return false;
            }
            assert_eq!(begun, "begun 7");
            session.ask(&format!("finish {name}{n}"));
            true
        })
        .count()
}

pub(crate) fn what_was_kept_is_for_its_input_owner_and_conversation() {
    let root = TempDir::new("kept");
    let warden = Embedded::start(config(StatePlace::Private)).unwrap();
    let mut runtime = Runtime::greeted_in(&warden, &root.0);
    let first = session(&mut runtime);
    let task = seal(&mut runtime, first.id).unwrap();
    drop(first);
    runtime.over();
    let whole = order(task, runtime.root);
    nothing_comes_of_another(&mut runtime, &whole);
    assert_eq!(runtime.status().running, 0);
    let restored = restore(&mut runtime, whole.clone()).unwrap();
    assert_eq!(makes(&restored, "x"), 4);
    // Without its root nothing is left to be done.
    let bare = Restore {
        roots: Few::default(),
        ..whole.clone()
    };
    let bare = restore(&mut runtime, bare).unwrap();
    assert_eq!(
        bare.tell("descriptors"),
        "3",
        "its socket, the lock of all gates and its mark"
    );
    // Another connection restores it with roots of its own.
    let mut other = Runtime::greeted_in(&warden, &root.0);
    let there = Restore {
        rebind: Some(text("elsewhere")),
        ..order(task, other.root)
    };
    let there = restore(&mut other, there).unwrap();
    assert_eq!(there.ask("begin y"), "begun 7");
    let foreign = restore(&mut other, whole).unwrap_err();
    assert_eq!(
        foreign.code,
        Code::UnknownRoot,
        "but not with those of this one"
    );
}

/// Each of an order's words decides.
fn nothing_comes_of_another(runtime: &mut Runtime, whole: &Restore) {
    let unknown = TaskId([0; 16]);
    for (changed, said) in [
        (
            Restore {
                input: Digest([7; 32]),
                ..whole.clone()
            },
            "its input is not the one",
        ),
        (
            Restore {
                owner: text("p"),
                ..whole.clone()
            },
            "another owner",
        ),
        (
            Restore {
                conversation: text("d"),
                ..whole.clone()
            },
            "another conversation",
        ),
        (
            Restore {
                task: unknown,
                ..whole.clone()
            },
            "no such task",
        ),
    ] {
        let refused = restore(runtime, changed).unwrap_err();
        assert_eq!(refused.code, Code::NotRestored);
        let note = refused.note.unwrap();
        assert!(note.as_str().contains(said), "{note}");
    }
}

pub(crate) fn a_later_warden_restores_what_was_kept_on_the_same_directory_and_no_other() {
    let home = TempDir::new("later");
    let state = home.0.join("state");
    let root = home.0.join("root");
    std::fs::create_dir(&root).unwrap();
    let start = || Embedded::start(config(StatePlace::At(state.clone()))).unwrap();
    let task = {
        let warden = start();
        let mut runtime = Runtime::greeted_in(&warden, &root);
        let first = session(&mut runtime);
        assert_eq!(makes_one(&first), "receipt 8 1");
        seal(&mut runtime, first.id).unwrap()
    };
    let warden = start();
    let mut runtime = Runtime::greeted_in(&warden, &root);
    let again = order(task, runtime.root);
    let restored = restore(&mut runtime, again).unwrap();
    assert_eq!(
        makes(&restored, "x"),
        3,
        "with what was left of its budgets"
    );
    drop((restored, runtime, warden));
    std::fs::rename(&root, home.0.join("away")).unwrap();
    std::fs::create_dir(&root).unwrap();
    let warden = start();
    let mut runtime = Runtime::greeted_in(&warden, &root);
    let again = order(task, runtime.root);
    let refused = restore(&mut runtime, again).unwrap_err();
    assert_eq!(refused.code, Code::NotRestored);
    let note = refused.note.unwrap();
    assert_eq!(
        note.as_str(),
        "root `w` is not the directory that was sealed: its inode differs"
    );
}

fn makes_one(session: &Session) -> String {
    assert_eq!(session.ask("begin one"), "begun 7");
    session.ask("finish one")
}

pub(crate) fn only_who_runs_a_session_keeps_it_and_a_delegated_one_keeps_no_more_than_it_has() {
    let root = TempDir::new("keeping");
    let warden = Embedded::start(config(StatePlace::Private)).unwrap();
    let mut runtime = Runtime::greeted_in(&warden, &root.0);
    let mut other = Runtime::greeted_in(&warden, &root.0);
    let first = session(&mut runtime);
    let code = |refused: Result<TaskId, Refusal>| refused.unwrap_err().code;
    assert_eq!(code(seal(&mut other, first.id)), Code::UnknownSession);
    let said = first.ask("delegate puppet");
    let child = said.strip_prefix("delegated 9 ").unwrap();
    let task = seal(&mut runtime, SessionId(child.parse().unwrap())).unwrap();
    assert!(matches!(runtime.end(first.id), Answer::Ended(_)));
    assert_eq!(code(seal(&mut runtime, first.id)), Code::UnknownSession);
    let again = order(task, runtime.root);
    let restored = restore(&mut runtime, again).unwrap();
    assert_eq!(makes(&restored, "x"), 2, "half of what the other one had");
}

pub(crate) fn what_is_restored_within_a_session_ends_with_it() {
    let root = TempDir::new("inside");
    let warden = Embedded::start(config(StatePlace::Private)).unwrap();
    let mut runtime = Runtime::greeted_in(&warden, &root.0);
    let first = session(&mut runtime);
    let task = seal(&mut runtime, first.id).unwrap();
    let around = session(&mut runtime);
    let inside = Restore {
        within: Some(around.id),
        ..order(task, runtime.root)
    };
    let inside = restore(&mut runtime, inside).unwrap();
    assert_eq!(makes(&inside, "x"), 4);
    assert_eq!(makes(&around, "y"), 0, "taken from the one around it");
    // In another conversation it has nothing in common with that.
    let elsewhere = Restore {
        within: Some(around.id),
        rebind: Some(text("d")),
        ..order(task, runtime.root)
    };
    let elsewhere = restore(&mut runtime, elsewhere).unwrap();
    assert_eq!(elsewhere.tell("descriptors"), "3");
    assert!(matches!(runtime.end(around.id), Answer::Ended(_)));
    assert_eq!(runtime.status().running, 1, "only the first is left");
    for _ in 0..3 {
        assert_eq!(runtime.over().cause, OverCause::Revoked);
    }
    drop(first);
    assert_eq!(runtime.over().cause, OverCause::WorkerLeft);
}

pub(crate) fn a_session_goes_on_in_another_conversation_with_half_of_what_is_left() {
    let root = TempDir::new("going-on");
    let away = TempDir::new("going-on-away");
    let warden = Embedded::start(config(StatePlace::Private)).unwrap();
    let mut runtime = Runtime::greeted_in(&warden, &root.0);
    let first = session(&mut runtime);
    let second = go_on(&mut runtime, first.id).unwrap();
    assert_eq!(makes(&second, "x"), 2);
    assert_eq!(makes(&first, "y"), 2);
    // What goes on is not within the other one.
    drop(first);
    let over = runtime.over();
    assert_eq!((over.cause, over.parent), (OverCause::WorkerLeft, None));
    assert_eq!(second.tell("descriptors"), "4");
    // A task that is kept of it is of its owner and its new conversation.
    let task = seal(&mut runtime, second.id).unwrap();
    let old = order(task, runtime.root);
    assert_eq!(
        restore(&mut runtime, old.clone())
            .map(drop)
            .unwrap_err()
            .code,
        Code::NotRestored
    );
    let new = Restore {
        conversation: text("d"),
        ..old
    };
    restore(&mut runtime, new).unwrap();
    // A root that was replaced is not gone on with.
    std::fs::rename(&root.0, away.0.join("root")).unwrap();
    std::fs::create_dir(&root.0).unwrap();
    let third = go_on(&mut runtime, second.id).unwrap();
    assert_eq!(third.tell("descriptors"), "3");
    let code = go_on(&mut runtime, SessionId(999_999))
        .map(drop)
        .unwrap_err()
        .code;
    assert_eq!(code, Code::UnknownSession);
}
