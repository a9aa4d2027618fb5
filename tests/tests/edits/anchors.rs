//! Lines named by the labels they were shown with: a label is of one line of one version of one
//! file, and one that is not current changes nothing.

use crate::desk::{Desk, at, edits, not_done, note, one, out, patched};
use portcullis_client::change::{Anchor, AnchoredDeed, Edit, TextEdit};
use portcullis_client::{Changes, Error, Session, label};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Range;

/// The labels of a file, one for each line.
#[track_caller]
fn labels(session: &mut Session, name: &str) -> Vec<Anchor> {
    let content = session.read_labelled(at(name), label::ALL).unwrap();
    let lines = content.labelled().unwrap();
    lines.into_iter().map(|line| line.label).collect()
}

fn replaced(first: Anchor, last: Anchor, text: &str) -> TextEdit {
    TextEdit::Anchored {
        first,
        last,
        deed: AnchoredDeed::Replace(text.into()),
    }
}

fn before(line: Anchor, text: &str) -> TextEdit {
    TextEdit::Anchored {
        first: line,
        last: line,
        deed: AnchoredDeed::Before(text.into()),
    }
}

fn after(line: Anchor, text: &str) -> TextEdit {
    TextEdit::Anchored {
        first: line,
        last: line,
        deed: AnchoredDeed::After(text.into()),
    }
}

fn of(name: &str, all: Vec<TextEdit>) -> Changes {
    one(edits(name, all))
}

/// A change by labels is refused as stale, and nothing is different; gives the error.
#[track_caller]
fn stale(desk: &mut Desk, changes: &Changes) -> Error {
    let error = desk.make(changes).unwrap_err();
    assert_eq!(error.code_name(), "stale_anchor", "{error}");
    error
}

/// The labels that came with a refusal, with their lines.
#[track_caller]
fn fresh(error: &Error) -> Vec<(Anchor, String)> {
    let region = error
        .region()
        .unwrap_or_else(|| panic!("no region: {error}"));
    let lines = region.lines().into_iter();
    lines
        .map(|line| {
            (
                line.label,
                String::from_utf8_lossy(line.body()).into_owned(),
            )
        })
        .collect()
}

#[test]
fn lines_are_replaced_removed_and_put_where_their_labels_say() {
    let mut desk = Desk::new(&[("f", b"a\nb\nc\nd\ne\n")]);
    let all = labels(&mut desk.session, "f");
    desk.done(&of(
        "f",
        vec![
            replaced(all[3], all[3], ""),
            before(all[0], "first"),
            replaced(all[1], all[2], "B\nb\nC\n"),
            after(all[4], "last\n"),
        ],
    ));
    desk.is("f", "first\na\nB\nb\nC\ne\nlast\n");
}

#[test]
fn terminators_and_the_end_of_the_file_stay() {
    let mut desk = Desk::new(&[
        ("crlf", b"\xef\xbb\xbfa\r\nb\r\nc"),
        ("bytes", b"\xff\n\xfe\n"),
    ]);
    let all = labels(&mut desk.session, "crlf");
    desk.done(&of("crlf", vec![replaced(all[1], all[1], "B\nbb")]));
    desk.is("crlf", b"\xef\xbb\xbfa\r\nB\r\nbb\r\nc");
    let all = labels(&mut desk.session, "crlf");
    desk.done(&of("crlf", vec![after(all[3], "d")]));
    desk.is("crlf", b"\xef\xbb\xbfa\r\nB\r\nbb\r\nc\r\nd");
    // Bytes that are no text in any encoding known here have labels all the same.
    let all = labels(&mut desk.session, "bytes");
    desk.done(&of("bytes", vec![replaced(all[0], all[0], "x")]));
    desk.is("bytes", b"x\n\xfe\n");
}

#[test]
fn nothing_is_inserted_by_nothing() {
    let mut desk = Desk::new(&[("f", b"a\n")]);
    let all = labels(&mut desk.session, "f");
    for edit in [before(all[0], ""), after(all[0], "")] {
        let refusal = desk.refused(&of("f", vec![edit]), Code::OutOfRange);
        assert!(note(&refusal).contains("nothing to insert"), "{refusal}");
    }
}

