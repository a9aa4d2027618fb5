//! Delegation, proposals, decisions, tasks, and what is on record of them.

use crate::effects;
use crate::values::{
    Case, DIFF, authority, bytes, few, incarnation, label, note, path, rule, text,
};
use portcullis_protocol::approval::{Approval, Approver, Bound, Lost, ProposalId, ProposalState};
use portcullis_protocol::authority::{Budgets, Effect, RootId};
use portcullis_protocol::control::{
    Answer, Continue, Decide, Decided, DeciderOpened, Decision, OpenDecider, Order, Proof,
    ProposalRecord, ProposalSummary, Proposals, ProposalsPage, RefusalRecord, Refusals,
    RefusalsPage, Restore, RootOrder, RootPlace, RunId, SealTask, SessionRecord, Sessions,
    SessionsPage, ShowProposal, TaskId, TaskSealed, Whose,
};
use portcullis_protocol::ledger::{
    Ancestor, AncestorGrant, Answered, Asked, Claimed, Command, Event,
};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Acknowledge, Delegate, Delegated, EndDelegated, Noted, Reply, Request, SessionId, Used,
    Verdict, Wish, WishedDenial,
};
use portcullis_protocol::verb::{ModeSet, Verb, VerbSet};
use portcullis_protocol::view::{Digest, RootIndex};

pub(crate) const fn budgets() -> Budgets {
    Budgets {
        operations: Some(300),
        read_bytes: None,
        written_bytes: Some(1 << 20),
        creates: Some(7),
        deletes: Some(0),
    }
}

pub(crate) const fn used() -> Used {
    Used {
        operations: 128,
        read_bytes: 65_542,
        written_bytes: 5,
        creates: 1,
        deletes: 0,
    }
}

pub(crate) const fn approval() -> Approval {
    Approval {
        proposal: ProposalId(300),
        approver: Approver::Uid(1001),
    }
}

pub(crate) fn ancestor() -> Ancestor {
    Ancestor {
        session: SessionId(299),
        request: text("fix the build"),
        grants: few(vec![AncestorGrant {
            root: label("workspace"),
            prefix: path(b"src"),
            verbs: VerbSet::READING,
        }]),
        cut: 1,
    }
}

fn delegate() -> Delegate {
    let wish = |prefix: &[u8], verbs| Wish {
        root: RootIndex(0),
        prefix: path(prefix),
        verbs,
        modes: ModeSet::ALL,
    };
    Delegate {
        request: text("look for the cause"),
        grants: few(vec![wish(b"src", VerbSet::READING)]),
        asks: few(vec![wish(b"src/caf\xe9", VerbSet::of(&[Verb::Edit]))]),
        denials: few(vec![WishedDenial {
            name: text("mine:keys"),
            reason: text("not for this task"),
            verbs: VerbSet::CONTENT,
            root: Some(RootIndex(0)),
            pattern: bytes(b"a/*.key"),
            effect: Effect::Ask,
        }]),
        budgets: budgets(),
        expires_ms: Some(1_700_000_000_000),
    }
}

fn delegated() -> Delegated {
    Delegated {
        session: SessionId(301),
        authority: authority().id(),
    }
}

pub(crate) fn requests() -> Vec<Case<Request>> {
    let session = SessionId(301);
    vec![
        Case::new("request-15-delegate", 20, Request::Delegate(delegate())),
        Case::new(
            "request-16-acknowledge",
            21,
            Request::Acknowledge(Acknowledge { session }),
        ),
        Case::new(
            "request-17-end-delegated",
            22,
            Request::EndDelegated(EndDelegated { session }),
        ),
    ]
}

pub(crate) fn replies() -> Vec<Case<Reply>> {
    let awaiting = Refusal::new(Code::NeedsApproval)
        .of(Verb::Write)
        .on(b"src/caf\xe9.rs")
        .awaiting(ProposalId(300));
    let asks = Verdict::Asks { rule: Some(rule()) };
    vec![
        Case::new("reply-01-refused-awaiting", 20, Reply::Refused(awaiting)),
        Case::new("reply-08-why-asks", 8, Reply::Why(asks)),
        Case::new("reply-16-delegated", 20, Reply::Delegated(delegated())),
        Case::new("reply-17-noted", 21, Reply::Noted(Noted {})),
    ]
}

pub(crate) fn orders() -> Vec<Case<Order>> {
    let decide = |decision, proof| {
        Order::Decide(Decide {
            id: ProposalId(300),
            input: Digest([0x1d; 32]),
            decision,
            proof,
        })
    };
    let page = |whose| Order::Proposals(Proposals { whose, after: 128 });
    vec![
        Case::new("order-11-proposals", 12, page(Whose::Own)),
        Case::new("order-11-proposals-all", 12, page(Whose::All)),
        Case::new(
            "order-12-proposal",
            13,
            Order::Proposal(ShowProposal {
                id: ProposalId(300),
            }),
        ),
        Case::new(
            "order-13-decide",
            14,
            decide(Decision::Approve, Proof::Connection),
        ),
        Case::new(
            "order-13-decide-passphrase",
            14,
            decide(Decision::Refuse, Proof::Passphrase(bytes(b"caf\xe9"))),
        ),
        Case::new(
            "order-14-open-decider",
            15,
            Order::OpenDecider(OpenDecider {}),
        ),
    ]
    .into_iter()
    .chain(later())
    .collect()
}

