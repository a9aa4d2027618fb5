//! What people really changed: the differences between two successive releases of public packages,
//! in every format a worker may send them in.
//!
//! The packages are fetched by their lock files (`tests/history`), once for a build directory. A run
//! that cannot have them fails.

mod render;
mod sources;

use portcullis_client::{Changes, Error, MintOrder, Session, patch};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::{World, own};
use render::{Format, render};
use sources::Changed;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Packages at least.
const PACKAGES: usize = 20;
/// Changed files at least.
const FILES: usize = 500;

/// What did not apply, or led elsewhere.
#[derive(Debug)]
struct Miss {
    format: Format,
    file: String,
    why: String,
}

/// Sessions that work at once.
const SESSIONS: usize = 4;

/// What came of the files.
#[derive(Debug, Default)]
struct Tally {
    told: BTreeMap<Format, usize>,
    applied: BTreeMap<Format, usize>,
    missed: Vec<Miss>,
}

#[test]
fn releases_follow_from_their_differences_in_every_format() {
    let (packages, files) = sources::changed();
    assert!(packages >= PACKAGES, "{packages} packages");
    let mut world = World::new(own!("own-gate"));
    let place = place();
    let desks: Vec<(Session, PathBuf)> = (0..SESSIONS)
        .map(|n| desk(&mut world, &place.path().join(n.to_string())))
        .collect();
    let mut all = Tally::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = desks
            .into_iter()
            .enumerate()
            .map(|(first, (mut session, inside))| {
                let files = files.iter().skip(first).step_by(SESSIONS);
                scope.spawn(move || {
                    let mut tally = Tally::default();
                    files.for_each(|file| tally.put(&mut session, &inside, file));
                    tally
                })
            })
            .collect();
        for thread in threads {
            all.add(thread.join().unwrap());
        }
    });
    println!("{packages} packages, {} changed files", files.len());
    all.judge();
}

/// A session on a directory of its own.
fn desk(world: &mut World, inside: &Path) -> (Session, PathBuf) {
    std::fs::create_dir(inside).unwrap();
    let name = inside.file_name().unwrap().to_str().unwrap();
    let root = world.seal(inside, &format!("desk-{name}"));
    let order =
        MintOrder::new("tester")
            .root(root, None)
            .grant(root, RelPath::root(), VerbSet::ALL);
    (world.control.mint(&order).unwrap().1, inside.to_owned())
}

/// A directory in memory where there is one.
fn place() -> tempfile::TempDir {
    let mut builder = tempfile::Builder::new();
    builder.prefix("portcullis-test-");
    match builder.tempdir_in("/dev/shm") {
        Ok(place) => place,
        Err(_) => builder.tempdir().unwrap(),
    }
}

impl Tally {
    fn put(&mut self, session: &mut Session, inside: &Path, file: &Changed) {
        for format in Format::ALL
            .into_iter()
            .filter(|format| format.can_say(file))
        {
            *self.told.entry(format).or_default() += 1;
            match leads(session, inside, file, format) {
                Ok(()) => *self.applied.entry(format).or_default() += 1,
                Err(why) => self.missed.push(Miss {
                    format,
                    file: file.shown(),
                    why,
                }),
            }
        }
    }

    fn add(&mut self, other: Self) {
        for (sum, more) in [
            (&mut self.told, other.told),
            (&mut self.applied, other.applied),
        ] {
            for (format, count) in more {
                *sum.entry(format).or_default() += count;
            }
        }
        self.missed.extend(other.missed);
    }

    /// Prints everything, what did not apply with its reason.
    fn judge(&self) {
        let mut reasons = String::new();
        for miss in &self.missed {
            let (format, file, why) = (miss.format.name(), &miss.file, &miss.why);
            writeln!(reasons, "  {format}: {file}: {why}").unwrap();
        }
        print!("{reasons}");
        for format in Format::ALL {
            let count = |of: &BTreeMap<Format, usize>| of.get(&format).copied().unwrap_or_default();
            let (done, of) = (count(&self.applied), count(&self.told));
            println!("{}: {done} of {of}", format.name());
            assert!(
                of >= FILES && done * 100 >= of * 99,
                "{}:\n{reasons}",
                format.name()
            );
        }
    }
}

/// Whether a file becomes its next release, when its difference is sent in a format.
fn leads(
    session: &mut Session,
    inside: &Path,
    file: &Changed,
    format: Format,
) -> Result<(), String> {
    let path = inside.join(&file.name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    match &file.old {
        Some(old) => std::fs::write(&path, old).unwrap(),
        None => assert!(!path.exists()),
    }
    let done = render(file, format).and_then(|changes| changed(session, &changes));
    let now = std::fs::read(&path).ok();
    if now.is_some() {
        std::fs::remove_file(&path).unwrap();
    }
    done?;
    if now == file.new {
        Ok(())
    } else {
        Err("it led to another file".to_owned())
    }
}

fn changed(session: &mut Session, changes: &Changes) -> Result<(), String> {
    session
        .change(changes)
        .map(|_| ())
        .map_err(|error: Error| error.to_string())
}

/// Reads a patch, in the format it is found to be in.
fn read(text: &[u8]) -> Result<Changes, String> {
    patch::parse_any(text, None).map_err(|error| error.to_string())
}
