//! One effect as every endpoint tells of it: planned, intended, ended, seen.

use crate::values::{CAFE, bytes, conflict, few, path, refusal, stamp, text};
use portcullis_protocol::control::{Receipt, RunId, RunRecord, Witness};
use portcullis_protocol::ledger::{
    Begin, Finish, Intent, ReceiptId, Seen, SeenStep, Step, Temporary, TreeLock,
};
use portcullis_protocol::session::{
    Changed, Composed, Conflicted, Deletion, Guarantee, Lines, Matched, Outcome, Planned, Region,
    SessionId, Tier, Touched,
};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Digest, Kind, ObjectId, PathState, Present, RootIndex};

pub(crate) fn receipt() -> ReceiptId {
    ReceiptId {
        number: 300,
        chain: Digest([0xc1; 32]),
    }
}

pub(crate) fn present(kind: Kind) -> PathState {
    let (size, digest) = match kind {
        Kind::File | Kind::Link => (5, Some(Digest([0xd1; 32]))),
        Kind::Directory | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => (0, None),
    };
    PathState::Present(Present {
        kind,
        mode: 0o644,
        size,
        digest,
        stamp: Some(stamp()),
    })
}

/// A file that is still to be made: no object has its name yet.
fn to_be() -> PathState {
    PathState::Present(Present {
        kind: Kind::File,
        mode: 0o600,
        size: 0,
        digest: Some(Digest([0xd2; 32])),
        stamp: None,
    })
}

fn touch(verb: Verb, name: &[u8], before: PathState, after: PathState) -> Touched {
    Touched {
        verb,
        root: RootIndex(0),
        path: path(name),
        before,
        after,
    }
}

/// A file made and a tree removed.
pub(crate) fn touched() -> Vec<Touched> {
    vec![
        touch(Verb::Write, CAFE, PathState::Absent, to_be()),
        touch(
            Verb::DeleteTree,
            b"old",
            present(Kind::Directory),
            PathState::Absent,
        ),
    ]
}

pub(crate) fn planned() -> Planned {
    Planned {
        touched: few(touched()),
        matched: few(vec![
            matched(0, Tier::Exact),
            matched(300, Tier::Punctuation),
        ]),
        matched_cut: 128,
        diff_cut: 300,
    }
}

/// Two lines that became one.
fn matched(edit: u16, tier: Tier) -> Matched {
    Matched {
        change: 1,
        edit,
        tier,
        old: Lines {
            first: 300,
            count: 2,
        },
        new: Lines {
            first: 299,
            count: 1,
        },
    }
}

/// What stands behind a conflict: some lines of the file as it is.
fn region() -> Region {
    Region {
        first_line: 300,
        total_lines: 70_000,
        object: ObjectId {
            device: 0x801,
            inode: 300,
        },
        digest: Digest([0xd4; 32]),
    }
}

pub(crate) fn conflicted() -> Conflicted {
    Conflicted {
        refusal: conflict(),
        region: region(),
    }
}

pub(crate) const fn composed() -> Composed {
    Composed { bytes: 65_542 }
}

pub(crate) fn changed() -> Changed {
    Changed {
        receipt: receipt(),
        outcome: Outcome::Done,
        guarantee: Guarantee::Detected,
        touched: few(touched()),
        refusal: None,
        left: 0,
        matched: few(vec![matched(0, Tier::Terminators)]),
        matched_cut: 0,
        diff_cut: 128,
        region: None,
    }
}

/// The same, taken back because the object became another.
pub(crate) fn changed_failed() -> Changed {
    Changed {
        outcome: Outcome::Failed,
        guarantee: Guarantee::Exact,
        touched: few(vec![touch(
            Verb::Edit,
            CAFE,
            present(Kind::File),
            present(Kind::File),
        )]),
        refusal: Some(conflict()),
        matched: few(Vec::new()),
        diff_cut: 0,
        region: Some(region()),
        ..changed()
    }
}

/// The same, where nobody knows how it ended.
pub(crate) fn changed_uncertain() -> Changed {
    Changed {
        outcome: Outcome::Uncertain,
        guarantee: Guarantee::BestEffort,
        touched: few(vec![touch(
            Verb::Edit,
            CAFE,
            present(Kind::File),
            PathState::Unknown,
        )]),
        refusal: Some(conflict()),
        left: 1,
        ..changed()
    }
}

pub(crate) fn intent() -> Intent {
    let mut steps = touched().into_iter();
    let [made, removed] = [steps.next().unwrap(), steps.next().unwrap()];
    Intent {
        steps: few(vec![
            Step {
                parent: ObjectId {
                    device: 0x801,
                    inode: 299,
                },
                name: bytes(b"caf\xe9.rs"),
                touched: made,
                temporary: None,
                deletion: None,
            },
            Step {
                parent: ObjectId {
                    device: 0x801,
                    inode: 2,
                },
                name: bytes(b"old"),
                touched: removed,
                temporary: Some(Temporary([0x7e; 16])),
                deletion: Some(Deletion::Tree),
            },
        ]),
        request: Digest([0xd3; 32]),
    }
}

pub(crate) fn begin() -> Begin {
    Begin {
        tree: TreeLock::Exclusive,
        intent: intent(),
    }
}

pub(crate) fn finish() -> Finish {
    Finish {
        outcome: Outcome::Failed,
        guarantee: Guarantee::Exact,
        touched: few(touched()),
        refusal: Some(refusal()),
        left: 2,
        diff_cut: 300,
    }
}

pub(crate) fn seen() -> Seen {
    Seen {
        steps: few(vec![
            SeenStep {
                now: present(Kind::File),
                temporary: PathState::Absent,
            },
            SeenStep {
                now: PathState::Unknown,
                temporary: present(Kind::Directory),
            },
        ]),
    }
}

pub(crate) fn run() -> RunRecord {
    RunRecord {
        run: RunId(300),
        request: text("fix the build"),
        owner: text("user"),
        began_ms: 1_700_000_000_000,
        ended_ms: Some(1_700_000_060_000),
        sessions: 2,
        done: 3,
        failed: 4,
        uncertain: 5,
        open: 6,
    }
}

pub(crate) fn receipt_on_record() -> Receipt {
    Receipt {
        id: receipt(),
        session: SessionId(300),
        at_ms: 1_700_000_001_000,
        witness: Witness::Observer,
        end: finish(),
        roots: few(vec![crate::values::label("workspace")]),
        diff_bytes: 128,
        authority: crate::values::authority().id(),
        began_ms: 1_700_000_000_500,
        request: Digest([0xd3; 32]),
        previous: Digest([0xc0; 32]),
        cage: Digest([0xca; 32]),
        approval: Some(crate::granted::approval()),
    }
}
