//! The attempts themselves, as raw system calls.
#![expect(
    unsafe_code,
    reason = "a hostile program calls the kernel directly; no safe call makes these attempts"
)]

use libc::{c_int, c_long};
use std::ffi::CString;
use std::io::{Error, Result};
use std::os::fd::{FromRawFd, OwnedFd};

fn outcome(value: c_long) -> Result<()> {
    if value < 0 {
        Err(Error::last_os_error())
    } else {
        Ok(())
    }
}

fn text(argument: Option<&str>) -> Result<CString> {
    CString::new(argument.unwrap_or_default()).map_err(Error::other)
}

/// A new terminal: the end that a person would hold, and the end for a program.
pub(crate) fn terminal() -> Result<(OwnedFd, OwnedFd)> {
    let (mut master, mut slave) = (-1, -1);
    let (name, settings, size) = (std::ptr::null_mut(), std::ptr::null(), std::ptr::null());
    // SAFETY: two live integers to fill, and null for all that is optional; the descriptors are
    // owned by no one else when the call succeeded.
    unsafe {
        outcome(c_long::from(libc::openpty(
            &raw mut master,
            &raw mut slave,
            name,
            settings,
            size,
        )))?;
        Ok((OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave)))
    }
}

fn number(argument: Option<&str>) -> c_int {
    argument.and_then(|text| text.parse().ok()).unwrap_or(0)
}

pub(crate) fn truncate(path: &str) -> Result<()> {
    let path = text(Some(path))?;
    // SAFETY: `path` is a live C string.
    outcome(c_long::from(unsafe { libc::truncate(path.as_ptr(), 0) }))
}

/// Succeeds when a descriptor is open that is not named: an attempt to find one.
pub(crate) fn only_open(allowed: &str) -> Result<()> {
    let allowed: Vec<c_int> = allowed.split(',').filter_map(|n| n.parse().ok()).collect();
    let session = std::env::var("PORTCULLIS_SOCKET_FD")
        .ok()
        .and_then(|n| n.parse().ok());
    for fd in 0..1024 {
        // SAFETY: asks for the flags of a number, which may be closed.
        let open = unsafe { libc::fcntl(fd, libc::F_GETFD) } >= 0;
        if open && !allowed.contains(&fd) && session != Some(fd) {
            return Ok(());
        }
    }
    Err(Error::from_raw_os_error(libc::EBADF))
}

/// Whether standard output is a regular file, and can then be rewritten.
pub(crate) fn stdout_is(kind: &str) -> Result<()> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `stat` is room for one `stat`, and zeroes are a valid value of it.
    let mode = unsafe {
        outcome(c_long::from(libc::fstat(1, stat.as_mut_ptr())))?;
        stat.assume_init().st_mode & libc::S_IFMT
    };
    match (kind, mode) {
        ("file", libc::S_IFREG) | ("pipe", libc::S_IFIFO) => Ok(()),
        _ => Err(Error::from_raw_os_error(libc::ESPIPE)),
    }
}

/// Makes a system call in a child, which has one thread only, as some calls want.
fn in_child(call: impl Fn() -> c_long) -> Result<()> {
    // SAFETY: the child makes system calls and leaves at once, so nothing that another thread
    // held at the fork is touched.
    unsafe {
        match libc::fork() {
            0 => {
                let code = outcome(call()).err().and_then(|error| error.raw_os_error());
                libc::_exit(code.unwrap_or(0))
            }
            child => {
                let mut status = 0;
                outcome(c_long::from(libc::waitpid(child, &raw mut status, 0)))?;
                match libc::WEXITSTATUS(status) {
                    0 => Ok(()),
                    code => Err(Error::from_raw_os_error(code)),
                }
            }
        }
    }
}

