//! The system calls of a worker: what an ordinary program, shell, interpreter or compiler needs.
//!
//! Absent on purpose, so refused with `EPERM`: every way to a socket but a connected pair, other
//! processes' memory and descriptors, io_uring, namespaces and mounts, name watching, file
//! handles, keyrings, System V and POSIX message queues and shared memory, kernel administration,
//! execution of a descriptor, and everything that changes a mode, an owner, a time or an
//! attribute, because Landlock does not judge those and the user's own files (or, run by root,
//! the system's) are in reach of their names.

// Tables are laid out by hand: one call a line would hide what belongs together.

use libc::c_long;

/// Allowed whatever the arguments. Calls made often stay here: the kernel answers them from a
/// table, without running the program.
#[rustfmt::skip]
pub(super) const PLAIN: &[c_long] = &[
    // open descriptors
    libc::SYS_read, libc::SYS_write, libc::SYS_readv, libc::SYS_writev,
    libc::SYS_pread64, libc::SYS_pwrite64, libc::SYS_preadv, libc::SYS_pwritev,
    libc::SYS_preadv2, libc::SYS_pwritev2, libc::SYS_close, libc::SYS_close_range,
    libc::SYS_lseek, libc::SYS_dup, libc::SYS_dup3, libc::SYS_pipe2, libc::SYS_splice,
    libc::SYS_tee, libc::SYS_vmsplice, libc::SYS_sendfile, libc::SYS_copy_file_range,
    libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_sync_file_range, libc::SYS_syncfs,
    libc::SYS_ftruncate, libc::SYS_fallocate, libc::SYS_fadvise64, libc::SYS_readahead,
    libc::SYS_flock, libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2, libc::SYS_eventfd2,
    libc::SYS_signalfd4, libc::SYS_timerfd_create, libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime, libc::SYS_memfd_create,
    // names: Landlock judges what is opened and changed
    libc::SYS_openat, libc::SYS_openat2, libc::SYS_newfstatat, libc::SYS_fstat, libc::SYS_statx,
    libc::SYS_statfs, libc::SYS_fstatfs, libc::SYS_faccessat, libc::SYS_faccessat2,
    libc::SYS_readlinkat, libc::SYS_getdents64, libc::SYS_getcwd, libc::SYS_chdir,
    libc::SYS_fchdir, libc::SYS_umask, libc::SYS_mkdirat, libc::SYS_unlinkat,
    libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_linkat, libc::SYS_symlinkat,
    libc::SYS_truncate, libc::SYS_fgetxattr, libc::SYS_flistxattr,
    // memory
    libc::SYS_brk, libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_mprotect,
    libc::SYS_madvise, libc::SYS_msync, libc::SYS_mincore, libc::SYS_mlock, libc::SYS_mlock2,
    libc::SYS_munlock, libc::SYS_mlockall, libc::SYS_munlockall, libc::SYS_membarrier,
    libc::SYS_pkey_alloc, libc::SYS_pkey_free, libc::SYS_pkey_mprotect,
    libc::SYS_get_mempolicy, libc::SYS_set_mempolicy, libc::SYS_mbind,
    // processes and threads of its own
    libc::SYS_execve, libc::SYS_exit, libc::SYS_exit_group, libc::SYS_wait4, libc::SYS_waitid,
    libc::SYS_futex, libc::SYS_futex_waitv, libc::SYS_set_robust_list,
    libc::SYS_set_tid_address, libc::SYS_rseq, libc::SYS_restart_syscall, libc::SYS_getpid,
    libc::SYS_getppid, libc::SYS_gettid, libc::SYS_getpgid, libc::SYS_setpgid, libc::SYS_getsid,
    libc::SYS_setsid, libc::SYS_pidfd_open, libc::SYS_pidfd_send_signal, libc::SYS_prctl,
    // signals: Landlock keeps them inside
    libc::SYS_kill, libc::SYS_tkill, libc::SYS_tgkill, libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_rt_sigpending,
    libc::SYS_rt_sigsuspend, libc::SYS_rt_sigtimedwait, libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo, libc::SYS_sigaltstack,
    // users: it has no capability, so it can only become what it is
    libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid,
    libc::SYS_getresuid, libc::SYS_getresgid, libc::SYS_getgroups, libc::SYS_setuid,
    libc::SYS_setgid, libc::SYS_setreuid, libc::SYS_setregid, libc::SYS_setresuid,
    libc::SYS_setresgid, libc::SYS_setgroups, libc::SYS_setfsuid, libc::SYS_setfsgid,
    libc::SYS_capget, libc::SYS_capset,
    // time, limits, scheduling, the system's numbers
    libc::SYS_nanosleep, libc::SYS_clock_nanosleep, libc::SYS_clock_gettime,
    libc::SYS_clock_getres, libc::SYS_gettimeofday, libc::SYS_times, libc::SYS_getitimer,
    libc::SYS_setitimer, libc::SYS_timer_create, libc::SYS_timer_settime,
    libc::SYS_timer_gettime, libc::SYS_timer_getoverrun, libc::SYS_timer_delete,
    libc::SYS_getrusage, libc::SYS_sched_yield, libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam, libc::SYS_sched_getscheduler, libc::SYS_sched_getattr,
    libc::SYS_sched_get_priority_max, libc::SYS_sched_get_priority_min,
    libc::SYS_sched_rr_get_interval, libc::SYS_getpriority, libc::SYS_ioprio_get,
    libc::SYS_getcpu, libc::SYS_uname, libc::SYS_sysinfo, libc::SYS_getrandom,
    // sockets it was given, or made in pairs
    libc::SYS_sendmsg, libc::SYS_sendmmsg, libc::SYS_recvmsg, libc::SYS_recvmmsg,
    libc::SYS_recvfrom, libc::SYS_shutdown, libc::SYS_getsockname, libc::SYS_getpeername,
    libc::SYS_getsockopt, libc::SYS_setsockopt,
    // confining itself further
    libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    // judged by the other programs, which answer for them
    libc::SYS_clone3, libc::SYS_getxattr, libc::SYS_lgetxattr, libc::SYS_listxattr,
    libc::SYS_llistxattr,
];

