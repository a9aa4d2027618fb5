//! What people really changed: the differences between two successive releases of public packages,
//! in every format a worker may send them in.
//!
//! The packages are fetched by their lock files (`tests/history`), once for a build directory. A run
//! that cannot have them fails.

mod render;
mod sources;

use portcullis_client::{Changes, Error, Session, patch};
use portcullis_tests::{World, own};
use render::{Format, render};
use sources::Changed;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

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

#[test]
fn releases_follow_from_their_differences_in_every_format() {
    let (packages, files) = sources::changed();
    assert!(packages >= PACKAGES, "{packages} packages");
    assert!(files.len() >= FILES, "{} files", files.len());
    let mut world = World::new(own!("own-gate"));
    let inside = world.inside();
    let mut session = world.session().session;
    let mut applied: BTreeMap<Format, usize> = BTreeMap::new();
    let mut told: BTreeMap<Format, usize> = BTreeMap::new();
    let mut missed: Vec<Miss> = Vec::new();
    for file in &files {
        for format in Format::ALL
            .into_iter()
            .filter(|format| format.can_say(file))
        {
            *told.entry(format).or_default() += 1;
            match leads(&mut session, &inside, file, format) {
                Ok(()) => *applied.entry(format).or_default() += 1,
                Err(why) => missed.push(Miss {
                    format,
                    file: file.shown(),
                    why,
                }),
            }
        }
    }
    println!("{packages} packages, {} changed files", files.len());
    let mut reasons = String::new();
    for miss in &missed {
        let (format, file, why) = (miss.format.name(), &miss.file, &miss.why);
        writeln!(reasons, "  {format}: {file}: {why}").unwrap();
    }
    print!("{reasons}");
    for format in Format::ALL {
        let count = |of: &BTreeMap<Format, usize>| of.get(&format).copied().unwrap_or_default();
        let (done, of) = (count(&applied), count(&told));
        println!("{}: {done} of {of}", format.name());
        assert!(
            of >= FILES && done * 100 >= of * 99,
            "{}:\n{reasons}",
            format.name()
        );
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
