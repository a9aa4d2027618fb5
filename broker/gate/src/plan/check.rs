//! What a change may meet, and the small parts of a step.

use super::act::{Act, At, Step};
use super::content::{self, Content};
use super::target::Asked;
use crate::resolve::{Held, Missing};
use portcullis_protocol::ledger::Temporary;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Deletion, Parents, Touched};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Digest, Kind, PathState, Present};

/// Permission bits of a new directory.
const NEW_DIRECTORY: u16 = 0o755;
/// Permission bits a worker may set.
pub(super) const MODE_MAX: u16 = 0o777;

pub(super) const fn missing(parents: Parents) -> Missing {
    match parents {
        Parents::Exist => Missing::Last,
        Parents::Make => Missing::Parents,
    }
}

/// The permission bits of what is at a name; none where nothing is known to be.
pub(super) const fn mode_of(state: &PathState) -> u16 {
    match state {
        PathState::Present(present) => present.mode,
        PathState::Absent | PathState::Unknown => 0,
    }
}

pub(super) fn touched(verb: Verb, at: &At, before: PathState, after: PathState) -> Touched {
    Touched {
        verb,
        root: at.root,
        path: at.path.clone(),
        before,
        after,
    }
}

pub(super) fn made_directory(at: At) -> Step {
    let after = PathState::Present(Present {
        kind: Kind::Directory,
        mode: NEW_DIRECTORY,
        size: 0,
        digest: None,
        stamp: None,
    });
    let touched = vec![touched(Verb::Mkdir, &at, PathState::Absent, after)];
    let act = Act::Mkdir { at };
    Step { act, touched }
}

/// The step that puts new content under a name.
pub(super) fn filled(
    verb: Verb,
    at: At,
    held: Option<Held>,
    content: Content,
    before: PathState,
) -> Step {
    let touched = vec![touched(
        verb,
        &at,
        before,
        PathState::Present(content.present),
    )];
    let temporary = random();
    let act = match held {
        Some(held) => Act::Replace {
            verb,
            at,
            held,
            content,
            temporary,
        },
        None => Act::Create {
            at,
            content,
            temporary,
        },
    };
    Step { act, touched }
}

/// A file that is not made yet.
pub(super) fn unmade(size: u64, mode: Option<u16>, digest: Digest) -> Present {
    Present {
        kind: Kind::File,
        mode: mode.unwrap_or(content::NEW_FILE),
        size,
        digest: Some(digest),
        stamp: None,
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

pub(super) fn check_replaceable(asked: Asked<'_>, held: &Held) -> Result<(), Refusal> {
    match held.observation.kind {
        Kind::File => check_single(asked, held),
        Kind::Directory => Err(asked.refuse(Code::IsADirectory)),
        Kind::Link => Err(asked
            .refuse(Code::Exists)
            .noting("it is a symbolic link")
            .finding(held.observation.stamp)),
        Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
            Err(asked.refuse(Code::NotRegular))
        }
    }
}

pub(super) fn check_movable(asked: Asked<'_>, held: &Held) -> Result<(), Refusal> {
    match held.observation.kind {
        Kind::File | Kind::Directory | Kind::Link => Ok(()),
        Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
            Err(asked.refuse(Code::NotRegular))
        }
    }
}

pub(super) fn check_deletable(
    asked: Asked<'_>,
    what: Deletion,
    held: &Held,
) -> Result<(), Refusal> {
    match (what, held.observation.kind) {
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
