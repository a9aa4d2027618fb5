//! Line ends that are asked for.

use crate::change::Eol;
use clap::ValueEnum;

/// Line ends of a file that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in super::super) enum Ends {
    /// A newline at every line.
    Lf,
    /// A carriage return and a newline at every line.
    Crlf,
}

/// Line ends of the files that a patch gives whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in super::super) enum PatchEnds {
    /// As the text of the patch has them.
    Keep,
    /// A newline at every line.
    Lf,
    /// A carriage return and a newline at every line.
    Crlf,
}

impl Ends {
    pub(in super::super) const fn eol(self) -> Eol {
        match self {
            Self::Lf => Eol::Lf,
            Self::Crlf => Eol::Crlf,
        }
    }
}

impl PatchEnds {
    /// None leaves every byte as it is.
    pub(in super::super) const fn eol(self) -> Option<Eol> {
        match self {
            Self::Keep => None,
            Self::Lf => Some(Eol::Lf),
            Self::Crlf => Some(Eol::Crlf),
        }
    }
}
