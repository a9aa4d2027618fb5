//! A tree built from receipts alone.

use crate::bench::disk;
use portcullis_protocol::control::Receipt;
use portcullis_protocol::session::{Outcome, Touched};
use portcullis_protocol::view::{Kind, ObjectId, PathState};
use portcullis_tests::tree::Tree;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// What receipts say is where.
#[derive(Debug, Default)]
pub(crate) struct Model {
    names: BTreeMap<PathBuf, PathState>,
    /// Names that a receipt says could not be looked at, until a later one says what is there.
    unknown: BTreeSet<PathBuf>,
    /// Receipts that tell of a tree in which another one, of a higher number, is done already.
    waiting: Vec<Receipt>,
    /// How many waited.
    pub(crate) waited: u32,
    /// Names that were told as unknown.
    pub(crate) told_unknown: u32,
}

impl Model {
    /// Takes the next receipt, in the order of their numbers.
    ///
    /// A deletion of a tree gives its locks back before the end of the removal, and so before its
    /// receipt: one of an effect on the same name may have a lower number. It waits for the tree
    /// that it tells of.
    pub(crate) fn take(&mut self, receipt: Receipt) {
        if !self.tells_of_this(&receipt) {
            self.waited += 1;
            self.waiting.push(receipt);
            return;
        }
        self.make(receipt.end.touched.as_slice());
        while let Some(next) = self.waiting.iter().position(|one| self.tells_of_this(one)) {
            let receipt = self.waiting.remove(next);
            self.make(receipt.end.touched.as_slice());
        }
    }

    /// Whether an effect can have been made in the tree as it is now.
    fn tells_of_this(&self, receipt: &Receipt) -> bool {
        let is_now = |one: &Touched| {
            let path = disk(one);
            self.is_unknown(path) || one.before.agrees(&self.at(path))
        };
        match receipt.end.outcome {
            Outcome::Done => receipt.end.touched.as_slice().iter().all(is_now),
            // Before the locks were held it may have been another.
            Outcome::Failed | Outcome::Uncertain => true,
        }
    }

    fn at(&self, path: &Path) -> PathState {
        self.names.get(path).copied().unwrap_or(PathState::Absent)
    }

    fn is_unknown(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.unknown.contains(above))
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
            self.unknown.retain(|path| !path.starts_with(top));
        }
        for one in touched {
            let top = disk(one);
            match one.after {
                PathState::Absent => {}
                PathState::Unknown => {
                    self.told_unknown += 1;
                    self.unknown.insert(top.to_path_buf());
                }
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
    /// many names were compared, and how many nobody could look at.
    pub(crate) fn differences(&self, tree: &Tree) -> (Vec<String>, usize, usize) {
        let mut found: Vec<String> = self
            .waiting
            .iter()
            .map(|receipt| format!("never possible: {receipt:#?}"))
            .collect();
        let all: BTreeSet<&PathBuf> = self.names.keys().chain(tree.names.keys()).collect();
        let (unknown, known): (Vec<&PathBuf>, Vec<&PathBuf>) =
            all.into_iter().partition(|path| self.is_unknown(path));
        for path in &known {
            let (said, is) = (self.at(path), tree.at(path));
            if !said.agrees(&is) {
                found.push(format!("{}: said {said:?}, is {is:?}", path.display()));
            }
        }
        (found, known.len(), unknown.len())
    }
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
