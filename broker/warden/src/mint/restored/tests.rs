//! What is restored of an authority, and of which.

use super::*;
use crate::mint::Roots;
use crate::mint::tests::{composed, denial, grant, nowhere, order, path, pattern, roots};
use crate::testing::{TempDir, sealed};
use portcullis_protocol::authority::{Durable, Effect, Level, Operation, RootId};
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_protocol::view::{RootIndex, Timestamp};

fn passing(id: u64, label: Option<&str>) -> RootOrder {
    RootOrder {
        root: RootId(id),
        label: label.map(|label| Label::new(label).unwrap()),
    }
}

fn how<'a>(roots: &'a [RootOrder], within: Option<&'a Authority>) -> Restoring<'a> {
    Restoring {
        rebind: None,
        roots,
        within,
        budgets: Budgets::UNLIMITED,
    }
}

/// What was kept of a session on `a` and `b`, sealed as roots 1 and 2.
fn kept(dir: &TempDir) -> Authority {
    let known = roots(vec![sealed(1, &dir.make("a")), sealed(2, &dir.make("b"))]);
    let mut order = order(&[1, 2]);
    order.grants = Few::new(vec![
        grant(1, "src", VerbSet::READING),
        grant(2, "", VerbSet::ALL),
    ])
    .unwrap();
    order.denials = Few::new(vec![denial("mine", pattern(Some(1), "x/y"))]).unwrap();
    order.expires_ms = Some(7);
    let made = composed(&order, &known, None, &[]).unwrap();
    made.authority
}

/// The same directories, sealed on another connection, or in another life.
fn anew(dir: &TempDir) -> Roots {
    roots(vec![sealed(11, &dir.make("a")), sealed(12, &dir.make("b"))])
}

fn note(refusal: Refusal) -> String {
    assert_eq!(refusal.code, Code::NotRestored);
    refusal.note.unwrap().as_str().to_owned()
}

#[test]
fn roots_that_are_passed_again_and_the_same_are_there_and_no_others() {
    let dir = TempDir::new();
    let (kept, known) = (kept(&dir), anew(&dir));
    let both = [passing(11, Some("r1")), passing(12, Some("r2"))];
    let made = restore(&kept, &how(&both, None), &known, &nowhere()).unwrap();
    let (was, is) = (kept.parts(), made.authority.parts());
    assert_eq!(is.grants, was.grants);
    assert_eq!(is.denials, was.denials);
    assert_eq!(is.expires_ms, was.expires_ms);
    let ids: Vec<_> = is.roots.iter().map(|root| root.id.0).collect();
    assert_eq!(ids, [11, 12]);
    let labels: Vec<_> = is.roots.iter().map(|root| root.label.as_str()).collect();
    assert_eq!(labels, ["r1", "r2"]);
    let one = [passing(12, Some("r2"))];
    let made = restore(&kept, &how(&one, None), &known, &nowhere()).unwrap();
    let level = made
        .authority
        .level(RootIndex(0), &path("x"), Operation::of(Verb::Write));
    assert_eq!(level, Level::Granted, "its index is another one");
    assert_eq!(made.authority.parts().grants.len(), 1);
    assert_eq!(made.roots.len(), 1);
    let made = restore(&kept, &how(&[], None), &known, &nowhere()).unwrap();
    assert!(made.authority.parts().roots.is_empty());
    assert!(made.authority.parts().grants.is_empty());
    assert_eq!(made.authority.parts().denials, was.denials);
    // A label that was not kept gives nothing.
    let other = [passing(11, Some("r7"))];
    let made = restore(&kept, &how(&other, None), &known, &nowhere()).unwrap();
    assert!(made.roots.is_empty());
}

#[test]
fn a_root_that_is_another_directory_is_refused_by_the_field_that_differs() {
    let dir = TempDir::new();
    let (kept, known) = (kept(&dir), anew(&dir));
    let passed = [passing(11, Some("r1"))];
    let changed = |change: &dyn Fn(&mut Durable)| {
        let mut parts = Parts::from(kept.clone());
        change(&mut parts.roots[0].durable);
        let kept = Authority::seal(parts).unwrap();
        note(restore(&kept, &how(&passed, None), &known, &nowhere()).unwrap_err())
    };
    let said = |field: &str| {
        format!("root `r1` is not the directory that was sealed: its {field} differs")
    };
    assert_eq!(changed(&|d| d.file_system ^= 1), said("file system"));
    assert_eq!(changed(&|d| d.inode ^= 1), said("inode"));
    let earlier = Timestamp {
        seconds: 1,
        nanos: 2,
    };
    assert_eq!(changed(&|d| d.born = Some(earlier)), said("birth time"));
    let other = Bytes::new(vec![9; 8]).unwrap();
    assert_eq!(
        changed(&|d| d.handle = Some(other.clone())),
        said("file handle")
    );
    // Another directory at the same place.
    std::fs::rename(dir.path().join("a"), dir.path().join("away")).unwrap();
    let known = anew(&dir);
    let refused = restore(&kept, &how(&passed, None), &known, &nowhere()).unwrap_err();
    assert_eq!(note(refused), said("inode"));
    // The same directory at another place.
    let moved = roots(vec![sealed(11, &dir.path().join("away"))]);
    let refused = restore(&kept, &how(&passed, None), &moved, &nowhere()).unwrap_err();
    assert!(note(refused).starts_with("root `r1` is not where it was sealed"));
}

