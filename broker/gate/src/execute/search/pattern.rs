//! Compiling a search pattern, with words that say which construct is wrong.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use portcullis_protocol::session::{Boundaries, Case, Search, Syntax};

/// Compiled size of a pattern, in bytes.
const SIZE_MAX: usize = 4 * 1024 * 1024;
/// Cache of the lazy automaton, in bytes.
const CACHE_MAX: usize = 4 * 1024 * 1024;
/// Nesting of groups.
const NEST_MAX: u32 = 100;

/// Compiles the pattern of a search, or says why it cannot be.
pub(super) fn compile(ask: &Search) -> Result<RegexMatcher, String> {
    let bytes = ask.pattern.as_slice();
    if bytes.is_empty() {
        return Err("an empty pattern matches every line; use `.` with --regex".to_owned());
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .line_terminator(Some(b'\n'))
        .size_limit(SIZE_MAX)
        .dfa_size_limit(CACHE_MAX)
        .nest_limit(NEST_MAX)
        .word(ask.boundaries == Boundaries::Word);
    match ask.case {
        Case::Sensitive => {}
        Case::Insensitive => {
            builder.case_insensitive(true);
        }
        Case::Smart => {
            builder.case_smart(true);
        }
    }
    let pattern = match (ask.syntax, std::str::from_utf8(bytes)) {
        (Syntax::Regex, Ok(text)) => text.to_owned(),
        (Syntax::Regex, Err(_)) => {
            return Err("a regex must be UTF-8; write bytes as \\xNN".to_owned());
        }
        (Syntax::Literal, Ok(text)) => {
            builder.fixed_strings(true);
            text.to_owned()
        }
        (Syntax::Literal, Err(_)) => in_bytes(bytes),
    };
    builder
        .build(&pattern)
        .map_err(|error| explain(&error.to_string()))
}

/// A literal that is not UTF-8, as a regex of its bytes.
fn in_bytes(bytes: &[u8]) -> String {
    let mut pattern = "(?-u:".to_owned();
    for byte in bytes {
        pattern.push_str(&format!("\\x{byte:02x}"));
    }
    pattern.push(')');
    pattern
}

/// The engine's message, on one line, without the drawing of the pattern.
fn explain(error: &str) -> String {
    let last = error
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or(error);
    let last = last.trim().trim_start_matches("error: ");
    format!("{last} (engine: Rust regex, linear time)")
}
