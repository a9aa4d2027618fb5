//! Requests with the usual choices made, to be changed field by field.
//!
//! Every request type of [`portcullis_protocol::session`] has public fields: these functions only
//! spare the writing of those that mostly stay as they are.

use crate::error::Error;
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::limits::{
    LIST_ENTRIES_MAX, SEARCH_FILE_BYTES_DEFAULT, SEARCH_MATCHES_MAX, STREAM_TIME_MS_MAX,
};
use portcullis_protocol::path::Label;
use portcullis_protocol::session::{
    Boundaries, Case, Detail, Glob, Links, List, Range, Read, Search, SearchMode, Selector, Stat,
    Survey, Syntax, VersionControl, Why,
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
        limit: LIST_ENTRIES_MAX,
        cursor: None,
    }
}

/// Finds names below a directory.
pub fn glob(selector: Selector, pattern: impl AsRef<[u8]>) -> Result<Glob, Error> {
    Ok(Glob {
        selector,
        pattern: Bytes::new(pattern.as_ref())
            .map_err(|e| Error::invalid(format_args!("pattern: {e}")))?,
        detail: Detail::Names,
        limit: LIST_ENTRIES_MAX,
        cursor: None,
    })
}

/// Finds lines that hold these bytes, case counting, without the directories of version control.
pub fn search(selector: Selector, pattern: impl AsRef<[u8]>) -> Result<Search, Error> {
    Ok(Search {
        selector,
        pattern: Bytes::new(pattern.as_ref())
            .map_err(|e| Error::invalid(format_args!("pattern: {e}")))?,
        syntax: Syntax::Literal,
        case: Case::Sensitive,
        boundaries: Boundaries::Anywhere,
        mode: SearchMode::Content {
            before: 0,
            after: 0,
        },
        include: Few::default(),
        exclude: Few::default(),
        version_control: VersionControl::Skip,
        limit: SEARCH_MATCHES_MAX,
        limit_per_file: SEARCH_MATCHES_MAX,
        file_bytes_max: SEARCH_FILE_BYTES_DEFAULT,
        time_ms: STREAM_TIME_MS_MAX,
    })
}

/// Asks why.
pub fn why(verb: Verb, selector: Selector) -> Why {
    Why { verb, selector }
}
