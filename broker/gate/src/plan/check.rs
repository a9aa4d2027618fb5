//! What a change may meet, and the small parts of a plan.

use super::target::Asked;
use crate::resolve::Held;
use portcullis_protocol::ledger::Temporary;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Deletion;
use portcullis_protocol::view::{Kind, PathState, Present};

/// Permission bits of a new directory.
pub(super) const NEW_DIRECTORY: u16 = 0o755;
/// Permission bits a worker may set.
pub(super) const MODE_MAX: u16 = 0o777;

/// The permission bits of what is at a name; none where nothing is known to be.
pub(super) const fn mode_of(state: &PathState) -> u16 {
    match state {
        PathState::Present(present) => present.mode,
        PathState::Absent | PathState::Unknown => 0,
    }
}

pub(super) fn with_mode(state: PathState, mode: u16) -> PathState {
    match state {
        PathState::Present(present) => PathState::Present(Present { mode, ..present }),
        PathState::Absent | PathState::Unknown => state,
    }
}

/// What nobody can guess, and no name a worker may use.
pub(super) fn random() -> Temporary {
    let mut bits = [0; 16];
    // From the kernel's generator, which after start-up neither blocks nor fails for 16 bytes; what
    // it would leave unfilled is met by `link` and `rename`, which never replace.
    rustix::rand::getrandom(&mut bits, rustix::rand::GetRandomFlags::empty()).unwrap_or_default();
    Temporary(bits)
}

pub(super) fn check_mode(asked: Asked<'_>, mode: Option<u16>) -> Result<(), Refusal> {
    if mode.is_some_and(|mode| mode > MODE_MAX) {
        let note = "permission bits are at most 777; set-id and sticky bits are never set";
        return Err(asked.refuse(Code::OutOfRange).noting(note));
    }
    Ok(())
}

pub(super) fn check_single(asked: Asked<'_>, held: &Held) -> Result<(), Refusal> {
    if held.observation.links > 1 {
        let note = format!("it has {} names", held.observation.links);
        return Err(asked.refuse(Code::HardLinked).noting(&note));
    }
    Ok(())
}

/// Whether new content can take the place of what is there, which is `held` where it is of the
/// file system.
pub(super) fn check_replaceable(
    asked: Asked<'_>,
    kind: Kind,
    held: Option<&Held>,
) -> Result<(), Refusal> {
    match kind {
        Kind::File => held.map_or(Ok(()), |held| check_single(asked, held)),
        Kind::Directory => Err(asked.refuse(Code::IsADirectory)),
        Kind::Link => {
            let refusal = asked.refuse(Code::Exists).noting("it is a symbolic link");
            Err(match held {
                Some(held) => refusal.finding(held.observation.stamp),
                None => refusal,
            })
        }
        Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
            Err(asked.refuse(Code::NotRegular))
        }
    }
}

pub(super) fn check_movable(asked: Asked<'_>, kind: Kind) -> Result<(), Refusal> {
    match kind {
        Kind::File | Kind::Directory | Kind::Link => Ok(()),
        Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
            Err(asked.refuse(Code::NotRegular))
        }
    }
}

pub(super) fn check_deletable(asked: Asked<'_>, what: Deletion, kind: Kind) -> Result<(), Refusal> {
    match (what, kind) {
        (Deletion::File, Kind::File | Kind::Link)
        | (Deletion::Directory | Deletion::Tree, Kind::Directory) => Ok(()),
        (Deletion::File, Kind::Directory) => Err(asked.refuse(Code::IsADirectory)),
        (Deletion::Directory | Deletion::Tree, Kind::File | Kind::Link) => {
            Err(asked.refuse(Code::NotADirectory))
        }
        (
            Deletion::File | Deletion::Directory | Deletion::Tree,
            Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown,
        ) => Err(asked.refuse(Code::NotRegular)),
    }
}
