//! Why a call fails.

use portcullis_client::Error;

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Its arguments are none of this tool. Nothing was asked of the broker.
    Arguments(String),
    /// The broker refused, failed or was not reached.
    Broker(Error),
    /// This server cannot show what is there.
    Unshown {
        /// The stable name of the reason.
        code: &'static str,
        /// What, and what to do instead.
        what: String,
    },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Broker(error)
    }
}

impl Failure {
    /// The stable name of the reason.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Arguments(_) => "invalid_argument",
            Self::Broker(error) => error.code_name(),
            Self::Unshown { code, .. } => code,
        }
    }
}
