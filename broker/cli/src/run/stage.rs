//! One command on one session, stage by stage: the broker and what is reached in it, the command
//! that runs, what there is to say of it.

use super::RunError;
use super::asked::Asked;
use super::record::Record;
use super::signals::{self, Patience};
use super::summary::Summary;
use crate::args::{IgnoreArguments, Reach, SeatChoice};
use crate::broker::Broker;
use crate::reach::{Ground, Hiding, IgnoreRules, ReachError, SealedRoot, require_roots};
use crate::worker::{self, Ended, Report, Running, Streams, Worker};
use portcullis_client::Session;
use portcullis_protocol::control::{Minted, Over};
use rustix::net::Shutdown;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// How long a gate may take to say what its session did.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// How long the broker may take to answer once the command has ended.
const LAST_ANSWER: Duration = Duration::from_secs(10);

/// Holding one means: there is a broker, and what a command is to reach is sealed in it. Nothing
/// runs yet, and the signals that are for the command are blocked.
#[derive(Debug)]
pub(crate) struct Seated {
    pub(crate) broker: Broker,
    pub(crate) ground: Ground,
    /// What did not work, for people.
    pub(crate) troubles: Vec<String>,
}

/// What is to run.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) command: Vec<OsString>,
    pub(crate) environment: Vec<OsString>,
    pub(crate) runtime: Vec<PathBuf>,
    pub(crate) tool: Option<PathBuf>,
    pub(crate) streams: Streams,
}

/// Holding one means: there is a session, and nobody uses it yet.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) seated: Seated,
    minted: Minted,
    socket: OwnedFd,
}

/// Holding one means: the command was started as a confined worker of a session.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) seated: Seated,
    minted: Minted,
    /// A copy of the session's socket: shutting it down ends the session for every process that
    /// still holds it.
    kept: OwnedFd,
    report: Report,
    command: Vec<OsString>,
    runtime: Vec<PathBuf>,
}

impl Seated {
    pub(crate) fn new(
        reach: &Reach,
        ignore: &IgnoreArguments,
        seat: SeatChoice<'_>,
    ) -> Result<Self, RunError> {
        require_roots(reach)?;
        let ignored = IgnoreRules::of(ignore).map_err(ReachError::from)?;
        // Before any thread exists, so that all of them leave these signals to the one that waits.
        signals::block()?;
        let mut broker = Broker::seated(seat).map_err(ReachError::from)?;
        let ground = Ground::seal(&mut broker, reach)?.ignoring(&ignored)?;
        let troubles = broker.remark().map(str::to_owned).into_iter().collect();
        Ok(Self {
            broker,
            ground,
            troubles,
        })
    }

    /// Makes the session. `request` is what the records call it.
    pub(crate) fn mint(mut self, request: &str) -> Result<Ready, RunError> {
        let (minted, session) = self
            .ground
            .mint(&mut self.broker, request, Hiding::Hidden)?;
        Ok(Ready {
            minted,
            socket: socket_of(session)?,
            seated: self,
        })
    }
}

impl Ready {
    /// The roots that have a name of their own in the session.
    pub(crate) fn own_roots(&self) -> impl Iterator<Item = &SealedRoot> {
        let merged = self.minted.merged.as_slice();
        let own = |root: &&SealedRoot| !merged.iter().any(|one| one.inner == root.sealed.root);
        self.seated.ground.roots.iter().filter(own)
    }

    /// Starts the command.
    pub(crate) fn launch(self, job: Job) -> Result<(Launched, Running), RunError> {
        let kept = rustix::io::fcntl_dupfd_cloexec(&self.socket, 3)?;
        let running = worker::launch(Worker {
            command: job.command.clone(),
            environment: job.environment,
            runtime: job.runtime.clone(),
            tool: job.tool,
            session: self.socket,
            launcher: PathBuf::from(worker::OWN_EXECUTABLE),
            streams: job.streams,
        })?;
        let launched = Launched {
            minted: self.minted,
            kept,
            report: running.report().clone(),
            command: job.command,
            runtime: job.runtime,
            seated: self.seated,
        };
        Ok((launched, running))
    }
}

/// Waits for the command, and passes signals to this process on to it.
pub(crate) fn waited(running: Running, patience: Patience) -> Result<Ended, RunError> {
    signals::forward(running.handle()?, running.keys(), patience);
    running.wait().map_err(RunError::Wait)
}

impl Launched {
    /// Ends the session of a command that has ended, and asks what it did.
    pub(crate) fn over(self, ended: Ended) -> Summary {
        let Seated {
            mut broker,
            ground,
            mut troubles,
        } = self.seated;
        troubles.extend(ended.troubles);
        hurry(&broker, &mut troubles);
        let asked = Asked::of(&mut broker.control);
        let over = end(&mut broker, &self.minted, &self.kept, &mut troubles);
        let record = Record::of(&mut broker, self.minted.run);
        let within = broker.control.overs();
        Summary {
            command: self.command,
            code: ended.code,
            merged: ground.merged(&self.minted),
            roots: ground.roots,
            runtime: self.runtime,
            minted: self.minted,
            report: self.report,
            asked,
            over,
            within,
            record,
            troubles,
        }
    }
}

fn socket_of(session: Session) -> Result<OwnedFd, RunError> {
    session
        .into_socket()
        .map_err(|_| RunError::Client("the session was already used".to_owned()))
}

/// From here on a broker that does not answer does not hold the run: what it would have said is
/// said to be unknown.
fn hurry(broker: &Broker, troubles: &mut Vec<String>) {
    let kind = rustix::net::sockopt::Timeout::Recv;
    let set = rustix::net::sockopt::set_socket_timeout(&broker.control, kind, Some(LAST_ANSWER));
    if let Err(error) = set {
        troubles.push(format!("the broker may take as long as it likes: {error}"));
    }
}

/// Ends the session and asks what it did. Processes that the worker left behind lose it here.
fn end(
    broker: &mut Broker,
    minted: &Minted,
    kept: &OwnedFd,
    troubles: &mut Vec<String>,
) -> Option<Over> {
    if let Err(error) = rustix::net::shutdown(kept, Shutdown::Both) {
        troubles.push(format!(
            "the session socket could not be shut down: {error}"
        ));
    }
    let mut over = broker.control.wait_over(minted.session, Some(LAST_WORDS));
    if let Ok(None) = over {
        // The gate did not take its leave, so it is killed and its tally is lost.
        if let Err(error) = broker.control.end(minted.session) {
            troubles.push(format!("the session could not be ended: {error}"));
        }
        over = broker.control.wait_over(minted.session, Some(LAST_WORDS));
    }
    match over {
        Ok(over) => over,
        Err(error) => {
            troubles.push(format!("what the session did is not known: {error}"));
            None
        }
    }
}
