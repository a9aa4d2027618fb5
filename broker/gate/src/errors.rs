//! What an errno of a call that changes something means to a worker. The only place that decides
//! it; what looking up a name means is decided in `resolve`.

use portcullis_protocol::refusal::Code;
use rustix::io::Errno;

/// What an errno of a change means to a worker.
pub(crate) const fn code_of(errno: Errno) -> Code {
    match errno {
        Errno::NOSPC | Errno::DQUOT => Code::DiskFull,
        Errno::ROFS => Code::ReadOnly,
        Errno::PERM | Errno::ACCESS => Code::Permission,
        Errno::EXIST => Code::Exists,
        Errno::NOENT | Errno::STALE => Code::Contended,
        Errno::NOTEMPTY => Code::NotEmpty,
        Errno::NOTDIR => Code::NotADirectory,
        Errno::ISDIR => Code::IsADirectory,
        Errno::XDEV | Errno::BUSY => Code::MountCrossing,
        Errno::FBIG => Code::OutOfBudget,
        Errno::NAMETOOLONG => Code::NameTooLong,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => Code::Exhausted,
        Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL => Code::Unsupported,
        Errno::LOOP | Errno::AGAIN => Code::Contended,
        _ => Code::Io,
    }
}
