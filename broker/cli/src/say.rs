//! Words to people and programs. A stream that is closed changes nothing about what was done, so
//! it changes no exit code either; `println!` would panic.

use std::fmt::Display;
use std::io::Write;

/// One line to standard output.
pub(crate) fn out(line: impl Display) {
    match writeln!(std::io::stdout().lock(), "{line}") {
        Ok(()) | Err(_) => {}
    }
}

/// One line to standard error, in one write, so that lines of several processes stay whole.
pub(crate) fn err(line: impl Display) {
    match std::io::stderr()
        .lock()
        .write_all(format!("{line}\n").as_bytes())
    {
        Ok(()) | Err(_) => {}
    }
}
