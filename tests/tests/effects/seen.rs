//! What a session was shown decides what it may overwrite (rows 52 to 57, 53b and 54b of what
//! users reported).

use crate::raw::{Raw, edit, put, set};
use crate::trial::{at, bytes, digest, done, one, refused, stamp};
use portcullis_client::change::{Edit, Item};
use portcullis_client::{Changes, Session, ask, change};
use portcullis_protocol::bounded::Few;
use portcullis_protocol::limits::{MATCHED_MAX, REGION_BYTES_MAX};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Change, Deed, Deletion, Expect, Onto, Outcome, Parents, Range, Reply, Source, Survey, Tier,
    WriteFile,
};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_protocol::view::PathState;
use portcullis_tests::hostile::{Arena, census};
use portcullis_tests::own;

const OLD: &str = "one\ntwo\nthree\nfour\n";

fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    arena.write("f", OLD);
    arena
}

/// A write of `f` that expects to be made from what was seen.
fn write(expect: Expect) -> Changes {
    let mut write = change::write(at("f"), "new\n");
    write.expect = expect;
    one(write)
}

fn look(session: &mut Session, range: Range, survey: Survey) {
    let mut read = ask::read(at("f"));
    (read.range, read.survey) = (range, survey);
    session.read(&read).unwrap();
}

fn read(session: &mut Session) {
    session.read_file(at("f")).unwrap();
}

fn note(refusal: &Refusal) -> &str {
    refusal.note.as_ref().map_or("", |note| note.as_str())
}

/// Somebody outside the broker saves the file, under another object of its name.
fn save(arena: &Arena, content: &str) {
    arena.write("beside", content);
    let inside = arena.inside();
    std::fs::rename(inside.join("beside"), inside.join("f")).unwrap();
}

#[test]
fn row_53b_a_file_read_in_part_is_not_overwritten_and_what_was_seen_is_told() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let refusal = refused(session, &write(Expect::Seen));
    assert_eq!(refusal.code, Code::NotSeen);
    assert!(
        note(&refusal).contains("not seen, or too long ago"),
        "{refusal}"
    );
    for range in [
        Range::Head { count: 2 },
        Range::Lines { first: 1, count: 1 },
        Range::Bytes {
            offset: 14,
            length: u64::MAX,
        },
    ] {
        look(session, range, Survey::TextAndDigest);
        for expect in [Expect::Seen, Expect::Version(stamp(session, "f"))] {
            let refusal = refused(session, &write(expect));
            assert_eq!(refusal.code, Code::NotSeen, "{refusal}");
            assert_eq!(
                refusal.current.as_deref().copied(),
                Some(stamp(session, "f"))
            );
        }
    }
    let refusal = refused(session, &write(Expect::Seen));
    assert!(
        note(&refusal).contains("bytes seen: 0-8, 14-19 of 19"),
        "{refusal}"
    );
    // A search shows every line of it, and that is no reading.
    let search = ask::search(at("f"), "e").unwrap();
    assert!(session.search(&search).unwrap().count() > 0);
    assert_eq!(refused(session, &write(Expect::Seen)).code, Code::NotSeen);
    assert_eq!(bytes(inside.join("f")), OLD.as_bytes());
    // The rest of it.
    look(session, Range::Lines { first: 3, count: 1 }, Survey::None);
    done(session, &write(Expect::Seen));
    assert_eq!(bytes(inside.join("f")), b"new\n");
}

