//! bind, for what changes files: every change of a set is bound to its objects, judged, and its
//! new content written where no name leads, before anything is begun.
//!
//! A plan proves what was true when it was made. `confirm` looks again under the locks.

mod act;
mod check;
pub mod compile;
mod content;
mod diff;
mod expect;
mod file;
mod looked;
mod lost;
mod matches;
pub mod matching;
mod may;
mod modes;
mod names;
mod net;
mod overlay;
mod region;
mod show;
mod target;
mod text;
mod tree;

pub(crate) use act::{Act, At, Bound, Fate, New, Stands, Which, Within};
pub(crate) use content::{Content, Later, Source, Staged, Unstaged, copied, has_only, stage};
pub(crate) use diff::Diff;
pub(crate) use looked::{look, look_at};
pub(crate) use matches::Matches;
pub(crate) use may::reaches_to_read;
pub(crate) use tree::judge_tree;

use crate::refused::Refused;
pub(crate) use crate::resolve::SharedDirectory;
use crate::session::Session;
use crate::standing::Binds;
use crate::uploads::Uploads;
use net::Net;
use portcullis_protocol::bounded::Few;
use portcullis_protocol::frame::encoded_len;
use portcullis_protocol::ledger::{self, Intent, TreeLock};
use portcullis_protocol::limits::EFFECT_BYTES_MAX;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Change, ChangeSet, Planned, Touched};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Digest, ObjectId};
use region::{InTheWay, with_region};
use target::Planner;

/// Holding one means: every change of a set is allowed on its object, as the changes before it
/// leave it; what all of them come to is known name by name, no two names are of one object, and
/// new content is written and waits for its name.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Every name that changes, once.
    pub(crate) names: Vec<Bound>,
    /// What leads from what is there to what is to be, in order.
    pub(crate) acts: Vec<Act>,
    pub(crate) tree: TreeLock,
    pub(crate) diff: Diff,
    pub(crate) matches: Matches,
    request: Digest,
}

impl Plan {
    /// What the ledger is told.
    pub(crate) fn intent(&self) -> Result<Intent, Refusal> {
        let mut temporaries = vec![None; self.names.len()];
        for (at, temporary) in self.acts.iter().filter_map(Act::temporary) {
            if let Some(slot) = temporaries.get_mut(at) {
                *slot = Some(temporary);
            }
        }
        let names = self.names.iter().zip(temporaries);
        let steps: Vec<ledger::Step> = names
            .map(|(name, temporary)| name.announced(temporary))
            .collect();
        let steps = Few::new(steps).map_err(|_| too_large())?;
        let intent = Intent {
            steps,
            request: self.request,
        };
        let bytes = encoded_len(&intent).map_err(|_| too_large())?;
        if bytes > EFFECT_BYTES_MAX {
            return Err(too_large());
        }
        Ok(intent)
    }

    /// What is left to tell of a plan that is not made.
    pub(crate) fn outline(&self) -> Outline {
        let names = self.names.iter().map(|name| {
            let nearest = name.at.within.nearest();
            Announced {
                touched: name.touched.clone(),
                nearest: (nearest.id, nearest.path.clone()),
            }
        });
        Outline {
            names: names.collect(),
            tree: self.tree,
        }
    }

    /// The verb of its first name, for messages.
    pub(crate) fn verb(&self) -> Verb {
        self.names
            .first()
            .map_or(Verb::Write, |name| name.touched.verb)
    }

    /// What a dry run answers.
    pub(crate) fn planned(&self) -> Result<Planned, Refusal> {
        let (matched, matched_cut) = self.matches.clone().into_parts();
        Ok(Planned {
            touched: Few::new(self.touched().cloned().collect()).map_err(|_| too_large())?,
            matched,
            matched_cut,
            diff_cut: self.diff.cut(),
        })
    }

    /// Every name it touches.
    pub(crate) fn touched(&self) -> impl Iterator<Item = &Touched> {
        self.names.iter().map(|name| &name.touched)
    }

