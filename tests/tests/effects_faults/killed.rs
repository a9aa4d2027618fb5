//! A gate is killed at every file system call of every verb, before it and after it.

use crate::bench::{Bench, Ran};
use portcullis_client::ErrorCode;
use portcullis_protocol::control::{OverCause, Receipt, Witness};
use portcullis_protocol::session::Outcome;
use portcullis_protocol::view::PathState;
use portcullis_tests::deeds;
use portcullis_tests::tree::Tree;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What was found of effects that nobody ended.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    killed: u32,
    unbegun: u32,
    done: u32,
    failed: u32,
    uncertain: u32,
    temporaries: u32,
}

impl Settled {
    pub(crate) const fn begun(&self) -> u32 {
        self.done + self.failed + self.uncertain
    }

    /// An effect whose gate is gone, with its receipts and the tree before and after.
    pub(crate) fn of(
        &mut self,
        receipts: &[Receipt],
        (before, after): (&Tree, &Tree),
        ideal: &BTreeMap<PathBuf, PathState>,
    ) {
        self.killed += 1;
        let receipt = match receipts {
            [] => {
                assert_eq!(before, after, "changed, and not on record");
                self.unbegun += 1;
                return;
            }
            [receipt] => receipt,
            many => panic!("one receipt for one effect: {many:#?}"),
        };
        assert_eq!(receipt.witness, Witness::Observer);
        let touched = receipt.end.touched.as_slice();
        assert!(!touched.iter().any(|one| one.after == PathState::Unknown));
        let outcome = if before.names == after.names {
            self.failed += 1;
            Outcome::Failed
        } else if &after.plain() == ideal {
            self.done += 1;
            Outcome::Done
        } else {
            self.uncertain += 1;
            Outcome::Uncertain
        };
        assert_eq!(receipt.end.outcome, outcome, "{receipt:#?} {after:#?}");
        let left = u32::try_from(after.temporaries.len()).unwrap();
        assert_eq!(receipt.end.left, left, "{receipt:#?} {after:#?}");
        self.temporaries += left;
    }
}

/// Whether the gate died. What it had not yet begun and the client was not answered is closed.
fn died(ran: &Ran) -> bool {
    match ran.over {
        OverCause::GateDied => {
            let code = ran.answer.as_ref().unwrap_err().code();
            let is_lost = matches!(code, ErrorCode::Unanswered(_) | ErrorCode::Closed(_));
            assert!(is_lost, "{code:?}");
            true
        }
        OverCause::WorkerLeft => {
            assert_eq!(ran.answer.as_ref().unwrap().outcome, Outcome::Done);
            ran.is_recorded();
            false
        }
        OverCause::WorkerMisbehaved | OverCause::Revoked => panic!("{ran:#?}"),
    }
}

fn kill_at_every_call(how: &str) {
    let mut bench = Bench::new();
    let mut all = 0;
    for deed in deeds::ALL {
        let ideal = bench.ideal(*deed);
        let mut settled = Settled::default();
        for nth in 1.. {
            let ran = bench.run(*deed, Some((nth, how)));
            if !died(&ran) {
                break;
            }
            println!("{} {nth} {how}", deed.name);
            settled.of(&ran.receipts, (&ran.before, &ran.after), &ideal);
            for receipt in &ran.receipts {
                ran.is_true(receipt);
                bench.touch_again(receipt.end.touched.as_slice());
            }
        }
        println!("== {} {how}: {settled:?}", deed.name);
        assert!(settled.begun() > 0);
        all += settled.begun();
    }
    let receipts = bench.verify();
    println!("== {all} effects were settled, {receipts} receipts");
}

#[test]
fn an_effect_whose_gate_dies_before_a_call_is_settled() {
    kill_at_every_call("die");
}

#[test]
fn an_effect_whose_gate_dies_after_a_call_is_settled() {
    kill_at_every_call("die-after");
}