#[test]
fn what_was_read_whole_may_be_overwritten_however_it_was_read() {
    let mut arena = arena();
    let inside = arena.inside();
    let whole = Range::Bytes {
        offset: 0,
        length: u64::MAX,
    };
    for (range, survey) in [
        (whole, Survey::None),
        (whole, Survey::TextAndDigest),
        (
            Range::Lines {
                first: 1,
                count: u64::MAX,
            },
            Survey::Text,
        ),
        (Range::Head { count: 4 }, Survey::None),
        (Range::Tail { count: 100 }, Survey::None),
    ] {
        let mut opened = arena.session();
        let session = &mut opened.session;
        assert_eq!(refused(session, &write(Expect::Seen)).code, Code::NotSeen);
        look(session, range, survey);
        done(session, &write(Expect::Seen));
        // What the session wrote it knows; so its own next version.
        done(session, &write(Expect::Seen));
        let expect = Expect::Version(stamp(session, "f"));
        done(session, &write(expect));
        assert_eq!(bytes(inside.join("f")), b"new\n");
        arena.write("f", OLD);
    }
    // A large one, streamed, in two reads.
    let large = "line of a large file\n".repeat(300_000);
    arena.write("f", &large);
    let mut opened = arena.session();
    let session = &mut opened.session;
    look(session, Range::Head { count: 200_000 }, Survey::None);
    assert_eq!(refused(session, &write(Expect::Seen)).code, Code::NotSeen);
    look(session, Range::Tail { count: 100_000 }, Survey::None);
    done(session, &write(Expect::Seen));
    // An empty one is seen by looking at it.
    arena.write("f", "");
    look(session, Range::Head { count: 0 }, Survey::None);
    done(session, &write(Expect::Seen));
    // Where nothing is there is nothing to have seen.
    std::fs::remove_file(inside.join("f")).unwrap();
    done(session, &write(Expect::Seen));
}

#[test]
fn row_57_a_file_that_was_only_touched_is_no_conflict_for_any_verb() {
    let mut arena = arena();
    let inside = arena.inside();
    let touch = |arena: &Arena| {
        // Another time, and another object of the same content.
        save(
            arena,
            &std::fs::read_to_string(arena.inside().join("f")).unwrap(),
        );
    };
    let mut opened = arena.session();
    let session = &mut opened.session;
    read(session);
    let before = stamp(session, "f");
    touch(&arena);
    assert_ne!(
        stamp(session, "f"),
        before,
        "the control: it is another version"
    );
    for expect in [Expect::Version(before), Expect::Seen] {
        // A dry run, and again.
        session.plan(&write(expect)).unwrap();
        session.plan(&write(expect)).unwrap();
        let mut edit = change::replace(at("f"), "two", "2");
        edit.expect = expect;
        session.plan(&one(edit)).unwrap();
        let mut chmod = change::chmod(at("f"), 0o600);
        chmod.expect = expect;
        session.plan(&one(chmod)).unwrap();
        let mut rename = change::rename(at("f"), at("g"));
        rename.expect = expect;
        session.plan(&one(rename)).unwrap();
        let mut delete = change::delete(at("f"));
        delete.expect = expect;
        session.plan(&one(delete)).unwrap();
    }
    done(session, &write(Expect::Version(before)));
    // By parts as well: a small file is known by its content then too.
    arena.write("f", OLD);
    look(session, Range::Head { count: 2 }, Survey::None);
    look(session, Range::Tail { count: 2 }, Survey::None);
    let before = stamp(session, "f");
    touch(&arena);
    done(session, &write(Expect::Version(before)));
    // A session that saw nothing of it cannot know that.
    arena.write("f", OLD);
    let mut other = arena.session();
    let before = stamp(&mut other.session, "f");
    touch(&arena);
    let refusal = refused(&mut other.session, &write(Expect::Version(before)));
    assert_eq!(refusal.code, Code::Conflict);
    assert_eq!(bytes(inside.join("f")), OLD.as_bytes());
}

