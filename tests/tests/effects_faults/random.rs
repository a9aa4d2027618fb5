//! Many changes of every kind at random, by sessions that work against each other through gates
//! that fail and die. In the end the receipts alone tell the tree.
//!
//! `PORTCULLIS_SEED` repeats the choices of a run; how the sessions meet is not repeated.

use crate::bench::log;
use crate::model::{Model, brief};
use portcullis_client::change::{Count, Replace, TextEdit};
use portcullis_client::{Changes, Control, Error, ErrorCode, MintOrder, Session, ask, change};
use portcullis_protocol::authority::Scope;
use portcullis_protocol::control::{OverCause, Receipt, RunId};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::session::{Changed, Deletion, Expect, Onto, Outcome, Parents, Selector};
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::faults::Faults;
use portcullis_tests::tree::Tree;
use portcullis_tests::{World, own};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// Change sets in all.
const CHANGES: u32 = 10_000;
/// Runtimes, each with one session at a time.
const RUNTIMES: u32 = 3;
/// Most change sets of one session.
const SESSION: u32 = 16;
/// Calls after which a gate meets its fault, at most.
const CALLS: u32 = 200;

/// xorshift64*.
#[derive(Debug)]
struct Random(u64);

/// Choices by what is there: at random alone, most changes would be refused.
struct Chooser<'a> {
    random: &'a mut Random,
    files: Vec<String>,
    directories: Vec<String>,
}

impl Random {
    fn new(seed: u64) -> Self {
        // Spread, and never 0.
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below `bound`.
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let spread = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        u32::try_from((spread * u64::from(bound)) >> 32).unwrap()
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        let at = self.below(u32::try_from(all.len()).unwrap());
        all[usize::try_from(at).unwrap()]
    }

    /// A name of few, at most three deep.
    fn path(&mut self) -> String {
        let names: Vec<&str> = (0..self.of(&[1, 1, 1, 2, 2, 3]))
            .map(|_| self.of(&["a", "b", "c", "d", "e"]))
            .collect();
        names.join("/")
    }

    /// What the gate of a session meets.
    fn fault(&mut self) -> Option<(u32, String)> {
        let errno = self.of(&[28, 122, 5, 24]);
        let what = match self.below(10) {
            0..=2 => return None,
            // One call only: a disk that stays broken leaves names that nobody could look at.
            3..=6 => errno.to_string(),
            7..=8 => "die".to_owned(),
            _ => "die-after".to_owned(),
        };
        Some((1 + self.below(CALLS), what))
    }
}

impl<'a> Chooser<'a> {
    fn new(random: &'a mut Random, inside: &Path) -> Self {
        let mut chooser = Self {
            random,
            files: Vec::new(),
            directories: Vec::new(),
        };
        chooser.look(inside, "");
        chooser
    }