#[test]
fn a_change_elsewhere_in_the_file_makes_every_label_stale_and_the_fresh_ones_work_at_once() {
    let old: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    let mut desk = Desk::new(&[("f", old.as_bytes())]);
    let all = labels(&mut desk.session, "f");
    desk.write_outside("f", old.replace("line 40\n", "LINE 40\n"));
    let error = stale(&mut desk, &of("f", vec![replaced(all[9], all[10], "new")]));
    assert!(
        error.to_string().starts_with("nothing was changed: "),
        "{error}"
    );
    let now = fresh(&error);
    let of_line = |n: u64| {
        let mut lines = now.iter();
        let (label, text) = lines.find(|(label, _)| label.line == n).unwrap();
        assert_eq!(text, &format!("line {n}"));
        *label
    };
    assert_ne!(of_line(10), all[9]);
    assert_eq!(error.region().unwrap().region.total_lines, 40);
    let again = of("f", vec![replaced(of_line(10), of_line(11), "new")]);
    desk.done(&again);
    let wanted = old
        .replace("line 10\nline 11\n", "new\n")
        .replace("line 40\n", "LINE 40\n");
    desk.is("f", wanted);
    // And once only: what it made is another version.
    stale(&mut desk, &again);
}

#[test]
fn a_label_is_not_of_the_line_that_moved_nor_of_its_neighbour() {
    let mut desk = Desk::new(&[("f", b"same\nsame\nsame\n"), ("g", b"same\nsame\nsame\n")]);
    let all = labels(&mut desk.session, "f");
    // The same text stands at 1, 2 and 3: only the number tells them apart.
    for (line, tag) in [(1, 1), (2, 0), (3, 1), (4, 2)] {
        let forged = Anchor {
            line,
            tag: all[tag].tag,
        };
        let error = stale(&mut desk, &of("f", vec![replaced(forged, forged, "x")]));
        assert!(error.to_string().contains(&forged.to_string()), "{error}");
    }
    // The same content at another name is another file.
    stale(&mut desk, &of("g", vec![replaced(all[1], all[1], "x")]));
    // A line put above moves them all; what stands at 2 now looks like what stood there.
    desk.write_outside("f", "new\nsame\nsame\nsame\n");
    stale(&mut desk, &of("f", vec![replaced(all[1], all[1], "x")]));
}

#[test]
fn a_range_is_stale_when_either_end_is() {
    let mut desk = Desk::new(&[("f", b"a\nb\nc\n"), ("g", b"a\nb\nc\n")]);
    let (f, g) = (
        labels(&mut desk.session, "f"),
        labels(&mut desk.session, "g"),
    );
    stale(&mut desk, &of("f", vec![replaced(f[0], g[2], "x")]));
    stale(&mut desk, &of("f", vec![replaced(g[0], f[2], "x")]));
    // One stale edit of several, and of several files, refuses them all.
    stale(
        &mut desk,
        &of("f", vec![replaced(f[0], f[0], "x"), after(g[2], "y")]),
    );
    let two: Changes = Changes::new()
        .with(edits("f", vec![replaced(f[0], f[0], "x")]))
        .with(edits("g", vec![replaced(f[1], f[1], "x")]));
    stale(&mut desk, &two);
    desk.done(&of("f", vec![replaced(f[0], f[2], "x")]));
    desk.is("f", "x\n");
}

#[test]
fn a_file_that_was_only_touched_has_its_labels_still_and_one_put_in_its_place_has_not() {
    let mut desk = Desk::new(&[("f", b"a\nb\n")]);
    let all = labels(&mut desk.session, "f");
    desk.write_outside("f", "a\nb\n");
    desk.set_mode("f", 0o600);
    desk.done(&of("f", vec![replaced(all[1], all[1], "B")]));
    desk.is("f", "a\nB\n");
    let all = labels(&mut desk.session, "f");
    desk.write_outside("other", "a\nB\n");
    std::fs::rename(desk.path("other"), desk.path("f")).unwrap();
    stale(&mut desk, &of("f", vec![replaced(all[1], all[1], "b")]));
}