#[test]
fn row_54b_a_conflict_comes_with_the_file_as_it_is() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut raw = Raw::new(arena.session().session);
    let read = |raw: &mut Raw| {
        let request = portcullis_protocol::session::Request::Read(ask::read(at("f")));
        assert!(matches!(raw.ask(&request, &[]).0, Reply::ReadPart(_)));
    };
    read(&mut raw);
    let theirs = "one\nTWO by another\nthree\nfour\n";
    save(&arena, theirs);
    let before = census(&inside);
    let mut content = Vec::new();
    let source = Source::Inline(put(&mut content, b"mine\n"));
    let write = Change::Write(WriteFile {
        selector: at("f"),
        source,
        expect: Expect::Seen,
        parents: Parents::Exist,
        mode: None,
    });
    let stale = edit("f", Expect::Seen, &[(b"two", b"2")], &mut content);
    let gone = edit("f", Expect::Any, &[(b"two", b"2")], &mut content);
    for (change, wanted) in [
        (write, Code::Conflict),
        (stale, Code::Conflict),
        (gone, Code::NotUnique),
    ] {
        let (reply, shown) = raw.change(Deed::Commit, vec![change], &content);
        let Reply::Conflicted(conflicted) = reply else {
            panic!("{reply:?}");
        };
        assert_eq!(conflicted.refusal.code, wanted);
        assert_eq!(shown, theirs.as_bytes());
        let region = conflicted.region;
        assert_eq!((region.first_line, region.total_lines), (1, 4));
        assert_eq!(region.digest, digest(theirs));
        let current = conflicted.refusal.current.unwrap();
        assert_eq!(region.object, current.object());
        assert_eq!(census(&inside), before);
    }
    // What came with a conflict was not asked for: a blind second try is refused as well.
    let mut content = Vec::new();
    let source = Source::Inline(put(&mut content, b"mine\n"));
    let again = Change::Write(WriteFile {
        selector: at("f"),
        source,
        expect: Expect::Seen,
        parents: Parents::Exist,
        mode: None,
    });
    let (reply, _) = raw.change(Deed::Commit, vec![again.clone()], &content);
    assert!(matches!(reply, Reply::Conflicted(_)), "{reply:?}");
    read(&mut raw);
    let (reply, _) = raw.change(Deed::Commit, vec![again], &content);
    assert!(matches!(reply, Reply::Changed(_)), "{reply:?}");
}

#[test]
fn the_region_is_where_the_edit_is_about_and_of_no_more_than_may_be_shown() {
    let mut arena = arena();
    let lines: String = (1..=5000).map(|n| format!("line {n} of many\n")).collect();
    arena.write("f", &lines);
    let mut raw = Raw::new(arena.session().session);
    let old = stamp_of_another();
    let mut content = Vec::new();
    let about = edit(
        "f",
        Expect::Version(old),
        &[(b"line 3000 of many", b"x")],
        &mut content,
    );
    let (reply, shown) = raw.change(Deed::Commit, vec![about], &content);
    let Reply::Conflicted(conflicted) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(conflicted.refusal.code, Code::Conflict);
    let region = conflicted.region;
    assert!(shown.len() <= REGION_BYTES_MAX && shown.len() > REGION_BYTES_MAX / 2);
    assert_eq!(region.total_lines, 5000);
    assert_eq!(region.digest, digest(&lines));
    let first = usize::try_from(region.first_line).unwrap();
    assert!((2900..3000).contains(&first), "{first}");
    let shown = String::from_utf8(shown).unwrap();
    let wanted: Vec<&str> = lines.split_inclusive('\n').skip(first - 1).collect();
    assert!(wanted.concat().starts_with(&shown));
    assert!(shown.contains("line 3000 of many\n") && shown.ends_with('\n'));
}

/// A version that no file here has.
fn stamp_of_another() -> portcullis_protocol::view::Stamp {
    portcullis_protocol::view::Stamp {
        device: 1,
        inode: 1,
        changed: portcullis_protocol::view::Timestamp {
            seconds: 1,
            nanos: 1,
        },
        born: None,
        size: 1,
    }
}

