//! Starting as the reference filesystem server does: what cannot be used is warned about and left
//! out, in its words, which clients and their users know.

use super::server::plain;
use crate::args::Reach;
use crate::say;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Leaves the directories that can be used, each once. Without one there is nothing to serve, and
/// unlike the reference server this one never waits for a client to name directories.
pub(super) fn usable(reach: &mut Reach) -> Result<(), ExitCode> {
    if reach.policy.is_some() {
        return Ok(());
    }
    let given = reach.workspace.len() + reach.read.len();
    let mut known = BTreeSet::new();
    for directories in [&mut reach.workspace, &mut reach.read] {
        let all = std::mem::take(directories);
        directories.extend(all.iter().filter_map(|path| place(path, &mut known)));
    }
    if known.is_empty() {
        match given {
            0 => say::err(
                "Error: No directory was specified, and roots of the client are not used: add a \
                 directory to the command line",
            ),
            _ => say::err("Error: None of the specified directories are accessible"),
        }
        return Err(ExitCode::FAILURE);
    }
    Ok(())
}

/// It serves.
pub(super) fn running() {
    say::err("Secure MCP Filesystem Server running on stdio");
}

/// A directory that can be read and is not known yet, as an absolute path.
fn place(path: &Path, known: &mut BTreeSet<PathBuf>) -> Option<PathBuf> {
    let expanded = at_home(path);
    let absolute = std::path::absolute(&expanded).map_or(expanded, |path| plain(&path));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::open(&absolute, flags, Mode::empty()) {
        Ok(_) => {}
        Err(Errno::NOTDIR) if absolute.metadata().is_ok() => {
            let shown = absolute.display();
            say::err(format_args!(
                "Warning: {shown} is not a directory, skipping"
            ));
            return None;
        }
        Err(_) => {
            let shown = absolute.display();
            say::err(format_args!(
                "Warning: Cannot access directory {shown}, skipping"
            ));
            return None;
        }
    }
    let real = absolute.canonicalize().unwrap_or_else(|_| absolute.clone());
    known.insert(real).then_some(absolute)
}

/// `~` and what begins with `~/` are in the user's own directory: a client starts no shell.
fn at_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        (Ok(_), None) | (Err(_), _) => path.to_path_buf(),
    }
}
