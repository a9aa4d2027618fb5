//! What a session was shown of files, and what it wrote: enough to tell whether content that would
//! be overwritten is content it knows.
//!
//! Only what was sent of a file that stood still counts. What a search shows, what comes with a
//! conflict and what a difference tells does not: a blind second try must not pass for knowledge.
//! A session that may change nothing keeps nothing.

mod ranges;

pub(crate) use ranges::Ranges;

use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::Touched;
use portcullis_protocol::view::{Digest, Kind, ObjectId, PathState, Present, RootIndex, Stamp};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Mutex;

/// Objects kept; the one that was not touched for longest is forgotten for another.
const OBJECTS_MAX: usize = 4096;
/// Stamps kept of one content, which differ because somebody touched the file.
const STAMPS_MAX: usize = 4;

/// Whether a session is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// It may change something.
    Shown,
    /// It may not.
    Nothing,
    /// It is one operation that somebody decides about, who is shown what is lost.
    Decided,
}

/// The memory of one session, shared by its threads. The lock is never held across a system call.
#[derive(Debug)]
pub(crate) struct Memory {
    kept: Option<Mutex<Kept>>,
    keeping: Keeping,
}

/// A part of a file that was sent.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// The version it is of, before and after.
    pub(crate) stamp: Stamp,
    pub(crate) bytes: Range<u64>,
    /// Of the whole file, when it was worked out.
    pub(crate) digest: Option<Digest>,
}

/// What the content of a name was made from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin {
    /// The request alone.
    Request,
    /// What an object was, edited or not.
    Object(Present),
    /// It is no file, or nothing.
    Other,
}

/// One content of a file, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    /// The stamps it was met with, newest last; at least one.
    stamps: Vec<Stamp>,
    pub(crate) digest: Option<Digest>,
    pub(crate) seen: Seen,
}

/// How much of one content a session knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Whole,
    /// These bytes; none of a file that was edited in part and not read again.
    Part(Ranges),
}

impl Memory {
    pub(crate) fn new(keeping: Keeping) -> Self {
        let kept = match keeping {
            Keeping::Shown => Some(Mutex::default()),
            Keeping::Nothing | Keeping::Decided => None,
        };
        Self { kept, keeping }
    }

    /// Whether reads are kept, so that their digests are worth their price.
    pub(crate) const fn keeps(&self) -> bool {
        self.kept.is_some()
    }

    /// Whether somebody is shown what is lost and decides, so that the worker need not have seen it.
    pub(crate) fn is_decided(&self) -> bool {
        self.keeping == Keeping::Decided
    }

    /// A part of the file of this name is about to be sent, its last bytes included.
    pub(crate) fn shown(&self, name: Name<'_>, part: Part) {
        self.with(|kept| kept.shown(name, part));
    }

    /// Whether these bytes are the last that were missing of a content whose digest is not known.
    pub(crate) fn completes(&self, part: &Part) -> bool {
        self.with(|kept| kept.completes(part)).unwrap_or(false)
    }

    /// An effect was done: what each name has now, and what that was made from.
    pub(crate) fn changed<'t>(&self, made: impl Iterator<Item = (&'t Touched, &'t Origin)>) {
        if self.keeps() {
            let made: Vec<_> = made.collect();
            self.with(|kept| kept.changed(&made));
        }
    }

    /// Every version known of the object of this stamp or of what had its name before, the object's
    /// own first.
    pub(crate) fn versions(&self, name: Name<'_>, stamp: &Stamp) -> Vec<Version> {
        self.with(|kept| kept.versions(name, stamp))
            .unwrap_or_default()
    }

    fn with<T>(&self, work: impl FnOnce(&mut Kept) -> T) -> Option<T> {
        // A thread that died with the lock leaves a session that knows nothing.
        let mut kept = self.kept.as_ref()?.lock().ok()?;
        Some(work(&mut kept))
    }
}

impl Version {
    /// Whether it is what an object of this stamp and this digest holds. Content says more than
    /// stamps, of which two may be alike when a file is written twice in one tick of the clock.
    pub(crate) fn is(&self, stamp: &Stamp, digest: Option<Digest>) -> bool {
        match (self.digest, digest) {
            (Some(known), Some(found)) => known == found,
            (None, _) | (_, None) => self.stamps.contains(stamp),
        }
    }

    /// Whether it was met with this stamp.
    pub(crate) fn had(&self, stamp: &Stamp) -> bool {
        self.stamps.contains(stamp)
    }

