//! resolve: from a selector to one open object, named once.
//!
//! A selector without `..` that meets no link is one `openat2`. When the kernel says that there
//! is a link (`ELOOP`), or the selector has `..`, [`canonical`] finds the plain path by looking
//! at one component after the other; what it finds proves nothing and goes through the same
//! single `openat2`, which refuses if anything became a link meanwhile. Every name passed through
//! is judged, the links' own names too.

use crate::admit::{Admitted, AdmittedParts};
use crate::policy::Judgement;
use crate::session::{Opening, Session};
use crate::sys::open::{self, Purpose};
use portcullis_protocol::limits::{LINKS_MAX, RESOLVE_TRIES_MAX};
use portcullis_protocol::path::{NameError, RelPath, Step, Want};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Links;
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::RootIndex;
use rustix::fs::{FileType, Statx};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// Holding one means: the kernel opened this object below the root in one call, through no link
/// and no other mount, and the grants and denials of its canonical path allow the verb.
#[derive(Debug)]
pub(crate) struct Pinned {
    verb: Verb,
    root: RootIndex,
    path: RelPath,
    object: OwnedFd,
    observed: Statx,
    want: Want,
}

/// The parts of a [`Pinned`], for the next stage.
#[derive(Debug)]
pub(crate) struct PinnedParts {
    pub(crate) verb: Verb,
    pub(crate) root: RootIndex,
    pub(crate) path: RelPath,
    pub(crate) object: OwnedFd,
    pub(crate) observed: Statx,
    pub(crate) want: Want,
}

impl Pinned {
    pub(crate) fn into_parts(self) -> PinnedParts {
        let Self {
            verb,
            root,
            path,
            object,
            observed,
            want,
        } = self;
        PinnedParts {
            verb,
            root,
            path,
            object,
            observed,
            want,
        }
    }
}

/// What stopped one attempt.
enum Stop {
    /// A refusal, final.
    Refused(Refusal),
    /// A link where none was expected: canonicalise, or do so again.
    Link,
    /// Something else moved: try again.
    Moved,
}

/// Resolves one admitted selector.
pub(crate) fn resolve(session: &Session, admitted: Admitted<'_>) -> Result<Pinned, Refusal> {
    let asked = admitted.into_parts();
    let refuse = |code: Code| Refusal::new(code).of(asked.verb).on(asked.written);
    let root = session
        .root(asked.root)
        .ok_or_else(|| refuse(Code::NoSuchRoot))?;
    let mut path = plain(&asked.steps).map_err(|error| refuse(code_of_name(error)))?;
    for _ in 0..RESOLVE_TRIES_MAX {
        let canonical = match path.take() {
            Some(path) => {
                permit(session, &asked, &path)?;
                path
            }
            None => match canonical(session, root, &asked) {
                Ok(path) => path,
                Err(Stop::Refused(refusal)) => return Err(refusal),
                Err(Stop::Link | Stop::Moved) => continue,
            },
        };
        match pin(session, root, &asked, &canonical) {
            Ok((object, observed)) => {
                return Ok(Pinned {
                    verb: asked.verb,
                    root: asked.root,
                    path: canonical,
                    object,
                    observed,
                    want: asked.want,
                });
            }
            Err(Stop::Refused(refusal)) => return Err(refusal),
            Err(Stop::Link) => {}
            Err(Stop::Moved) => path = Some(canonical),
        }
    }
    Err(refuse(Code::Contended))
}