    /// Others change it meanwhile.
    fn look(&mut self, inside: &Path, below: &str) {
        let Ok(entries) = std::fs::read_dir(inside.join(below)) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name().into_string().unwrap();
            let path = format!("{below}{name}");
            match entry.file_type() {
                // A temporary, which nobody may name.
                _ if name.starts_with('.') => {}
                Ok(kind) if kind.is_dir() => {
                    self.look(inside, &format!("{path}/"));
                    self.directories.push(path);
                }
                Ok(_) => self.files.push(path),
                Err(_) => {}
            }
        }
        self.files.sort();
        self.directories.sort();
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        self.random.of(all)
    }

    fn at(&mut self) -> Selector {
        ask::selector(self.random.path()).unwrap()
    }

    /// Mostly one of these, or any.
    fn known(&mut self, these: fn(&Self) -> &[String]) -> Selector {
        let count = u32::try_from(these(self).len()).unwrap();
        if count == 0 || self.random.below(5) == 0 {
            return self.at();
        }
        let at = self.random.below(count);
        ask::selector(&these(self)[usize::try_from(at).unwrap()]).unwrap()
    }

    /// A name in a directory that is there.
    fn fresh(&mut self) -> Selector {
        let name = self.of(&["a", "b", "c", "d", "e", "f", "g", "h"]);
        let count = u32::try_from(self.directories.len()).unwrap();
        let at = usize::try_from(self.random.below(count + 1)).unwrap();
        match self.directories.get(at) {
            Some(directory) => ask::selector(format!("{directory}/{name}")).unwrap(),
            None => ask::selector(name).unwrap(),
        }
    }

    fn file(&mut self) -> Selector {
        self.known(|chooser| &chooser.files)
    }

    fn directory(&mut self) -> Selector {
        self.known(|chooser| &chooser.directories)
    }

    fn object(&mut self) -> Selector {
        if self.random.below(2) == 0 {
            self.file()
        } else {
            self.directory()
        }
    }

    fn parents(&mut self) -> Parents {
        self.of(&[Parents::Exist, Parents::Make])
    }

    fn content(&mut self) -> Vec<u8> {
        let len = self.of(&[0, 3, 40, 40, 900, 900, 5_000, 90_000]);
        let line = self.of(&["alpha\n", "beta\n", "gamma delta\n"]);
        line.bytes().cycle().take(len).collect()
    }

    fn item(&mut self) -> change::Item {
        match self.random.below(16) {
            0..=2 => {
                let selector = self.of(&[Self::at, Self::fresh, Self::file, Self::file])(self);
                let mut write = change::write(selector, self.content());
                write.parents = self.parents();
                write.into()
            }
            3 => change::create(self.fresh(), self.content()).into(),
            4..=6 => {
                // Found in whatever is not empty.
                let (old, new) = ("\n", self.of(&["x\n", "y\n"]));
                let mut edit = change::replace(self.file(), old, new);
                edit.edits = vec![TextEdit::Replace(Replace {
                    old: old.into(),
                    new: new.into(),
                    count: Count::All,
                })];
                edit.into()
            }
            7..=8 => {
                let mut mkdir = change::mkdir(self.of(&[Self::at, Self::fresh])(self));
                mkdir.parents = self.parents();
                mkdir.into()
            }
            9..=11 => {
                let to = self.of(&[Self::at, Self::fresh, Self::fresh, Self::file])(self);
                let mut moved = change::rename(self.object(), to);
                moved.onto = self.of(&[Onto::Nothing, Onto::Replace(Expect::Any)]);
                moved.parents = self.parents();
                moved.into()
            }
            12..=13 => {
                let what = self.of(&[
                    Deletion::File,
                    Deletion::File,
                    Deletion::Directory,
                    Deletion::Tree,
                ]);
                let selector = match what {
                    Deletion::File => self.file(),
                    Deletion::Directory | Deletion::Tree => self.directory(),
                };
                let mut delete = change::delete(selector);
                delete.what = what;
                delete.into()
            }
            // The owner may always enter and read.
            14 => change::chmod(self.object(), self.of(&[0o700, 0o755, 0o750, 0o711])).into(),
            _ => {
                let text = self.of(&["a", "b/c", "nowhere"]);
                change::link(self.fresh(), text).unwrap().into()
            }
        }
    }

    fn changes(&mut self) -> Changes {
        let items = self.of(&[1, 1, 1, 1, 1, 2, 3, 6]);
        let mut changes = Changes::new();
        (0..items).for_each(|_| changes.push(self.item()));
        changes
    }
}

/// What came of the changes of one runtime.
#[derive(Debug, Default)]
struct Tally {
    changes: u32,
    refused: u32,
    done: u32,
    failed: u32,
    uncertain: u32,
    unanswered: u32,
    sessions: u32,
    gates_died: u32,
}

/// A runtime at the end of its work.
struct Worked {
    run: RunId,
    tally: Tally,
    /// What its sessions were answered.
    told: Vec<Changed>,
}

/// One runtime: sessions one after the other, each by a gate of its own.
fn work(control: &mut Control, inside: &Path, faults: &Mutex<Faults>, seed: u64) -> Worked {
    let mut random = Random::new(seed);
    let label = Label::new("workspace").unwrap();
    let root = control.seal_path(inside, label, Scope::Workspace).unwrap();
    let order = MintOrder::new("tester").root(root.root, None).grant(
        root.root,
        RelPath::root(),
        VerbSet::ALL,
    );
    let (mut tally, mut told) = (Tally::default(), Vec::new());
    loop {
        let fault = random.fault();
        let (minted, mut session) = {
            // What is planned holds for this gate and no other.
            let faults = faults.lock().unwrap();
            if let Some((nth, what)) = &fault {
                faults.set(*nth, what);
            }
            let minted = control.mint(&order).unwrap();
            faults.clear();
            minted
        };
        tally.sessions += 1;
        for _ in 0..=random.below(SESSION) {
            if tally.changes == CHANGES / RUNTIMES + 1
                || !once(
                    &mut session,
                    &Chooser::new(&mut random, inside).changes(),
                    &mut tally,
                    &mut told,
                )
            {
                break;
            }
        }
        drop(session);
        let over = control.wait_over(minted.session, None).unwrap().unwrap();
        tally.gates_died += u32::from(over.cause == OverCause::GateDied);
        if tally.changes == CHANGES / RUNTIMES + 1 {
            return Worked {
                run: minted.run,
                tally,
                told,
            };
        }
    }
}

