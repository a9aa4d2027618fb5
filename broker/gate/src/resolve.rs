//! resolve: from a selector to one open object, named once.
//!
//! A selector without `..` that meets no link is one `openat2`. When the kernel says that there
//! is a link (`ELOOP`), or the selector has `..`, [`canonical`] finds the plain path by looking
//! at one component after the other; what it finds proves nothing and goes through the same
//! single `openat2`, which refuses if anything became a link meanwhile. Every name passed through
//! is judged, the links' own names too.

mod canonical;
mod known;
mod place;

pub(crate) use known::{Known, Now};
pub(crate) use place::{Directory, Held, Missing, Place, SharedDirectory, find, look_again};

use crate::admit::{Admitted, AdmittedParts};
use crate::lacking::not_granted;
use crate::policy::Judgement;
use crate::session::{Opening, Session};
use crate::sys::open::{self, Purpose};
use portcullis_protocol::authority::{Level, Operation};
use portcullis_protocol::ledger::Temporary;
use portcullis_protocol::limits::RESOLVE_TRIES_MAX;
use portcullis_protocol::path::{NameError, RelPath, Step, Want};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Links;
use portcullis_protocol::verb::{Access, Verb};
use portcullis_protocol::view::{Kind, Observation, RootIndex};
use rustix::fs::Statx;
use rustix::io::Errno;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Holding one means: the kernel opened this object below the root in one call, through no link
/// and no other mount, and the grants and denials of its canonical path allow the verb.
#[derive(Debug)]
pub(crate) struct Pinned {
    verb: Verb,
    root: RootIndex,
    path: RelPath,
    object: OwnedFd,
    observation: Observation,
    want: Want,
}

/// The parts of a [`Pinned`], for the next stage.
#[derive(Debug)]
pub(crate) struct PinnedParts {
    pub(crate) verb: Verb,
    pub(crate) root: RootIndex,
    pub(crate) path: RelPath,
    pub(crate) object: OwnedFd,
    pub(crate) observation: Observation,
    pub(crate) want: Want,
}

impl Pinned {
    pub(crate) fn into_parts(self) -> PinnedParts {
        let Self {
            verb,
            root,
            path,
            object,
            observation,
            want,
        } = self;
        PinnedParts {
            verb,
            root,
            path,
            object,
            observation,
            want,
        }
    }
}

/// Why a name of the broker's own temporaries is refused.
const RESERVED: &str = "names of this form are the broker's own, for what is half done";

/// What stopped one attempt.
enum Stop {
    /// A refusal, final.
    Refused(Refusal),
    /// A link where none was expected: canonicalise, or do so again.
    Link,
    /// Something else moved: try again.
    Moved,
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Resolves one admitted selector.
pub(crate) fn resolve(session: &Session, admitted: Admitted<'_>) -> Result<Pinned, Refusal> {
    let parts = admitted.into_parts();
    let Some(root) = session.root(parts.root) else {
        return Err(Refusal::new(Code::NoSuchRoot)
            .of(parts.verb)
            .on(parts.written));
    };
    let asked = Asked {
        session,
        root,
        parts,
    };
    let mut path = plain(&asked.parts).map_err(|error| asked.refuse(code_of_name(error)))?;
    for _ in 0..RESOLVE_TRIES_MAX {
        let plain = match path.take() {
            Some(path) => {
                asked.permit(&path)?;
                path
            }
            None => match canonical::canonical(&asked, &Known::default(), Missing::Refused) {
                Ok(found) => found.path,
                Err(Stop::Refused(refusal)) => return Err(refusal),
                Err(Stop::Link | Stop::Moved) => continue,
            },
        };
        match asked.pin(&plain) {
            Ok((object, observation)) => {
                let AdmittedParts {
                    verb, root, want, ..
                } = asked.parts;
                return Ok(Pinned {
                    verb,
                    root,
                    path: plain,
                    object,
                    observation,
                    want,
                });
            }
            Err(Stop::Refused(refusal)) => return Err(refusal),
            Err(Stop::Link) => {}
            Err(Stop::Moved) => path = Some(plain),
        }
    }
    Err(asked.refuse(Code::Contended))
}

/// The plain path of a selector as it is written, below its root; none when it has `..`.
pub(crate) fn written_path(admitted: Admitted<'_>) -> Option<(RootIndex, RelPath)> {
    let parts = admitted.into_parts();
    let path = plain(&parts).ok().flatten()?;
    Some((parts.root, path))
}

/// The path of a selector without `..`; none when it has some.
fn plain(parts: &AdmittedParts<'_>) -> Result<Option<RelPath>, NameError> {
    let mut path = RelPath::with_room(parts.written.len());
    for step in &parts.steps {
        match step {
            Step::Down(name) => path.push(name)?,
            Step::Up => return Ok(None),
        }
    }
    Ok(Some(path))
}

const fn code_of_name(error: NameError) -> Code {
    match error {
        NameError::NameTooLong | NameError::PathTooLong => Code::NameTooLong,
        NameError::Empty | NameError::ZeroByte | NameError::NotPlain => Code::InvalidName,
    }
}

/// What is being resolved, for whom, below which descriptor.
struct Asked<'a> {
    session: &'a Session,
    root: BorrowedFd<'a>,
    parts: AdmittedParts<'a>,
}