    fn add(&mut self, stamp: Stamp) {
        if !self.stamps.contains(&stamp) {
            if self.stamps.len() >= STAMPS_MAX {
                self.stamps.remove(0);
            }
            self.stamps.push(stamp);
        }
    }
}

/// Where a file is.
pub(crate) type Name<'a> = (RootIndex, &'a RelPath);

/// What is known of one object.
#[derive(Debug)]
struct Entry {
    /// The name it was last met by.
    name: (RootIndex, RelPath),
    age: u64,
    latest: Version,
    /// The last content that was known whole, where `latest` is not.
    whole: Option<Version>,
}

impl Entry {
    /// Whether it is of the object of this stamp: the number of one that is gone is given to another.
    fn is_of(&self, stamp: &Stamp) -> bool {
        let latest = self.latest.stamps.last();
        latest.is_some_and(|known| known.born == stamp.born)
    }

    fn versions(&self) -> impl Iterator<Item = &Version> {
        std::iter::once(&self.latest).chain(&self.whole)
    }

    fn new((root, path): Name<'_>, latest: Version) -> Self {
        Self {
            name: (root, path.clone()),
            age: 0,
            latest,
            whole: None,
        }
    }

    /// Makes `latest` the content that is met now: one of those that are known, or `fresh`.
    fn meet(&mut self, stamp: &Stamp, fresh: Version) {
        if self.latest.is(stamp, fresh.digest) {
            return;
        }
        match self.whole.take() {
            Some(whole) if whole.is(stamp, fresh.digest) => self.latest = whole,
            whole => {
                let was = std::mem::replace(&mut self.latest, fresh);
                self.whole = match was.seen {
                    Seen::Whole => Some(was),
                    Seen::Part(_) => whole,
                };
            }
        }
    }

    /// Adds what was sent of `latest`.
    fn saw(&mut self, stamp: Stamp, bytes: &Range<u64>, digest: Option<Digest>) {
        let latest = &mut self.latest;
        latest.add(stamp);
        latest.digest = latest.digest.or(digest);
        if let Seen::Part(ranges) = &mut latest.seen {
            ranges.add(bytes.clone());
            if ranges.cover(stamp.size) {
                latest.seen = Seen::Whole;
            }
        }
        // The digest may tell only now that it is what was known whole.
        if let Some(whole) = &self.whole
            && whole.digest.is_some()
            && whole.digest == latest.digest
        {
            latest.seen = Seen::Whole;
        }
        if latest.seen == Seen::Whole {
            self.whole = None;
        }
    }
}

#[derive(Debug, Default)]
struct Kept {
    objects: HashMap<ObjectId, Entry>,
    names: HashMap<RootIndex, HashMap<RelPath, ObjectId>>,
    /// When each was last touched, oldest first.
    ages: BTreeMap<u64, ObjectId>,
    now: u64,
}

impl Kept {
    fn shown(&mut self, name: Name<'_>, part: Part) {
        let Part {
            stamp,
            bytes,
            digest,
        } = part;
        if bytes.is_empty() && stamp.size > 0 && digest.is_none() {
            return;
        }
        let fresh = Version {
            stamps: vec![stamp],
            digest,
            seen: Seen::Part(Ranges::default()),
        };
        let mut entry = match self.take(name, &stamp) {
            Some(mut entry) => {
                entry.meet(&stamp, fresh);
                entry
            }
            None => Entry::new(name, fresh),
        };
        entry.saw(stamp, &bytes, digest);
        self.put(name, stamp.object(), entry);
    }

    fn completes(&self, part: &Part) -> bool {
        let Some(entry) = self.objects.get(&part.stamp.object()) else {
            return false;
        };
        let latest = &entry.latest;
        match &latest.seen {
            Seen::Part(ranges) if latest.had(&part.stamp) && latest.digest.is_none() => {
                let mut ranges = ranges.clone();
                ranges.add(part.bytes.clone());
                ranges.cover(part.stamp.size)
            }
            Seen::Part(_) | Seen::Whole => false,
        }
    }

    fn versions(&self, name: Name<'_>, stamp: &Stamp) -> Vec<Version> {
        let object = stamp.object();
        let own = self.objects.get(&object).filter(|own| own.is_of(stamp));
        // One that had the name before may have had the number too.
        let named = self.named(name);
        let named = named.filter(|id| own.is_none() || **id != object);
        own.into_iter()
            .chain(named.and_then(|id| self.objects.get(id)))
            .flat_map(Entry::versions)
            .cloned()
            .collect()
    }

