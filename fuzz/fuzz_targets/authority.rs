//! Authorities only shrink: whatever two of them are, what both allow is within each.
#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use portcullis_fuzz::authorities;
use portcullis_protocol::authority::{Authority, AuthorityError, Parts, Root};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::RootIndex;
use std::collections::BTreeSet;

fuzz_target!(|input: &[u8]| {
    // The first byte says how the rest is read: as two encodings, or as choices.
    let Some((how, rest)) = input.split_first() else {
        return;
    };
    let pair = if how % 2 == 0 {
        encoded(rest)
    } else {
        let mut u = Unstructured::new(rest);
        authorities::small(&mut u)
            .ok()
            .zip(authorities::small(&mut u).ok())
    };
    if let Some((a, b)) = pair {
        laws(&a, &b);
    }
});

fn encoded(bytes: &[u8]) -> Option<(Authority, Authority)> {
    let (a, rest) = postcard::take_from_bytes::<Parts>(bytes).ok()?;
    let (b, _) = postcard::take_from_bytes::<Parts>(rest).ok()?;
    Authority::seal(a).ok().zip(Authority::seal(b).ok())
}

fn laws(a: &Authority, b: &Authority) {
    round_trip(a);
    assert_eq!(a.intersect(a).as_ref(), Ok(a), "idempotent");
    let both = match a.intersect(b) {
        Ok(both) => both,
        // Denials join and grants multiply, so limits may be met. Nothing else may fail.
        Err(
            AuthorityError::TooManyDenials
            | AuthorityError::TooManyGrants
            | AuthorityError::TooLarge,
        ) => return,
        Err(
            error @ (AuthorityError::TooManyRoots
            | AuthorityError::DuplicateRoot
            | AuthorityError::DanglingGrant),
        ) => panic!("{error}"),
    };
    round_trip(&both);
    assert_eq!(both.intersect(b).as_ref(), Ok(&both), "absorbing");
    within(&both, a);
    within(&both, b);
    exact(&both, a, b);
    let mirrored = b.intersect(a).expect("fails in neither order or in both");
    assert_eq!(denials(&mirrored), denials(&both));
    assert_eq!(mirrored.parts().expires_ms, both.parts().expires_ms);
    assert_eq!(grants(&mirrored), grants(&both));
}

fn round_trip(authority: &Authority) {
    let again = Authority::seal(authority.parts().clone()).expect("sealed once, sealed twice");
    assert_eq!(&again, authority, "sealing is idempotent");
    let bytes = postcard::to_extend(authority, Vec::new()).expect("an authority is encodable");
    let back: Authority = postcard::from_bytes(&bytes).expect("and decodable");
    assert_eq!(back.id(), authority.id());
    assert_eq!(&back, authority);
}

/// The same root in another authority.
fn place(root: &Root, other: &Authority) -> Option<RootIndex> {
    let same = |o: &Root| o.id == root.id && o.identity == root.identity;
    let n = other.parts().roots.iter().position(same)?;
    u16::try_from(n).ok().map(RootIndex)
}

/// Everything `small` allows, `big` allows; everything `big` denies, `small` denies.
fn within(small: &Authority, big: &Authority) {
    for grant in &small.parts().grants {
        let root = small.root(grant.root).expect("a grant names a root");
        let there = place(root, big).expect("no root comes from nowhere");
        for verb in grant.verbs.iter() {
            assert!(big.grant(there, &grant.prefix, verb).is_some(), "{grant:?}");
        }
    }
    for denial in &big.parts().denials {
        assert!(small.parts().denials.contains(denial), "{denial:?}");
    }
    let end = |authority: &Authority| authority.parts().expires_ms.unwrap_or(u64::MAX);
    assert!(end(small) <= end(big));
}

/// Nothing that both allow is lost, looked at where something changes: at every prefix.
fn exact(both: &Authority, a: &Authority, b: &Authority) {
    if a.parts().owner != b.parts().owner {
        assert!(both.parts().roots.is_empty() && both.parts().grants.is_empty());
        return;
    }
    let grants = || a.parts().grants.iter().chain(&b.parts().grants);
    if grants().count() > 16 {
        return;
    }
    let mut paths: BTreeSet<RelPath> = grants().map(|grant| grant.prefix.clone()).collect();
    let deeper: Vec<_> = paths
        .iter()
        .filter_map(|path| path.join(b"x").ok())
        .collect();
    paths.extend(deeper);
    for (n, root) in a.parts().roots.iter().enumerate() {
        let in_a = RootIndex(u16::try_from(n).expect("roots are few"));
        let (in_b, in_both) = (place(root, b), place(root, both));
        for (path, verb) in paths.iter().flat_map(|p| Verb::ALL.map(|verb| (p, verb))) {
            let allowed = a.grant(in_a, path, verb).is_some()
                && in_b.is_some_and(|at| b.grant(at, path, verb).is_some());
            let left = in_both.is_some_and(|at| both.grant(at, path, verb).is_some());
            assert_eq!(left, allowed, "{verb} {path}");
        }
    }
}

fn denials(authority: &Authority) -> BTreeSet<String> {
    let denials = &authority.parts().denials;
    denials.iter().map(|denial| format!("{denial:?}")).collect()
}

fn grants(authority: &Authority) -> BTreeSet<(u64, RelPath, u32)> {
    let grants = &authority.parts().grants;
    grants
        .iter()
        .filter_map(|g| {
            let root = authority.root(g.root)?;
            Some((root.id.0, g.prefix.clone(), u32::from(g.verbs)))
        })
        .collect()
}
