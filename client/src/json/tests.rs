//! The documents, byte for byte: a change here is a change of the version.

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
    Guarantee, Identity, Outcome, RootView, SessionId, Statistics, Touched, Used, Verdict,
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
            "path": "f", "line": 3, "offset": 9, "column": 1, "context": false, "text": "hi",
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

#[test]
fn an_identity_shows_roots_grants_and_denials() {
    let shown = identity(&Identity {
        session: SessionId(5),
        authority: AuthorityId([0xaa; 32]),
        owner: Text::new("ann").unwrap(),
        conversation: Text::new("chat 3").unwrap(),
        parent: Some(AuthorityId([0xbb; 32])),
        expires_ms: None,
        roots: Few::new(vec![RootView {
            label: Label::new("workspace").unwrap(),
            scope: Scope::Workspace,
        }])
        .unwrap(),
        grants: Few::new(vec![GrantView {
            root: RootIndex(0),
            prefix: RelPath::root(),
            verbs: VerbSet::CONTENT,
            modes: ModeSet::ALL,
            inputs: None,
        }])
        .unwrap(),
        asks: Few::new(vec![GrantView {
            root: RootIndex(0),
            prefix: RelPath::parse(b"src").unwrap(),
            verbs: VerbSet::of(&[Verb::Write, Verb::Chmod]),
            modes: ModeSet::of(&[Mode::WriteNew, Mode::MoveOver]),
            inputs: Some(2),
        }])
        .unwrap(),
        budgets: Budgets::UNLIMITED.with(Budget::ReadBytes, Some(9)),
        used: Used {
            operations: 1,
            read_bytes: 2,
            written_bytes: 3,
            creates: 4,
            deletes: 5,
        },
        denials: Few::new(vec![DenialView {
            rule: rule_named("lock"),
            verbs: VerbSet::WRITING,
            pattern: Some(Bytes::new("*.lock").unwrap()),
            effect: Effect::Ask,
        }])
        .unwrap(),
        limits: Limits {
            frame_bytes: 1,
            content_bytes: 2,
            in_flight: 3,
            streams: 4,
            in_flight_bytes: 5,
            send_deadline_ms: 6,
        },
    });
    assert_eq!(shown["authority"], "aa".repeat(32));
    assert_eq!(
        shown["roots"][0],
        json!({ "label": "workspace", "scope": "workspace" })
    );
    assert_eq!(
        shown["grants"][0],
        json!({
            "root": 0,
            "path": ".",
            "verbs": ["read", "search"],
            "modes": [],
            "inputs": null,
        })
    );
    assert_eq!(
        shown["asks"][0],
        json!({
            "root": 0,
            "path": "src",
            "verbs": ["write", "chmod"],
            "modes": ["write:new"],
            "inputs": 2,
        })
    );
    assert_eq!(
        (&shown["conversation"], &shown["parent"]),
        (&json!("chat 3"), &json!("bb".repeat(32)))
    );
    assert_eq!(
        shown["budgets"],
        json!({
            "operations": null,
            "read_bytes": 9,
            "written_bytes": null,
            "creates": null,
            "deletes": null,
        })
    );
    assert_eq!(
        shown["used"],
        json!({
            "operations": 1,
            "read_bytes": 2,
            "written_bytes": 3,
            "creates": 4,
            "deletes": 5,
        })
    );
    assert_eq!(
        (
            &shown["denials"][0]["effect"],
            &shown["denials"][0]["pattern"]
        ),
        (&json!("ask"), &json!("*.lock"))
    );
}

fn rule_named(name: &str) -> Rule {
    Rule {
        name: Text::new(name).unwrap(),
        reason: Text::new("a reason").unwrap(),
    }
}

#[test]
fn what_needs_an_approval_names_its_proposal_and_is_not_retryable_by_itself() {
    let refused = Refusal::new(Code::NeedsApproval)
        .of(Verb::Write)
        .awaiting(ProposalId(7));
    let shown = error(&refused.clone().into());
    assert_eq!(
        (&shown["code"], &shown["proposal"], &shown["retryable"]),
        (&json!("needs_approval"), &json!(7), &json!(false))
    );
    assert_eq!(shown["changed"], "unchanged");
    let message = shown["message"].as_str().unwrap();
    assert!(message.starts_with("nothing was changed: "), "{message}");
    assert!(message.contains("(proposal 7)"), "{message}");
    let other = refusal(&Refusal::new(Code::Denied));
    assert_eq!(other["proposal"], json!(null));
}

#[test]
fn a_verdict_tells_an_ask_from_a_grant_and_a_refusal() {
    let by_rule = verdict(&Verdict::Asks {
        rule: Some(rule_named("lock")),
    });
    assert_eq!(
        by_rule,
        json!({
            "allowed": false,
            "asks": true,
            "rule": { "name": "lock", "reason": "a reason" },
        })
    );
    let refused = verdict(&Verdict::Refused(Refusal::new(Code::Denied)));
    assert_eq!(
        (&refused["allowed"], &refused["asks"]),
        (&json!(false), &json!(false))
    );
}

#[test]
fn a_proposal_shows_what_it_is_bound_to_where_it_is_and_who_decided() {
    let name = Touched {
        verb: Verb::Move,
        root: RootIndex(0),
        path: RelPath::parse(b"a").unwrap(),
        before: PathState::Unknown,
        after: PathState::Absent,
    };
    let shown = proposal(&Proposal {
        record: ProposalRecord {
            summary: ProposalSummary {
                id: ProposalId(7),
                session: SessionId(8),
                state: ProposalState::Approved,
                verb: Verb::Move,
                place: RelPath::parse(b"home/ann/w/a\x1b").unwrap(),
                names: 2,
                at_ms: 3,
                expires_ms: 4,
            },
            run: RunId(5),
            request: Text::new("req").unwrap(),
            owner: Text::new("ann").unwrap(),
            conversation: Text::new("chat").unwrap(),
            roots: Few::new(vec![RootPlace {
                label: Label::new("w").unwrap(),
                location: RelPath::parse(b"home/ann/w").unwrap(),
            }])
            .unwrap(),
            touched: Few::new(vec![name]).unwrap(),
            lost: Lost {
                files: 1,
                directories: 2,
                bytes: 3,
            },
            rule: None,
            input: Digest([0xdd; 32]),
            diff_cut: 0,
            approver: Some(Approver::Uid(1001)),
        },
        diff: b"--- a\n".to_vec(),
    });
    assert_eq!(shown["place"], "/home/ann/w/a\\x1b", "{shown}");
    assert_eq!(
        shown["roots"],
        json!([{ "label": "w", "location": "/home/ann/w" }])
    );
    assert_eq!(shown["approver"], json!({ "as": "uid", "uid": 1001 }));
    assert_eq!(shown["touched"][0]["role"], "source");
    assert_eq!(
        shown["lost"],
        json!({ "files": 1, "directories": 2, "bytes": 3 })
    );
    assert_eq!(
        (&shown["state"], &shown["diff"]),
        (&json!("approved"), &json!("--- a\n"))
    );
    assert_eq!(shown["input"], "dd".repeat(32));
}

#[test]
fn a_receipt_shows_its_end_and_every_name() {
    let name = Touched {
        verb: Verb::Write,
        root: RootIndex(0),
        path: RelPath::parse(b"a\xff").unwrap(),
        before: PathState::Unknown,
        after: PathState::Absent,
    };
    let shown = receipt(&Receipt {
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
    });
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