impl Asked<'_> {
    fn refuse(&self, code: Code) -> Refusal {
        Refusal::new(code)
            .of(self.parts.verb)
            .on(self.parts.written)
    }

    /// Grants first, then denials: what is not granted shows no rule, what is hidden nothing. What
    /// needs an approval is said last, of what is not denied. A hidden name that is only to be asked
    /// about is asked about like one that is not there.
    fn permit(&self, path: &RelPath) -> Result<(), Refusal> {
        match self.level(path) {
            Level::Nothing => Err(self.not_granted(path)),
            Level::Granted => self.judge(path),
            Level::Ask => {
                match self.judge(path) {
                    Err(hidden) if hidden.code == Code::NotFound && self.shows() => {}
                    judged => judged?,
                }
                Err(self.refuse(Code::NeedsApproval))
            }
        }
    }

    /// Whether the verb only shows.
    fn shows(&self) -> bool {
        match self.parts.verb.access() {
            Access::Read | Access::List => true,
            Access::Write => false,
        }
    }

    fn operation(&self) -> Operation {
        Operation {
            verb: self.parts.verb,
            mode: None,
            input: self.parts.input,
        }
    }

    fn level(&self, path: &RelPath) -> Level {
        self.session.level(self.parts.root, path, self.operation())
    }

    fn not_granted(&self, path: &RelPath) -> Refusal {
        let place = (self.parts.root, path);
        not_granted(self.session, self.operation(), self.parts.written, place)
    }

    fn judge(&self, path: &RelPath) -> Result<(), Refusal> {
        if path.names().any(Temporary::is_one) {
            return Err(self.refuse(Code::InvalidName).noting(RESERVED));
        }
        let (root, verb) = (self.parts.root, self.parts.verb);
        let policy = &self.session.policy;
        match policy.judge(root, path, verb) {
            Judgement::Hidden if self.shows() => match policy.asked_beside(root, path, verb) {
                Some(rule) => self.decide(Judgement::Asks(rule)),
                None => self.decide(Judgement::Hidden),
            },
            judgement @ (Judgement::Clear
            | Judgement::Denied(_)
            | Judgement::Asks(_)
            | Judgement::Hidden) => self.decide(judgement),
        }
    }

    fn decide(&self, judgement: Judgement<'_>) -> Result<(), Refusal> {
        match judgement {
            Judgement::Clear => Ok(()),
            Judgement::Denied(rule) => Err(self.refuse(Code::Denied).by(rule.clone())),
            Judgement::Asks(rule) => Err(self.refuse(Code::NeedsApproval).by(rule.clone())),
            Judgement::Hidden => Err(self.refuse(Code::NotFound)),
        }
    }

    fn purpose(&self) -> Purpose {
        match (self.parts.verb, self.parts.links) {
            (Verb::Stat, Links::Keep)
            | (Verb::Move | Verb::Delete | Verb::DeleteTree | Verb::Mkdir | Verb::Link, _) => {
                Purpose::LookAtLink
            }
            (Verb::Stat, Links::Follow) | (Verb::Write | Verb::Edit | Verb::Chmod, _) => {
                Purpose::Look
            }
            (Verb::Read | Verb::Search, _) => Purpose::Content,
            (Verb::List | Verb::Glob, _) => Purpose::Entries,
        }
    }

    /// Opens the plain path for the verb, once.
    fn pin(&self, path: &RelPath) -> Result<(OwnedFd, Observation), Stop> {
        if self.session.policy.denies_objects() {
            self.judge_objects(path)?;
        }
        open_judged(self.session, self.root, path, self.purpose())
            .map_err(|errno| self.stop_at(path, errno))
    }

    /// Opens a path to look at it, a link as a link.
    fn look(&self, path: &RelPath) -> Result<(OwnedFd, Statx), Errno> {
        let object = open::below(self.root, path, Purpose::LookAtLink)?;
        let observed = open::observe(&object)?;
        Ok((object, observed))
    }

    fn judge_object(&self, observed: &Statx) -> Result<(), Refusal> {
        let device = rustix::fs::makedev(observed.stx_dev_major, observed.stx_dev_minor);
        let object = (device, observed.stx_ino);
        self.decide(self.session.policy.judge_object(object, self.parts.verb))
    }

    /// Judges, as objects, the root, every directory on the way and the object itself, before it
    /// is opened for anything: what is below a denied directory is denied, and a hidden object
    /// answers like a missing one whatever its type. Only paid for where objects are denied.
    fn judge_objects(&self, path: &RelPath) -> Result<(), Stop> {
        let mut prefix = RelPath::root();
        let mut names = path.names();
        loop {
            let (_, observed) = self
                .look(&prefix)
                .map_err(|errno| self.stop_at(&prefix, errno))?;
            self.judge_object(&observed)?;
            match names.next() {
                Some(name) => {
                    prefix
                        .push(name)
                        .map_err(|error| self.refuse(code_of_name(error)))?;
                }
                None => return Ok(()),
            }
        }
    }

    /// What an errno at `path` means: beyond a subvolume nothing is told but the crossing.
    fn stop_at(&self, path: &RelPath, errno: Errno) -> Stop {
        if self.crosses(path) {
            self.refuse(Code::MountCrossing).into()
        } else {
            self.stop(errno)
        }
    }

    /// Whether a directory on the way is of another device although no mount lies between, as a
    /// btrfs subvolume is. Looked at only when an open failed; what opens is judged by `bind`.
    fn crosses(&self, path: &RelPath) -> bool {
        let Some(sole) = self.session.sole_device(self.parts.root) else {
            return false;
        };
        let mut prefix = RelPath::root();
        for name in path.names() {
            let Some((_, observed)) = prefix
                .push(name)
                .ok()
                .and_then(|()| self.look(&prefix).ok())
            else {
                return false;
            };
            if rustix::fs::makedev(observed.stx_dev_major, observed.stx_dev_minor) != sole {
                return true;
            }
        }
        false
    }

    /// What an errno of this stage means. The only place that decides it.
    fn stop(&self, errno: Errno) -> Stop {
        let code = match errno {
            Errno::LOOP => return Stop::Link,
            Errno::AGAIN | Errno::STALE => return Stop::Moved,
            Errno::NOENT if self.root_is_gone() => Code::RootGone,
            Errno::NOENT => Code::NotFound,
            Errno::NOTDIR => Code::NotADirectory,
            Errno::XDEV => Code::MountCrossing,
            Errno::ACCESS | Errno::PERM => Code::Permission,
            Errno::NAMETOOLONG => Code::NameTooLong,
            Errno::ROFS => Code::ReadOnly,
            Errno::NXIO | Errno::NODEV => Code::NotRegular,
            Errno::MFILE | Errno::NFILE | Errno::NOMEM => Code::Exhausted,
            _ => Code::Io,
        };
        Stop::Refused(self.refuse(code))
    }

    /// Whether the root itself was deleted.
    fn root_is_gone(&self) -> bool {
        open::observe(self.root).is_ok_and(|observed| observed.stx_nlink == 0)
    }
}

