//! Who may be a runtime of a warden that listens: a process of the same user, in the same mount
//! and user namespaces, and no more confined than the warden itself. Otherwise a program that was
//! put into a cage could ask the warden, outside of it, for what the cage keeps from it.
//!
//! A process is judged as it is when it connects. Threads are not told apart: what one thread of a
//! process may do, the others can do for it.

use crate::sys::peer_pidfd;
use portcullis_protocol::refusal::{Code, Refusal};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Why a peer is not served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotServed {
    #[error("it is a process of uid {theirs}; this broker serves uid {ours}")]
    OtherUser { theirs: u32, ours: u32 },
    #[error("it ended before it could be looked at, or is of another process namespace")]
    Gone,
    #[error("it could not be looked at ({0})")]
    Unseen(String),
    #[error("it is in another mount namespace than the broker: names mean other files there")]
    MountNamespace,
    #[error("it is in another user namespace than the broker")]
    UserNamespace,
    #[error("it is more confined than the broker (no_new_privs)")]
    NoNewPrivs,
    #[error("it is more confined than the broker (seccomp)")]
    Seccomp,
}

impl NotServed {
    /// What the peer is told.
    pub(crate) fn refusal(&self) -> Refusal {
        Refusal::new(Code::PeerNotServed).noting(&self.to_string())
    }
}

/// What of a process decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Identities of its namespaces: device and inode.
    mount: (u64, u64),
    user: (u64, u64),
    no_new_privs: u32,
    /// Seccomp filters it is under. A strict mode counts as one, and so do filters of a kernel
    /// that does not say how many there are.
    filters: u32,
}

impl Standing {
    /// This process's own. What it is under can only grow, so that it is looked at when needed.
    pub(crate) fn own() -> io::Result<Self> {
        Self::of("self")
    }

    fn of(process: &str) -> io::Result<Self> {
        let namespace = |kind: &str| {
            let stat = rustix::fs::stat(format!("/proc/{process}/ns/{kind}"))?;
            Ok::<_, io::Error>((stat.st_dev, stat.st_ino))
        };
        let status = std::fs::read(format!("/proc/{process}/status"))?;
        let status = String::from_utf8_lossy(&status);
        Ok(Self {
            mount: namespace("mnt")?,
            user: namespace("user")?,
            no_new_privs: field(&status, "NoNewPrivs")?,
            filters: filters(&status)?,
        })
    }
}

fn filters(status: &str) -> io::Result<u32> {
    match field(status, "Seccomp")? {
        0 => Ok(0),
        _ => Ok(field(status, "Seccomp_filters").unwrap_or(0).max(1)),
    }
}

/// A number of `/proc/PID/status`.
fn field(status: &str, name: &str) -> io::Result<u32> {
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .and_then(|value| value.trim().parse().ok());
    value.ok_or_else(|| io::Error::other(format!("/proc shows no {name}")))
}

/// Whether a process of this standing is served by one of that.
fn judge(theirs: &Standing, ours: &Standing) -> Result<(), NotServed> {
    if theirs.user != ours.user {
        Err(NotServed::UserNamespace)
    } else if theirs.mount != ours.mount {
        Err(NotServed::MountNamespace)
    } else if theirs.no_new_privs > ours.no_new_privs {
        Err(NotServed::NoNewPrivs)
    } else if theirs.filters > ours.filters {
        Err(NotServed::Seccomp)
    } else {
        Ok(())
    }
}

/// As what a peer is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A process of the broker's own user.
    Own,
    /// A process of this other user, to decide and for nothing else. What it runs in is not looked at: only its
    /// user may look, and what it could do for a program that it confines is to decide.
    Decider(u32),
}

