//! System calls that no safe library wraps. Nothing else of this crate is unsafe.
#![expect(unsafe_code, reason = "each block below says why no safe call exists")]

use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};

/// What `landlock_create_ruleset` tells when asked instead of told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LandlockQuestion {
    /// The ABI number.
    Version,
    /// Which known faults are fixed, as bits.
    Errata,
}

/// Asks the kernel itself, because the `landlock` crate cannot tell a kernel without Landlock
/// (`ENOSYS`), one where it is switched off (`EOPNOTSUPP`) and a filter in front of it (`EPERM`)
/// apart.
pub(crate) fn landlock(question: LandlockQuestion) -> Result<u32, Errno> {
    let flag: libc::c_long = match question {
        LandlockQuestion::Version => 1,
        LandlockQuestion::Errata => 2,
    };
    let none: libc::c_long = 0;
    // SAFETY: with a question as flag the call takes a null pointer and size 0, reads and writes
    // no memory and makes no descriptor. No safe call exists: the crate hides the error.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, none, flag) };
    result(answer).map(|value| u32::try_from(value).unwrap_or(u32::MAX))
}

/// Sets close-on-exec on every descriptor from `first` on.
pub(crate) fn close_on_exec_from(first: u32) -> Result<(), Errno> {
    const CLOSE_RANGE_CLOEXEC: libc::c_long = 4;
    // SAFETY: the call takes numbers only. It closes nothing, so no descriptor owned elsewhere
    // becomes invalid. No safe call exists: std and rustix have no `close_range`.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            libc::c_long::from(first),
            libc::c_long::from(u32::MAX),
            CLOSE_RANGE_CLOEXEC,
        )
    };
    result(done).map(drop)
}

/// Closes every descriptor from `first` on. Only in a process that has opened none of those yet
/// and starts nothing before: those it closes were inherited.
pub(crate) fn close_from(first: u32) -> Result<(), Errno> {
    // SAFETY: the call takes numbers only. Every descriptor of this process that a value owns was
    // opened by it; called first thing, before it opens one, this closes none of those. No safe
    // call exists: std and rustix have no `close_range`.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            libc::c_long::from(first),
            libc::c_long::from(u32::MAX),
            0 as libc::c_long,
        )
    };
    result(done).map(drop)
}

/// Signals from 1 to 64 that can have a disposition.
fn signals() -> impl Iterator<Item = libc::c_int> {
    (1..=64).filter(|n| ![libc::SIGKILL, libc::SIGSTOP, 32, 33].contains(n))
}

/// Gives every signal its default disposition and unblocks all of them.
pub(crate) fn reset_signals() -> Result<(), Errno> {
    for signal in signals() {
        // SAFETY: `SIG_DFL` installs no handler, so no code of ours runs on a signal. The numbers
        // that the C library keeps for itself are left out. No safe call exists.
        let before = unsafe { libc::signal(signal, libc::SIG_DFL) };
        if before == libc::SIG_ERR {
            return Err(last());
        }
    }
    set_mask(libc::SIG_SETMASK, &[])
}

/// Blocks `signals` in this thread and in those it starts later.
pub(crate) fn block_signals(signals: &[libc::c_int]) -> Result<(), Errno> {
    set_mask(libc::SIG_BLOCK, signals)
}

/// Ignores a signal here and in the processes started later. One that is also blocked is still
/// seen by [`wait_for_signal`].
pub(crate) fn ignore_signal(signal: libc::c_int) -> Result<(), Errno> {
    // SAFETY: `SIG_IGN` installs no handler, so no code of ours runs on the signal. No safe call
    // exists.
    let before = unsafe { libc::signal(signal, libc::SIG_IGN) };
    if before == libc::SIG_ERR {
        Err(last())
    } else {
        Ok(())
    }
}

