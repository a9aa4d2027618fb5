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
use std::time::{Duration, Instant};

/// One after the other no more than this is copied, in bytes: each edit copies the file.
const ONE_BY_ONE_MAX: usize = 1 << 30;
/// No more hunks than this by another program: `git apply` of 10,000 in 10,000 KiB took 39 s.
const PROGRAM_HUNKS_MAX: usize = 1_000;
/// Long enough for a profile.
const SPIN: Duration = Duration::from_secs(5);

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

/// Repeats one step of the largest V4A patch for some seconds.
pub fn spin(step: Step) {
    let mut world = World::new(own!("own-gate"));
    let mut session = world.session().session;
    let [.., size] = Size::BOTH;
    let file = Rc::new(File::new(size, Lines::Unlike));
    let ready = Ready::new(Form::V4a, Lines::Unlike, size, file);
    let mut place = Place {
        session: &mut session,
        inside: world.place.path().join("inside"),
        beside: world.place.path().join("inside"),
    };
    let start = Instant::now();
    while start.elapsed() < SPIN {
        ready.step(step, &mut place, &mut Times::default());
    }
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
        for step in [Step::Parse, Step::Match, Step::Whole] {
            self.step(step, place, times);
        }
        self.others(&place.beside, times);
    }

    /// A step of the broker's own.
    fn step(&self, step: Step, place: &mut Place<'_>, times: &mut Times) {
        let [old, new] = &self.file.versions;
        match (step, self.form) {
            (Step::Parse, Form::V4a | Form::Unified) => times.time(self.subject(step), || {
                black_box(files::parse(self.form, black_box(&self.patches[0])));
            }),
            (Step::Match, _) => times.time(self.subject(step), || {
                let old = black_box(old.as_bytes());
                let edited = matching::apply(old, self.wired.edits(), no_labels).unwrap();
                assert!(edited.bytes == new.as_bytes());
            }),
            (Step::Whole, _) => {
                let inside = place.inside.join(NAME);
                std::fs::write(&inside, old).unwrap();
                self.there_and_back(step, times, |from| {
                    let made = place.session.change(&self.changes[from]).unwrap();
                    assert_eq!(made.changed.outcome, Outcome::Done);
                });
                // What is measured is right, however often it was made.
                let version = self.size.times() % 2;
                let is = std::fs::read(&inside).unwrap();
                assert!(is == self.file.versions[version].as_bytes());
            }
            (Step::Parse, Form::Replacements)
            | (Step::Plain | Step::OneByOne | Step::Git | Step::ApplyPatch, _) => {}
        }
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
                if self.size.hunks * self.size.bytes <= ONE_BY_ONE_MAX
                    && self.lines == Lines::Unlike
                {
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
        if others::is_there(step) && self.size.hunks <= PROGRAM_HUNKS_MAX {
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
