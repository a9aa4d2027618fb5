//! Arbitrary edits, where they matched, and composed sets of changes.

use crate::arbitrary::{change_set, digest, expect, few, mode, selector, span};
use portcullis_protocol::anchor::{Anchor, Tag};
use portcullis_protocol::session::{
    Anchored, AnchoredDeed, Change, ChangeComposed, ComposedError, Count, Edges, EditFile, Hunk,
    InsertLines, Lines, Matched, Part, Region, Replace, TextEdit, Tier, Tiers, decode_composed,
    encode_composed,
};
use portcullis_protocol::view::ObjectId;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn anchor() -> impl Strategy<Value = Anchor> {
    (any::<u64>(), 0_u32..1 << 25).prop_map(|(line, bits)| Anchor {
        line,
        tag: Tag::try_from(bits).unwrap(),
    })
}

fn tiers() -> impl Strategy<Value = Tiers> {
    vec(select(Tier::ALL.to_vec()), 0..5)
        .prop_map(|tiers| tiers.into_iter().fold(Tiers::EXACT, Tiers::with))
}

fn hunk() -> impl Strategy<Value = TextEdit> {
    let part = prop_oneof![
        span().prop_map(Part::Keep),
        span().prop_map(Part::Remove),
        span().prop_map(Part::Insert),
    ];
    let edges = select(vec![Edges::Free, Edges::Start, Edges::End, Edges::Both]);
    (few(span()), option::of(any::<u64>()), edges, few(part)).prop_map(
        |(after, line, edges, parts)| {
            TextEdit::Hunk(Hunk {
                after,
                line,
                edges,
                parts,
            })
        },
    )
}

fn text_edit() -> impl Strategy<Value = TextEdit> {
    let count = prop_oneof![any::<u32>().prop_map(Count::Exactly), Just(Count::All)];
    let deed = prop_oneof![
        span().prop_map(AnchoredDeed::Replace),
        span().prop_map(AnchoredDeed::Before),
        span().prop_map(AnchoredDeed::After),
    ];
    prop_oneof![
        (span(), span(), count).prop_map(|(old, new, count)| TextEdit::Replace(Replace {
            old,
            new,
            count
        })),
        hunk(),
        (any::<u64>(), span())
            .prop_map(|(line, text)| TextEdit::Insert(InsertLines { line, text })),
        (anchor(), anchor(), deed).prop_map(|(first, last, deed)| TextEdit::Anchored(Anchored {
            first,
            last,
            deed
        })),
    ]
}

prop_compose! {
    pub(crate) fn edit()(
        selector in selector(),
        expect in expect(),
        edits in few(text_edit()),
        tiers in tiers(),
        mode in mode(),
    ) -> Change {
        Change::Edit(EditFile { selector, expect, edits, tiers, mode })
    }
}

prop_compose! {
    pub(crate) fn matched()(
        (change, edit) in any::<(u16, u16)>(),
        tier in select(Tier::ALL.to_vec()),
        [first, count, new_first, new_count] in any::<[u64; 4]>(),
    ) -> Matched {
        Matched {
            change,
            edit,
            tier,
            old: Lines { first, count },
            new: Lines { first: new_first, count: new_count },
        }
    }
}

prop_compose! {
    pub(crate) fn region()(
        [first_line, total_lines, device, inode] in any::<[u64; 4]>(),
        digest in digest(),
    ) -> Region {
        Region { first_line, total_lines, object: ObjectId { device, inode }, digest }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_composed_comes_back_and_has_one_form(
        set in change_set(), content in vec(any::<u8>(), 0..64),
        at in any::<prop::sample::Index>(), byte in any::<u8>(), len in 0_u32..300,
    ) {
        let (bytes, ask) = encode_composed(&set, &content).unwrap();
        prop_assert_eq!(decode_composed(&bytes, ask), Ok((set, &content[..])));
        // Another length, or another byte: another set of the same form, or none.
        let mut other = bytes.clone();
        other[at.index(bytes.len())] = byte;
        for (bytes, ask) in [(&bytes, ChangeComposed { set: len }), (&other, ask)] {
            match decode_composed(bytes, ask) {
                Ok((set, content)) => {
                    prop_assert_eq!(encode_composed(&set, content), Ok((bytes.clone(), ask)));
                }
                Err(error) => prop_assert_eq!(error, ComposedError::Malformed),
            }
        }
    }

    #[test]
    fn any_bytes_are_a_composed_set_or_an_error(
        bytes in vec(any::<u8>(), 0..256), len in 0_u32..300,
    ) {
        let ask = ChangeComposed { set: len };
        match decode_composed(&bytes, ask) {
            Ok((set, content)) => prop_assert_eq!(encode_composed(&set, content), Ok((bytes.clone(), ask))),
            Err(error) => prop_assert_eq!(error, ComposedError::Malformed),
        }
    }
}
