//! Changes while other tests start programs: one that is being started holds every file that was
//! being written at that moment until it runs, so that a file may be busy for a while.

use portcullis_client::{Changed, Changes, Error, Made, Session};
use portcullis_protocol::refusal::{Code, Refusal};
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

/// An effect whose end is not known is not tried again, whatever ended it.
fn is_busy(error: &Error) -> bool {
    let busy = |refusal: &Refusal| refusal.code == Code::Busy;
    error.changed() == Changed::Unchanged && error.refusal().is_some_and(busy)
}