    /// Whether it needs exactly the locks that another one has.
    pub(crate) fn has_locks_of(&self, other: &Outline) -> bool {
        let ours = self.names.iter().map(|name| {
            let nearest = name.at.within.nearest();
            (nearest.id, &nearest.path, &name.at.path)
        });
        let theirs = other.names.iter().map(|name| {
            let (id, path) = &name.nearest;
            (*id, path, &name.touched.path)
        });
        self.tree == other.tree && ours.eq(theirs)
    }
}

/// The names and locks of a plan, without what it holds open.
#[derive(Debug)]
pub(crate) struct Outline {
    pub(crate) names: Vec<Announced>,
    pub(crate) tree: TreeLock,
}

/// A name that the ledger was told of.
#[derive(Debug)]
pub(crate) struct Announced {
    pub(crate) touched: Touched,
    /// The directory it is locked in, and its path when it was.
    pub(crate) nearest: (ObjectId, RelPath),
}

fn too_large() -> Refusal {
    Refusal::new(Code::OutOfBudget).noting("the change set is too large for one effect")
}

/// A change set and the content that came behind it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'a> {
    pub(crate) set: &'a ChangeSet,
    pub(crate) content: &'a [u8],
    /// The digest of the whole operation, where it matters and it has one.
    pub(crate) input: Option<Digest>,
}

/// Makes a plan of a change set.
pub(crate) fn plan(
    session: &Session,
    uploads: &Uploads,
    order: Order<'_>,
) -> Result<Plan, Refused> {
    let Order { set, content, .. } = order;
    let changes = set.changes.as_slice();
    if changes.is_empty() {
        return Err(Refusal::new(Code::OutOfRange).noting("no change").into());
    }
    let mut planner = Planner::new(session, uploads, order);
    for (n, change) in changes.iter().enumerate() {
        planner.change(n, change).map_err(|refusal| {
            let focus = planner.focus;
            let of = InTheWay {
                change,
                content,
                focus,
            };
            with_region(session, refusal, of)
        })?;
    }
    let Net {
        mut names,
        acts,
        diff,
        matches,
    } = planner.finish()?;
    match session.standing.binds() {
        Binds::Names => {}
        Binds::Trees => {
            for name in names.iter_mut().filter(|name| name.removes_a_tree()) {
                lost::bind_tree(session, name)?;
            }
        }
    }
    Ok(Plan {
        tree: tree_lock(&names, &acts),
        request: request_digest(changes, content),
        names,
        acts,
        diff,
        matches,
    })
}

/// How a set holds its trees. Alone where a directory gets another place; and where one is made
/// together with something else: it can be seen before the set stands, and what another session
/// put into it by then could not be taken back with it.
fn tree_lock(names: &[Bound], acts: &[Act]) -> TreeLock {
    let is_directory = |act: &Act| match act {
        Act::Make { new, .. } | Act::Replace { new, .. } => match new {
            New::Directory(_) => true,
            New::File(_) | New::Link(_) => false,
        },
        Act::Claim { .. } | Act::Rename { .. } | Act::Swap { .. } | Act::Chmod { .. } => false,
    };
    let seen_early = names.len() > 1 && acts.iter().any(is_directory);
    if seen_early || names.iter().any(Bound::needs_the_tree) {
        TreeLock::Exclusive
    } else {
        TreeLock::Shared
    }
}

/// Room for one change as it is encoded; most take less.
const CHANGE_BYTES: usize = 256;

/// blake3 of the request as it came.
fn request_digest(changes: &[Change], content: &[u8]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    let mut room = Vec::with_capacity(CHANGE_BYTES);
    for change in changes {
        // What was decoded can be encoded; a failure would only make the digest say less.
        room = postcard::to_extend(change, room).unwrap_or_default();
        hasher.update(&room);
        room.clear();
    }
    hasher.update(content);
    Digest(*hasher.finalize().as_bytes())
}
