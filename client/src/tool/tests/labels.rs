//! Labels: shown by `read`, named by `edit`, and fresh ones after it; and how strictly texts match.

use super::*;
use crate::change::{Tier, Tiers};
use portcullis_protocol::anchor::{Anchor, Labels};
use portcullis_protocol::session::{
    AnchoredDeed, Conflicted, Encoding, FinalNewline, Lines, Matched, More, Range, Read as Reading,
    ReadEnd, ReadPart, ReadTail, Region, Rest, Steadiness, Survey, TextEdit, TextSurvey,
};
use portcullis_protocol::view::ObjectId;

const DIGEST: [u8; 32] = [5; 32];

/// The label of a line of the file that the gate below shows.
fn label(line: u64, text: &str) -> Anchor {
    let stamp = bound("a").observation.stamp;
    let object = ObjectId {
        device: stamp.device,
        inode: stamp.inode,
    };
    Labels::new(object, &Digest(DIGEST)).label(line, text.as_bytes())
}

fn survey(encoding: Encoding) -> TextSurvey {
    TextSurvey {
        lines: 9,
        lf: 9,
        crlf: 0,
        cr: 0,
        final_newline: FinalNewline::Present,
        encoding,
    }
}

/// Answers a read of lines with these, from `first_line`; gives what was asked.
fn shows(gate: &mut Gate, first_line: u64, text: &[u8], encoding: Encoding) -> Reading {
    let (id, request, _) = gate.next();
    let Request::Read(read) = request else {
        panic!("{request:?}");
    };
    let end = ReadEnd {
        first_line,
        next_offset: 6,
        rest: Rest::End,
        steadiness: Steadiness::Steady,
        text: Some(survey(encoding)),
        digest: Some(DIGEST),
    };
    let part = ReadPart {
        file: 0,
        offset: 0,
        head: Some(bound("a")),
        tail: Some(ReadTail::Read(end)),
        more: More::Last,
    };
    gate.send(id, &Reply::ReadPart(part), text);
    read
}

#[test]
fn read_puts_a_label_before_each_line() {
    let (said, outcome) = tool(&["read", "a", "--labels", "--lines", "7:8"], |gate| {
        let read = shows(gate, 7, b"one\r\ntwo", Encoding::Utf8);
        assert_eq!(read.range, Range::Lines { first: 7, count: 2 });
        assert_eq!(read.survey, Survey::TextAndDigest);
    });
    let wanted = format!("{}|one\r\n{}|two", label(7, "one"), label(8, "two"));
    assert_eq!((said, outcome), (wanted, Outcome::Done));
    let (said, _) = tool(&["--json", "read", "a", "--anchors"], |gate| {
        let read = shows(gate, 1, b"one\n\xff\n", Encoding::Other);
        assert_eq!(read.range, crate::label::ALL);
    });
    let document: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    assert_eq!(
        document["lines"],
        serde_json::json!([
            { "label": label(1, "one").to_string(), "text": "one" },
            { "label": Labels::label(&labels(), 2, b"\xff").to_string(), "text_bytes": "ff" },
        ])
    );
    assert_eq!(document.get("content"), None);
}

fn labels() -> Labels {
    let stamp = bound("a").observation.stamp;
    let object = ObjectId {
        device: stamp.device,
        inode: stamp.inode,
    };
    Labels::new(object, &Digest(DIGEST))
}

#[test]
fn what_is_not_text_or_too_large_has_no_labels() {
    let (said, outcome) = tool(&["--json", "read", "a", "--labels"], |gate| {
        shows(gate, 1, b"\0\n", Encoding::Binary);
    });
    assert_eq!(outcome, Outcome::NotDone);
    assert!(said.contains("no labels: it holds zero bytes"), "{said}");
    let (said, outcome) = tool(&["--json", "read", "a", "--labels"], |gate| {
        let (id, ..) = gate.next();
        let mut head = bound("a");
        head.observation.stamp.size = (64 << 20) + 1;
        let part = ReadPart {
            file: 0,
            offset: 0,
            head: Some(head),
            tail: None,
            more: More::Follows,
        };
        gate.send(id, &Reply::ReadPart(part), b"x");
        let (_, request, _) = gate.next();
        assert!(matches!(request, Request::Cancel(cancel) if cancel.request == id.0));
        let done = portcullis_protocol::session::Done {
            completeness: portcullis_protocol::session::Completeness::Cut {
                reason: portcullis_protocol::session::CutReason::Cancelled,
                cursor: None,
            },
            statistics: portcullis_protocol::session::Statistics::default(),
        };
        gate.send(id, &Reply::Done(done), &[]);
    });
    assert_eq!(outcome, Outcome::NotDone);
    assert!(said.contains("at most 67108864 are edited"), "{said}");
}

