//! The cage: what the kernel will refuse this process for the rest of its life.
//!
//! Closed in one place, in one order, while there is one thread; then tried from inside. Holding
//! a [`Caged`] means that every step was enforced whole and every probe was refused.

mod filter;
mod landlock;
mod tree;

use crate::sys;
use crate::sys::open::Purpose;
use portcullis_protocol::ledger::{CageReport, LANDLOCK_ABI_MIN, RunAs};
use portcullis_protocol::limits::{GATE_DESCRIPTORS, WRITE_BYTES_MAX};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::verb::{Verb, VerbSet};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, Signal};
use rustix::thread::{Gid, Uid};
use std::os::fd::{AsFd, OwnedFd};

/// Writable memory a gate may have, in bytes. A search that wants more ends its own session.
const DATA_BYTES: u64 = 1 << 30;

/// A subtree the cage lets the gate reach, and what for.
#[derive(Debug)]
pub struct Subtree {
    /// The directory, opened before the cage is closed.
    pub directory: OwnedFd,
    /// The verbs granted there: their needs are the rights of its rule.
    pub verbs: VerbSet,
}

impl Subtree {
    /// Leaves what is needed to look and nothing to change anything.
    pub fn only_read(&mut self) {
        self.verbs = VerbSet::of(&[Verb::Stat, Verb::Read]);
    }

    /// The same, and what is needed to look into directories.
    pub fn only_show(&mut self) {
        self.verbs = VerbSet::of(&[Verb::Stat, Verb::Read, Verb::List]);
    }
}

/// Whether a gate may change anything at all: one that may not has no call for it either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effects {
    None,
    Some,
}

impl Effects {
    fn of(subtrees: &[Subtree]) -> Self {
        let writes = |s: &Subtree| !s.verbs.meet(VerbSet::WRITING).is_empty();
        if subtrees.iter().any(writes) {
            Self::Some
        } else {
            Self::None
        }
    }
}

/// Proof that the cage is closed. Made only by [`close`].
#[derive(Debug)]
pub struct Caged {
    report: CageReport,
}

impl Caged {
    /// What was observed from inside.
    pub const fn report(&self) -> &CageReport {
        &self.report
    }
}

/// Why the cage was not closed. The process must not serve.
#[derive(Debug, thiserror::Error)]
pub enum CageError {
    /// The kernel has no Landlock, or it is switched off, or asking is forbidden.
    #[error("Landlock is not available: {0}")]
    NoLandlock(Errno),
    /// The kernel's Landlock is too old.
    #[error("Landlock ABI {0}, at least {LANDLOCK_ABI_MIN} is needed (Linux 6.2)")]
    OldLandlock(u32),
    /// A Landlock step failed or was enforced in part.
    #[error("Landlock: {0}")]
    Landlock(String),
    /// The filter could not be built or loaded.
    #[error("seccomp: {0}")]
    Filter(String),
    /// Capabilities could not be dropped.
    #[error("capabilities: {0}")]
    Capabilities(String),
    /// Another step failed.
    #[error("{step}: {errno}")]
    Step {
        /// Which.
        step: &'static str,
        /// Why.
        errno: Errno,
    },
    /// More threads than one: the cage would not hold the others.
    #[error("the process has more than one thread")]
    Threads,
}

/// Gives up the user, group and every supplementary group of the starter for those of the roots'
/// owner. Before [`close`], because it needs the capabilities that close drops.
pub fn become_user(run_as: RunAs) -> Result<(), CageError> {
    let step = |step: &'static str| move |errno| CageError::Step { step, errno };
    let (user, group) = (Uid::from_raw(run_as.user), Gid::from_raw(run_as.group));
    rustix::thread::set_thread_groups(&[]).map_err(step("drop groups"))?;
    rustix::thread::set_thread_res_gid(group, group, group).map_err(step("set group"))?;
    rustix::thread::set_thread_res_uid(user, user, user).map_err(step("set user"))?;
    Ok(())
}

/// Closes the cage around this process. Irreversible.
pub fn close(subtrees: &[Subtree]) -> Result<Caged, CageError> {
    let step = |step: &'static str| move |errno| CageError::Step { step, errno };
    // A gate must not outlive its warden. Set here because a change of user clears it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(step("death signal"))?;
    sys::meta::ignore_broken_leases().map_err(step("ignore SIGIO"))?;
    sys::meta::ignore_size_limits().map_err(step("ignore SIGXFSZ"))?;
    // Its own user must not trace it or read its memory and descriptors through /proc.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .map_err(step("dumpable"))?;
    // What is made is for its owner to change and for others to read, as the defaults of its
    // directory allow.
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let effects = Effects::of(subtrees);
    let file_bytes = match effects {
        Effects::None => 0,
        Effects::Some => WRITE_BYTES_MAX,
    };
    for (resource, to) in [
        (Resource::Nofile, GATE_DESCRIPTORS),
        (Resource::Core, 0),
        (Resource::Data, DATA_BYTES),
        (Resource::Fsize, file_bytes),
    ] {
        sys::cage::limit(resource, to).map_err(step("resource limit"))?;
    }
    drop_capabilities()?;
    rustix::thread::set_no_new_privs(true).map_err(step("no_new_privs"))?;
    let (landlock_abi, landlock_handled) = landlock::restrict(subtrees)?;
    let seccomp_digest = filter::apply(effects)?;
    // A cage that refuses everything is none either: what a gate is for must still work, or
    // every refusal below would only show that something else refuses the call.
    if let Some(subtree) = subtrees.first() {
        match sys::open::below(subtree.directory.as_fd(), &RelPath::root(), Purpose::Look) {
            // Of a file the kernel says that it is none, where it would refuse the call itself.
            Ok(_) | Err(Errno::NOTDIR) => {}
            Err(errno) => return Err(step("openat2 inside the cage")(errno)),
        }
    }
    let (probes_made, probes_refused) = probe();
    Ok(Caged {
        report: CageReport {
            landlock_abi,
            landlock_handled,
            landlock_rules: u32::try_from(subtrees.len()).unwrap_or(u32::MAX),
            seccomp_mode: seccomp_mode(),
            seccomp_digest,
            no_new_privs: u32::from(rustix::thread::no_new_privs().unwrap_or(false)),
            capabilities: capabilities(),
            dumpable: dumpable(),
            user: rustix::process::getuid().as_raw(),
            group: rustix::process::getgid().as_raw(),
            probes_refused,
            probes_made,
        },
    })
}

