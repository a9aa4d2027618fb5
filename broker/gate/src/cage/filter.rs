//! Second ring: the system calls a gate may make. Everything else is `EPERM`.
//!
//! Of the calls that open by name only `openat2` is here. Hot calls carry no argument checks, so
//! that the kernel decides them from a bitmap.

use super::{CageError, Effects, tree};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;

/// Calls a gate makes with any arguments.
const FREE: &[libc::c_long] = &[
    // files
    libc::SYS_openat2,
    libc::SYS_statx,
    libc::SYS_pread64,
    libc::SYS_read,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_close,
    libc::SYS_lseek,
    // the session and the ledger
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto, // what `sendmsg` can, and no more
    libc::SYS_shutdown,
    // memory
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    // threads
    libc::SYS_futex,
    // passes here so that the answer of the other filter, that it does not exist, stands
    libc::SYS_clone3,
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // time, signals, randomness
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_getrandom,
    libc::SYS_restart_syscall,
    // what the gate says of itself in its report
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_capget,
];

/// Calls a gate that may change files makes beside those.
const EFFECTS: &[libc::c_long] = &[
    libc::SYS_pwrite64,
    libc::SYS_ftruncate,
    libc::SYS_linkat,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_mkdirat,
    libc::SYS_symlinkat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_flistxattr,
    libc::SYS_fgetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_fremovexattr,
];

/// What `pthread_create` asks of `clone`: a thread of this process, nothing of a namespace.
const THREAD: u64 = (libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM
    | libc::CLONE_SETTLS
    | libc::CLONE_PARENT_SETTID
    | libc::CLONE_CHILD_CLEARTID) as u64;

/// Loads the filter for this thread and all it starts; gives the digest of its program.
pub(super) fn apply(effects: Effects) -> Result<[u8; 32], CageError> {
    let failed = |error: &dyn std::fmt::Display| CageError::Filter(error.to_string());
    let listed = allow_list(List::Conditional, effects).map_err(|e| failed(&e))?;
    let allow =
        tree::before(&listed, &free(effects)).ok_or_else(|| failed(&"no place for the tree"))?;
    let no_clone3 = no_clone3().map_err(|e| failed(&e))?;
    let mut digest = blake3::Hasher::new();
    for program in [&no_clone3, &allow] {
        for line in program {
            digest.update(&line.code.to_le_bytes());
            digest.update(&[line.jt, line.jf]);
            digest.update(&line.k.to_le_bytes());
        }
        seccompiler::apply_filter(program).map_err(|e| failed(&e))?;
    }
    Ok(*digest.finalize().as_bytes())
}

fn arch() -> Result<TargetArch, seccompiler::BackendError> {
    TargetArch::try_from(std::env::consts::ARCH)
}

/// `clone3` says that it does not exist, so that libc falls back to `clone`, whose flags a filter
/// can see. It goes first because the second filter forbids loading another.
fn no_clone3() -> Result<BpfProgram, seccompiler::BackendError> {
    SeccompFilter::new(
        BTreeMap::from([(libc::SYS_clone3, Vec::new())]),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS.unsigned_abs()),
        arch()?,
    )?
    .try_into()
}

/// The calls with any arguments.
fn free_calls(effects: Effects) -> impl Iterator<Item = &'static libc::c_long> {
    let further = match effects {
        Effects::None => &[],
        Effects::Some => EFFECTS,
    };
    FREE.iter().chain(further)
}

/// Their numbers: none is negative.
fn free(effects: Effects) -> Vec<u32> {
    free_calls(effects)
        .filter_map(|call| u32::try_from(*call).ok())
        .collect()
}

/// The whole list as one filter, and the same with the tree; for its tests.
#[cfg(test)]
pub(super) fn both(effects: Effects) -> (BpfProgram, BpfProgram) {
    let conditional = allow_list(List::Conditional, effects).unwrap();
    (
        allow_list(List::Whole, effects).unwrap(),
        tree::before(&conditional, &free(effects)).unwrap(),
    )
}

/// Which calls are judged one after the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    /// Those whose arguments are judged.
    Conditional,
    /// What is allowed with any arguments as well.
    #[cfg(test)]
    Whole,
}

/// Allows what is listed; everything else is `EPERM`.
fn allow_list(list: List, effects: Effects) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = match list {
        List::Conditional => BTreeMap::new(),
        #[cfg(test)]
        List::Whole => free_calls(effects)
            .map(|call| (*call, Vec::new()))
            .collect(),
    };
    let only = |conditions: Vec<SeccompCondition>| SeccompRule::new(conditions);
    let equal = |n: u8, value: u64| SeccompCondition::new(n, Len::Dword, Op::Eq, value);
    let lacks = |n: u8, mask: libc::c_int| {
        let mask = u64::from(mask.unsigned_abs());
        SeccompCondition::new(n, Len::Dword, Op::MaskedEq(mask), 0)
    };
    // clone: exactly the flags of a thread.
    rules.insert(
        libc::SYS_clone,
        vec![only(vec![SeccompCondition::new(
            0,
            Len::Qword,
            Op::Eq,
            THREAD,
        )?])?],
    );
    // Memory never becomes executable.
    rules.insert(
        libc::SYS_mmap,
        vec![only(vec![lacks(2, libc::PROT_EXEC)?])?],
    );
    rules.insert(
        libc::SYS_mprotect,
        vec![only(vec![lacks(2, libc::PROT_EXEC)?])?],
    );
    // A helper thread lowers its own priority; `who` 0 is itself.
    rules.insert(
        libc::SYS_setpriority,
        vec![only(vec![equal(0, 0)?, equal(1, 0)?])?],
    );
    // Names of threads, and reading of what the report says.
    let prctl = [
        libc::PR_SET_NAME,
        libc::PR_GET_SECCOMP,
        libc::PR_GET_NO_NEW_PRIVS,
        libc::PR_GET_DUMPABLE,
    ];
    let mut prctl_rules = Vec::new();
    for option in prctl {
        prctl_rules.push(only(vec![equal(0, u64::from(option.unsigned_abs()))?])?);
    }
    rules.insert(libc::SYS_prctl, prctl_rules);
    rules.insert(libc::SYS_fcntl, descriptor_commands(effects)?);
    SeccompFilter::new(
        rules,
        SeccompAction::Errno(libc::EPERM.unsigned_abs()),
        SeccompAction::Allow,
        arch()?,
    )?
    .try_into()
}

/// Debug builds of std look whether a descriptor is open before closing it; leases tell whether
/// somebody writes a file; a change of permission bits keeps its object for taking them back.
fn descriptor_commands(effects: Effects) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut commands = vec![libc::F_GETFD];
    match effects {
        Effects::None => {}
        Effects::Some => {
            commands.extend([libc::F_SETLEASE, libc::F_GETLEASE, libc::F_DUPFD_CLOEXEC]);
        }
    }
    let rule = |command: libc::c_int| {
        let equal =
            SeccompCondition::new(1, Len::Dword, Op::Eq, u64::from(command.unsigned_abs()))?;
        SeccompRule::new(vec![equal])
    };
    commands.into_iter().map(rule).collect()
}
