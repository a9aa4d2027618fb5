//! What users of other editors reported, part D: others change the same files.
//!
//! | row | report | test |
//! |---|---|---|
//! | 52 | parallel edits of one file are lost | `row_52_54_60_*`; `effects_race`, `together::twenty_sessions_edit_one_file_at_once_and_every_edit_stands` |
//! | 53 | a whole write from a stale read undoes others' work | `row_53_*` |
//! | 53b | a whole write after a partial read destroys what was never seen | `row_53b_*` |
//! | 54 | several edits of one file in one turn: all succeed, one lands | `row_52_54_60_*` |
//! | 54b | a conflict without the current text costs another turn | `row_54b_*` |
//! | 55 | a file changed while an approval was waited for | `row_55_56_*`: what was planned is made of the version that was shown, or not at all; there are no approvals yet |
//! | 56 | the same, and the message blames the approval | `row_55_56_*` |
//! | 57 | a file that was only touched is "modified since read" | `row_57_*` |
//! | 58 | a crash between truncating and writing loses the file | `effects_faults`, `killed::*`: one version or the other, at every call |
//! | 59 | files of 0 bytes on network drives | `row_59_*`: what is there is looked at before it is said to be done |
//! | 60 | 20 successes, 1 change | `row_52_54_60_*` |

use crate::desk::{Desk, at, digest, edits, not_done, note, one, out, replace};
use portcullis_client::change::{self, Count, Write};
use portcullis_client::{Changes, Session, ask};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Expect, Range};
use portcullis_protocol::view::PathState;
use std::fs::{File, FileTimes};
use std::time::{Duration, SystemTime};

/// A whole write of what was seen.
fn seen_write(content: impl Into<Vec<u8>>) -> Write {
    Write {
        expect: Expect::Seen,
        ..change::write(at("f"), content)
    }
}

/// Lines 1 to 100.
fn hundred() -> String {
    (1..=100).map(|n| format!("{n}\n")).collect()
}

/// Reads some lines of `f`, as a worker that pages does.
fn read_lines(session: &mut Session, first: u64, count: u64) {
    let mut read = ask::read(at("f"));
    read.range = Range::Lines { first, count };
    for file in session.read(&read).unwrap() {
        file.unwrap();
    }
}