/// One change set; whether the session goes on.
fn once(
    session: &mut Session,
    changes: &Changes,
    tally: &mut Tally,
    told: &mut Vec<Changed>,
) -> bool {
    tally.changes += 1;
    let answer = session.change(changes);
    let code = answer.as_ref().map_err(Error::code);
    match code {
        Ok(made) => {
            tally.done += 1;
            told.push(made.changed.clone());
        }
        Err(ErrorCode::Refused(_)) => tally.refused += 1,
        Err(ErrorCode::Failed(changed)) => {
            tally.failed += 1;
            told.push(Changed::clone(changed));
        }
        Err(ErrorCode::Uncertain(changed)) => {
            tally.uncertain += 1;
            told.push(Changed::clone(changed));
        }
        // In the upload before it, or in the change.
        Err(ErrorCode::Closed(_) | ErrorCode::Unanswered(_)) => {
            tally.unanswered += 1;
            return false;
        }
        Err(other) => panic!("{other:?}"),
    }
    true
}

#[test]
fn receipts_alone_tell_the_tree_after_ten_thousand_changes() {
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = match std::env::var("PORTCULLIS_SEED") {
        Ok(seed) => seed.parse().expect("a number"),
        Err(_) => u64::from(clock.unwrap().subsec_nanos()),
    };
    println!("== PORTCULLIS_SEED={seed}");
    let faults = Mutex::new(Faults::new(&own!("own-gate")));
    let gate = faults.lock().unwrap().gate();
    let mut world = World::new(gate);
    let inside = world.inside();
    let worked: Vec<Worked> = std::thread::scope(|scope| {
        let start = |n: u32| {
            let mut control = Control::new(world.warden.connect().unwrap()).unwrap();
            let (inside, faults) = (&inside, &faults);
            let seed = seed.wrapping_add(n.into());
            scope.spawn(move || work(&mut control, inside, faults, seed))
        };
        let all: Vec<_> = (0..RUNTIMES).map(start).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let mut receipts: BTreeMap<u64, Receipt> = BTreeMap::new();
    for one in &worked {
        println!("== {:?}", one.tally);
        let log = log(&mut world.control, one.run, 0);
        receipts.extend(log.into_iter().map(|receipt| (receipt.id.number, receipt)));
    }
    let verified = world.control.verify().unwrap();
    assert_eq!((verified.broken, verified.open), (None, 0));
    // None is missing, and none belongs to nobody.
    assert!(receipts.keys().copied().eq(1..=verified.receipts));
    for told in worked.iter().flat_map(|one| &one.told) {
        let end = &receipts[&told.receipt.number].end;
        assert_eq!((end.outcome, &end.touched), (told.outcome, &told.touched));
    }
    compare(receipts, &Tree::read(&inside));
}

fn compare(receipts: BTreeMap<u64, Receipt>, tree: &Tree) {
    let mut model = Model::default();
    let (mut ends, mut left) = (BTreeMap::new(), 0);
    for receipt in receipts.values() {
        let kind = format!("{:?} by {:?}", receipt.end.outcome, receipt.witness);
        *ends.entry(kind).or_insert(0_u32) += 1;
        left += receipt.end.left;
        match receipt.end.outcome {
            Outcome::Done | Outcome::Uncertain => model.take(receipt),
            // It changed nothing, and says what was there when it did not.
            Outcome::Failed => model.look(receipt),
        }
    }
    let (differences, compared) = model.differences(tree);
    println!("== {} receipts {ends:?}", receipts.len());
    println!(
        "== {compared} names compared; {left} left on record, {} temporaries, {} names untold",
        tree.temporaries.len(),
        model.untold
    );
    if !differences.is_empty() {
        // What it takes to find out why.
        for receipt in receipts.values() {
            println!("{}", brief(receipt));
        }
        panic!("{}", differences.join("\n"));
    }
    assert!(tree.temporaries.len() <= usize::try_from(left).unwrap());
    // Only where a directory got another place before an effect had its locks.
    assert!(usize::try_from(model.untold).unwrap() <= receipts.len() / 50);
}
