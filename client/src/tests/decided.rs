//! Proposals, decisions, tasks and what is on record of them, with a warden that follows a script.

use super::controlled::{Warden, control, minted};
use super::*;
use crate::change::{create, write};
use crate::{Changes, Control, Decider, MintOrder, Only, Pattern, RestoreOrder, task_input};
use portcullis_protocol::approval::{Approver, Lost, ProposalId, ProposalState};
use portcullis_protocol::authority::{Budget, Budgets, Effect, Inputs, RootId};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::control::{
    self, Answer, Build, Decided, DeciderOpened, Deciding, Decision, Ended, Order, Proof,
    ProposalRecord, ProposalSummary, ProposalsPage, RefusalRecord, RefusalsPage, RunId,
    SessionsPage, Sharing, TaskId, TaskSealed, Whose,
};
use portcullis_protocol::ledger::RefusalNote;
use portcullis_protocol::session::input_digest;
use portcullis_protocol::verb::{Mode, ModeSet, VerbSet};
use portcullis_protocol::view::Digest;
use std::os::fd::AsFd;

fn summary(number: u64) -> ProposalSummary {
    ProposalSummary {
        id: ProposalId(number),
        session: SessionId(9),
        state: ProposalState::Pending,
        verb: Verb::Write,
        place: RelPath::parse(b"home/w/a").unwrap(),
        names: 1,
        at_ms: 1,
        expires_ms: 2,
    }
}

fn record(number: u64) -> Answer {
    Answer::Proposal(ProposalRecord {
        summary: summary(number),
        run: RunId(3),
        request: Text::default(),
        owner: Text::default(),
        conversation: Text::default(),
        roots: Few::default(),
        touched: Few::default(),
        lost: Lost::default(),
        rule: None,
        input: Digest([6; 32]),
        diff_cut: 0,
        approver: None,
    })
}

fn welcome_decider(warden: &mut Warden) {
    let (id, order, _) = warden.next();
    assert!(matches!(order, Order::Hello(_)));
    let welcome = control::Welcome {
        version: VERSION,
        incarnation: Incarnation([4; 16]),
        build: Build(77),
        sharing: Sharing::User,
    };
    warden.send(id, &Answer::Welcome(welcome), &[]);
}

#[test]
fn proposals_come_in_pages_and_whole_with_their_difference() {
    let (mut control, warden) = control(|warden| {
        let (id, order, _) = warden.next();
        assert!(matches!(order, Order::Proposals(p) if (p.whose, p.after) == (Whose::All, 4)));
        let proposals = Few::new(vec![summary(5), summary(7)]).unwrap();
        warden.send(id, &Answer::Proposals(ProposalsPage { proposals }), &[]);
        let (id, order, _) = warden.next();
        assert!(matches!(order, Order::Proposal(p) if p.id == ProposalId(7)));
        warden.send_content(id, &record(7), b"--- a\n");
        let (id, ..) = warden.next();
        warden.send_content(id, &record(8), b"another one");
    });
    let page = control.proposals(Whose::All, 4).unwrap();
    assert_eq!(page, [summary(5), summary(7)]);
    let proposal = control.proposal(ProposalId(7)).unwrap();
    assert_eq!(proposal.record.input, Digest([6; 32]));
    assert_eq!(proposal.diff, b"--- a\n");
    let swapped = control.proposal(ProposalId(7)).unwrap_err();
    assert_eq!(violation(&swapped), Violation::WrongKind);
    warden.join().unwrap();
}

