//! Sessions within one another: how they are made by runtimes and by workers, and how they end.

use crate::effects::{Session, TempDir, config};
use crate::runtime::{self, Runtime, is_alive};
use portcullis_protocol::authority::Budgets;
use portcullis_protocol::control::{Answer, Over, OverCause};
use portcullis_protocol::limits::{CHILDREN_MAX, LINEAGE_MAX};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::SessionId;
use portcullis_protocol::verb::VerbSet;
use portcullis_warden::{Embedded, StatePlace};
use std::time::{Duration, Instant};

fn start() -> Embedded {
    Embedded::start(config(StatePlace::Private)).unwrap()
}

/// A session whose gate does what it is told, within another one.
fn within(runtime: &mut Runtime, parent: &Session) -> Session {
    let mut order = runtime.order("puppet", VerbSet::ALL);
    order.within = Some(parent.id);
    Session::of(runtime.mint_as(order).unwrap())
}

/// Has a session delegated whose gate does what it is told; its number.
fn delegated(parent: &Session) -> SessionId {
    let said = parent.ask("delegate puppet");
    let number = said
        .strip_prefix("delegated 9 ")
        .unwrap_or_else(|| panic!("{said}"));
    SessionId(number.parse().unwrap())
}

/// How these are over, in order of their numbers.
fn overs(runtime: &mut Runtime, count: usize) -> Vec<Over> {
    let mut all: Vec<Over> = (0..count).map(|_| runtime.over()).collect();
    all.sort_by_key(|over| over.session);
    all
}

/// Waits until there are so many gates, those that are not caged yet or not reaped counted.
fn children_soon(count: usize) {
    let end = Instant::now() + Duration::from_secs(5);
    while runtime::children().len() != count {
        assert!(Instant::now() < end, "gates: {:?}", runtime::children());
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn gates(runtime: &mut Runtime) -> Vec<u32> {
    let status = runtime.status();
    status.sessions.as_slice().iter().map(|s| s.gate).collect()
}

pub(crate) fn sessions_within_one_another_are_gone_when_the_outermost_has_ended() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let parent = Session::new(&mut runtime, "puppet");
    let child = within(&mut runtime, &parent);
    let grandchild = within(&mut runtime, &child);
    let delegated = delegated(&grandchild);
    let all = gates(&mut runtime);
    assert_eq!(all.len(), 4);
    let other = Session::new(&mut runtime, "puppet");
    assert!(matches!(runtime.end(parent.id), Answer::Ended(_)));
    for gate in all {
        assert!(!is_alive(gate), "none of their gates is left");
    }
    let told = overs(&mut runtime, 4);
    let lines: Vec<_> = told
        .iter()
        .map(|over| (over.session, over.parent))
        .collect();
    assert_eq!(
        lines,
        [
            (parent.id, None),
            (child.id, Some(parent.id)),
            (grandchild.id, Some(child.id)),
            (delegated, Some(grandchild.id)),
        ]
    );
    // The last one's worker is a gate of these, and may be gone first.
    for over in &told[..3] {
        assert_eq!(over.cause, OverCause::Revoked);
    }
    assert!(runtime::is_closed(&child.worker) && runtime::is_closed(&grandchild.worker));
    assert_eq!(runtime.status().running, 1);
    assert_eq!(
        other.tell("descriptors"),
        "4",
        "what is not within it runs on"
    );
}

pub(crate) fn sessions_end_with_the_one_around_them_however_it_ends() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    for how in ["left", "died"] {
        let parent = Session::new(&mut runtime, "puppet");
        let child = within(&mut runtime, &parent);
        delegated(&child);
        let cause = match how {
            "left" => {
                drop(parent);
                OverCause::WorkerLeft
            }
            _ => {
                parent.send("die");
                OverCause::GateDied
            }
        };
        let told = overs(&mut runtime, 3);
        assert_eq!(told[0].cause, cause, "{how}");
        assert_eq!(told[1].cause, OverCause::Revoked, "{how}");
        assert_eq!(told[2].parent, Some(told[1].session), "{how}");
        assert_eq!(runtime.status().running, 0, "{how}");
    }
    // The innermost ends alone.
    let parent = Session::new(&mut runtime, "puppet");
    let child = within(&mut runtime, &parent);
    assert!(matches!(runtime.end(child.id), Answer::Ended(_)));
    assert_eq!(runtime.over().session, child.id);
    assert_eq!(parent.tell("descriptors"), "4");
}

