//! The worker's Landlock domain: every right this kernel can refuse is refused, but for the
//! runtime, the private directory and a few devices.

use crate::sys::{self, LandlockQuestion};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use portcullis_protocol::ledger::LANDLOCK_ABI_MIN;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// What the domain leaves open.
#[derive(Debug, Clone, Copy)]
pub(in crate::worker) struct Places<'a> {
    /// Directories and files to read and execute.
    pub(in crate::worker) runtime: &'a [Vec<u8>],
    /// Files to read.
    pub(in crate::worker) readable: &'a [Vec<u8>],
    /// The directory to do anything in but make devices and sockets.
    pub(in crate::worker) private: &'a [u8],
}

/// What the kernel was made to refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::worker) struct Domain {
    /// The kernel's ABI.
    pub(in crate::worker) abi: u32,
    /// File system rights refused unless a rule gives them.
    pub(in crate::worker) handled: u64,
    /// Rules.
    pub(in crate::worker) rules: u32,
    /// Places that do not exist here.
    pub(in crate::worker) absent: u32,
}

/// Why there is no domain.
#[derive(Debug, thiserror::Error)]
pub(in crate::worker) enum RulesError {
    /// The kernel has no Landlock.
    #[error("this kernel has no Landlock (Linux 6.2 or later is needed)")]
    NotBuilt,
    /// It has, switched off.
    #[error("Landlock is switched off on this host (add `landlock` to the `lsm=` boot parameter)")]
    SwitchedOff,
    /// Something in front of the kernel refuses it.
    #[error("Landlock cannot be asked for ({0}): a filter around this process refuses it")]
    Hidden(Errno),
    /// Too old.
    #[error("Landlock ABI {0} cannot refuse truncation; ABI {LANDLOCK_ABI_MIN} is needed")]
    TooOld(u32),
    /// A rule or the domain was refused.
    #[error("Landlock: {0}")]
    Ruleset(#[from] RulesetError),
    /// The domain is weaker than asked for.
    #[error("the Landlock domain is not wholly enforced")]
    Partial,
    /// A place could not be opened.
    #[error("cannot open a runtime path: {0}")]
    Open(Errno),
}

/// The kernel's ABI, if it is one a cage can be built from.
pub(in crate::worker) fn abi() -> Result<u32, RulesError> {
    match sys::landlock(LandlockQuestion::Version) {
        Ok(abi) if abi >= LANDLOCK_ABI_MIN => Ok(abi),
        Ok(abi) => Err(RulesError::TooOld(abi)),
        Err(Errno::NOSYS) => Err(RulesError::NotBuilt),
        Err(Errno::OPNOTSUPP) => Err(RulesError::SwitchedOff),
        Err(error) => Err(RulesError::Hidden(error)),
    }
}

/// Restricts this thread, which must be the only one.
pub(in crate::worker) fn restrict(places: Places<'_>) -> Result<Domain, RulesError> {
    let number = abi()?;
    // The crate warns against an ABI found at run time because it may enforce less than was
    // tested. Here the floor was just checked, and whatever is above it only refuses more.
    let abi = ABI::from(i32::try_from(number).unwrap_or(i32::MAX));
    let handled = AccessFs::from_all(abi);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(handled)?;
    let net = AccessNet::from_all(abi);
    if !net.is_empty() {
        ruleset = ruleset.handle_access(net)?;
    }
    let scopes = Scope::from_all(abi);
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes)?;
    }
    let mut open = Open {
        ruleset: ruleset.create()?,
        rules: 0,
        absent: 0,
    };
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    for path in places.runtime {
        open = open.at(path, read | AccessFs::Execute)?;
    }
    for path in places.readable {
        open = open.at(path, AccessFs::ReadFile.into())?;
    }
    for path in [
        &b"/dev/zero"[..],
        b"/dev/full",
        b"/dev/random",
        b"/dev/urandom",
    ] {
        open = open.at(path, AccessFs::ReadFile.into())?;
    }
    open = open.at(b"/dev/null", AccessFs::ReadFile | AccessFs::WriteFile)?;
    open = open.at(places.private, private_rights(abi))?;
    let Open {
        ruleset,
        rules,
        absent,
    } = open;
    match ruleset.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced => Ok(Domain {
            abi: number,
            handled: handled.bits(),
            rules,
            absent,
        }),
        RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced => Err(RulesError::Partial),
    }
}

/// Everything but devices, sockets, device control and execution. What the worker writes it can
/// still run through an interpreter: this is no promise about code, only the absence of a right
/// that nothing needs.
fn private_rights(abi: ABI) -> BitFlags<AccessFs> {
    let never = AccessFs::MakeChar
        | AccessFs::MakeBlock
        | AccessFs::MakeSock
        | AccessFs::IoctlDev
        | AccessFs::ResolveUnix
        | AccessFs::Execute;
    AccessFs::from_all(abi) & !never
}

struct Open {
    ruleset: RulesetCreated,
    rules: u32,
    absent: u32,
}

impl Open {
    /// Adds a rule for what `path` leads to; one that is absent is counted.
    fn at(self, path: &[u8], rights: BitFlags<AccessFs>) -> Result<Self, RulesError> {
        let object = match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Ok(object) => object,
            Err(Errno::NOENT | Errno::NOTDIR) => {
                return Ok(Self {
                    absent: self.absent + 1,
                    ..self
                });
            }
            Err(error) => return Err(RulesError::Open(error)),
        };
        let rights = rights & possible(&object)?;
        Ok(Self {
            ruleset: self.ruleset.add_rule(PathBeneath::new(object, rights))?,
            rules: self.rules + 1,
            ..self
        })
    }
}

/// Rights an object of this type can be given.
fn possible(object: &OwnedFd) -> Result<BitFlags<AccessFs>, RulesError> {
    let stat = rustix::fs::fstat(object).map_err(RulesError::Open)?;
    let file = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Execute | AccessFs::Truncate;
    Ok(
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            AccessFs::from_all(ABI::V10)
        } else {
            file
        },
    )
}
