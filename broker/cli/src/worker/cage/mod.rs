//! The cage of a worker: Landlock, then seccomp, then attempts against both.

mod calls;
mod filter;
mod probes;
mod rules;

pub(super) use filter::{Filter, FilterError};
pub(super) use probes::probe;
pub(super) use rules::{Places, RulesError, restrict};