#[test]
fn a_decision_says_what_was_seen_and_how_it_is_proved() {
    let (mut control, warden) = control(|warden| {
        let (id, order, _) = warden.next();
        let Order::Decide(decide) = order else {
            panic!("{order:?}");
        };
        assert_eq!((decide.id, decide.input), (ProposalId(7), Digest([6; 32])));
        assert_eq!(decide.decision, Decision::Approve);
        assert_eq!(decide.proof, Proof::Passphrase(Bytes::new("open").unwrap()));
        let decided = Decided {
            state: ProposalState::Approved,
            approver: Approver::Passphrase,
        };
        warden.send(id, &Answer::Decided(decided), &[]);
        for code in [Code::NotDecider, Code::Decided, Code::UnknownProposal] {
            let (id, ..) = warden.next();
            warden.send(id, &Answer::Refused(Refusal::new(code)), &[]);
        }
    });
    let seen = (ProposalId(7), Digest([6; 32]));
    let passphrase = Proof::Passphrase(Bytes::new("open").unwrap());
    let decided = control.decide(seen.0, seen.1, Decision::Approve, passphrase);
    assert_eq!(decided.unwrap().approver, Approver::Passphrase);
    for code in ["not_decider", "decided", "unknown_proposal"] {
        let refused = control.decide(seen.0, seen.1, Decision::Refuse, Proof::Connection);
        let error = refused.unwrap_err();
        assert_eq!((error.code_name(), error.is_retryable()), (code, false));
    }
    warden.join().unwrap();
}

#[test]
fn a_decider_is_a_connection_of_its_own() {
    let (mut control, warden) = control(|warden| {
        let (id, order, _) = warden.next();
        assert!(matches!(order, Order::OpenDecider(_)));
        let (ours, theirs) = pair().unwrap();
        let answer = Answer::Decider(DeciderOpened {});
        warden.send(id, &answer, &[theirs.as_fd()]);
        drop(theirs);
        let mut decider = Warden::new(ours);
        welcome_decider(&mut decider);
        let (id, order, _) = decider.next();
        assert!(matches!(order, Order::Proposals(p) if p.whose == Whose::Own));
        let none = ProposalsPage {
            proposals: Few::default(),
        };
        decider.send(id, &Answer::Proposals(none), &[]);
        let (id, ..) = decider.next();
        decider.send_content(id, &record(7), b"");
        let (id, order, _) = decider.next();
        assert!(matches!(order, Order::Decide(d) if d.decision == Decision::Refuse));
        let decided = Decided {
            state: ProposalState::Refused,
            approver: Approver::Decider,
        };
        decider.send(id, &Answer::Decided(decided), &[]);
    });
    let mut decider = Decider::new(control.open_decider().unwrap()).unwrap();
    assert!(decider.proposals(0).unwrap().is_empty());
    let seen = decider.proposal(ProposalId(7)).unwrap().record;
    let decided = decider.decide(
        seen.summary.id,
        seen.input,
        Decision::Refuse,
        Proof::Connection,
    );
    assert_eq!(decided.unwrap().state, ProposalState::Refused);
    warden.join().unwrap();
}

/// The violation that an answer with so many descriptors is to an order.
fn hostile(
    answer: Answer,
    descriptors: usize,
    order: impl FnOnce(&mut Control) -> Result<(), Error>,
) -> Violation {
    let (mut control, warden) = control(move |warden| {
        let (id, ..) = warden.next();
        let (socket, _other) = pair().unwrap();
        warden.send(id, &answer, &vec![socket.as_fd(); descriptors]);
    });
    let error = order(&mut control).unwrap_err();
    assert_eq!(control.status().unwrap_err(), error, "it is over");
    warden.join().unwrap();
    violation(&error)
}

fn restore_order() -> RestoreOrder {
    RestoreOrder::new(TaskId([1; 16]), task_input(b"input"), "ann", "chat")
}

