//! Which rules of ignore files the gates of a session are given.

use crate::asking::decide;
use crate::effects::{Session, TempDir, config};
use crate::runtime::Runtime;
use crate::tasks::{go_on, order, restore, seal};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::control::{Decision, GrantOrder, Restore};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_warden::{Embedded, StatePlace};

/// May write with an approval for each use, and is given these rules.
fn given(runtime: &mut Runtime, rules: &str) -> Session {
    let mut order = runtime.order("puppet", VerbSet::of(&[Verb::List]));
    let grant = order.grants.as_slice()[0].clone();
    order.asks = Few::new(vec![GrantOrder {
        verbs: VerbSet::of(&[Verb::Write]),
        ..grant
    }])
    .unwrap();
    (order.owner, order.conversation) = (Text::new("o").unwrap(), Text::new("c").unwrap());
    order.ignore = Bytes::new(rules).unwrap();
    Session::of(runtime.mint_as(order).unwrap())
}

pub(crate) fn every_gate_of_a_session_has_the_rules_of_its_order() {
    let root = TempDir::new("ignores");
    let warden = Embedded::start(config(StatePlace::Private)).unwrap();
    let mut runtime = Runtime::greeted_in(&warden, &root.0);
    let session = given(&mut runtime, "*.tmp");
    assert_eq!(session.tell("ignores"), "ignores *.tmp");
    // One that is delegated, and one within that.
    assert!(session.ask("delegate puppet").starts_with("delegated "));
    assert_eq!(session.tell("child 0 ignores"), "ignores *.tmp");
    assert_eq!(session.tell("child 0 delegate puppet"), "said");
    session.tell("child 0 hear");
    assert_eq!(session.tell("child 0 child 0 ignores"), "ignores *.tmp");
    // One that goes on elsewhere, and one of what was kept, whose order says its own.
    let further = go_on(&mut runtime, session.id).unwrap();
    assert_eq!(further.tell("ignores"), "ignores *.tmp");
    let task = seal(&mut runtime, session.id).unwrap();
    let restored = Restore {
        ignore: Bytes::new("*.old").unwrap(),
        ..order(task, runtime.root)
    };
    let restored = restore(&mut runtime, restored).unwrap();
    assert_eq!(restored.tell("ignores"), "ignores *.old");
    // The one that works a proposal out, and the one that does what was approved.
    assert_eq!(session.ask("ask ignores *.tmp"), "not begun 9 not_found");
    assert_eq!(session.ask("ask ignores *.log"), "not begun 9 conflict");
    assert_eq!(session.ask("ask write a"), "not begun 9 needs_approval 1");
    decide(&mut runtime, 1, Decision::Approve).unwrap();
    std::fs::write(root.0.join("how"), "ignores").unwrap();
    assert_eq!(session.tell("ask write a"), "said");
    assert_eq!(session.reply().unwrap(), "ignores *.tmp");
}