/// Older forms of the calls above, which only this architecture has.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
pub(super) const LEGACY: &[c_long] = &[
    libc::SYS_open, libc::SYS_creat, libc::SYS_stat, libc::SYS_lstat, libc::SYS_access,
    libc::SYS_readlink, libc::SYS_getdents, libc::SYS_mkdir, libc::SYS_rmdir, libc::SYS_unlink,
    libc::SYS_rename, libc::SYS_link, libc::SYS_symlink, libc::SYS_dup2, libc::SYS_pipe,
    libc::SYS_poll, libc::SYS_select, libc::SYS_epoll_create, libc::SYS_epoll_wait,
    libc::SYS_eventfd, libc::SYS_signalfd, libc::SYS_fork, libc::SYS_vfork, libc::SYS_getpgrp,
    libc::SYS_alarm, libc::SYS_pause, libc::SYS_time, libc::SYS_arch_prctl,
    libc::SYS_getrlimit, libc::SYS_setrlimit,
];

/// None but the above elsewhere.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const LEGACY: &[c_long] = &[libc::SYS_getrlimit, libc::SYS_setrlimit];

/// Answered as if the kernel did not have it: it keeps its flags in memory, where no filter can
/// judge them, and the C library then takes `clone`.
pub(super) const UNKNOWN: &[c_long] = &[libc::SYS_clone3];

/// Answered as if the file system had none: extended attributes of names can hold content of the
/// user's files, and every program knows this answer. Those of open files can be read.
#[rustfmt::skip]
pub(super) const UNSUPPORTED: &[c_long] = &[
    libc::SYS_getxattr, libc::SYS_lgetxattr, libc::SYS_listxattr, libc::SYS_llistxattr,
];

/// What an argument must be. Only the low half is compared where the kernel takes an `int`, so
/// that dirt in the high half changes nothing.
#[derive(Debug, Clone, Copy)]
pub(super) enum Must {
    /// Exactly this number, 32 bits of it.
    Be(u64),
    /// None of these bits set, 32 bits of it.
    Lack(u64),
    /// Under a mask, exactly this number.
    BeUnder(u64, u64),
    /// A null pointer.
    BeNull,
}

/// One way a call is allowed: every argument named, by number from 0, must be so.
pub(super) type Form = &'static [(u8, Must)];

/// Flags of `clone` that make namespaces, or a child of the launcher.
const CLONE_NEVER: u64 = 0x7e02_0000 | 0x8000;
/// `O_ASYNC`
const ASYNC: u64 = 0x2000;
/// `SECCOMP_FILTER_FLAG_NEW_LISTENER`
const NEW_LISTENER: u64 = 8;

