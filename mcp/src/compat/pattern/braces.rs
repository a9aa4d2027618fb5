//! `{a,b}` and `{1..3}`: one pattern that stands for several.

use super::PatternError;

/// Patterns that one may stand for.
pub(super) const MOST: usize = 1_000;
/// Braces within braces.
const DEEPEST: usize = 50;

/// All patterns that `text` stands for, in order.
pub(super) fn expand(text: &str) -> Result<Vec<String>, PatternError> {
    within(text, 0)
}

fn within(text: &str, depth: usize) -> Result<Vec<String>, PatternError> {
    if depth > DEEPEST {
        return Err(PatternError::TooLarge);
    }
    let Some(group) = Group::first(text) else {
        return Ok(vec![text.to_owned()]);
    };
    let mut middles = Vec::new();
    for member in group.members()? {
        middles.extend(within(&member, depth + 1)?);
        bounded(middles.len())?;
    }
    let tails = within(group.after, depth + 1)?;
    bounded(middles.len().saturating_mul(tails.len()))?;
    let whole = |middle: &String| {
        let before = group.before;
        let joined = move |tail: &String| format!("{before}{middle}{tail}");
        tails.iter().map(joined).collect::<Vec<_>>()
    };
    Ok(middles.iter().flat_map(whole).collect())
}

const fn bounded(count: usize) -> Result<(), PatternError> {
    if count > MOST {
        return Err(PatternError::Braces);
    }
    Ok(())
}

/// The first braces of a text that stand for something.
struct Group<'t> {
    before: &'t str,
    inside: &'t str,
    after: &'t str,
}

impl<'t> Group<'t> {
    fn first(text: &'t str) -> Option<Self> {
        let mut escaped = false;
        for (at, c) in text.char_indices() {
            let open = c == '{' && !escaped;
            escaped = c == '\\' && !escaped;
            if !open {
                continue;
            }
            let (before, rest) = (text.get(..at)?, text.get(at + 1..)?);
            if let Some(close) = closing(rest) {
                let group = Self {
                    before,
                    inside: rest.get(..close)?,
                    after: rest.get(close + 1..)?,
                };
                if group.stands_for_something() {
                    return Some(group);
                }
            }
        }
        None
    }

    fn stands_for_something(&self) -> bool {
        commas(self.inside).len() > 1 || Range::parse(self.inside).is_some()
    }

    fn members(&self) -> Result<Vec<String>, PatternError> {
        match Range::parse(self.inside) {
            Some(range) => range.members(),
            None => Ok(commas(self.inside)),
        }
    }
}

/// Where the braces that are open here are closed.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut escaped) = (0_usize, false);
    for (at, c) in text.char_indices() {
        match (c, escaped) {
            ('{', false) => depth += 1,
            ('}', false) if depth == 0 => return Some(at),
            ('}', false) => depth -= 1,
            (_, _) => {}
        }
        escaped = c == '\\' && !escaped;
    }
    None
}

/// The members of braces.
fn commas(text: &str) -> Vec<String> {
    let (mut depth, mut escaped) = (0_usize, false);
    let mut members = vec![String::new()];
    for c in text.chars() {
        match (c, escaped) {
            ('{', false) => depth += 1,
            ('}', false) => depth = depth.saturating_sub(1),
            (',', false) if depth == 0 => {
                members.push(String::new());
                continue;
            }
            (_, _) => {}
        }
        escaped = c == '\\' && !escaped;
        if let Some(member) = members.last_mut() {
            member.push(c);
        }
    }
    members
}

/// `1..9`, `1..9..2`, `a..e`.
struct Range {
    first: i64,
    last: i64,
    step: i64,
    sort: Sort,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Numbers { width: usize },
    Letters,
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let mut ends = text.split("..");
        let (first, last) = (ends.next()?, ends.next()?);
        let step = match ends.next() {
            Some(step) => step.parse::<i64>().ok()?.checked_abs()?.max(1),
            None => 1,
        };
        if ends.next().is_some() {
            return None;
        }
        if let (Ok(from), Ok(to)) = (first.parse::<i64>(), last.parse::<i64>()) {
            let padded = |text: &str| {
                let digits = text.trim_start_matches('-');
                digits.len() > 1 && digits.starts_with('0')
            };
            let width = if padded(first) || padded(last) {
                first.len().max(last.len())
            } else {
                0
            };
            return Some(Self {
                first: from,
                last: to,
                step,
                sort: Sort::Numbers { width },
            });
        }
        let letter = |text: &str| match text.as_bytes() {
            [one] if one.is_ascii_alphabetic() => Some(i64::from(*one)),
            _ => None,
        };
        Some(Self {
            first: letter(first)?,
            last: letter(last)?,
            step,
            sort: Sort::Letters,
        })
    }

    fn members(&self) -> Result<Vec<String>, PatternError> {
        let (low, high) = (self.first.min(self.last), self.first.max(self.last));
        let count = high.saturating_sub(low).checked_div(self.step);
        let count = usize::try_from(count.unwrap_or(0)).unwrap_or(usize::MAX);
        bounded(count.saturating_add(1))?;
        let step = if self.first <= self.last {
            self.step
        } else {
            -self.step
        };
        let mut members = Vec::new();
        let mut at = self.first;
        while (low..=high).contains(&at) {
            members.push(self.member(at));
            match at.checked_add(step) {
                Some(next) => at = next,
                None => break,
            }
        }
        Ok(members)
    }

    fn member(&self, at: i64) -> String {
        match self.sort {
            Sort::Numbers { width } => format!("{at:0width$}"),
            Sort::Letters => {
                u8::try_from(at).map_or_else(|_| String::new(), |b| char::from(b).into())
            }
        }
    }
}
