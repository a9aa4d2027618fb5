//! Narrower sessions, asked for of a gate that follows a script.

use super::attached::identity;
use super::*;
use crate::{Wishes, Words};
use portcullis_protocol::authority::{AuthorityId, Budgets, Effect, Scope};
use portcullis_protocol::bounded::Few;
use portcullis_protocol::path::Label;
use portcullis_protocol::session::{Delegated, Identity, Noted, RootView};
use portcullis_protocol::verb::{Mode, ModeSet, VerbSet};
use std::os::fd::AsFd;

fn delegated() -> Reply {
    Reply::Delegated(Delegated {
        session: SessionId(21),
        authority: AuthorityId([5; 32]),
    })
}

fn wishes() -> Wishes {
    let words: Words = "read,write:new".parse().unwrap();
    Wishes::new("child").grant(words, ask::selector("src").unwrap())
}

/// Gives the client a child session, and its gate.
fn give(gate: &mut Gate, id: RequestId) -> Gate {
    let (worker, child) = pair().unwrap();
    gate.send_with(id, &delegated(), &[worker.as_fd()]).unwrap();
    drop(worker);
    let (id, request, _) = gate.next();
    let Request::Acknowledge(acknowledge) = request else {
        panic!("{request:?}");
    };
    assert_eq!(acknowledge.session, SessionId(21));
    gate.send(id, &Reply::Noted(Noted {}), &[]);
    Gate::new(child)
}

#[test]
fn a_delegated_session_is_acknowledged_and_speaks_with_a_gate_of_its_own() {
    let (session, gate) = session(|gate| {
        let (id, request, _) = gate.next();
        let Request::Delegate(asked) = request else {
            panic!("{request:?}");
        };
        let [wish] = asked.grants.as_slice() else {
            panic!("{asked:?}");
        };
        assert_eq!(
            (wish.root, wish.prefix.to_string().as_str()),
            (RootIndex(0), "src")
        );
        assert_eq!(wish.verbs, VerbSet::of(&[Verb::Read, Verb::Write]));
        assert_eq!(wish.modes, ModeSet::of(&[Mode::WriteNew]));
        assert_eq!(asked.denials.as_slice()[0].effect, Effect::Ask);
        assert_eq!(asked.budgets.operations, Some(5));
        assert_eq!(asked.expires_ms, Some(7));
        let mut child = give(gate, id);
        let (id, request, _) = child.next();
        assert!(
            matches!(request, Request::Hello(h) if h.incarnation == Some(Incarnation([7; 16])))
        );
        child.send(id, &Reply::Welcome(welcome(VERSION)), &[]);
        let (id, _, content) = child.next();
        child.send(id, &Reply::Pong(Ping {}), &content);
        let (id, _, content) = gate.next();
        gate.send(id, &Reply::Pong(Ping {}), &content);
        assert!(child.try_next().is_none(), "nobody else holds it");
    });
    let mut session = session.expecting(Incarnation([7; 16]));
    let wishes = wishes()
        .ask_pattern("locks", "they are shared", VerbSet::WRITING, b"*.lock")
        .budgets(Budgets {
            operations: Some(5),
            ..Budgets::UNLIMITED
        })
        .expires_ms(7);
    let mut child = session.delegate(&wishes).unwrap();
    assert_eq!(
        (child.id, child.authority),
        (SessionId(21), AuthorityId([5; 32]))
    );
    child.session.ping(b"child").unwrap();
    session.ping(b"parent").unwrap();
    drop(child);
    gate.join().unwrap();
}

#[test]
fn labels_are_looked_up_only_where_one_is_named() {
    let (mut session, gate) = session(|gate| {
        let (id, request, _) = gate.next();
        assert!(matches!(request, Request::Whoami(_)), "{request:?}");
        let root = |label: &str| RootView {
            label: Label::new(label).unwrap(),
            scope: Scope::Workspace,
        };
        let identity = Identity {
            roots: Few::new(vec![root("one"), root("two")]).unwrap(),
            ..identity()
        };
        gate.send(id, &Reply::Whoami(identity), &[]);
        let (id, request, _) = gate.next();
        let Request::Delegate(asked) = request else {
            panic!("{request:?}");
        };
        assert_eq!(asked.asks.as_slice()[0].root, RootIndex(1));
        give(gate, id);
    });
    let two = ask::selector("/two/src").unwrap();
    let wishes = Wishes::new("child").ask(Words::verbs(VerbSet::READING), two);
    session.delegate(&wishes).unwrap();
    gate.join().unwrap();
}

