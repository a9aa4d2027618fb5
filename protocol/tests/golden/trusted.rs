//! Every message of the control and ledger endpoints.

use crate::effects;
use crate::granted;
use crate::values::{
    Case, DIFF, authority, bytes, cage, few, identity, incarnation, label, limits, note, path,
    refusal, tally, text,
};
use portcullis_protocol::authority::{Effect, Inputs, RootId, Scope};
use portcullis_protocol::control::{
    Answer, Build, Deciding, DenialOrder, DenialOrderTarget, Diff, DiffText, Drain, Draining, End,
    Ended, GrantOrder, Hello, Log, LogPage, Merged, Mint, Minted, Order, Over, OverCause,
    RootOrder, RunId, Running, Runs, RunsPage, Seal, Sealed, Sharing, Status, StatusReport, Unseal,
    Verified, Verify, Welcome,
};
use portcullis_protocol::ledger::{
    Begun, Command, Duty, Event, Fault, Finished, RunAs, SessionEnd, Setup, Unlock,
};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::SessionId;
use portcullis_protocol::verb::{Mode, ModeSet, Verb, VerbSet};
use portcullis_protocol::view::Digest;

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
        Case::new("order-06-runs", 7, Order::Runs(Runs { before: None })),
        Case::new(
            "order-06-runs-before",
            7,
            Order::Runs(Runs {
                before: Some(RunId(300)),
            }),
        ),
        Case::new(
            "order-07-log",
            8,
            Order::Log(Log {
                run: RunId(300),
                after: 128,
            }),
        ),
        Case::new("order-08-diff", 9, Order::Diff(Diff { receipt: 300 })),
        Case::new("order-09-verify", 10, Order::Verify(Verify {})),
        Case::new("order-10-drain", 11, Order::Drain(Drain {})),
    ]
    .into_iter()
    .chain(granted::orders())
    .collect()
}

fn grant(prefix: &[u8], verbs: VerbSet, inputs: Inputs) -> GrantOrder {
    GrantOrder {
        root: RootId(1),
        prefix: path(prefix),
        verbs,
        modes: ModeSet::of(&[Mode::WriteNew, Mode::DeleteFile]),
        inputs,
    }
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
        conversation: text("thread 7"),
        grants: few(vec![grant(b"src/caf\xe9", VerbSet::READING, Inputs::Any)]),
        asks: few(vec![grant(
            b"",
            VerbSet::of(&[Verb::Write]),
            Inputs::Only(few(vec![Digest([0x1d; 32])])),
        )]),
        budgets: granted::budgets(),
        deciding: Deciding::Decider,
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
        ignore: bytes(b"/target/\n!keep\xe9\n"),
    }
}

pub(crate) fn answers() -> Vec<Case<Answer>> {
    let welcome = Welcome {
        version: portcullis_protocol::VERSION,
        incarnation: incarnation(),
        build: Build(1_700_000_000_000),
        sharing: Sharing::User,
    };
    let sealed = Sealed {
        root: RootId(1),
        location: path(b"home/user/caf\xe9"),
        identity: identity(),
    };
    let minted = Minted {
        session: SessionId(300),
        authority: authority().id(),
        run: RunId(300),
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
        parent: Some(SessionId(299)),
    };
    let mut cases = vec![
        Case::new("answer-00-welcome", 1, Answer::Welcome(welcome)),
        Case::new("answer-01-refused", 2, Answer::Refused(refusal())),
        Case::new("answer-02-sealed", 2, Answer::Sealed(sealed)),
        Case::new("answer-03-minted", 3, Answer::Minted(minted)),
        Case::new("answer-04-ended", 4, Answer::Ended(Ended {})),
        Case::new("answer-05-status", 6, Answer::Status(report)),
        Case::new("answer-06-over", 0, Answer::Over(over)),
    ];
    cases.extend(records());
    cases.extend(granted::answers());
    cases
}

fn records() -> Vec<Case<Answer>> {
    let runs = RunsPage {
        runs: few(vec![effects::run()]),
    };
    let log = LogPage {
        receipts: few(vec![effects::receipt_on_record()]),
    };
    let verified = Verified {
        sessions: 2,
        receipts: 300,
        open: 1,
        broken: None,
    };
    let broken = Verified {
        broken: Some(text("receipt 7 is not the link after receipt 6")),
        ..verified.clone()
    };
    vec![
        Case::new("answer-07-runs", 7, Answer::Runs(runs)),
        Case::new("answer-08-log", 8, Answer::Log(log)),
        Case::new("answer-09-diff", 9, Answer::Diff(DiffText { cut: 300 })).with(DIFF),
        Case::new("answer-10-verified", 10, Answer::Verified(verified)),
        Case::new("answer-10-verified-broken", 10, Answer::Verified(broken)),
        Case::new(
            "answer-11-draining",
            11,
            Answer::Draining(Draining { connections: 2 }),
        ),
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
        duty: Duty::Serve,
        lineage: few(vec![granted::ancestor()]),
        ignore: bytes(b"*.caf\xe9\n"),
    };
    let observe = Setup {
        duty: Duty::Observe(effects::intent()),
        ..setup.clone()
    };
    let propose = Setup {
        duty: Duty::Propose,
        ..setup.clone()
    };
    let mut cases = vec![
        Case::new("command-00-setup-propose", 0, Command::Setup(propose)),
        Case::new("command-00-setup", 0, Command::Setup(setup)),
        Case::new("command-00-setup-observe", 0, Command::Setup(observe)),
        Case::new("command-01-begun", 0, Command::Begun(Begun {})),
        Case::new(
            "command-02-not-begun",
            0,
            Command::NotBegun(Refusal::new(Code::Contended)),
        ),
        Case::new(
            "command-03-receipted",
            0,
            Command::Receipted(effects::receipt()),
        ),
    ];
    cases.extend(granted::commands());
    cases
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
    let mut cases = vec![
        Case::new("event-00-ready", 0, Event::Ready(cage())),
        Case::new("event-01-refused", 0, Event::Refused(note())),
        Case::new("event-02-finished", 0, Event::Finished(finished)),
        Case::new("event-03-fault", 0, Event::Fault(fault)),
        Case::new("event-04-begin", 0, Event::Begin(effects::begin())),
        Case::new("event-05-amend", 0, Event::Amend(effects::intent())),
        Case::new("event-06-unlock", 0, Event::Unlock(Unlock {})),
        Case::new("event-07-finish", 0, Event::Finish(effects::finish())).with(DIFF),
        Case::new("event-08-seen", 0, Event::Seen(effects::seen())),
    ];
    cases.extend(granted::events());
    cases
}