fn set_mask(how: libc::c_int, signals: &[libc::c_int]) -> Result<(), Errno> {
    let set = set_of(signals);
    // SAFETY: `set` is a live, initialised signal set; the old mask is not asked for. No safe
    // call exists in std or rustix.
    let done = unsafe { libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut()) };
    if done == 0 {
        Ok(())
    } else {
        Err(Errno::from_raw_os_error(done))
    }
}

fn set_of(signals: &[libc::c_int]) -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigemptyset` initialises the whole set it is given before `assume_init` and
    // before `sigaddset` reads it; `sigaddset` refuses numbers that are no signal.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}

/// Who sent a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// The kernel: a key on the terminal, which reaches its whole process group.
    Kernel,
    /// A process.
    Process,
}

/// Waits for one of `signals`, which must be blocked in every thread.
pub(crate) fn wait_for_signal(signals: &[libc::c_int]) -> Result<(libc::c_int, Sender), Errno> {
    let set = set_of(signals);
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: `set` is initialised and `info` is room for one `siginfo_t`, zeroed, a valid value
    // of that plain structure; the kernel fills it. No safe call exists in std or rustix.
    let (signal, info) = unsafe {
        let signal = libc::sigwaitinfo(&raw const set, info.as_mut_ptr());
        (signal, info.assume_init())
    };
    if signal < 0 {
        return Err(last());
    }
    let sender = if info.si_code == libc::SI_KERNEL {
        Sender::Kernel
    } else {
        Sender::Process
    };
    Ok((signal, sender))
}

/// An attempt of the kind a confined worker must not succeed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// A new local socket.
    Socket,
    /// A user namespace of its own.
    UserNamespace,
    /// Tracing the process with this id.
    Trace(i32),
    /// An io_uring.
    IoUring,
    /// Watching file names.
    Watch,
}

/// Makes one attempt. What it gives when it succeeds is closed with the process, which then
/// refuses to go on.
pub(crate) fn attempt(attempt: Attempt) -> Result<(), Errno> {
    let zero: libc::c_long = 0;
    // SAFETY: every call here takes numbers, or null pointers that the kernel checks; none
    // touches memory of this process. They are made raw because a probe must reach the kernel
    // exactly as a hostile program would.
    let answer = unsafe {
        match attempt {
            Attempt::Socket => libc::syscall(
                libc::SYS_socket,
                libc::c_long::from(libc::AF_UNIX),
                libc::c_long::from(libc::SOCK_STREAM | libc::SOCK_CLOEXEC),
                zero,
            ),
            Attempt::UserNamespace => {
                libc::syscall(libc::SYS_unshare, libc::c_long::from(libc::CLONE_NEWUSER))
            }
            Attempt::Trace(pid) => libc::syscall(
                libc::SYS_ptrace,
                libc::c_long::from(libc::PTRACE_SEIZE),
                libc::c_long::from(pid),
                zero,
                zero,
            ),
            Attempt::IoUring => libc::syscall(libc::SYS_io_uring_setup, 1 as libc::c_long, zero),
            Attempt::Watch => libc::syscall(
                libc::SYS_inotify_init1,
                libc::c_long::from(libc::IN_CLOEXEC),
            ),
        }
    };
    result(answer).map(drop)
}

/// Whether this thread may ever gain privileges, and which seccomp mode it is in.
pub(crate) fn no_new_privs_and_seccomp() -> Result<(u32, u32), Errno> {
    // SAFETY: both calls take numbers only and return a number. rustix wraps the second behind
    // an enum that fails on values it does not know, and the first not at all.
    let (privs, mode) = unsafe {
        (
            libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
            libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0),
        )
    };
    let number = |value| u32::try_from(value).map_err(|_| last());
    Ok((number(privs)?, number(mode)?))
}

/// Locks capabilities away from user 0: it is a user like any other from here on, across exec.
pub(crate) fn lock_secure_bits() -> Result<(), Errno> {
    // SECBIT_NOROOT, SECBIT_NO_SETUID_FIXUP, SECBIT_NO_CAP_AMBIENT_RAISE, each with its lock.
    const BITS: libc::c_ulong = 0b1100_1111;
    // SAFETY: takes numbers only. The `caps` crate knows single bits but not their locks.
    let done = unsafe { libc::prctl(libc::PR_SET_SECUREBITS, BITS, 0, 0, 0) };
    result(libc::c_long::from(done)).map(drop)
}

/// Whether a socket option of the socket level can be set to 0: `SO_PASSRIGHTS` for `doctor`.
pub(crate) fn can_refuse_descriptors(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    const SO_PASSRIGHTS: libc::c_int = 83;
    let off: libc::c_int = 0;
    let size = libc::socklen_t::try_from(size_of_val(&off)).map_err(|_| Errno::INVAL)?;
    // SAFETY: the descriptor is borrowed and open; `off` is live and `size` is its size; the
    // kernel only reads it. No safe call exists: std and rustix do not know this option.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PASSRIGHTS,
            (&raw const off).cast(),
            size,
        )
    };
    result(libc::c_long::from(done)).map(drop)
}

/// Asks for the number of a directory's mount that is never reused (Linux 6.8).
pub(crate) fn unique_mount(directory: BorrowedFd<'_>) -> Result<u64, Errno> {
    const STATX_MNT_ID_UNIQUE: u32 = 0x4000;
    let mut data = std::mem::MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the descriptor is open, the path is an empty C string, `data` is room for one
    // `statx`, zeroed, a valid value of that plain structure. rustix has no such flag.
    let (done, data) = unsafe {
        let done = libc::statx(
            directory.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            STATX_MNT_ID_UNIQUE,
            data.as_mut_ptr(),
        );
        (done, data.assume_init())
    };
    result(libc::c_long::from(done))?;
    if data.stx_mask & STATX_MNT_ID_UNIQUE == 0 {
        return Err(Errno::OPNOTSUPP);
    }
    Ok(data.stx_mnt_id)
}

/// Asks for a handle that identifies a directory but cannot be opened (Linux 6.5). Gives its
/// length in bytes.
pub(crate) fn identifying_handle(directory: BorrowedFd<'_>) -> Result<u32, Errno> {
    const AT_HANDLE_FID: libc::c_int = 0x200;
    /// A `struct file_handle` with the room the kernel needs at most.
    #[repr(C)]
    struct Handle {
        bytes: u32,
        kind: i32,
        data: [u8; 128],
    }
    let mut handle = Handle {
        bytes: 128,
        kind: 0,
        data: [0; 128],
    };
    let mut mount: libc::c_int = 0;
    // SAFETY: the descriptor is open, the path is an empty C string, `handle` has the layout of
    // `struct file_handle` with the 128 bytes that it says, and `mount` is a live integer. The
    // call is made raw because no safe one exists.
    let done = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            libc::c_long::from(directory.as_raw_fd()),
            c"".as_ptr(),
            &raw mut handle,
            &raw mut mount,
            libc::c_long::from(AT_HANDLE_FID | libc::AT_EMPTY_PATH),
        )
    };
    result(done).map(|_| handle.bytes)
}

/// Whether seccomp filters can be set.
pub(crate) fn knows_seccomp() -> bool {
    null_filter(0)
}

/// Whether the filter of all threads can be set at once.
pub(crate) fn knows_seccomp_thread_sync() -> bool {
    null_filter(1)
}

/// Asks with a null program, which the kernel refuses with `EFAULT` when it knows the flags and
/// with `EINVAL` or `ENOSYS` when it does not.
fn null_filter(flags: libc::c_long) -> bool {
    const SET_MODE_FILTER: libc::c_long = 1;
    let null: libc::c_long = 0;
    // SAFETY: a null program pointer is checked by the kernel; nothing is installed. No safe call
    // exists.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, null) };
    result(answer) == Err(Errno::FAULT)
}

fn result(value: libc::c_long) -> Result<libc::c_long, Errno> {
    if value < 0 { Err(last()) } else { Ok(value) }
}

fn last() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
