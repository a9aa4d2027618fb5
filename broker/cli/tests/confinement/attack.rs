//! The other side of the tests: this test's own executable, run again as a hostile program. It
//! makes one attempt and exits with the kernel's error number, or with 0 when it succeeded.

use super::sys;
use std::path::Path;

/// Names the attempt, words separated by tabs.
pub(crate) const VARIABLE: &str = "PORTCULLIS_TEST_ATTEMPT";

/// Makes the attempt, if this process was started for one, and never comes back.
pub(crate) fn act() {
    let Ok(attempt) = std::env::var(VARIABLE) else {
        return;
    };
    let words: Vec<&str> = attempt.split('\t').collect();
    let outcome = match words.as_slice() {
        ["read", path] => std::fs::read(path).map(drop),
        ["list", path] => std::fs::read_dir(path).map(drop),
        ["create", path] => std::fs::write(path, b"x"),
        ["truncate", path] => sys::truncate(path),
        ["remove", path] => std::fs::remove_file(path),
        ["stat", path] => Path::new(path).symlink_metadata().map(drop),
        ["packet", path] => packet(path),
        ["connect", path] => std::os::unix::net::UnixStream::connect(path).map(drop),
        ["descriptors", allowed] => sys::only_open(allowed),
        ["environment", name] => present(name),
        ["threads"] => threads(),
        ["kind-of-stdout", kind] => sys::stdout_is(kind),
        [name] => sys::attempt(name, None),
        [name, argument] => sys::attempt(name, Some(argument)),
        [..] => Err(std::io::Error::from_raw_os_error(libc::EINVAL)),
    };
    std::process::exit(match outcome {
        Ok(()) => 0,
        Err(error) => error.raw_os_error().unwrap_or(251),
    });
}

/// Connects to a socket of packets, as a runtime does to its broker.
fn packet(path: &str) -> std::io::Result<()> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None)?;
    Ok(rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?)
}

/// Succeeds when the variable is there: an attempt to see it.
fn present(name: &str) -> std::io::Result<()> {
    match std::env::var_os(name) {
        Some(_) => Ok(()),
        None => Err(std::io::Error::from_raw_os_error(libc::ENOENT)),
    }
}

/// Ordinary programs start threads and children.
fn threads() -> std::io::Result<()> {
    std::thread::Builder::new()
        .spawn(|| ())?
        .join()
        .map_err(|_| std::io::Error::from_raw_os_error(libc::EIO))?;
    match std::process::Command::new("/bin/true").status()?.success() {
        true => Ok(()),
        false => Err(std::io::Error::from_raw_os_error(libc::EIO)),
    }
}
