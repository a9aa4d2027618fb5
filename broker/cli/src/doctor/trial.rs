//! The proof: a real session on a directory of its own, and a real worker.

use super::{Row, State};
use crate::broker::Broker;
use crate::worker::{self, LaunchError, OWN_EXECUTABLE, PrivateDirectory, Report, Streams, Worker};
use portcullis_client::{MintOrder, ask};
use portcullis_protocol::authority::Scope;
use portcullis_protocol::ledger::CageReport;
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::verb::VerbSet;
use std::path::{Path, PathBuf};

/// Mints a session and uses it.
pub(super) fn session(gate: Option<&Path>) -> Row {
    let (state, found) = match try_session(gate) {
        Ok(cage) => (
            State::Ok,
            format!(
                "served; its gate is caged: landlock ABI {} with {} rules, seccomp mode {}, \
                 capabilities {:#x}, user {}, {} of {} attempts to get out refused",
                cage.landlock_abi,
                cage.landlock_rules,
                cage.seccomp_mode,
                cage.capabilities,
                cage.user,
                cage.probes_refused,
                cage.probes_made
            ),
        ),
        Err(error) => (State::Missing, error),
    };
    Row {
        name: "session",
        found,
        state,
        matters: "a gate that is not wholly caged is not served",
    }
}

fn try_session(gate: Option<&Path>) -> Result<CageReport, String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let directory = PrivateDirectory::new().map_err(|e| words(&e))?;
    let mut broker = Broker::to_ask(gate).map_err(|e| words(&e))?;
    let label = Label::new("doctor").map_err(|e| words(&e))?;
    let root = broker
        .control
        .seal_path(directory.inside(), label, Scope::Scratch)
        .map_err(|e| words(&e))?
        .root;
    let order = MintOrder::new("doctor")
        .request("portcullis doctor")
        .root(root, None)
        .grant(root, RelPath::root(), VerbSet::READING);
    let (minted, mut session) = broker.control.mint(&order).map_err(|e| words(&e))?;
    let selector = ask::selector(".").map_err(|e| words(&e))?;
    session.stat(&ask::stat(selector)).map_err(|e| words(&e))?;
    Ok(minted.cage)
}

/// Runs `true` as a worker.
pub(super) fn worker() -> Row {
    let (state, found) = match try_worker() {
        Ok(report) => (
            State::Ok,
            format!(
                "confined: landlock ABI {} with {} rules, seccomp with {} instructions, \
                 capabilities {:#x}, {} attempts to get out refused",
                report.landlock_abi,
                report.landlock_rules,
                report.seccomp_instructions,
                report.capabilities,
                report.probes.len()
            ),
        ),
        Err(error) => (State::Missing, error),
    };
    Row {
        name: "worker",
        found,
        state,
        matters: "a worker that is not wholly confined does not run",
    }
}

fn try_worker() -> Result<Report, String> {
    let (session, _other) = portcullis_transport::pair().map_err(|e| e.to_string())?;
    let running = worker::launch(Worker {
        command: vec!["true".into()],
        environment: Vec::new(),
        runtime: Vec::new(),
        tool: None,
        session,
        launcher: PathBuf::from(OWN_EXECUTABLE),
        streams: Streams::Own,
    })
    .map_err(|e: LaunchError| e.to_string())?;
    let report = running.report().clone();
    match running.wait() {
        Ok(ended) if ended.code == 0 => Ok(report),
        Ok(ended) => Err(format!("`true` ended with {} inside", ended.code)),
        Err(error) => Err(error.to_string()),
    }
}
