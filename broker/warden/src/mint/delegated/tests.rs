//! What workers may wish for, and what they get.

use super::*;
use crate::mint::tests::{composed, grant, order, path, roots};
use crate::testing::{TempDir, sealed};
use portcullis_protocol::authority::{Effect, Level, Operation, RootId};
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::verb::{Mode, ModeSet, Verb, VerbSet};
use portcullis_protocol::view::RootIndex;

fn wish(root: u16, prefix: &str, verbs: VerbSet) -> Wish {
    Wish {
        root: RootIndex(root),
        prefix: path(prefix),
        verbs,
        modes: ModeSet::ALL,
    }
}

fn wishes(grants: Vec<Wish>) -> Delegate {
    Delegate {
        request: Text::new("a part of it").unwrap(),
        grants: Few::new(grants).unwrap(),
        asks: Few::default(),
        denials: Few::default(),
        budgets: Budgets::UNLIMITED,
        expires_ms: None,
    }
}

/// Two sealed roots, and a session that may read all of the first and ask to write below `src`,
/// and may list the second.
fn parent(dir: &TempDir) -> (Roots, Authority) {
    let known = roots(vec![sealed(1, &dir.make("a")), sealed(2, &dir.make("b"))]);
    let mut order = order(&[1, 2]);
    order.conversation = Text::new("c").unwrap();
    order.expires_ms = Some(5000);
    order.grants = Few::new(vec![
        grant(1, "", VerbSet::READING),
        grant(2, "", VerbSet::of(&[Verb::List])),
    ])
    .unwrap();
    order.asks = Few::new(vec![grant(1, "src", VerbSet::of(&[Verb::Write]))]).unwrap();
    let made = composed(&order, &known, None, &[]).unwrap();
    (known, made.authority)
}

#[test]
fn a_worker_gets_what_it_wishes_for_and_its_session_has() {
    let dir = TempDir::new();
    let (known, parent) = parent(&dir);
    let wished = wishes(vec![
        wish(0, "src", VerbSet::ALL),
        wish(1, "", VerbSet::of(&[Verb::Read])),
    ]);
    let budgets = Budgets {
        creates: Some(3),
        ..Budgets::UNLIMITED
    };
    let made = delegate(&wished, &parent, &known, budgets).unwrap();
    let parts = made.authority.parts();
    assert_eq!(
        (parts.owner.as_str(), parts.conversation.as_str()),
        ("o", "c")
    );
    assert_eq!(parts.request.as_str(), "a part of it");
    assert_eq!(parts.parent, Some(parent.id()));
    assert_eq!(parts.expires_ms, Some(5000));
    assert_eq!(parts.budgets, budgets);
    assert_eq!(made.roots.len(), 2, "its roots have the same numbers");
    let level = |root, at: &str, verb| {
        let authority = &made.authority;
        authority.level(RootIndex(root), &path(at), Operation::of(verb))
    };
    assert_eq!(level(0, "src/x", Verb::Read), Level::Granted);
    assert_eq!(
        level(0, "src/x", Verb::Write),
        Level::Ask,
        "what one asks for is at most asked for"
    );
    assert_eq!(level(0, "x", Verb::Read), Level::Nothing);
    assert_eq!(level(1, "x", Verb::Read), Level::Nothing);
    for denial in &parent.parts().denials {
        assert!(parts.denials.contains(denial), "{denial:?}");
    }
}

#[test]
fn modes_and_denials_that_are_wished_for_hold() {
    let dir = TempDir::new();
    let known = roots(vec![sealed(1, dir.path())]);
    let mut order = order(&[1]);
    order.grants = Few::new(vec![grant(1, "", VerbSet::ALL)]).unwrap();
    let parent = composed(&order, &known, None, &[]).unwrap();
    let mut wished = wishes(vec![Wish {
        modes: ModeSet::of(&[Mode::WriteNew]),
        ..wish(0, "", VerbSet::of(&[Verb::Write, Verb::Read]))
    }]);
    let denial = |root, pattern: &str| WishedDenial {
        name: Text::new("mine").unwrap(),
        reason: Text::default(),
        verbs: VerbSet::ALL,
        root,
        pattern: Bytes::new(pattern).unwrap(),
        effect: Effect::Hide,
    };
    wished.denials = Few::new(vec![
        denial(Some(RootIndex(0)), "a/b"),
        denial(Some(RootIndex(0)), "c"),
    ])
    .unwrap();
    let made = delegate(&wished, &parent.authority, &known, Budgets::UNLIMITED).unwrap();
    let write = |mode| Operation {
        mode: Some(mode),
        ..Operation::of(Verb::Write)
    };
    let level = |operation| made.authority.level(RootIndex(0), &path("x"), operation);
    assert_eq!(level(write(Mode::WriteNew)), Level::Granted);
    assert_eq!(level(write(Mode::WriteOver)), Level::Nothing);
    let location = parent.roots[0].root().location.clone();
    let denials = made.authority.parts().denials.iter();
    let mut mine: Vec<_> = denials
        .filter(|denial| denial.rule.name.as_str() == "mine")
        .map(|denial| denial.target.clone())
        .collect();
    mine.sort();
    assert_eq!(
        mine,
        [
            DenialTarget::Pattern {
                anchor: None,
                pattern: Bytes::new("c").unwrap()
            },
            DenialTarget::Pattern {
                anchor: Some(location),
                pattern: Bytes::new("a/b").unwrap()
            },
        ]
    );
}

