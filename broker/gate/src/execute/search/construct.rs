//! Which construct of a pattern the engine cannot do, where it stands, and what to do instead.

use super::pattern::NEST_MAX;
use portcullis_protocol::session::{Binary, Case, MultiLine, Search, Syntax};
use regex_syntax::ast::{self, Ast, Span};
use regex_syntax::hir::translate::TranslatorBuilder;

const ENGINE: &str = "the linear-time engine (Rust regex)";
const LINES: &str = "a search by lines: turn multi-line on, or search for the lines one by one";
const ZEROS: &str = "a file with a zero byte is no text: search with binary files as text";

/// Constructs of other engines, by how they begin; what they are called, and what to do instead.
const FOREIGN: [(&str, &str, &str); 22] = [
    ("(?=", "look-ahead", INSTEAD_OF_LOOK),
    ("(?!", "negative look-ahead", INSTEAD_OF_NOT),
    ("(?<=", "look-behind", INSTEAD_OF_LOOK),
    ("(?<!", "negative look-behind", INSTEAD_OF_NOT),
    (
        "(?>",
        "atomic group",
        "write `(?:`; nothing backtracks here",
    ),
    ("(?|", "branch reset", "write `(?:`"),
    ("(?#", "comment", "leave it out"),
    ("(?(", "conditional", "search for each case: `a|b`"),
    ("(?P=", "back-reference", INSTEAD_OF_REFERENCE),
    ("(?P>", "recursion", INSTEAD_OF_RECURSION),
    ("(?&", "recursion", INSTEAD_OF_RECURSION),
    ("(?0", "recursion", INSTEAD_OF_RECURSION),
    ("(?1", "recursion", INSTEAD_OF_RECURSION),
    ("\\k", "back-reference", INSTEAD_OF_REFERENCE),
    ("\\g", "back-reference", INSTEAD_OF_REFERENCE),
    ("\\K", "keep-out", INSTEAD_OF_LOOK),
    ("\\G", "anchor at the last match", "leave it out"),
    ("\\Z", "end of text", "write `$` or `\\z`"),
    ("\\R", "line break", "write `\\r?\\n`, with multi-line on"),
    ("\\h", "blank", "write `[ \\t]`"),
    ("\\X", "grapheme", "write `.`"),
    ("\\Q", "quoting", "search for a literal"),
];
const INSTEAD_OF_LOOK: &str =
    "search with that part in the pattern, then take from the lines what is meant";
const INSTEAD_OF_NOT: &str = "search without it, then drop the lines that are not meant";
const INSTEAD_OF_REFERENCE: &str = "write out what may repeat, as `aa|bb`";
const INSTEAD_OF_RECURSION: &str = "write out as many levels as are needed";

/// A regex must be text.
pub(super) fn not_utf8(error: &std::str::Utf8Error) -> String {
    let at = error.valid_up_to();
    format!("not UTF-8 at byte {at}: a regex is text; write bytes as `(?-u:\\xNN)`")
}

/// What no line of a file can hold is not searched for.
pub(super) fn check_literal(bytes: &[u8], ask: &Search) -> Result<(), String> {
    let place = |byte| bytes.iter().position(|b| *b == byte);
    if let (MultiLine::Off, Some(at)) = (ask.multi_line, place(b'\n')) {
        return Err(format!("line end at byte {at}: not in {LINES}"));
    }
    match (ask.binary, place(0)) {
        (Binary::Stop | Binary::Search, Some(at)) => {
            Err(format!("zero byte at byte {at}: {ZEROS}"))
        }
        (Binary::Text, _) | (Binary::Stop | Binary::Search, None) => Ok(()),
    }
}

