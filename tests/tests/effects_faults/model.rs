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

/// What receipts say is where.
#[derive(Debug, Default)]
pub(crate) struct Model {
    names: BTreeMap<PathBuf, PathState>,
    /// Receipts that tell of another tree than those before them made.
    odd: Vec<String>,
    /// Names of which a receipt says that what is there is not known. They are taken to be as they
    /// were, which the receipts after it and the tree in the end bear out or not.
    pub(crate) untold: u32,
}

impl Model {
    /// Takes the next receipt, in the order of their numbers, which is the order of effects on any
    /// one name.
    pub(crate) fn take(&mut self, receipt: &Receipt) {
        match receipt.end.outcome {
            Outcome::Done | Outcome::Failed => self.look(receipt),
            // What it found is not known, only what it left.
            Outcome::Uncertain => self.count_untold(receipt),
        }
        match receipt.end.touched.as_slice() {
            [one] if one.verb == Verb::Mkdir && one.before == PathState::Absent => {
                // Alone it is seen before it is on record, so that what others put into it may be
                // on record before it.
                self.set(disk(one), one.after);
            }
            touched => self.make(touched),
        }
    }

    /// Remembers a receipt that tells of another tree than those before it made.
    pub(crate) fn look(&mut self, receipt: &Receipt) {
        let mut others = String::new();
        for one in receipt.end.touched.as_slice() {
            let was = self.at(disk(one));
            if receipt.end.outcome == Outcome::Failed
                && [one.before, one.after] == [PathState::Unknown; 2]
            {
                self.untold += 1;
            } else if !one.before.agrees(&was) {
                write!(others, "\n  {} was {}", disk(one).display(), words(&was)).unwrap();
            }
        }
        if !others.is_empty() {
            let text = format!("not what was there: {}{others}", brief(receipt));
            self.odd.push(text);
        }
    }

    fn count_untold(&mut self, receipt: &Receipt) {
        let touched = receipt.end.touched.as_slice().iter();
        let untold = touched.filter(|one| one.after == PathState::Unknown);
        self.untold += u32::try_from(untold.count()).unwrap();
    }

    fn at(&self, path: &Path) -> PathState {
        self.names.get(path).copied().unwrap_or(PathState::Absent)
    }

    fn set(&mut self, path: &Path, now: PathState) {
        match now {
            PathState::Absent => {
                self.names.remove(path);
            }
            PathState::Present(_) => {
                self.names.insert(path.to_path_buf(), now);
            }
            // Taken to be as it was.
            PathState::Unknown => {}
        }
    }

    /// Directories that come to be under another name take along what is below them.
    fn make(&mut self, touched: &[Touched]) {
        let mut touched: Vec<&Touched> = touched
            .iter()
            .filter(|one| one.before != one.after && one.after != PathState::Unknown)
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
                PathState::Unknown => unreachable!("left out above"),
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
        let mut found = self.odd.clone();
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

/// A state in a few words.
fn words(state: &PathState) -> String {
    match state {
        PathState::Absent => "absent".to_owned(),
        PathState::Unknown => "unknown".to_owned(),
        PathState::Present(present) => {
            let inode = present.stamp.map(|stamp| stamp.inode);
            let digest = present.digest.map(|digest| digest.0[0]);
            let (kind, mode, size) = (present.kind.name(), present.mode, present.size);
            format!("{kind} {inode:?} {mode:o}, {size} bytes of digest {digest:02x?}..")
        }
    }
}

/// A receipt in a line for each name.
pub(crate) fn brief(receipt: &Receipt) -> String {
    let mut text = format!(
        "receipt {} of session {}, {:?} by {:?}",
        receipt.id.number, receipt.session.0, receipt.end.outcome, receipt.witness
    );
    for one in receipt.end.touched.as_slice() {
        let (path, verb) = (disk(one).display(), one.verb);
        let (before, after) = (words(&one.before), words(&one.after));
        write!(text, "\n    {verb} {path}: {before} -> {after}").unwrap();
    }
    if let Some(refusal) = &receipt.end.refusal {
        write!(text, "\n    because of {refusal}").unwrap();
    }
    text
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
