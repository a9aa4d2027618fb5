//! The process of one attempt, in the cage or free: `own-caged caged|free PLACE ATTEMPT`. It has
//! one thread, as a gate has when it closes its cage.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [how, place, attempt] = arguments.as_slice() else {
        return ExitCode::from(255);
    };
    let caged = match how.as_str() {
        "caged" => true,
        "free" => false,
        _ => return ExitCode::from(255),
    };
    ExitCode::from(portcullis_tests::attempts::child(
        caged,
        place.as_ref(),
        attempt,
    ))
}
