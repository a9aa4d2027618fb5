//! The documents, byte for byte: a change here is a change of the version.

#[path = "tests/authority.rs"]
mod authority;

use super::*;
use crate::control::{Difference, Proposal};
use portcullis_protocol::approval::{Approval, Approver, Lost, ProposalState};
use portcullis_protocol::authority::{AuthorityId, Budget, Budgets, Effect, Scope};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::control::{
    ProposalRecord, ProposalSummary, Receipt, RootPlace, RunId, Verified, Witness,
};
use portcullis_protocol::ledger::{Finish, ReceiptId};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{
    Completeness, CutReason, DenialView, Done, Entry, EntryDetail, Found, FoundLine, GrantView,
    Guarantee, Identity, LineRole, Outcome, RootView, SessionId, Statistics, Touched, Used,
    Verdict,
};
use portcullis_protocol::verb::{Mode, ModeSet, Verb};
use portcullis_protocol::view::{Digest, Kind, PathState, Role, RootIndex, Stamp};

const TIME: Timestamp = Timestamp {
    seconds: 7,
    nanos: 8,
};

fn bound(path: &[u8]) -> Binding {
    Binding {
        role: Role::Source,
        root: RootIndex(1),
        path: RelPath::parse(path).unwrap(),
        observation: Observation {
            kind: Kind::File,
            mode: 0o644,
            links: 1,
            modified: TIME,
            stamp: Stamp {
                device: 2,
                inode: 3,
                changed: TIME,
                born: None,
                size: 4,
            },
        },
        link: None,
    }
}

#[test]
fn a_document_carries_its_version_and_kind() {
    assert_eq!(
        document("stat", binding(&bound(b"a"))).to_string(),
        "{\"kind\":\"stat\",\"links\":1,\"mode\":\"0644\",\
         \"modified\":{\"nanos\":8,\"seconds\":7},\"path\":\"a\",\"portcullis\":1,\
         \"role\":\"source\",\"root\":1,\"size\":4,\"stamp\":{\"born\":null,\
         \"changed\":{\"nanos\":8,\"seconds\":7},\"device\":2,\"inode\":3},\"type\":\"file\",\"version\":\"2.3.4.7.8\"}"
    );
}

#[test]
fn a_name_that_is_not_utf8_has_its_bytes_beside_it() {
    let shown = binding(&bound(b"a\xff\n"));
    assert_eq!(shown["path"], "a\\xff\\x0a");
    assert_eq!(shown["path_bytes"], "61ff0a");
    let plain = binding(&bound(b"a\n"));
    assert_eq!(plain["path"], "a\\x0a");
    assert_eq!(plain.get("path_bytes"), None);
}

#[test]
fn a_refusal_has_code_rule_and_object() {
    let refused = Refusal::new(Code::Denied)
        .of(Verb::Read)
        .on(b".env")
        .by(Rule {
            name: Text::new("builtin:env").unwrap(),
            reason: Text::new("keys").unwrap(),
        });
    assert_eq!(
        refusal(&refused),
        json!({
            "changed": "unchanged",
            "code": "denied",
            "current": null,
            "message": refused.to_string(),
            "note": null,
            "proposal": null,
            "object": ".env",
            "retryable": false,
            "rule": { "name": "builtin:env", "reason": "keys" },
            "verb": "read",
        })
    );
    assert_eq!(error(&Error::from(refused.clone())), refusal(&refused));
}

#[test]
fn a_client_error_has_the_same_fields() {
    let shown = error(&Error::from(crate::NoSession::NotSet));
    assert_eq!(shown["code"], "no_session");
    assert_eq!(shown["changed"], "unchanged");
    assert_eq!(shown["retryable"], false);
}

#[test]
fn content_that_is_not_utf8_is_hexadecimal() {
    let file = RelPath::parse(b"f").unwrap();
    let line = |text: &[u8]| {
        let line = Found::Line(FoundLine {
            role: LineRole::Match,
            number: 3,
            offset: 9,
            column: 1,
            text: Bytes::new(text).unwrap(),
            cut_before: 0,
            cut_after: 5,
        });
        assert_eq!(found_kind(&line), "match_line");
        found(&line, Some(&file))
    };
    assert_eq!(line(b"hi")["text"], "hi");
    assert_eq!(line(b"\xff")["text_bytes"], "ff");
    assert_eq!(
        line(b"hi"),
        json!({
            "path": "f", "line": 3, "offset": 9, "column": 1, "role": "match", "context": false,
            "text": "hi",
            "cut_before": 0, "cut_after": 5,
        })
    );
}

