//! Patterns that are taken, and words for those that are not.

use super::compile;
use crate::execute::search::engine::tests::ask;
use portcullis_protocol::limits::REASON_BYTES_MAX;
use portcullis_protocol::session::{Binary, Boundaries, Case, MultiLine, Syntax};

fn refusal(pattern: &[u8]) -> String {
    compile(&ask(pattern)).unwrap_err()
}

#[test]
fn a_construct_of_another_engine_is_named_with_its_place() {
    let table: [(&[u8], &str); 19] = [
        (
            b"foo(?=bar)",
            "look-ahead `(?=` at byte 3: not in the linear-time engine (Rust regex);",
        ),
        (
            "ö(?!b)".as_bytes(),
            "negative look-ahead `(?!` at byte 2: not in",
        ),
        (b"(?<=a)b", "look-behind `(?<=` at byte 0: not in"),
        (
            b"x|(?<!a)b",
            "negative look-behind `(?<!` at byte 2: not in",
        ),
        (br"(a)\1", r"back-reference `\1` at byte 3: not in"),
        (br"(?<n>a)\k<n>", r"back-reference `\k` at byte 7: not in"),
        (b"(?P<n>a)(?P=n)", "back-reference `(?P=` at byte 8: not in"),
        (b"a(?>b)", "atomic group `(?>` at byte 1: not in"),
        (b"a(?#b)", "comment `(?#` at byte 1: not in"),
        (b"(a)?b(?(1)c|d)", "conditional `(?(` at byte 5: not in"),
        (br"a\Kb", r"keep-out `\K` at byte 1: not in"),
        (br"a\Z", r"end of text `\Z` at byte 1: not in"),
        (br"a\R", r"line break `\R` at byte 1: not in"),
        (
            b"fn main() {",
            "unclosed counted repetition: `{` at byte 10, for the linear-time engine",
        ),
        (
            b"foo(",
            "unclosed group: `(` at byte 3, for the linear-time engine",
        ),
        (b"foo)", "unopened group: `)` at byte 3, for"),
        (
            b"*a",
            "repetition operator missing expression: at byte 0, for",
        ),
        (
            br"a\y",
            r"unrecognized escape sequence: `\y` at byte 1, for",
        ),
        (
            br"a\p{Nope}",
            r"Unicode property not found: `\p{Nope}` at byte 1, for",
        ),
    ];
    for (pattern, says) in table {
        let said = refusal(pattern);
        let pattern = String::from_utf8_lossy(pattern);
        assert!(said.starts_with(says), "{pattern}: {said}");
        assert!(said.len() <= REASON_BYTES_MAX, "{} of {said}", said.len());
    }
}

#[test]
fn line_ends_need_a_search_over_lines() {
    let table: [(&[u8], &str); 4] = [
        (
            br"a\nb",
            r"line end `\n` at byte 1: not in a search by lines",
        ),
        (br"a[\n]b", r"line end `\n` at byte 2: not in"),
        (br"a\x0Ab", r"line end `\x0A` at byte 1: not in"),
        (b"a\nb", "line end `\n` at byte 1: not in"),
    ];
    for (pattern, says) in table {
        let said = refusal(pattern);
        assert!(said.starts_with(says), "{said}");
        let mut over = ask(pattern);
        over.multi_line = MultiLine::On;
        assert!(compile(&over).is_ok());
    }
    let mut literal = ask(b"a\nb");
    literal.syntax = Syntax::Literal;
    for case in [Case::Sensitive, Case::Smart] {
        literal.case = case;
        let said = compile(&literal).unwrap_err();
        assert!(
            said.starts_with("line end at byte 1: not in a search by lines"),
            "{said}"
        );
    }
    literal.multi_line = MultiLine::On;
    assert!(compile(&literal).is_ok());
    // A class that holds it among others just does not match it.
    assert!(compile(&ask(br"a\sb[^c]")).is_ok());
}

#[test]
fn zero_bytes_need_binary_files_as_text() {
    for (pattern, syntax) in [
        (br"a\x00".as_slice(), Syntax::Regex),
        (b"a\0", Syntax::Literal),
    ] {
        let mut zero = ask(pattern);
        zero.syntax = syntax;
        for binary in [Binary::Stop, Binary::Search] {
            zero.binary = binary;
            let said = compile(&zero).unwrap_err();
            assert!(said.starts_with("zero byte"), "{said}");
            assert!(said.contains("at byte 1"), "{said}");
        }
        zero.binary = Binary::Text;
        assert!(compile(&zero).is_ok());
    }
}

#[test]
fn large_and_deep_patterns_are_refused() {
    let said = refusal(br"(\w{200}){200}");
    assert!(
        said.starts_with("too large for the linear-time engine"),
        "{said}"
    );
    assert!(said.len() <= REASON_BYTES_MAX);
    let deep = [b"(".repeat(300), b"a".to_vec(), b")".repeat(300)].concat();
    let said = refusal(&deep);
    assert!(said.contains("nest"), "{said}");
    assert!(said.len() <= REASON_BYTES_MAX);
}

#[test]
fn what_is_no_text_is_refused_as_a_regex_and_taken_as_a_literal() {
    let said = refusal(b"ab\xFF");
    assert!(said.starts_with("not UTF-8 at byte 2"), "{said}");
    let mut literal = ask(b"ab\xFF(");
    literal.syntax = Syntax::Literal;
    assert!(compile(&literal).is_ok());
    assert!(refusal(b"").starts_with("an empty pattern"));
}

#[test]
fn what_stands_in_a_literal_is_no_construct() {
    for boundaries in [Boundaries::Anywhere, Boundaries::Word, Boundaries::Line] {
        let mut literal = ask(br"(?=\1[{");
        literal.syntax = Syntax::Literal;
        literal.boundaries = boundaries;
        literal.case = Case::Insensitive;
        assert!(compile(&literal).is_ok());
    }
}