#[test]
fn nothing_is_shown_of_what_may_not_be_read_or_is_no_text() {
    let mut arena = arena();
    arena.write("binary", b"one\0two\n");
    arena.write("secret/f", OLD);
    std::os::unix::fs::symlink("f", arena.inside().join("link")).unwrap();
    let whole = portcullis_protocol::path::RelPath::root();
    let below = portcullis_protocol::path::RelPath::parse(b"secret").unwrap();
    let opened = arena.session_with(|_, root| {
        portcullis_client::MintOrder::new("tester")
            .root(root, None)
            .grant(root, below, VerbSet::of(&[Verb::Write, Verb::Delete]))
            .grant(root, whole, VerbSet::of(&[Verb::Delete, Verb::Stat]))
    });
    let mut raw = Raw::new(opened.session);
    let old = stamp_of_another();
    let conflicting = |name: &str| {
        let mut delete = change::delete(at(name));
        delete.expect = Expect::Version(old);
        vec![Change::Delete(delete)]
    };
    for name in ["f", "secret/f", "link"] {
        let (reply, shown) = raw.change(Deed::Commit, conflicting(name), &[]);
        assert!(matches!(reply, Reply::Refused(_)), "{name}: {reply:?}");
        assert_eq!(shown, b"");
    }
    // The control: with the right to read it the text is shown, and only the text.
    let mut raw = Raw::new(arena.session().session);
    for (name, shows) in [
        ("f", true),
        ("secret/f", true),
        ("binary", false),
        ("link", false),
    ] {
        let (reply, shown) = raw.change(Deed::DryRun, conflicting(name), &[]);
        assert_eq!(
            matches!(reply, Reply::Conflicted(_)),
            shows,
            "{name}: {reply:?}"
        );
        assert_eq!(shown, if shows { OLD.as_bytes() } else { b"" });
    }
}

#[test]
fn row_53_what_was_read_whole_and_changed_by_another_session_is_a_conflict() {
    let mut arena = arena();
    let inside = arena.inside();
    let (mut a, mut b) = (arena.session(), arena.session());
    read(&mut a.session);
    read(&mut b.session);
    let add = |line: &str, expect: Expect| {
        let mut write = change::write(at("f"), format!("{OLD}{line}\n"));
        write.expect = expect;
        one(write)
    };
    done(&mut a.session, &add("A", Expect::Seen));
    let refusal = refused(&mut b.session, &add("B", Expect::Seen));
    assert_eq!(refusal.code, Code::Conflict, "{refusal}");
    assert_eq!(
        refusal.current.as_deref().copied(),
        Some(stamp(&mut b.session, "f"))
    );
    assert_eq!(bytes(inside.join("f")), format!("{OLD}A\n").as_bytes());
    // The control: one that does not look loses the other's line.
    let mut blind = arena.session();
    done(&mut blind.session, &add("B", Expect::Any));
    assert_eq!(bytes(inside.join("f")), format!("{OLD}B\n").as_bytes());
    // By the broker or beside it, in place or by another object, it is the same.
    read(&mut a.session);
    save(&arena, "saved by an editor\n");
    assert_eq!(
        refused(&mut a.session, &add("A", Expect::Seen)).code,
        Code::Conflict
    );
    read(&mut a.session);
    arena.write("f", "written in place\n");
    assert_eq!(
        refused(&mut a.session, &add("A", Expect::Seen)).code,
        Code::Conflict
    );
    // A look at a part of what is there now is no reading of it.
    look(
        &mut a.session,
        Range::Bytes {
            offset: 0,
            length: 3,
        },
        Survey::None,
    );
    let refusal = refused(&mut a.session, &add("A", Expect::Seen));
    assert_eq!(refusal.code, Code::NotSeen);
    assert!(
        note(&refusal).contains("bytes seen: 0-3 of 17"),
        "{refusal}"
    );
    // What was never seen by this one is not its to overwrite, whoever made it.
    done(&mut b.session, &one(change::create(at("new"), "by b\n")));
    let mut new = change::write(at("new"), "by a\n");
    new.expect = Expect::Seen;
    assert_eq!(
        refused(&mut a.session, &one(new.clone())).code,
        Code::NotSeen
    );
    done(&mut b.session, &one(new));
}

#[test]
fn row_56_a_version_that_was_seen_and_is_gone_is_a_conflict_for_every_verb() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    read(session);
    let was = Expect::Version(stamp(session, "f"));
    arena.write("f", "changed by another\n");
    let mut edit = change::replace(at("f"), "changed", "lost");
    edit.expect = was;
    let mut delete = change::delete(at("f"));
    delete.expect = was;
    let mut rename = change::rename(at("f"), at("elsewhere"));
    rename.expect = was;
    let mut chmod = change::chmod(at("f"), 0o600);
    chmod.expect = was;
    for changes in [one(edit), one(delete), one(rename), one(chmod)] {
        let refusal = refused(session, &changes);
        assert_eq!(refusal.code, Code::Conflict, "{refusal}: {changes:?}");
        assert_eq!(bytes(inside.join("f")), b"changed by another\n");
    }
}

