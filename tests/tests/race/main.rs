//! Names that change while they are used: an attacker swaps what they lead to, as fast as the
//! kernel lets it, while a client asks. Nothing outside the root is ever shown; everything that
//! came of it is counted and printed; and the same attack and client catch a server that checks
//! paths.
//!
//! `PORTCULLIS_RACE_ATTEMPTS` sets how many attempts are made in all; at least 200,000 without it.

mod directories;
mod drive;
mod files;
mod scenario;
mod tally;