#[test]
fn roots_are_passed_once_and_must_be_there() {
    let dir = TempDir::new();
    let kept = kept(&dir);
    let gone = dir.make("gone");
    let mut known = anew(&dir);
    known.extend(roots(vec![sealed(13, &gone)]));
    let twice = [passing(11, Some("r1")), passing(12, Some("r1"))];
    let refused = restore(&kept, &how(&twice, None), &known, &nowhere()).unwrap_err();
    assert_eq!(note(refused), "two roots are passed as `r1`");
    let code = |id| {
        let passed = [passing(id, Some("r1"))];
        let refused = restore(&kept, &how(&passed, None), &known, &nowhere());
        refused.unwrap_err().code
    };
    assert_eq!(code(99), Code::UnknownRoot);
    std::fs::remove_dir(&gone).unwrap();
    assert_eq!(code(13), Code::RootGone);
}

#[test]
fn within_a_session_it_is_what_both_have_on_the_same_sealed_roots() {
    let dir = TempDir::new();
    let kept = kept(&dir);
    let mut known = anew(&dir);
    let mut order = order(&[11, 12]);
    order.roots = Few::new(vec![passing(11, Some("x")), passing(12, Some("y"))]).unwrap();
    order.grants = Few::new(vec![grant(11, "", VerbSet::of(&[Verb::Read]))]).unwrap();
    order.expires_ms = Some(5);
    let around = composed(&order, &known, None, &[]).unwrap();
    let around = around.authority;
    let both = [passing(11, Some("r1")), passing(12, Some("r2"))];
    let made = restore(&kept, &how(&both, Some(&around)), &known, &nowhere()).unwrap();
    let parts = made.authority.parts();
    assert_eq!(parts.parent, Some(around.id()));
    assert_eq!(parts.expires_ms, Some(5));
    assert_eq!(parts.grants.len(), 1);
    assert_eq!(parts.grants[0].verbs, VerbSet::of(&[Verb::Read]));
    assert_eq!(parts.grants[0].prefix, path("src"));
    // Sealed once more, it is another root than the one around has.
    known.extend(roots(vec![sealed(21, &dir.make("a"))]));
    let other = [passing(21, Some("r1"))];
    let made = restore(&kept, &how(&other, Some(&around)), &known, &nowhere()).unwrap();
    assert!(made.authority.parts().grants.is_empty());
    // In another conversation nothing is left.
    let elsewhere = Text::new("elsewhere").unwrap();
    let rebound = Restoring {
        rebind: Some(&elsewhere),
        ..how(&both, Some(&around))
    };
    let made = restore(&kept, &rebound, &known, &nowhere()).unwrap();
    assert_eq!(made.authority.parts().conversation, elsewhere);
    assert!(made.roots.is_empty());
}

#[test]
fn objects_stay_denied_when_their_device_has_another_number() {
    let dir = TempDir::new();
    let known = anew(&dir);
    let mut parts = Parts::from(kept(&dir));
    let now = parts.roots[0].identity.device;
    let object = |device| Denial {
        target: DenialTarget::Object { device, inode: 42 },
        effect: Effect::Hide,
        ..parts.denials[0].clone()
    };
    let (old, new, far) = (object(now + 7), object(now), object(now + 9));
    parts.denials.extend([old.clone(), far.clone()]);
    // As it was before the system started anew.
    parts.roots[0].identity.device = now + 7;
    let kept = Authority::seal(parts).unwrap();
    let passed = [passing(11, Some("r1"))];
    let made = restore(&kept, &how(&passed, None), &known, &nowhere()).unwrap();
    let denials = &made.authority.parts().denials;
    assert!(denials.contains(&old) && denials.contains(&new) && denials.contains(&far));
    let on_new = denials.iter().filter(|denial| denial.target == new.target);
    assert_eq!(on_new.count(), 1, "what is on another device stays there");
}

#[test]
fn the_records_of_this_broker_are_denied_whatever_was_kept() {
    let dir = TempDir::new();
    let (kept, known) = (kept(&dir), anew(&dir));
    let state = dir.make("a/state");
    let passed = [passing(11, Some("r1"))];
    let made = restore(&kept, &how(&passed, None), &known, &Own::of(&state)).unwrap();
    let added = made.authority.parts().denials.len() - kept.parts().denials.len();
    assert!(added > 0);
    let own = |denial: &&Denial| denial.rule.name.as_str() == "builtin:state";
    let denials = &made.authority.parts().denials;
    assert!(denials.iter().filter(own).count() >= added);
}
