//! An approval is spent with the intent and given back with the receipt, or not at all.

use super::*;
use portcullis_protocol::approval::{Approval, Approver, ProposalId, ProposalState};

pub(super) const APPROVER: Approver = Approver::Uid(77);

/// Puts proposal `id` on record as approved.
pub(super) fn approved(dir: &TempDir, row: SessionRow, id: u64) {
    let tool = Connection::open(dir.path().join("state").join(DATABASE)).unwrap();
    tool.execute(
        "INSERT INTO proposals (id, session, input, bound, state, approver, at_ms, expires_ms)
         VALUES (?1, ?2, '', '', 'approved', 'uid:77', 1, 9000000000000)",
        (sql(id), row.0),
    )
    .unwrap();
}

pub(super) fn approval(id: u64) -> Approval {
    Approval {
        proposal: ProposalId(id),
        approver: APPROVER,
    }
}

pub(super) fn approved_effect(
    state: &State,
    row: SessionRow,
    proposal: u64,
    outcome: Outcome,
) -> Result<ReceiptId, StateError> {
    let id = claimed(state, row, proposal)?;
    state.finish(id, &end("a", outcome), b"", Witness::Gate)
}

fn claimed(state: &State, row: SessionRow, proposal: u64) -> Result<IntentId, StateError> {
    let cage = CageReport {
        landlock_rules: 2,
        ..cage()
    };
    let claim = Claim {
        approval: approval(proposal),
        cage: &cage,
    };
    state.begin(row, &begin("a"), Some(&claim))
}

fn is(dir: &TempDir, id: u64) -> ProposalState {
    let tool = Connection::open(dir.path().join("state").join(DATABASE)).unwrap();
    let state: String = tool
        .query_row(
            "SELECT state FROM proposals WHERE id = ?1",
            (sql(id),),
            |row| row.get(0),
        )
        .unwrap();
    let mut all = ProposalState::ALL.into_iter();
    all.find(|known| known.name() == state).unwrap()
}

fn set(dir: &TempDir, change: &str) {
    let tool = Connection::open(dir.path().join("state").join(DATABASE)).unwrap();
    tool.execute_batch(change).unwrap();
}

#[test]
fn an_approval_is_spent_once_and_said_in_the_receipt() {
    let dir = TempDir::new();
    let state = open(&dir);
    let run = state.begin_run("r", "o").unwrap();
    let row = session(&state, run, 1);
    approved(&dir, row, 1);
    let id = claimed(&state, row, 1).unwrap();
    assert_eq!(is(&dir, 1), ProposalState::Spent, "before the effect");
    state
        .finish(id, &end("a", Outcome::Done), b"", Witness::Gate)
        .unwrap();
    assert_eq!(is(&dir, 1), ProposalState::Spent);
    let again = claimed(&state, row, 1).unwrap_err();
    assert!(
        matches!(again, StateError::NotApproved { proposal: 1 }),
        "{again:?}"
    );
    // What was not begun leaves nothing open.
    effect(&state, row, "b", Outcome::Done);
    let log = records(&dir).log(run, 0).unwrap().receipts.into_vec();
    let [first, second] = log.as_slice() else {
        panic!("{log:?}");
    };
    assert_eq!(first.approval, Some(approval(1)));
    assert_eq!(second.approval, None);
    assert_ne!(first.cage, second.cage, "it was made by a gate of its own");
    assert_eq!(second.cage, chain::cage(&cage()).unwrap());
    assert_eq!(second.previous, first.id.chain);
    assert_eq!(first.authority, authority().id());
    assert_eq!(records(&dir).verify().unwrap().broken, None);
}

#[test]
fn what_is_not_approved_or_not_of_this_session_begins_nothing() {
    let dir = TempDir::new();
    let state = open(&dir);
    let run = state.begin_run("r", "o").unwrap();
    let (row, other) = (session(&state, run, 1), session(&state, run, 2));
    approved(&dir, row, 1);
    let refused = |row| {
        let error = claimed(&state, row, 1).unwrap_err();
        assert!(
            matches!(error, StateError::NotApproved { proposal: 1 }),
            "{error:?}"
        );
        assert_eq!(records(&dir).verify().unwrap().open, 0);
    };
    refused(other);
    for unfit in ["pending", "refused", "spent", "void"] {
        set(&dir, &format!("UPDATE proposals SET state = '{unfit}'"));
        refused(row);
    }
    set(
        &dir,
        "UPDATE proposals SET state = 'approved', approver = 'runtime'",
    );
    refused(row);
    assert!(matches!(
        claimed(&state, row, 2).unwrap_err(),
        StateError::NotApproved { proposal: 2 }
    ));
    set(&dir, "UPDATE proposals SET approver = 'uid:77'");
    claimed(&state, row, 1).unwrap();
}