#[test]
fn labels_of_one_session_are_those_of_another() {
    let mut desk = Desk::new(&[("f", b"a\nb\n")]);
    let mut other = desk.other();
    let all = labels(&mut other, "f");
    assert_eq!(all, labels(&mut desk.session, "f"));
    desk.done(&of("f", vec![replaced(all[0], all[0], "A")]));
    let error = other
        .change(&of("f", vec![replaced(all[1], all[1], "B")]))
        .unwrap_err();
    assert_eq!(error.code_name(), "stale_anchor");
    let now = fresh(&error);
    other
        .change(&of("f", vec![replaced(now[1].0, now[1].0, "B")]))
        .unwrap();
    desk.is("f", "A\nB\n");
}

#[test]
fn a_label_that_was_copied_into_the_new_text_is_refused() {
    let mut desk = Desk::new(&[("f", b"a\nb\n")]);
    let all = labels(&mut desk.session, "f");
    for text in [format!("{}|A\n", all[0]), format!("x\n{} A", all[0])] {
        for edit in [
            replaced(all[0], all[0], &text),
            before(all[0], &text),
            after(all[0], &text),
        ] {
            let refusal = desk.refused(&of("f", vec![edit]), Code::OutOfRange);
            let said = note(&refusal);
            assert!(
                said.contains(&format!("has the label `{}`", all[0])),
                "{said}"
            );
        }
    }
}

#[test]
fn edits_that_meet_are_refused_and_edits_that_touch_are_not() {
    let mut desk = Desk::new(&[("f", b"a\nb\nc\n")]);
    let all = labels(&mut desk.session, "f");
    let met = vec![replaced(all[0], all[1], "x"), replaced(all[1], all[2], "y")];
    desk.refused(&of("f", met), Code::Collision);
    desk.done(&of(
        "f",
        vec![replaced(all[0], all[1], "x"), replaced(all[2], all[2], "y")],
    ));
    desk.is("f", "x\ny\n");
}

/// What edits by labels mean, slowly: the lines of the file, each with what comes before, instead
/// and after.
fn reference(old: &[u8], all: &[(usize, usize, u8)]) -> Vec<u8> {
    let lines: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let mut made = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        let here = |kind: u8| all.iter().any(|edit| edit.2 == kind && edit.0 == n);
        if here(1) {
            made.extend_from_slice(b"before\n");
        }
        let within = all
            .iter()
            .find(|edit| edit.2 == 0 && (edit.0..=edit.1).contains(&n));
        match within {
            Some(edit) if edit.0 == n => made.extend_from_slice(b"instead\nof it\n"),
            Some(_) => {}
            None => made.extend_from_slice(line),
        }
        if all.iter().any(|edit| edit.2 == 2 && edit.1 == n) {
            made.extend_from_slice(b"after\n");
        }
    }
    made
}

#[test]
fn edits_by_labels_do_what_a_slow_reference_says() {
    let mut desk = Desk::new(&[("f", b"")]);
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    for round in 0..200 {
        let count = 1 + next(30);
        let old: Vec<u8> = (0..count)
            .flat_map(|n| format!("{}{}\n", "x".repeat(next(3)), n % (1 + next(4))).into_bytes())
            .collect();
        desk.write_outside("f", &old);
        // Edits that do not meet, and no two at one place: there their order would say which
        // comes first.
        let (mut all, mut line) = (Vec::new(), 0);
        while line < count {
            let last = (line + next(3)).min(count - 1);
            let kind = u8::try_from(next(3)).unwrap();
            all.push(if kind == 0 {
                (line, last, 0)
            } else {
                (line, line, kind)
            });
            line = last + 2 + next(4);
        }
        let labels = labels(&mut desk.session, "f");
        let mut made: Vec<TextEdit> = all
            .iter()
            .map(|(first, last, kind)| match kind {
                0 => replaced(labels[*first], labels[*last], "instead\nof it"),
                1 => before(labels[*first], "before"),
                _ => after(labels[*first], "after\n"),
            })
            .collect();
        // Their order says nothing: each is found in the file as it is.
        if round % 2 == 1 {
            made.reverse();
        }
        desk.done(&of("f", made));
        desk.is("f", reference(&old, &all));
    }
}

