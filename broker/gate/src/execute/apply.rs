//! The only code that changes files. A confirmed plan is made act by act; what is displaced stays
//! under a temporary name until the whole set stands, so that a failure takes everything back.

mod clean;
mod looked;
mod new;
mod place;
mod undo;

use crate::confirm::{Confirmed, weaker};
use crate::errors::code_of;
use crate::ledger::{Begun, Ledger};
use crate::plan::{At, Diff, Matches, Outline, Plan, SharedDirectory, Within};
use crate::refused::{Refused, Shown};
use crate::resolve::look_again;
use crate::session::Session;
use crate::sys::open;
use looked::state;
use portcullis_protocol::bounded::Few;
use portcullis_protocol::ledger::{Finish, Temporary};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Deletion, Guarantee, Outcome, Touched};
use portcullis_protocol::view::ObjectId;
use rustix::fs::Statx;
use rustix::io::Errno;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// A name in an open directory.
#[derive(Debug, Clone)]
pub(super) struct Name {
    pub(super) directory: SharedDirectory,
    pub(super) name: Vec<u8>,
}

impl Name {
    fn fd(&self) -> BorrowedFd<'_> {
        self.directory.fd.as_fd()
    }

    /// A temporary beside it.
    fn beside(&self, temporary: Temporary) -> Self {
        Self {
            directory: Rc::clone(&self.directory),
            name: temporary.name().into_bytes(),
        }
    }

    /// Which object has the name.
    fn object(&self) -> Result<ObjectId, Errno> {
        self.observe()
            .map(|now| open::recorded(&now).stamp.object())
    }

    fn observe(&self) -> Result<Statx, Errno> {
        open::observe_name(self.fd(), &self.name)
    }
}

/// An act that was made: what takes it back, and what cleans up after it.
#[derive(Debug)]
pub(super) enum Made {
    /// A directory.
    Directory { at: Name, id: ObjectId },
    /// A file or link that had no name before.
    Named {
        at: Name,
        id: ObjectId,
        temporary: Temporary,
    },
    /// Something new in the place of an object, which has the temporary name.
    Exchanged {
        at: Name,
        temporary: Temporary,
        placed: Placed,
        displaced: ObjectId,
        deletion: Deletion,
    },
    /// An object that has the temporary name instead of its own.
    Claimed {
        at: Name,
        temporary: Temporary,
        id: ObjectId,
        deletion: Deletion,
    },
    /// An object under another name.
    Renamed { from: Name, to: Name, id: ObjectId },
    /// Two objects, each under the name of the other; `id` came to `to`.
    Swapped { from: Name, to: Name, id: ObjectId },
    /// Permission bits.
    Moded { object: OwnedFd, before: u16 },
}

/// Something new, and how it is removed where it has to be taken back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub(super) id: ObjectId,
    pub(super) deletion: Deletion,
}

/// Why an act was not made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failure {
    pub(super) code: Code,
    pub(super) note: Option<&'static str>,
    pub(super) trace: Trace,
}

/// What a failed act left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trace {
    /// Nothing.
    None,
    /// Something that could not be taken back.
    Some,
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        let code = match errno {
            // The name was free when it was looked at under the lock: somebody outside took it.
            Errno::EXIST => Code::Contended,
            errno => code_of(errno),
        };
        Self::clean(code)
    }
}

impl Failure {
    pub(super) const fn clean(code: Code) -> Self {
        Self {
            code,
            note: None,
            trace: Trace::None,
        }
    }

    pub(super) const fn noting(self, note: &'static str) -> Self {
        Self {
            note: Some(note),
            ..self
        }
    }
}

/// The end of an effect, as the ledger is told.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) finish: Finish,
    pub(crate) diff: Diff,
    pub(crate) matches: Matches,
    /// What the object in the way has become.
    pub(crate) shown: Option<Box<Shown>>,
}

impl Ended {
    /// An effect that was begun and not made: it tells what is there now, under its locks.
    pub(crate) fn unmade(session: &Session, outline: &Outline, refused: Refused) -> Self {
        let Refused { refusal, shown } = refused;
        let now = |name| looked::at_rest(session, outline.tree, name);
        let touched = outline.names.iter().map(now).collect();
        let ended = Self::new(Outcome::Failed, Guarantee::Exact, touched, Diff::default());
        Self {
            shown,
            ..ended.because(refusal)
        }
    }