#[test]
fn an_effect_that_failed_gives_its_approval_back_and_no_other_does() {
    for (outcome, after) in [
        (Outcome::Failed, ProposalState::Approved),
        (Outcome::Done, ProposalState::Spent),
        (Outcome::Uncertain, ProposalState::Spent),
    ] {
        let dir = TempDir::new();
        let state = open(&dir);
        let row = session(&state, state.begin_run("r", "o").unwrap(), 1);
        approved(&dir, row, 1);
        approved_effect(&state, row, 1, outcome).unwrap();
        assert_eq!(is(&dir, 1), after, "{outcome:?}");
        let again = approved_effect(&state, row, 1, Outcome::Done);
        assert_eq!(again.is_ok(), outcome == Outcome::Failed);
        assert_eq!(records(&dir).verify().unwrap().broken, None);
        state.end_session(row).unwrap();
        assert_eq!(is(&dir, 1), ProposalState::Spent);
    }
}

#[test]
fn a_receipt_that_is_not_written_gives_nothing_back() {
    let dir = TempDir::new();
    let state = open(&dir);
    let row = session(&state, state.begin_run("r", "o").unwrap(), 1);
    approved(&dir, row, 1);
    let id = claimed(&state, row, 1).unwrap();
    state.journal().forbid_growth();
    let mut large = end("a", Outcome::Failed);
    large.touched = Few::new(vec![touched(&"x".repeat(200)); 400]).unwrap();
    assert!(state.finish(id, &large, &[], Witness::Gate).is_err());
    assert_eq!(is(&dir, 1), ProposalState::Spent);
    assert_eq!(records(&dir).verify().unwrap().open, 1);
}

#[test]
fn what_comes_back_after_its_time_or_its_session_is_void() {
    let dir = TempDir::new();
    let state = open(&dir);
    let run = state.begin_run("r", "o").unwrap();
    let row = session(&state, run, 1);
    for id in 1..=3 {
        approved(&dir, row, id);
    }
    let id = claimed(&state, row, 1).unwrap();
    set(&dir, "UPDATE proposals SET expires_ms = 5 WHERE id = 1");
    state
        .finish(id, &end("a", Outcome::Failed), b"", Witness::Gate)
        .unwrap();
    assert_eq!(is(&dir, 1), ProposalState::Void);
    set(&dir, "UPDATE proposals SET state = 'pending' WHERE id = 2");
    state.end_session(row).unwrap();
    assert_eq!(
        (is(&dir, 2), is(&dir, 3)),
        (ProposalState::Void, ProposalState::Void)
    );
}

#[test]
fn a_claim_of_an_earlier_life_ends_in_its_receipt_and_is_void_when_nothing_was_done() {
    for (outcome, after) in [
        (Outcome::Failed, ProposalState::Void),
        (Outcome::Uncertain, ProposalState::Spent),
    ] {
        let dir = TempDir::new();
        let state = open(&dir);
        let run = state.begin_run("r", "o").unwrap();
        let row = session(&state, run, 1);
        approved(&dir, row, 1);
        claimed(&state, row, 1).unwrap();
        let left = left_by_a_kill(&dir);
        let state = open(&left);
        let found = state.open_intents().unwrap().remove(0);
        assert_eq!(found.begin, begin("a"));
        state
            .finish(found.id, &end("a", outcome), b"", Witness::Observer)
            .unwrap();
        assert_eq!(is(&left, 1), after);
        let receipt = records(&left)
            .log(run, 0)
            .unwrap()
            .receipts
            .into_vec()
            .remove(0);
        assert_eq!(receipt.approval, Some(approval(1)));
        assert_ne!(receipt.cage, chain::cage(&cage()).unwrap());
        assert_eq!(records(&left).verify().unwrap().broken, None);
    }
}

#[test]
fn approvers_are_read_as_they_were_written() {
    for approver in [
        Approver::SameUid,
        Approver::Runtime,
        Approver::Decider,
        Approver::Passphrase,
        Approver::Uid(0),
        Approver::Uid(u32::MAX),
    ] {
        let text = chain::approver_text(approver);
        assert_eq!(chain::text_approver(&text).unwrap(), approver);
    }
    for wrong in [
        "",
        "uid",
        "uid:",
        "uid:01",
        "uid:+1",
        "Runtime",
        "runtime:1",
        "gid:1",
    ] {
        assert!(chain::text_approver(wrong).is_err(), "{wrong}");
    }
}
