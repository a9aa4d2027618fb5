//! Questions asked side by side.

use super::*;
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::ledger::{Answered, Claimed as Used};
use portcullis_protocol::session::{Guarantee, Outcome};
use portcullis_protocol::view::Digest;
use portcullis_transport::LedgerSide;
use std::sync::Arc;

fn sides() -> (Arc<Ledger>, Endpoint<LedgerSide>) {
    let (a, b) = portcullis_transport::pair().unwrap();
    let mark = OwnedFd::from(tempfile::tempfile().unwrap());
    let ledger = Ledger::new(Endpoint::new(a).unwrap(), mark);
    (Arc::new(ledger), Endpoint::new(b).unwrap())
}

fn intent() -> Intent {
    Intent {
        steps: Few::default(),
        request: Digest([1; 32]),
    }
}

fn asked() -> Asked {
    Asked {
        id: 3,
        code: 3,
        body: Bytes::default(),
        input: Digest([2; 32]),
    }
}

fn end() -> Finish {
    Finish {
        outcome: Outcome::Done,
        guarantee: Guarantee::Exact,
        touched: Few::default(),
        refusal: None,
        left: 0,
        diff_cut: 0,
    }
}

fn take(warden: &Endpoint<LedgerSide>) -> (RequestId, Event, usize) {
    let mut buffer = Buffer::new();
    let (frame, descriptors) = warden.receive(&mut buffer).unwrap().decode().unwrap();
    (frame.id, frame.message, descriptors.len())
}

fn answer(warden: &Endpoint<LedgerSide>, id: RequestId, command: &Command) {
    warden.send(&mut Vec::new(), id, command, &[]).unwrap();
}

fn receipt() -> ReceiptId {
    ReceiptId {
        number: 5,
        chain: Digest([3; 32]),
    }
}

/// An effect begins and ends while another thread waits for what was approved.
#[test]
fn an_effect_ends_while_a_proposal_is_waited_for() {
    let (ledger, warden) = sides();
    let waiting = Arc::clone(&ledger);
    let waits = std::thread::spawn(move || {
        let (socket, _worker) = portcullis_transport::pair().unwrap();
        waiting.propose(asked(), b"behind", socket.as_fd())
    });
    let (first, event, descriptors) = take(&warden);
    assert_eq!((event, descriptors), (Event::Propose(asked()), 1));

    let effect = Arc::clone(&ledger);
    let ends = std::thread::spawn(move || {
        let begun = effect.begin(TreeLock::Shared, intent()).unwrap();
        effect.finish(begun, &end(), b"")
    });
    let (id, event, _) = take(&warden);
    assert!(matches!(event, Event::Begin(_)) && id != first);
    answer(&warden, id, &Command::Begun(Granted {}));
    let (id, event, _) = take(&warden);
    assert!(matches!(event, Event::Finish(_)) && id != first);
    answer(&warden, id, &Command::Receipted(receipt()));
    assert_eq!(ends.join().unwrap().unwrap(), receipt());

    answer(
        &warden,
        first,
        &Command::Answered(Answered { used: Used::Yes }),
    );
    assert!(matches!(waits.join().unwrap(), Ok(Proposed::Answered)));
}

/// Answers in whatever order reach whoever asked.
#[test]
fn each_answer_finds_its_question() {
    let (ledger, warden) = sides();
    let threads: Vec<_> = (0..8)
        .map(|n| {
            let ledger = Arc::clone(&ledger);
            std::thread::spawn(move || {
                let mut asked = asked();
                asked.id = n;
                let (socket, _worker) = portcullis_transport::pair().unwrap();
                match ledger.propose(asked, b"", socket.as_fd()).unwrap() {
                    Proposed::Refused(refusal) => refusal.note.unwrap(),
                    Proposed::Answered => panic!("nothing was approved"),
                }
            })
        })
        .collect();
    let mut questions: Vec<_> = threads.iter().map(|_| take(&warden)).collect();
    questions.reverse();
    for (id, event, _) in questions {
        let Event::Propose(asked) = event else {
            panic!("{event:?}");
        };
        let refusal = Refusal::new(Code::NeedsApproval).noting(&asked.id.to_string());
        answer(&warden, id, &Command::NotBegun(refusal));
    }
    for (n, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.join().unwrap(), Text::new(n.to_string()).unwrap());
    }
}

/// A warden that is gone, or answers what nobody asked, ends every wait, and every later one.
#[test]
fn a_broken_ledger_leaves_nobody_waiting() {
    for lies in [true, false] {
        let (ledger, warden) = sides();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let ledger = Arc::clone(&ledger);
                std::thread::spawn(move || ledger.claim(intent()).map(drop))
            })
            .collect();
        for _ in &threads {
            take(&warden);
        }
        if lies {
            answer(&warden, RequestId(77), &Command::Begun(Granted {}));
        } else {
            drop(warden);
        }
        for thread in threads {
            let refused = thread.join().unwrap().unwrap_err();
            assert_eq!(refused.code, Code::NoLedger);
        }
        let refused = ledger.claim(intent()).map(drop).unwrap_err();
        assert_eq!(refused.code, Code::NoLedger);
    }
}