    fn new(outcome: Outcome, guarantee: Guarantee, touched: Vec<Touched>, diff: Diff) -> Self {
        let diff = match outcome {
            Outcome::Done | Outcome::Uncertain => diff,
            Outcome::Failed => Diff::default(),
        };
        let finish = Finish {
            outcome,
            guarantee,
            // As many as the intent had, which fitted.
            touched: Few::new(touched).unwrap_or_default(),
            refusal: None,
            left: 0,
            diff_cut: diff.cut(),
        };
        Self {
            finish,
            diff,
            matches: Matches::default(),
            shown: None,
        }
    }

    fn because(mut self, refusal: Refusal) -> Self {
        self.finish.refusal = Some(refusal);
        self
    }

    fn leaving(mut self, names: u32) -> Self {
        self.finish.left = names;
        self
    }

    fn matching(mut self, matches: Matches) -> Self {
        self.matches = matches;
        self
    }

    /// Whether nothing was changed because something moved, so that a new plan may do.
    pub(crate) fn is_contended(&self) -> bool {
        self.finish.outcome == Outcome::Failed
            && self
                .finish
                .refusal
                .as_ref()
                .is_some_and(|refusal| refusal.code == Code::Contended)
    }
}

/// A failure that left something behind.
const fn traced(failure: Failure) -> Failure {
    Failure {
        trace: Trace::Some,
        ..failure
    }
}

/// Makes a confirmed plan, all of it or nothing.
pub(crate) fn apply(
    session: &Session,
    ledger: &Ledger,
    begun: &Begun,
    confirmed: Confirmed,
) -> Ended {
    let (plan, guarantee) = confirmed.into_parts();
    let mut made = Vec::with_capacity(plan.acts.len());
    let mut after = plan.names.iter().map(|name| name.touched.after).collect();
    for act in &plan.acts {
        match place::make(session, &plan, act, &mut after) {
            Ok(done) => made.push(done),
            Err(failure) => return fail(plan, made, failure, guarantee),
        }
    }
    let names = plan.names.iter().zip(after);
    let touched: Vec<Touched> = names
        .map(|(name, after)| Touched {
            after,
            ..name.touched.clone()
        })
        .collect();
    let unlockable = made.iter().any(clean::is_long);
    if unlockable {
        // What is left to do happens where no name leads, and may take long.
        ledger.unlock(begun);
    }
    let left = clean::all(made);
    if left.entries > 0 {
        let note = format!("{} entries could not be removed", left.entries);
        let refusal = Refusal::new(Code::Io).noting(&note);
        return Ended::new(Outcome::Uncertain, guarantee, touched, plan.diff)
            .because(refusal)
            .leaving(left.names);
    }
    let origins = plan.names.iter().map(|name| &name.origin);
    session.memory.changed(touched.iter().zip(origins));
    Ended::new(Outcome::Done, guarantee, touched, plan.diff)
        .leaving(left.names)
        .matching(plan.matches)
}

/// Takes everything back, last act first.
fn fail(plan: Plan, made: Vec<Made>, failure: Failure, guarantee: Guarantee) -> Ended {
    let about = plan.acts.get(made.len()).map(|act| act.about());
    let mut refusal = Refusal::new(failure.code);
    if let Some(name) = about.and_then(|n| plan.names.get(n)) {
        refusal = refusal
            .of(name.touched.verb)
            .on(name.touched.path.as_bytes());
    }
    if let Some(note) = failure.note {
        refusal = refusal.noting(note);
    }
    let undone = undo::all(made);
    let left = undone.left + u32::from(failure.trace == Trace::Some);
    if left == 0 {
        let touched = plan.names.iter().map(looked::restored).collect();
        return Ended::new(Outcome::Failed, guarantee, touched, plan.diff).because(refusal);
    }
    let touched = plan.names.iter().map(looked::left).collect();
    let guarantee = weaker(guarantee, Guarantee::Detected);
    Ended::new(Outcome::Uncertain, guarantee, touched, plan.diff)
        .because(refusal)
        .leaving(left)
}

/// The open directory of a name; one that the same plan made is opened from the root.
fn name(session: &Session, at: &At) -> Result<Name, Errno> {
    let directory = match &at.within {
        Within::Held(directory) => Rc::clone(directory),
        Within::Made(_) => {
            let mut parent = at.path.clone();
            parent.pop();
            Rc::new(look_again(session, at.root, &parent)?)
        }
    };
    Ok(Name {
        directory,
        name: at.name().to_vec(),
    })
}
