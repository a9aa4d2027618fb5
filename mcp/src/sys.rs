//! The one call that the compiler cannot vouch for.

#![expect(unsafe_code, reason = "see the block")]

use std::io;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Standard input, to be waited for within a runtime. None where it cannot be waited for: a file.
pub(crate) fn standard_input() -> Option<AsyncFd<io::Stdin>> {
    let stdin = io::stdin();
    // SAFETY: the descriptor has to stay open and to stay the same one while it is registered.
    // Nothing in this process closes or replaces standard input, and `Stdin` always answers with
    // that number. No safe call exists: the one there was is deprecated, because it could not
    // demand this; `tokio::net::unix::pipe` makes a pipe non-blocking for everybody who has it.
    unsafe { AsyncFd::register_with_interest(stdin, Interest::READABLE) }.ok()
}
