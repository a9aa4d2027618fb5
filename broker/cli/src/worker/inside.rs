//! The process that becomes the worker: single threaded, it confines itself, says so, and turns
//! into the command. It runs as `portcullis __worker` with its channel as descriptor 0.

use super::cage::{self, Filter, FilterError, Places, RulesError};
use super::channel::{self, ChannelError, Delivered};
use super::plan::{Bounding, Plan, Report, Status, Terminal};
use crate::sys;
use caps::{CapSet, errors::CapsError};
use rustix::fs::Mode;
use rustix::io::{Errno, FdFlags};
use rustix::process::{Resource, Rlimit, Signal};
use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// The environment variable with the number of the session's descriptor.
pub(super) const SOCKET_VARIABLE: &str = "PORTCULLIS_SOCKET_FD";

/// Most descriptors a worker may have open. Fewer than a gate, which has fewer than the warden:
/// what a user has waiting in sockets is counted together, against the limit of who sends more, so
/// that a worker which sends all it may cannot keep the others from sending theirs.
const DESCRIPTORS: u64 = portcullis_protocol::limits::WORKER_DESCRIPTORS;

/// Confines this process and executes the command. Returns only when that failed; the launcher
/// has been told why.
pub(crate) fn main() -> ExitCode {
    let failed = ExitCode::from(super::NOT_CONFINED);
    let Ok(channel) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) else {
        return failed;
    };
    let status = match become_worker(&channel) {
        Ok(never) => match never {},
        Err(Failure::NotExecuted(error)) => Status::NotExecuted(error),
        Err(error) => Status::NotConfined(error.to_string()),
    };
    // A launcher that is gone cannot be told; the exit code says the same.
    match channel::send_status(&channel, &status) {
        Ok(()) | Err(_) => failed,
    }
}

