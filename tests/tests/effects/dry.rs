//! What a dry run says: nothing is changed, and a commit does exactly that.

use crate::changeset::{arena, below, everything, set};
use crate::trial::{at, done, no_temporaries, refused, set_mode};
use portcullis_client::change::{Count, Hunk, Item, Replace, TextEdit};
use portcullis_client::{Changes, Session, change};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Changed, Deletion};
use portcullis_protocol::view::PathState;
use portcullis_tests::hostile::census;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// What GNU patch makes of a dry run's difference, in a copy of the tree.
fn patched(copy: &Path, diff: &[u8]) {
    let mut child = Command::new("patch")
        .args(["-p1", "--no-backup-if-mismatch", "--quiet", "--force", "-d"])
        .arg(copy)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(diff).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(diff)
    );
}

/// Files, links and their contents and modes, by path below the tree.
fn contents(tree: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut left = vec![tree.to_path_buf()];
    while let Some(path) = left.pop() {
        let below = path.strip_prefix(tree).unwrap().to_path_buf();
        let meta = std::fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            left.extend(
                std::fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else if meta.is_symlink() {
            all.push(format!(
                "{below:?} -> {:?}",
                std::fs::read_link(&path).unwrap()
            ));
        } else {
            let content = std::fs::read(&path).unwrap();
            let executable = crate::trial::mode(&path) & 0o100;
            all.push(format!(
                "{below:?} {executable:o} {}",
                content.escape_ascii()
            ));
        }
    }
    all.sort();
    all
}

/// A dry run changes nothing and says what a commit then says.
#[track_caller]
pub fn as_planned(
    session: &mut Session,
    inside: &Path,
    changes: &Changes,
) -> (change::Plan, Changed) {
    let before = census(inside);
    let plan = session.plan(changes).unwrap();
    assert_eq!(census(inside), before, "a dry run: {changes:?}");
    assert_eq!(plan.planned.diff_cut, 0);
    let changed = done(session, changes);
    let (planned, made) = (plan.planned.touched.as_slice(), changed.touched.as_slice());
    assert_eq!(planned.len(), made.len());
    for (planned, made) in planned.iter().zip(made) {
        assert_eq!(
            (planned.verb, &planned.path, planned.before),
            (made.verb, &made.path, made.before)
        );
        let alike = match (planned.after, made.after) {
            (PathState::Present(mut planned), PathState::Present(made)) => {
                // The temporary of the dry run was another file.
                planned.stamp = made.stamp;
                planned.kind == made.kind
                    && planned.size == made.size
                    && planned.digest == made.digest
                    && planned.mode == made.mode
            }
            (planned, made) => planned == made,
        };
        assert!(alike, "{planned:?} {made:?}");
    }
    (plan, changed)
}

/// A dry run changes nothing, says what a commit then says, and its difference applied by another
/// program to a copy gives the same tree.
#[track_caller]
fn dry_then_done(session: &mut Session, inside: &Path, changes: &Changes) {
    let copy = tempfile::Builder::new()
        .prefix("portcullis-copy-")
        .tempdir()
        .unwrap();
    let copied = copy.path().join("tree");
    let status = Command::new("cp")
        .arg("-a")
        .arg(inside)
        .arg(&copied)
        .status()
        .unwrap();
    assert!(status.success());
    let (plan, _) = as_planned(session, inside, changes);
    if !plan.diff.is_empty() {
        patched(&copied, &plan.diff);
        assert_eq!(
            contents(&copied),
            contents(inside),
            "{}",
            String::from_utf8_lossy(&plan.diff)
        );
    }
}

#[test]
fn a_dry_run_of_each_change_changes_nothing_and_says_exactly_what_a_commit_does() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.write("no-newline", "a\nb");
    arena.write("executable", "#!/bin/sh\n");
    set_mode(inside.join("executable"), 0o755);
    arena.link("old-link", "one");
    let mut opened = arena.session();
    let session = &mut opened.session;
    let mut mode = change::create(at("script"), "#!/bin/sh\n");
    mode.mode = Some(0o755);
    let mut edit = change::replace(at("four"), "", "");
    let mut lines = Hunk {
        line: Some(2),
        ..Hunk::new()
    };
    lines.remove(b"second line");
    lines.insert(b"2");
    lines.insert(b"3");
    edit.edits = vec![
        TextEdit::Replace(Replace {
            old: b"old ".to_vec(),
            new: b"".to_vec(),
            count: Count::Exactly(1),
        }),
        TextEdit::Hunk(lines),
    ];
    let mut items = everything();
    items.retain(|item| !matches!(item, Item::Move(_)));
    items.extend([
        mode.into(),
        edit.into(),
        Item::from(change::write(at("no-newline"), "a\nc\n")),
        Item::from(change::replace(at("executable"), "sh", "bash")),
        Item::from(change::write(at("three"), "")),
        Item::from(change::create(at("empty-file"), "")),
        Item::from(change::delete(at("one"))),
        Item::from(change::delete(at("old-link"))),
    ]);
    for item in items {
        if matches!(item, Item::Delete(ref delete) if delete.what != Deletion::File) {
            // Not told as a text: the difference is of files that the set names.
            let before = census(&inside);
            session.plan(&set([item.clone()])).unwrap();
            assert_eq!(census(&inside), before);
            done(session, &set([item]));
            continue;
        }
        dry_then_done(session, &inside, &set([item]));
    }
    no_temporaries(&inside);
}

#[test]
fn a_dry_run_of_a_whole_set_is_its_commit() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let items: Vec<Item> = vec![
        change::create(at("new"), "made\n").into(),
        change::write(at("one"), "written\n").into(),
        change::replace(at("two"), "second", "2nd").into(),
        below("p/q/file"),
        change::delete(at("three")).into(),
        change::write(at("d/inner"), "x\n".repeat(1000)).into(),
    ];
    dry_then_done(session, &inside, &set(items));
    // Moves: what it says is what is done.
    let before = census(&inside);
    let moves = set([
        change::rename(at("four"), at("five")).into(),
        change::rename(at("tree"), at("p/tree")).into(),
    ]);
    let plan = session.plan(&moves).unwrap();
    assert_eq!(census(&inside), before);
    let diff = String::from_utf8(plan.diff).unwrap();
    assert!(diff.contains("four") && diff.contains("five"), "{diff}");
    done(session, &moves);
    assert!(inside.join("five").exists() && inside.join("p/tree/a/b").exists());
}

#[test]
fn what_may_not_be_read_is_in_no_difference() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.write("server.key", "SECRET KEY\n");
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for item in [
        Item::from(change::write(at("server.key"), "mine\n")),
        Item::from(change::delete(at("server.key"))),
    ] {
        let plan = session.plan(&set([item])).unwrap();
        let diff = String::from_utf8_lossy(&plan.diff).into_owned();
        assert!(!diff.contains("SECRET"), "{diff}");
    }
    // Nor can its bytes be guessed by an edit.
    for guess in ["SECRET", "WRONG"] {
        let refusal = refused(
            session,
            &set([change::replace(at("server.key"), guess, "x").into()]),
        );
        assert!(
            matches!(refusal.code, Code::NotGranted | Code::Denied),
            "{guess}: {refusal}"
        );
    }
    assert_eq!(census(&inside), before);
}
