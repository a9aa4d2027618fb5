//! Asking again when requests of a process that was killed still fill the session.
//!
//! They are told to stop as their answers come in; until then a walk or a long read of ours is
//! refused. It is refused before anything of it was shown, so it can be asked again whole.

use crate::error::{Error, ErrorCode};
use portcullis_protocol::refusal::Code;
use std::time::{Duration, Instant};

/// How long it is tried.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long is waited before it is tried again. Every try that is refused is counted by the gate.
const PAUSE: Duration = Duration::from_millis(100);

/// Makes an attempt, and others while the session is full.
pub(super) fn patiently<T>(mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match attempt() {
            Err(error) if is_full(&error) && Instant::now() < deadline => {
                std::thread::sleep(PAUSE);
            }
            answer => return answer,
        }
    }
}

/// Only of a refusal: a change that was begun is never asked for again.
fn is_full(error: &Error) -> bool {
    matches!(error.code(), ErrorCode::Refused(refusal) if refusal.code == Code::TooManyInFlight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_protocol::refusal::Refusal;

    #[test]
    fn only_a_full_session_is_asked_again() {
        let mut answers = [
            Err(Refusal::new(Code::TooManyInFlight).into()),
            Err(Refusal::new(Code::TooManyInFlight).into()),
            Ok(1),
        ]
        .into_iter();
        assert_eq!(patiently(|| answers.next().unwrap()), Ok(1));
        let mut asked = 0;
        let error = patiently(|| -> Result<(), Error> {
            asked += 1;
            Err(Refusal::new(Code::Contended).into())
        });
        assert_eq!((error.unwrap_err().code_name(), asked), ("contended", 1));
    }
}
