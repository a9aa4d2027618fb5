//! Hostile files: what is left out is counted, and nothing takes long or much.

use super::super::compiled::{Compiled, Live};
use super::super::hashed::Seed;
use super::super::kept::Kept;
use super::super::{Ignores, Present, Rules, Said};
use super::{enter, said};
use portcullis_protocol::limits::{IGNORE_FILE_BYTES_MAX, IGNORE_RULES_MAX};
use portcullis_protocol::view::Kind;
use rustix::io::Errno;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// An open file of that text.
fn file(text: &[u8]) -> OwnedFd {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text).unwrap();
    file.into()
}

fn gitignore() -> Present {
    let mut seen = Present::default();
    seen.see(b".gitignore");
    seen
}

/// The root with that `.gitignore`.
fn root(ignores: &Ignores, text: &[u8]) -> (Rules, u64) {
    ignores.enter(&ignores.top(), None, gitignore(), &mut |_| Ok(file(text)))
}

/// Lines of one form, as many as fit a file.
fn lines(line: impl Fn(usize) -> String) -> Vec<u8> {
    let mut text = Vec::new();
    let most = usize::try_from(IGNORE_FILE_BYTES_MAX).unwrap();
    for n in 0.. {
        let line = line(n);
        if text.len() + line.len() >= most {
            break;
        }
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    text
}

#[test]
fn stars_do_not_multiply() {
    let rule = format!("{}b\n", "a*".repeat(120));
    let name = "a".repeat(254);
    // The naive way takes longer than the world stands.
    assert_eq!(
        said(rule.as_bytes(), name.as_bytes(), Kind::File),
        Said::Nothing
    );
    assert_eq!(
        said(rule.as_bytes(), format!("{name}b").as_bytes(), Kind::File),
        Said::Ignored
    );
    let rule = format!("{}x", "**/a/".repeat(200));
    let path = format!("{}b", "a/".repeat(400));
    assert_eq!(
        said(rule.as_bytes(), path.as_bytes(), Kind::File),
        Said::Nothing
    );
    let path = format!("{}x", "a/".repeat(400));
    assert_eq!(
        said(rule.as_bytes(), path.as_bytes(), Kind::File),
        Said::Ignored
    );
}

#[test]
fn a_file_that_is_too_large_is_left_out_whole() {
    let ignores = Ignores::new(b"");
    let most = usize::try_from(IGNORE_FILE_BYTES_MAX).unwrap();
    let mut text = vec![b'#'; most];
    text[0] = b'a';
    text[1] = b'\n';
    assert_eq!(root(&ignores, &text).1, 0);
    assert_eq!(
        root(&ignores, &text).0.judge(b"a", Kind::File),
        Said::Ignored
    );
    text.push(b'\n');
    let (rules, left_out) = root(&ignores, &text);
    assert_eq!(left_out, 1);
    assert_eq!(rules.judge(b"a", Kind::File), Said::Nothing);
}

#[test]
fn rules_over_the_limit_are_counted() {
    let ignores = Ignores::new(b"");
    let text = lines(|n| format!("{n:x}"));
    let count = text.split(|byte| *byte == b'\n').count() - 1;
    assert!(count > IGNORE_RULES_MAX);
    let (rules, left_out) = root(&ignores, &text);
    assert_eq!(left_out, u64::try_from(count - IGNORE_RULES_MAX).unwrap());
    assert_eq!(rules.judge(b"ff", Kind::File), Said::Ignored);
    let first_out = format!("{IGNORE_RULES_MAX:x}");
    assert_eq!(rules.judge(first_out.as_bytes(), Kind::File), Said::Nothing);
    // Another file does not fit beside it, and says so.
    let more = |_: &[u8]| Ok(file(b"one\ntwo\n"));
    let (below, left_out) = ignores.enter(&rules, Some(b"d"), gitignore(), &mut { more });
    assert_eq!(left_out, 2);
    assert_eq!(below.judge(b"one", Kind::File), Said::Nothing);
    assert_eq!(below.judge(b"ff", Kind::File), Said::Ignored);
}

#[test]
fn globs_that_have_to_be_tried_are_few() {
    let ignores = Ignores::new(b"");
    let text = lines(|n| format!("*a*a*{n:x}"));
    let (rules, left_out) = root(&ignores, &text);
    assert!(left_out > 0);
    assert_eq!(rules.judge(b"aa1", Kind::File), Said::Ignored);
}

#[test]
fn memory_is_bounded_whatever_is_written() {
    let seed = Seed::draw();
    let hostile: [&dyn Fn(usize) -> String; 7] = [
        &|n| format!("{n:x}/a/b/c/d/e/f/g"),
        &|n| format!("{n:x}/*/**/x"),
        &|n| format!("*.{n:x}"),
        &|n| format!("[!a][!b][!c]{n:x}"),
        &|n| format!("[ab][ab][ab]{n:x}"),
        &|n| format!("[ab][ab][ab]{n:037}"),
        &|_| "a/".repeat(2000),
    ];
    for line in hostile {
        let live = Live::default();
        let compiled = Compiled::new(&lines(line), seed, &live);
        assert!(compiled.size < 12 * 1024 * 1024, "{} bytes", compiled.size);
        assert_eq!(live.bytes(), compiled.size);
        drop(compiled);
        assert_eq!(live.bytes(), 0);
    }
}

#[test]
fn what_nobody_holds_is_forgotten_and_what_is_held_too_much_is_left_out() {
    let (seed, live, kept) = (Seed::draw(), Live::default(), Kept::default());
    let text = lines(|n| format!("{n:x}"));
    let mut held: Vec<Arc<Compiled>> = Vec::new();
    let refused = loop {
        match kept.rules(&file(&text), seed, &live) {
            Ok(compiled) => held.push(compiled),
            Err(refused) => break refused,
        }
        assert!(held.len() < 100, "{} bytes are held", live.bytes());
    };
    assert_eq!(refused, super::super::kept::Unread);
    held.clear();
    for _ in 0..20 {
        assert!(kept.rules(&file(&text), seed, &live).is_ok());
    }
}

#[test]
fn states_of_one_directory_are_bounded() {
    let ignores = Ignores::new(b"");
    // Each of these leads to a state of its own in the same directory.
    let text = lines(|n| format!("{}*/{n:x}", "a".repeat(n % 200 + 1)));
    let (rules, _) = root(&ignores, &text);
    let name = [b'a'; 250];
    let mut open = |_: &[u8]| Err(Errno::NOENT);
    let (below, _) = ignores.enter(&rules, Some(&name), Present::default(), &mut open);
    assert_eq!(below.judge(b"1", Kind::File), Said::Ignored);
    let text = lines(|n| format!("{n:x}*/x{n:x}"));
    let (rules, _) = root(&ignores, &text);
    let (below, left_out) = ignores.enter(&rules, Some(b"1"), Present::default(), &mut open);
    assert_eq!(left_out, 0);
    assert_eq!(below.judge(b"x1", Kind::File), Said::Ignored);
}

#[test]
fn a_directory_that_no_rule_leads_to_shares_the_rules_above() {
    let ignores = Ignores::new(b"*.o\n/a/b\n");
    let root = enter(&ignores, &ignores.top(), None);
    let [one, two] = [b"x", b"y"].map(|name| enter(&ignores, &root, Some(name)));
    assert!(Arc::ptr_eq(&one.0, &two.0));
    let deeper = enter(&ignores, &one, Some(b"z"));
    assert!(Arc::ptr_eq(&one.0, &deeper.0));
}