#[test]
fn row_52_54_60_edits_of_one_file_at_the_same_time_all_land_or_say_that_they_did_not() {
    let mut desk = Desk::new(&[("f", hundred().as_bytes())]);
    let sessions: Vec<Session> = (0..20).map(|_| desk.other()).collect();
    let done: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = sessions
            .into_iter()
            .enumerate()
            .map(|(n, mut session)| {
                scope.spawn(move || {
                    let line = 4 * n + 3;
                    let edit =
                        change::replace(at("f"), format!("\n{line}\n"), format!("\n#{line}\n"));
                    usize::from(session.change(&one(edit)).is_ok())
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .sum()
    });
    let text = String::from_utf8(desk.bytes("f")).unwrap();
    let changed = text.lines().filter(|line| line.starts_with('#')).count();
    assert_eq!(changed, done, "{text}");
    assert_eq!(text.lines().count(), 100);
    assert_eq!(done, 20, "an edit of another line is no conflict");
    // In one turn, one after the other and in one set.
    desk.done(&one(change::replace(at("f"), "\n50\n", "\nFIFTY\n")));
    let both = Changes::new()
        .with(change::replace(at("f"), "\n60\n", "\nSIXTY\n"))
        .with(change::replace(at("f"), "\n74\n", "\nSEVENTY-FOUR\n"));
    desk.done(&both);
    let text = String::from_utf8(desk.bytes("f")).unwrap();
    for word in ["FIFTY", "SIXTY", "SEVENTY-FOUR"] {
        assert!(text.contains(word), "{word}");
    }
}

#[test]
fn row_53_a_whole_write_from_a_stale_read_is_a_conflict() {
    let mut desk = Desk::new(&[("f", b"seed\n")]);
    let mut a = desk.other();
    desk.read("f");
    a.read_file(at("f")).unwrap();
    a.change(&one(seen_write("seed\nA\n"))).unwrap();
    let refusal = desk.refused(&one(seen_write("seed\nB\n")), Code::Conflict);
    assert_eq!(refusal.current.as_deref().copied(), Some(desk.stamp("f")));
    desk.is("f", "seed\nA\n");
    // The first may go on: it knows what it wrote.
    a.change(&one(seen_write("seed\nA\nAA\n"))).unwrap();
    // And the second when it has read again.
    assert_eq!(desk.read("f"), b"seed\nA\nAA\n");
    desk.done(&one(seen_write("seed\nA\nAA\nB\n")));
}

#[test]
fn row_53_the_tool_overwrites_nothing_that_changed_unless_it_is_told_by_name() {
    let mut desk = Desk::new(&[("f", b"seed\n")]);
    let path = desk.path("f");
    let script = format!(
        "\"$T\" read f > /dev/null && echo theirs > '{}' && \"$T\" write f",
        path.display()
    );
    let (status, said) = not_done(&desk.tool(&script, b"mine\n"));
    assert_eq!(status, 75, "{said}");
    desk.is("f", "theirs\n");
    // It shows what is there now, and how to go on.
    assert!(said.contains("theirs"), "{said}");
    out(&desk.tool("\"$T\" write f --force", b"mine\n"));
    desk.is("f", "mine\n");
    out(&desk.tool(
        "\"$T\" read f > /dev/null && \"$T\" write f",
        b"mine again\n",
    ));
    desk.is("f", "mine again\n");
}

#[test]
fn row_53b_a_whole_write_after_a_partial_read_is_refused() {
    let mut desk = Desk::new(&[("f", hundred().as_bytes())]);
    let write = one(seen_write("1\n2\n"));
    desk.refused(&write, Code::NotSeen);
    read_lines(&mut desk.session, 1, 10);
    desk.refused(&write, Code::NotSeen);
    // Nor is the end of it the middle.
    read_lines(&mut desk.session, 90, 20);
    desk.refused(&write, Code::NotSeen);
    // The version of a file that was looked at and not read is no leave either.
    let version = Write {
        expect: Expect::Version(desk.stamp("f")),
        ..change::write(at("f"), "1\n2\n")
    };
    desk.refused(&one(version.clone()), Code::NotSeen);
    // A part of it may be edited all the while.
    desk.done(&one(change::replace(at("f"), "\n5\n", "\nfive\n")));
    // The rest of it, in parts: now all of it was seen.
    read_lines(&mut desk.session, 1, 60);
    read_lines(&mut desk.session, 61, 1000);
    desk.done(&write);
    desk.is("f", "1\n2\n");
    // Or it is overwritten unseen, by saying so.
    desk.write_outside("f", hundred());
    desk.done(&one(change::write(at("f"), "unseen\n")));
    desk.is("f", "unseen\n");
    let (status, said) = not_done(&desk.tool("\"$T\" write f", b"x\n"));
    assert_eq!(status, 75, "{said}");
    desk.is("f", "unseen\n");
}

#[test]
fn row_54b_a_conflict_shows_the_lines_as_they_are_and_the_version() {
    let mut desk = Desk::new(&[("f", hundred().as_bytes())]);
    let mut expecting = change::replace(at("f"), "\n50\n", "\nfifty\n");
    expecting.expect = Expect::Version(desk.stamp("f"));
    let theirs = hundred().replace("\n50\n", "\nfünfzig\n");
    desk.write_outside("f", &theirs);
    let error = desk
        .session
        .change(&one(expecting.clone()))
        .map(drop)
        .unwrap_err();
    let refusal = error.refusal().unwrap();
    assert_eq!(refusal.code, Code::Conflict);
    let current = refusal.current.as_deref().copied();
    assert_eq!(current, Some(desk.stamp("f")));
    // A text that is not there any more: the lines around where it would be.
    expecting.expect = Expect::Any;
    let missing = one(edits(
        "f",
        vec![replace("49\n50\n51\n", "-\n", Count::Exactly(1))],
    ));
    let error = desk.session.change(&missing).map(drop).unwrap_err();
    let refusal = error.refusal().unwrap();
    assert_eq!(refusal.code, Code::NotUnique);
    assert!(
        note(refusal).contains("49") || note(refusal).contains("50"),
        "{refusal}"
    );
    let region = error.region().unwrap();
    let text = String::from_utf8_lossy(&region.text).into_owned();
    assert!(text.contains("49\nfünfzig\n51\n"), "{text}");
    desk.is("f", &theirs);
    // The next try needs no further read.
    let next = Write {
        expect: Expect::Content(digest(&theirs)),
        ..change::write(at("f"), "x\n")
    };
    desk.done(&one(next));
}

#[test]
fn row_55_56_what_was_planned_is_made_of_that_version_or_not_at_all() {
    let mut desk = Desk::new(&[("f", b"one\ntwo\n")]);
    let mut edit = change::replace(at("f"), "two", "2");
    edit.expect = Expect::Version(desk.stamp("f"));
    let changes = one(edit);
    let (_, diff) = desk.plan(&changes);
    assert!(!diff.is_empty());
    // Somebody thinks about it; meanwhile another program saves the file.
    desk.write_outside("f", "zero\none\ntwo\n");
    let refusal = desk.refused(&changes, Code::Conflict);
    let said = refusal.to_string();
    assert!(
        said.contains("not in the version that was expected"),
        "{said}"
    );
    desk.is("f", "zero\none\ntwo\n");
}

#[test]
fn row_57_a_file_that_was_touched_and_is_equal_is_no_conflict() {
    let touch = |desk: &Desk| {
        let file = File::options().write(true).open(desk.path("f")).unwrap();
        let later = SystemTime::now() + Duration::from_secs(7);
        file.set_times(FileTimes::new().set_modified(later))
            .unwrap();
    };
    // As formatters and drives do: the same bytes in another file.
    let saved_again = |desk: &Desk| {
        let bytes = desk.bytes("f");
        desk.write_outside("f.tmp", bytes);
        std::fs::rename(desk.path("f.tmp"), desk.path("f")).unwrap();
    };
    let ways: [&dyn Fn(&Desk); 2] = [&touch, &saved_again];
    for way in ways {
        let mut desk = Desk::new(&[("f", b"one\ntwo\n")]);
        desk.read("f");
        way(&desk);
        desk.done(&one(seen_write("one\ntwo\nthree\n")));
    }
    let mut desk = Desk::new(&[("f", b"one\ntwo\n")]);
    desk.read("f");
    let version = Expect::Version(desk.stamp("f"));
    touch(&desk);
    let mut edit = change::replace(at("f"), "two", "2");
    edit.expect = version;
    desk.done(&one(edit));
    desk.is("f", "one\n2\n");
    // Equal bytes are what counts: another content of the same size and times is a conflict.
    let mut desk = Desk::new(&[("f", b"one\ntwo\n")]);
    desk.read("f");
    let times = std::fs::metadata(desk.path("f")).unwrap();
    let times = FileTimes::new().set_modified(times.modified().unwrap());
    desk.write_outside("f", "one\nTWO\n");
    let file = File::options().write(true).open(desk.path("f")).unwrap();
    file.set_times(times).unwrap();
    desk.refused(&one(seen_write("x\n")), Code::Conflict);
}

#[test]
fn row_59_what_is_said_to_be_there_is_there() {
    let mut desk = Desk::new(&[("f", b"old\n")]);
    for content in [&b""[..], b"x", &[7; 300_000]] {
        let changed = desk.changed(&one(change::write(at("f"), content)));
        let [touched] = changed.touched.as_slice() else {
            panic!("{changed:?}");
        };
        let PathState::Present(after) = touched.after else {
            panic!("{touched:?}");
        };
        assert_eq!(after.size, content.len() as u64);
        assert_eq!(after.digest, Some(digest(desk.bytes("f"))));
        assert_eq!(desk.bytes("f"), content);
        assert_eq!(after.stamp, Some(desk.stamp("f")));
    }
}
