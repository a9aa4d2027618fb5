//! What a runtime asks of the records.

use super::controlled::control;
use super::*;
use portcullis_protocol::authority::AuthorityId;
use portcullis_protocol::bounded::{Few, Text};
use portcullis_protocol::control::{
    Answer, DiffText, Draining, Ended, LogPage, Order, Receipt, RunId, RunRecord, RunsPage,
    Verified, Witness,
};
use portcullis_protocol::ledger::{Finish, ReceiptId};
use portcullis_protocol::path::Label;
use portcullis_protocol::session::{Guarantee, Outcome};
use portcullis_protocol::view::Digest;

fn record(run: u64) -> RunRecord {
    RunRecord {
        run: RunId(run),
        request: Text::new("fix the tests").unwrap(),
        owner: Text::new("ann").unwrap(),
        began_ms: 1,
        ended_ms: None,
        sessions: 1,
        done: 2,
        failed: 0,
        uncertain: 0,
        open: 0,
    }
}

fn receipt(number: u64) -> Receipt {
    Receipt {
        id: ReceiptId {
            number,
            chain: Digest([1; 32]),
        },
        session: SessionId(9),
        at_ms: 5,
        witness: Witness::Gate,
        end: Finish {
            outcome: Outcome::Done,
            guarantee: Guarantee::Exact,
            touched: Few::default(),
            refusal: None,
            left: 0,
            diff_cut: 0,
        },
        roots: Few::new(vec![Label::new("workspace").unwrap()]).unwrap(),
        diff_bytes: 3,
        authority: AuthorityId([2; 32]),
        began_ms: 4,
        request: Digest([3; 32]),
        previous: Digest([0; 32]),
        cage: Digest([4; 32]),
        approval: None,
    }
}

#[test]
fn runs_receipts_and_differences_come_as_they_are_kept() {
    let (mut control, warden) = control(|warden| {
        let (id, order, _) = warden.next();
        assert!(matches!(order, Order::Runs(runs) if runs.before == Some(RunId(9))));
        let runs = Few::new(vec![record(8), record(7)]).unwrap();
        warden.send(id, &Answer::Runs(RunsPage { runs }), &[]);
        let (id, order, _) = warden.next();
        assert!(matches!(order, Order::Log(log) if (log.run, log.after) == (RunId(8), 4)));
        let receipts = Few::new(vec![receipt(5), receipt(6)]).unwrap();
        warden.send(id, &Answer::Log(LogPage { receipts }), &[]);
        let (id, order, _) = warden.next();
        assert!(matches!(order, Order::Diff(diff) if diff.receipt == 5));
        let text = DiffText { cut: 12 };
        warden.send_content(id, &Answer::Diff(text), b"--- a\n+++ b\n");
    });
    assert_eq!(
        control.runs(Some(RunId(9))).unwrap(),
        [record(8), record(7)]
    );
    assert_eq!(control.log(RunId(8), 4).unwrap(), [receipt(5), receipt(6)]);
    let difference = control.diff(5).unwrap();
    assert_eq!(difference.text, b"--- a\n+++ b\n");
    assert_eq!(difference.cut, 12);
    warden.join().unwrap();
}

#[test]
fn verifying_and_draining_have_answers_of_their_own() {
    let (mut control, warden) = control(|warden| {
        let (id, order, _) = warden.next();
        assert!(matches!(order, Order::Verify(_)));
        let verified = Verified {
            sessions: 1,
            receipts: 2,
            open: 0,
            broken: Some(Text::new("receipt 2").unwrap()),
        };
        warden.send(id, &Answer::Verified(verified), &[]);
        let (id, order, _) = warden.next();
        assert!(matches!(order, Order::Drain(_)));
        warden.send(id, &Answer::Draining(Draining { connections: 3 }), &[]);
        let (id, ..) = warden.next();
        warden.send(id, &Answer::Ended(Ended {}), &[]);
    });
    let verified = control.verify().unwrap();
    assert_eq!(verified.broken.unwrap().as_str(), "receipt 2");
    assert_eq!(control.drain().unwrap().connections, 3);
    let wrong = control.verify().unwrap_err();
    assert_eq!(violation(&wrong), Violation::WrongKind);
    warden.join().unwrap();
}
