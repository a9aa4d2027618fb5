//! Requests with the usual choices made, to be changed field by field.
//!
//! Every request type of [`portcullis_protocol::session`] has public fields: these functions only
//! spare the writing of those that mostly stay as they are.

use crate::error::Error;
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::limits::{
    LIST_ENTRIES_MAX, SEARCH_FILE_BYTES_DEFAULT, SEARCH_MATCHES_MAX, STREAM_TIME_MS_MAX,
    WALK_DEPTH_MAX,
};
use portcullis_protocol::path::Label;
use portcullis_protocol::session::{
    Binary, Boundaries, Case, Detail, Glob, Kinds, Links, List, MultiLine, Order, Passing, Range,
    Read, Search, SearchMode, Selector, Sense, Stat, Survey, Syntax, TextEncoding, Why,
};
use portcullis_protocol::verb::Verb;

/// A name in the session's first root, or where an absolute path says.
pub fn selector(path: impl AsRef<[u8]>) -> Result<Selector, Error> {
    let path = Bytes::new(path.as_ref()).map_err(|e| Error::invalid(format_args!("path: {e}")))?;
    Ok(Selector { root: None, path })
}

/// A name in the root of this label.
pub fn selector_in(root: Label, path: impl AsRef<[u8]>) -> Result<Selector, Error> {
    Ok(Selector {
        root: Some(root),
        ..selector(path)?
    })
}

/// Looks at an object; a link in its last component is followed.
pub fn stat(selector: Selector) -> Stat {
    Stat {
        selector,
        links: Links::Follow,
    }
}

/// Reads the whole of one file, and computes nothing else.
pub fn read(selector: Selector) -> Read {
    // One is far below the limit, so the list is never the empty default.
    let selectors = Few::new(vec![selector]).unwrap_or_default();
    Read {
        selectors,
        range: WHOLE,
        survey: Survey::None,
    }
}

/// Reads the whole of several files.
pub fn read_many(selectors: Vec<Selector>) -> Result<Read, Error> {
    Ok(Read {
        selectors: Few::new(selectors).map_err(|e| Error::invalid(format_args!("files: {e}")))?,
        range: WHOLE,
        survey: Survey::None,
    })
}

/// The whole of a file.
pub const WHOLE: Range = Range::Bytes {
    offset: 0,
    length: u64::MAX,
};

/// Lists a directory's own entries, names and types.
pub fn list(selector: Selector) -> List {
    List {
        selector,
        depth: 1,
        detail: Detail::Names,
        passing: Passing::nothing(),
        kinds: Kinds::default(),
        order: Order::Name,
        limit: LIST_ENTRIES_MAX,
        cursor: None,
    }
}

/// Finds names below a directory, without what a person does not mean: [`Passing::usual`].
pub fn glob(selector: Selector, pattern: impl AsRef<[u8]>) -> Result<Glob, Error> {
    Ok(Glob {
        selector,
        pattern: Bytes::new(pattern.as_ref())
            .map_err(|e| Error::invalid(format_args!("pattern: {e}")))?,
        depth: WALK_DEPTH_MAX,
        detail: Detail::Names,
        passing: Passing::usual(),
        kinds: Kinds::default(),
        order: Order::Name,
        limit: LIST_ENTRIES_MAX,
        cursor: None,
    })
}

/// Finds lines that hold these bytes, case counting, without what a person does not mean:
/// [`Passing::usual`].
pub fn search(selector: Selector, pattern: impl AsRef<[u8]>) -> Result<Search, Error> {
    Ok(Search {
        selector,
        pattern: Bytes::new(pattern.as_ref())
            .map_err(|e| Error::invalid(format_args!("pattern: {e}")))?,
        syntax: Syntax::Literal,
        case: Case::Sensitive,
        boundaries: Boundaries::Anywhere,
        multi_line: MultiLine::Off,
        sense: Sense::Matching,
        binary: Binary::Stop,
        encoding: TextEncoding::Auto,
        mode: SearchMode::Content {
            before: 0,
            after: 0,
        },
        depth: WALK_DEPTH_MAX,
        passing: Passing::usual(),
        include: Few::default(),
        types: Few::default(),
        types_not: Few::default(),
        limit: SEARCH_MATCHES_MAX,
        limit_per_file: SEARCH_MATCHES_MAX,
        file_bytes_max: SEARCH_FILE_BYTES_DEFAULT,
        time_ms: STREAM_TIME_MS_MAX,
        cursor: None,
    })
}

/// Asks why.
pub fn why(verb: Verb, selector: Selector) -> Why {
    Why { verb, selector }
}
