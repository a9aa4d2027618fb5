//! Orders and the authorities they make.

use super::*;
use crate::testing::{TempDir, sealed};
use portcullis_protocol::authority::{Budgets, Effect, Inputs};
use portcullis_protocol::bounded::{Bytes, Text};
use portcullis_protocol::control::{Deciding, GrantOrder, RootOrder};
use portcullis_protocol::path::Label;
use portcullis_protocol::verb::{ModeSet, Verb, VerbSet};
use std::fs::File;

pub(super) fn path(text: &str) -> RelPath {
    RelPath::parse(text.as_bytes()).unwrap()
}

pub(super) fn order(roots: &[u64]) -> control::Mint {
    let each = |root: &u64| RootOrder {
        root: RootId(*root),
        label: None,
    };
    control::Mint {
        request: Text::default(),
        owner: Text::new("o").unwrap(),
        conversation: Text::default(),
        roots: Few::new(roots.iter().map(each).collect()).unwrap(),
        grants: Few::default(),
        asks: Few::default(),
        budgets: Budgets::UNLIMITED,
        deciding: Deciding::Anyone,
        denials: Few::default(),
        exceptions: Few::default(),
        expires_ms: None,
        within: None,
        ignore: Bytes::default(),
    }
}

pub(super) fn grant(root: u64, prefix: &str, verbs: VerbSet) -> GrantOrder {
    GrantOrder {
        root: RootId(root),
        prefix: path(prefix),
        verbs,
        modes: ModeSet::ALL,
        inputs: Inputs::Any,
    }
}

pub(super) fn denial(name: &str, target: DenialOrderTarget) -> DenialOrder {
    DenialOrder {
        name: Text::new(name).unwrap(),
        reason: Text::default(),
        verbs: VerbSet::READING,
        target,
        effect: Effect::Hide,
    }
}

pub(super) fn pattern(root: Option<u64>, pattern: &str) -> DenialOrderTarget {
    DenialOrderTarget::Pattern {
        root: root.map(RootId),
        pattern: Bytes::new(pattern).unwrap(),
    }
}

pub(super) fn roots(all: Vec<SealedRoot>) -> Roots {
    all.into_iter()
        .map(|root| (root.root().id, Arc::new(root)))
        .collect()
}

/// No records are anywhere.
pub(super) fn nowhere() -> Own {
    Own::of("/nowhere".as_ref())
}

/// What becomes of an order.
pub(super) fn composed(
    order: &control::Mint,
    known: &Roots,
    within: Option<&Authority>,
    objects: &[OwnedFd],
) -> Result<Composed, MintError> {
    let around = Around {
        within,
        own: &nowhere(),
        budgets: order.budgets,
    };
    compose(order, known, objects, &around)
}

/// The targets of the denials a runtime ordered.
fn targets(composed: &Composed) -> Vec<&DenialTarget> {
    let denials = composed.authority.parts().denials.iter();
    denials
        .filter(|d| !d.rule.name.as_str().starts_with(builtin::PREFIX))
        .map(|d| &d.target)
        .collect()
}

#[test]
fn nested_roots_become_one_root_with_subtree_grants() {
    let dir = TempDir::new();
    let known = roots(vec![
        sealed(1, &dir.make("services/a")),
        sealed(2, dir.path()),
    ]);
    let mut order = order(&[1, 2]);
    order.grants = Few::new(vec![
        grant(1, "src", VerbSet::of(&[Verb::Search])),
        grant(2, "", VerbSet::of(&[Verb::Stat])),
    ])
    .unwrap();
    let made = composed(&order, &known, None, &[]).unwrap();
    let parts = made.authority.parts();
    assert_eq!(parts.roots.len(), 1);
    assert_eq!(parts.roots[0].id, RootId(2));
    assert_eq!(made.roots[0].root().id, RootId(2));
    let prefixes: Vec<_> = parts.grants.iter().map(|g| g.prefix.clone()).collect();
    assert_eq!(prefixes, [path(""), path("services/a/src")]);
    assert_eq!(
        made.merged.as_slice(),
        [Merged {
            inner: RootId(1),
            outer: RootId(2),
            prefix: path("services/a"),
        }]
    );
}

#[test]
fn labels_of_the_session_hold_and_must_differ() {
    let dir = TempDir::new();
    let known = roots(vec![sealed(1, &dir.make("a")), sealed(2, &dir.make("b"))]);
    let labelled = |labels: [&str; 2]| {
        let mut order = order(&[]);
        let each = |(n, label): (u64, &str)| RootOrder {
            root: RootId(n),
            label: Some(Label::new(label).unwrap()),
        };
        order.roots = Few::new((1..).zip(labels).map(each).collect()).unwrap();
        order
    };
    let made = composed(&labelled(["x", "y"]), &known, None, &[]).unwrap();
    let labels = made.authority.parts().roots.iter();
    let labels: Vec<_> = labels.map(|root| root.label.as_str()).collect();
    assert_eq!(labels, ["x", "y"]);
    assert!(matches!(
        composed(&labelled(["x", "x"]), &known, None, &[]),
        Err(MintError::Authority(AuthorityError::DuplicateRoot))
    ));
}

#[test]
fn roots_that_are_unknown_gone_or_not_ordered_are_refused() {
    let dir = TempDir::new();
    let gone = dir.make("gone");
    let known = roots(vec![sealed(1, dir.path()), sealed(2, &gone)]);
    let code = |order: &control::Mint| {
        let refused = composed(order, &known, None, &[]).unwrap_err();
        refused.refusal().code
    };
    assert_eq!(code(&order(&[7])), Code::UnknownRoot);
    std::fs::remove_dir(&gone).unwrap();
    assert_eq!(code(&order(&[2])), Code::RootGone);
    let mut outside = order(&[1]);
    outside.grants = Few::new(vec![grant(2, "", VerbSet::READING)]).unwrap();
    assert_eq!(code(&outside), Code::BadAuthority);
    let mut unknown = order(&[1]);
    unknown.denials = Few::new(vec![denial("d", pattern(Some(9), "a/b"))]).unwrap();
    assert_eq!(code(&unknown), Code::UnknownRoot);
}

