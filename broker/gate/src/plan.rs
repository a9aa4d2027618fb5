//! bind, for what changes files: every change of a set is bound to its objects, judged, and its
//! new content written where no name leads, before anything is begun.
//!
//! A plan proves what was true when it was made. `confirm` looks again under the locks.

mod act;
mod check;
mod content;
mod diff;
mod expect;
mod file;
pub mod matching;
mod names;
mod target;
mod tree;

pub(crate) use act::{Act, At, Step, Within};
pub(crate) use content::{Content, Later, Staged, Unstaged, copied, is_empty, stage};
pub(crate) use diff::Diff;
pub(crate) use tree::judge_tree;

use crate::refused::Refused;
pub(crate) use crate::resolve::SharedDirectory;
use crate::session::Session;
use crate::uploads::Uploads;
use portcullis_protocol::bounded::Few;
use portcullis_protocol::ledger::{self, Intent, TreeLock};
use portcullis_protocol::limits::EFFECT_BYTES_MAX;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Change, ChangeSet, Planned, Touched};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Digest, ObjectId, RootIndex};
use std::collections::{BTreeMap, HashSet};
use target::Planner;

/// Holding one means: every change of a set is allowed on its object, no two concern one object
/// or one name, and new content is written and waits for its name.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) tree: TreeLock,
    pub(crate) diff: Diff,
    request: Digest,
}

impl Plan {
    /// What the ledger is told.
    pub(crate) fn intent(&self) -> Result<Intent, Refusal> {
        let steps: Vec<ledger::Step> = self.steps.iter().flat_map(Step::announced).collect();
        let steps = Few::new(steps).map_err(|_| too_large())?;
        let intent = Intent {
            steps,
            request: self.request,
        };
        let encoded = postcard::to_extend(&intent, Vec::new()).map_err(|_| too_large())?;
        if encoded.len() > EFFECT_BYTES_MAX {
            return Err(too_large());
        }
        Ok(intent)
    }

    /// What is left to tell of a plan that is not made.
    pub(crate) fn outline(&self) -> Outline {
        Outline {
            touched: self.touched().cloned().collect(),
            tree: self.tree,
            locks: self.locks().map(|(id, path)| (id, path.clone())).collect(),
        }
    }

    /// The verb of its first change, for messages.
    pub(crate) fn verb(&self) -> Verb {
        self.steps
            .first()
            .map_or(Verb::Write, |step| step.act.verb())
    }

    /// What a dry run answers.
    pub(crate) fn planned(&self) -> Result<Planned, Refusal> {
        Ok(Planned {
            touched: Few::new(self.touched().cloned().collect()).map_err(|_| too_large())?,
            matched: Few::default(),
            matched_cut: 0,
            diff_cut: self.diff.cut(),
        })
    }

    /// Every name it touches.
    pub(crate) fn touched(&self) -> impl Iterator<Item = &Touched> {
        self.steps.iter().flat_map(|step| step.touched.iter())
    }

    /// Whether it needs exactly the locks that another one has.
    pub(crate) fn has_locks_of(&self, other: &Outline) -> bool {
        let theirs = other.locks.iter().map(|(id, path)| (*id, path));
        self.tree == other.tree && self.locks().eq(theirs)
    }

    fn locks(&self) -> impl Iterator<Item = (ObjectId, &RelPath)> {
        self.steps.iter().flat_map(|step| {
            step.act
                .places()
                .map(|at| (at.within.nearest().id, &at.path))
        })
    }
}

/// The names and locks of a plan, without what it holds open.
#[derive(Debug)]
pub(crate) struct Outline {
    pub(crate) touched: Vec<Touched>,
    tree: TreeLock,
    locks: Vec<(ObjectId, RelPath)>,
}

fn too_large() -> Refusal {
    Refusal::new(Code::OutOfBudget).noting("the change set is too large for one effect")
}

/// A change set and the content that came behind it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'a> {
    pub(crate) set: &'a ChangeSet,
    pub(crate) content: &'a [u8],
}

/// Makes a plan of a change set.
pub(crate) fn plan(
    session: &Session,
    uploads: &Uploads,
    order: Order<'_>,
) -> Result<Plan, Refused> {
    let Order { set, content } = order;
    let changes = set.changes.as_slice();
    if changes.is_empty() {
        return Err(Refusal::new(Code::OutOfRange).noting("no change").into());
    }
    let mut planner = Planner::new(session, uploads, content);
    for change in changes {
        planner.change(change)?;
    }
    let (steps, diff) = planner.finish();
    refuse_collisions(&steps)?;
    let tree = tree_lock(&steps);
    Ok(Plan {
        tree,
        request: request_digest(changes, content),
        diff,
        steps,
    })
}

/// How a set holds its trees. Alone where a directory gets another place; and where one is made
/// together with something else: it can be seen before the set stands, and what another session
/// put into it by then could not be taken back with it.
fn tree_lock(steps: &[Step]) -> TreeLock {
    let alone = |step: &Step| {
        step.act.takes_a_directory() || (steps.len() > 1 && matches!(step.act, Act::Mkdir { .. }))
    };
    if steps.iter().any(alone) {
        TreeLock::Exclusive
    } else {
        TreeLock::Shared
    }
}

/// blake3 of the request as it came.
fn request_digest(changes: &[Change], content: &[u8]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for change in changes {
        // What was decoded can be encoded; a failure would only make the digest say less.
        hasher.update(&postcard::to_extend(change, Vec::new()).unwrap_or_default());
    }
    hasher.update(content);
    Digest(*hasher.finalize().as_bytes())
}

/// Two changes of one set may not concern one name, one object (by whatever name), or a name below
/// a directory that another one moves or removes.
fn refuse_collisions(steps: &[Step]) -> Result<(), Refusal> {
    let mut names: HashSet<(RootIndex, &RelPath)> = HashSet::new();
    let mut objects: BTreeMap<ObjectId, &RelPath> = BTreeMap::new();
    let refuse = |step: &Step, path: &RelPath| {
        Refusal::new(Code::Collision)
            .of(step.act.verb())
            .on(path.as_bytes())
    };
    for step in steps {
        for at in step.act.places() {
            if !names.insert((at.root, &at.path)) {
                return Err(refuse(step, &at.path));
            }
        }
        for (object, at) in step.act.objects() {
            if objects.insert(object, &at.path).is_some() {
                let note = "it is the same object as another one of the set, by another name";
                return Err(refuse(step, &at.path).noting(note));
            }
        }
    }
    for step in steps.iter().filter(|step| step.act.takes_a_directory()) {
        let Some(top) = step.act.places().next() else {
            continue;
        };
        let inside = |at: &At| {
            at.root == top.root && at.path != top.path && at.path.below(&top.path).is_some()
        };
        let mut others = steps.iter().flat_map(|step| step.act.places());
        if let Some(at) = others.find(|at| inside(at)) {
            let note = "it lies in a directory that the same set moves or removes";
            return Err(refuse(step, &at.path).noting(note));
        }
    }
    Ok(())
}