/// Looks at who is at the other end of an accepted socket. `deciders` are the other users who may
/// decide; the broker's own is none of them.
pub(crate) fn examine(socket: BorrowedFd<'_>, deciders: &[u32]) -> Result<Peer, NotServed> {
    let credentials = rustix::net::sockopt::socket_peercred(socket)
        // The kernel says 0 for a process that has no number here, which is no process id.
        .map_err(|_| NotServed::Gone)?;
    let ours = rustix::process::geteuid();
    if credentials.uid != ours {
        let user = credentials.uid.as_raw();
        if deciders.contains(&user) {
            return Ok(Peer::Decider(user));
        }
        return Err(NotServed::OtherUser {
            theirs: credentials.uid.as_raw(),
            ours: ours.as_raw(),
        });
    }
    let process = match peer_pidfd(socket) {
        Ok(process) => process,
        Err(Errno::NOPROTOOPT) => {
            pidfd_open(credentials.pid, PidfdFlags::empty()).map_err(|_| NotServed::Gone)?
        }
        Err(_) => return Err(NotServed::Gone),
    };
    let unseen = |error: io::Error| NotServed::Unseen(error.to_string());
    let own = Standing::own().map_err(unseen)?;
    let theirs = Standing::of(&credentials.pid.as_raw_nonzero().to_string());
    // A number means the same process for as long as that lives; what was read under it while it
    // may have been another's is not used.
    if !lives(&process) {
        return Err(NotServed::Gone);
    }
    judge(&theirs.map_err(unseen)?, &own).map(|()| Peer::Own)
}

fn lives(process: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(process, PollFlags::IN)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    matches!(rustix::event::poll(&mut polled, Some(&now)), Ok(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unconfined() -> Standing {
        Standing {
            mount: (4, 1),
            user: (4, 2),
            no_new_privs: 0,
            filters: 0,
        }
    }

    #[test]
    fn who_is_as_free_or_freer_is_served_and_nobody_else() {
        let free = unconfined();
        let caged = Standing {
            no_new_privs: 1,
            filters: 2,
            ..free
        };
        assert_eq!(judge(&free, &free), Ok(()));
        assert_eq!(judge(&caged, &caged), Ok(()));
        assert_eq!(judge(&free, &caged), Ok(()));
        let with = |change: &dyn Fn(&mut Standing)| {
            let mut theirs = free;
            change(&mut theirs);
            judge(&theirs, &free)
        };
        assert_eq!(with(&|s| s.mount = (4, 9)), Err(NotServed::MountNamespace));
        assert_eq!(with(&|s| s.user = (4, 9)), Err(NotServed::UserNamespace));
        assert_eq!(with(&|s| s.no_new_privs = 1), Err(NotServed::NoNewPrivs));
        assert_eq!(with(&|s| s.filters = 1), Err(NotServed::Seccomp));
        // One filter more than the broker has, in a container where all have some.
        let more = Standing {
            filters: 3,
            ..caged
        };
        assert_eq!(judge(&more, &caged), Err(NotServed::Seccomp));
    }

    #[test]
    fn the_kernels_words_are_read() {
        let status = "Name:\tx\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n";
        assert_eq!(field(status, "NoNewPrivs").unwrap(), 1);
        assert_eq!(filters(status).unwrap(), 3);
        assert_eq!(filters("Seccomp:\t0\nSeccomp_filters:\t0\n").unwrap(), 0);
        // A kernel that does not count them, and the strict mode, which has none.
        assert_eq!(filters("Seccomp:\t2\n").unwrap(), 1);
        assert_eq!(filters("Seccomp:\t1\nSeccomp_filters:\t0\n").unwrap(), 1);
        assert!(filters("Name:\tSeccomp\n").is_err());
    }

    #[test]
    fn a_process_like_this_one_is_served() {
        let (a, _b) = portcullis_transport::pair().unwrap();
        let a = std::os::fd::AsFd::as_fd(&a);
        assert_eq!(examine(a, &[]), Ok(Peer::Own));
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(examine(a, &[own]), Ok(Peer::Own), "nobody loses by it");
    }
}
