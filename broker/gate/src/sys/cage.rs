//! The calls of the cage that no library wraps.
#![expect(
    unsafe_code,
    reason = "raw system calls for what rustix and std do not offer"
)]

use rustix::io::Errno;

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// The kernel's Landlock ABI, or why it has none: `ENOSYS` (not built in), `EOPNOTSUPP` (switched
/// off at boot) or `EPERM` (a filter forbids asking). The `landlock` crate folds these into one.
pub fn landlock_abi() -> Result<u32, Errno> {
    const LANDLOCK_CREATE_RULESET_VERSION: libc::c_long = 1;
    let (no_attributes, no_size): (libc::c_long, libc::c_long) = (0, 0);
    // SAFETY: with a null pointer, size 0 and the VERSION flag the call reads no memory and makes
    // no descriptor; it returns a number. No safe call exists: neither rustix nor `landlock`
    // tells the raw errno.
    let abi = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            no_attributes,
            no_size,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(abi).map_err(|_| last_errno())
}

/// Tries to execute the empty name. A process that may execute gets `ENOENT`; a caged one is
/// refused before the name is looked at.
pub fn try_exec() -> Errno {
    let none = [std::ptr::null::<libc::c_char>()];
    // SAFETY: the name is a valid C string and both lists hold only their final null; the empty
    // name never names a program, so the call always returns. No safe call exists that executes
    // without forking first.
    unsafe { libc::execve(c"".as_ptr(), none.as_ptr(), none.as_ptr()) };
    last_errno()
}

/// Closes every descriptor from 3 up: whatever the starter's own starter left open. Call it first
/// of all, while nothing in this process owns a descriptor of that range.
pub fn close_inherited() -> Result<(), Errno> {
    // SAFETY: the call touches no memory. It runs before this process has opened anything, so no
    // `OwnedFd` exists whose descriptor it could close behind its back. No safe call exists:
    // neither std nor rustix wraps `close_range`.
    let result = unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
    if result == 0 {
        Ok(())
    } else {
        Err(last_errno())
    }
}

/// Gives heap memory that is not in use back to the system: setting up needs several times what a
/// session keeps.
pub fn give_memory_back() {
    // SAFETY: the call takes a number and touches only the allocator's own free memory, under its
    // own locks. No safe call exists: std has no interface to the allocator's free lists. The
    // result only says whether anything was given back.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Limits one resource of this process, softly and hard, to no more than it may have now. Cannot be
/// raised again without a capability.
pub fn limit(resource: rustix::process::Resource, to: u64) -> Result<(), Errno> {
    let inherited = rustix::process::getrlimit(resource).maximum;
    let to = inherited.map_or(to, |most| most.min(to));
    rustix::process::setrlimit(
        resource,
        rustix::process::Rlimit {
            current: Some(to),
            maximum: Some(to),
        },
    )
}
