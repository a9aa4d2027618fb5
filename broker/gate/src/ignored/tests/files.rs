//! Which files are read, in which order they hold, and when they are read again.

use super::super::{Ignores, Rules, Said, Seen};
use super::{opener, present};
use portcullis_protocol::view::Kind;
use rustix::io::Errno;
use std::cell::RefCell;
use std::path::Path;

/// A directory with files by their paths; those above are made.
fn world(files: &[(&str, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = place.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    place
}

/// The rules in a directory, and what was left out there.
fn rules(ignores: &Ignores, place: &Path, path: &str) -> (Rules, u64) {
    let mut directory = place.to_owned();
    let root = present(place);
    let mut at = ignores.enter(&ignores.top(), None, root, &mut opener(place));
    for name in path.split('/').filter(|name| !name.is_empty()) {
        directory.push(name);
        let there = present(&directory);
        let mut open = opener(&directory);
        at = ignores.enter(&at.0, Some(name.as_bytes()), there, &mut open);
    }
    at
}

#[track_caller]
fn says(ignores: &Ignores, place: &Path, path: &str) -> Said {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    std::fs::create_dir_all(place.join(above)).unwrap();
    let (rules, left_out) = rules(ignores, place, above);
    assert_eq!(left_out, 0);
    rules.judge(name.as_bytes(), Kind::File)
}

#[test]
fn a_deeper_file_is_stronger_and_its_rules_begin_there() {
    let place = world(&[
        (".gitignore", "*.o\n/x\n"),
        ("a/.gitignore", "!a.o\n/x\n"),
        ("a/b/c", ""),
    ]);
    let ignores = Ignores::new(b"");
    let says = |path: &str| says(&ignores, place.path(), path);
    assert_eq!(says("a.o"), Said::Ignored);
    assert_eq!(says("a/a.o"), Said::Included);
    assert_eq!(says("a/b/a.o"), Said::Included);
    assert_eq!(says("a/b/b.o"), Said::Ignored);
    assert_eq!(says("x"), Said::Ignored);
    assert_eq!(says("a/x"), Said::Ignored);
    assert_eq!(says("a/b/x"), Said::Nothing);
}

#[test]
fn the_kinds_of_files_have_an_order() {
    let place = world(&[
        (".ignore", "1\n!2\n"),
        (".gitignore", "!1\n2\n3\n!4\n"),
        (".git/info/exclude", "!3\n4\n5\n!6\n"),
        ("a/.gitignore", "!1\n2\n!7\n"),
        ("a/.git-is-not-there", ""),
    ]);
    let ignores = Ignores::new(b"!5\n6\n7\n8\n");
    let says = |path: &str| says(&ignores, place.path(), path);
    // `.ignore` of above is stronger than `.gitignore` of below.
    for path in ["1", "3", "5", "8", "a/1", "a/3", "a/5", "a/8"] {
        assert_eq!(says(path), Said::Ignored, "{path}");
    }
    for path in ["2", "4", "6", "a/2", "a/4", "a/6", "a/7"] {
        assert_eq!(says(path), Said::Included, "{path}");
    }
    assert_eq!(says("7"), Said::Ignored);
    assert_eq!(says("9"), Said::Nothing);
}

#[test]
fn a_repository_within_another_has_its_own_rules() {
    let place = world(&[
        (".gitignore", "git\na/c\n"),
        (".git/info/exclude", "exclude\n"),
        (".ignore", "ignore\n/b/x\n"),
        ("a/.git/info/exclude", "inner\n"),
        ("b/.git", "gitdir: ../elsewhere\n"),
        ("b/c/d", ""),
    ]);
    let ignores = Ignores::new(b"global\n/top\n");
    let says = |path: &str| says(&ignores, place.path(), path);
    for path in [
        "git", "exclude", "ignore", "global", "top", "a/inner", "b/x",
    ] {
        assert_eq!(says(path), Said::Ignored, "{path}");
    }
    for above in ["a/", "b/", "b/c/"] {
        for name in ["git", "exclude"] {
            assert_eq!(
                says(&format!("{above}{name}")),
                Said::Nothing,
                "{above}{name}"
            );
        }
        for name in ["ignore", "global"] {
            assert_eq!(
                says(&format!("{above}{name}")),
                Said::Ignored,
                "{above}{name}"
            );
        }
    }
    // To git the user's own rules are of the repository.
    assert_eq!(says("a/top"), Said::Ignored);
    assert_eq!(says("b/c/top"), Said::Nothing);
    assert_eq!(says("a/c"), Said::Nothing);
}

#[test]
fn the_rules_of_the_runtime_begin_anew_where_none_of_them_was_left() {
    let place = world(&[("a/b/.git/info/exclude", ""), ("a/b/x", "")]);
    let ignores = Ignores::new(b"/c/top\n");
    let says = |path: &str| says(&ignores, place.path(), path);
    assert_eq!(says("a/b/c/top"), Said::Ignored);
    assert_eq!(says("a/c/top"), Said::Nothing);
    assert_eq!(says("a/b/c/d/top"), Said::Nothing);
}

#[test]
fn nothing_is_opened_that_the_listing_does_not_have() {
    let ignores = Ignores::new(b"");
    let opened = RefCell::new(Vec::new());
    let mut open = |name: &[u8]| {
        opened.borrow_mut().push(name.to_vec());
        Err(Errno::NOENT)
    };
    let mut seen = super::super::Present::default();
    for name in [
        b"gitignore".as_slice(),
        b".gitignore2",
        b".git2",
        b"ignore",
        b".",
        b".g",
    ] {
        seen.see(name);
    }
    ignores.enter(&ignores.top(), None, seen, &mut open);
    assert!(opened.borrow().is_empty());
    seen.see(b".ignore");
    assert_eq!(seen.ignore, Seen::There);
    ignores.enter(&ignores.top(), None, seen, &mut open);
    assert_eq!(opened.take(), [b".ignore".to_vec()]);
    seen.see(b".git");
    seen.see(b".gitignore");
    let (_, left_out) = ignores.enter(&ignores.top(), None, seen, &mut open);
    assert_eq!(left_out, 0);
    assert_eq!(
        opened.take(),
        [
            b".git/info/exclude".to_vec(),
            b".gitignore".to_vec(),
            b".ignore".to_vec()
        ]
    );
}

#[test]
fn what_cannot_be_read_is_counted_and_the_others_hold() {
    let place = world(&[
        ("text", "link\n"),
        (".ignore", "a\n"),
        ("b/.gitignore/x", ""),
    ]);
    std::os::unix::fs::symlink("text", place.path().join(".gitignore")).unwrap();
    let ignores = Ignores::new(b"");
    let (top, left_out) = rules(&ignores, place.path(), "");
    assert_eq!(left_out, 1);
    assert_eq!(top.judge(b"link", Kind::File), Said::Nothing);
    assert_eq!(top.judge(b"a", Kind::File), Said::Ignored);
    let (below, left_out) = rules(&ignores, place.path(), "b");
    assert_eq!(left_out, 1);
    assert_eq!(below.judge(b"a", Kind::File), Said::Ignored);
    for (error, counted) in [
        (Errno::NOENT, 0),
        (Errno::NOTDIR, 0),
        (Errno::ACCESS, 1),
        (Errno::LOOP, 1),
    ] {
        let seen = present(place.path());
        let (_, left_out) = ignores.enter(&ignores.top(), None, seen, &mut |_| Err(error));
        assert_eq!(left_out, counted * 2, "{error}");
    }
}

#[test]
fn a_file_is_read_again_when_it_changed_and_only_then() {
    let place = world(&[(".gitignore", "a\n")]);
    let ignores = Ignores::new(b"");
    let path = place.path().join(".gitignore");
    for (text, name) in [("b\n", "b"), ("c\n", "c"), ("d\n", "d")] {
        // The same size, and as likely as not the same times.
        std::fs::write(&path, text).unwrap();
        assert_eq!(says(&ignores, place.path(), name), Said::Ignored);
        assert_eq!(says(&ignores, place.path(), "a"), Said::Nothing);
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(says(&ignores, place.path(), "d"), Said::Nothing);
}