#[test]
fn rows_52_and_54_two_sessions_lose_nothing_of_each_other() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.write("f", "0\n");
    let sessions: Vec<_> = (0..2).map(|_| arena.session().session).collect();
    std::thread::scope(|scope| {
        for (n, mut session) in sessions.into_iter().enumerate() {
            scope.spawn(move || {
                for turn in 0..20 {
                    loop {
                        let old = session.read_file(at("f")).unwrap().bytes;
                        let line = format!("{n}:{turn}\n");
                        let new = [old.as_slice(), line.as_bytes()].concat();
                        let mut write = change::write(at("f"), new);
                        write.expect = Expect::Seen;
                        match session.change(&one(write)) {
                            Ok(_) => break,
                            Err(error) => {
                                let code = error.refusal().map(|refusal| refusal.code);
                                let refused = [Code::Conflict, Code::Contended, Code::Busy];
                                assert!(refused.contains(&code.unwrap()), "{error}");
                            }
                        }
                    }
                }
            });
        }
    });
    let text = String::from_utf8(bytes(inside.join("f"))).unwrap();
    for n in 0..2 {
        let own: Vec<String> = (0..20).map(|turn| format!("{n}:{turn}")).collect();
        let found: Vec<&str> = text
            .lines()
            .filter(|line| own.iter().any(|o| o == line))
            .collect();
        assert_eq!(found, own, "every success is in the file, in order");
    }
}

#[test]
fn an_edit_of_what_was_seen_whole_leaves_it_so_and_of_a_part_does_not() {
    let mut arena = arena();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let edit = |old: &str, new: &str| -> Edit { change::replace(at("f"), old, new) };
    read(session);
    done(session, &one(edit("two", "2")));
    done(session, &one(change::chmod(at("f"), 0o600)));
    done(session, &one(change::rename(at("f"), at("g"))));
    done(session, &one(change::rename(at("g"), at("f"))));
    done(session, &write(Expect::Seen));
    arena.write("f", OLD);
    look(session, Range::Head { count: 3 }, Survey::None);
    done(session, &one(edit("two", "2")));
    let refusal = refused(session, &write(Expect::Seen));
    assert_eq!(refusal.code, Code::NotSeen, "{refusal}");
    read(session);
    done(session, &write(Expect::Seen));
    // Of one that was never read.
    arena.write("f", OLD);
    let mut other = arena.session();
    done(&mut other.session, &one(edit("two", "2")));
    assert_eq!(
        refused(&mut other.session, &write(Expect::Seen)).code,
        Code::NotSeen
    );
}

#[test]
fn what_changes_without_overwriting_needs_to_have_seen_something() {
    let mut arena = arena();
    arena.directory("d");
    let inside = arena.inside();
    let before = census(&inside);
    let all = |expect: Expect| -> Vec<Item> {
        let mut edit = change::replace(at("f"), "two", "2");
        edit.expect = expect;
        let mut chmod = change::chmod(at("f"), 0o600);
        chmod.expect = expect;
        let mut rename = change::rename(at("f"), at("g"));
        rename.expect = expect;
        let mut delete = change::delete(at("f"));
        delete.expect = expect;
        vec![edit.into(), chmod.into(), rename.into(), delete.into()]
    };
    let mut opened = arena.session();
    let session = &mut opened.session;
    for item in all(Expect::Seen) {
        assert_eq!(refused(session, &one(item)).code, Code::NotSeen);
    }
    look(session, Range::Head { count: 1 }, Survey::None);
    for item in all(Expect::Seen) {
        session.plan(&one(item)).unwrap();
    }
    // A version that is named is enough for these.
    let mut fresh = arena.session();
    let now = stamp(&mut fresh.session, "f");
    for item in all(Expect::Version(now)) {
        fresh.session.plan(&one(item)).unwrap();
    }
    // What is displaced by a move is overwritten; a directory is never seen.
    arena.write("g", "another\n");
    let mut onto = change::rename(at("g"), at("f"));
    onto.onto = Onto::Replace(Expect::Seen);
    assert_eq!(refused(session, &one(onto.clone())).code, Code::NotSeen);
    let mut delete = change::delete(at("d"));
    (delete.what, delete.expect) = (Deletion::Directory, Expect::Seen);
    let refusal = refused(session, &one(delete));
    assert_eq!(refusal.code, Code::NotSeen);
    assert!(note(&refusal).contains("no file"), "{refusal}");
    std::fs::remove_file(inside.join("g")).unwrap();
    assert_eq!(census(&inside).len(), before.len());
    read(session);
    arena.write("g", "another\n");
    done(session, &one(onto));
    read(session);
    arena.write("f", "changed\n");
    for item in all(Expect::Seen) {
        assert_eq!(refused(session, &one(item)).code, Code::Conflict);
    }
}