pub(crate) fn a_worker_gets_a_session_within_its_own_and_ends_it() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let parent = Session::new(&mut runtime, "puppet");
    let child = delegated(&parent);
    assert_eq!(parent.tell("child 0 descriptors"), "4", "its socket came");
    assert_eq!(runtime.status().running, 2);
    // One within that.
    assert_eq!(parent.tell("child 0 delegate puppet"), "said");
    assert!(parent.tell("child 0 hear").starts_with("delegated 9 "));
    assert_eq!(runtime.status().running, 3);
    assert_eq!(
        parent.ask(&format!("end-delegated {}", child.0)),
        "noted 10"
    );
    assert_eq!(runtime.status().running, 1, "all within it is over by then");
    let told = overs(&mut runtime, 2);
    assert_eq!((told[0].session, told[0].parent), (child, Some(parent.id)));
    assert_eq!(told[1].parent, Some(child));
    assert_eq!(parent.tell("child 0 descriptors"), "gone");
    // A worker that closes the socket ends it as well.
    let next = delegated(&parent);
    parent.tell("close-child");
    let over = runtime.over();
    assert_eq!((over.session, over.cause), (next, OverCause::WorkerLeft));
}

pub(crate) fn only_ones_own_children_are_ended() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let parent = Session::new(&mut runtime, "puppet");
    let ordered = within(&mut runtime, &parent);
    let child = delegated(&parent);
    assert_eq!(parent.tell("child 0 delegate puppet"), "said");
    let inner = parent.tell("child 0 hear");
    let inner = inner.strip_prefix("delegated 9 ").unwrap();
    let other = Session::new(&mut runtime, "puppet");
    let refused = "not begun 10 unknown_session";
    for (from, session) in [
        (&parent, parent.id.0),
        // The runtime's, and the child's own.
        (&parent, ordered.id.0),
        (&parent, inner.parse().unwrap()),
        (&other, child.0),
        (&parent, 999_999),
    ] {
        assert_eq!(from.ask(&format!("end-delegated {session}")), refused);
    }
    assert_eq!(runtime.status().running, 5);
    let end = format!("end-delegated {}", child.0);
    assert_eq!(parent.ask(&end), "noted 10");
    assert_eq!(parent.ask(&end), refused, "it is over");
}

pub(crate) fn its_effects_go_on_while_a_session_is_delegated() {
    let root = TempDir::new("delegating");
    let warden = start();
    let mut runtime = Runtime::greeted_in(&warden, &root.0);
    let parent = Session::new(&mut runtime, "puppet");
    // Its gate is never caged.
    parent.tell("delegate silent");
    assert_eq!(parent.ask("begin a"), "begun 7");
    assert_eq!(parent.ask("finish a"), "receipt 8 1");
    assert_eq!(
        parent.tell("hear"),
        "not begun 9 not_confined",
        "after the deadline for that"
    );
    children_soon(1);
    delegated(&parent);
}

pub(crate) fn a_gate_that_asks_twice_at_once_is_ended() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let parent = Session::new(&mut runtime, "puppet");
    parent.tell("delegate silent");
    parent.send("delegate silent");
    let over = runtime.over();
    assert_eq!(over.cause, OverCause::GateDied);
    let note = over.note.unwrap();
    assert!(note.as_str().contains("while it asked for one"), "{note}");
    runtime::no_children_soon();
}

