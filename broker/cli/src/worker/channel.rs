//! The channel between the launcher and the process that becomes the worker. Descriptors travel
//! over it after exec, so that no other process the launcher starts meanwhile can inherit them.

use super::plan::{Plan, Status};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Descriptors beside the plan: the plan itself, three standard ones, the session.
const DESCRIPTORS: usize = 5;
/// Room for one status.
const STATUS_BYTES_MAX: usize = 16 * 1024;

/// Why something did not pass.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChannelError {
    /// The kernel refused.
    #[error("{0}")]
    Kernel(#[from] Errno),
    /// Reading or writing the plan failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is not what was expected.
    #[error("it cannot be read")]
    Malformed,
}

/// What the launcher delivers.
#[derive(Debug)]
pub(super) struct Delivered {
    pub(super) plan: Plan,
    pub(super) input: OwnedFd,
    pub(super) output: OwnedFd,
    pub(super) error: OwnedFd,
    pub(super) session: OwnedFd,
}

/// The launcher's end and the other process's.
pub(super) fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
}

/// Sends the plan and the descriptors: standard input, output and error, then the session.
pub(super) fn send_plan(
    channel: &OwnedFd,
    plan: &Plan,
    descriptors: [BorrowedFd<'_>; 4],
) -> Result<(), ChannelError> {
    let bytes = postcard::to_extend(plan, Vec::new()).map_err(|_| ChannelError::Malformed)?;
    // In memory, because a long command line does not fit one packet.
    let mut memory = File::from(rustix::fs::memfd_create("plan", MemfdFlags::CLOEXEC)?);
    memory.write_all(&bytes)?;
    let [input, output, error, session] = descriptors;
    let all = [memory.as_fd(), input, output, error, session];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&all)) {
        return Err(ChannelError::Malformed);
    }
    let parts = [IoSlice::new(b"p")];
    rustix::net::sendmsg(channel, &parts, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives what [`send_plan`] sent.
pub(super) fn receive_plan(channel: &OwnedFd) -> Result<Delivered, ChannelError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0; 1];
    let mut parts = [IoSliceMut::new(&mut byte)];
    rustix::net::recvmsg(channel, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut all = Vec::with_capacity(DESCRIPTORS);
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            all.extend(rights);
        }
    }
    let all: [OwnedFd; DESCRIPTORS] = all.try_into().map_err(|_| ChannelError::Malformed)?;
    let [memory, input, output, error, session] = all;
    let mut memory = File::from(memory);
    let mut bytes = Vec::new();
    memory.seek(SeekFrom::Start(0))?;
    memory.read_to_end(&mut bytes)?;
    Ok(Delivered {
        plan: postcard::from_bytes(&bytes).map_err(|_| ChannelError::Malformed)?,
        input,
        output,
        error,
        session,
    })
}

/// Says how far the confined process came.
pub(super) fn send_status(channel: &OwnedFd, status: &Status) -> Result<(), ChannelError> {
    let bytes = postcard::to_extend(status, Vec::new()).map_err(|_| ChannelError::Malformed)?;
    rustix::net::send(channel, &bytes, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The next status; none when the channel closed, which the command's execution does.
pub(super) fn receive_status(channel: &OwnedFd) -> Result<Option<Status>, ChannelError> {
    let mut bytes = vec![0; STATUS_BYTES_MAX];
    let received = loop {
        match rustix::net::recv(channel, bytes.as_mut_slice(), RecvFlags::empty()) {
            Err(Errno::INTR) => {}
            Err(Errno::CONNRESET) => break 0,
            other => break other?.0,
        }
    };
    match bytes.get(..received) {
        None | Some([]) => Ok(None),
        Some(bytes) => postcard::from_bytes(bytes)
            .map(Some)
            .map_err(|_| ChannelError::Malformed),
    }
}
