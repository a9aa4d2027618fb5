//! What errors say of changes, and what programs decide by.

use super::*;
use portcullis_protocol::bounded::{Few, Text};
use portcullis_protocol::ledger::ReceiptId;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::view::Digest;

#[test]
fn a_refusal_keeps_its_code_rule_and_object() {
    let rule = Rule {
        name: Text::new("builtin:env").unwrap(),
        reason: Text::new("secrets").unwrap(),
    };
    let error = Error::from(
        Refusal::new(Code::Denied)
            .of(Verb::Read)
            .on(b"a/.env")
            .by(rule.clone()),
    );
    assert_eq!(error.code_name(), "denied");
    assert_eq!(error.rule(), Some(&rule));
    assert_eq!(error.object(), Some(&b"a/.env"[..]));
    assert_eq!(error.changed(), Changed::Unchanged);
    assert!(!error.is_retryable());
    assert!(Error::from(Refusal::new(Code::Contended)).is_retryable());
}

#[test]
fn every_message_says_first_that_nothing_was_changed() {
    for code in [
        ErrorCode::Refused(Refusal::new(Code::NotFound)),
        ErrorCode::Closed(Some(Closing::NotReading)),
        ErrorCode::Protocol(Violation::WrongKind),
        ErrorCode::Stalled,
        ErrorCode::Io(104),
        ErrorCode::NoSession(NoSession::NotSet),
        ErrorCode::CannotOpen("/a\nb".into(), 2),
        ErrorCode::Failed(Box::new(ended(session::Outcome::Failed))),
    ] {
        let said = Error::new(code).to_string();
        assert!(said.starts_with("nothing was changed: "), "{said}");
        assert!(!said.contains('\n'), "{said}");
        assert_eq!(said.matches("nothing was changed").count(), 1, "{said}");
    }
}

fn ended(outcome: session::Outcome) -> session::Changed {
    session::Changed {
        receipt: ReceiptId {
            number: 7,
            chain: Digest([0; 32]),
        },
        outcome,
        guarantee: session::Guarantee::Exact,
        touched: Few::default(),
        refusal: Some(Refusal::new(Code::Conflict).of(Verb::Write).on(b"a")),
        left: 0,
        matched: Few::default(),
        matched_cut: 0,
        diff_cut: 0,
        region: None,
    }
}

#[test]
fn a_doubt_is_said_first_and_a_failure_keeps_its_reason_and_receipt() {
    let closed = Error::new(ErrorCode::Closed(None));
    let uncertain = ErrorCode::Uncertain(Box::new(ended(session::Outcome::Uncertain)));
    for (code, name) in [
        (uncertain, "change_uncertain"),
        (ErrorCode::Unanswered(closed), "change_unanswered"),
    ] {
        let error = Error::new(code);
        let said = error.to_string();
        assert!(said.starts_with("it is not known whether"), "{said}");
        assert!(!said.contains("nothing was changed"), "{said}");
        assert_eq!(error.changed(), Changed::Unknown);
        assert_eq!(error.code_name(), name);
        assert!(!error.is_retryable());
    }
    let failed = Error::new(ErrorCode::Failed(Box::new(ended(session::Outcome::Failed))));
    assert_eq!(failed.code_name(), "conflict");
    assert_eq!(failed.object(), Some(&b"a"[..]));
    assert_eq!(failed.receipt().unwrap().receipt.number, 7);
    assert!(failed.to_string().ends_with("(receipt 7)"), "{failed}");
}
