//! A tree built from receipts alone.

use crate::bench::disk;
use portcullis_protocol::control::Receipt;
use portcullis_protocol::session::{Outcome, Touched};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Kind, ObjectId, PathState};
use portcullis_tests::tree::Tree;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// How long after a receipt a deletion that came before it may have its own, in milliseconds.
const WINDOW_MS: u64 = 2_000;

/// What receipts say is where.
#[derive(Debug, Default)]
pub(crate) struct Model {
    names: BTreeMap<PathBuf, PathState>,
    /// Receipts that tell of a tree in which another one, of a higher number, is done already.
    waiting: Vec<Receipt>,
    /// Orders of receipts that nothing explains.
    odd: Vec<String>,
    /// Numbers of receipts that were taken before their turn.
    taken: BTreeSet<u64>,
    /// How many were.
    pub(crate) early: u32,
    /// How many waited.
    pub(crate) waited: u32,
}

impl Model {
    /// Takes the next receipt, in the order of their numbers. `later` are those that follow.
    ///
    /// A deletion of a tree gives its locks back before it removes what it took away, and has its
    /// receipt after that: one of an effect that found the name free may have a lower number. So a
    /// receipt waits for the tree that it tells of; and before a tree goes to another place or away,
    /// what was deleted in it is.
    pub(crate) fn take(&mut self, receipt: Receipt, later: &[Receipt]) {
        if self.taken.remove(&receipt.id.number) {
            return;
        }
        // One session makes one effect after the other.
        let mut sessions = BTreeSet::from([receipt.session]);
        let end = receipt.at_ms + WINDOW_MS;
        for deletion in later.iter().take_while(|one| one.at_ms <= end) {
            if sessions.insert(deletion.session)
                && is_deletion(deletion)
                && !self.taken.contains(&deletion.id.number)
                && self.is_as_before(deletion)
                && takes_away(&receipt, deletion)
            {
                self.early += 1;
                self.taken.insert(deletion.id.number);
                self.make_with_waiting(deletion);
            }
        }
        if self.tells_of_this(&receipt) {
            self.make_with_waiting(&receipt);
        } else {
            self.waited += 1;
            self.waiting.push(receipt);
        }
    }

    fn make_with_waiting(&mut self, receipt: &Receipt) {
        self.make(receipt.end.touched.as_slice());
        while let Some(next) = self.waiting.iter().position(|one| self.tells_of_this(one)) {
            let waited = self.waiting.remove(next);
            if !is_deletion(receipt) {
                let (first, then) = (brief(receipt), brief(&waited));
                self.odd.push(format!(
                    "made first: {first}
and then: {then}"
                ));
            }
            self.make(waited.end.touched.as_slice());
        }
    }

    /// Whether every name of a receipt is as it says it was before.
    pub(crate) fn is_as_before(&self, receipt: &Receipt) -> bool {
        let is_now = |one: &Touched| one.before.agrees(&self.at(disk(one)));
        receipt.end.touched.as_slice().iter().all(is_now)
    }

    /// Whether an effect can have been made in the tree as it is now.
    fn tells_of_this(&self, receipt: &Receipt) -> bool {
        match receipt.end.outcome {
            Outcome::Done => self.is_as_before(receipt),
            // Before the locks were held it may have been another.
            Outcome::Failed | Outcome::Uncertain => true,
        }
    }

    fn at(&self, path: &Path) -> PathState {
        self.names.get(path).copied().unwrap_or(PathState::Absent)
    }