/// Allowed in these forms only.
#[rustfmt::skip]
pub(super) const JUDGED: &[(c_long, &[Form])] = &[
    (libc::SYS_clone, &[&[(0, Must::Lack(CLONE_NEVER))]]),
    (libc::SYS_socketpair, &[
        &[(0, Must::Be(1)), (1, Must::BeUnder(0xf, 1))], // local stream
        &[(0, Must::Be(1)), (1, Must::BeUnder(0xf, 5))], // local packets; datagrams take addresses
    ]),
    (libc::SYS_sendto, &[&[(4, Must::BeNull)]]),
    (libc::SYS_prlimit64, &[&[(0, Must::Be(0))]]),
    (libc::SYS_setpriority, &[&[(0, Must::Be(0)), (1, Must::Be(0))]]),
    (libc::SYS_ioprio_set, &[&[(0, Must::Be(1)), (1, Must::Be(0))]]),
    (libc::SYS_sched_setaffinity, &[&[(0, Must::Be(0))]]),
    (libc::SYS_sched_setparam, &[&[(0, Must::Be(0))]]),
    (libc::SYS_sched_setscheduler, &[&[(0, Must::Be(0))]]),
    (libc::SYS_sched_setattr, &[&[(0, Must::Be(0))]]),
    (libc::SYS_personality, &[&[(0, Must::Be(0))], &[(0, Must::Be(0xffff_ffff))]]),
    (libc::SYS_mknodat, &[&[(2, Must::BeUnder(0o170_000, 0o010_000))]]), // FIFOs
    (libc::SYS_seccomp, &[
        &[(0, Must::Be(0))],
        &[(0, Must::Be(1)), (1, Must::Lack(NEW_LISTENER))],
        &[(0, Must::Be(2))],
    ]),
    (libc::SYS_fcntl, FCNTL),
    (libc::SYS_ioctl, IOCTL),
];

/// No leases (they stall others), no signal owners (a way to signal others).
#[rustfmt::skip]
const FCNTL: &[Form] = &[
    &[(1, Must::Be(0))],    // F_DUPFD
    &[(1, Must::Be(1))],    // F_GETFD
    &[(1, Must::Be(2))],    // F_SETFD
    &[(1, Must::Be(3))],    // F_GETFL
    &[(1, Must::Be(4)), (2, Must::Lack(ASYNC))], // F_SETFL
    &[(1, Must::Be(5))],    // F_GETLK
    &[(1, Must::Be(6))],    // F_SETLK
    &[(1, Must::Be(7))],    // F_SETLKW
    &[(1, Must::Be(36))],   // F_OFD_GETLK
    &[(1, Must::Be(37))],   // F_OFD_SETLK
    &[(1, Must::Be(38))],   // F_OFD_SETLKW
    &[(1, Must::Be(1027))], // F_DUPFD_QUERY
    &[(1, Must::Be(1030))], // F_DUPFD_CLOEXEC
    &[(1, Must::Be(1031))], // F_SETPIPE_SZ
    &[(1, Must::Be(1032))], // F_GETPIPE_SZ
    &[(1, Must::Be(1033))], // F_ADD_SEALS
    &[(1, Must::Be(1034))], // F_GET_SEALS
];

/// Terminals as programs use them, and a few questions to files. No typing into a terminal
/// (`TIOCSTI`, `TIOCLINUX`), no line disciplines, no taking of terminals, no file flags.
#[rustfmt::skip]
const IOCTL: &[Form] = &[
    &[(1, Must::Be(0x5401))],      // TCGETS
    &[(1, Must::Be(0x5402))],      // TCSETS
    &[(1, Must::Be(0x5403))],      // TCSETSW
    &[(1, Must::Be(0x5404))],      // TCSETSF
    &[(1, Must::Be(0x5409))],      // TCSBRK
    &[(1, Must::Be(0x540a))],      // TCXONC
    &[(1, Must::Be(0x540b))],      // TCFLSH
    &[(1, Must::Be(0x540f))],      // TIOCGPGRP
    &[(1, Must::Be(0x5410))],      // TIOCSPGRP
    &[(1, Must::Be(0x5411))],      // TIOCOUTQ
    &[(1, Must::Be(0x5413))],      // TIOCGWINSZ
    &[(1, Must::Be(0x541b))],      // FIONREAD
    &[(1, Must::Be(0x5421))],      // FIONBIO
    &[(1, Must::Be(0x5429))],      // TIOCGSID
    &[(1, Must::Be(0x5450))],      // FIONCLEX
    &[(1, Must::Be(0x5451))],      // FIOCLEX
    &[(1, Must::Be(0x802c_542a))], // TCGETS2
    &[(1, Must::Be(0x402c_542b))], // TCSETS2
    &[(1, Must::Be(0x402c_542c))], // TCSETSW2
    &[(1, Must::Be(0x402c_542d))], // TCSETSF2
    &[(1, Must::Be(0x4004_9409))], // FICLONE
    &[(1, Must::Be(0x4020_940d))], // FICLONERANGE
    &[(1, Must::Be(0xc020_660b))], // FS_IOC_FIEMAP
    &[(1, Must::Be(0x8008_6601))], // FS_IOC_GETFLAGS
];
