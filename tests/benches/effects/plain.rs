//! The system calls of each effect, one after the other, with the gate's own flags, and nothing
//! else: no judging, no digest, no difference, no journal, no lock, no answer.

use crate::files;
use crate::subject::{CYCLES, Cage, Deed, MANY, Part, Samples, Subject};
use portcullis_gate::sys::open::{self, Purpose};
use portcullis_gate::sys::{change, file, meta};
use portcullis_protocol::path::RelPath;
use rustix::fs::Statx;
use rustix::io::Errno;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Instant;

/// Permission bits of a new file.
const NEW_FILE: u16 = 0o644;

/// One file: its path below the root, its name, and the name beside it.
struct File {
    path: RelPath,
    name: Vec<u8>,
    beside: Vec<u8>,
}

/// What a change holds open between its parts. Dropped where a gate drops it.
struct Held {
    parent: OwnedFd,
    was: Option<(OwnedFd, Statx)>,
    staged: Option<OwnedFd>,
}

/// All files of one way.
pub struct Plain<'a> {
    root: BorrowedFd<'a>,
    cage: Cage,
    directory: RelPath,
    files: Vec<File>,
    contents: [Vec<u8>; 2],
}

impl<'a> Plain<'a> {
    pub fn new(root: BorrowedFd<'a>, cage: Cage, round: usize) -> Self {
        let file = |n| File {
            path: RelPath::parse(files::path(round, n).as_bytes()).unwrap(),
            name: files::name(n).into_bytes(),
            beside: format!(".portcullis-{n:032x}").into_bytes(),
        };
        Self {
            root,
            cage,
            directory: RelPath::parse(files::directory(round).as_bytes()).unwrap(),
            files: (0..MANY).map(file).collect(),
            contents: [0, 1].map(files::content),
        }
    }

    /// All deeds, some times.
    pub fn turn(&self, samples: &mut Samples) {
        let one = &self.files[..1];
        for _ in 0..CYCLES {
            self.run(Deed::Create, one, samples);
            self.run(Deed::Replace, one, samples);
            self.run(Deed::Delete, one, samples);
        }
        self.run(Deed::CreateMany, &self.files, samples);
        self.run(Deed::ReplaceMany, &self.files, samples);
        for file in &self.files {
            let parent = open::below(self.root, &self.directory, Purpose::Look).unwrap();
            change::remove(parent.as_fd(), &file.name).unwrap();
        }
    }

    /// One deed: all files planned, then all confirmed, then all changed, then what was displaced
    /// removed, as a gate does it.
    fn run(&self, deed: Deed, files: &[File], samples: &mut Samples) {
        let start = Instant::now();
        let held: Vec<Held> = files.iter().map(|file| self.plan(deed, file)).collect();
        let planned = Instant::now();
        self.confirm(files, &held);
        let confirmed = Instant::now();
        for (file, held) in files.iter().zip(&held) {
            execute(file, held);
        }
        for (file, held) in files.iter().zip(&held) {
            clean(file, held);
        }
        drop(held);
        let end = Instant::now();
        let mut add = |part, from: Instant, to: Instant| {
            let subject = Subject::PlainPart(self.cage, deed, part);
            samples.add(subject, to.duration_since(from).as_nanos() as f64);
        };
        add(Part::Plan, start, planned);
        add(Part::Confirm, planned, confirmed);
        add(Part::Execute, confirmed, end);
        let whole = end.duration_since(start).as_nanos() as f64;
        samples.add(Subject::Plain(self.cage, deed), whole);
    }

    /// Opens the object and its directory, reads what is there, stages what is to be there.
    fn plan(&self, deed: Deed, file: &File) -> Held {
        let was = match deed {
            Deed::Create | Deed::CreateMany => {
                let missing = open::below(self.root, &file.path, Purpose::Content);
                assert_eq!(missing.unwrap_err(), Errno::NOENT);
                None
            }
            Deed::Replace | Deed::ReplaceMany | Deed::Delete => {
                let object = open::below(self.root, &file.path, Purpose::Content).unwrap();
                let seen = open::observe(&object).unwrap();
                Some((object, seen))
            }
        };
        let parent = open::below(self.root, &self.directory, Purpose::Look).unwrap();
        open::observe(&parent).unwrap();
        if let Some((object, _)) = &was {
            let mut room = vec![0; files::BYTES + 1];
            let n = file::read_at(object.as_fd(), &mut room, 0).unwrap();
            assert_eq!(n, files::BYTES);
        }
        let staged = match deed {
            Deed::Create | Deed::CreateMany => Some(self.stage(&parent, 0, None)),
            Deed::Replace | Deed::ReplaceMany => {
                Some(self.stage(&parent, 1, was.as_ref().map(|(object, _)| object)))
            }
            Deed::Delete => None,
        };
        Held {
            parent,
            was,
            staged,
        }
    }

    fn stage(&self, parent: &OwnedFd, version: usize, like: Option<&OwnedFd>) -> OwnedFd {
        let made = change::temporary(parent.as_fd(), NEW_FILE).unwrap();
        change::write_at(made.as_fd(), &self.contents[version], 0).unwrap();
        open::observe(&made).unwrap();
        if let Some(like) = like {
            assert!(meta::attributes(like.as_fd()).unwrap().is_empty());
            assert!(meta::attributes(made.as_fd()).unwrap().is_empty());
        }
        made
    }

    /// Looks again: at the directory once, at each name, and for writers.
    fn confirm(&self, files: &[File], held: &[Held]) {
        let again = open::below(self.root, &self.directory, Purpose::Look).unwrap();
        open::observe(&again).unwrap();
        drop(again);
        for (file, held) in files.iter().zip(held) {
            if let (Some((object, _)), Some(_)) = (&held.was, &held.staged) {
                assert_eq!(meta::lease(object.as_fd()), Ok(meta::Lease::Held));
            }
            let seen = open::observe_name(held.parent.as_fd(), &file.name);
            assert_eq!(seen.is_ok(), held.was.is_some());
        }
    }
}

/// Gives the new content its name, or takes the object from its name, and looks at what came out.
fn execute(file: &File, held: &Held) {
    let parent = held.parent.as_fd();
    match (&held.staged, &held.was) {
        (Some(staged), None) => {
            change::give_name(staged.as_fd(), parent, &file.name).unwrap();
            open::observe(staged).unwrap();
        }
        (Some(staged), Some((object, _))) => {
            change::give_name(staged.as_fd(), parent, &file.beside).unwrap();
            change::exchange(parent, &file.beside, parent, &file.name).unwrap();
            open::observe_name(parent, &file.beside).unwrap();
            assert_eq!(meta::lease_holds(object.as_fd()), Ok(true));
            open::observe(staged).unwrap();
        }
        (None, _) => {
            change::rename(parent, &file.name, parent, &file.beside).unwrap();
            open::observe_name(parent, &file.beside).unwrap();
        }
    }
}

/// Removes what was displaced, after one more look at it.
fn clean(file: &File, held: &Held) {
    if let Some((_, was)) = &held.was {
        let parent = held.parent.as_fd();
        let seen = open::observe_name(parent, &file.beside).unwrap();
        assert_eq!(seen.stx_ino, was.stx_ino);
        change::remove(parent, &file.beside).unwrap();
    }
}