fn edited() -> Touched {
    touched(Verb::Edit, "a", present(0o644), present(0o644))
}

/// What `edit` makes of `change`, when the gate says it matched at `matched`.
fn edit(
    args: &[&str],
    check: impl Fn(&words::EditFile, &[u8]) + Send + 'static,
) -> (String, Outcome) {
    tool(&[&["edit", "a"], args].concat(), move |gate| {
        let mut done = changed(End::Done, vec![edited()]);
        let lines = |first, count| Lines { first, count };
        let place = Matched {
            change: 0,
            edit: 0,
            tier: Tier::TrailingBlanks,
            old: lines(4, 1),
            new: lines(4, 2),
        };
        done.matched = Few::new(vec![place]).unwrap();
        let (id, request, content) = gate.next();
        let Request::Change(set) = request else {
            panic!("{request:?}");
        };
        gate.send(id, &Reply::Changed(done), b"--- a\n");
        let [Change::Edit(edit)] = set.changes.as_slice() else {
            panic!("{set:?}");
        };
        check(edit, &content);
        let anchored = |edit: &TextEdit| matches!(edit, TextEdit::Anchored(_));
        if edit.edits.as_slice().iter().any(anchored) {
            let read = shows(gate, 2, b"b\nc\n", Encoding::Ascii);
            assert_eq!(read.range, Range::Lines { first: 2, count: 6 });
        }
    })
}

#[test]
fn edits_name_lines_by_labels_and_show_fresh_ones() {
    let (two, four) = ("2:k3f9q", "4:00000");
    let span = format!("{two}..{four}");
    let args = [
        "--lines", &span, "--new", "x\n", "--before", two, "--new", "y", "--after", four, "--new",
        "z", "--lines", four, "--new", "",
    ];
    let (said, outcome) = edit(&args, |edit, content| {
        let edits = edit.edits.as_slice().iter();
        let all: Vec<String> = edits
            .map(|edit| {
                let TextEdit::Anchored(one) = edit else {
                    panic!("{edit:?}");
                };
                let (deed, span) = match one.deed {
                    AnchoredDeed::Replace(span) => ("replace", span),
                    AnchoredDeed::Before(span) => ("before", span),
                    AnchoredDeed::After(span) => ("after", span),
                };
                let text = String::from_utf8_lossy(span.of(content).unwrap()).into_owned();
                format!("{deed} {} {} {text:?}", one.first, one.last)
            })
            .collect();
        assert_eq!(
            all,
            [
                "replace 2:k3f9q 4:00000 \"x\\n\"",
                "before 2:k3f9q 2:k3f9q \"y\"",
                "after 4:00000 4:00000 \"z\"",
                "replace 4:00000 4:00000 \"\"",
            ]
        );
    });
    assert_eq!(outcome, Outcome::Done);
    assert_eq!(
        said,
        format!(
            "edited a\n  a: line 4 -> lines 4-5 (matched by tier trailing-blanks)\nreceipt 7\n--- a\n\
             with fresh labels:\n{}|b\n{}|c\n",
            label(2, "b"),
            label(3, "c")
        )
    );
}

#[test]
fn an_insert_by_number_is_whole_lines_and_needs_no_fresh_labels() {
    let (said, _) = edit(&["--insert-after", "0", "--new", "x"], |edit, content| {
        let [TextEdit::Insert(one)] = edit.edits.as_slice() else {
            panic!("{edit:?}");
        };
        assert_eq!((one.line, one.text.of(content)), (0, Some(&b"x\n"[..])));
    });
    assert!(said.ends_with("receipt 7\n--- a\n"), "{said}");
}

