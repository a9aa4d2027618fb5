//! Changes while others change the same tree: processes outside the broker that swap names as fast
//! as the kernel lets them, and other sessions. Nothing outside the root is changed, no version of
//! anybody else is thrown away without a receipt that names it, no temporary stays without being
//! said; everything that came of it is counted and printed; and the same attacks and client catch
//! a server that checks paths.
//!
//! `PORTCULLIS_RACE_ATTEMPTS` sets how many attempts are made in all; at least 200,000 without it.

mod attack;
mod drive;
mod fairness;
mod parents;
mod scenario;
mod sessions;
mod tally;
mod targets;
mod together;
mod tree;
mod trees;
