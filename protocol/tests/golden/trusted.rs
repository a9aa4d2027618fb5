//! Every message of the control and ledger endpoints.

use crate::values::{
    Case, authority, bytes, cage, few, identity, incarnation, label, limits, note, path, refusal,
    tally, text,
};
use portcullis_protocol::authority::{Effect, RootId, Scope};
use portcullis_protocol::control::{
    Answer, DenialOrder, DenialOrderTarget, End, Ended, GrantOrder, Hello, Merged, Mint, Minted,
    Order, Over, OverCause, RootOrder, Running, Seal, Sealed, Status, StatusReport, Unseal,
    Welcome,
};
use portcullis_protocol::ledger::{Command, Event, Fault, Finished, RunAs, SessionEnd, Setup};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::SessionId;
use portcullis_protocol::verb::{Verb, VerbSet};

pub(crate) fn orders() -> Vec<Case<Order>> {
    let hello = Hello {
        version: portcullis_protocol::VERSION,
        incarnation: None,
        client: text("portcullis 0.1.0"),
    };
    let seal = Seal {
        label: label("workspace"),
        scope: Scope::Workspace,
    };
    vec![
        Case::new("order-00-hello", 1, Order::Hello(hello)),
        Case::new("order-01-seal", 2, Order::Seal(seal)),
        Case::new("order-02-mint", 3, Order::Mint(mint())),
        Case::new(
            "order-03-end",
            4,
            Order::End(End {
                session: SessionId(300),
            }),
        ),
        Case::new(
            "order-04-unseal",
            5,
            Order::Unseal(Unseal { root: RootId(1) }),
        ),
        Case::new("order-05-status", 6, Order::Status(Status {})),
    ]
}

fn mint() -> Mint {
    let denial = |name, target, effect| DenialOrder {
        name: text(name),
        reason: text("not for this task"),
        verbs: VerbSet::of(&[Verb::Read]),
        target,
        effect,
    };
    Mint {
        request: text("fix the build"),
        owner: text("user"),
        roots: few(vec![
            RootOrder {
                root: RootId(1),
                label: None,
            },
            RootOrder {
                root: RootId(300),
                label: Some(label("docs")),
            },
        ]),
        grants: few(vec![GrantOrder {
            root: RootId(1),
            prefix: path(b"src/caf\xe9"),
            verbs: VerbSet::READING,
        }]),
        denials: few(vec![
            denial(
                "mine:keys",
                DenialOrderTarget::Pattern {
                    root: Some(RootId(1)),
                    pattern: bytes(b"a/*.key"),
                },
                Effect::Deny,
            ),
            denial(
                "mine:object",
                DenialOrderTarget::Object { descriptor: 0 },
                Effect::Hide,
            ),
        ]),
        exceptions: few(vec![text("builtin:env")]),
        expires_ms: Some(1_700_000_000_000),
        within: Some(SessionId(7)),
    }
}

pub(crate) fn answers() -> Vec<Case<Answer>> {
    let welcome = Welcome {
        version: portcullis_protocol::VERSION,
        incarnation: incarnation(),
    };
    let sealed = Sealed {
        root: RootId(1),
        location: path(b"home/user/caf\xe9"),
        identity: identity(),
    };
    let minted = Minted {
        session: SessionId(300),
        authority: authority().id(),
        merged: few(vec![Merged {
            inner: RootId(300),
            outer: RootId(1),
            prefix: path(b"docs"),
        }]),
        cage: cage(),
    };
    let report = StatusReport {
        roots: 2,
        sessions: few(vec![Running {
            session: SessionId(300),
            gate: 4_194_304,
        }]),
        running: 1,
    };
    let over = Over {
        session: SessionId(300),
        cause: OverCause::GateDied,
        tally: Some(tally()),
        refusals: few(vec![note()]),
        note: Some(text("it ended by signal 9")),
    };
    vec![
        Case::new("answer-00-welcome", 1, Answer::Welcome(welcome)),
        Case::new("answer-01-refused", 2, Answer::Refused(refusal())),
        Case::new("answer-02-sealed", 2, Answer::Sealed(sealed)),
        Case::new("answer-03-minted", 3, Answer::Minted(minted)),
        Case::new("answer-04-ended", 4, Answer::Ended(Ended {})),
        Case::new("answer-05-status", 6, Answer::Status(report)),
        Case::new("answer-06-over", 0, Answer::Over(over)),
    ]
}

pub(crate) fn commands() -> Vec<Case<Command>> {
    let setup = Setup {
        authority: authority(),
        incarnation: incarnation(),
        session: SessionId(300),
        limits: limits(),
        run_as: Some(RunAs {
            user: 1000,
            group: 100,
        }),
    };
    vec![Case::new("command-00-setup", 0, Command::Setup(setup))]
}

pub(crate) fn events() -> Vec<Case<Event>> {
    let finished = Finished {
        tally: tally(),
        end: SessionEnd::WorkerMisbehaved,
    };
    let fault = Fault {
        code: Code::NotConfined,
        what: text("landlock: ABI 2, at least 3 is needed"),
    };
    vec![
        Case::new("event-00-ready", 0, Event::Ready(cage())),
        Case::new("event-01-refused", 0, Event::Refused(note())),
        Case::new("event-02-finished", 0, Event::Finished(finished)),
        Case::new("event-03-fault", 0, Event::Fault(fault)),
    ]
}