#[test]
fn tiers_are_what_was_asked() {
    for (more, tiers) in [
        (&[][..], Tiers::DEFAULT),
        (&["--match", "exact"], Tiers::EXACT),
        (&["--match", "default"], Tiers::DEFAULT),
        (
            &["--match=exact", "--allow", "indentation"],
            Tiers::EXACT.with(Tier::Indentation),
        ),
        (
            &["--allow", "punctuation,indentation"],
            Tiers::DEFAULT
                .with(Tier::Indentation)
                .with(Tier::Punctuation),
        ),
    ] {
        let args = [&["--old", "x", "--new", "y"], more].concat();
        edit(&args, move |edit, _| assert_eq!(edit.tiers, tiers));
    }
    let (_dir, patch) = file(b"{\"path\":\"a\",\"old_string\":\"x\",\"new_string\":\"y\"}");
    asks_tiers(&["patch", &patch, "--match", "exact"], Tiers::EXACT);
    asks_tiers(
        &[
            "patch",
            &patch,
            "--format",
            "edits",
            "--allow",
            "indentation",
        ],
        Tiers::DEFAULT.with(Tier::Indentation),
    );
}

fn asks_tiers(args: &[&str], tiers: Tiers) {
    asks(
        args,
        move |change, _| matches!(change, Change::Edit(edit) if edit.tiers == tiers),
    );
}

#[test]
fn a_label_that_was_copied_into_a_new_text_is_refused_before_anything_is_sent() {
    for args in [
        &["--lines", "2:k3f9q", "--new", "2:k3f9q|x"][..],
        &["--old", "x", "--new", "y\n3:00000|z"],
        &["--after", "2:k3f9q", "--new", ""],
        &["--insert-after", "1", "--new", ""],
        &["--before", "2:k3f9q", "--new", "2:k3f9q x"],
    ] {
        let (ours, _theirs) = portcullis_transport::pair().unwrap();
        let mut session = Session::from_socket(ours).unwrap();
        let args = [&["--json", "edit", "a"], args].concat();
        let (said, outcome) = run(&args, &mut session);
        assert_eq!(outcome, Outcome::NotDone, "{said}");
        assert!(said.contains("nothing was changed: "), "{said}");
    }
}

#[test]
fn documents_carry_places_difference_region_and_fresh_labels() {
    let read = |said: &str| -> Value { serde_json::from_str(said.trim_end()).unwrap() };
    let (said, _) = edit(&["--json", "--lines", "4:00000", "--new", "x"], |_, _| {});
    let document = read(&said);
    assert_eq!(
        document["matched"],
        serde_json::json!([{ "change": 0, "edit": 0, "tier": "trailing-blanks",
            "old": { "first": 4, "count": 1 }, "new": { "first": 4, "count": 2 } }])
    );
    assert_eq!(document["diff"], "--- a\n");
    assert_eq!(document["fresh"][0][1]["text"], "c");
    assert_eq!(document["touched"][0]["after"]["blake3"], "01".repeat(32));
    let (said, outcome) = tool(
        &["--json", "edit", "a", "--lines", "4:00000", "--new", "x"],
        |gate| {
            let (id, ..) = gate.next();
            let stamp = bound("a").observation.stamp;
            let conflicted = Conflicted {
                refusal: Refusal::new(Code::StaleAnchor),
                region: Region {
                    first_line: 3,
                    total_lines: 9,
                    object: ObjectId {
                        device: stamp.device,
                        inode: stamp.inode,
                    },
                    digest: Digest(DIGEST),
                },
            };
            gate.send(id, &Reply::Conflicted(conflicted), b"one\ntwo\n");
        },
    );
    let document = read(&said);
    assert_eq!(outcome, Outcome::Conflict);
    assert_eq!(
        (&document["code"], &document["changed"]),
        (&"stale_anchor".into(), &"unchanged".into())
    );
    assert_eq!(
        document["region"],
        serde_json::json!({ "first_line": 3, "total_lines": 9, "blake3": "05".repeat(32), "lines": [
            { "label": label(3, "one").to_string(), "text": "one" },
            { "label": label(4, "two").to_string(), "text": "two" },
        ] })
    );
}
