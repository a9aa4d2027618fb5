//! One session's process. It holds root descriptors, one session socket and the ledger, and
//! nothing else; the kernel cages it before its first request. It has no path API: every name is
//! bytes below a held descriptor, and file system calls live in [`sys`].
//!
//! Read [`pipeline`] first.

pub mod cage;
pub mod policy;
pub mod sys;

mod admit;
mod asked;
mod asking;
mod bind;
mod carry_out;
mod composition;
mod confirm;
mod counters;
mod delegating;
mod errors;
mod execute;
mod ignored;
mod lacking;
mod ledger;
mod main_loop;
mod memory;
mod meter;
mod observe;
mod outlet;
mod pace;
mod pipeline;
mod plan;
mod pool;
mod propose;
mod refused;
mod resolve;
mod serve;
mod session;
mod showing;
mod standing;
mod streams;
mod suggest;
#[cfg(test)]
mod testing;
mod told;
#[cfg(fuzzing)]
pub mod uncaged;
mod uploads;

#[cfg(fuzzing)]
pub use ignored::slow;
pub use main_loop::main;
pub use plan::{compile, matching};