#[test]
fn answers_with_descriptors_too_many_or_missing_or_of_another_kind_end_the_connection() {
    let ended = || Answer::Ended(Ended {});
    let opened = || Answer::Decider(DeciderOpened {});
    let sealed = || {
        Answer::TaskSealed(TaskSealed {
            task: TaskId([2; 16]),
        })
    };
    let open = |control: &mut Control| control.open_decider().map(drop);
    let restore = |control: &mut Control| control.restore(&restore_order()).map(drop);
    let go_on = |control: &mut Control| control.continue_session(SessionId(9), "chat 2").map(drop);
    let seal = |control: &mut Control| {
        let sealed = control.seal_task(SessionId(9), task_input(b"input"));
        sealed.map(drop)
    };
    let show = |control: &mut Control| control.proposal(ProposalId(7)).map(drop);
    for count in [0, 2] {
        assert_eq!(hostile(opened(), count, open), Violation::Descriptors);
        assert_eq!(hostile(minted(), count, restore), Violation::Descriptors);
        assert_eq!(hostile(minted(), count, go_on), Violation::Descriptors);
    }
    assert_eq!(hostile(sealed(), 1, seal), Violation::Descriptors);
    assert_eq!(hostile(record(7), 1, show), Violation::Descriptors);
    assert_eq!(hostile(ended(), 1, open), Violation::WrongKind);
    assert_eq!(hostile(opened(), 1, restore), Violation::WrongKind);
    assert_eq!(hostile(ended(), 0, seal), Violation::WrongKind);
    let refusal = Answer::Refused(Refusal::new(Code::NotRestored));
    assert_eq!(hostile(refusal, 1, restore), Violation::Descriptors);
}

#[test]
fn a_task_is_sealed_with_its_input_and_restored_with_the_roots_that_are_passed() {
    let (mut control, warden) = control(|warden| {
        let (id, order, _) = warden.next();
        let Order::SealTask(seal) = order else {
            panic!("{order:?}");
        };
        assert_eq!(seal.input, task_input(b"input"));
        assert_ne!(seal.input, task_input(b"other"));
        let task = TaskId([1; 16]);
        warden.send(id, &Answer::TaskSealed(TaskSealed { task }), &[]);
        let (id, order, _) = warden.next();
        let Order::Restore(restore) = order else {
            panic!("{order:?}");
        };
        assert_eq!((restore.task, restore.input), (task, seal.input));
        assert_eq!(
            (restore.owner.as_str(), restore.conversation.as_str()),
            ("ann", "chat")
        );
        assert_eq!(restore.rebind.unwrap().as_str(), "chat 2");
        assert_eq!(restore.roots.as_slice()[0].root, RootId(4));
        assert_eq!(restore.within, Some(SessionId(8)));
        let (worker, gate) = pair().unwrap();
        warden.send(id, &minted(), &[worker.as_fd()]);
        drop(worker);
        let mut gate = Gate::new(gate);
        let (id, request, _) = gate.next();
        assert!(
            matches!(request, Request::Hello(h) if h.incarnation == Some(Incarnation([4; 16])))
        );
        gate.send(id, &Reply::Welcome(welcome(VERSION)), &[]);
    });
    let task = control.seal_task(SessionId(9), task_input(b"input"));
    assert_eq!(task.unwrap(), TaskId([1; 16]));
    let order = restore_order()
        .rebind("chat 2")
        .root(RootId(4), None)
        .within(SessionId(8));
    let (minted, mut session) = control.restore(&order).unwrap();
    assert_eq!(minted.session, session.id().unwrap());
    warden.join().unwrap();
    let long = RestoreOrder::new(TaskId([1; 16]), task_input(b""), "x".repeat(300), "");
    assert_eq!(
        control.restore(&long).unwrap_err().code_name(),
        "invalid_argument"
    );
}