#[test]
fn an_entry_names_the_rule_that_denies_it() {
    let shown = entry(&Entry {
        path: RelPath::parse(b"d/l").unwrap(),
        kind: Kind::Link,
        denied: Some(Text::new("builtin:env").unwrap()),
        detail: Some(EntryDetail {
            size: 1,
            mode: 0o777,
            modified: TIME,
            link: Some(Bytes::new(&b"x"[..]).unwrap()),
        }),
    });
    assert_eq!(
        shown,
        json!({
            "path": "d/l", "type": "link", "denied": "builtin:env", "size": 1, "mode": "0777",
            "modified": { "seconds": 7, "nanos": 8 }, "link": "x",
        })
    );
}

#[test]
fn a_cut_answer_says_why_and_where_to_go_on() {
    let shown = done(
        &Done {
            completeness: Completeness::Cut {
                reason: CutReason::Limit,
                cursor: Some(Bytes::new(vec![0xab, 1]).unwrap()),
            },
            statistics: Statistics {
                denied: 2,
                ..Statistics::default()
            },
        },
        None,
    );
    assert_eq!(shown["complete"], false);
    assert_eq!(shown["cut"], "limit");
    assert_eq!(shown["cursor"], "ab01");
    assert_eq!(shown["statistics"]["passed_over"]["denied"], 2);
    assert_eq!(unhex("ab01"), Some(vec![0xab, 1]));
    assert_eq!(unhex("ab0"), None);
    assert_eq!(unhex("zz"), None);
}

fn settled() -> Receipt {
    let name = Touched {
        verb: Verb::Write,
        root: RootIndex(0),
        path: RelPath::parse(b"a\xff").unwrap(),
        before: PathState::Unknown,
        after: PathState::Absent,
    };
    Receipt {
        id: ReceiptId {
            number: 3,
            chain: Digest([0xcc; 32]),
        },
        session: SessionId(4),
        at_ms: 5,
        witness: Witness::Observer,
        end: Finish {
            outcome: Outcome::Failed,
            guarantee: Guarantee::BestEffort,
            touched: Few::new(vec![name]).unwrap(),
            refusal: Some(Refusal::new(Code::DiskFull)),
            left: 1,
            diff_cut: 2,
        },
        roots: Few::new(vec![Label::new("w").unwrap()]).unwrap(),
        diff_bytes: 9,
        authority: AuthorityId([0x11; 32]),
        began_ms: 4,
        request: Digest([0x22; 32]),
        previous: Digest([0x33; 32]),
        cage: Digest([0x44; 32]),
        approval: Some(Approval {
            proposal: ProposalId(6),
            approver: Approver::SameUid,
        }),
    }
}

#[test]
fn a_receipt_shows_its_end_and_every_name() {
    let shown = receipt(&settled());
    for (field, byte) in [
        ("authority", "11"),
        ("request", "22"),
        ("previous", "33"),
        ("cage", "44"),
    ] {
        assert_eq!(shown[field], byte.repeat(32), "{field}");
    }
    assert_eq!(
        shown["approval"],
        json!({ "proposal": 6, "approver": { "as": "same-uid" } })
    );
    assert_eq!(
        (&shown["receipt"], &shown["chain"]),
        (&json!(3), &json!("cc".repeat(32)))
    );
    assert_eq!(shown["witness"], "observer");
    assert_eq!(shown["outcome"], "failed");
    assert_eq!(shown["guarantee"], "best-effort");
    assert_eq!(shown["refusal"]["code"], "disk_full");
    assert_eq!(shown["refusal"].get("changed"), None, "the outcome says it");
    assert_eq!((&shown["left"], &shown["diff_cut"]), (&json!(1), &json!(2)));
    assert_eq!(shown["roots"], json!(["w"]));
    assert_eq!(
        shown["touched"],
        json!([{
            "verb": "write",
            "root": 0,
            "role": "target",
            "path": "a\\xff",
            "path_bytes": "61ff",
            "before": { "state": "unknown" },
            "after": { "state": "absent" },
        }])
    );
}

#[test]
fn a_chain_that_does_not_hold_is_named_and_a_difference_keeps_its_bytes() {
    let says = |broken: Option<&str>| {
        verified(&Verified {
            sessions: 1,
            receipts: 2,
            open: 3,
            broken: broken.map(|text| Text::new(text).unwrap()),
        })
    };
    assert_eq!(says(None)["holds"], true);
    let broken = says(Some("receipt 2"));
    assert_eq!(
        (&broken["holds"], &broken["broken"]),
        (&json!(false), &json!("receipt 2"))
    );
    let cut = Difference {
        text: b"\xff".to_vec(),
        cut: 4,
    };
    assert_eq!(difference(&cut), json!({ "cut": 4, "diff_bytes": "ff" }));
}
