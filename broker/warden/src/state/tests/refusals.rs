//! The log of refusals, and sessions on record.

use super::*;
use portcullis_protocol::ledger::RefusalNote;
use portcullis_protocol::limits::{REFUSALS_KEPT, REFUSALS_PAGE_MAX, SESSIONS_PAGE_MAX};
use portcullis_protocol::refusal::Code;

fn note(object: &str) -> RefusalNote {
    RefusalNote {
        verb: Some(Verb::Read),
        object: Some(Bytes::new(object).unwrap()),
        code: Code::Denied,
        rule: Some(Text::new("builtin:keys").unwrap()),
    }
}

#[test]
fn refusals_are_told_by_run_in_order_with_what_is_left_out() {
    let dir = TempDir::new();
    let state = open(&dir);
    let (run, other) = (
        state.begin_run("r", "o").unwrap(),
        state.begin_run("s", "o").unwrap(),
    );
    let (a, b) = (session(&state, run, 1), session(&state, other, 2));
    let notes: Vec<_> = (0..70).map(|n| note(&format!("{n}"))).collect();
    state.refused(a, &notes, 70).unwrap();
    state.refused(b, &[note("b")], 1).unwrap();
    // Five more were not told one by one.
    state.refused(a, &[], 75).unwrap();
    let records = records(&dir);
    let first = records.refusals(run, 0).unwrap();
    assert_eq!(first.left_out, 5);
    let first = first.refusals.into_vec();
    assert_eq!(first.len(), REFUSALS_PAGE_MAX);
    let rest = records.refusals(run, first.last().unwrap().number).unwrap();
    let all: Vec<_> = first.iter().chain(rest.refusals.as_slice()).collect();
    let told: Vec<_> = all.iter().map(|refusal| refusal.note.clone()).collect();
    assert_eq!(told, notes);
    assert!(all.iter().all(|refusal| refusal.session == SessionId(1)));
    let last = all.last().unwrap().number;
    assert!(
        records
            .refusals(run, last)
            .unwrap()
            .refusals
            .as_slice()
            .is_empty()
    );
    let of_other = records.refusals(other, 0).unwrap();
    assert_eq!(of_other.refusals.as_slice()[0].note, note("b"));
    assert_eq!(of_other.left_out, 0);
}

#[test]
fn the_oldest_refusals_go_first() {
    let dir = TempDir::new();
    let state = open(&dir);
    let run = state.begin_run("r", "o").unwrap();
    let row = session(&state, run, 1);
    let many = REFUSALS_KEPT + 10;
    let notes: Vec<_> = (0..64).map(|n| note(&format!("{n}"))).collect();
    let mut told = 0;
    while told < many {
        let some = usize::try_from((many - told).min(64)).unwrap();
        told += some as u64;
        state.refused(row, &notes[..some], told).unwrap();
    }
    let page = records(&dir).refusals(run, 0).unwrap();
    assert_eq!(page.left_out, 10);
    assert_eq!(page.refusals.as_slice()[0].number, 11);
}

#[test]
fn long_refusals_and_sessions_fit_their_pages() {
    let dir = TempDir::new();
    let state = open(&dir);
    let run = state.begin_run("r", "o").unwrap();
    let row = session(&state, run, 1);
    let long = note(&"x".repeat(4095));
    state.refused(row, &vec![long; 64], 64).unwrap();
    let records = records(&dir);
    let (mut after, mut told) = (0, 0);
    loop {
        let page = records.refusals(run, after).unwrap();
        let encoded = chain::encode(&page).unwrap();
        assert!(encoded.len() <= portcullis_protocol::limits::BODY_BYTES_MAX);
        let Some(last) = page.refusals.as_slice().last() else {
            break;
        };
        after = last.number;
        told += page.refusals.as_slice().len();
    }
    assert_eq!(told, 64);
}

#[test]
fn sessions_are_told_with_both_ends_of_their_chains() {
    let dir = TempDir::new();
    let state = open(&dir);
    let run = state.begin_run("r", "o").unwrap();
    let rows: Vec<_> = (1..=70).map(|n| session(&state, run, n)).collect();
    effect(&state, rows[0], "x", Outcome::Done);
    let second = effect(&state, rows[0], "y", Outcome::Failed);
    state.end_session(rows[0]).unwrap();
    let records = records(&dir);
    let page = records.sessions(run, 0).unwrap().sessions.into_vec();
    assert_eq!(page.len(), SESSIONS_PAGE_MAX);
    let rest = records.sessions(run, page.last().unwrap().row).unwrap();
    assert_eq!(rest.sessions.as_slice().len(), 70 - SESSIONS_PAGE_MAX);
    let log = records.log(run, 0).unwrap().receipts.into_vec();
    let first = &page[0];
    assert_eq!((first.receipts, first.head), (2, second.chain));
    assert_eq!(first.first, log[0].previous);
    assert_eq!(log[0].id.chain, log[1].previous);
    assert_eq!(first.authority, authority().id());
    assert_eq!(first.owner.as_str(), "somebody");
    assert_eq!(first.cage, chain::cage(&cage()).unwrap());
    assert!(first.ended_ms.is_some() && page[1].ended_ms.is_none());
    assert_eq!((page[1].receipts, page[1].head), (0, page[1].first));
    let (found, receipt) = records.receipt(second.number).unwrap().unwrap();
    assert_eq!((found, &receipt), (run, &log[1]));
    assert!(records.receipt(second.number + 1).unwrap().is_none());
}
