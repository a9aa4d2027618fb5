//! The plain path of a selector with links or `..`.
//!
//! Each look is one `openat2` from the root, so nothing is held and nothing outside is ever
//! reached. The path found proves nothing: it is opened by the same single call as any other.

use super::{Asked, Known, Missing, Now, Stop, code_of_name};
use crate::sys::open;
use portcullis_protocol::authority::Level;
use portcullis_protocol::limits::{LINKS_MAX, PARENTS_MAX};
use portcullis_protocol::path::{RelPath, Step, Want, parse_selector};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Links;
use rustix::fs::{FileType, Statx};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::os::fd::{AsFd as _, OwnedFd};

/// A plain path, and how many of its last names are not there.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: RelPath,
    pub(super) missing: usize,
}

/// Finds the plain path, judging every name on the way.
pub(super) fn canonical(asked: &Asked<'_>, known: &Known, allowed: Missing) -> Result<Found, Stop> {
    let mut search = Search {
        asked,
        known,
        path: RelPath::root(),
        pending: asked.parts.steps.iter().map(OwnedStep::of).collect(),
        links: 0,
        want: Want::Any,
        allowed,
        missing: 0,
        after_links: usize::MAX,
    };
    while let Some(step) = search.pending.pop_front() {
        match step {
            OwnedStep::Up if search.path.pop() => {}
            OwnedStep::Up => return Err(asked.refuse(Code::Escape).into()),
            OwnedStep::Down(name) => search.down(&name)?,
        }
    }
    asked.permit(&search.path)?;
    Ok(Found {
        path: search.path,
        missing: search.missing,
    })
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

/// A search under way: `path` is plain, `pending` is what is left.
struct Search<'a> {
    asked: &'a Asked<'a>,
    /// What is not as the file system says.
    known: &'a Known,
    path: RelPath,
    pending: VecDeque<OwnedStep>,
    links: usize,
    /// What the text of a link in the last place asks for.
    want: Want,
    allowed: Missing,
    /// Names at the end of `path` that are not there.
    missing: usize,
    /// Steps of `pending` that follow the links gone through so far; a name that is taken while
    /// at least so many are left is one that the text of a link said.
    after_links: usize,
}