#[test]
fn a_refused_delegation_leaves_the_session_usable_and_closed_for_descriptors() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        let refusal = Refusal::new(Code::TooManySessions);
        gate.send(id, &Reply::Refused(refusal), &[]);
        let (id, _, content) = gate.next();
        gate.send(id, &Reply::Pong(Ping {}), &content);
        let (id, ..) = gate.next();
        let file = std::fs::File::open("/").unwrap();
        let pong = Reply::Pong(Ping {});
        // The kernel refuses it here; before Linux 6.16 the client does.
        if gate.send_with(id, &pong, &[file.as_fd()]).is_err() {
            gate.send(id, &Reply::Stat(bound("a")), &[]);
        }
    });
    let error = session.delegate(&wishes()).unwrap_err();
    assert_eq!(error.code_name(), "too_many_sessions");
    assert!(!error.is_retryable());
    session.ping(b"on").unwrap();
    let violation = violation(&session.ping(b"").unwrap_err());
    assert!(
        matches!(violation, Violation::WrongKind | Violation::Descriptors),
        "{violation}"
    );
    gate.join().unwrap();
}

/// The violation that what `script` says to a delegation is; the session is over with it.
fn hostile(script: impl FnOnce(&mut Gate, RequestId) + Send + 'static) -> Violation {
    let (mut session, gate) = session(move |gate| {
        let (id, request, _) = gate.next();
        assert!(matches!(request, Request::Delegate(_)));
        script(gate, id);
        assert!(gate.try_next().is_none(), "nothing is acknowledged");
    });
    let error = session.delegate(&wishes()).unwrap_err();
    assert_eq!(session.whoami().unwrap_err(), error);
    drop(session);
    gate.join().unwrap();
    violation(&error)
}

#[test]
fn an_answer_without_its_socket_or_with_something_else_ends_the_session() {
    let missing = hostile(|gate, id| gate.send(id, &delegated(), &[]));
    assert_eq!(missing, Violation::Descriptors);
    let file = hostile(|gate, id| {
        let file = std::fs::File::open("/").unwrap();
        gate.send_with(id, &delegated(), &[file.as_fd()]).unwrap();
    });
    assert_eq!(file, Violation::Descriptors);
    let stream = hostile(|gate, id| {
        let (stream, _) = std::os::unix::net::UnixStream::pair().unwrap();
        gate.send_with(id, &delegated(), &[stream.as_fd()]).unwrap();
    });
    assert_eq!(stream, Violation::Descriptors);
    let two = hostile(|gate, id| {
        let (a, b) = pair().unwrap();
        let two = [a.as_fd(), b.as_fd()];
        gate.send_with(id, &delegated(), &two).unwrap();
    });
    assert_eq!(two, Violation::Descriptors);
}

#[test]
fn a_socket_with_an_answer_of_another_kind_ends_the_session() {
    let refused = hostile(|gate, id| {
        let (socket, _) = pair().unwrap();
        let refusal = Reply::Refused(Refusal::new(Code::NotGranted));
        gate.send_with(id, &refusal, &[socket.as_fd()]).unwrap();
    });
    assert_eq!(refused, Violation::Descriptors);
    let other = hostile(|gate, id| {
        let (socket, _) = pair().unwrap();
        let noted = Reply::Noted(Noted {});
        gate.send_with(id, &noted, &[socket.as_fd()]).unwrap();
    });
    assert_eq!(other, Violation::WrongKind);
    let unasked = hostile(|gate, id| {
        let (socket, _) = pair().unwrap();
        let id = RequestId(id.0 ^ 1);
        gate.send_with(id, &delegated(), &[socket.as_fd()]).unwrap();
    });
    assert!(matches!(unasked, Violation::UnknownId(_)));
}

#[test]
fn an_acknowledgement_that_is_not_noted_gives_no_session() {
    let (mut session, gate) = session(|gate| {
        let (id, ..) = gate.next();
        let (worker, _child) = pair().unwrap();
        gate.send_with(id, &delegated(), &[worker.as_fd()]).unwrap();
        let (id, ..) = gate.next();
        gate.send(id, &delegated(), &[]);
    });
    let error = session.delegate(&wishes()).unwrap_err();
    assert_eq!(violation(&error), Violation::WrongKind);
    gate.join().unwrap();
}

#[test]
fn a_delegated_session_is_ended_by_its_number() {
    let (mut session, gate) = session(|gate| {
        for reply in [
            Reply::Noted(Noted {}),
            Reply::Refused(Refusal::new(Code::UnknownSession)),
        ] {
            let (id, request, _) = gate.next();
            assert!(matches!(request, Request::EndDelegated(it) if it.session == SessionId(21)));
            gate.send(id, &reply, &[]);
        }
    });
    session.end_delegated(SessionId(21)).unwrap();
    let again = session.end_delegated(SessionId(21)).unwrap_err();
    assert_eq!(again.code_name(), "unknown_session");
    gate.join().unwrap();
}
