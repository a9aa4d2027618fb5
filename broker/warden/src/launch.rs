//! Starting a gate, for whatever it is for: its process, its setup, and the proof of its cage.

use crate::mark::Mark;
use crate::root::SealedRoot;
use crate::shared::Shared;
use crate::socket::Socket;
use crate::spawn::Gate;
use portcullis_protocol::authority::Authority;
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{
    Ancestor, CageReport, Command, Duty, Event, LANDLOCK_ABI_MIN, RunAs, Setup,
};
use portcullis_protocol::limits::{IGNORE_BYTES_MAX, LINEAGE_MAX};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Incarnation, SessionId};
use portcullis_transport::{LedgerSide, TransportError};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Rules of ignore files that hold in every root of a session: the runtime's word, for all gates of
/// the session and of those delegated from it.
pub(crate) type Ignore = Arc<Bytes<IGNORE_BYTES_MAX>>;

/// What a gate is started with.
pub(crate) struct Launch<'a> {
    pub(crate) incarnation: Incarnation,
    pub(crate) session: SessionId,
    pub(crate) authority: &'a Authority,
    pub(crate) roots: &'a [Arc<SealedRoot>],
    pub(crate) run_as: Option<RunAs>,
    pub(crate) duty: Duty,
    /// The sessions it was made within, the nearest first.
    pub(crate) lineage: Few<Ancestor, LINEAGE_MAX>,
    /// None for a gate that walks nothing.
    pub(crate) ignore: Option<&'a Ignore>,
}

impl Launch<'_> {
    fn setup(&self, shared: &Shared) -> Setup {
        Setup {
            authority: self.authority.clone(),
            incarnation: self.incarnation,
            session: self.session,
            limits: shared.terms.limits,
            run_as: self.run_as,
            duty: self.duty.clone(),
            lineage: self.lineage.clone(),
            ignore: self
                .ignore
                .map(|rules| Bytes::clone(rules))
                .unwrap_or_default(),
        }
    }
}

/// A gate whose cage is whole.
pub(crate) struct Caged {
    pub(crate) gate: Gate,
    pub(crate) ledger: Socket<LedgerSide>,
    pub(crate) cage: CageReport,
    pub(crate) mark: Mark,
}

/// A gate that could not be had, and what there is of it.
pub(crate) struct Unmade {
    why: Refusal,
    gate: Option<Gate>,
}

impl Unmade {
    pub(crate) fn exhausted(what: &str, error: &dyn std::fmt::Display) -> Self {
        Self {
            why: Refusal::new(Code::Exhausted).noting(&format!("{what}: {error}")),
            gate: None,
        }
    }

    fn unconfined(gate: Option<Gate>, note: &str) -> Self {
        Self {
            why: Refusal::new(Code::NotConfined).noting(note),
            gate,
        }
    }

    /// The refusal, once its gate is gone.
    pub(crate) async fn refused(self) -> Refusal {
        if let Some(gate) = self.gate {
            gate.end(Duration::ZERO).await;
        }
        self.why
    }
}

/// Starts a gate and waits until it is caged, all within the deadline for that. `served` is the
/// session socket, if it is to serve one; no copy of it stays here, because a worker's socket
/// must close when its gate does.
pub(crate) async fn launch(
    shared: &Shared,
    launch: &Launch<'_>,
    served: Option<OwnedFd>,
) -> Result<Caged, Unmade> {
    let deadline = shared.terms.mint_deadline;
    match timeout(deadline, start(shared, launch, served)).await {
        Ok(started) => started,
        Err(_) => Err(Unmade::unconfined(
            None,
            &format!("the gate was not caged within {} ms", deadline.as_millis()),
        )),
    }
}

async fn start(
    shared: &Shared,
    launch: &Launch<'_>,
    served: Option<OwnedFd>,
) -> Result<Caged, Unmade> {
    let sockets = |error: TransportError| Unmade::exhausted("the session's sockets", &error);
    let (ours, theirs) = portcullis_transport::pair().map_err(sockets)?;
    let ledger = Socket::<LedgerSide>::new(ours).map_err(sockets)?;
    let mark = Mark::new().map_err(|errno| Unmade::exhausted("the gate's mark", &errno))?;
    let gate = match shared.spawner.spawn(theirs).await {
        Ok(gate) => gate,
        Err(error) => return Err(not_started(&error)),
    };
    // In the order that the protocol says: the session socket, the roots, the lock of all gates, the
    // mark.
    let mut descriptors: Vec<_> = served.iter().map(AsFd::as_fd).collect();
    descriptors.extend(launch.roots.iter().map(|root| root.directory()));
    descriptors.extend([shared.state.gates(), mark.as_fd()]);
    let setup = Command::Setup(launch.setup(shared));
    let deadline = shared.terms.mint_deadline;
    let sent = ledger
        .send(RequestId::NONE, &setup, &descriptors, deadline)
        .await;
    drop(served);
    if let Err(error) = sent {
        let note = format!("the gate's setup: {error}");
        return Err(Unmade::unconfined(Some(gate), &note));
    }
    let wrong = match ledger.receive(&shared.buffer).await {
        Ok(event) => match event.message {
            Event::Ready(cage) => match missing(&cage, launch.run_as) {
                None => {
                    return Ok(Caged {
                        gate,
                        ledger,
                        cage,
                        mark,
                    });
                }
                Some(missing) => missing,
            },
            Event::Fault(fault) if fault.code == Code::BadPattern => {
                return Err(Unmade {
                    why: Refusal::new(Code::BadPattern).noting(fault.what.as_str()),
                    gate: Some(gate),
                });
            }
            Event::Fault(fault) => fault.what.as_str().to_owned(),
            Event::Refused(_)
            | Event::Finished(_)
            | Event::Begin(_)
            | Event::Amend(_)
            | Event::Unlock(_)
            | Event::Finish(_)
            | Event::Seen(_)
            | Event::Delegate(_)
            | Event::EndDelegated(_)
            | Event::Propose(_)
            | Event::Bound(_)
            | Event::Unbound(_)
            | Event::Claim(_) => "the gate served before its cage".to_owned(),
        },
        Err(error) => format!("the gate ended before it was caged: {error}"),
    };
    Err(Unmade::unconfined(Some(gate), &wrong))
}

fn not_started(error: &io::Error) -> Unmade {
    match Errno::from_io_error(error) {
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN) => {
            Unmade::exhausted("the gate was not started", error)
        }
        Some(_) | None => Unmade::unconfined(None, &format!("the gate was not started: {error}")),
    }
}

/// What a cage lacks, if it lacks something.
fn missing(cage: &CageReport, run_as: Option<RunAs>) -> Option<String> {
    let expected = run_as.unwrap_or(RunAs {
        user: rustix::process::geteuid().as_raw(),
        group: rustix::process::getegid().as_raw(),
    });
    let is = RunAs {
        user: cage.user,
        group: cage.group,
    };
    if is != expected {
        return Some(format!(
            "the gate runs as {}:{} instead of {}:{}",
            is.user, is.group, expected.user, expected.group
        ));
    }
    (!cage.is_whole()).then(|| {
        format!(
            "the gate's cage is not whole: landlock ABI {} of at least {LANDLOCK_ABI_MIN}, \
             handled rights {:#x}, seccomp mode {}, no_new_privs {}, capabilities {:#x}, \
             dumpable {}, probes refused {} of {}",
            cage.landlock_abi,
            cage.landlock_handled,
            cage.seccomp_mode,
            cage.no_new_privs,
            cage.capabilities,
            cage.dumpable,
            cage.probes_refused,
            cage.probes_made
        )
    })
}
