//! The command line of the bench.

use crate::subject::Deed;

/// What was asked for.
pub struct Options {
    pub quick: bool,
    pub json: bool,
    pub check: bool,
    /// Repeat this through one gate for some seconds, for a profiler; measure nothing.
    pub spin: Option<Deed>,
}

impl Options {
    /// Reads the arguments; `--bench` is cargo's own.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            quick: false,
            json: false,
            check: false,
            spin: None,
        };
        for argument in arguments {
            match argument.as_str() {
                "--bench" => {}
                "--quick" => options.quick = true,
                "--json" => options.json = true,
                "--check" => options.check = true,
                "--spin-replace" => options.spin = Some(Deed::Replace),
                "--spin-create" => options.spin = Some(Deed::Create),
                "--spin-many" => options.spin = Some(Deed::ReplaceMany),
                other => {
                    return Err(format!(
                        "{other}: not known; --quick runs shorter, --json prints JSON, --check \
                         fails when a limit is missed"
                    ));
                }
            }
        }
        Ok(options)
    }

    /// Times everything is measured.
    pub fn rounds(&self) -> usize {
        if self.quick { 30 } else { 150 }
    }
}
