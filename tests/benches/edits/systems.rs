//! Every subject, once in each round.

use crate::files::{self, File, NAME};
use crate::others;
use crate::subject::{Form, Lines, Size, Step, Subject, Times};
use crate::wire::Wired;
use portcullis_client::{Changes, Session};
use portcullis_gate::matching;
use portcullis_protocol::anchor::Labels;
use portcullis_protocol::session::Outcome;
use portcullis_protocol::view::{Digest, ObjectId};
use portcullis_tests::{World, own};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// No more edits than this one after the other: each copies the file.
const ONE_BY_ONE_MAX: usize = 1_000;

/// All that is measured, each size once.
pub fn sizes() -> Vec<(Lines, Size)> {
    let mut sizes: Vec<(Lines, Size)> = [Size::BOTH, Size::FILE, Size::HUNKS]
        .concat()
        .into_iter()
        .map(|size| (Lines::Unlike, size))
        .collect();
    sizes.extend(Size::BOTH.map(|size| (Lines::Alike, size)));
    sizes.sort();
    sizes.dedup();
    sizes
}

/// Measures everything `rounds` times, in turns.
pub fn rounds(rounds: usize) -> Times {
    let mut world = World::new(own!("own-gate"));
    let mut session = world.session().session;
    let beside = world.place.path().join("beside");
    std::fs::create_dir(&beside).unwrap();
    let subjects: Vec<Ready> = sizes()
        .into_iter()
        .flat_map(|(lines, size)| {
            let file = Rc::new(File::new(size, lines));
            Form::ALL.map(|form| Ready::new(form, lines, size, Rc::clone(&file)))
        })
        .collect();
    let mut place = Place {
        session: &mut session,
        inside: world.place.path().join("inside"),
        beside,
    };
    let mut times = Times::default();
    // The first round is only for caches, and is not counted.
    for round in 0..=rounds {
        let mut unkept = Times::default();
        let kept = if round == 0 { &mut unkept } else { &mut times };
        let (first, last) = subjects.split_at(round * 5 % subjects.len());
        for ready in last.iter().chain(first) {
            ready.turn(&mut place, kept);
        }
    }
    times
}

struct Place<'s> {
    session: &'s mut Session,
    inside: PathBuf,
    beside: PathBuf,
}

/// A file with its patches, made before anything is measured.
struct Ready {
    form: Form,
    lines: Lines,
    size: Size,
    file: Rc<File>,
    patches: [String; 2],
    changes: [Changes; 2],
    wired: Wired,
}

impl Ready {
    fn new(form: Form, lines: Lines, size: Size, file: Rc<File>) -> Self {
        let changes = [0, 1].map(|from| file.changes(form, from));
        Self {
            form,
            lines,
            size,
            patches: [0, 1].map(|from| file.patch(form, from)),
            wired: Wired::new(&changes[0]),
            changes,
            file,
        }
    }

    fn subject(&self, step: Step) -> Subject {
        Subject {
            form: self.form,
            lines: self.lines,
            size: self.size,
            step,
        }
    }

    fn turn(&self, place: &mut Place<'_>, times: &mut Times) {
        match self.form {
            Form::Replacements => {}
            Form::V4a | Form::Unified => times.time(self.subject(Step::Parse), || {
                black_box(files::parse(self.form, black_box(&self.patches[0])));
            }),
        }
        let [old, new] = &self.file.versions;
        times.time(self.subject(Step::Match), || {
            let edited =
                matching::apply(black_box(old.as_bytes()), self.wired.edits(), no_labels).unwrap();
            assert!(edited.bytes == new.as_bytes());
        });
        let inside = place.inside.join(NAME);
        std::fs::write(&inside, old).unwrap();
        self.there_and_back(Step::Whole, times, |from| {
            let made = place.session.change(&self.changes[from]).unwrap();
            assert_eq!(made.changed.outcome, Outcome::Done);
        });
        // What is measured is right, however often it was made.
        let version = self.size.times() % 2;
        assert!(std::fs::read(&inside).unwrap() == self.file.versions[version].as_bytes());
        self.others(&place.beside, times);
    }

    /// From one version to the other, and back.
    fn there_and_back(&self, step: Step, times: &mut Times, mut call: impl FnMut(usize)) {
        let mut from = 0;
        times.time(self.subject(step), || {
            call(from);
            from = 1 - from;
        });
    }

    fn others(&self, beside: &Path, times: &mut Times) {
        let reset = || std::fs::write(beside.join(NAME), &self.file.versions[0]).unwrap();
        match self.form {
            Form::Replacements => {
                reset();
                self.there_and_back(Step::Plain, times, |from| {
                    others::plain(beside, self.file.texts(from));
                });
                if self.size.hunks <= ONE_BY_ONE_MAX && self.lines == Lines::Unlike {
                    reset();
                    self.there_and_back(Step::OneByOne, times, |from| {
                        others::one_by_one(beside, self.file.texts(from));
                    });
                }
            }
            Form::V4a => self.program(Step::ApplyPatch, beside, times),
            Form::Unified => self.program(Step::Git, beside, times),
        }
    }

    fn program(&self, step: Step, beside: &Path, times: &mut Times) {
        if others::is_there(step) {
            std::fs::write(beside.join(NAME), &self.file.versions[0]).unwrap();
            self.there_and_back(step, times, |from| {
                others::applied(step, beside, &self.patches[from]);
            });
        }
    }
}

/// No edit of the bench names a line by its label.
fn no_labels() -> Labels {
    let object = ObjectId {
        device: 0,
        inode: 0,
    };
    Labels::new(object, &Digest([0; 32]))
}
