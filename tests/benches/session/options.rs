//! The command line of the bench.

use crate::subject::{Call, Spin};

/// What was asked for.
pub struct Options {
    pub quick: bool,
    pub json: bool,
    pub check: bool,
    /// Repeat this through one gate for some seconds, for a profiler; measure nothing.
    pub spin: Option<Spin>,
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
                "--spin-stat" => options.spin = Some(Spin::Call(Call::Stat)),
                "--spin-read" => options.spin = Some(Spin::Call(Call::Small)),
                "--spin-frame" => options.spin = Some(Spin::Call(Call::Frame)),
                "--spin-large" => options.spin = Some(Spin::Call(Call::Large)),
                "--spin-echo" => options.spin = Some(Spin::Echo),
                "--spin-pipelined" => options.spin = Some(Spin::Pipelined),
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
        if self.quick { 40 } else { 120 }
    }

    /// Sessions minted one after another.
    pub fn mints(&self) -> usize {
        if self.quick { 40 } else { 200 }
    }

    /// Idle sessions held at once.
    pub fn sessions(&self) -> usize {
        if self.quick { 100 } else { 1000 }
    }
}
