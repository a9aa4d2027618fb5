//! Compiling a search pattern, with words that say which construct is wrong.

use super::construct;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use portcullis_protocol::session::{Binary, Boundaries, Case, MultiLine, Search, Syntax};

/// Compiled size of a pattern, in bytes.
const SIZE_MAX: usize = 4 * 1024 * 1024;
/// Cache of one lazy automaton, in bytes. A thread has up to four of them, all as small as they can
/// be but for patterns that need it.
const CACHE_MAX: usize = 2 * 1024 * 1024;
/// Nesting of groups.
pub(super) const NEST_MAX: u32 = 100;

/// Compiles the pattern of a search, or says why it cannot be.
pub(super) fn compile(ask: &Search) -> Result<RegexMatcher, String> {
    let bytes = ask.pattern.as_slice();
    if bytes.is_empty() {
        return Err("an empty pattern matches every line; use the regex `.`".to_owned());
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .size_limit(SIZE_MAX)
        .dfa_size_limit(CACHE_MAX)
        .nest_limit(NEST_MAX)
        .word(ask.boundaries == Boundaries::Word)
        .whole_line(ask.boundaries == Boundaries::Line)
        .line_terminator((ask.multi_line == MultiLine::Off).then_some(b'\n'))
        .dot_matches_new_line(ask.multi_line == MultiLine::Dotall)
        .ban_byte((ask.binary != Binary::Text).then_some(0));
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
        (Syntax::Regex, Err(error)) => return Err(construct::not_utf8(&error)),
        (Syntax::Literal, text) => {
            construct::check_literal(bytes, ask)?;
            builder.fixed_strings(true);
            match text {
                Ok(text) => text.to_owned(),
                Err(_) => in_bytes(bytes, ask.case, &mut builder),
            }
        }
    };
    builder
        .build(&pattern)
        .map_err(|error| construct::explain(ask, &pattern, &error.to_string()))
}

/// A literal that is not UTF-8, as a regex of its bytes. Letters of ASCII alone have a case then.
fn in_bytes(bytes: &[u8], case: Case, builder: &mut RegexMatcherBuilder) -> String {
    builder.fixed_strings(false);
    if case == Case::Smart {
        let has_upper = bytes.iter().any(u8::is_ascii_uppercase);
        builder.case_smart(false).case_insensitive(!has_upper);
    }
    let mut pattern = "(?-u:".to_owned();
    for byte in bytes {
        pattern.push_str(&format!("\\x{byte:02x}"));
    }
    pattern.push(')');
    pattern
}

#[cfg(test)]
mod tests;