/// Orders about what is kept.
fn later() -> Vec<Case<Order>> {
    let restore = Restore {
        task: TaskId([0x7a; 16]),
        input: Digest([0x1e; 32]),
        owner: text("user"),
        conversation: text("thread 7"),
        rebind: Some(text("thread 8")),
        roots: few(vec![RootOrder {
            root: RootId(300),
            label: Some(label("docs")),
        }]),
        within: Some(SessionId(7)),
        ignore: bytes(b"*.caf\xe9\n"),
    };
    let (run, after) = (RunId(300), 128);
    vec![
        Case::new(
            "order-15-seal-task",
            16,
            Order::SealTask(SealTask {
                session: SessionId(300),
                input: Digest([0x1e; 32]),
            }),
        ),
        Case::new("order-16-restore", 17, Order::Restore(restore)),
        Case::new(
            "order-17-continue",
            18,
            Order::Continue(Continue {
                session: SessionId(300),
                conversation: text("thread 8"),
            }),
        ),
        Case::new(
            "order-18-refusals",
            19,
            Order::Refusals(Refusals { run, after }),
        ),
        Case::new(
            "order-19-sessions",
            20,
            Order::Sessions(Sessions { run, after }),
        ),
    ]
}

fn summary() -> ProposalSummary {
    ProposalSummary {
        id: ProposalId(300),
        session: SessionId(300),
        state: ProposalState::Approved,
        verb: Verb::Write,
        place: path(b"home/user/caf\xe9/src/caf\xe9.rs"),
        names: 2,
        at_ms: 1_700_000_000_000,
        expires_ms: 1_700_086_400_000,
    }
}

const fn lost() -> Lost {
    Lost {
        files: 3,
        directories: 1,
        bytes: 70_000,
    }
}

fn proposal() -> ProposalRecord {
    ProposalRecord {
        summary: summary(),
        run: RunId(300),
        request: text("fix the build"),
        owner: text("user"),
        conversation: text("thread 7"),
        roots: few(vec![RootPlace {
            label: label("workspace"),
            location: path(b"home/user/caf\xe9"),
        }]),
        touched: few(effects::touched()),
        lost: lost(),
        rule: Some(rule()),
        input: Digest([0x1d; 32]),
        diff_cut: 300,
        approver: Some(Approver::Passphrase),
    }
}

pub(crate) fn answers() -> Vec<Case<Answer>> {
    let proposals = ProposalsPage {
        proposals: few(vec![summary()]),
    };
    let decided = Decided {
        state: ProposalState::Approved,
        approver: Approver::SameUid,
    };
    let refusals = RefusalsPage {
        refusals: few(vec![RefusalRecord {
            number: 300,
            session: SessionId(300),
            at_ms: 1_700_000_001_000,
            note: note(),
        }]),
        left_out: 128,
    };
    let sessions = SessionsPage {
        sessions: few(vec![session()]),
    };
    let task = TaskId([0x7a; 16]);
    vec![
        Case::new("answer-12-proposals", 12, Answer::Proposals(proposals)),
        Case::new("answer-13-proposal", 13, Answer::Proposal(proposal())).with(DIFF),
        Case::new("answer-14-decided", 14, Answer::Decided(decided)),
        Case::new("answer-15-decider", 15, Answer::Decider(DeciderOpened {})),
        Case::new(
            "answer-16-task-sealed",
            16,
            Answer::TaskSealed(TaskSealed { task }),
        ),
        Case::new("answer-17-refusals", 19, Answer::Refusals(refusals)),
        Case::new("answer-18-sessions", 20, Answer::Sessions(sessions)),
    ]
}

fn session() -> SessionRecord {
    SessionRecord {
        row: 300,
        incarnation: incarnation(),
        session: SessionId(300),
        authority: authority().id(),
        request: text("fix the build"),
        owner: text("user"),
        conversation: text("thread 7"),
        parent: Some(authority().id()),
        roots: few(vec![label("workspace")]),
        cage: Digest([0xca; 32]),
        began_ms: 1_700_000_000_000,
        ended_ms: None,
        receipts: 3,
        first: Digest([0xf1; 32]),
        head: Digest([0xc1; 32]),
    }
}

fn asked() -> Asked {
    Asked {
        id: 20,
        code: 10,
        body: bytes(b"\x00\xff"),
        input: Digest([0x1d; 32]),
    }
}

pub(crate) fn commands() -> Vec<Case<Command>> {
    vec![
        Case::new("command-04-delegated", 0, Command::Delegated(delegated())),
        Case::new(
            "command-05-answered",
            0,
            Command::Answered(Answered { used: Claimed::Yes }),
        ),
        Case::new("command-06-asked", 0, Command::Asked(asked())).with(b"h\xe9llo"),
        Case::new("command-07-noted", 0, Command::Noted(Noted {})),
    ]
}

pub(crate) fn events() -> Vec<Case<Event>> {
    let bound = Bound {
        verb: Verb::Write,
        intent: effects::intent(),
        lost: lost(),
        rule: Some(rule()),
        diff_cut: 300,
    };
    vec![
        Case::new("event-09-delegate", 0, Event::Delegate(delegate())),
        Case::new(
            "event-10-end-delegated",
            0,
            Event::EndDelegated(EndDelegated {
                session: SessionId(301),
            }),
        ),
        Case::new("event-11-propose", 0, Event::Propose(asked())).with(b"h\xe9llo"),
        Case::new("event-12-bound", 0, Event::Bound(bound)).with(DIFF),
        Case::new(
            "event-13-unbound",
            0,
            Event::Unbound(Refusal::new(Code::Conflict)),
        ),
        Case::new("event-14-claim", 0, Event::Claim(effects::intent())),
    ]
}