#[test]
fn forced_it_is_overwritten_unseen() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    done(&mut opened.session, &write(Expect::Any));
    assert_eq!(bytes(inside.join("f")), b"new\n");
    arena.write("f", OLD);
    // A content that is named was known from somewhere.
    done(&mut opened.session, &write(Expect::Content(digest(OLD))));
}

#[test]
fn a_file_that_somebody_appends_to_while_it_is_read_is_not_seen() {
    let mut arena = arena();
    let large = "a line of a file that is long\n".repeat(400_000);
    arena.write("f", &large);
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let mut torn = 0;
    {
        let whole = ask::read(at("f"));
        let mut parts = session.read_stream(&whole).unwrap();
        while let Some((part, _)) = parts.next_part().unwrap() {
            if part.offset == 0 {
                use std::io::Write as _;
                let mut file = std::fs::File::options()
                    .append(true)
                    .open(inside.join("f"))
                    .unwrap();
                file.write_all(b"more\n").unwrap();
                torn += 1;
            }
        }
    }
    assert_eq!(torn, 1);
    let refusal = refused(session, &write(Expect::Seen));
    assert_eq!(refusal.code, Code::NotSeen, "{refusal}");
}

#[test]
fn an_answer_tells_where_edits_matched_and_the_difference_they_made() {
    let mut arena = arena();
    let mut raw = Raw::new(arena.session().session);
    let mut content = Vec::new();
    let texts: &[(&[u8], &[u8])] = &[(b"two\n", b"2\n2b\n"), (b"four", b"4")];
    let changes = vec![edit("f", Expect::Any, texts, &mut content)];
    let wanted = b" one\n-two\n+2\n+2b\n three\n-four\n+4\n";
    let (reply, diff) = raw.change(Deed::DryRun, changes.clone(), &content);
    let Reply::Planned(planned) = reply else {
        panic!("{reply:?}");
    };
    assert!(diff.ends_with(wanted), "{}", String::from_utf8_lossy(&diff));
    let (reply, behind) = raw.change(Deed::Commit, changes, &content);
    let Reply::Changed(changed) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(behind, diff);
    assert_eq!(
        (changed.diff_cut, changed.matched_cut, changed.region),
        (0, 0, None)
    );
    assert_eq!(changed.matched, planned.matched);
    let [two, four] = changed.matched.as_slice() else {
        panic!("{changed:?}");
    };
    assert_eq!((two.change, two.edit, two.tier), (0, 0, Tier::Exact));
    assert_eq!((two.old.first, two.old.count, two.new.count), (2, 1, 2));
    assert_eq!((four.edit, four.old.first, four.new.first), (1, 4, 5));
    // More places than are told, and a difference that does not fit.
    let lines: String = (0..5_000)
        .map(|n| format!("a line with number {n} of many\n"))
        .collect();
    for n in 0..2 {
        arena.write(format!("many{n}"), &lines);
    }
    let all: Vec<Change> = (0..2)
        .map(|n| {
            let mut content = Vec::new();
            let mut all = edit(
                format!("many{n}"),
                Expect::Any,
                &[(b"line", b"LINE")],
                &mut content,
            );
            if let Change::Edit(edit) = &mut all {
                let mut edits = edit.edits.as_slice().to_vec();
                if let portcullis_protocol::session::TextEdit::Replace(one) = &mut edits[0] {
                    one.count = portcullis_protocol::session::Count::All;
                }
                edit.edits = Few::new(edits).unwrap();
            }
            all
        })
        .collect();
    let (reply, diff) = raw.change(Deed::Commit, all, b"lineLINE");
    let Reply::Changed(changed) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(changed.outcome, Outcome::Done);
    let told = u64::try_from(changed.matched.as_slice().len()).unwrap();
    assert_eq!(told, u64::try_from(MATCHED_MAX).unwrap());
    assert_eq!(told + changed.matched_cut, 10_000);
    assert!(changed.diff_cut > 0);
    assert!(
        diff.starts_with(b"diff --git a/many0 b/many0\n"),
        "{}",
        diff.len()
    );
}