#[test]
fn refusals_and_sessions_of_a_run_come_in_pages() {
    let (mut control, warden) = control(|warden| {
        let (id, order, _) = warden.next();
        assert!(matches!(order, Order::Refusals(r) if (r.run, r.after) == (RunId(3), 4)));
        let refusal = RefusalRecord {
            number: 5,
            session: SessionId(9),
            at_ms: 1,
            note: RefusalNote {
                verb: Some(Verb::Read),
                object: None,
                code: Code::Denied,
                rule: None,
            },
        };
        let page = RefusalsPage {
            refusals: Few::new(vec![refusal]).unwrap(),
            left_out: 2,
        };
        warden.send(id, &Answer::Refusals(page), &[]);
        let (id, order, _) = warden.next();
        assert!(matches!(order, Order::Sessions(s) if (s.run, s.after) == (RunId(3), 0)));
        let sessions = Few::default();
        warden.send(id, &Answer::Sessions(SessionsPage { sessions }), &[]);
    });
    let page = control.refusals(RunId(3), 4).unwrap();
    assert_eq!((page.refusals[0].number, page.left_out), (5, 2));
    assert!(control.sessions(RunId(3), 0).unwrap().is_empty());
    warden.join().unwrap();
}

#[test]
fn an_order_to_mint_says_modes_inputs_asks_budgets_and_who_decides() {
    let exact = Changes::new().with(create(ask::selector("a").unwrap(), "x"));
    let input = exact.input().unwrap();
    let (mut control, warden) = control(move |warden| {
        let (id, order, _) = warden.next();
        let Order::Mint(mint) = order else {
            panic!("{order:?}");
        };
        assert_eq!(mint.conversation.as_str(), "chat");
        let [whole, modes] = mint.grants.as_slice() else {
            panic!("{mint:?}");
        };
        assert_eq!((whole.modes, &whole.inputs), (ModeSet::ALL, &Inputs::Any));
        assert_eq!(modes.modes, ModeSet::of(&[Mode::WriteNew]));
        let only = Few::new(vec![input]).unwrap();
        assert_eq!(mint.asks.as_slice()[0].inputs, Inputs::Only(only));
        assert_eq!(mint.budgets.creates, Some(3));
        assert_eq!(mint.deciding, Deciding::Decider);
        assert_eq!(mint.denials.as_slice()[0].effect, Effect::Ask);
        warden.send(id, &Answer::Refused(Refusal::new(Code::CannotSeal)), &[]);
    });
    let (root, all) = (RootId(1), RelPath::root);
    let new = Only::verbs(VerbSet::WRITING).in_modes(ModeSet::of(&[Mode::WriteNew]));
    let this = Only::verbs(VerbSet::ALL).of_inputs(vec![input]).unwrap();
    let order = MintOrder::new("ann")
        .conversation("chat")
        .root(root, None)
        .grant(root, all(), VerbSet::READING)
        .grant_only(root, all(), new)
        .ask_only(root, all(), this)
        .budgets(Budgets::UNLIMITED.with(Budget::Creates, Some(3)))
        .deciding(Deciding::Decider)
        .ask_pattern(
            "locks",
            "shared",
            VerbSet::WRITING,
            Pattern::anywhere("*.lock"),
        );
    control.mint(&order).unwrap_err();
    warden.join().unwrap();
    let many = Only::verbs(VerbSet::ALL).of_inputs(vec![input; 65]);
    assert_eq!(many.unwrap_err().code_name(), "invalid_argument");
}

#[test]
fn the_input_of_changes_is_that_of_the_request_a_session_sends() {
    let changes = Changes::new()
        .with(create(ask::selector("a").unwrap(), "new"))
        .with(crate::change::replace(
            ask::selector("b").unwrap(),
            "x",
            "y",
        ));
    let expected = changes.input().unwrap();
    let (mut session, gate) = session(move |gate| {
        let (id, request, content) = gate.next();
        assert_eq!(input_digest(&request, &content), Some(expected));
        gate.send(id, &Reply::Refused(Refusal::new(Code::NotGranted)), &[]);
    });
    session.change(&changes).unwrap_err();
    gate.join().unwrap();
    let other = Changes::new().with(create(ask::selector("a").unwrap(), "new"));
    assert_ne!(other.input().unwrap(), expected);
    let large = Changes::new().with(write(ask::selector("a").unwrap(), vec![0; 300_000]));
    assert_eq!(large.input().unwrap_err().code_name(), "invalid_argument");
}
