//! Authorities only shrink: whatever two of them are, what both allow is within each, and so is
//! what is left of it for another conversation and on roots that are held anew.
#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use portcullis_fuzz::authorities;
use portcullis_fuzz::levels::{self, Place};
use portcullis_protocol::authority::{
    Authority, AuthorityError, Durable, Grant, Level, Parts, Root, RootId,
};
use portcullis_protocol::bounded::Text;
use portcullis_protocol::path::RelPath;
use std::collections::BTreeSet;

fuzz_target!(|input: &[u8]| {
    // The first byte says how the rest is read, as encodings or as choices, and what becomes of
    // the roots.
    let Some((how, rest)) = input.split_first() else {
        return;
    };
    let all = if how % 2 == 0 {
        encoded(rest)
    } else {
        let mut u = Unstructured::new(rest);
        [(); 3].map(|()| authorities::small(&mut u).ok())
    };
    let [Some(a), Some(b), c] = all else {
        return;
    };
    let Some(both) = meeting(&a, &b) else {
        return;
    };
    held_anew(&a, how >> 1);
    held_anew(&both, how >> 1);
    continued(&a, &both);
    if let Some(c) = c {
        in_any_order(&a, [&b, &c]);
    }
});

/// Two, and a third one where there are bytes for it.
fn encoded(bytes: &[u8]) -> [Option<Authority>; 3] {
    let mut rest = bytes;
    [(); 3].map(|()| {
        let (parts, after) = postcard::take_from_bytes::<Parts>(rest).ok()?;
        rest = after;
        Authority::seal(parts).ok()
    })
}

/// What both allow; none where that is more than fits.
fn met(a: &Authority, b: &Authority) -> Option<Authority> {
    match a.intersect(b) {
        Ok(both) => Some(both),
        // Denials join and grants multiply, so limits may be met. Nothing else may fail.
        Err(
            AuthorityError::TooManyDenials
            | AuthorityError::TooManyGrants
            | AuthorityError::TooLarge,
        ) => None,
        Err(
            error @ (AuthorityError::TooManyRoots
            | AuthorityError::DuplicateRoot
            | AuthorityError::DanglingGrant),
        ) => panic!("{error}"),
    }
}

/// The laws of two.
fn meeting(a: &Authority, b: &Authority) -> Option<Authority> {
    round_trip(a);
    assert_eq!(a.intersect(a).as_ref(), Ok(a), "idempotent");
    let both = met(a, b)?;
    round_trip(&both);
    for one in [a, b] {
        assert_eq!(both.intersect(one).as_ref(), Ok(&both), "absorbing");
        within(&both, one, Place::SameRoot);
    }
    assert_eq!(both.parts().parent, a.parts().parent);
    exact(&both, a, b);
    // The names of the other may be longer.
    if let Some(mirrored) = met(b, a) {
        assert_eq!(denials(&mirrored), denials(&both));
        assert_eq!(mirrored.parts().budgets, both.parts().budgets);
        assert_eq!(mirrored.parts().expires_ms, both.parts().expires_ms);
        assert_eq!(grants(&mirrored), grants(&both));
        exact(&mirrored, a, b);
    }
    Some(both)
}

fn round_trip(authority: &Authority) {
    let again = Authority::seal(authority.parts().clone()).expect("sealed once, sealed twice");
    assert_eq!(&again, authority, "sealing is idempotent");
    let bytes = postcard::to_extend(authority, Vec::new()).expect("an authority is encodable");
    let back: Authority = postcard::from_bytes(&bytes).expect("and decodable");
    assert_eq!(back.id(), authority.id());
    assert_eq!(&back, authority);
    for grant in authority
        .parts()
        .grants
        .iter()
        .chain(&authority.parts().asks)
    {
        assert!(!grant.verbs.is_empty());
        assert_eq!(grant.verbs.with_modes(grant.modes), grant.verbs);
        assert_eq!(grant.modes.of_verbs(grant.verbs), grant.modes);
    }
}

/// Everything `small` allows, `big` allows as far; everything `big` denies, `small` denies; no
/// limit is wider.
fn within(small: &Authority, big: &Authority, place: Place) {
    let (less, more) = (small.parts(), big.parts());
    for (grants, level) in [(&less.grants, Level::Granted), (&less.asks, Level::Ask)] {
        for grant in grants {
            let root = small.root(grant.root).expect("a grant names a root");
            let there = place.of(root, big).expect("no root comes from nowhere");
            for operation in levels::of(grant) {
                let allowed = big.level(there, &grant.prefix, operation);
                assert!(allowed >= level, "{operation:?} of {grant:?}");
            }
        }
    }
    for denial in &more.denials {
        assert!(less.denials.contains(denial), "{denial:?}");
    }
    assert!(less.budgets.within(&more.budgets));
    let end = |parts: &Parts| parts.expires_ms.unwrap_or(u64::MAX);
    assert!(end(less) <= end(more));
    assert!(less.roots.is_empty() || less.owner == more.owner);
}

