//! The same edits without a broker.

use crate::files::NAME;
use crate::subject::Step;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Reads the file, puts new texts where they are known to go, and writes it by a temporary and a
/// rename. The least that anything can do.
pub fn plain<'a>(directory: &Path, texts: impl Iterator<Item = (usize, &'a str, &'a str)>) {
    let path = directory.join(NAME);
    let old = std::fs::read(&path).unwrap();
    let mut new = Vec::with_capacity(old.len() + old.len() / 8);
    let mut done = 0;
    for (at, before, after) in texts {
        new.extend_from_slice(&old[done..at]);
        new.extend_from_slice(after.as_bytes());
        done = at + before.len();
    }
    new.extend_from_slice(&old[done..]);
    replace(&path, &new);
}

/// Looks for each text from the beginning and copies the file, once for each.
pub fn one_by_one<'a>(directory: &Path, texts: impl Iterator<Item = (usize, &'a str, &'a str)>) {
    let path = directory.join(NAME);
    let mut text = std::fs::read_to_string(&path).unwrap();
    for (_, old, new) in texts {
        assert!(text.contains(old));
        text = text.replacen(old, new, 1);
    }
    replace(&path, text.as_bytes());
}

fn replace(path: &Path, content: &[u8]) {
    let beside = path.with_extension("tmp");
    std::fs::write(&beside, content).unwrap();
    std::fs::rename(&beside, path).unwrap();
}

/// Whether a program is there.
pub fn is_there(step: Step) -> bool {
    let Some(program) = program(step) else {
        return true;
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory: PathBuf| directory.join(program).is_file())
}

const fn program(step: Step) -> Option<&'static str> {
    match step {
        Step::Git => Some("git"),
        Step::ApplyPatch => Some("apply_patch"),
        Step::Parse | Step::Match | Step::Whole | Step::Plain | Step::OneByOne => None,
    }
}

/// Applies a patch by another program.
pub fn applied(step: Step, directory: &Path, patch: &str) {
    let Some(program) = program(step) else {
        return;
    };
    let mut command = Command::new(program);
    if step == Step::Git {
        command.args(["apply", "-"]);
    }
    let mut child = command
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(patch.as_bytes())
        .unwrap();
    let ended = child.wait().unwrap();
    assert!(ended.success(), "{program}: {ended}");
}
