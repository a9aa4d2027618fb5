//! Narrower sessions and approvals, as the command shows them.

use super::*;
use portcullis_protocol::approval::ProposalId;
use portcullis_protocol::authority::{Budget, Budgets, Effect};
use portcullis_protocol::refusal::Rule;
use portcullis_protocol::session::{
    Delegated, DenialView, GrantView, Noted, SessionId, Used, Verdict,
};
use portcullis_protocol::verb::{Mode, ModeSet, VerbSet};
use portcullis_transport::pair;
use std::os::fd::AsFd;

/// Gives a child session to whoever asks, and waits until it is over.
fn delegating(gate: &mut Gate) -> words::Delegate {
    let (id, request, _) = gate.next();
    let Request::Delegate(asked) = request else {
        panic!("{request:?}");
    };
    let (worker, child) = pair().unwrap();
    let delegated = Delegated {
        session: SessionId(21),
        authority: AuthorityId([0; 32]),
    };
    gate.send_with(id, &Reply::Delegated(delegated), &[worker.as_fd()])
        .unwrap();
    drop(worker);
    let (id, request, _) = gate.next();
    assert!(matches!(request, Request::Acknowledge(_)), "{request:?}");
    gate.send(id, &Reply::Noted(Noted {}), &[]);
    assert!(Gate::new(child).try_next().is_none(), "it was not used");
    asked
}

#[test]
fn delegate_gives_the_command_a_socket_and_no_other_and_passes_its_code_on() {
    let dir = tempfile::tempdir().unwrap();
    let seen = dir.path().join("seen");
    let script = format!(
        "for fd in /proc/$$/fd/*; do n=${{fd##*/}}; [ $n -gt 2 ] && echo $n $(readlink $fd); done \
         > {seen}; echo mine $PORTCULLIS_SOCKET_FD >> {seen}; exit 7",
        seen = seen.display()
    );
    let args = [
        "delegate",
        "--grant",
        "read,list:src",
        "--ask",
        "write:new:out",
        "--deny",
        "*.key",
        "--budget",
        "operations=9",
        "--expires",
        "5m",
        "--",
        "sh",
        "-c",
        &script,
    ];
    let (said, outcome) = tool(&args, |gate| {
        let asked = delegating(gate);
        let (grants, asks) = (asked.grants.as_slice(), asked.asks.as_slice());
        assert_eq!(grants[0].prefix, RelPath::parse(b"src").unwrap());
        assert_eq!(grants[0].verbs, VerbSet::of(&[Verb::Read, Verb::List]));
        assert_eq!(asks[0].modes, ModeSet::of(&[Mode::WriteNew]));
        let denial = &asked.denials.as_slice()[0];
        assert_eq!(
            (denial.name.as_str(), denial.effect),
            ("--deny *.key", Effect::Deny)
        );
        assert_eq!(asked.budgets.operations, Some(9));
        assert!(asked.expires_ms.is_some());
        assert_eq!(asked.request.as_str(), "sh");
    });
    assert_eq!((said.as_str(), outcome), ("", Outcome::Ran(7)));
    let seen = std::fs::read_to_string(seen).unwrap();
    let own = seen.lines().find_map(|line| line.strip_prefix("mine "));
    let sockets: Vec<&str> = seen
        .lines()
        .filter_map(|line| line.split_once(" socket:").map(|(number, _)| number))
        .collect();
    assert_eq!(sockets, [own.unwrap()], "{seen}");
}

#[test]
fn a_command_that_a_signal_ends_or_that_cannot_run_has_the_codes_of_a_shell() {
    for (command, code) in [
        (&["sh", "-c", "kill -TERM $$"][..], 143),
        (&["/nowhere/at/all"], 127),
        (&["/etc/passwd"], 126),
    ] {
        let args = [&["delegate", "--grant", "read:.", "--"], command].concat();
        let (_, outcome) = tool(&args, |gate| drop(delegating(gate)));
        assert_eq!(outcome, Outcome::Ran(code), "{command:?}");
    }
}

#[test]
fn what_the_command_leaves_running_loses_the_session_when_it_ends() {
    let args = ["delegate", "--grant", "read:.", "--", "sh", "-c"];
    let began = std::time::Instant::now();
    let left = "sleep 30 > /dev/null 2>&1 < /dev/null &";
    let (_, outcome) = tool(&[&args[..], &[left]].concat(), |gate| {
        drop(delegating(gate));
    });
    assert_eq!(outcome, Outcome::Ran(0));
    assert!(began.elapsed() < std::time::Duration::from_secs(20));
}

