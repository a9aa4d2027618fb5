//! Forty-five patches in the V4A envelope with what each must leave on disk. They are the ones a
//! widely used program for that format was measured with; `other` says what it does where it does
//! something else, and why that is not done here.

mod table;

use portcullis_client::{Error, patch};
use portcullis_protocol::refusal::Code;
use portcullis_tests::{World, own};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt};
use std::path::Path;

use Is::{Fifo, File, HardLink, Link};
use Wanted::{Done, Refused};
use table::CASES;

/// What is at a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Is {
    /// A file, with its permission bits.
    File(&'static [u8], u32),
    /// A link, and what it says.
    Link(&'static str),
    /// Another name of this file.
    HardLink(&'static str),
    /// A named pipe.
    Fifo,
}

type Names = &'static [(&'static str, Is)];

/// What must come of a patch.
enum Wanted {
    /// All that is there afterwards.
    Done(Names),
    /// A refusal of this code, and nothing is different on disk.
    Refused(Code),
}

struct Case {
    name: &'static str,
    before: Names,
    patch: &'static str,
    wanted: Wanted,
    /// What the measured program does instead, and why not here; nothing where it does the same.
    other: Option<&'static str>,
}

const fn case(name: &'static str, before: Names, patch: &'static str, wanted: Wanted) -> Case {
    Case {
        name,
        before,
        patch,
        wanted,
        other: None,
    }
}

impl Case {
    const fn unlike(self, other: &'static str) -> Self {
        Self {
            other: Some(other),
            ..self
        }
    }
}

/// Everything below a directory.
fn look(top: &Path) -> BTreeMap<String, (String, u32, Vec<u8>)> {
    let mut names = BTreeMap::new();
    for entry in std::fs::read_dir(top).unwrap() {
        let path = entry.unwrap().path();
        let seen = path.symlink_metadata().unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let kind = seen.file_type();
        let (what, content) = if kind.is_symlink() {
            let text = std::fs::read_link(&path).unwrap();
            ("link", text.to_str().unwrap().as_bytes().to_vec())
        } else if kind.is_fifo() {
            ("fifo", Vec::new())
        } else {
            ("file", std::fs::read(&path).unwrap())
        };
        let mode = seen.permissions().mode() & 0o7777;
        names.insert(name, (what.to_owned(), mode, content));
    }
    names
}

fn make(top: &Path, names: Names) {
    std::fs::create_dir_all(top).unwrap();
    for (name, is) in names {
        let path = top.join(name);
        match is {
            File(content, mode) => {
                std::fs::write(&path, content).unwrap();
                std::fs::set_permissions(&path, PermissionsExt::from_mode(*mode)).unwrap();
            }
            Link(text) => std::os::unix::fs::symlink(text, &path).unwrap(),
            HardLink(other) => std::fs::hard_link(top.join(other), &path).unwrap(),
            Fifo => mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap(),
        }
    }
}

fn apply(world: &mut World, text: &str) -> Result<(), Error> {
    let changes = patch::parse_any(text.as_bytes(), None).map_err(Error::from)?;
    world.session().session.change(&changes).map(drop)
}

/// What is wrong with the case, if anything is.
fn judged(case: &Case) -> Result<(), String> {
    let mut world = World::new(own!("own-gate"));
    let inside = world.inside();
    make(&inside, case.before);
    let before = look(&inside);
    let applied = apply(&mut world, case.patch);
    let after = look(&inside);
    match (&case.wanted, applied) {
        (Done(names), Ok(())) => {
            let wanted = world.place.path().join("wanted");
            make(&wanted, names);
            let wanted = look(&wanted);
            (after == wanted)
                .then_some(())
                .ok_or_else(|| format!("left {after:?}, not {wanted:?}"))
        }
        (Done(_), Err(error)) => Err(format!("refused: {error}")),
        (Refused(_), Ok(())) => Err(format!("taken, and left {after:?}")),
        (Refused(code), Err(error)) => {
            let said = error.to_string();
            let same = error.refusal().map(|refusal| refusal.code) == Some(*code);
            let first = said.starts_with("nothing was changed: ");
            (same && first && after == before)
                .then_some(())
                .ok_or_else(|| format!("not as {}: {said}; left {after:?}", code.name()))
        }
    }
}

#[test]
fn every_case_leaves_what_it_must() {
    assert_eq!(CASES.len(), 45);
    let wrong: Vec<String> = CASES
        .iter()
        .filter_map(|case| {
            let wrong = judged(case).err()?;
            let other = case.other.unwrap_or("does the same");
            Some(format!(
                "{}: {wrong}\n    (the other program {other})",
                case.name
            ))
        })
        .collect();
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
