//! File system and process calls: the only place that makes them, so that each is seen once and
//! tests can put faults here.

pub mod cage;
pub mod change;
pub mod directory;
pub mod fault;
pub mod file;
pub mod mark;
pub mod meta;
pub mod open;
