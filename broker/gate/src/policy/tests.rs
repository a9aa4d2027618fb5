//! A denial and the names it covers, in every spelling.

use super::*;
use crate::testing::{ROOT, denial, parts, path, rule};
use portcullis_protocol::authority::{Denial, Parts};
use portcullis_protocol::verb::VerbSet;
use proptest::prelude::*;

fn policy(denials: Vec<Denial>, asking: Asking) -> Policy {
    let authority = Authority::seal(Parts { denials, ..parts() }).unwrap();
    Policy::compile(&Arc::new(authority), asking).unwrap()
}

fn object(inode: u64, effect: Effect) -> Denial {
    Denial {
        target: DenialTarget::Object { device: 1, inode },
        ..denial("object", effect)
    }
}

#[test]
fn hiding_is_stronger_than_denying_and_that_than_asking() {
    let (hide, deny, ask) = (
        denial("hide*", Effect::Hide),
        denial("*deny*", Effect::Deny),
        denial("*ask", Effect::Ask),
    );
    for order in [[&hide, &deny, &ask], [&ask, &deny, &hide]] {
        let denials = order.into_iter().cloned().collect();
        let policy = policy(denials, Asking::Refuse);
        let judge = |name: &str| policy.judge(ROOT, &path(name), Verb::Read);
        assert_eq!(judge("plain"), Judgement::Clear);
        assert_eq!(judge("ask"), Judgement::Asks(&rule("*ask")));
        assert_eq!(judge("ask/below"), Judgement::Asks(&rule("*ask")));
        assert_eq!(judge("deny-ask"), Judgement::Denied(&rule("*deny*")));
        assert_eq!(judge("hide-ask"), Judgement::Hidden);
        assert_eq!(judge("hide-deny-ask"), Judgement::Hidden);
    }
}

#[test]
fn a_rule_asks_for_its_verbs_alone() {
    let only = Denial {
        verbs: VerbSet::of(&[Verb::Write]),
        ..denial("ask", Effect::Ask)
    };
    let policy = policy(vec![only], Asking::Refuse);
    let at = path("ask");
    assert_eq!(policy.judge(ROOT, &at, Verb::Read), Judgement::Clear);
    assert_eq!(
        policy.judge(ROOT, &at, Verb::Write),
        Judgement::Asks(&rule("ask"))
    );
}

#[test]
fn what_asks_is_clear_where_it_counts_as_granted_and_still_known() {
    let denials = vec![
        denial("*ask", Effect::Ask),
        denial("deny*", Effect::Deny),
        object(5, Effect::Ask),
    ];
    let policy = policy(denials, Asking::Granted);
    assert_eq!(
        policy.judge(ROOT, &path("ask"), Verb::Read),
        Judgement::Clear
    );
    assert_eq!(
        policy.asked_by(ROOT, &path("ask"), Verb::Read),
        Some(&rule("*ask"))
    );
    let denied = path("deny-ask");
    assert_eq!(
        policy.judge(ROOT, &denied, Verb::Read),
        Judgement::Denied(&rule("deny*"))
    );
    assert_eq!(policy.asked_by(ROOT, &denied, Verb::Read), None);
    assert_eq!(policy.judge_object((1, 5), Verb::Read), Judgement::Clear);
    assert_eq!(
        policy.object_asked_by((1, 5), Verb::Read),
        Some(&rule("object"))
    );
    assert_eq!(policy.object_asked_by((1, 6), Verb::Read), None);
}

#[test]
fn an_object_that_asks_does_so_under_any_name() {
    let policy = policy(vec![object(5, Effect::Ask)], Asking::Refuse);
    assert!(policy.denies_objects());
    let judge = |inode| policy.judge_object((1, inode), Verb::Read);
    assert_eq!(judge(5), Judgement::Asks(&rule("object")));
    assert_eq!(judge(6), Judgement::Clear);
}

fn strength(judgement: Judgement<'_>) -> u8 {
    match judgement {
        Judgement::Clear => 0,
        Judgement::Asks(_) => 1,
        Judgement::Denied(_) => 2,
        Judgement::Hidden => 3,
    }
}

proptest! {
    #[test]
    fn the_stronger_of_two_is_one_of_them_and_never_weaker(a in 0_usize..6, b in 0_usize..6) {
        let (one, other) = (rule("one"), rule("other"));
        let all = [
            Judgement::Clear,
            Judgement::Asks(&one),
            Judgement::Asks(&other),
            Judgement::Denied(&one),
            Judgement::Denied(&other),
            Judgement::Hidden,
        ];
        let (a, b) = (all[a], all[b]);
        let both = a.or(b);
        prop_assert!(both == a || both == b);
        prop_assert_eq!(strength(both), strength(a).max(strength(b)));
        if strength(a) == strength(b) {
            prop_assert_eq!(both, a);
        }
    }

    /// A name met in a room is judged as the place it leads to, in any spelling.
    #[test]
    fn a_name_in_a_room_is_judged_as_its_place(
        rules in prop::collection::vec((rules(), 0_usize..3), 0..6),
        path in prop::collection::vec("[abAB]{1,2}|a\u{200b}|\u{e9}|e\u{301}|E\u{301}", 1..5),
    ) {
        let effects = [Effect::Hide, Effect::Deny, Effect::Ask];
        let denials = rules.iter().map(|(pattern, n)| denial(pattern, effects[*n])).collect();
        let policy = policy(denials, Asking::Refuse);
        let mut room = policy.room(&policy.root(ROOT));
        let mut way = RelPath::root();
        for name in &path {
            way.push(name.as_bytes()).unwrap();
            let met = policy.meet(&room, name.as_bytes());
            let place = policy.enter(room.place(), name.as_bytes());
            for verb in [Verb::Read, Verb::Write] {
                let judged = policy.judge_met(&room, &met, verb);
                prop_assert_eq!(judged, policy.judge_place(&place, verb));
                prop_assert_eq!(judged, policy.judge(ROOT, &way, verb));
                let slow = slowly(&rules, &path, way.names().count());
                prop_assert_eq!(3 - strength(judged), slow, "{:?} {:?}", rules, way);
            }
            room = policy.room(&place);
        }
    }
}

fn rules() -> impl Strategy<Value = String> {
    let name = "[ab]{1,2}|\\*|\\*\\*|[ab]\\*|\u{e9}|\\{a,b\\}|\\{a,b/a\\}";
    prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
}

/// The place of the strongest effect that covers one of the first `names` of a path; 3 for none.
fn slowly(rules: &[(String, usize)], path: &[String], names: usize) -> u8 {
    let folded: Vec<String> = path
        .iter()
        .map(|name| String::from_utf8(fold(name.as_bytes()).into_owned()).unwrap())
        .collect();
    let covers = |pattern: &str| {
        let glob = compile_glob(&format!("**/{pattern}"))
            .unwrap()
            .compile_matcher();
        // The names above the root are judged too.
        (0..=names).any(|n| {
            let above = ["nowhere", "of", "this", "name"].map(str::to_owned);
            let (above, below): (&[String], _) = (&above, &folded[..n]);
            (1..=above.len()).any(|n| glob.is_match(above[..n].join("/")))
                || glob.is_match([above, below].concat().join("/"))
        })
    };
    let strongest = rules
        .iter()
        .filter(|(pattern, _)| covers(pattern))
        .map(|(_, n)| *n)
        .min();
    u8::try_from(strongest.unwrap_or(3)).unwrap()
}
