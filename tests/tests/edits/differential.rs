//! What `git apply` does with a patch is what is done with it here, end to end, over many thousands
//! of patches that were made, damaged, or meet a tree that is not the one they were made for.
//!
//! Trees are compared as git knows them: files and links with their modes and bytes. Git has no
//! directories: it removes one that a patch empties, and here it stays.

mod damage;
mod diffs;
mod exceptions;
mod kinds;
mod make;
mod oracle;
mod random;
mod ranges;
pub(crate) mod tree;

use damage::Damage;
pub(crate) use diffs::{Direction, Maker, Renames, Style, difference};
use exceptions::Exception;
use make::Says;
use oracle::{Ours, Theirs, Verdict};
use portcullis_client::Session;
use portcullis_tests::{World, own};
use random::Random;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tree::Tree;

/// Cases of a full run; `PORTCULLIS_DIFFERENTIAL_CASES` says another number.
const CASES: u64 = 20_000;
/// Where they begin; `PORTCULLIS_DIFFERENTIAL_SEED` says another.
const SEED: u64 = 0x706f_7274;
/// Sessions that work at once.
const SESSIONS: u64 = 4;
/// Exceptions of a thousand cases, less than.
const EXCEPTIONS_IN_THOUSAND: u64 = 10;

/// A patch and a tree.
#[derive(Debug)]
pub(crate) struct Case {
    style: Style,
    damage: Damage,
    patch: Vec<u8>,
    target: Tree,
    /// The trees the patch was made of.
    old: Tree,
    new: Tree,
}

/// Directories of one session.
pub(crate) struct Desk {
    /// The root of the session.
    pub(crate) inside: PathBuf,
    /// Where `git apply` works.
    beside: PathBuf,
    /// Where differences are made.
    pub(crate) scratch: PathBuf,
    pub(crate) session: Session,
}

impl Desk {
    /// Opens a session on a directory of its own below a place.
    pub(crate) fn open(world: &mut World, place: &Path, name: &str) -> Self {
        let top = place.join(name);
        for part in ["inside", "beside", "scratch/a", "scratch/b"] {
            std::fs::create_dir_all(top.join(part)).unwrap();
        }
        let inside = top.join("inside");
        Self {
            session: oracle::session(world, &inside),
            inside,
            beside: top.join("beside"),
            scratch: top.join("scratch"),
        }
    }
}

/// A directory in memory where there is one: what is compared here is no file system.
pub(crate) fn place() -> tempfile::TempDir {
    let mut builder = tempfile::Builder::new();
    builder.prefix("portcullis-test-");
    match builder.tempdir_in("/dev/shm") {
        Ok(place) => place,
        Err(_) => builder.tempdir().unwrap(),
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|e| panic!("{name}={text}: {e}")),
        Err(_) => otherwise,
    }
}

/// What came of the cases.
#[derive(Debug, Default)]
struct Tally {
    /// Applied, and refused, by both.
    agreed: BTreeMap<(Maker, Damage), [u64; 2]>,
    excepted: BTreeMap<Exception, u64>,
    /// Cases whose reverse was applied too.
    reversed: u64,
    /// Edits whose reported ranges were compared.
    ranges: u64,
    differences: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        for (key, [applied, refused]) in other.agreed {
            let sum = self.agreed.entry(key).or_default();
            *sum = [sum[0] + applied, sum[1] + refused];
        }
        for (exception, count) in other.excepted {
            *self.excepted.entry(exception).or_default() += count;
        }
        self.reversed += other.reversed;
        self.ranges += other.ranges;
        self.differences.extend(other.differences);
    }

    fn print(&self, cases: u64) {
        println!("{cases} cases; applied and refused by both:");
        for ((maker, damage), [applied, refused]) in &self.agreed {
            println!("  {maker:?} {damage:?}: {applied} {refused}");
        }
        println!("exceptions: {:?}", self.excepted);
        println!(
            "applied backwards: {}; ranges compared: {}",
            self.reversed, self.ranges
        );
    }
}

#[test]
fn patches_do_what_git_apply_does() {
    let cases = number("PORTCULLIS_DIFFERENTIAL_CASES", CASES);
    let seed = number("PORTCULLIS_DIFFERENTIAL_SEED", SEED);
    println!("seed {seed}");
    let place = place();
    let mut world = World::new(own!("own-gate"));
    let desks: Vec<Desk> = (0..SESSIONS)
        .map(|n| Desk::open(&mut world, place.path(), &n.to_string()))
        .collect();
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0_u64..)
            .zip(desks)
            .map(|(first, mut desk)| {
                scope.spawn(move || {
                    let mut tally = Tally::default();
                    for case in (first..cases).step_by(usize::try_from(SESSIONS).unwrap()) {
                        one(&mut desk, seed, case, &mut tally);
                    }
                    tally
                })
            })
            .collect();
        for thread in threads {
            tally.add(thread.join().unwrap());
        }
    });
    tally.print(cases);
    assert!(
        tally.differences.is_empty(),
        "{} differences, of which the first:\n{}",
        tally.differences.len(),
        tally
            .differences
            .iter()
            .take(number("PORTCULLIS_DIFFERENTIAL_SHOWN", 8) as usize)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n\n")
    );
    let excepted: u64 = tally.excepted.values().sum();
    // Of a short run the share says little.
    assert!(
        cases < CASES || excepted * 1000 < cases * EXCEPTIONS_IN_THOUSAND,
        "{excepted} exceptions"
    );
    for (maker, damage) in [
        (Maker::Git(Renames::No), Damage::Drift),
        (Maker::Diff, Damage::LineChanged),
    ] {
        let both = tally
            .agreed
            .get(&(maker, damage))
            .copied()
            .unwrap_or_default();
        assert!(
            both.iter().all(|count| *count > 0),
            "no case of each kind: {both:?}"
        );
    }
}