#[test]
fn a_delegation_that_is_refused_or_badly_written_runs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("ran");
    let touch = mark.to_str().unwrap();
    let args = [
        "--json", "delegate", "--grant", "read:.", "--", "touch", touch,
    ];
    let (said, outcome) = tool(&args, |gate| {
        let (id, ..) = gate.next();
        let refusal = Refusal::new(Code::TooManySessions);
        gate.send(id, &Reply::Refused(refusal), &[]);
    });
    assert_eq!(outcome, Outcome::NotDone);
    assert!(said.contains("too_many_sessions"), "{said}");
    for wrong in ["reed:.", "read", "read:", "read:../x"] {
        let args = ["--json", "delegate", "--grant", wrong, "--", "touch", touch];
        let (ours, _theirs) = pair().unwrap();
        let (said, outcome) = run(&args, &mut Session::from_socket(ours).unwrap());
        assert_eq!(outcome, Outcome::NotDone, "{wrong}");
        assert!(said.contains("invalid_argument"), "{said}");
    }
    assert!(!mark.exists());
}

#[test]
fn what_needs_an_approval_is_76_and_names_its_proposal() {
    let refusal = || {
        Refusal::new(Code::NeedsApproval)
            .of(Verb::Delete)
            .on(b"a")
            .awaiting(ProposalId(7))
    };
    let (said, outcome) = tool(&["--json", "delete", "a"], move |gate| {
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Refused(refusal()), &[]);
    });
    assert_eq!(outcome, Outcome::NeedsApproval);
    assert_eq!(
        format!("{:?}", outcome.code()),
        format!("{:?}", ExitCode::from(76))
    );
    let document: Value = serde_json::from_str(said.trim_end()).unwrap();
    assert_eq!(
        (
            &document["code"],
            &document["proposal"],
            &document["changed"]
        ),
        (&"needs_approval".into(), &7.into(), &"unchanged".into())
    );
}

fn rule(name: &str) -> Rule {
    Rule {
        name: Text::new(name).unwrap(),
        reason: Text::new("a reason").unwrap(),
    }
}

fn grant(verbs: VerbSet, modes: ModeSet, inputs: Option<u16>) -> GrantView {
    GrantView {
        root: RootIndex(0),
        prefix: RelPath::parse(b"src").unwrap(),
        verbs,
        modes,
        inputs,
    }
}

fn narrowed() -> Identity {
    let denial = |name: &str, effect: Effect| DenialView {
        rule: rule(name),
        verbs: VerbSet::WRITING,
        pattern: None,
        effect,
    };
    Identity {
        session: SessionId(9),
        authority: AuthorityId([0xaa; 32]),
        owner: Text::new("ann").unwrap(),
        conversation: Text::new("chat 3").unwrap(),
        parent: Some(AuthorityId([0xbb; 32])),
        expires_ms: None,
        roots: Few::new(vec![words::RootView {
            label: portcullis_protocol::path::Label::new("w").unwrap(),
            scope: portcullis_protocol::authority::Scope::Workspace,
        }])
        .unwrap(),
        grants: Few::new(vec![grant(
            VerbSet::of(&[Verb::Read, Verb::Write]),
            ModeSet::of(&[Mode::WriteNew]),
            None,
        )])
        .unwrap(),
        asks: Few::new(vec![grant(
            VerbSet::of(&[Verb::Delete]),
            ModeSet::ALL,
            Some(2),
        )])
        .unwrap(),
        budgets: Budgets::UNLIMITED.with(Budget::Creates, Some(5)),
        used: Used {
            creates: 3,
            ..Used::default()
        },
        denials: Few::new(vec![
            denial("keys", Effect::Deny),
            denial("locks", Effect::Ask),
        ])
        .unwrap(),
        limits: crate::wire::OFFERED,
    }
}

#[test]
fn whoami_shows_asks_modes_budgets_and_what_they_are_used_for() {
    let (said, _) = tool(&["whoami"], |gate| {
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Whoami(narrowed()), &[]);
    });
    for line in [
        "conversation chat 3",
        "within authority bbbbbbbbbbbbbbbb…",
        "  /w/src                read, write:new",
        "  /w/src                delete (2 exact operations)",
        "  creates               3 of 5",
    ] {
        assert!(said.lines().any(|said| said == line), "{line}\n{said}");
    }
    let (denying, asking) = said
        .split_once("rules that make an approval needed")
        .unwrap();
    assert!(
        denying.contains("keys") && !denying.contains("locks"),
        "{said}"
    );
    assert!(asking.contains("locks"), "{said}");
    assert!(
        !said.contains("operations  "),
        "what has no limit is not shown"
    );
}

#[test]
fn why_says_that_an_approval_would_allow_it() {
    for (by, wanted) in [
        (Some(rule("locks")), "by the rule locks: a reason"),
        (None, "allowed only so"),
    ] {
        let (said, outcome) = tool(&["why", "write", "a.lock"], move |gate| {
            let (id, ..) = gate.next();
            gate.send(id, &Reply::Why(Verdict::Asks { rule: by }), &[]);
            let (id, ..) = gate.next();
            let identity = crate::tests::attached::identity();
            gate.send(id, &Reply::Whoami(identity), &[]);
        });
        assert!(said.starts_with("needs an approval for each use: write of `a.lock`"));
        assert!(said.contains(wanted), "{said}");
        assert_eq!(outcome, Outcome::Done);
    }
}
