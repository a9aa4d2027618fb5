//! How a walk goes.

use super::passes::Passes;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::verb::Verb;

/// See the module.
#[derive(Debug)]
pub(in crate::execute) struct Route {
    pub(in crate::execute) verb: Verb,
    /// Levels below the start.
    pub(in crate::execute) depth: u32,
    /// The last object that was told before.
    pub(in crate::execute) resume: Option<RelPath>,
    pub(in crate::execute) passes: Passes,
    /// Whether names are told as they are listed, so that each list must have been this directory's
    /// at this place when it was read.
    pub(in crate::execute) listing: Listing,
    pub(in crate::execute) length: Length,
}

/// How many names the directory where a walk begins may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::execute) enum Length {
    /// As many as it has.
    Any,
    /// Few. Where it has more, the walk ends before anything is told, and [`super::Walk::is_long`] says so.
    Short,
}

/// See [`Route::listing`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::execute) enum Listing {
    /// Names are told.
    Told,
    /// Only what is opened by its name is told.
    Opened,
}