/// The path of a selector without `..`; none when it has some.
fn plain(steps: &[Step<'_>]) -> Result<Option<RelPath>, NameError> {
    let mut path = RelPath::root();
    for step in steps {
        match step {
            Step::Down(name) => path.push(name)?,
            Step::Up => return Ok(None),
        }
    }
    Ok(Some(path))
}

/// Grants first, then denials: what is not granted shows no rule, what is hidden shows nothing.
fn permit(session: &Session, asked: &AdmittedParts<'_>, path: &RelPath) -> Result<(), Refusal> {
    if session
        .authority
        .grant(asked.root, path, asked.verb)
        .is_none()
    {
        return Err(Refusal::new(Code::NotGranted)
            .of(asked.verb)
            .on(asked.written));
    }
    judge(session, asked, path)
}

fn judge(session: &Session, asked: &AdmittedParts<'_>, path: &RelPath) -> Result<(), Refusal> {
    let refuse = |code: Code| Refusal::new(code).of(asked.verb).on(asked.written);
    match session.policy.judge(asked.root, path, asked.verb) {
        Judgement::Clear => Ok(()),
        Judgement::Denied(rule) => Err(refuse(Code::Denied).by(rule.clone())),
        Judgement::Hidden => Err(refuse(Code::NotFound)),
    }
}

fn purpose(asked: &AdmittedParts<'_>) -> Purpose {
    match (asked.verb, asked.links) {
        (Verb::Stat, Links::Keep) => Purpose::LookAtLink,
        (Verb::Stat, Links::Follow) => Purpose::Look,
        (Verb::Read | Verb::Search, _) => Purpose::Content,
        (Verb::List | Verb::Glob, _) => Purpose::Entries,
    }
}

/// Opens the canonical path for the verb, once.
fn pin(
    session: &Session,
    root: BorrowedFd<'_>,
    asked: &AdmittedParts<'_>,
    path: &RelPath,
) -> Result<(OwnedFd, Statx), Stop> {
    let stop = |errno| stop_of(asked, root, errno);
    let purpose = purpose(asked);
    open_judged(session, root, path, purpose).map_err(stop)
}

/// Opens `path` for `purpose` and observes it. For root's gates the object is looked at first, so
/// that a device is never opened; what is then opened must be what was looked at, else `ESTALE`.
/// Anything but a file or directory comes back as it was looked at, unopened.
pub(crate) fn open_judged(
    session: &Session,
    root: BorrowedFd<'_>,
    path: &RelPath,
    purpose: Purpose,
) -> Result<(OwnedFd, Statx), Errno> {
    let looks = matches!(purpose, Purpose::Look | Purpose::LookAtLink);
    if looks || session.opening == Opening::Direct {
        let object = open::below(root, path, purpose)?;
        let observed = open::observe(&object)?;
        return Ok((object, observed));
    }
    let looked_at = open::below(root, path, Purpose::Look)?;
    let before = open::observe(&looked_at)?;
    match FileType::from_raw_mode(before.stx_mode.into()) {
        FileType::RegularFile | FileType::Directory => {}
        FileType::Symlink
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => return Ok((looked_at, before)),
    }
    let object = open::below(root, path, purpose)?;
    let observed = open::observe(&object)?;
    let same = |s: &Statx| (s.stx_dev_major, s.stx_dev_minor, s.stx_ino);
    // `looked_at` is still open, so its inode number cannot have been given to another file.
    if same(&before) == same(&observed) {
        Ok((object, observed))
    } else {
        Err(Errno::STALE)
    }
}

/// Finds the plain path of a selector with links or `..`. Each look is one `openat2` from the
/// root, so nothing is held and nothing outside is ever reached.
fn canonical(
    session: &Session,
    root: BorrowedFd<'_>,
    asked: &AdmittedParts<'_>,
) -> Result<RelPath, Stop> {
    let refuse = |code: Code| Stop::Refused(Refusal::new(code).of(asked.verb).on(asked.written));
    let mut pending: VecDeque<OwnedStep> = asked.steps.iter().map(OwnedStep::of).collect();
    let mut path = RelPath::root();
    let mut links = 0;
    while let Some(step) = pending.pop_front() {
        let name = match step {
            OwnedStep::Up => {
                if !path.pop() {
                    return Err(refuse(Code::Escape));
                }
                continue;
            }
            OwnedStep::Down(name) => name,
        };
        path.push(&name)
            .map_err(|error| refuse(code_of_name(error)))?;
        pass(session, asked, &path).map_err(Stop::Refused)?;
        let object = open::below(root, &path, Purpose::LookAtLink)
            .map_err(|errno| stop_of(asked, root, errno))?;
        let observed = open::observe(&object).map_err(|errno| stop_of(asked, root, errno))?;
        let last = pending.is_empty();
        match FileType::from_raw_mode(observed.stx_mode.into()) {
            FileType::Directory => {}
            FileType::Symlink if last && asked.links == Links::Keep => {}
            FileType::Symlink => {
                links += 1;
                if links > LINKS_MAX {
                    return Err(refuse(Code::LinkLoop));
                }
                // A link outside every grant must not show where it leads.
                permit(session, asked, &path).map_err(Stop::Refused)?;
                let text = open::link_text(object.as_fd()).map_err(|e| stop_of(asked, root, e))?;
                path.pop();
                if text.starts_with(b"/") {
                    path = RelPath::root();
                }
                for step in target(session, asked.root, &text)
                    .ok_or_else(|| refuse(Code::Escape))?
                    .into_iter()
                    .rev()
                {
                    pending.push_front(step);
                }
            }
            FileType::RegularFile
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {
                if !last {
                    return Err(refuse(Code::NotADirectory));
                }
            }
        }
    }
    permit(session, asked, &path).map_err(Stop::Refused)?;
    Ok(path)
}

/// Whether a resolution may pass through `path`: below a grant of the verb, or on the way to one;
/// and under no denial.
fn pass(session: &Session, asked: &AdmittedParts<'_>, path: &RelPath) -> Result<(), Refusal> {
    let granted = session
        .authority
        .grant(asked.root, path, asked.verb)
        .is_some();
    if !granted && !session.is_on_the_way(asked.root, path) {
        return Err(Refusal::new(Code::NotGranted)
            .of(asked.verb)
            .on(asked.written));
    }
    judge(session, asked, path)
}

/// A step that owns its name, because it may come from a link.
enum OwnedStep {
    Down(Vec<u8>),
    Up,
}

impl OwnedStep {
    fn of(step: &Step<'_>) -> Self {
        match step {
            Step::Down(name) => Self::Down(name.to_vec()),
            Step::Up => Self::Up,
        }
    }
}

/// The steps of a link's text: relative ones as they are; absolute ones beneath the place where
/// the root was sealed, counted from there. None when it leads elsewhere.
fn target(session: &Session, root: RootIndex, text: &[u8]) -> Option<Vec<OwnedStep>> {
    let parsed = portcullis_protocol::path::parse_selector(text).ok()?;
    if !text.starts_with(b"/") {
        return Some(parsed.steps.iter().map(OwnedStep::of).collect());
    }
    let location = &session.authority.root(root)?.location;
    let mut steps = parsed.steps.iter();
    for name in location.names() {
        if steps.next() != Some(&Step::Down(name)) {
            return None;
        }
    }
    Some(steps.map(OwnedStep::of).collect())
}

const fn code_of_name(error: NameError) -> Code {
    match error {
        NameError::NameTooLong | NameError::PathTooLong => Code::NameTooLong,
        NameError::Empty | NameError::ZeroByte | NameError::NotPlain => Code::InvalidName,
    }
}

/// What an errno of this stage means. The only place that decides it.
fn stop_of(asked: &AdmittedParts<'_>, root: BorrowedFd<'_>, errno: Errno) -> Stop {
    let code = match errno {
        Errno::LOOP => return Stop::Link,
        Errno::AGAIN | Errno::STALE => return Stop::Moved,
        Errno::NOENT if is_gone(root) => Code::RootGone,
        Errno::NOENT => Code::NotFound,
        Errno::NOTDIR => Code::NotADirectory,
        Errno::XDEV => Code::MountCrossing,
        Errno::ACCESS | Errno::PERM => Code::Permission,
        Errno::NAMETOOLONG => Code::NameTooLong,
        Errno::NXIO | Errno::NODEV => Code::NotRegular,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => Code::Exhausted,
        _ => Code::Io,
    };
    Stop::Refused(Refusal::new(code).of(asked.verb).on(asked.written))
}

/// Whether the root itself was deleted.
fn is_gone(root: BorrowedFd<'_>) -> bool {
    open::observe(root).is_ok_and(|observed| observed.stx_nlink == 0)
}