enum Never {}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the plan did not arrive: {0}")]
    Channel(#[from] ChannelError),
    #[error("{step}: {error}")]
    Step { step: &'static str, error: Errno },
    #[error("capabilities: {0}")]
    Capabilities(#[from] CapsError),
    #[error(transparent)]
    Rules(#[from] RulesError),
    #[error(transparent)]
    Filter(#[from] FilterError),
    #[error("this process has {0} threads, one is needed")]
    Threads(usize),
    #[error("the launcher is gone")]
    Orphaned,
    #[error("the cage is not whole: {0}")]
    NotWhole(String),
    #[error("the command could not be executed")]
    NotExecuted(i32),
}

trait Named<T> {
    /// The error, with the step it belongs to.
    fn named(self, step: &'static str) -> Result<T, Failure>;
}

impl<T> Named<T> for Result<T, Errno> {
    fn named(self, step: &'static str) -> Result<T, Failure> {
        self.map_err(|error| Failure::Step { step, error })
    }
}

fn become_worker(channel: &OwnedFd) -> Result<Never, Failure> {
    let Delivered {
        plan,
        input,
        output,
        error,
        session,
    } = channel::receive_plan(channel)?;
    die_with_launcher(&plan)?;
    one_thread()?;
    let filter = Filter::build()?;
    let instructions = filter.instructions();

    rustix::stdio::dup2_stdin(&input).named("standard input")?;
    rustix::stdio::dup2_stdout(&output).named("standard output")?;
    rustix::stdio::dup2_stderr(&error).named("standard error")?;
    drop((input, output, error));
    sys::close_on_exec_from(3).named("close descriptors")?;
    rustix::io::fcntl_setfd(&session, FdFlags::empty()).named("session socket")?;

    match plan.terminal {
        Terminal::Passed => {}
        Terminal::None => drop(rustix::process::setsid().named("own session")?),
    }
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    rustix::process::chdir(plan.private.as_slice()).named("private directory")?;
    limit_resources()?;
    sys::reset_signals().named("signals")?;
    let bounding = drop_capabilities()?;
    // PR_SET_DUMPABLE is not set here: exec of a readable file would set it again. What it would
    // refuse (tracing from outside) is the user's own right over the user's own process.
    rustix::thread::set_no_new_privs(true).named("no_new_privs")?;
    let domain = cage::restrict(Places {
        runtime: &plan.runtime,
        readable: &plan.readable,
        private: &plan.private,
    })?;
    filter.install()?;

    let (no_new_privs, seccomp_mode) = sys::no_new_privs_and_seccomp().named("observe")?;
    let report = Report {
        landlock_abi: domain.abi,
        landlock_handled: domain.handled,
        landlock_rules: domain.rules,
        runtime_absent: domain.absent,
        seccomp_instructions: instructions,
        seccomp_mode,
        no_new_privs,
        capabilities: capabilities_left()?,
        bounding,
        probes: cage::probe(plan.launcher, &plan.canary, domain.abi),
    };
    if !report.is_whole() {
        let broken: Vec<&str> = report.broken().map(|probe| probe.what.as_str()).collect();
        return Err(Failure::NotWhole(broken.join(", ")));
    }
    channel::send_status(channel, &Status::Confined(report))?;
    Err(execute(plan, &session))
}

/// From here on the worker dies when its launcher does, also when that is killed.
fn die_with_launcher(plan: &Plan) -> Result<(), Failure> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).named("death signal")?;
    let parent = rustix::process::Pid::as_raw(rustix::process::getppid());
    if parent == plan.launcher {
        Ok(())
    } else {
        Err(Failure::Orphaned)
    }
}

/// Landlock and capabilities bind one thread only; another would stay free.
fn one_thread() -> Result<(), Failure> {
    match std::fs::read_dir("/proc/self/task") {
        Ok(tasks) => match tasks.count() {
            1 => Ok(()),
            threads => Err(Failure::Threads(threads)),
        },
        // Without /proc nothing can be counted; this program starts no thread before this line.
        Err(_) => Ok(()),
    }
}

fn limit_resources() -> Result<(), Failure> {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    rustix::process::setrlimit(Resource::Core, none).named("core limit")?;
    let now = rustix::process::getrlimit(Resource::Nofile);
    let at_most = |limit: Option<u64>| Some(limit.map_or(DESCRIPTORS, |n| n.min(DESCRIPTORS)));
    let limit = Rlimit {
        current: at_most(now.current),
        maximum: at_most(now.maximum),
    };
    rustix::process::setrlimit(Resource::Nofile, limit).named("descriptor limit")
}

/// Leaves no capability, and no way to regain one by being user 0.
fn drop_capabilities() -> Result<Bounding, Failure> {
    let mut bounding = Bounding::Kept;
    if caps::has_cap(None, CapSet::Effective, caps::Capability::CAP_SETPCAP)? {
        sys::lock_secure_bits().named("secure bits")?;
        caps::clear(None, CapSet::Bounding)?;
        bounding = Bounding::Empty;
    }
    caps::clear(None, CapSet::Ambient)?;
    caps::clear(None, CapSet::Effective)?;
    caps::clear(None, CapSet::Permitted)?;
    caps::clear(None, CapSet::Inheritable)?;
    Ok(bounding)
}

fn capabilities_left() -> Result<u64, Failure> {
    let sets = rustix::thread::capabilities(None).named("observe capabilities")?;
    Ok((sets.effective | sets.permitted | sets.inheritable).bits())
}

fn execute(plan: Plan, session: &OwnedFd) -> Failure {
    let text = |bytes: Vec<u8>| OsString::from_vec(bytes);
    let mut command = Command::new(text(plan.program));
    let mut arguments = plan.arguments.into_iter();
    if let Some(name) = arguments.next() {
        command.arg0(text(name));
    }
    command.args(arguments.map(text)).env_clear();
    command.envs(
        plan.environment
            .into_iter()
            .map(|(k, v)| (text(k), text(v))),
    );
    command.env(SOCKET_VARIABLE, session.as_fd().as_raw_fd().to_string());
    let error = command.exec();
    Failure::NotExecuted(error.raw_os_error().unwrap_or(0))
}
