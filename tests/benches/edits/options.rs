//! The command line of the bench.

/// What was asked for.
pub struct Options {
    pub quick: bool,
    pub json: bool,
    pub check: bool,
}

impl Options {
    /// Reads the arguments; `--bench` is cargo's own.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            quick: false,
            json: false,
            check: false,
        };
        for argument in arguments {
            match argument.as_str() {
                "--bench" => {}
                "--quick" => options.quick = true,
                "--json" => options.json = true,
                "--check" => options.check = true,
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
        if self.quick { 3 } else { 9 }
    }
}