    fn changed(&mut self, made: &[(&Touched, &Origin)]) {
        // What is worked out of the old entries comes before any of them is forgotten.
        let learned: Vec<(Name<'_>, Stamp, Version)> = made
            .iter()
            .filter_map(|(touched, origin)| {
                let (stamp, version) = self.learned(touched, origin)?;
                Some(((touched.root, &touched.path), stamp, version))
            })
            .collect();
        for gone in made.iter().filter_map(|(touched, _)| file(&touched.before)) {
            if let Some(stamp) = gone.stamp {
                self.forget(stamp.object());
            }
        }
        for (name, stamp, version) in learned {
            self.forget(stamp.object());
            self.put(name, stamp.object(), Entry::new(name, version));
        }
    }

    /// What the session knows of what it put at a name.
    fn learned(&self, touched: &Touched, origin: &Origin) -> Option<(Stamp, Version)> {
        let after = file(&touched.after)?;
        let stamp = after.stamp?;
        let seen = match origin {
            Origin::Request => Seen::Whole,
            Origin::Object(was) => {
                let same = was.digest == after.digest && was.size == after.size;
                match self.known(was) {
                    Some(version) if same || version.seen == Seen::Whole => version.seen.clone(),
                    None if same => return None,
                    // What it saw of it may be somewhere else by now.
                    Some(_) | None => Seen::Part(Ranges::default()),
                }
            }
            Origin::Other => return None,
        };
        let version = Version {
            stamps: vec![stamp],
            digest: after.digest,
            seen,
        };
        Some((stamp, version))
    }

    /// What is known of a content that was there.
    fn known(&self, was: &Present) -> Option<&Version> {
        let stamp = was.stamp?;
        let entry = self.objects.get(&stamp.object())?;
        let mut versions = entry.versions();
        versions.find(|version| version.is(&stamp, was.digest))
    }

    /// Takes out what is known of an object that is met by this name now. Of one that is met for
    /// the first time, what was known whole of what had the name before: most programs replace a
    /// file by another object of its name.
    fn take(&mut self, name: Name<'_>, stamp: &Stamp) -> Option<Entry> {
        let id = stamp.object();
        if self.objects.get(&id).is_some_and(|own| own.is_of(stamp)) {
            let entry = self.objects.remove(&id)?;
            self.ages.remove(&entry.age);
            return Some(entry);
        }
        let before = self.named(name).and_then(|id| self.objects.get(id));
        let heir = before.and_then(|before| {
            let whole = before.versions().find(|v| v.seen == Seen::Whole)?;
            Some(Entry {
                name: before.name.clone(),
                age: 0,
                latest: whole.clone(),
                whole: None,
            })
        });
        // Of one that had its number and is gone.
        self.forget(id);
        heir
    }

    /// Keeps what is known of an object under this name, as the one touched last.
    fn put(&mut self, (root, path): Name<'_>, id: ObjectId, mut entry: Entry) {
        if self.named((root, path)) != Some(&id) {
            self.unname(&entry.name, id);
            entry.name = (root, path.clone());
            let names = self.names.entry(root).or_default();
            names.insert(path.clone(), id);
        }
        while self.objects.len() >= OBJECTS_MAX
            && let Some((_, oldest)) = self.ages.pop_first()
        {
            self.forget(oldest);
        }
        self.now += 1;
        entry.age = self.now;
        self.ages.insert(entry.age, id);
        self.objects.insert(id, entry);
    }

    fn forget(&mut self, id: ObjectId) {
        if let Some(entry) = self.objects.remove(&id) {
            self.ages.remove(&entry.age);
            self.unname(&entry.name, id);
        }
    }

    fn named(&self, (root, path): Name<'_>) -> Option<&ObjectId> {
        self.names.get(&root).and_then(|names| names.get(path))
    }

    /// Takes an object's name away, if nothing else has it by now.
    fn unname(&mut self, (root, path): &(RootIndex, RelPath), id: ObjectId) {
        if let Some(names) = self.names.get_mut(root)
            && names.get(path) == Some(&id)
        {
            names.remove(path);
        }
    }
}

/// A file's state, where it is a file.
fn file(state: &PathState) -> Option<&Present> {
    match state {
        PathState::Present(present) if present.kind == Kind::File => Some(present),
        PathState::Present(_) | PathState::Absent | PathState::Unknown => None,
    }
}

#[cfg(test)]
mod tests;
