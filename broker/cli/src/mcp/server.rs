//! The server's executable, and what it is told.

use crate::args::{Compat, McpArguments};
use crate::reach::SealedRoot;
use crate::run::{Ready, RunError};
use crate::worker::LaunchError;
use portcullis_protocol::path::escape;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Its name, beside this executable.
pub(super) const NAME: &str = "portcullis-mcp";

/// Where it is, as a path that the worker's cage can have a rule for.
pub(super) fn executable(given: Option<PathBuf>) -> Result<PathBuf, RunError> {
    let wanted = match given {
        Some(given) => given,
        None => std::env::current_exe()
            .map(|own| own.with_file_name(NAME))
            .map_err(|error| RunError::Client(format!("this executable: {error}")))?,
    };
    let found = wanted.canonicalize().ok().filter(|path| path.is_file());
    found.ok_or_else(|| {
        let place = escape(wanted.as_os_str().as_bytes());
        RunError::Launch(LaunchError::NoServer(place))
    })
}

/// Its command line. What may be done is not told: its session says so. A path of the host is told
/// only to one that has to show it, as the server that it is like does.
pub(super) fn command(server: PathBuf, arguments: &McpArguments, ready: &Ready) -> Vec<OsString> {
    let mut command = vec![server.into_os_string()];
    let mut say = |option: &str, value: &OsStr| {
        command.push(option.into());
        command.push(value.to_owned());
    };
    if let Some(answers) = arguments.answers {
        say("--answers", answers.name().as_ref());
    }
    if let Some(compat) = arguments.compat {
        say("--compat", compat.name().as_ref());
        match compat {
            Compat::Reference => ready.own_roots().for_each(|root| {
                let shown = shown(root);
                shown.iter().for_each(|place| {
                    let mut word = OsString::from(root.label.as_str());
                    word.push("=");
                    word.push(place);
                    say("--root", &word);
                });
            }),
        }
    }
    command
}

/// As it was named, and as it is without links, where that is another.
fn shown(root: &SealedRoot) -> Vec<PathBuf> {
    let real = root.location();
    match std::path::absolute(&root.given) {
        Ok(given) if plain(&given) != real => vec![plain(&given), real],
        Ok(_) | Err(_) => vec![real],
    }
}

/// Without `.` and `..`, as text: what the client's user wrote.
pub(super) fn plain(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => {
                plain.push(component);
            }
        }
    }
    plain
}