/// What the verbs of a grant need of the kernel, beside looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// To open files for reading: to show content, or to compare and record what is replaced.
    Content,
    /// To list directories.
    Names,
    /// To make, fill, exchange and remove files.
    Files,
    /// To make, rename and remove directories.
    Directories,
    /// To make, rename and remove links.
    Links,
    /// To rename from one directory to another.
    Across,
}

/// What one verb needs, and no more. What takes a change back is part of the change.
const fn needs(verb: Verb) -> &'static [Need] {
    match verb {
        Verb::Stat | Verb::Chmod => &[],
        Verb::Read => &[Need::Content],
        Verb::List | Verb::Glob => &[Need::Names],
        Verb::Search => &[Need::Content, Need::Names],
        Verb::Write | Verb::Edit => &[Need::Content, Need::Files],
        Verb::Mkdir => &[Need::Directories],
        Verb::Move => &[
            Need::Content,
            Need::Names,
            Need::Files,
            Need::Directories,
            Need::Links,
            Need::Across,
        ],
        Verb::Delete | Verb::DeleteTree => &[
            Need::Content,
            Need::Names,
            Need::Files,
            Need::Directories,
            Need::Links,
        ],
        Verb::Link => &[Need::Links],
    }
}

fn drop_capabilities() -> Result<(), CageError> {
    use caps::CapSet;
    let failed = |error: caps::errors::CapsError| CageError::Capabilities(error.to_string());
    // The bounding set first, because dropping from it needs a capability. Without that one
    // nothing can be gained anyway: no_new_privs is set and nothing is executed.
    if caps::has_cap(None, CapSet::Effective, caps::Capability::CAP_SETPCAP).map_err(failed)? {
        caps::clear(None, CapSet::Bounding).map_err(failed)?;
    }
    for set in [
        CapSet::Ambient,
        CapSet::Inheritable,
        CapSet::Effective,
        CapSet::Permitted,
    ] {
        caps::clear(None, set).map_err(failed)?;
    }
    Ok(())
}

/// Everything this process holds. Ambient ones are always permitted ones too, so they need no
/// look of their own.
fn capabilities() -> u64 {
    use caps::CapSet;
    let mut all = 0;
    for set in [CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        // What cannot be read counts as everything, so that the report is not whole.
        all |= caps::read(None, set).map_or(u64::MAX, |set| {
            set.iter().fold(0, |bits, cap| bits | cap.bitmask())
        });
    }
    all
}

fn seccomp_mode() -> u32 {
    match rustix::thread::secure_computing_mode() {
        Ok(rustix::thread::SecureComputingMode::Filter) => 2,
        Ok(rustix::thread::SecureComputingMode::Strict) => 1,
        Ok(rustix::thread::SecureComputingMode::Disabled) => 0,
        Err(_) => u32::MAX,
    }
}

fn dumpable() -> u32 {
    match rustix::process::dumpable_behavior() {
        Ok(rustix::process::DumpableBehavior::NotDumpable) => 0,
        Ok(_) | Err(_) => 1,
    }
}

/// Tries what a caged gate must be refused; gives how many were tried and how many refused. `/`
/// can never be sealed, so no grant allows it.
fn probe() -> (u32, u32) {
    let list = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let anywhere = rustix::fs::ResolveFlags::empty();
    let cwd = rustix::fs::CWD;
    let results = [
        rustix::fs::openat2(cwd, "/", list, Mode::empty(), anywhere).map(drop),
        rustix::fs::openat(cwd, ".", list, Mode::empty()).map(drop),
        rustix::net::socket(
            rustix::net::AddressFamily::UNIX,
            rustix::net::SocketType::STREAM,
            None,
        )
        .map(drop),
        Err(sys::cage::try_exec()),
    ];
    // Only these two say that the cage refused; ENOENT, say, would mean that it did not.
    let refused = |r: &&Result<(), Errno>| matches!(r, Err(Errno::ACCESS | Errno::PERM));
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    (
        count(results.len()),
        count(results.iter().filter(refused).count()),
    )
}
