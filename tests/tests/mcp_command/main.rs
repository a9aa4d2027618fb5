//! `portcullis mcp` as clients use it: the real command, started with pipes, with a stand-in for the
//! server that does what a test tells it, also what no honest server would.
//!
//! | what | where |
//! |---|---|
//! | it serves, and ends and leaves nothing | `serving` |
//! | it starts as the reference filesystem server does | `starting` |
//! | what it writes for clients starts it | `configs` |
//! | the client is asked beside a result, and decides | `asking` |
//! | the client is asked in place of a result, and decides | `returning` |
//! | a hostile server gets nothing approved | `hostile` |

mod asking;
mod client;
mod configs;
mod hostile;
#[path = "../command/place.rs"]
#[expect(dead_code, reason = "shared with another suite, which uses all of it")]
mod place;
mod returning;
mod serving;
mod starting;
