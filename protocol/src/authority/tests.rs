//! The laws of narrowing, over all of a small world.

use super::*;
use crate::bounded::Few;
use crate::path::Label;
use crate::verb::{Mode, ModeSet, Verb};
use crate::view::Digest;
use proptest::prelude::*;

fn root(n: u64) -> Root {
    Root {
        id: RootId(n),
        label: Label::new(format!("r{n}")).unwrap(),
        scope: Scope::External,
        location: RelPath::parse(format!("srv/r{n}").as_bytes()).unwrap(),
        identity: RootIdentity {
            device: 1,
            inode: n,
            born: None,
            mount: 1,
        },
        durable: durable(n),
        file_system: FileSystem::Ext,
    }
}

fn durable(n: u64) -> Durable {
    Durable {
        file_system: 1,
        inode: n,
        born: None,
        handle: None,
    }
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text.as_bytes()).unwrap()
}

fn text(text: &str) -> Text<REASON_BYTES_MAX> {
    Text::new(text).unwrap()
}

const PREFIXES: [&str; 5] = ["", "a", "a/b", "ab", "c"];
/// The inputs there are.
const INPUTS: [Digest; 2] = [Digest([1; 32]), Digest([2; 32])];

prop_compose! {
    fn grants()(all in prop::collection::vec((
        0..3_u16, 0..5_usize, 0..=u32::from(VerbSet::ALL), 0..=u32::from(ModeSet::ALL), 0..5_usize,
    ), 0..5)) -> Vec<Grant> {
        all.into_iter().map(|(root, prefix, verbs, modes, inputs)| Grant {
            root: RootIndex(root),
            prefix: path(PREFIXES[prefix]),
            verbs: VerbSet::try_from(verbs).unwrap(),
            modes: ModeSet::try_from(modes).unwrap(),
            inputs: match inputs {
                0 => Inputs::Only(Few::default()),
                1 => Inputs::Only(Few::new(vec![INPUTS[1], INPUTS[0]]).unwrap()),
                2 => Inputs::Only(Few::new(vec![INPUTS[0]]).unwrap()),
                _ => Inputs::Any,
            },
        }).collect()
    }
}

prop_compose! {
    fn budgets()(limits in prop::array::uniform5(prop::option::of(0..4_u64))) -> Budgets {
        let limits = Budget::ALL.into_iter().zip(limits);
        limits.fold(Budgets::UNLIMITED, |budgets, (kind, limit)| budgets.with(kind, limit))
    }
}

prop_compose! {
    fn authority()(
        grants in grants(),
        asks in grants(),
        hides in prop::collection::vec(("[a-c]{1,2}", 0..=u32::from(VerbSet::ALL), "[xy]?", 0..3_usize), 0..3),
        budgets in budgets(),
        expires_ms in prop::option::of(0..10_u64),
    ) -> Authority {
        Authority::seal(Parts {
            request: Text::default(),
            owner: text("o"),
            conversation: text("c"),
            parent: None,
            roots: (0..3).map(root).collect(),
            grants,
            asks,
            denials: hides.into_iter().map(|(pattern, verbs, reason, effect)| Denial {
                rule: Rule { name: Text::default(), reason: text(&reason) },
                verbs: VerbSet::try_from(verbs).unwrap(),
                target: DenialTarget::Pattern {
                    anchor: None,
                    pattern: Bytes::new(pattern).unwrap(),
                },
                effect: [Effect::Hide, Effect::Deny, Effect::Ask][effect],
            }).collect(),
            budgets,
            expires_ms,
        }).unwrap()
    }
}

/// Every operation of this small world.
fn operations() -> Vec<Operation> {
    let mut all = Vec::new();
    for verb in Verb::ALL {
        let modes = Mode::ALL.into_iter().filter(|mode| mode.verb() == verb);
        for mode in std::iter::once(None).chain(modes.map(Some)) {
            for input in [None, Some(INPUTS[0]), Some(INPUTS[1])] {
                all.push(Operation { verb, mode, input });
            }
        }
    }
    all
}

/// How far each operation on each path is allowed. One whose mode is not known is left out: it is
/// a question about any of its modes.
fn levels(authority: &Authority) -> Vec<Level> {
    let mut all = Vec::new();
    let operations = operations();
    let known = operations
        .iter()
        .filter(|o| o.mode.is_some() || Mode::ALL.iter().all(|mode| mode.verb() != o.verb));
    let known: Vec<_> = known.collect();
    for n in 0..3 {
        for place in PREFIXES.into_iter().chain(["a/b/c", "abc", "c/d"]) {
            let place = path(place);
            for operation in &known {
                // By the label: a narrower one may have fewer roots.
                let label = Label::new(format!("r{n}")).unwrap();
                let roots = authority.parts().roots.iter();
                let level = match roots.clone().position(|root| root.label == label) {
                    Some(at) => {
                        let at = RootIndex(u16::try_from(at).unwrap());
                        authority.level(at, &place, **operation)
                    }
                    None => Level::Nothing,
                };
                all.push(level);
            }
        }
    }
    all
}

