//! What a walk passes over, and which reason is counted.

use super::{Met, Takes};
use crate::execute::glob::Patterns;
use crate::ignored::Said;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{DotNames, Ignored, Passing, Statistics, VersionControl};
use portcullis_protocol::view::Kind;

/// Directories of version control.
const VERSION_CONTROL: [&[u8]; 4] = [b".git", b".hg", b".svn", b".jj"];

/// What a request passes over, compiled.
#[derive(Debug)]
pub(in crate::execute) struct Passes {
    start: RelPath,
    pub(super) ignored: Ignored,
    dot_names: DotNames,
    version_control: VersionControl,
    exclude: Patterns,
}

/// Why a name is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Excluded,
    VersionControl,
    Ignored,
    DotName,
}

impl Over {
    pub(super) fn count(self, statistics: &mut Statistics) {
        let counter = match self {
            Self::Excluded => &mut statistics.excluded,
            Self::VersionControl => &mut statistics.version_control,
            Self::Ignored => &mut statistics.ignored,
            Self::DotName => &mut statistics.dot_names,
        };
        *counter += 1;
    }
}

impl Passes {
    /// Compiles what a request passes over below `start`, or says which pattern is wrong.
    pub(in crate::execute) fn new(passing: &Passing, start: &RelPath) -> Result<Self, String> {
        let globs: Vec<&[u8]> = passing
            .exclude
            .as_slice()
            .iter()
            .map(|g| g.as_slice())
            .collect();
        Ok(Self {
            start: start.clone(),
            ignored: passing.ignored,
            dot_names: passing.dot_names,
            version_control: passing.version_control,
            exclude: Patterns::compile(&globs)?,
        })
    }

    /// Why a name is passed over, if it is. What the request itself says comes first, then what it
    /// takes all the same, then the rules of ignore files; one that takes a name in again takes it in
    /// with its dot.
    pub(super) fn over(
        &self,
        met: &Met<'_>,
        takes: impl Fn() -> Takes,
        said: impl FnOnce() -> Said,
    ) -> Option<Over> {
        if !self.exclude.is_empty() && self.exclude.take(&self.start, met.path, met.kind) {
            return Some(Over::Excluded);
        }
        let dot = met.name.first() == Some(&b'.');
        if dot
            && self.version_control == VersionControl::Skip
            && met.kind == Kind::Directory
            && VERSION_CONTROL.contains(&met.name)
            && takes() == Takes::Usual
        {
            return Some(Over::VersionControl);
        }
        let said = match self.ignored {
            Ignored::Skip => said(),
            Ignored::Include => Said::Nothing,
        };
        let over = match said {
            Said::Ignored => Over::Ignored,
            Said::Included => return None,
            Said::Nothing if dot && self.dot_names == DotNames::Skip => Over::DotName,
            Said::Nothing => return None,
        };
        match (takes(), over) {
            (Takes::Ignored, _) | (Takes::Dot, Over::DotName) => None,
            (Takes::Usual | Takes::Dot, over) => Some(over),
        }
    }
}
