//! The warden at the other end of a socket, as a process.

use super::{Age, AttachOrStartError, Sessions, build_of};
use portcullis_protocol::control::Build;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Instant;

/// The warden at the other end of a socket.
pub(super) struct Process {
    number: Pid,
    handle: OwnedFd,
}

impl Process {
    /// None when it is gone already.
    pub(super) fn behind(socket: &OwnedFd) -> Option<Self> {
        let number = rustix::net::sockopt::socket_peercred(socket).ok()?.pid;
        let handle = pidfd_open(number, PidfdFlags::empty()).ok()?;
        Some(Self { number, handle })
    }

    /// Asks it to take no further connection, and to end when the last has closed.
    pub(super) fn tell_to_drain(&self) {
        // Fails only for one that has ended.
        pidfd_send_signal(&self.handle, Signal::TERM).ok();
    }

    /// Waits until it has ended, or `deadline`; whether it has.
    pub(super) fn wait_until(&self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut polled = [PollFd::from_borrowed_fd(self.handle.as_fd(), PollFlags::IN)];
        matches!(rustix::event::poll(&mut polled, Some(&timeout)), Ok(1..))
    }

    fn raw(&self) -> i32 {
        self.number.as_raw_nonzero().get()
    }

    /// How new its executable is; one that cannot be looked at counts as newest, so that it is
    /// left alone.
    pub(super) fn build(&self) -> Build {
        let own = PathBuf::from(format!("/proc/{}/exe", self.raw()));
        build_of(&own).unwrap_or(Build(u64::MAX))
    }

    pub(super) fn in_the_way(&self, than: Build) -> AttachOrStartError {
        AttachOrStartError::OtherVersion {
            process: self.raw(),
            age: if self.build() < than {
                Age::Older
            } else {
                Age::Newer
            },
            sessions: children(self.raw()),
        }
    }
}

pub(super) fn children(process: i32) -> Sessions {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
    let mut children = Vec::new();
    for task in tasks.into_iter().flatten().flatten() {
        let listed = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let numbers = listed.split_whitespace();
        children.extend(numbers.filter_map(|number| number.parse::<i32>().ok()));
    }
    children.sort_unstable();
    Sessions(children)
}