/// Why a pattern was refused, whose builder said `error`.
pub(super) fn explain(ask: &Search, pattern: &str, error: &str) -> String {
    if error.contains("size limit") {
        return format!(
            "too large for {ENGINE} when compiled: repeat less, as `{{1,20}}`, or take classes of \
             ASCII, as `(?-u:\\w)`"
        );
    }
    let found = match ask.syntax {
        Syntax::Literal => None,
        Syntax::Regex => find(ask, pattern),
    };
    found.unwrap_or_else(|| {
        let last = error.lines().rev().find(|line| !line.trim().is_empty());
        let last = last.unwrap_or(error).trim();
        format!("{}: {ENGINE}", last.trim_start_matches("error: "))
    })
}

fn find(ask: &Search, pattern: &str) -> Option<String> {
    let parsed = ast::parse::ParserBuilder::new()
        .nest_limit(NEST_MAX)
        .build()
        .parse(pattern);
    let ast = match parsed {
        Ok(ast) => ast,
        Err(error) => return Some(of_syntax(pattern, &error)),
    };
    let translated = TranslatorBuilder::new()
        .utf8(false)
        .multi_line(true)
        .case_insensitive(ask.case == Case::Insensitive)
        .dot_matches_new_line(ask.multi_line == MultiLine::Dotall)
        .build()
        .translate(pattern, &ast);
    if let Err(error) = translated {
        return Some(placed(&error.kind().to_string(), pattern, error.span()));
    }
    if let (MultiLine::Off, Some(span)) = (ask.multi_line, place_of('\n', &ast)) {
        let at = span.start.offset;
        let shown = shown(pattern, &span);
        return Some(format!("line end {shown} at byte {at}: not in {LINES}"));
    }
    let zero = place_of('\0', &ast)?;
    let at = zero.start.offset;
    let shown = shown(pattern, &zero);
    Some(format!("zero byte {shown} at byte {at}: {ZEROS}"))
}

fn of_syntax(pattern: &str, error: &ast::Error) -> String {
    let span = error.span();
    // Of what begins with `(?` the parser may point to what follows.
    let starts = [
        span.start.offset,
        span.start.offset.saturating_sub(2),
        span.start.offset.saturating_sub(3),
    ];
    for at in starts {
        let rest = pattern.get(at..).unwrap_or_default();
        let known = FOREIGN.iter().find(|(sign, ..)| rest.starts_with(sign));
        if let Some((sign, name, instead)) = known {
            return format!("{name} `{sign}` at byte {at}: not in {ENGINE}; {instead}");
        }
    }
    if matches!(error.kind(), ast::ErrorKind::UnsupportedBackreference) {
        let (at, sign) = (span.start.offset, shown(pattern, span));
        return format!(
            "back-reference {sign} at byte {at}: not in {ENGINE}; {INSTEAD_OF_REFERENCE}"
        );
    }
    placed(&error.kind().to_string(), pattern, span)
}

fn placed(what: &str, pattern: &str, span: &Span) -> String {
    let (at, shown) = (span.start.offset, shown(pattern, span));
    format!(
        "{what}: {shown} at byte {at}, for {ENGINE}; a literal, or `\\` before a sign, takes it as it is"
    )
}

/// The text of a span, cut where it is long.
fn shown(pattern: &str, span: &Span) -> String {
    let text = pattern.get(span.start.offset..span.end.offset);
    let text: String = text.unwrap_or_default().chars().take(24).collect();
    format!("`{text}`")
}

/// Where a character stands in a pattern that matches nothing but it.
fn place_of(c: char, ast: &Ast) -> Option<Span> {
    ast::visit(ast, Place { c, span: None }).unwrap_or_default()
}

struct Place {
    c: char,
    span: Option<Span>,
}

impl Place {
    fn see(&mut self, literal: &ast::Literal) {
        if literal.c == self.c && self.span.is_none() {
            self.span = Some(literal.span);
        }
    }
}

impl ast::Visitor for Place {
    type Output = Option<Span>;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<Option<Span>, Self::Err> {
        Ok(self.span)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        if let Ast::Literal(literal) = ast {
            self.see(literal);
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), Self::Err> {
        if let ast::ClassSetItem::Literal(literal) = item {
            self.see(literal);
        }
        Ok(())
    }
}
