//! Raw system calls that the tests attempt and no library offers safely.
#![expect(unsafe_code, reason = "attempts that no safe wrapper would make")]

pub mod cpu;

use rustix::io::Errno;
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd};

fn outcome(result: libc::c_long) -> Result<libc::c_long, Errno> {
    if result < 0 {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL))
    } else {
        Ok(result)
    }
}

/// Forks; the child exits at once.
pub fn fork() -> Result<(), Errno> {
    // SAFETY: the child calls only `_exit`, which is safe after a fork. No safe call forks.
    let result = unsafe { libc::fork() };
    if result == 0 {
        // SAFETY: ends the process, and runs nothing of it.
        unsafe { libc::_exit(0) };
    }
    outcome(result.into()).map(drop)
}

/// Makes a process with `clone3`; it exits at once.
pub fn clone3() -> Result<(), Errno> {
    // The kernel's `clone_args`, first version: eight words, of which the fifth is the signal.
    let arguments = [0_u64, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0];
    // SAFETY: `arguments` lives through the call and has the size given; without flags the call is
    // a fork with copied memory, whose child calls only `_exit`. No safe call exists.
    let result = unsafe {
        libc::syscall(
            libc::SYS_clone3,
            arguments.as_ptr(),
            std::mem::size_of_val(&arguments),
        )
    };
    if result == 0 {
        // SAFETY: ends the process, and runs nothing of it.
        unsafe { libc::_exit(0) };
    }
    outcome(result).map(drop)
}

/// Executes a program without arguments. Returns only when that is refused.
pub fn exec(program: &CStr) -> Errno {
    let list = [program.as_ptr(), std::ptr::null()];
    // SAFETY: the program and the lists are valid C strings that end in null. No safe call
    // executes without forking first.
    unsafe { libc::execve(program.as_ptr(), list.as_ptr(), list[1..].as_ptr()) };
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// Asks to be traced by the parent.
pub fn trace_me() -> Result<(), Errno> {
    // SAFETY: TRACEME takes no further arguments and touches no memory. No safe call exists.
    outcome(unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) }).map(drop)
}

/// Gives up a namespace or makes one.
pub fn unshare(flags: i32) -> Result<(), Errno> {
    // SAFETY: changes what the process shares, no memory. The safe wrapper is marked unsafe too.
    outcome(unsafe { libc::unshare(flags) }.into()).map(drop)
}

/// Sets up a ring for asynchronous system calls.
pub fn io_uring() -> Result<(), Errno> {
    let mut parameters = [0_u32; 30];
    // SAFETY: `parameters` has the 120 bytes of `io_uring_params` and lives through the call; the
    // descriptor it may give ends with the process. No safe call exists.
    outcome(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) })
        .map(drop)
}

/// Maps a page and makes it executable, at once or afterwards.
pub fn executable_page(afterwards: bool) -> Result<(), Errno> {
    let exec = if afterwards { 0 } else { libc::PROT_EXEC };
    let protection = libc::PROT_READ | exec;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh mapping that nothing refers to. The safe wrapper is marked unsafe too.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return outcome(-1).map(drop);
    }
    if !afterwards {
        return Ok(());
    }
    let protection = libc::PROT_READ | libc::PROT_EXEC;
    // SAFETY: changes the page above alone, which nothing refers to.
    outcome(unsafe { libc::mprotect(page, 4096, protection) }.into()).map(drop)
}

/// Lets the process be dumped and traced again.
pub fn set_dumpable() -> Result<(), Errno> {
    // SAFETY: sets a flag of the process. No memory is touched.
    outcome(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0) }.into()).map(drop)
}

/// A file handle, as the kernel gives it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Handle {
    bytes: u32,
    kind: i32,
    handle: [u8; 128],
}

/// The handle of a name below a directory.
pub fn handle_of(directory: BorrowedFd<'_>, name: &CStr) -> Result<Handle, Errno> {
    let mut handle = Handle {
        bytes: 128,
        kind: 0,
        handle: [0; 128],
    };
    let mut mount = 0_i32;
    // SAFETY: `handle` has room for the bytes it announces, and both outlive the call. No safe
    // call exists.
    let result = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            directory.as_raw_fd(),
            name.as_ptr(),
            &raw mut handle,
            &raw mut mount,
            0,
        )
    };
    outcome(result).map(|_| handle)
}

/// Opens a file by its handle.
pub fn open_by_handle(mount: BorrowedFd<'_>, handle: &Handle) -> Result<(), Errno> {
    let handle = std::ptr::from_ref(handle);
    // SAFETY: the handle is only read and outlives the call; the descriptor it may give ends with
    // the process. No safe call exists.
    let result = unsafe {
        libc::syscall(
            libc::SYS_open_by_handle_at,
            mount.as_raw_fd(),
            handle,
            libc::O_RDONLY,
        )
    };
    outcome(result).map(drop)
}

/// Makes `call` fail with `errno` for this process and all it executes.
pub fn forbid(call: libc::c_long, errno: i32) -> Result<(), Errno> {
    let line = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter {
        code: u16::try_from(code).unwrap_or(u16::MAX),
        jt,
        jf,
        k,
    };
    let number = u32::try_from(call).map_err(|_| Errno::INVAL)?;
    let mut program = [
        // load the number of the call, which is first in what a filter sees
        line(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        line(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number),
        line(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | errno.unsigned_abs(),
        ),
        line(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog {
        len: 4,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: sets a flag of the thread. No memory is touched.
    outcome(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
    // SAFETY: the program and its length are right and outlive the call, which copies them. The
    // library for filters gives one answer for all errors of a program, and this needs any.
    let result = unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const filter,
        )
    };
    outcome(result.into()).map(drop)
}

/// A shared, writable mapping of the beginning of a file. Unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: std::ptr::NonNull<u8>,
    len: usize,
}

impl Mapping {
    /// Maps `len` bytes. The file may be closed afterwards; it must not become shorter.
    pub fn of(file: impl std::os::fd::AsFd, len: usize) -> Result<Self, Errno> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let file = file.as_fd().as_raw_fd();
        // SAFETY: a fresh mapping at a place the kernel chooses, that only this value refers to.
        // The safe wrapper is marked unsafe too.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                protection,
                libc::MAP_SHARED,
                file,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return outcome(-1).map(|_| unreachable!("it failed"));
        }
        std::ptr::NonNull::new(start.cast())
            .map(|start| Self { start, len })
            .ok_or(Errno::INVAL)
    }

    /// Stores one byte into the file.
    pub fn store(&self, at: usize, byte: u8) {
        assert!(at < self.len);
        // SAFETY: `at` is below the length that is mapped writable as long as `self` lives, and no
        // reference to the memory is ever made.
        unsafe { self.start.as_ptr().add(at).write_volatile(byte) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `of` made, which nothing refers to any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