/// Nothing that both allow is lost, looked at where something changes: at every prefix.
fn exact(both: &Authority, a: &Authority, b: &Authority) {
    let whose = |of: &Authority| (of.parts().owner.clone(), of.parts().conversation.clone());
    if whose(a) != whose(b) {
        let parts = both.parts();
        assert!(parts.roots.is_empty() && parts.grants.is_empty() && parts.asks.is_empty());
        return;
    }
    let Some(places) = levels::places(&[a, b]) else {
        return;
    };
    for root in &a.parts().roots {
        let level = |of, at| levels::at(of, root, at);
        for at in &places {
            let lower = level(a, at).min(level(b, at));
            assert_eq!(level(both, at), lower, "{at:?}");
        }
    }
}

/// Which of two narrows first does not matter.
fn in_any_order(a: &Authority, [b, c]: [&Authority; 2]) {
    let narrowed = |first, second| met(a, first).and_then(|both| met(&both, second));
    let (Some(one), Some(other)) = (narrowed(b, c), narrowed(c, b)) else {
        return;
    };
    assert_eq!(denials(&one), denials(&other));
    assert_eq!(one.parts().budgets, other.parts().budgets);
    assert_eq!(one.parts().expires_ms, other.parts().expires_ms);
    let Some(places) = levels::places(&[a, b, c]) else {
        return;
    };
    for root in &a.parts().roots {
        for at in &places {
            let of = [&one, &other].map(|of| levels::at(of, root, at));
            assert_eq!(of[0], of[1], "{at:?}");
        }
    }
}

/// Another conversation of the owner has as much, and no part of what the old one has.
fn continued(a: &Authority, both: &Authority) {
    let same = a.rebind(a.parts().conversation.clone());
    assert_eq!(same.as_ref(), Ok(a));
    let name = if a.parts().conversation.as_str() == "e" {
        "f"
    } else {
        "e"
    };
    let other = Text::new(name).expect("a short text");
    let Ok(continued) = a.rebind(other.clone()) else {
        return;
    };
    let expected = Parts {
        conversation: other,
        ..a.parts().clone()
    };
    assert_eq!(continued.parts(), &expected);
    if let Some(met) = met(&continued, both) {
        assert!(met.parts().roots.is_empty() && met.parts().asks.is_empty());
    }
}

/// Roots that are held anew keep what was granted there under their labels; those that are not,
/// or are another directory now, are lost with it, and nothing else is.
fn held_anew(a: &Authority, which: u8) {
    assert_eq!(a.rebase(|root| Some(root.clone())).as_ref(), Ok(a));
    let fate = |root: &Root| {
        let n = a.parts().roots.iter().position(|one| one.id == root.id);
        n.map_or(0, |n| (which >> (2 * (n % 3))) & 3)
    };
    let anew = |root: &Root| {
        // Given a number of its own, whatever its place is called now.
        let now = Root {
            id: RootId(root.id.0 ^ (1 << 20)),
            location: RelPath::root(),
            ..root.clone()
        };
        match fate(root) {
            0 | 1 => Some(now),
            2 => None,
            _ => Some(Root {
                durable: Durable {
                    inode: !root.durable.inode,
                    ..root.durable.clone()
                },
                ..now
            }),
        }
    };
    let Ok(rebased) = a.rebase(anew) else {
        return;
    };
    round_trip(&rebased);
    within(&rebased, a, Place::SameLabel);
    let kept = a.parts().roots.iter().filter(|root| fate(root) < 2);
    let kept: Vec<&Root> = kept.collect();
    assert_eq!(rebased.parts().roots.len(), kept.len());
    let of = |all: &[Grant]| -> usize {
        let there = |grant: &&Grant| a.root(grant.root).is_some_and(|root| fate(root) < 2);
        all.iter().filter(there).count()
    };
    assert_eq!(rebased.parts().grants.len(), of(&a.parts().grants));
    assert_eq!(rebased.parts().asks.len(), of(&a.parts().asks));
    for (now, was) in rebased.parts().roots.iter().zip(kept) {
        assert_eq!((&now.label, &now.durable), (&was.label, &was.durable));
        assert_ne!(now.id, was.id);
    }
}

fn denials(authority: &Authority) -> BTreeSet<String> {
    let denials = &authority.parts().denials;
    denials.iter().map(|denial| format!("{denial:?}")).collect()
}

fn grants(authority: &Authority) -> BTreeSet<String> {
    let named = |grant: &Grant| {
        let root = authority.root(grant.root)?;
        let (prefix, verbs, modes) = (&grant.prefix, grant.verbs, grant.modes);
        let what = (root.id, prefix, verbs, modes, &grant.inputs);
        Some(format!("{what:?}"))
    };
    authority.parts().grants.iter().filter_map(named).collect()
}
