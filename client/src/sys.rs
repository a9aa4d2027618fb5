//! The two steps of handing a socket to a child that need `unsafe`.
#![expect(
    unsafe_code,
    reason = "pre_exec and descriptors inherited by number have no safe call; see SAFETY below"
)]

use crate::attach::SOCKET_VARIABLE;
use crate::error::NoSession;
use rustix::io::FdFlags;
use rustix::net::{AddressFamily, SocketType, sockopt};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Makes `socket` inheritable in the child of `command`, between fork and exec. The command keeps
/// the socket open in this process until it is dropped.
pub(crate) fn inherit_in_child(socket: OwnedFd, command: &mut Command) {
    let clear =
        move || rustix::io::fcntl_setfd(&socket, FdFlags::empty()).map_err(std::io::Error::from);
    // SAFETY: the closure runs in the child after fork, where only async-signal-safe work is
    // allowed: it makes one `fcntl` system call on a descriptor that it owns and turns the error
    // number into an `io::Error`, which does not allocate. No safe call exists: std can pass only
    // descriptors 0, 1 and 2 on, and clearing the flag before fork would leak the socket to every
    // child that another thread starts meanwhile.
    unsafe {
        command.pre_exec(clear);
    }
}

/// Takes the socket that this process inherited, by the number in its environment. Once: after
/// that the descriptor is close-on-exec, and an inherited one never is.
pub(crate) fn inherited_socket() -> Result<OwnedFd, NoSession> {
    static TAKING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = TAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let value = std::env::var_os(SOCKET_VARIABLE).ok_or(NoSession::NotSet)?;
    let number: u32 = value
        .to_str()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|text| text.parse().ok())
        .filter(|number| *number > 2)
        .ok_or(NoSession::NotANumber)?;
    let raw = RawFd::try_from(number).map_err(|_| NoSession::NotANumber)?;
    // SAFETY: `raw` is not -1. Whether it is open is what the next call asks the kernel; the
    // borrow ends before anything here can close it. No safe call exists: a number from the
    // environment has no owner in this process yet.
    let seen = unsafe { BorrowedFd::borrow_raw(raw) };
    let flags = rustix::io::fcntl_getfd(seen).map_err(|_| NoSession::NotOpen(number))?;
    if flags.contains(FdFlags::CLOEXEC) {
        return Err(NoSession::Taken(number));
    }
    let is_session = sockopt::socket_type(seen) == Ok(SocketType::SEQPACKET)
        && sockopt::socket_domain(seen) == Ok(AddressFamily::UNIX);
    if !is_session {
        return Err(NoSession::NotASocket(number));
    }
    rustix::io::fcntl_setfd(seen, FdFlags::CLOEXEC).map_err(|_| NoSession::NotOpen(number))?;
    // SAFETY: the descriptor is open and was inherited: it was not close-on-exec, and std and
    // rustix open every descriptor of this process close-on-exec, so nothing here owns it. It is a
    // local SEQPACKET socket, and the flag set above, under the lock, keeps a second call from
    // taking it. No safe call exists, for the same reason as above.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}
