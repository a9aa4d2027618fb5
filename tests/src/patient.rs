//! Changes while other tests start programs: one that is being started holds every file that was
//! being written at that moment until it runs, so that a file may be busy for a while.

use portcullis_client::{Changes, Error, ErrorCode, Made, Session};
use portcullis_protocol::refusal::Code;
use std::time::Duration;

/// What the session answers when nothing is busy any more.
pub fn patiently(session: &mut Session, changes: &Changes) -> Result<Made, Error> {
    for _ in 0..1000 {
        match session.change(changes) {
            Err(error) if is_busy(&error) => std::thread::sleep(Duration::from_millis(1)),
            ended => return ended,
        }
    }
    session.change(changes)
}

fn is_busy(error: &Error) -> bool {
    let code = match error.code() {
        ErrorCode::Refused(refusal) => Some(refusal.code),
        ErrorCode::Failed(changed) => changed.refusal.as_ref().map(|refusal| refusal.code),
        ErrorCode::Closed(_)
        | ErrorCode::Protocol(_)
        | ErrorCode::Stalled
        | ErrorCode::Io(_)
        | ErrorCode::TooLarge(_)
        | ErrorCode::Invalid(_)
        | ErrorCode::CannotOpen(..)
        | ErrorCode::NoSession(_)
        | ErrorCode::Uncertain(_)
        | ErrorCode::Unanswered(_) => None,
    };
    code == Some(Code::Busy)
}
