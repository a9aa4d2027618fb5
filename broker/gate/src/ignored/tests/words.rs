//! What git's manual says of single lines, and what its manual leaves out.

use super::super::Said;
use super::said;
use portcullis_protocol::view::Kind;

/// Whether a file of that path is ignored.
fn ignores(rules: &[u8], path: &[u8]) -> bool {
    said(rules, path, Kind::File) == Said::Ignored
}

#[track_caller]
fn takes(rule: &[u8], paths: &[&[u8]]) {
    for path in paths {
        assert!(
            ignores(rule, path),
            "{} leaves {}",
            rule.escape_ascii(),
            path.escape_ascii()
        );
    }
}

#[track_caller]
fn leaves(rule: &[u8], paths: &[&[u8]]) {
    for path in paths {
        assert!(
            !ignores(rule, path),
            "{} takes {}",
            rule.escape_ascii(),
            path.escape_ascii()
        );
    }
}

#[test]
fn a_rule_without_a_slash_holds_at_any_depth() {
    takes(
        b"foo",
        &[b"foo", b"a/foo", b"a/b/foo", b"foo/a", b"a/foo/b"],
    );
    leaves(b"foo", &[b"fo", b"fooo", b"Foo", b"a/fo"]);
    takes(b"*.o", &[b"a.o", b".o", b"a/b.o", b"a.b.o", b"a.o/b"]);
    leaves(b"*.o", &[b"o", b"a.oo", b"a.O"]);
}

#[test]
fn a_slash_at_its_beginning_or_in_it_ties_a_rule_to_its_directory() {
    takes(b"/foo", &[b"foo", b"foo/a"]);
    leaves(b"/foo", &[b"a/foo"]);
    takes(b"a/foo", &[b"a/foo", b"a/foo/b"]);
    leaves(b"a/foo", &[b"b/a/foo", b"a/b/foo", b"foo", b"a"]);
    takes(b"a/*", &[b"a/b", b"a/b/c"]);
    leaves(b"a/*", &[b"a", b"b/a/c"]);
    takes(b"*/foo", &[b"a/foo"]);
    leaves(b"*/foo", &[b"foo", b"a/b/foo"]);
    // Also in brackets, where it matches nothing.
    takes(b"[f/]oo", &[b"foo"]);
    leaves(b"[f/]oo", &[b"a/foo"]);
}

#[test]
fn a_slash_at_its_end_means_directories() {
    assert_eq!(said(b"foo/", b"foo", Kind::Directory), Said::Ignored);
    for kind in [
        Kind::File,
        Kind::Link,
        Kind::Fifo,
        Kind::Socket,
        Kind::Device,
        Kind::Unknown,
    ] {
        assert_eq!(said(b"foo/", b"foo", kind), Said::Nothing);
    }
    takes(b"foo/", &[b"foo/a", b"a/foo/b"]);
    takes(b"a/foo/", &[b"a/foo/b"]);
    leaves(b"a/foo/", &[b"b/a/foo/c"]);
    leaves(b"foo//", &[b"foo/a"]);
}

#[test]
fn two_stars_between_slashes_are_any_directories() {
    takes(b"**/foo", &[b"foo", b"a/foo", b"a/b/foo"]);
    takes(
        b"**/a/foo",
        &[b"a/foo", b"b/a/foo", b"a/a/foo", b"c/b/a/foo/d"],
    );
    leaves(b"**/a/foo", &[b"foo", b"a/b/foo"]);
    takes(b"a/**", &[b"a/b", b"a/b/c"]);
    leaves(b"a/**", &[b"a", b"b/a/c"]);
    takes(b"a/**/b", &[b"a/b", b"a/x/b", b"a/x/y/b"]);
    leaves(b"a/**/b", &[b"ab", b"a/x/bb", b"x/a/b"]);
    takes(b"a/**/b/**/c", &[b"a/b/c", b"a/x/b/y/b/z/c", b"a/b/b/c"]);
    leaves(b"a/**/b/**/c", &[b"a/c", b"a/b", b"b/c"]);
    takes(b"/**", &[b"a", b"a/b"]);
    takes(b"**", &[b"a", b"a/b"]);
    // Of which no slash is a part, one is not enough when it is escaped.
    takes(b"a/**\\/b", &[b"a/x/b", b"a/x/y/b"]);
    leaves(b"a/**\\/b", &[b"a/b"]);
    // Anywhere else they are one star.
    takes(b"foo**/bar", &[b"foo/bar", b"foox/bar"]);
    leaves(b"foo**/bar", &[b"foobar", b"foo/x/bar", b"foox/y/bar"]);
    takes(b"a/**b", &[b"a/b", b"a/xb"]);
    leaves(b"a/**b", &[b"a/x/b"]);
}

