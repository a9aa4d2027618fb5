//! What the model's sessions ask for, and what their gates are said to be.

use super::super::*;
use crate::state::{SessionRow, StatePlace};
use crate::testing::TempDir;
use portcullis_protocol::approval::Lost;
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::control::{Deciding, ProposalSummary, RunId};
use portcullis_protocol::ledger::{Begin, CageReport, Finish, Step, TreeLock};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{Guarantee, Outcome, Touched};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{ObjectId, PathState, RootIndex};
use std::time::Duration;

pub(super) fn open(dir: &TempDir) -> State {
    let place = StatePlace::At(dir.path().join("state"));
    State::open(&place, Duration::from_millis(50)).unwrap()
}

pub(super) fn cage() -> CageReport {
    CageReport {
        landlock_abi: 3,
        landlock_handled: 1,
        landlock_rules: 1,
        seccomp_mode: 2,
        seccomp_digest: [4; 32],
        no_new_privs: 1,
        capabilities: 0,
        dumpable: 0,
        user: 1000,
        group: 1000,
        probes_refused: 1,
        probes_made: 1,
    }
}

pub(super) fn intent(input: u8, name: &str) -> Intent {
    let step = Step {
        parent: ObjectId {
            device: 1,
            inode: 2,
        },
        name: Bytes::new(name).unwrap(),
        touched: Touched {
            verb: Verb::Delete,
            root: RootIndex(0),
            path: RelPath::parse(name.as_bytes()).unwrap(),
            before: PathState::Unknown,
            after: PathState::Absent,
        },
        temporary: None,
        deletion: None,
    };
    Intent {
        steps: Few::new(vec![step]).unwrap(),
        request: Digest([input; 32]),
    }
}

pub(super) fn begin(intent: &Intent) -> Begin {
    Begin {
        tree: TreeLock::Shared,
        intent: intent.clone(),
    }
}

pub(super) fn end(outcome: Outcome) -> Finish {
    Finish {
        outcome,
        guarantee: Guarantee::Exact,
        touched: Few::default(),
        refusal: None,
        left: 0,
        diff_cut: 0,
    }
}

pub(super) fn reviewing() -> Reviewing {
    Reviewing {
        connection: ConnectionId(1),
        deciding: Deciding::Anyone,
    }
}

pub(super) fn made(session: (SessionId, SessionRow), input: u8, holder: Holder) -> Made {
    let now = now_ms();
    let record = ProposalRecord {
        summary: ProposalSummary {
            id: ProposalId(0),
            session: session.0,
            state: ProposalState::Pending,
            verb: Verb::Delete,
            place: RelPath::root(),
            names: 1,
            at_ms: now,
            expires_ms: now + 1_000_000,
        },
        run: RunId(1),
        request: Text::default(),
        owner: Text::default(),
        conversation: Text::default(),
        roots: Few::default(),
        touched: Few::default(),
        lost: Lost::default(),
        rule: None,
        input: Digest([input; 32]),
        diff_cut: 0,
        approver: None,
    };
    Made {
        reviewing: reviewing(),
        new: NewProposal {
            session: session.1,
            input: Digest([input; 32]),
            bound: Digest([0; 32]),
            at_ms: now,
            expires_ms: now + 1_000_000,
        },
        bound: Bound {
            verb: Verb::Delete,
            intent: intent(input, "x"),
            lost: Lost::default(),
            rule: None,
            diff_cut: 0,
        },
        record,
        diff: Vec::new(),
        holder,
    }
}
