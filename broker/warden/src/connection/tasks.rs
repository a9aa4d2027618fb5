//! Authorities that outlive their session: kept for a task, restored, and gone on with in another
//! conversation.

use super::Connection;
use super::mint::{Above, Asked, By, New, Within};
use crate::launch::Ignore;
use crate::mint::{self, MintError, Restoring};
use crate::state::{KeptTask, NewTask, StateError, TaskError};
use portcullis_protocol::authority::{Authority, Parts};
use portcullis_protocol::control::{self, Answer, TaskId, TaskSealed};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::refusal::{Code, Refusal};
use std::io::Read;

impl Connection {
    /// Keeps what a session may do, with what is left of its budgets.
    pub(super) fn seal_task(&self, order: &control::SealTask) -> Result<Answer, Refusal> {
        let session = self.running(order.session)?;
        let authority = Authority::seal(Parts {
            budgets: session.purse.left(),
            ..session.authority.open()?.into()
        })
        .map_err(|error| MintError::from(error).refusal())?;
        let task = new_task()?;
        let new = NewTask {
            task,
            input: order.input,
            deciding: session.deciding,
            authority: &authority,
        };
        self.shared.state.keep_task(&new).map_err(no_state)?;
        Ok(Answer::TaskSealed(TaskSealed { task }))
    }

    /// Makes a session of what was kept; answered when its gate is caged.
    pub(super) fn restore(
        &mut self,
        id: RequestId,
        order: &control::Restore,
    ) -> Result<(), Refusal> {
        let not = |note: &str| Refusal::new(Code::NotRestored).noting(note);
        let kept = match self.shared.state.task(order.task) {
            Ok(Some(kept)) => kept,
            Ok(None) => return Err(not("there is no such task")),
            Err(TaskError::State(error)) => return Err(no_state(error)),
            Err(error @ (TaskError::Version(_) | TaskError::Malformed)) => {
                return Err(not(&error.to_string()));
            }
        };
        check_is_for(&kept, order)?;
        let above = order.within.map(|parent| self.above(parent)).transpose()?;
        let taken = Above::take(above.as_ref(), &kept.authority.parts().budgets);
        let how = Restoring {
            rebind: order.rebind.as_ref(),
            roots: order.roots.as_slice(),
            within: above.as_ref().map(|above| &above.authority),
            budgets: taken.given(),
        };
        let composed = mint::restore(&kept.authority, &how, &self.roots, &self.shared.own)?;
        let run_as = mint::run_as(&composed.roots).map_err(|error| error.refusal())?;
        self.start(New {
            asked: Asked::Order(id),
            composed,
            run_as,
            ignore: Ignore::new(order.ignore.clone()),
            taken,
            deciding: kept.deciding,
            within: above.map(|above| Within {
                parent: above.id,
                by: By::Runtime,
            }),
        })
        .map_err(|(refusal, _)| refusal)
    }

    /// Makes a session that goes on where another one is; answered when its gate is caged. It is
    /// where the other one is: within the same sessions, so that it ends with them.
    pub(super) fn go_on(
        &mut self,
        id: RequestId,
        order: &control::Continue,
    ) -> Result<(), Refusal> {
        let above = self.above(order.session)?;
        let session = self.running(order.session)?;
        let (run_as, deciding, within) = (session.run_as, session.deciding, session.within);
        let ignore = Ignore::clone(&session.ignore);
        // No wish: half of what is left wherever there is a limit.
        let taken = above
            .purse
            .take(&portcullis_protocol::authority::Budgets::UNLIMITED);
        let composed = mint::narrow_to_conversation(
            &above.authority,
            &order.conversation,
            &self.roots,
            taken.given(),
        )
        .map_err(|error| error.refusal())?;
        self.start(New {
            asked: Asked::Order(id),
            composed,
            run_as,
            ignore,
            taken,
            deciding,
            within,
        })
        .map_err(|(refusal, _)| refusal)
    }
}

/// Whether it is restored for what, whom and where it was kept.
fn check_is_for(kept: &KeptTask, order: &control::Restore) -> Result<(), Refusal> {
    let parts = kept.authority.parts();
    let wrong = if kept.input != order.input {
        "its input is not the one it was sealed with"
    } else if parts.owner != order.owner {
        "it was sealed for another owner"
    } else if parts.conversation != order.conversation {
        "it was sealed in another conversation"
    } else {
        return Ok(());
    };
    Err(Refusal::new(Code::NotRestored).noting(wrong))
}

fn new_task() -> Result<TaskId, Refusal> {
    let mut bits = [0; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bits))
        .map_err(|error| Refusal::new(Code::Exhausted).noting(&format!("/dev/urandom: {error}")))?;
    Ok(TaskId(bits))
}

#[expect(clippy::needless_pass_by_value, reason = "shaped for map_err")]
fn no_state(error: StateError) -> Refusal {
    Refusal::new(Code::NoLedger).noting(&error.to_string())
}