/// Whether every operation is at most as far allowed, every denial is there, and no limit is wider.
fn within(child: &Authority, parent: &Authority) -> bool {
    let (small, big) = (child.parts(), parent.parts());
    levels(child)
        .iter()
        .zip(&levels(parent))
        .all(|(c, p)| c <= p)
        && big.denials.iter().all(|d| small.denials.contains(d))
        && small.budgets.within(&big.budgets)
        && small.expires_ms.unwrap_or(u64::MAX) <= big.expires_ms.unwrap_or(u64::MAX)
        && small.owner == big.owner
}

/// What is done to an authority, one after the other.
#[derive(Debug, Clone)]
enum Step {
    Delegate(Authority),
    /// To bytes and back, with these roots held again.
    Restore(Vec<u64>),
    Continue(&'static str),
    /// One root was replaced: another directory at its place.
    Rebase(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        authority().prop_map(Step::Delegate),
        prop::collection::vec(0..3_u64, 0..4).prop_map(Step::Restore),
        prop::sample::select(vec!["c", "d"]).prop_map(Step::Continue),
        (0..3_u64).prop_map(Step::Rebase),
    ]
}

fn take(authority: &Authority, step: &Step) -> Authority {
    match step {
        Step::Delegate(order) => order.intersect(authority).unwrap(),
        Step::Restore(held) => {
            let bytes = postcard::to_extend(authority, Vec::new()).unwrap();
            let back: Authority = postcard::from_bytes(&bytes).unwrap();
            let again = |old: &Root| {
                let n = held.iter().find(|n| durable(**n) == old.durable)?;
                Some(Root {
                    id: RootId(100 + n),
                    ..root(*n)
                })
            };
            back.rebase(again).unwrap()
        }
        Step::Continue(conversation) => authority.rebind(text(conversation)).unwrap(),
        Step::Rebase(replaced) => {
            let now = |old: &Root| {
                Some(Root {
                    durable: if old.durable == durable(*replaced) {
                        durable(99)
                    } else {
                        old.durable.clone()
                    },
                    ..old.clone()
                })
            };
            authority.rebase(now).unwrap()
        }
    }
}

proptest! {
    #[test]
    fn intersection_allows_exactly_what_both_allow(a in authority(), b in authority()) {
        let both = a.intersect(&b).unwrap();
        let lower: Vec<Level> =
            levels(&a).into_iter().zip(levels(&b)).map(|(a, b)| a.min(b)).collect();
        prop_assert_eq!(levels(&both), lower);
        prop_assert!(within(&both, &a) && within(&both, &b));
    }

    #[test]
    fn intersection_is_idempotent_commutative_and_associative(
        a in authority(), b in authority(), c in authority()
    ) {
        prop_assert_eq!(a.intersect(&a).unwrap(), a.clone());
        let ab = a.intersect(&b).unwrap();
        // A law of what is allowed, not of bytes: asks that grants of the other cover may be
        // written in more than one way.
        let ba = b.intersect(&a).unwrap();
        prop_assert_eq!(levels(&ba), levels(&ab));
        prop_assert_eq!(&ba.parts().grants, &ab.parts().grants);
        let (left, right) = (ab.intersect(&c).unwrap(), a.intersect(&b.intersect(&c).unwrap()).unwrap());
        prop_assert_eq!(levels(&left), levels(&right));
        prop_assert_eq!(&left.parts().denials, &right.parts().denials);
        prop_assert_eq!(left.parts().budgets, right.parts().budgets);
    }

    #[test]
    fn the_order_of_narrowing_does_not_matter(a in authority(), b in authority(), c in authority()) {
        let one = a.intersect(&b).unwrap().intersect(&c).unwrap();
        let other = a.intersect(&c).unwrap().intersect(&b).unwrap();
        prop_assert_eq!(levels(&one), levels(&other));
        prop_assert_eq!(&one.parts().denials, &other.parts().denials);
        prop_assert_eq!(one.parts().budgets, other.parts().budgets);
        prop_assert_eq!(one.parts().expires_ms, other.parts().expires_ms);
    }

    #[test]
    fn nothing_widens_under_any_sequence(
        first in authority(), steps in prop::collection::vec(step(), 0..6)
    ) {
        let mut now = first.clone();
        for step in &steps {
            let next = take(&now, step);
            prop_assert!(within(&next, &now), "{:?}", step);
            now = next;
        }
        prop_assert!(within(&now, &first));
    }

    #[test]
    fn encoding_round_trips(a in authority()) {
        let bytes = postcard::to_extend(&a, Vec::new()).unwrap();
        let back: Authority = postcard::from_bytes(&bytes).unwrap();
        prop_assert_eq!(back.id(), a.id());
        prop_assert_eq!(postcard::to_extend(&back, Vec::new()).unwrap(), bytes);
        prop_assert_eq!(back, a);
    }

    #[test]
    fn a_verb_without_its_modes_is_no_verb(a in authority()) {
        for grant in a.parts().grants.iter().chain(&a.parts().asks) {
            prop_assert_eq!(grant.verbs.with_modes(grant.modes), grant.verbs);
            prop_assert_eq!(grant.modes.of_verbs(grant.verbs), grant.modes);
            prop_assert!(!grant.verbs.is_empty());
        }
    }
}

fn simple(owner: &str, conversation: &str, roots: Vec<Root>) -> Authority {
    let grants = (0..roots.len()).map(|n| {
        let index = RootIndex(u16::try_from(n).unwrap());
        Grant::whole(index, RelPath::root(), VerbSet::ALL)
    });
    Authority::seal(Parts {
        request: Text::default(),
        owner: text(owner),
        conversation: text(conversation),
        parent: None,
        grants: grants.collect(),
        asks: Vec::new(),
        denials: Vec::new(),
        budgets: Budgets::UNLIMITED,
        expires_ms: None,
        roots,
    })
    .unwrap()
}

#[test]
fn another_owner_or_conversation_leaves_nothing() {
    let one = simple("a", "c", vec![root(0)]);
    for other in [
        simple("b", "c", vec![root(0)]),
        simple("a", "d", vec![root(0)]),
    ] {
        let met = one.intersect(&other).unwrap();
        let parts = met.parts();
        assert!(parts.roots.is_empty() && parts.grants.is_empty() && parts.asks.is_empty());
    }
}

#[test]
fn a_root_sealed_anew_at_the_same_place_does_not_meet_the_old_one() {
    let old = root(0);
    for new in [
        Root {
            id: RootId(9),
            ..old.clone()
        },
        Root {
            identity: RootIdentity {
                inode: 9,
                ..old.identity
            },
            ..old.clone()
        },
    ] {
        let (parent, child) = (
            simple("a", "c", vec![old.clone()]),
            simple("a", "c", vec![new]),
        );
        assert!(child.intersect(&parent).unwrap().parts().roots.is_empty());
    }
}

#[test]
fn a_root_that_differs_in_any_durable_field_is_lost_with_its_grants_alone() {
    use crate::view::Timestamp;
    let sealed = Durable {
        file_system: 1,
        inode: 2,
        born: Some(Timestamp {
            seconds: 3,
            nanos: 4,
        }),
        handle: Some(Bytes::new(*b"handle").unwrap()),
    };
    for (field, other) in others(&sealed) {
        assert_eq!(sealed.difference(&other), Some(field));
        loses_the_first_root_alone(&sealed, &other);
    }
    assert_eq!(sealed.difference(&sealed), None);
}

/// Directories that differ from this one in one field each.
fn others(sealed: &Durable) -> [(DurableField, Durable); 4] {
    [
        (
            DurableField::FileSystem,
            Durable {
                file_system: 9,
                ..sealed.clone()
            },
        ),
        (
            DurableField::Inode,
            Durable {
                inode: 9,
                ..sealed.clone()
            },
        ),
        (
            DurableField::Born,
            Durable {
                born: None,
                ..sealed.clone()
            },
        ),
        (
            DurableField::Handle,
            Durable {
                handle: Some(Bytes::new(*b"other").unwrap()),
                ..sealed.clone()
            },
        ),
    ]
}

/// An authority whose first root was sealed as `sealed` and is `other` now keeps only the second.
fn loses_the_first_root_alone(sealed: &Durable, other: &Durable) {
    let first = Root {
        durable: sealed.clone(),
        ..root(0)
    };
    let whole = simple("a", "c", vec![first.clone(), root(1)]);
    let held = |old: &Root| {
        let durable = if old.id == first.id {
            other.clone()
        } else {
            old.durable.clone()
        };
        Some(Root {
            durable,
            ..old.clone()
        })
    };
    let left = whole.rebase(held).unwrap();
    let labels: Vec<&str> = left
        .parts()
        .roots
        .iter()
        .map(|r| r.label.as_str())
        .collect();
    assert_eq!((labels, left.parts().grants.len()), (vec!["r1"], 1));
    let level = left.level(RootIndex(0), &path("a"), Operation::of(Verb::Read));
    assert_eq!(level, Level::Granted);
}

#[test]
fn a_narrower_grant_does_not_turn_an_ask_into_it() {
    let make = |grants, asks| {
        Authority::seal(Parts {
            grants,
            asks,
            ..simple("a", "c", vec![root(0)]).parts().clone()
        })
        .unwrap()
    };
    let whole = |prefix: &str| Grant::whole(RootIndex(0), path(prefix), VerbSet::ALL);
    let parent = make(vec![whole("a")], vec![whole("")]);
    let child = make(vec![whole("")], Vec::new());
    let met = child.intersect(&parent).unwrap();
    let level = |at: &str| met.level(RootIndex(0), &path(at), Operation::of(Verb::Write));
    assert_eq!((level("a/x"), level("x")), (Level::Granted, Level::Ask));
}