#[test]
fn a_part_of_a_file_is_read_with_the_labels_of_the_whole() {
    let mut desk = Desk::new(&[("f", b"a\nb\nc\nd\n")]);
    let all = labels(&mut desk.session, "f");
    for (range, lines) in [
        (Range::Lines { first: 2, count: 2 }, 1..3),
        (Range::Head { count: 1 }, 0..1),
        (Range::Tail { count: 3 }, 1..4),
    ] {
        let content = desk.session.read_labelled(at("f"), range).unwrap();
        let part = content.labelled().unwrap();
        let part: Vec<Anchor> = part.into_iter().map(|line| line.label).collect();
        assert_eq!(part, all[lines]);
    }
    let bytes = Range::Bytes {
        offset: 2,
        length: 2,
    };
    let content = desk.session.read_labelled(at("f"), bytes).unwrap();
    assert!(content.labelled().is_err(), "bytes are no lines");
    desk.write_outside("f", "a\0\n");
    let content = desk.session.read_labelled(at("f"), label::ALL).unwrap();
    assert!(
        content
            .labelled()
            .unwrap_err()
            .to_string()
            .contains("zero bytes")
    );
}

#[test]
fn documents_name_lines_too_and_all_of_one_list_are_of_one_version() {
    let mut desk = Desk::new(&[("f", b"a\nb\nc\n")]);
    let all = labels(&mut desk.session, "f");
    desk.done(&patched(format!(
        r#"[{{"path":"f","edits":[{{"op":"replace","at":"{}","text":"A"}}]}},
            {{"path":"f","edits":[{{"op":"insert_after","at":"{}","lines":["d",""]}},
                                  {{"op":"delete","first":"{}","last":"{}"}}]}}]"#,
        all[0], all[2], all[1], all[1]
    )));
    desk.is("f", "A\nc\nd\n\n");
}

/// The label of this line in what a tool showed.
#[track_caller]
fn shown(text: &[u8], line: &str) -> String {
    let text = String::from_utf8_lossy(text);
    let mut lines = text.lines();
    let found = lines.find_map(|one| one.strip_suffix(line)?.strip_suffix('|'));
    found
        .unwrap_or_else(|| panic!("no `{line}` in {text}"))
        .to_owned()
}

#[test]
fn a_worker_reads_labels_edits_by_them_and_goes_on_with_the_ones_it_is_shown() {
    let mut desk = Desk::new(&[("f", b"one\ntwo\nthree\nfour\nfive\nsix\n")]);
    let read = out(&desk.tool("$T read f --labels", b""));
    let (two, three) = (shown(&read, "two"), shown(&read, "three"));
    let edit = format!("$T edit f --lines {two}..{three} --new 'TWO\nand\nTHREE'");
    let said = out(&desk.tool(&edit, b""));
    desk.is("f", "one\nTWO\nand\nTHREE\nfour\nfive\nsix\n");
    let text = String::from_utf8_lossy(&said);
    assert!(text.contains("  f: lines 2-3 -> lines 2-4\n"), "{text}");
    assert!(
        text.contains("\n-two\n-three\n+TWO\n+and\n+THREE\n"),
        "{text}"
    );
    // Two lines around it are shown, and no more.
    let and = shown(&said, "and");
    shown(&said, "five");
    assert!(!text.contains("|six"), "{text}");
    let next = format!("$T edit f --before {and} --new x --after {and} --new y");
    out(&desk.tool(&next, b""));
    desk.is("f", "one\nTWO\nx\nand\ny\nTHREE\nfour\nfive\nsix\n");

    let (code, said) = not_done(&desk.tool(&next, b""));
    assert_eq!(code, 75, "{said}");
    assert!(
        said.starts_with("portcullis-tool: nothing was changed: "),
        "{said}"
    );
    let fresh = shown(said.as_bytes(), "TWO");
    out(&desk.tool(&format!("$T edit f --lines {fresh} --new ''"), b""));
    desk.is("f", "one\nx\nand\ny\nTHREE\nfour\nfive\nsix\n");
}

#[test]
fn an_edit_by_labels_needs_no_more_than_its_own_rights() {
    let mut desk = Desk::new(&[("f", b"a\n"), (".env", b"K=v\n")]);
    let all = labels(&mut desk.session, "f");
    let changes = one(Edit {
        edits: vec![replaced(all[0], all[0], "x")],
        ..edits(".env", Vec::new())
    });
    let error = desk.make(&changes).unwrap_err();
    let code = error.refusal().unwrap().code;
    assert!(matches!(code, Code::Denied | Code::NotGranted), "{error}");
    assert!(error.region().is_none(), "nothing of it is shown");
}
