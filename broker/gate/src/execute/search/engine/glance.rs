//! What one look at the lines of a file says.

use crate::execute::search::plan::{Glance, Plan};
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use memchr::memchr;
use portcullis_protocol::session::{Binary, SearchMode};

/// How a file that was read as a whole is gone through.
pub(super) enum Way {
    /// Nothing in it can match.
    Nothing,
    /// As it lies in memory.
    Slice,
    /// As `rg` reads it: decoded, or given up or changed at zero bytes buffer by buffer.
    Reader,
}

/// Whether any of these lines may match.
pub(super) fn has_candidate(matcher: &RegexMatcher, lines: &[u8]) -> bool {
    match matcher.find_candidate_line(lines) {
        Ok(found) => found.is_some(),
        Err(_) => true,
    }
}

/// How to go through a file that is this text.
pub(super) fn way(plan: &Plan, matcher: &RegexMatcher, text: &[u8]) -> Way {
    if plan.decodes(text) {
        return Way::Reader;
    }
    let has_zero = || memchr(0, text).is_some();
    let is_empty_handed = || plan.glance == Glance::Tells && !has_candidate(matcher, text);
    match plan.binary {
        Binary::Text if is_empty_handed() => Way::Nothing,
        Binary::Text => Way::Slice,
        // Lines end at zero bytes too, so that a look at the bytes as they are says nothing.
        Binary::Search if has_zero() => Way::Reader,
        Binary::Search if is_empty_handed() => Way::Nothing,
        Binary::Search => Way::Slice,
        // That nothing matches in what is not text is not told.
        Binary::Stop if plan.mode == SearchMode::FilesWithout && has_zero() => Way::Reader,
        Binary::Stop if is_empty_handed() => Way::Nothing,
        Binary::Stop if has_zero() => Way::Reader,
        Binary::Stop => Way::Slice,
    }
}

/// Whether a look at the lines of a file that begins with `start` is worth something before the
/// searcher goes through it.
pub(super) fn glances_ahead(plan: &Plan, start: &[u8]) -> bool {
    let is_sound = match (plan.binary, plan.mode) {
        (Binary::Text, _) => true,
        (Binary::Search, _) | (Binary::Stop, SearchMode::FilesWithout) => false,
        (Binary::Stop, SearchMode::Content { .. } | SearchMode::Files | SearchMode::Count) => true,
    };
    is_sound && plan.glance == Glance::Tells && !plan.decodes(start)
}
