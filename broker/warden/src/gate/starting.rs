//! From a session that is to be to a gate that serves it.

use super::Session;
use crate::effect::{Turns, Writer};
use crate::launch::{Caged, Launch, Unmade, launch};
use crate::mark::Mark;
use crate::proposals::{Asker, Family, SocketId};
use crate::shared::Shared;
use crate::socket::Socket;
use crate::spawn::Gate;
use crate::state::{NewSession, SessionRow, StateError};
use portcullis_protocol::authority::{Denial, Effect};
use portcullis_protocol::ledger::{CageReport, Duty};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_transport::LedgerSide;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
/// A gate that is caged and serves, and its session in the journal.
pub(super) struct Started {
    pub(super) gate: Gate,
    pub(super) ledger: Socket<LedgerSide>,
    pub(super) worker: OwnedFd,
    pub(super) cage: CageReport,
    pub(super) mark: Mark,
    pub(super) row: SessionRow,
    pub(super) socket: SocketId,
}

/// What a session needs to ask for something; none where nothing is to be asked for.
pub(super) fn asker(session: &Session, row: SessionRow, socket: SocketId) -> Option<Asker> {
    let parts = session.authority.parts();
    let asks = |denial: &Denial| denial.effect == Effect::Ask;
    let outermost = session.lineage.as_slice().last();
    (!parts.asks.is_empty() || parts.denials.iter().any(asks)).then(|| Asker {
        session: session.id,
        family: Family(outermost.map_or(session.id, |outermost| outermost.session)),
        row,
        run: session.run,
        reviewing: session.reviewing,
        kept: Arc::clone(&session.kept),
        roots: session.roots.clone(),
        run_as: session.run_as,
        ignore: Arc::clone(&session.ignore),
        socket,
        purse: Arc::clone(&session.purse),
        turns: Turns::new(),
    })
}

pub(super) async fn start(shared: &Shared, session: &Session) -> Result<Started, Refusal> {
    let (worker, served) = match portcullis_transport::pair() {
        Ok(pair) => pair,
        Err(error) => {
            let unmade = Unmade::exhausted("the session's sockets", &error);
            return Err(unmade.refused().await);
        }
    };
    let socket = match SocketId::of(served.as_fd()) {
        Ok(socket) => socket,
        Err(error) => {
            let unmade = Unmade::exhausted("the session's sockets", &error);
            return Err(unmade.refused().await);
        }
    };
    let how = Launch {
        incarnation: shared.incarnation,
        session: session.id,
        authority: &session.authority,
        roots: &session.roots,
        run_as: session.run_as,
        duty: Duty::Serve,
        lineage: session.lineage.clone(),
        ignore: Some(&session.ignore),
    };
    let Caged {
        gate,
        ledger,
        cage,
        mark,
    } = match launch(shared, &how, Some(served)).await {
        Ok(caged) => caged,
        Err(unmade) => return Err(unmade.refused().await),
    };
    match begin(shared, session, &cage) {
        Ok(row) => Ok(Started {
            gate,
            ledger,
            worker,
            cage,
            mark,
            row,
            socket,
        }),
        Err(error) => {
            gate.end(Duration::ZERO).await;
            Err(Refusal::new(Code::NoLedger).noting(&error.to_string()))
        }
    }
}

fn begin(shared: &Shared, session: &Session, cage: &CageReport) -> Result<SessionRow, StateError> {
    let may_write = Writer::approved(&session.authority, session.means()).is_some();
    shared.state.begin_session(&NewSession {
        run: session.run,
        incarnation: shared.incarnation,
        session: session.id,
        authority: &session.authority,
        encoded: may_write.then(|| session.kept.encoded()),
        cage,
    })
}