pub(crate) fn a_child_that_is_being_made_ends_with_its_parent() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let parent = Session::new(&mut runtime, "puppet");
    parent.tell("delegate silent");
    // It is on its way.
    children_soon(2);
    assert!(matches!(runtime.end(parent.id), Answer::Ended(_)));
    assert_eq!(runtime.over().session, parent.id);
    assert_eq!(runtime.status().running, 0);
    runtime::no_children_soon();
    // Nothing more is made within what has ended.
    let mut order = runtime.order("puppet", VerbSet::ALL);
    order.within = Some(parent.id);
    assert_eq!(
        runtime.mint_as(order).unwrap_err().code,
        Code::UnknownSession
    );
}

pub(crate) fn depth_and_number_of_sessions_within_one_another_are_limited() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let mut chain = vec![Session::new(&mut runtime, "puppet")];
    while chain.len() < LINEAGE_MAX {
        let deeper = within(&mut runtime, chain.last().unwrap());
        chain.push(deeper);
    }
    let deepest = chain.last().unwrap();
    let mut order = runtime.order("puppet", VerbSet::ALL);
    order.within = Some(deepest.id);
    let refused = runtime.mint_as(order).unwrap_err();
    assert_eq!(refused.code, Code::TooManySessions);
    assert_eq!(
        deepest.ask("delegate puppet"),
        "not begun 9 too_many_sessions"
    );
    let parent = &chain[0];
    for _ in 0..CHILDREN_MAX {
        delegated(parent);
    }
    assert_eq!(
        parent.ask("delegate puppet"),
        "not begun 9 too_many_sessions"
    );
    parent.tell("close-child");
    runtime.over();
    delegated(parent);
}

pub(crate) fn a_gate_is_told_of_the_sessions_around_its_own() {
    let warden = start();
    let mut runtime = Runtime::greeted(&warden);
    let outer = Session::new(&mut runtime, "puppet");
    let inner = within(&mut runtime, &outer);
    let mut order = runtime.order("lineage", VerbSet::ALL);
    order.within = Some(inner.id);
    let refused = runtime.mint_as(order).unwrap_err();
    assert_eq!(
        refused.note.unwrap().as_str(),
        format!(
            "{} puppet [\"w\"], {} puppet [\"w\"]",
            inner.id.0, outer.id.0
        )
    );
}

pub(crate) fn budgets_bound_effects_and_are_shared_with_delegated_sessions() {
    let root = TempDir::new("budgets");
    let warden = start();
    let mut runtime = Runtime::greeted_in(&warden, &root.0);
    let mut order = runtime.order("puppet", VerbSet::ALL);
    order.budgets = Budgets {
        creates: Some(4),
        ..Budgets::UNLIMITED
    };
    let parent = Session::of(runtime.mint_as(order).unwrap());
    assert_eq!(parent.ask("begin a"), "begun 7");
    assert_eq!(parent.ask("finish a"), "receipt 8 1");
    // What failed costs nothing.
    assert_eq!(parent.ask("begin b"), "begun 7");
    assert_eq!(parent.ask("fail b"), "receipt 8 2");
    // One is used, one goes to the other session, two are left.
    delegated(&parent);
    assert_eq!(parent.tell("child 0 begin c"), "said");
    assert_eq!(parent.tell("child 0 hear"), "begun 7");
    assert_eq!(parent.tell("child 0 finish c"), "said");
    assert_eq!(parent.tell("child 0 hear"), "receipt 8 3");
    assert_eq!(parent.tell("child 0 begin d"), "said");
    assert_eq!(parent.tell("child 0 hear"), "not begun 7 out_of_budget");
    // What it was given does not come back, spent or not.
    delegated(&parent);
    parent.tell("close-child");
    runtime.over();
    assert_eq!(parent.ask("begin e"), "begun 7");
    assert_eq!(parent.ask("finish e"), "receipt 8 4");
    assert_eq!(parent.ask("begin f"), "not begun 7 out_of_budget");
    // A session that is not made costs nothing.
    let mut order = runtime.order("holey", VerbSet::ALL);
    order.budgets.deletes = Some(2);
    order.within = Some(parent.id);
    assert_eq!(runtime.mint_as(order).unwrap_err().code, Code::NotConfined);
}