#[test]
fn the_last_rule_holds_and_what_is_excluded_stays_so_below() {
    assert_eq!(said(b"*.o\n!a.o", b"a.o", Kind::File), Said::Included);
    assert_eq!(said(b"*.o\n!a.o", b"b.o", Kind::File), Said::Ignored);
    assert_eq!(said(b"!a.o\n*.o", b"a.o", Kind::File), Said::Ignored);
    assert_eq!(said(b"foo/\n!foo", b"foo", Kind::Directory), Said::Included);
    assert_eq!(said(b"!foo\nfoo/", b"foo", Kind::File), Said::Included);
    takes(b"foo\n!foo/a", &[b"foo/a"]);
    leaves(b"/*\n!/foo\n/foo/*\n!/foo/bar", &[b"foo/bar", b"foo/bar/x"]);
    takes(b"/*\n!/foo\n/foo/*\n!/foo/bar", &[b"x", b"foo/x"]);
    // The exception alone says something of a name.
    assert_eq!(said(b"!.a", b".a", Kind::File), Said::Included);
}

#[test]
fn what_is_no_rule_says_nothing() {
    for text in [
        "", "\n", "#a", "/", "//", "!", "!/", " ", "\\", "a\\", "[", "[a", "[[:a:]]a",
    ] {
        for path in ["a", "#a", " ", "\\", "[", "[a", "a\\", "/", "[[:a:]]a"] {
            leaves(text.as_bytes(), &[path.as_bytes()]);
        }
    }
    takes(b"\\#a", &[b"#a"]);
    takes(b"\\!a", &[b"!a"]);
    takes(b" #a", &[b" #a"]);
}

#[test]
fn ends_of_lines_are_read_as_git_reads_them() {
    takes(b"a  ", &[b"a"]);
    takes(b"a\\ ", &[b"a "]);
    takes(b"a\\  ", &[b"a "]);
    takes(b"a\t", &[b"a\t"]);
    leaves(b"a \\", &[b"a", b"a ", b"a \\"]);
    takes(b"a\r\nb\r\n", &[b"a", b"b"]);
    takes(b"a\r", &[b"a"]);
    takes(b"a\r\r\n", &[b"a\r"]);
    // The spaces are not at the end of the line.
    takes(b"a \r\n", &[b"a"]);
    takes(b"a\0b", &[b"a"]);
    takes(b"\xef\xbb\xbfa\nb", &[b"a", b"b"]);
    leaves(b"b\n\xef\xbb\xbfa", &[b"a"]);
    takes(b"\xff*", &[b"\xff\xfe"]);
}

#[test]
fn brackets_are_those_of_git() {
    takes(b"[a-c]x", &[b"ax", b"bx", b"cx"]);
    leaves(b"[a-c]x", &[b"dx", b"-x", b"x"]);
    // Whatever a range begins with is there, also when the range is none.
    takes(b"[c-a]", &[b"c"]);
    leaves(b"[c-a]", &[b"a", b"b", b"-"]);
    takes(b"[]a]", &[b"]", b"a"]);
    takes(b"[!]a]", &[b"b"]);
    leaves(b"[^]a]", &[b"]", b"a"]);
    takes(b"[a-]", &[b"a", b"-"]);
    takes(b"[-a]", &[b"a", b"-"]);
    takes(b"[\\]a]", &[b"]", b"a"]);
    takes(b"[\\a-\\c]", &[b"b"]);
    takes(b"[[:digit:]-a]", &[b"1", b"-", b"a"]);
    takes(b"[[:space:]]", &[b" ", b"\t", b"\r"]);
    // To git a form feed is no space.
    leaves(b"[[:space:]]", &[b"\x0b", b"\x0c", b"a"]);
    leaves(b"[![:upper:]]", &[b"A"]);
    takes(b"[[:a]", &[b"[", b":", b"a"]);
    takes(b"*.py[co]", &[b"a.pyc", b"b/c.pyo"]);
    leaves(b"*.py[co]", &[b"a.py", b"a.pyx"]);
    takes(b"[Bb]in/", &[b"bin/a", b"x/Bin/a"]);
}

#[test]
fn many_names_and_globs_in_one_file_do_not_meet() {
    let mut rules = Vec::new();
    for n in 0..300 {
        let lines = format!("name{n}\n*.ext{n}\nhead{n}*\n*tail{n}\nx{n}*y{n}.z\na/b{n}/c\n");
        rules.extend_from_slice(lines.as_bytes());
    }
    rules.extend_from_slice(b"!name7\n!*.ext8\n!a/b9/c\n");
    for n in [0, 1, 150, 299] {
        for name in [
            format!("name{n}"),
            format!("d/x.ext{n}"),
            format!("head{n}x"),
            format!("xtail{n}"),
            format!("x{n}-y{n}.z"),
            format!("a/b{n}/c"),
        ] {
            takes(&rules, &[name.as_bytes()]);
        }
    }
    leaves(
        &rules,
        &[
            b"name300",
            b"a.ext300",
            b"name7",
            b"x.ext8",
            b"a/b9/c",
            b"b/a/b1/c",
            b"b1/c",
        ],
    );
}
