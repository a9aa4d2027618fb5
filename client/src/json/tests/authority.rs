//! What a session may do and what it asks for, as documents.

use super::*;

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
fn an_identity_shows_roots_grants_and_denials() {
    let shown = identity(&of_ann());
    assert_eq!(shown["authority"], "aa".repeat(32));
    assert_eq!(
        shown["roots"][0],
        json!({ "label": "workspace", "scope": "workspace" })
    );
    let grant = json!({
        "root": 0, "path": ".", "verbs": ["read", "search"], "modes": [], "inputs": null,
    });
    assert_eq!(shown["grants"][0], grant);
    let ask = json!({
        "root": 0, "path": "src", "verbs": ["write", "chmod"], "modes": ["write:new"], "inputs": 2,
    });
    assert_eq!(shown["asks"][0], ask);
    assert_eq!(
        (&shown["conversation"], &shown["parent"]),
        (&json!("chat 3"), &json!("bb".repeat(32)))
    );
    let denial = &shown["denials"][0];
    assert_eq!(
        (&denial["effect"], &denial["pattern"]),
        (&json!("ask"), &json!("*.lock"))
    );
    let kinds = [
        "operations",
        "read_bytes",
        "written_bytes",
        "creates",
        "deletes",
    ];
    for (kind, used) in kinds.into_iter().zip(1..) {
        assert_eq!(shown["used"][kind], used, "{kind}");
        let most = (kind == "read_bytes").then_some(9);
        assert_eq!(shown["budgets"][kind], json!(most), "{kind}");
    }
}

fn of_ann() -> Identity {
    Identity {
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
    }
}

fn rule_named(name: &str) -> Rule {
    Rule {
        name: Text::new(name).unwrap(),
        reason: Text::new("a reason").unwrap(),
    }
}
