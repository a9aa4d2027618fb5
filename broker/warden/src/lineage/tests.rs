//! What a gate is told of the sessions around its own.

use super::*;
use crate::testing::{TempDir, sealed};
use portcullis_protocol::authority::{Budgets, Parts, Root};
use portcullis_protocol::bounded::Text;
use portcullis_protocol::limits::GRANTS_MAX;
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::verb::VerbSet;
use portcullis_protocol::view::RootIndex;

fn authority(request: &str, roots: Vec<Root>, grants: Vec<Grant>, asks: Vec<Grant>) -> Authority {
    Authority::seal(Parts {
        request: Text::new(request).unwrap(),
        owner: Text::default(),
        conversation: Text::default(),
        parent: None,
        roots,
        grants,
        asks,
        denials: Vec::new(),
        budgets: Budgets::UNLIMITED,
        expires_ms: None,
    })
    .unwrap()
}

fn grant(root: u16, prefix: &str) -> Grant {
    let prefix = RelPath::parse(prefix.as_bytes()).unwrap();
    Grant::whole(RootIndex(root), prefix, VerbSet::READING)
}

#[test]
fn grants_of_those_around_are_told_by_the_labels_of_the_session_itself() {
    let dir = TempDir::new();
    let (a, b) = (sealed(1, &dir.make("a")), sealed(2, &dir.make("b")));
    let (a, b) = (a.root().clone(), b.root().clone());
    let own = Root {
        label: Label::new("mine").unwrap(),
        ..b.clone()
    };
    let session = authority("s", vec![own], Vec::new(), Vec::new());
    let near = authority("near", vec![b.clone()], Vec::new(), vec![grant(0, "x")]);
    let far = authority(
        "far",
        vec![a, b],
        vec![grant(0, "hidden"), grant(1, "y")],
        Vec::new(),
    );
    let told = lineage(
        &session,
        &Bytes::default(),
        [(SessionId(7), near), (SessionId(3), far)],
    );
    let told: Vec<_> = told
        .as_slice()
        .iter()
        .map(|ancestor| {
            let grants = ancestor.grants.as_slice().iter();
            let grants: Vec<_> = grants
                .map(|grant| format!("{}/{}", grant.root, grant.prefix))
                .collect();
            (
                ancestor.session.0,
                ancestor.request.as_str(),
                grants,
                ancestor.cut,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (7, "near", vec!["mine/x".to_owned()], 0),
            (3, "far", vec!["mine/y".to_owned()], 0)
        ]
    );
}

#[test]
fn a_setup_with_the_longest_lineage_fits_a_frame_and_says_what_is_left_out() {
    let dir = TempDir::new();
    let root = sealed(1, dir.path()).root().clone();
    let long = |n: usize| grant(0, &format!("{n:03}{}", "x".repeat(250)));
    let full = || {
        let grants = (0..GRANTS_MAX).map(long).collect();
        authority(&"r".repeat(256), vec![root.clone()], grants, Vec::new())
    };
    let session = full();
    let above = (0..LINEAGE_MAX as u64).map(|n| (SessionId(n), full()));
    let rules = Bytes::new(vec![b'x'; IGNORE_BYTES_MAX]).unwrap();
    let told = lineage(&session, &rules, above);
    assert_eq!(told.as_slice().len(), LINEAGE_MAX);
    assert!(encoded(&session) + encoded(&told) + encoded(&rules) + REST <= BODY_BYTES_MAX);
    for ancestor in told.as_slice() {
        let kept = ancestor.grants.as_slice().len();
        assert_eq!(kept + ancestor.cut as usize, GRANTS_MAX);
    }
    let nearest = &told.as_slice()[0];
    assert!(
        nearest.grants.as_slice().len() > 100,
        "the nearest goes first"
    );
    assert!(
        told.as_slice()[LINEAGE_MAX - 1]
            .grants
            .as_slice()
            .is_empty()
    );
}
