//! One name of a pattern, as a regular expression.

use super::PatternError;
use std::iter::Peekable;
use std::str::Chars;

/// Groups within groups.
const DEEPEST: usize = 50;

/// Adds what one name of a pattern matches to `regex`.
pub(super) fn translate(name: &str, regex: &mut String) -> Result<(), PatternError> {
    if name.chars().all(|c| c == '*') {
        regex.push_str("[^/]+");
        return Ok(());
    }
    parts(&mut name.chars().peekable(), Within::Name, 0, regex)
}

/// What ends the part that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// The end of the name.
    Name,
    /// `|` or `)`.
    Group,
}

fn parts(
    rest: &mut Peekable<Chars<'_>>,
    within: Within,
    depth: usize,
    regex: &mut String,
) -> Result<(), PatternError> {
    if depth > DEEPEST {
        return Err(PatternError::TooLarge);
    }
    while let Some(c) = rest.next() {
        let grouped = rest.peek() == Some(&'(') && is_closed(rest.clone());
        match (c, within) {
            ('!', _) if grouped => return Err(PatternError::Except),
            ('?' | '*' | '+' | '@', _) if grouped => {
                rest.next();
                regex.push_str("(?:");
                parts(rest, Within::Group, depth + 1, regex)?;
                regex.push_str(match c {
                    '?' => ")?",
                    '*' => ")*",
                    '+' => ")+",
                    _ => ")",
                });
            }
            (')', Within::Group) => return Ok(()),
            ('|', Within::Group) => regex.push('|'),
            ('*', _) => regex.push_str("[^/]*"),
            ('?', _) => regex.push_str("[^/]"),
            ('[', _) => class(rest, regex),
            ('\\', _) => literal(rest.next().unwrap_or('\\'), regex),
            (c, _) => literal(c, regex),
        }
    }
    Ok(())
}

/// Whether the parenthesis that comes next is closed in this name.
fn is_closed(rest: Peekable<Chars<'_>>) -> bool {
    let (mut depth, mut escaped) = (0_usize, false);
    for c in rest {
        match (c, escaped) {
            ('(', false) => depth += 1,
            (')', false) if depth <= 1 => return true,
            (')', false) => depth -= 1,
            (_, _) => {}
        }
        escaped = c == '\\' && !escaped;
    }
    false
}

fn literal(c: char, regex: &mut String) {
    if c.is_ascii() && !c.is_ascii_alphanumeric() {
        regex.push('\\');
    }
    regex.push(c);
}

/// One of some characters; a bracket that nothing closes is one itself.
fn class(rest: &mut Peekable<Chars<'_>>, regex: &mut String) {
    let Some((class, read)) = read_class(&rest.clone().collect::<String>()) else {
        regex.push_str("\\[");
        return;
    };
    for _ in 0..read {
        rest.next();
    }
    regex.push_str(&class);
}

/// What a class matches, and how many characters it takes after its bracket.
fn read_class(text: &str) -> Option<(String, usize)> {
    let characters: Vec<char> = text.chars().collect();
    let negated = matches!(characters.first(), Some('!' | '^'));
    let begin = usize::from(negated);
    let mut at = begin;
    let mut members = String::new();
    loop {
        match characters.get(at..)? {
            [']', ..] if at > begin => break,
            ['[', ':', ..] => {
                let (named, length) = posix(characters.get(at..)?);
                match named {
                    Some(named) => members.push_str(named),
                    None => literal('[', &mut members),
                }
                at += length;
            }
            [first, '-', last, ..] if *last != ']' => {
                if first <= last {
                    literal(*first, &mut members);
                    members.push('-');
                    literal(*last, &mut members);
                }
                at += 3;
            }
            ['\\', escaped, ..] => {
                literal(*escaped, &mut members);
                at += 2;
            }
            [one, ..] => {
                literal(*one, &mut members);
                at += 1;
            }
            [] => return None,
        }
    }
    let class = match (members.is_empty(), negated) {
        (true, false) => r"[^\s\S]".to_owned(),
        (true, true) => "[^/]".to_owned(),
        (false, true) => format!("[^/{members}]"),
        (false, false) => format!("[{members}&&[^/]]"),
    };
    Some((class, at + 1))
}

/// A class by its name, and the characters it takes; one when it is none.
fn posix(text: &[char]) -> (Option<&'static str>, usize) {
    const CLASSES: [(&str, &str); 12] = [
        ("[:alnum:]", r"\p{L}\p{Nl}\p{Nd}"),
        ("[:alpha:]", r"\p{L}\p{Nl}"),
        ("[:ascii:]", r"\x00-\x7f"),
        ("[:blank:]", r"\p{Zs}\t"),
        ("[:cntrl:]", r"\p{Cc}"),
        ("[:digit:]", r"\p{Nd}"),
        ("[:lower:]", r"\p{Ll}"),
        ("[:punct:]", r"\p{P}"),
        ("[:space:]", r"\p{Z}\t\r\n\v\f"),
        ("[:upper:]", r"\p{Lu}"),
        ("[:word:]", r"\p{L}\p{Nl}\p{Nd}\p{Pc}"),
        ("[:xdigit:]", "A-Fa-f0-9"),
    ];
    for (name, class) in CLASSES {
        if text.iter().copied().take(name.len()).eq(name.chars()) {
            return (Some(class), name.len());
        }
    }
    (None, 1)
}
