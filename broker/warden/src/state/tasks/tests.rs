//! What is kept for a task comes back whole or not at all.

use super::legacy::{OldDenial, OldEffect, OldGrant, OldParts, OldRoot};
use super::*;
use crate::testing::{TempDir, sealed};
use portcullis_protocol::authority::{Budgets, Denial, DenialTarget, Effect, Grant, Root, RootId};
use portcullis_protocol::bounded::{Bytes, Text};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Rule;
use portcullis_protocol::verb::VerbSet;
use portcullis_protocol::view::RootIndex;
use std::time::Duration;

const TASK: TaskId = TaskId([3; 16]);
const INPUT: Digest = Digest([4; 32]);

fn state(dir: &TempDir) -> State {
    let place = crate::state::StatePlace::At(dir.path().join("state"));
    State::open(&place, Duration::ZERO).unwrap()
}

fn denial(effect: Effect) -> Denial {
    Denial {
        rule: Rule {
            name: Text::new("mine").unwrap(),
            reason: Text::default(),
        },
        verbs: VerbSet::READING,
        target: DenialTarget::Pattern {
            anchor: None,
            pattern: Bytes::new("secret").unwrap(),
        },
        effect,
    }
}

fn authority(root: Root) -> Authority {
    Authority::seal(Parts {
        request: Text::new("r").unwrap(),
        owner: Text::new("o").unwrap(),
        conversation: Text::new("c").unwrap(),
        parent: None,
        roots: vec![root],
        grants: vec![Grant::whole(RootIndex(0), RelPath::root(), VerbSet::ALL)],
        asks: Vec::new(),
        denials: vec![denial(Effect::Ask)],
        budgets: Budgets {
            creates: Some(4),
            ..Budgets::UNLIMITED
        },
        expires_ms: Some(9),
    })
    .unwrap()
}

/// A state with one task, and what was kept.
fn with_task(dir: &TempDir) -> (State, Authority) {
    let state = state(dir);
    let authority = authority(sealed(1, &dir.make("root")).root().clone());
    state
        .keep_task(&NewTask {
            task: TASK,
            input: INPUT,
            deciding: Deciding::Decider,
            authority: &authority,
        })
        .unwrap();
    (state, authority)
}

fn execute(state: &State, sql: &str) {
    let run = |database: &Connection| Ok(database.execute(sql, ())?);
    assert_eq!(state.journal().with(run).unwrap(), 1, "{sql}");
}

#[test]
fn what_was_kept_comes_back_as_it_was_in_a_later_life_too() {
    let dir = TempDir::new();
    let (first, authority) = with_task(&dir);
    let is_back = |state: &State| {
        let back = state.task(TASK).unwrap().unwrap();
        assert_eq!(back.input, INPUT);
        assert_eq!(back.deciding, Deciding::Decider);
        assert_eq!(back.authority, authority);
        assert!(state.task(TaskId([5; 16])).unwrap().is_none());
    };
    is_back(&first);
    drop(first);
    is_back(&state(&dir));
}

#[test]
fn a_row_that_does_not_agree_with_itself_is_malformed() {
    let dir = TempDir::new();
    for change in [
        "UPDATE tasks SET owner = 'p'",
        "UPDATE tasks SET conversation = 'd'",
        "UPDATE tasks SET input = 'x'",
        "UPDATE tasks SET authority = replace(authority, substr(authority, 1, 8), '00000000')",
        "UPDATE tasks SET version = 3",
        "UPDATE tasks SET body = x''",
        "UPDATE tasks SET body = x'02'",
        "UPDATE tasks SET body = substr(body, 1, length(body) - 1)",
        "UPDATE tasks SET body = CAST(body || x'00' AS BLOB)",
        // The old encoding of it makes no sense.
        "UPDATE tasks SET version = 1, body = CAST(x'01' || substr(body, 2) AS BLOB)",
    ] {
        let place = TempDir::new();
        let (state, _) = with_task(&place);
        execute(&state, change);
        let read = state.task(TASK);
        assert!(
            matches!(read, Err(TaskError::Malformed)),
            "{change}: {read:?}"
        );
    }
    let (state, _) = with_task(&dir);
    execute(
        &state,
        "UPDATE tasks SET version = 3, body = CAST(x'03' || substr(body, 2) AS BLOB)",
    );
    assert!(matches!(state.task(TASK), Err(TaskError::Version(3))));
}

#[test]
fn an_older_encoding_keeps_what_restricts_and_loses_roots_and_grants() {
    let dir = TempDir::new();
    let (state, _) = with_task(&dir);
    let root = sealed(1, &dir.make("root")).root().clone();
    let old = |effect| OldDenial {
        rule: denial(Effect::Deny).rule,
        verbs: VerbSet::READING,
        target: denial(Effect::Deny).target,
        effect,
    };
    let encoded = chain::encode(&OldParts {
        request: Text::new("r").unwrap(),
        owner: Text::new("o").unwrap(),
        roots: vec![OldRoot {
            id: RootId(1),
            label: root.label.clone(),
            scope: root.scope,
            location: root.location.clone(),
            identity: root.identity,
            file_system: root.file_system,
        }],
        grants: vec![OldGrant {
            root: RootIndex(0),
            prefix: RelPath::root(),
            verbs: VerbSet::ALL,
        }],
        denials: vec![old(OldEffect::Deny), old(OldEffect::Hide)],
        expires_ms: Some(9),
    })
    .unwrap();
    let id = hex(blake3::hash(&encoded).as_bytes());
    let update = format!(
        "UPDATE tasks SET version = 1, authority = '{id}', body = x'01{}'",
        hex(&encoded)
    );
    execute(&state, &update);
    let back = state.task(TASK).unwrap().unwrap();
    let parts = back.authority.parts();
    assert_eq!(
        (parts.owner.as_str(), parts.conversation.as_str()),
        ("o", "c")
    );
    assert_eq!(parts.expires_ms, Some(9));
    let mut kept = parts.denials.clone();
    kept.sort_by_key(|denial| denial.effect);
    assert_eq!(kept, [denial(Effect::Deny), denial(Effect::Hide)]);
    assert!(parts.roots.is_empty() && parts.grants.is_empty() && parts.asks.is_empty());
    execute(&state, "UPDATE tasks SET owner = 'p'");
    assert!(matches!(state.task(TASK), Err(TaskError::Malformed)));
}