    /// Directories that come to be under another name take along what is below them.
    fn make(&mut self, touched: &[Touched]) {
        let mut touched: Vec<&Touched> = touched
            .iter()
            .filter(|one| one.before != one.after)
            .collect();
        touched.sort_by_key(|one| one.path.names().count());
        let mut below: HashMap<ObjectId, BTreeMap<PathBuf, PathState>> = HashMap::new();
        for one in touched.iter().rev() {
            let top = disk(one);
            let taken: Vec<PathBuf> = self
                .names
                .range(top.to_path_buf()..)
                .map(|(path, _)| path)
                .take_while(|path| path.starts_with(top))
                .cloned()
                .collect();
            let mut inner = BTreeMap::new();
            for path in taken {
                let state = self.names.remove(&path).unwrap();
                inner.insert(path.strip_prefix(top).unwrap().to_path_buf(), state);
            }
            if let Some(object) = inner.remove(Path::new("")).and_then(directory) {
                below.insert(object, inner);
            }
        }
        for one in touched {
            let top = disk(one);
            match one.after {
                PathState::Absent => {}
                PathState::Unknown => panic!("nobody looked: {one:?}"),
                PathState::Present(_) => {
                    let inner = directory(one.after).and_then(|object| below.remove(&object));
                    for (path, state) in inner.into_iter().flatten() {
                        self.names.insert(top.join(path), state);
                    }
                    self.names.insert(top.to_path_buf(), one.after);
                }
            }
        }
    }

    /// Where a tree is another than the receipts say; nothing where they agree. Gives as well how
    /// many names were compared.
    pub(crate) fn differences(&self, tree: &Tree) -> (Vec<String>, usize) {
        let never = |receipt: &Receipt| format!("never possible: {}", brief(receipt));
        let mut found = self.odd.clone();
        found.extend(self.waiting.iter().map(never));
        let all: BTreeSet<&PathBuf> = self.names.keys().chain(tree.names.keys()).collect();
        for path in &all {
            let (said, is) = (self.at(path), tree.at(path));
            if !said.agrees(&is) {
                found.push(format!("{}: said {said:?}, is {is:?}", path.display()));
            }
        }
        (found, all.len())
    }
}

/// A receipt in a line for each name.
pub(crate) fn brief(receipt: &Receipt) -> String {
    let state = |state: &PathState| match state {
        PathState::Absent => "absent".to_owned(),
        PathState::Unknown => "unknown".to_owned(),
        PathState::Present(present) => {
            let inode = present.stamp.map(|stamp| stamp.inode);
            format!("{} {inode:?} {:o}", present.kind.name(), present.mode)
        }
    };
    let mut text = format!(
        "receipt {} of session {}, {:?} by {:?}",
        receipt.id.number, receipt.session.0, receipt.end.outcome, receipt.witness
    );
    for one in receipt.end.touched.as_slice() {
        let (path, verb) = (disk(one).display(), one.verb);
        let (before, after) = (state(&one.before), state(&one.after));
        write!(text, "\n    {verb} {path}: {before} -> {after}").unwrap();
    }
    text
}

/// Whether trees were deleted.
fn is_deletion(receipt: &Receipt) -> bool {
    let touched = receipt.end.touched.as_slice();
    receipt.end.outcome == Outcome::Done && touched.iter().any(|one| one.verb == Verb::DeleteTree)
}

/// Whether after an effect a directory is gone from its name in which another one deleted something.
fn takes_away(receipt: &Receipt, deletion: &Receipt) -> bool {
    let goes = |one: &Touched| {
        directory(one.before).is_some() && directory(one.before) != directory(one.after)
    };
    let inside = |one: &Touched, deleted: &Touched| {
        goes(one) && deleted.path != one.path && disk(deleted).starts_with(disk(one))
    };
    let touched = receipt.end.touched.as_slice().iter();
    let deleted = deletion.end.touched.as_slice();
    touched
        .clone()
        .any(|one| deleted.iter().any(|deleted| inside(one, deleted)))
}

/// Which directory it is.
fn directory(state: PathState) -> Option<ObjectId> {
    match state {
        PathState::Present(present) if present.kind == Kind::Directory => {
            present.stamp.map(|stamp| stamp.object())
        }
        PathState::Present(_) | PathState::Absent | PathState::Unknown => None,
    }
}