#[test]
fn a_difference_behind_a_long_answer_is_cut_to_its_frame() {
    let mut arena = arena();
    let long = format!("{}/", "d".repeat(200)).repeat(3);
    let mut content = Vec::new();
    let old = "a line that is replaced by another\n".repeat(20);
    let changes: Vec<Change> = (0..100)
        .map(|n| {
            let name = format!("{long}{n}");
            arena.write(&name, &old);
            let source = Source::Inline(put(&mut content, format!("{n}\n").repeat(200).as_bytes()));
            Change::Write(WriteFile {
                selector: at(name),
                source,
                expect: Expect::Any,
                parents: Parents::Exist,
                mode: None,
            })
        })
        .collect();
    let mut raw = Raw::new(arena.session().session);
    let ask = raw.compose_all(&set(Deed::Commit, changes), &content);
    let request = portcullis_protocol::session::Request::ChangeComposed(ask);
    let (reply, diff) = raw.ask(&request, &[]);
    let Reply::Changed(changed) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(changed.outcome, Outcome::Done);
    assert_eq!(changed.touched.as_slice().len(), 100);
    for touched in changed.touched.as_slice() {
        assert!(matches!(touched.after, PathState::Present(_)));
    }
    assert!(changed.diff_cut > 0 && !diff.is_empty());
}

#[test]
fn in_one_set_it_is_what_content_was_made_from_that_counts() {
    let mut arena = arena();
    let edit = |name: &str| change::replace(at(name), "two", "2");
    let over = |name: &str| {
        let mut write = change::write(at(name), "over\n");
        write.expect = Expect::Seen;
        write
    };
    let (moved_then_edited, edited_then_moved) = (
        Changes::new()
            .with(change::rename(at("f"), at("g")))
            .with(edit("g")),
        Changes::new()
            .with(edit("f"))
            .with(change::rename(at("f"), at("g"))),
    );
    for set in [moved_then_edited, edited_then_moved] {
        // Not seen before, it is not seen by having been moved and edited.
        arena.write("f", OLD);
        std::fs::remove_file(arena.inside().join("g")).ok();
        let mut opened = arena.session();
        done(&mut opened.session, &set);
        let refusal = refused(&mut opened.session, &one(over("g")));
        assert_eq!(refusal.code, Code::NotSeen, "{refusal}");
        // Seen whole, it stays so.
        std::fs::remove_file(arena.inside().join("g")).unwrap();
        arena.write("f", OLD);
        let mut opened = arena.session();
        read(&mut opened.session);
        done(&mut opened.session, &set);
        done(&mut opened.session, &one(over("g")));
    }
    // An edit in the same set is no reading either; a write in it is all there is to know.
    arena.write("f", OLD);
    let mut opened = arena.session();
    let session = &mut opened.session;
    let set = Changes::new().with(edit("f")).with(over("f"));
    assert_eq!(refused(session, &set).code, Code::NotSeen);
    let set = Changes::new()
        .with(change::create(at("h"), "one\ntwo\n"))
        .with(edit("h"));
    done(session, &set);
    done(session, &one(over("h")));
    let set = Changes::new()
        .with(change::create(at("i"), "one\ntwo\n"))
        .with(over("i"));
    done(session, &set);
}
