//! Lines by number, and by their labels.

use super::{Anchor, AnchoredDeed, Plan, Span, Tiers, labels, lines_of};
use portcullis_protocol::refusal::Code;

const NO_SPAN: Span = Span { start: 0, len: 0 };
const REPLACE: AnchoredDeed = AnchoredDeed::Replace(NO_SPAN);
const BEFORE: AnchoredDeed = AnchoredDeed::Before(NO_SPAN);
const AFTER: AnchoredDeed = AnchoredDeed::After(NO_SPAN);

const OLD: &str = "a\nb\r\nc\nb\r\n";

fn label(old: &str, line: u64) -> Anchor {
    let text = old.lines().nth(usize::try_from(line).unwrap() - 1).unwrap();
    labels(old.as_bytes()).label(line, text.as_bytes())
}

fn anchored(first: u64, last: u64, deed: AnchoredDeed, text: &str) -> Plan {
    Plan::default().anchored(label(OLD, first), label(OLD, last), deed, text)
}

#[test]
fn nothing_is_put_first_where_another_edit_changes_the_byte_order_mark() {
    let both = Plan::default().replace("\u{feff}", "").insert(0, "x\n");
    assert_eq!(both.miss("\u{feff}a\n").code, Code::Collision);
    let apart = Plan::default().replace("\u{feff}", "").insert(1, "x\n");
    assert_eq!(apart.on("\u{feff}a\n"), "a\nx\n");
}

#[test]
fn lines_are_put_after_a_line() {
    let put = |line, text| Plan::default().insert(line, text);
    assert_eq!(put(0, "x\n").on("a\nb\n"), "x\na\nb\n");
    assert_eq!(put(1, "x\ny").on("a\nb\n"), "a\nx\ny\nb\n");
    assert_eq!(put(2, "x\n").on("a\nb\n"), "a\nb\nx\n");
    assert_eq!(put(2, "x\n").on("a\r\nb"), "a\r\nb\r\nx");
    assert_eq!(put(1, "x\n").on("a\r\nb\n"), "a\r\nx\r\nb\n");
    assert_eq!(put(0, "x\n").on("a\r\nb\n"), "x\r\na\r\nb\n");
    assert_eq!(put(0, "x\n").on(""), "x\n");
    assert_eq!(put(0, "x").on(""), "x\n");
    assert_eq!(put(1, "\n").on("a\nb\n"), "a\n\nb\n");
    let miss = put(3, "x\n").miss("a\nb\n");
    assert_eq!(miss.code, Code::OutOfRange);
    assert!(
        miss.note.contains("no line 3: the file has 2 lines"),
        "{miss:?}"
    );
    assert_eq!(put(u64::MAX, "x\n").miss("a\n").code, Code::OutOfRange);
    assert_eq!(put(0, "").miss("a\n").code, Code::OutOfRange);
}

#[test]
fn lines_are_changed_by_their_labels() {
    assert_eq!(anchored(2, 2, REPLACE, "x").on(OLD), "a\nx\r\nc\nb\r\n");
    assert_eq!(
        anchored(2, 3, REPLACE, "x\ny\nz\n").on(OLD),
        "a\nx\r\ny\nz\nb\r\n"
    );
    assert_eq!(anchored(2, 3, REPLACE, "").on(OLD), "a\nb\r\n");
    assert_eq!(anchored(2, 2, BEFORE, "x\n").on(OLD), "a\nx\nb\r\nc\nb\r\n");
    assert_eq!(
        anchored(2, 2, AFTER, "x\n").on(OLD),
        "a\nb\r\nx\r\nc\nb\r\n"
    );
    assert_eq!(anchored(1, 4, REPLACE, "x\n").on(OLD), "x\n");
    let edited = anchored(2, 3, REPLACE, "x\n")
        .by(Tiers::DEFAULT, OLD)
        .unwrap();
    assert_eq!(edited.places[0].old, lines_of(2, 2));
    assert_eq!(edited.places[0].new, lines_of(2, 1));
    // Lines next to each other, each by its own label.
    let both = anchored(2, 2, REPLACE, "x").anchored(label(OLD, 3), label(OLD, 3), REPLACE, "y");
    assert_eq!(both.on(OLD), "a\nx\r\ny\nb\r\n");
}

#[test]
fn a_label_of_another_version_is_refused() {
    let plan = anchored(2, 2, REPLACE, "x");
    for now in [
        "a\nB\r\nc\nb\r\n",
        "0\na\nb\r\nc\nb\r\n",
        "a\nb\r\nc\nB\r\n",
        "a\n",
        "",
    ] {
        let miss = plan.miss(now);
        assert_eq!(miss.code, Code::StaleAnchor, "{now:?}");
        assert!(miss.note.contains(&label(OLD, 2).to_string()), "{miss:?}");
    }
    let miss = plan.miss("a\nB\nc\n");
    let now = labels(b"a\nB\nc\n").label(2, b"B");
    assert!(miss.note.contains(&now.to_string()), "{miss:?}");
    assert_eq!(miss.near, Some(lines_of(1, 3)));
    // Of an equal line elsewhere.
    let equal = Anchor {
        line: 4,
        tag: label(OLD, 2).tag,
    };
    let plan = Plan::default().anchored(equal, equal, REPLACE, "x");
    assert_eq!(plan.miss(OLD).code, Code::StaleAnchor);
}

#[test]
fn every_label_is_checked_before_anything_is_looked_for() {
    let stale = Anchor {
        line: 1,
        tag: label(OLD, 2).tag,
    };
    let plan = Plan::default()
        .replace("not there", "x")
        .anchored(label(OLD, 1), label(OLD, 1), REPLACE, "y")
        .anchored(label(OLD, 1), stale, REPLACE, "y");
    // The range of the last is in order, its end is stale.
    let miss = plan.miss(OLD);
    assert_eq!((miss.code, miss.edit), (Code::StaleAnchor, 2));
    assert!(miss.note.starts_with("edit 3: "), "{miss:?}");
    let miss = anchored(3, 2, REPLACE, "x").miss(OLD);
    assert_eq!(miss.code, Code::OutOfRange);
    assert!(miss.note.contains("is after"), "{miss:?}");
}

#[test]
fn labels_do_not_get_into_the_file() {
    let label = label(OLD, 2);
    for text in [
        format!("{label}|x\n"),
        format!("x\n{label}\ty\n"),
        format!("{label} x"),
    ] {
        let miss = anchored(2, 2, REPLACE, &text).miss(OLD);
        assert_eq!(miss.code, Code::OutOfRange);
        assert!(miss.note.contains("not part of the file"), "{miss:?}");
    }
    for text in ["12:30:45 x", "a 12:k3f9q|x", "12:k3f9q", "12:k3f9qq|x"] {
        assert!(
            anchored(2, 2, REPLACE, text)
                .by(Tiers::DEFAULT, OLD)
                .is_ok(),
            "{text}"
        );
    }
}
