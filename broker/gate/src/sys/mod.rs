//! File system and process calls: the only place that makes them, so that each is seen once and
//! tests can put faults here.

pub mod cage;
pub mod directory;
pub mod file;
pub mod open;
