//! The command line of the benches.

/// What was asked for.
pub struct Options<S> {
    pub quick: bool,
    pub json: bool,
    pub check: bool,
    /// Repeat this for some seconds, for a profiler; measure nothing.
    pub spin: Option<S>,
}

impl<S: Copy> Options<S> {
    /// Reads the arguments; `spins` is what can be repeated, by its name. `--bench` is cargo's own.
    pub fn parse(
        arguments: impl Iterator<Item = String>,
        spins: &[(&str, S)],
    ) -> Result<Self, String> {
        let mut options = Self {
            quick: false,
            json: false,
            check: false,
            spin: None,
        };
        for argument in arguments {
            let spin = spins.iter().find(|(name, _)| *name == argument);
            match (argument.as_str(), spin) {
                ("--bench", _) => {}
                ("--quick", _) => options.quick = true,
                ("--json", _) => options.json = true,
                ("--check", _) => options.check = true,
                (_, Some((_, spin))) => options.spin = Some(*spin),
                (other, None) => {
                    return Err(format!(
                        "{other}: not known; --quick runs shorter, --json prints JSON, --check \
                         fails when a limit is missed"
                    ));
                }
            }
        }
        Ok(options)
    }

    /// `short` of something when it is to be quick, else `whole`.
    pub const fn number(&self, short: usize, whole: usize) -> usize {
        if self.quick { short } else { whole }
    }
}
