//! Findings about the kernel and this process, one by one.

use super::{NAMESPACE_ARGUMENT, Row, State};
use crate::sys::{self, LandlockQuestion};
use crate::worker::OWN_EXECUTABLE;
use portcullis_protocol::ledger::LANDLOCK_ABI_MIN;
use portcullis_protocol::limits::FRAME_BYTES_MAX;
use portcullis_transport::{Endpoint, TransportError, WorkerSide};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};

/// All of them.
pub(super) fn rows() -> Vec<Row> {
    let mut rows = vec![kernel(), user(), openat2(), landlock(), seccomp(), socket()];
    rows.push(descriptors());
    rows.push(mount_number());
    rows.push(handle());
    rows.push(namespaces());
    rows
}

fn kernel() -> Row {
    let name = rustix::system::uname();
    Row {
        name: "kernel",
        found: format!(
            "{} {} on {}",
            name.sysname().to_string_lossy(),
            name.release().to_string_lossy(),
            name.machine().to_string_lossy()
        ),
        state: State::Note,
        matters: "Linux 6.2 or later is needed",
    }
}

fn user() -> Row {
    let user = rustix::process::geteuid();
    let found = if user.is_root() {
        "root: gates run as the owner of their root directory, workers without capabilities"
            .to_owned()
    } else {
        format!("user {}: no privilege is needed", user.as_raw())
    };
    Row {
        name: "user",
        found,
        state: State::Note,
        matters: "everything works without privileges",
    }
}

/// One name inside, one that leads out: the second must be refused by the kernel itself.
fn openat2() -> Row {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV
        | ResolveFlags::NO_SYMLINKS;
    let open = |at: &OwnedFd, name: &str| {
        rustix::fs::openat2(at, name, flags, Mode::empty(), resolve).map(drop)
    };
    let outcome = rustix::fs::open("/", flags, Mode::empty())
        .and_then(|root| open(&root, ".").map(|()| open(&root, "..")));
    let (state, found) = match outcome {
        Ok(Err(Errno::XDEV)) => (State::Ok, "resolves beneath a directory only".to_owned()),
        Ok(Err(error)) => (
            State::Missing,
            format!("refuses a way out, but with: {error}"),
        ),
        Ok(Ok(())) => (State::Missing, "lets `..` lead out".to_owned()),
        Err(error) => (State::Missing, error.to_string()),
    };
    Row {
        name: "openat2",
        found,
        state,
        matters: "the kernel decides containment in the call that opens; nothing works without it",
    }
}

fn landlock() -> Row {
    let (state, found) = match sys::landlock(LandlockQuestion::Version) {
        Ok(abi) if abi < LANDLOCK_ABI_MIN => {
            let found =
                format!("ABI {abi}; {LANDLOCK_ABI_MIN} is needed, which refuses truncation");
            (State::Missing, found)
        }
        Ok(abi) => {
            let errata = match sys::landlock(LandlockQuestion::Errata) {
                Ok(bits) => format!("known faults fixed: {bits:#x}"),
                Err(_) => "the kernel does not say which faults are fixed".to_owned(),
            };
            let signals = if abi >= 6 {
                "keeps signals inside"
            } else {
                "cannot keep signals inside (Linux 6.12 does)"
            };
            (State::Ok, format!("ABI {abi}, {signals}, {errata}"))
        }
        Err(Errno::NOSYS) => (State::Missing, "not built into this kernel".to_owned()),
        Err(Errno::OPNOTSUPP) => (
            State::Missing,
            "switched off: add `landlock` to the `lsm=` boot parameter".to_owned(),
        ),
        Err(error) => (State::Missing, format!("a filter refuses it: {error}")),
    };
    Row {
        name: "landlock",
        found,
        state,
        matters: "gates and workers are caged with it; there is no weaker fallback",
    }
}

fn seccomp() -> Row {
    let (state, found) = match (sys::knows_seccomp(), sys::knows_seccomp_thread_sync()) {
        (true, true) => (
            State::Ok,
            "filters, also for all threads at once".to_owned(),
        ),
        (true, false) => (
            State::Missing,
            "filters, but not for all threads at once".to_owned(),
        ),
        (false, _) => (State::Missing, "no filters".to_owned()),
    };
    Row {
        name: "seccomp",
        found,
        state,
        matters: "gates and workers are caged with it; there is no weaker fallback",
    }
}

/// Whether a socket can hold the largest frame.
fn socket() -> Row {
    let pair = portcullis_transport::pair();
    let (state, found) = match pair.and_then(|(a, _)| Endpoint::<WorkerSide>::new(a)) {
        Ok(_) => (
            State::Ok,
            format!("holds a frame of {FRAME_BYTES_MAX} bytes"),
        ),
        Err(TransportError::SmallBuffer(room)) => (
            State::Missing,
            format!("{room} bytes of room, too little: raise net.core.wmem_max"),
        ),
        Err(error) => (State::Missing, error.to_string()),
    };
    Row {
        name: "socket-buffer",
        found,
        state,
        matters: "one packet is one frame of the protocol",
    }
}

fn descriptors() -> Row {
    let tried =
        portcullis_transport::pair().map(|(a, _)| sys::can_refuse_descriptors(a.as_fd()).is_ok());
    let (state, found) = match tried {
        Ok(true) => (State::Ok, "the kernel refuses descriptors from workers"),
        Ok(false) | Err(_) => (
            State::Spared,
            "descriptors are dropped when received instead",
        ),
    };
    Row {
        name: "so_passrights",
        found: found.to_owned(),
        state,
        matters: "Linux 6.16; without it a worker's descriptors are received, dropped and its \
                  session closed, which is as strong",
    }
}

fn mount_number() -> Row {
    let (state, found) = match root().and_then(|root| sys::unique_mount(root.as_fd())) {
        Ok(_) => (
            State::Ok,
            "mounts have numbers that are never reused".to_owned(),
        ),
        Err(error) => (State::Spared, error.to_string()),
    };
    Row {
        name: "mount-id-unique",
        found,
        state,
        matters: "Linux 6.8; without it the identity of a root rests on device, inode and birth",
    }
}

fn handle() -> Row {
    let (state, found) = match root().and_then(|root| sys::identifying_handle(root.as_fd())) {
        Ok(bytes) => (State::Ok, format!("{bytes} bytes for the root directory")),
        Err(error) => (State::Spared, error.to_string()),
    };
    Row {
        name: "file-handle",
        found,
        state,
        matters: "Linux 6.5; for durable identities in later versions, this one does not use it",
    }
}

fn root() -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, "/", flags, Mode::empty())
}

/// Tried in a process of its own, because it cannot be undone.
fn namespaces() -> Row {
    let tried = Command::new(OWN_EXECUTABLE)
        .arg(NAMESPACE_ARGUMENT)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let (state, found) = match tried {
        Ok(status) if status.success() => (State::Ok, "can be made here".to_owned()),
        Ok(_) => (State::Spared, "refused here".to_owned()),
        Err(error) => (State::Spared, format!("could not be tried: {error}")),
    };
    Row {
        name: "user-namespaces",
        found,
        state,
        matters: "a later version hides the metadata of host paths with them; this one does not \
                  use them",
    }
}