#[test]
fn what_no_session_can_wish_for_is_refused_and_names_nothing_of_the_host() {
    let dir = TempDir::new();
    let (known, parent) = parent(&dir);
    let refused = |wished: &Delegate| {
        let refusal = delegate(wished, &parent, &known, Budgets::UNLIMITED).unwrap_err();
        assert_eq!(refusal.code, Code::BadAuthority);
        let note = refusal.note.unwrap();
        assert!(!note.as_str().contains("warden-test"), "{note}");
        note.as_str().to_owned()
    };
    let far = wishes(vec![wish(2, "", VerbSet::READING)]);
    assert!(refused(&far).starts_with("a wish names a root"));
    for (name, root, said) in [
        ("builtin:env", None, "a rule needs a name"),
        (" ", None, "a rule needs a name"),
        ("mine", Some(RootIndex(2)), "a denial names a root"),
    ] {
        let mut wished = wishes(Vec::new());
        wished.denials = Few::new(vec![WishedDenial {
            name: Text::new(name).unwrap(),
            reason: Text::default(),
            verbs: VerbSet::ALL,
            root,
            pattern: Bytes::new("a/b").unwrap(),
            effect: Effect::Deny,
        }])
        .unwrap();
        assert!(refused(&wished).starts_with(said));
    }
}

#[test]
fn a_root_that_was_replaced_is_not_delegated_and_a_fresh_look_renews_nothing() {
    let dir = TempDir::new();
    let (mut known, parent) = parent(&dir);
    let wished = wishes(vec![
        wish(0, "", VerbSet::READING),
        wish(1, "", VerbSet::READING),
    ]);
    let labels = |known: &Roots| {
        let made = delegate(&wished, &parent, known, Budgets::UNLIMITED).unwrap();
        let ids = made.roots.iter().map(|root| root.root().id.0);
        let grants = made.authority.parts().grants.len();
        (ids.collect::<Vec<_>>(), grants)
    };
    assert_eq!(labels(&known), (vec![1, 2], 2));
    std::fs::rename(dir.path().join("a"), dir.path().join("away")).unwrap();
    assert_eq!(labels(&known), (vec![2], 1), "its place leads nowhere");
    dir.make("a");
    assert_eq!(labels(&known), (vec![2], 1), "another directory is there");
    let fresh = sealed(9, &dir.path().join("a"));
    known.insert(RootId(9), std::sync::Arc::new(fresh));
    assert_eq!(
        labels(&known),
        (vec![2], 1),
        "sealed anew, it is another root"
    );
    known.remove(&RootId(2));
    assert_eq!(labels(&known), (Vec::new(), 0), "and so is one unsealed");
    std::fs::remove_dir(dir.path().join("a")).unwrap();
    std::fs::rename(dir.path().join("away"), dir.path().join("a")).unwrap();
    assert_eq!(labels(&known), (vec![1], 1), "it was never another one");
}

#[test]
fn another_conversation_keeps_owner_roots_and_limits() {
    let dir = TempDir::new();
    let (known, parent) = parent(&dir);
    let conversation = Text::new("d").unwrap();
    let budgets = Budgets {
        deletes: Some(1),
        ..Budgets::UNLIMITED
    };
    let made = narrow_to_conversation(&parent, &conversation, &known, budgets).unwrap();
    let (was, is) = (parent.parts(), made.authority.parts());
    assert_eq!(is.conversation, conversation);
    assert_eq!(is.owner, was.owner);
    assert_eq!(is.roots, was.roots);
    assert_eq!((&is.grants, &is.asks), (&was.grants, &was.asks));
    assert_eq!(is.denials, was.denials);
    assert_eq!(is.expires_ms, was.expires_ms);
    assert_eq!(is.budgets, budgets);
    std::fs::rename(dir.path().join("a"), dir.path().join("away")).unwrap();
    let made = narrow_to_conversation(&parent, &conversation, &known, budgets).unwrap();
    let ids = made.roots.iter().map(|root| root.root().id.0);
    assert_eq!(ids.collect::<Vec<_>>(), [2]);
}
