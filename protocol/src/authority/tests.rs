//! The laws of narrowing, over all of a small world.

use super::*;
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
        file_system: FileSystem::Ext,
    }
}

const PREFIXES: [&str; 5] = ["", "a", "a/b", "ab", "c"];

prop_compose! {
    fn authority()(
        grants in prop::collection::vec((0..3_u16, 0..5_usize, 0..=u32::from(VerbSet::ALL)), 0..6),
        hides in prop::collection::vec(("[a-c]{1,2}", 0..=u32::from(VerbSet::ALL), "[xy]?"), 0..3),
        expires_ms in prop::option::of(0..10_u64),
    ) -> Authority {
        Authority::seal(Parts {
            request: Text::default(),
            owner: Text::new("o").unwrap(),
            roots: (0..3).map(root).collect(),
            grants: grants.into_iter().map(|(r, p, v)| Grant {
                root: RootIndex(r),
                prefix: RelPath::parse(PREFIXES[p].as_bytes()).unwrap(),
                verbs: VerbSet::try_from(v).unwrap(),
            }).collect(),
            denials: hides.into_iter().map(|(pattern, verbs, reason)| Denial {
                rule: Rule { name: Text::default(), reason: Text::new(reason).unwrap() },
                verbs: VerbSet::try_from(verbs).unwrap(),
                target: DenialTarget::Pattern {
                    anchor: None,
                    pattern: Bytes::new(pattern).unwrap(),
                },
                effect: Effect::Hide,
            }).collect(),
            expires_ms,
        }).unwrap()
    }
}

/// Every (root, path, verb) this small world has.
fn allowed(authority: &Authority) -> Vec<(u16, &'static str, Verb)> {
    let mut all = Vec::new();
    for r in 0..3 {
        for p in PREFIXES.into_iter().chain(["a/b/c", "abc", "c/d"]) {
            for verb in Verb::ALL {
                let path = RelPath::parse(p.as_bytes()).unwrap();
                if authority.grant(RootIndex(r), &path, verb).is_some() {
                    all.push((r, p, verb));
                }
            }
        }
    }
    all
}

proptest! {
    #[test]
    fn intersection_allows_exactly_what_both_allow(a in authority(), b in authority()) {
        let both = a.intersect(&b).unwrap();
        let expected: Vec<_> =
            allowed(&a).into_iter().filter(|x| allowed(&b).contains(x)).collect();
        prop_assert_eq!(allowed(&both), expected);
        for denial in a.parts().denials.iter().chain(&b.parts().denials) {
            prop_assert!(both.parts().denials.contains(denial));
        }
        prop_assert!(both.parts().expires_ms.unwrap_or(u64::MAX)
            <= a.parts().expires_ms.unwrap_or(u64::MAX));
    }

    #[test]
    fn intersection_is_idempotent_commutative_and_associative(
        a in authority(), b in authority(), c in authority()
    ) {
        prop_assert_eq!(a.intersect(&a).unwrap(), a.clone());
        let ab = a.intersect(&b).unwrap();
        prop_assert_eq!(b.intersect(&a).unwrap(), ab.clone());
        prop_assert_eq!(
            ab.intersect(&c).unwrap(),
            a.intersect(&b.intersect(&c).unwrap()).unwrap()
        );
    }

    #[test]
    fn encoding_round_trips(a in authority()) {
        let bytes = postcard::to_extend(&a, Vec::new()).unwrap();
        let back: Authority = postcard::from_bytes(&bytes).unwrap();
        prop_assert_eq!(back.id(), a.id());
        prop_assert_eq!(back, a);
    }
}

#[test]
fn another_owner_leaves_nothing() {
    let make = |owner: &str| {
        Authority::seal(Parts {
            request: Text::default(),
            owner: Text::new(owner).unwrap(),
            roots: vec![root(0)],
            grants: vec![Grant {
                root: RootIndex(0),
                prefix: RelPath::root(),
                verbs: VerbSet::READING,
            }],
            denials: Vec::new(),
            expires_ms: None,
        })
        .unwrap()
    };
    let met = make("a").intersect(&make("b")).unwrap();
    assert!(met.parts().roots.is_empty() && met.parts().grants.is_empty());
}