impl Search<'_> {
    /// Goes into one name, through it if it is a link.
    fn down(&mut self, name: &[u8]) -> Result<(), Stop> {
        let asked = self.asked;
        self.path
            .push(name)
            .map_err(|error| asked.refuse(code_of_name(error)))?;
        self.pass()?;
        if self.missing > 0 {
            self.missing += 1;
            return Ok(());
        }
        let root = asked.parts.root;
        match self.known.now(root, &self.path) {
            Some(now) => return self.left(now),
            // Below a directory that is to be made; any other would not have been gone into.
            None if self.known.covers(root, &self.path) => return self.nothing(),
            None => {}
        }
        let (object, observed) = match asked.look(&self.path) {
            Ok(looked) => looked,
            Err(Errno::NOENT) => return self.nothing(),
            Err(errno) => return Err(self.missing(errno)),
        };
        asked.judge_object(&observed)?;
        let last = self.pending.is_empty();
        match FileType::from_raw_mode(observed.stx_mode.into()) {
            FileType::Directory => Ok(()),
            FileType::Symlink if last && asked.parts.links == Links::Keep => Ok(()),
            FileType::Symlink => self.through(&object, &observed),
            FileType::RegularFile
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {
                if last && self.want == Want::Any {
                    Ok(())
                } else {
                    Err(asked.refuse(Code::NotADirectory).into())
                }
            }
        }
    }

    /// Nothing is at the path.
    fn nothing(&mut self) -> Result<(), Stop> {
        if self.may_miss() {
            self.missing += 1;
            return Ok(());
        }
        Err(self.missing(Errno::NOENT))
    }

    /// Goes into what the changes before this one leave. A link is not followed: what it is said
    /// to lead to was judged when it was made, and is no promise of where it leads.
    fn left(&mut self, now: Now) -> Result<(), Stop> {
        let asked = self.asked;
        let last = self.pending.is_empty();
        let collision = |note| Err(asked.refuse(Code::Collision).noting(note).into());
        match now {
            Now::Nothing => self.nothing(),
            Now::Left if last => self.nothing(),
            Now::Made => Ok(()),
            Now::Moved if last => Ok(()),
            Now::Left | Now::Moved => {
                collision("it lies in a directory that the same set moves or removes")
            }
            Now::Link if last && asked.parts.links == Links::Keep => Ok(()),
            Now::Link => collision("it leads through a link that the same set makes or moves"),
            Now::Other if last && self.want == Want::Any => Ok(()),
            Now::Other => Err(asked.refuse(Code::NotADirectory).into()),
        }
    }

    /// Whether the search may pass: below a grant of the verb, or on the way to one; and under no
    /// denial. Where the verb is only to be asked for, not even whether a name is there shows.
    fn pass(&self) -> Result<(), Refusal> {
        let asked = self.asked;
        let on_the_way = || asked.session.is_on_the_way(asked.parts.root, &self.path);
        match asked.level(&self.path) {
            Level::Nothing if !on_the_way() => Err(asked.not_granted(&self.path)),
            Level::Ask if !on_the_way() => asked.permit(&self.path),
            Level::Nothing | Level::Ask | Level::Granted => asked.judge(&self.path),
        }
    }

    /// Whether what is not there may be made: plain names alone follow, as many as are allowed,
    /// and it is a name that was written, not one that the text of a link said.
    fn may_miss(&self) -> bool {
        let plain = self
            .pending
            .iter()
            .all(|step| matches!(step, OwnedStep::Down(_)));
        let names = self.missing + self.pending.len() + 1;
        plain
            && self.pending.len() < self.after_links
            && match self.allowed {
                Missing::Refused => false,
                Missing::Last => names == 1,
                Missing::Parents => names <= PARENTS_MAX,
            }
    }

    /// Denials cover names that do not exist yet, so what is left of one is judged all the same.
    fn missing(&mut self, errno: Errno) -> Stop {
        let whole = self.pending.iter().all(|step| match step {
            OwnedStep::Down(name) => self.path.push(name).is_ok(),
            OwnedStep::Up => false,
        });
        if errno == Errno::NOENT
            && whole
            && let Err(refusal) = self.asked.permit(&self.path)
        {
            return refusal.into();
        }
        self.asked.stop_at(&self.path, errno)
    }

    /// Replaces a link by the steps of its text.
    fn through(&mut self, link: &OwnedFd, observed: &Statx) -> Result<(), Stop> {
        let asked = self.asked;
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(asked.refuse(Code::LinkLoop).into());
        }
        // A link outside every grant must not show where it leads.
        asked.permit(&self.path)?;
        if self.is_planted(observed)? {
            return Err(asked.refuse(Code::Permission).into());
        }
        let text = open::link_text(link.as_fd()).map_err(|errno| asked.stop(errno))?;
        let (steps, want) = self
            .target(&text)
            .ok_or_else(|| asked.refuse(Code::Escape))?;
        if self.pending.is_empty() && want == Want::Directory {
            self.want = want;
        }
        self.after_links = self.after_links.min(self.pending.len());
        if text.starts_with(b"/") {
            self.path = RelPath::root();
        } else {
            self.path.pop();
        }
        for step in steps.into_iter().rev() {
            self.pending.push_front(step);
        }
        Ok(())
    }

    /// Whether a link was put by a stranger where everyone may put things: in a directory that is
    /// sticky and writable for all, by someone who is neither its owner nor us. The kernel
    /// follows none of those for us either (`fs.protected_symlinks`).
    fn is_planted(&self, observed: &Statx) -> Result<bool, Stop> {
        const STICKY_FOR_ALL: u16 = 0o1002;
        let mut parent = self.path.clone();
        parent.pop();
        let (_, parent) = self
            .asked
            .look(&parent)
            .map_err(|errno| self.asked.stop(errno))?;
        Ok(parent.stx_mode & STICKY_FOR_ALL == STICKY_FOR_ALL
            && observed.stx_uid != parent.stx_uid
            && observed.stx_uid != rustix::process::geteuid().as_raw())
    }

    /// The steps of a link's text: relative ones as they are; absolute ones beneath the place
    /// where the root was sealed, counted from there. None when it leads elsewhere.
    fn target(&self, text: &[u8]) -> Option<(Vec<OwnedStep>, Want)> {
        let parsed = parse_selector(text).ok()?;
        let mut steps = parsed.steps.iter();
        if text.starts_with(b"/") {
            let root = self.asked.session.authority.root(self.asked.parts.root)?;
            for name in root.location.names() {
                if steps.next() != Some(&Step::Down(name)) {
                    return None;
                }
            }
        }
        Some((steps.map(OwnedStep::of).collect(), parsed.want))
    }
}