#[test]
fn builtin_denials_hold_and_exceptions_are_by_name() {
    let dir = TempDir::new();
    let known = roots(vec![sealed(1, dir.path())]);
    let mut order = order(&[1]);
    order.grants = Few::new(vec![grant(1, "", VerbSet::ALL)]).unwrap();
    let count = |order: &control::Mint| {
        let made = composed(order, &known, None, &[]).unwrap();
        made.authority.parts().denials.len()
    };
    let all = count(&order);
    order.exceptions = Few::new(vec![Text::new("builtin:env").unwrap()]).unwrap();
    assert!(count(&order) < all);
    order.exceptions = Few::new(vec![Text::new("builtin:no").unwrap()]).unwrap();
    assert!(matches!(
        composed(&order, &known, None, &[]),
        Err(MintError::Builtin(BuiltinError::UnknownException(_)))
    ));
}

#[test]
fn a_runtime_cannot_name_a_rule_as_built_in() {
    let dir = TempDir::new();
    let known = roots(vec![sealed(1, dir.path())]);
    for name in ["builtin:env", " builtin:x", "", " "] {
        let mut order = order(&[1]);
        order.denials = Few::new(vec![denial(name, pattern(None, "x"))]).unwrap();
        assert!(matches!(
            composed(&order, &known, None, &[]),
            Err(MintError::ReservedName(_))
        ));
    }
}

#[test]
fn only_a_pattern_with_an_inner_slash_is_anchored() {
    let dir = TempDir::new();
    let known = roots(vec![sealed(1, dir.path())]);
    let location = known[&RootId(1)].root().location.clone();
    for (text, anchor) in [
        ("secret", None),
        ("secret/", None),
        ("a/secret", Some(location.clone())),
        ("/secret", Some(location)),
    ] {
        let mut order = order(&[1]);
        order.denials = Few::new(vec![denial("d", pattern(Some(1), text))]).unwrap();
        let made = composed(&order, &known, None, &[]).unwrap();
        let expected = DenialTarget::Pattern {
            anchor,
            pattern: Bytes::new(text).unwrap(),
        };
        assert_eq!(targets(&made), [&expected]);
    }
}

#[test]
fn object_denials_take_the_objects_of_their_descriptors_and_all_must_be_named() {
    let dir = TempDir::new();
    let known = roots(vec![sealed(1, dir.path())]);
    std::fs::write(dir.path().join("f"), "x").unwrap();
    let open = || OwnedFd::from(File::open(dir.path().join("f")).unwrap());
    let object = |descriptor| denial("d", DenialOrderTarget::Object { descriptor });
    let mut order = order(&[1]);
    order.denials = Few::new(vec![object(0)]).unwrap();
    let made = composed(&order, &known, None, &[open()]).unwrap();
    let stat = rustix::fs::fstat(open()).unwrap();
    let expected = DenialTarget::Object {
        device: stat.st_dev,
        inode: stat.st_ino,
    };
    assert_eq!(targets(&made), [&expected]);
    assert!(matches!(
        composed(&order, &known, None, &[]),
        Err(MintError::MissingDescriptor {
            index: 0,
            came: 0,
            ..
        })
    ));
    assert!(matches!(
        composed(&order, &known, None, &[open(), open()]),
        Err(MintError::UnusedDescriptors { came: 2, used: 1 })
    ));
}

#[test]
fn a_session_within_another_gets_no_more_than_both_and_only_its_roots() {
    let dir = TempDir::new();
    let known = roots(vec![sealed(1, &dir.make("a")), sealed(2, &dir.make("b"))]);
    let mut parent = order(&[1]);
    parent.grants = Few::new(vec![grant(1, "src", VerbSet::READING)]).unwrap();
    let parent = composed(&parent, &known, None, &[]).unwrap();
    let mut child = order(&[2, 1]);
    let verbs = VerbSet::of(&[Verb::Read]);
    child.grants = Few::new(vec![grant(1, "", verbs), grant(2, "", verbs)]).unwrap();
    let made = composed(&child, &known, Some(&parent.authority), &[]).unwrap();
    let parts = made.authority.parts();
    assert_eq!(
        parts.grants,
        [Grant {
            modes: ModeSet::ALL.of_verbs(verbs),
            ..Grant::whole(RootIndex(0), path("src"), verbs)
        }]
    );
    assert_eq!(made.roots.len(), 1);
    assert_eq!(made.roots[0].root().id, RootId(1));
}

#[test]
fn a_gate_of_a_root_broker_becomes_the_owner_of_its_first_root() {
    let dir = TempDir::new();
    let owned = dir.make("owned");
    if !rustix::process::geteuid().is_root() {
        let first = Arc::new(sealed(1, &owned));
        assert_eq!(run_as(&[first]).unwrap(), None);
        return;
    }
    std::os::unix::fs::chown(&owned, Some(1234), Some(2345)).unwrap();
    let first = Arc::new(sealed(1, &owned));
    let expected = RunAs {
        user: 1234,
        group: 2345,
    };
    assert_eq!(run_as(&[first]).unwrap(), Some(expected));
    let nobody = run_as(&[]).unwrap().unwrap();
    assert_eq!(nobody.user, 65534);
}
