//! Makes descriptors known to the event loop, asks who is at the other end of a socket, and asks
//! for file handles.
#![expect(
    unsafe_code,
    reason = "tokio registers descriptors only unsafely, and one socket option and file handles \
              have no safe call; see the SAFETY comments below"
)]

use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::limits::HANDLE_BYTES_MAX;
use portcullis_transport::Endpoint;
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// What holds one open descriptor from its making to its end. Implemented here alone, for types
/// of which that is known.
pub(crate) trait Holds: AsFd {}

/// Its socket is private and only moves out when it is consumed.
impl<S> Holds for Endpoint<S> {}

/// It is a descriptor, borrowed for as long as the value exists.
impl Holds for BorrowedFd<'_> {}

/// It is a descriptor, owned for as long as the value exists.
impl Holds for OwnedFd {}

/// A holder, in the shape the event loop wants. It is never taken out again.
#[derive(Debug)]
pub(crate) struct Watched<F>(F);

impl<F> Watched<F> {
    pub(crate) const fn get(&self) -> &F {
        &self.0
    }
}

impl<F: Holds> AsRawFd for Watched<F> {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

/// Makes `holder` known to the event loop of this thread. Only inside it.
pub(crate) fn watch<F: Holds>(holder: F, interest: Interest) -> io::Result<AsyncFd<Watched<F>>> {
    // SAFETY: the descriptor must be open and the same until the `AsyncFd` is dropped, and every
    // `as_raw_fd` must give it: `Holds` is implemented only for types that hold one descriptor
    // for their whole life, `Watched` gives no way to move or change the holder inside, and the
    // `AsyncFd` drops its registration before it drops the holder. No safe call exists: tokio's
    // safe constructors are deprecated for not being able to demand this.
    unsafe { AsyncFd::register_with_interest(Watched(holder), interest) }.map_err(io::Error::from)
}

/// `SO_PEERPIDFD` of `<asm-generic/socket.h>`, Linux 6.5.
const SO_PEERPIDFD: libc::c_int = 77;

/// The process that connected, as it was then. Before Linux 6.5 this is [`Errno::NOPROTOOPT`];
/// [`Errno::NODATA`] and [`Errno::SRCH`] mean that it is gone.
pub(crate) fn peer_pidfd(socket: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let mut number: libc::c_int = -1;
    let mut size = libc::socklen_t::try_from(size_of_val(&number)).map_err(|_| Errno::INVAL)?;
    // SAFETY: the descriptor is borrowed and thus open for the call; `number` is a live `c_int`
    // and `size` its size, as the kernel wants for this option; it writes both. No safe call
    // exists: neither std nor rustix 1.1 knows this option.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut number).cast(),
            &raw mut size,
        )
    };
    if result != 0 || number < 0 {
        return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL));
    }
    // SAFETY: the kernel has just made this descriptor for this process and told its number to
    // nobody else. It is close-on-exec, as every pidfd is.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// `AT_HANDLE_FID` of `<linux/fcntl.h>`, Linux 6.5: a handle to tell objects apart by, of file
/// systems too that give none to open them by.
const AT_HANDLE_FID: libc::c_int = 0x200;
/// `MAX_HANDLE_SZ` of the kernel, in bytes.
const HANDLE_ROOM: usize = 128;

/// `struct file_handle`, with room for the largest.
#[repr(C)]
struct FileHandle {
    bytes: libc::c_uint,
    kind: libc::c_int,
    handle: [u8; HANDLE_ROOM],
}

/// The kernel's handle of an open object, its type first; none where its file system has none.
pub(crate) fn file_handle(
    object: BorrowedFd<'_>,
) -> Result<Option<Bytes<HANDLE_BYTES_MAX>>, Errno> {
    match handle_with(object, libc::AT_EMPTY_PATH | AT_HANDLE_FID) {
        // Before Linux 6.5.
        Err(Errno::INVAL) => handle_with(object, libc::AT_EMPTY_PATH),
        other => other,
    }
}

fn handle_with(
    object: BorrowedFd<'_>,
    flags: libc::c_int,
) -> Result<Option<Bytes<HANDLE_BYTES_MAX>>, Errno> {
    let mut found = FileHandle {
        bytes: libc::c_uint::try_from(HANDLE_ROOM).map_err(|_| Errno::INVAL)?,
        kind: 0,
        handle: [0; HANDLE_ROOM],
    };
    let mut mount: libc::c_int = 0;
    // SAFETY: the descriptor is borrowed and thus open for the call; the name is a live string that
    // ends in a zero byte; `found` is laid out as the kernel's own structure, with the room behind
    // it that its first field says; `mount` is a live `c_int`. The kernel writes both and keeps
    // neither. No safe call exists: neither std nor rustix 1.1 knows it.
    let result = unsafe {
        libc::name_to_handle_at(
            object.as_raw_fd(),
            c"".as_ptr(),
            (&raw mut found).cast(),
            &raw mut mount,
            flags,
        )
    };
    if result != 0 {
        return match Errno::from_io_error(&io::Error::last_os_error()) {
            // The largest there is has room, so that this too says that there is none.
            Some(Errno::OPNOTSUPP | Errno::OVERFLOW) => Ok(None),
            Some(errno) => Err(errno),
            None => Err(Errno::INVAL),
        };
    }
    let used = usize::try_from(found.bytes).map_err(|_| Errno::INVAL)?;
    let handle = found.handle.get(..used).ok_or(Errno::INVAL)?;
    let mut whole = found.kind.to_le_bytes().to_vec();
    whole.extend_from_slice(handle);
    Ok(Bytes::new(whole).ok())
}