/// Makes one attempt by name.
#[expect(clippy::too_many_lines, reason = "a table: one arm, one attempt")]
pub(crate) fn attempt(name: &str, argument: Option<&str>) -> Result<()> {
    let path = text(argument)?;
    let pid = number(argument);
    let zero: c_long = 0;
    // SAFETY: every pointer given is a live C string or a live local; the rest are numbers. None
    // of the calls changes memory that this program relies on.
    unsafe {
        match name {
            "socket" => outcome(c_long::from(libc::socket(pid, libc::SOCK_STREAM, 0))),
            "udp" => outcome(c_long::from(libc::socket(
                libc::AF_INET,
                libc::SOCK_DGRAM,
                0,
            ))),
            "datagram-pair" => {
                let mut pair = [0; 2];
                let kind = libc::SOCK_DGRAM;
                outcome(c_long::from(libc::socketpair(
                    1,
                    kind,
                    0,
                    pair.as_mut_ptr(),
                )))
            }
            "stream-pair" => {
                let mut pair = [0; 2];
                let kind = libc::SOCK_STREAM;
                outcome(c_long::from(libc::socketpair(
                    1,
                    kind,
                    0,
                    pair.as_mut_ptr(),
                )))
            }
            "trace" => outcome(libc::ptrace(libc::PTRACE_SEIZE, pid, zero, zero)),
            "memory" => {
                let mut byte = 0_u8;
                let local = libc::iovec {
                    iov_base: (&raw mut byte).cast(),
                    iov_len: 1,
                };
                // An address that need not exist: who may ask at all gets EFAULT.
                let remote = libc::iovec {
                    iov_base: 16 as *mut libc::c_void,
                    iov_len: 1,
                };
                match outcome(libc::process_vm_readv(
                    pid,
                    &raw const local,
                    1,
                    &raw const remote,
                    1,
                    0,
                ) as c_long)
                {
                    Err(error) if error.raw_os_error() == Some(libc::EFAULT) => Ok(()),
                    other => other,
                }
            }
            "kill" => outcome(c_long::from(libc::kill(pid, 0))),
            "limit" => {
                let mut old = libc::rlimit {
                    rlim_cur: 0,
                    rlim_max: 0,
                };
                let none = std::ptr::null();
                outcome(c_long::from(libc::prlimit(
                    pid,
                    libc::RLIMIT_NOFILE,
                    none,
                    &raw mut old,
                )))
            }
            "priority" => outcome(c_long::from(libc::setpriority(
                libc::PRIO_PROCESS,
                pid.unsigned_abs(),
                19,
            ))),
            "io-uring" => {
                let mut parameters = [0_u8; 256];
                outcome(libc::syscall(
                    libc::SYS_io_uring_setup,
                    1 as c_long,
                    parameters.as_mut_ptr(),
                ))
            }
            "namespace" => in_child(|| c_long::from(libc::unshare(libc::CLONE_NEWUSER))),
            "clone-namespace" => {
                let flags = c_long::from(libc::CLONE_NEWUSER | libc::SIGCHLD);
                match libc::syscall(libc::SYS_clone, flags, zero, zero, zero, zero) {
                    0 => libc::_exit(0),
                    other => outcome(other),
                }
            }
            // Any user can mount in namespaces of its own; where those are refused, so is this.
            "mount" => in_child(|| {
                libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS);
                let kind = c"tmpfs".as_ptr();
                let none = std::ptr::null();
                c_long::from(libc::mount(kind, c"/tmp".as_ptr(), kind, 0, none))
            }),
            "chmod" => outcome(c_long::from(libc::chmod(path.as_ptr(), 0o600))),
            "fchmod" => {
                let fd = libc::open(path.as_ptr(), libc::O_RDONLY);
                outcome(c_long::from(fd))?;
                outcome(c_long::from(libc::fchmod(fd, 0o755)))
            }
            "chown" => outcome(c_long::from(libc::chown(
                path.as_ptr(),
                libc::getuid(),
                libc::getgid(),
            ))),
            "times" => outcome(c_long::from(libc::utimensat(
                libc::AT_FDCWD,
                path.as_ptr(),
                std::ptr::null(),
                0,
            ))),
            "setxattr" => outcome(c_long::from(libc::setxattr(
                path.as_ptr(),
                c"user.p".as_ptr(),
                c"v".as_ptr().cast(),
                1,
                0,
            ))),
            "getxattr" => {
                outcome(
                    libc::getxattr(path.as_ptr(), c"user.p".as_ptr(), std::ptr::null_mut(), 0)
                        as c_long,
                )
            }
            "watch" => {
                let fd = libc::inotify_init1(0);
                outcome(c_long::from(fd))?;
                outcome(c_long::from(libc::inotify_add_watch(
                    fd,
                    path.as_ptr(),
                    libc::IN_CREATE,
                )))
            }
            "handle" => {
                let mut handle = [0_u32; 40];
                if let Some(bytes) = handle.first_mut() {
                    *bytes = 128;
                }
                let mut mount: c_int = 0;
                outcome(libc::syscall(
                    libc::SYS_name_to_handle_at,
                    c_long::from(libc::AT_FDCWD),
                    path.as_ptr(),
                    handle.as_mut_ptr(),
                    &raw mut mount,
                    zero,
                ))
            }
            "keyring" => outcome(libc::syscall(
                libc::SYS_keyctl,
                zero,
                c_long::from(-3),
                c_long::from(1),
            )),
            "shared-memory" => outcome(c_long::from(libc::shmget(libc::IPC_PRIVATE, 4096, 0o600))),
            "personality" => outcome(c_long::from(libc::personality(0x0040_0000))),
            "lease" => {
                let fd = libc::open(path.as_ptr(), libc::O_RDONLY);
                outcome(c_long::from(fd))?;
                outcome(c_long::from(libc::fcntl(
                    fd,
                    libc::F_SETLEASE,
                    libc::F_RDLCK,
                )))
            }
            "flags" => {
                let fd = libc::open(path.as_ptr(), libc::O_RDONLY);
                outcome(c_long::from(fd))?;
                let mut flags: c_long = 0;
                outcome(c_long::from(libc::ioctl(fd, 0x8008_6601, &raw mut flags)))?;
                outcome(c_long::from(libc::ioctl(fd, 0x4008_6602, &raw const flags)))
            }
            // Types a letter into the terminal that is standard input, as its own session.
            "type" => in_child(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                c_long::from(libc::ioctl(0, libc::TIOCSTI, c"x".as_ptr()))
            }),
            "size" => {
                let mut size = [0_u16; 4];
                outcome(c_long::from(libc::ioctl(
                    0,
                    libc::TIOCGWINSZ,
                    size.as_mut_ptr(),
                )))
            }
            "fifo" => outcome(c_long::from(libc::mkfifo(path.as_ptr(), 0o600))),
            "owner-signal" => {
                let dirty = 0x7_0000_0000_i64 | i64::from(libc::F_SETOWN);
                outcome(libc::syscall(
                    libc::SYS_fcntl,
                    zero,
                    dirty,
                    c_long::from(pid),
                ))
            }
            _ => Err(Error::from_raw_os_error(libc::ENOSYS)),
        }
    }
}