/// Opens `path` for `purpose` and observes it. For root's gates the object is looked at first, so
/// that a device is never opened; what is then opened must be what was looked at, else `ESTALE`.
/// Anything but a file or directory comes back as it was looked at, unopened.
pub(crate) fn open_judged(
    session: &Session,
    root: BorrowedFd<'_>,
    path: &RelPath,
    purpose: Purpose,
) -> Result<(OwnedFd, Observation), Errno> {
    let looks = matches!(purpose, Purpose::Look | Purpose::LookAtLink);
    if looks || session.opening == Opening::Direct {
        let object = open::below(root, path, purpose)?;
        let observation = open::observation(&object)?;
        return Ok((object, observation));
    }
    let looked_at = open::below(root, path, Purpose::Look)?;
    let before = open::observation(&looked_at)?;
    match before.kind {
        Kind::File | Kind::Directory => {}
        Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
            return Ok((looked_at, before));
        }
    }
    let object = open::below(root, path, purpose)?;
    let observation = open::observation(&object)?;
    let same = |seen: &Observation| (seen.stamp.device, seen.stamp.inode);
    // `looked_at` is still open, so its inode number cannot have been given to another file.
    if same(&before) == same(&observation) {
        Ok((object, observation))
    } else {
        Err(Errno::STALE)
    }
}