fn one(desk: &mut Desk, seed: u64, number: u64, tally: &mut Tally) {
    let mut random = Random::of_case(seed, number);
    let case = case(desk, &mut random);
    if case.patch.is_empty() {
        return;
    }
    let exception = Exception::of(&case);
    if let Some(exception) = exception {
        *tally.excepted.entry(exception).or_default() += 1;
        eprintln!(
            "XX {number} {exception:?} {:?} {:?}",
            case.style, case.damage
        );
    }
    let git = oracle::git(desk, &case);
    let ours = oracle::ours(desk, &case);
    let wrong = judge(&case, &git, &ours).or_else(|| {
        ranges::outside_is_identical(&case, &ours, tally)
            .err()
            .or_else(|| backwards(desk, &case, &ours, tally).err())
    });
    match (wrong, exception) {
        (None, None) => {
            let both = tally
                .agreed
                .entry((case.style.maker, case.damage))
                .or_default();
            both[usize::from(matches!(git.verdict, Verdict::Refused(_)))] += 1;
        }
        (None | Some(Wrong::Other(_)), Some(_)) => {}
        (Some(Wrong::Never(what)), _) | (Some(Wrong::Other(what)), None) => {
            tally.differences.push(format!(
                "case {number}, {:?}, {:?}: {what}\ngit: {:?}\nours: {:?}, {:?}\n{}\ntarget: {:?}",
                case.style,
                case.damage,
                git.verdict,
                ours.verdict,
                ours.after,
                String::from_utf8_lossy(&case.patch),
                case.target
            ));
        }
    }
}

/// What is wrong with a case.
pub(crate) enum Wrong {
    /// It is done in another way than git does it.
    Other(String),
    /// What no exception allows.
    Never(String),
}

fn case(desk: &Desk, random: &mut Random) -> Case {
    let style = Style::any(random);
    let says = match style.maker {
        Maker::Git(_) => Says::Everything,
        Maker::Diff | Maker::Hand => Says::Texts,
    };
    let (old, new) = make::two(random, says);
    let mut patch = difference(&desk.scratch, style, (&old, &new), Direction::Forward);
    let mut target = old.clone();
    let damage = Damage::any(random);
    if !patch.is_empty() {
        damage.done(random, &mut patch, &mut target, &new);
    }
    Case {
        style,
        damage,
        patch,
        target,
        old,
        new,
    }
}

fn judge(case: &Case, git: &Theirs, ours: &Ours) -> Option<Wrong> {
    let never = |what: &str| Some(Wrong::Never(what.to_owned()));
    let other = |what: String| Some(Wrong::Other(what));
    match (&ours.verdict, &git.verdict) {
        (Verdict::Refused(_), _) if ours.after != case.target => never("refused, and changed"),
        (Verdict::Applied, _)
            if case.damage == Damage::None && ours.after.nodes != case.new.nodes =>
        {
            other("it did not lead to the new tree".to_owned())
        }
        (Verdict::Applied, Verdict::Applied) if ours.after.nodes != git.after.nodes => {
            other(format!("another result than {:?}", git.after))
        }
        (Verdict::Applied, Verdict::Refused(_)) => other("git refuses".to_owned()),
        (Verdict::Refused(_), Verdict::Applied) => other("git applies".to_owned()),
        (Verdict::Applied, Verdict::Applied) | (Verdict::Refused(_), Verdict::Refused(_)) => None,
    }
}

/// The reverse of what was applied gives what was there before.
fn backwards(desk: &mut Desk, case: &Case, ours: &Ours, tally: &mut Tally) -> Result<(), Wrong> {
    if case.damage != Damage::None || !matches!(ours.verdict, Verdict::Applied) {
        return Ok(());
    }
    let trees = (&case.old, &case.new);
    let patch = difference(&desk.scratch, case.style, trees, Direction::Backward);
    if case.style.context == 0 && patch.windows(7).any(|part| part == b"@@ -0,0") {
        // It may be the first of a file or all of it: see `Exception::NoContext`.
        return Ok(());
    }
    let back = oracle::apply(desk, &patch);
    tally.reversed += 1;
    if back.after.nodes == case.old.nodes {
        return Ok(());
    }
    Err(Wrong::Never(format!(
        "backwards it is {:?}, with\n{}",
        back.verdict,
        String::from_utf8_lossy(&patch)
    )))
}
